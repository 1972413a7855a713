/* fuzz_csv.c: any bytes as CSV text. What is accepted must be the same for any blocks and threads, and every refusal
 * must name the input. */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    try_format(bytes, count, &(pl_reading){.format = &pl_format_csv});
    try_format(bytes, count,
               &(pl_reading){.format = &pl_format_csv, .hashed = true, .hash_bits = 5, .keep_names = true});
    return 0;
}
