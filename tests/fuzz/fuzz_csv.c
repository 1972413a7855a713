/* fuzz_csv.c: any bytes as CSV text. What is accepted must be the same for any blocks and threads, and every refusal
 * must name the input. Categories are hashed if the number of bytes is odd. */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    pl_reading reading = {.format = &pl_format_csv};
    if (count % 2 == 1)
        reading = (pl_reading){.format = &pl_format_csv, .hashed = true, .hash_bits = 5, .keep_names = true};
    try_format(bytes, count, &reading);
    return 0;
}
