/* fuzz_csv.c: any bytes as CSV text. What is accepted must be the same for any blocks and threads, and every refusal
 * must name the input. Categories are hashed if the number of bytes is odd; the next bits of the number choose what is
 * left out, and the encoding. */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    pl_reading reading = {.format = &pl_format_csv};
    if (count % 2 == 1)
        reading = (pl_reading){.format = &pl_format_csv, .hashed = true, .hash_bits = 5, .keep_names = true};
    if (count / 2 % 2 == 1) {
        reading.comment = '#';
        reading.bad_rows = reading.missing_label = PL_SKIPPED;
    }
    if (count / 4 % 4 == 1) {
        reading.encoding = PL_LATIN1;
        reading.skip_lines = 1;
    }
    try_format(bytes, count, &reading);
    return 0;
}
