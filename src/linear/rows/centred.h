/* centred.h: columns that are far from 0 compared with their spread, such as ages or incomes, are nearly collinear with
 * the intercept, which makes every method slow. If the intercept is free, it can absorb a shift of each such column. */
#ifndef PL_CENTRED_H
#define PL_CENTRED_H

#include "data/data.h"
#include "engine/engine.h"

/* Data with some columns shifted. `shift` is NULL if none is. */
typedef struct pl_centred {
    double *shift;        /* by column, what was subtracted */
    double usual;         /* the median scale of columns: the root mean square of their entries */
    double scales;        /* how much the scales of columns differ: the largest or smallest against the median */
    double common_scales; /* the same for numbers with entries in many rows, unlike the rare words of texts; columns
                             whose entries are all 1 are no numbers */
    double least;         /* the smallest scale of such columns; 0: there are none */
    double mean_square;   /* mean of |x|^2 over rows; 0 if it is not known */
    uint64_t fixed;       /* input: 1 + a column that is neither shifted nor compared; 0: none */
    pl_span start, index, value;
    pl_spread *spread; /* of the shifted rows */
} pl_centred;

/* Finds the columns, alike on all ranks, and shifts them in a copy of the rows, unless the intercept is not `free`.
 * Sets the arrays of `out`, which is a copy of `data`, to it. Shifted columns that have zeros get entries for them. */
parley_status pl_centred_open(pl_centred *centred, pl_engine *engine, const parley_data *data, bool free,
                              parley_data *out, parley_error *error);
/* Frees the rows, which are not needed any more, but keeps the shift. */
void pl_centred_drop(pl_centred *centred);
void pl_centred_close(pl_centred *centred);

#endif
