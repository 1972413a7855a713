/* dense_gram.h: dense rows, stored in panels of a few columns, and the sums of their weighted outer products, S += c x
 * x'. S is the lower triangle by columns of `size` entries. Each sum is over the rows in order. */
#ifndef PL_PANELS_H
#define PL_PANELS_H

#include "base/memory.h"
#include "math/values.h"

#define PL_PANEL_ROWS 64 /* rows at a time, so that S passes through the caches once for all of them */
#define PL_PANEL_COLUMNS 4
/* Not a power of 2, which would map many panels to the same cache sets. */
#define PL_PANEL_CELLS ((PL_PANEL_ROWS + 2) * PL_PANEL_COLUMNS)

typedef struct pl_dense_gram {
    uint64_t size, count; /* columns; panels, of which the last is padded with zeros */
    double *cells;
    void *memory; /* holds the cells */
} pl_dense_gram;

/* A table in the caller's memory. */
typedef struct pl_table {
    uint64_t columns;
    const float *narrow; /* one of the two is NULL */
    const double *wide;
    int64_t row_stride, column_stride;
} pl_table;

parley_status pl_dense_gram_open(pl_dense_gram *panels, uint64_t size, parley_error *error); /* filled with zeros */
void pl_dense_gram_close(pl_dense_gram *panels);
/* The cell of row r and column j. The cell of column j + 1 is the next one, unless a panel ends. */
static inline double *pl_dense_gram_cell(const pl_dense_gram *panels, uint64_t r, uint64_t j) {
    return panels->cells + j / PL_PANEL_COLUMNS * PL_PANEL_CELLS + r * PL_PANEL_COLUMNS + j % PL_PANEL_COLUMNS;
}
/* Loads `rows` rows of the table from `first` on, minus the shift, into the first rows and columns. */
void pl_dense_gram_load(const pl_dense_gram *panels, const pl_table *table, uint64_t first, uint64_t rows,
                        const double *shift);
/* Puts `count` values, which are not all 1, into the first columns of row r. */
void pl_dense_gram_put(const pl_dense_gram *panels, uint64_t r, pl_values values, uint64_t count);
/* Adds the first `rows` rows to S. `weight` NULL: all weights are 1. */
void pl_dense_gram_add(const pl_dense_gram *panels, uint64_t rows, const double *weight, double *sum);

#endif
