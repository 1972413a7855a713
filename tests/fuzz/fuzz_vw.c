/* fuzz_vw.c: any bytes as VW text. What is accepted must be the same for any blocks and threads, and every refusal must
 * name the input. */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    try_format(bytes, count, &(pl_reading){.format = &pl_format_vw, .hash_bits = 10, .keep_names = true});
    try_format(bytes, count, &(pl_reading){.format = &pl_format_vw, .unlabelled = true});
    return 0;
}
