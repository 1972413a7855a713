/* fuzz_docword.c: any bytes as UCI's bags of words. What is accepted must be the same for any blocks and threads, and
 * every refusal must name the input. */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    try_format(bytes, count, &(pl_reading){.format = &pl_format_docword, .unlabelled = true});
    return 0;
}
