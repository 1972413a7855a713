/* fuzz_vw.c: any bytes as VW text. What is accepted must be the same for any blocks and threads, and every refusal must
 * name the input. Labels are not read if the number of bytes is odd. */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    pl_reading reading = {.format = &pl_format_vw, .hash_bits = 10, .keep_names = true};
    if (count % 2 == 1)
        reading = (pl_reading){.format = &pl_format_vw, .unlabelled = true};
    try_format(bytes, count, &reading);
    return 0;
}
