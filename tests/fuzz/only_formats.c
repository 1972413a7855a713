/* only_formats.c: the lists of formats and of general settings without the rest of the members, so that a fuzzer of a
 * format is not linked with every solver: libFuzzer visits the counters of all code after each input. A fuzzer that
 * needs more gets that of src/members.c. */
#include "base/settings.h"
#include "data/format.h"

#define WEAK __attribute__((weak))

WEAK extern const pl_format *const pl_formats[];
WEAK extern const unsigned pl_formats_count;
const pl_format *const pl_formats[] = {&pl_format_libsvm, &pl_format_csv,     &pl_format_vw,
                                       &pl_format_idx,    &pl_format_docword, &pl_format_ldac,
                                       &pl_format_mm,     &pl_format_text,    &pl_format_multilabel};
const unsigned pl_formats_count = sizeof pl_formats / sizeof *pl_formats;

WEAK extern const pl_settings_table *const pl_settings_tables[];
WEAK extern const pl_settings_wing *const pl_settings_wings[];
const pl_settings_table *const pl_settings_tables[] = {&pl_settings_data_and_method, &pl_settings_plan,
                                                       &pl_settings_run, NULL};
const pl_settings_wing *const pl_settings_wings[] = {NULL};
