/* columns.h: the matrix by columns, for solvers whose workers own columns. */
#ifndef PL_COLUMNS_H
#define PL_COLUMNS_H

#include "data/data.h"
#include "engine/engine.h"

/* The transposed matrix: its rows are the columns, in which row numbers rise. */
typedef struct pl_columns {
    pl_matrix x;     /* by ranks: columns of other ranks' workers are empty, and `nonzeros` are all ranks' */
    pl_matrix shape; /* where columns are dealt by: all columns' starts, and no entries */
    pl_span start, index, value, starts;
} pl_columns;

parley_status pl_columns_check(uint64_t rows, parley_error *error); /* are they too many? */
uint64_t pl_columns_bytes(const pl_matrix *x);
parley_status pl_columns_open(pl_columns *columns, pl_engine *engine, const pl_matrix *x, parley_error *error);
/* The same of dealt rows, on all ranks together: each gets the columns of the workers that it hosts. The rows give up
 * their entries, so `data` has none afterwards. */
parley_status pl_columns_collect(pl_columns *columns, pl_engine *engine, parley_data *data, unsigned workers,
                                 unsigned lanes, uint64_t seed, parley_error *error);
/* All that is known of every row but its entries: start, label and weight in `*out`, and the rows' `norm2` likewise,
 * on every rank. */
parley_status pl_columns_rows(pl_engine *engine, const parley_data *data, const double *norm2, parley_data **out,
                              double **out_norm2, parley_error *error);
void pl_columns_close(pl_columns *columns);

#endif
