/* exclusive_columns.h: columns that are apart: no row has entries in two of them. The indicators of one column of
 * categories are. The loss has no curvature between them, so that Newton's method needs no room for it
 * (math/arrow_matrix.h). All other columns, and the intercept, are the core. */
#ifndef PL_APART_H
#define PL_APART_H

#include "data/data.h"
#include "engine/engine.h"

/* The rows of a model's table, in an order in which the core comes first. */
typedef struct pl_exclusive {
    uint64_t count;           /* columns that are apart; 0: all are core */
    uint32_t *place, *column; /* of each row of the table its place, and of each place its row; NULL: its own */
} pl_exclusive;

static inline uint64_t pl_apart_place(const pl_exclusive *apart, uint64_t row) {
    return apart->place ? apart->place[row] : row;
}

static inline uint64_t pl_exclusive_column(const pl_exclusive *apart, uint64_t place) {
    return apart->column ? apart->column[place] : place;
}

/* Finds columns that are apart, alike on all ranks. If they are few, all columns are core. */
parley_status pl_exclusive_open(pl_exclusive *apart, pl_engine *engine, const pl_matrix *x, bool intercept,
                                parley_error *error);
void pl_exclusive_close(pl_exclusive *apart);

#endif
