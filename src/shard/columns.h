/* columns.h: the transposed matrix, for solvers whose workers own columns instead of rows. */
#ifndef PL_COLUMNS_H
#define PL_COLUMNS_H

#include "data/data.h"
#include "engine/engine.h"

/* The transposed matrix. Each of its rows is a column of the data, with increasing row numbers. */
typedef struct pl_columns {
    pl_matrix x; /* on several ranks, columns of workers on other ranks are empty, but `nonzeros` counts all ranks */
    pl_matrix shape; /* used to assign columns to workers: the start of every column, no entries */
    pl_span start, index, value, starts;
} pl_columns;

parley_status pl_columns_check(uint64_t rows, parley_error *error); /* fails if a row number does not fit in 32 bits */
uint64_t pl_columns_bytes(const pl_matrix *x);
parley_status pl_columns_open(pl_columns *columns, pl_engine *engine, const pl_matrix *x, parley_error *error);
/* Transposes rows that are already on the ranks of their workers. All ranks call this together, and each gets the
 * columns of the workers that it hosts. The entries are moved, so `data` has none afterwards. */
parley_status pl_columns_collect(pl_columns *columns, pl_engine *engine, parley_data *data, unsigned workers,
                                 unsigned lanes, uint64_t seed, parley_error *error);
/* Gathers everything but the entries of every row onto every rank: start, label and weight go to `*out`, the squared
 * norms to `*out_norm2`. */
parley_status pl_columns_rows(pl_engine *engine, const parley_data *data, const double *norm2, parley_data **out,
                              double **out_norm2, parley_error *error);
void pl_columns_close(pl_columns *columns);

#endif
