/* fuzz_folds.c: any bytes as the folds of four rows: refused with a sentence that names the file, or numbers from 0 to
 * the number of folds, each of which occurs. */
#include <stdint.h>
#include <string.h>

#include "data/read.h"
#include "fuzz_check.h"
#include "linear/path/linear_cv.h"

#define ROWS 4

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static char path[] = "rows";
    static parley_data data = {.path = path, .x.rows = ROWS};
    parley_error error = {0};
    uint32_t fold[ROWS];
    unsigned folds = 0, seen = 0;
    if (pl_cv_parse_folds(&data, bytes, count, "fuzz", fold, &folds, &error) != PARLEY_OK) {
        check(strncmp(error.sentence, "fuzz:", 5) == 0);
        return 0;
    }
    for (unsigned i = 0; i < ROWS; i++) {
        check(fold[i] < folds);
        seen |= 1u << fold[i];
    }
    check(folds >= 2 && folds <= ROWS && seen == (1u << folds) - 1);
    return 0;
}
