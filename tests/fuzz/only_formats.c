/* only_formats.c: the list of formats without the rest of the registry, so that a fuzzer of a format is not linked with
 * every solver: libFuzzer visits the counters of all code after each input. A fuzzer that needs the registry gets that
 * of src/members.c. */
#include "data/format.h"

#define WEAK __attribute__((weak))

WEAK extern const pl_format *const pl_formats[];
WEAK extern const unsigned pl_formats_count;
const pl_format *const pl_formats[] = {&pl_format_libsvm,  &pl_format_csv,  &pl_format_vw, &pl_format_idx,
                                       &pl_format_docword, &pl_format_ldac, &pl_format_mm, &pl_format_text};
const unsigned pl_formats_count = sizeof pl_formats / sizeof *pl_formats;
