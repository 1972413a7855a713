/* precision.h: which columns floats would blur. A column that most rows have near one number far from 0, such as a
 * time in seconds, loses the differences between its rows. Rare columns are not judged: no other column could take the
 * part of such an entry that all of them share. */
#ifndef PL_PRECISION_H
#define PL_PRECISION_H

#include "data/data.h"

/* An entry of a sampled row, in two numbers that ranks can exchange. */
typedef struct pl_sampled {
    double column, value;
} pl_sampled;

/* Columns whose values in the sample lie near one another, compared with their size. */
typedef struct pl_bands {
    uint64_t count;
    uint32_t *list;
    double *at;    /* a value of each */
    double *cut;   /* number of values that are no floats */
    double *other; /* number of values that are not `at`; follows `cut` */
} pl_bands;

/* How many of all `rows` rows, which have `nonzeros` entries, are sampled. */
uint64_t pl_sample_size(uint64_t rows, uint64_t nonzeros);
/* Lists the entries of the sampled rows that this process holds. The caller frees them. */
parley_status pl_sample_take(const parley_data *data, uint64_t rows, uint64_t size, pl_sampled **out, uint64_t *count,
                             parley_error *error);
/* Finds the columns in the sample of all rows. `rounded` is that of all rows. */
parley_status pl_bands_open(const pl_sampled *sample, uint64_t count, uint64_t size, uint64_t rounded,
                            const parley_data *data, pl_bands *out, parley_error *error);
/* Counts doubles in the rows that this process holds. */
parley_status pl_bands_measure(pl_bands *bands, const parley_data *data, parley_error *error);
void pl_bands_close(pl_bands *bands);

/* Is some value out of the range of normal floats? */
bool pl_is_beyond_floats(const parley_data *data);
/* Decides by the counts in all rows; `beyond` is that of all rows, and `kept` as in pl_reading. Doubles that are not
 * needed become floats. `*again`: the data must be read again as doubles, because floats may have blurred a column. */
parley_status pl_precision_decide(const pl_bands *bands, bool beyond, bool kept, parley_data *data, bool *again,
                                  parley_error *error);
/* The whole for data of which this process has all rows. */
parley_status pl_precision_settle(parley_data *data, bool kept, bool *again, parley_error *error);

#endif
