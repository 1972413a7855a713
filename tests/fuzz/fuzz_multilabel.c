/* fuzz_multilabel.c: any bytes as LIBSVM text with several labels. What is accepted must be the same for any blocks and
 * threads, and every refusal must name the input. */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    try_format(bytes, count, &(pl_reading){.format = &pl_format_multilabel});
    return 0;
}
