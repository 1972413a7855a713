/* outer_products.h: sums of weighted outer products, S += c x x', of sparse or dense rows. Several sums with different
 * weights are computed together, one S behind the other. S is in the shape of an arrow (arrow_matrix.h): a row has at
 * most one entry that is apart. Dense rows are collected and added many at a time, so that S passes through the caches
 * once for all of them. */
#ifndef PL_OUTER_H
#define PL_OUTER_H

#include <stdbool.h>

#include "math/arrow_matrix.h"
#include "math/dense_gram.h"

typedef struct pl_outer_products {
    pl_arrow shape;
    uint64_t size;         /* groups of the core */
    const uint32_t *place; /* of each entry of a row, in S; NULL: its own */
    bool intercept;        /* the last entry of the core is 1 in every row */
    uint64_t sums;         /* how many S there are */
    unsigned waiting;
    pl_dense_gram panels; /* dense rows */
    double *weight;       /* of each sum, or of each pair of entries of a group: those of the waiting rows */
    double *pairs;        /* for groups: the sums of each pair of different entries */
    bool paired;          /* these are not 0 */
    uint32_t *index;      /* room for a row's entries in the core */
    double *value;
    char apart[64]; /* padding: another thread writes to the next element of an array */
} pl_outer_products;

parley_status pl_outer_open(pl_outer_products *outer, const pl_arrow *shape, const uint32_t *place, bool intercept,
                            uint64_t sums, parley_error *error);
void pl_outer_add(pl_outer_products *outer, const uint32_t *index, pl_values values, uint64_t count,
                  const double *weight, double *sum); /* one weight for each sum */
/* For groups of several entries: S += weight x curvature (x) x x', where S has a square for every pair of groups and
 * `curvature` is one of them. It is symmetric and its rows sum to 0, as those of softmax do. */
void pl_outer_blocks(pl_outer_products *outer, const uint32_t *index, pl_values values, uint64_t count, double weight,
                     const double *curvature, double *sum);
void pl_outer_flush(pl_outer_products *outer, double *sum); /* must be called before `sum` is read */
void pl_outer_close(pl_outer_products *outer);

#endif
