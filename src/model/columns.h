/* columns.h: the matrix by columns, for solvers whose workers own columns. */
#ifndef PL_COLUMNS_H
#define PL_COLUMNS_H

#include "data/data.h"
#include "engine/engine.h"

/* The transposed matrix: its rows are the columns, in which row numbers rise. */
typedef struct pl_columns {
    pl_matrix x;
    pl_span start, index, value;
} pl_columns;

uint64_t pl_columns_bytes(const pl_matrix *x);
parley_status pl_columns_open(pl_columns *columns, pl_engine *engine, const pl_matrix *x, parley_error *error);
void pl_columns_close(pl_columns *columns);

#endif
