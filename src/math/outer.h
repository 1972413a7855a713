/* outer.h: sums of weighted outer products, S += c x x', of sparse or dense rows. Several sums with different weights
 * are computed together, one S behind the other. S is the lower triangle by columns of
 * `size` entries. Dense rows are collected and added many at a time, so that S passes through the caches once for all
 * of them. */
#ifndef PL_OUTER_H
#define PL_OUTER_H

#include <stdbool.h>

#include "math/panels.h"

typedef struct pl_outer {
    uint64_t size;
    bool intercept; /* the last entry of every row is 1 */
    uint64_t sums;  /* how many S there are */
    unsigned waiting;
    pl_panels panels; /* dense rows */
    double *weight;   /* of each sum: those of the waiting rows */
    char apart[64];   /* padding: another thread writes to the next element of an array */
} pl_outer;

parley_status pl_outer_open(pl_outer *outer, uint64_t size, bool intercept, uint64_t sums, parley_error *error);
void pl_outer_add(pl_outer *outer, const uint32_t *index, const float *value, uint64_t count, const double *weight,
                  double *sum); /* one weight for each sum */
/* For several classes: S += weight x curvature (x) x x', where S has a `classes` x `classes` block for every pair of
 * columns and `curvature` is one block. Rows are not collected. */
void pl_outer_blocks(const pl_outer *outer, const uint32_t *index, const float *value, uint64_t count, double weight,
                     const double *curvature, uint64_t classes, double *sum);
void pl_outer_flush(pl_outer *outer, double *sum); /* must be called before `sum` is read */
void pl_outer_close(pl_outer *outer);

#endif
