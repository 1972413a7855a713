/* order.h: the order in which a worker visits its rows, and the entries of v that they touch.
 *
 * Rows are visited in shuffled buckets. A bucket holds neighbouring rows if the data exceed the caches, and a single
 * row otherwise. */
#ifndef PL_ORDER_H
#define PL_ORDER_H

#include "linear/glm.h"
#include "method/local.h"

#define PL_BUCKET_MOST 16 /* rows */
#define PL_MOST_REST 4    /* levels of rest, of 2^level - 1 epochs */

/* A bucket is packed as first row << 8 | rows. */
static inline uint64_t pl_bucket_row(uint64_t bucket) { return bucket >> 8; }
static inline uint64_t pl_bucket_end(uint64_t bucket) { return (bucket >> 8) + (bucket & 255); }

uint64_t pl_bucket_rows(const parley_data *data);                              /* rows in a bucket */
uint64_t pl_bucket_count(const pl_team *team, unsigned worker, uint64_t rows); /* buckets of a hosted worker */
void pl_bucket_fill(const pl_team *team, unsigned worker, uint64_t rows, uint64_t *buckets);

/* Lists the order of a hosted worker's buckets. Rows are saved by their position among the worker's rows. */
void pl_bucket_state(pl_state *state, const pl_team *team, unsigned worker, uint64_t *buckets, uint64_t count);

/* Refuses restored rests, level << 4 | epochs left, or `other`, that are none. */
void pl_rest_check(pl_state *state, const uint8_t *rest, uint64_t count, uint8_t other);

/* Finds the rows of v, a table with one entry per class in a row, that a hosted worker's rows touch, in increasing
 * order and including the intercept. `*support` is allocated (pl_shared_alloc), unless sending all of v costs no more;
 * then it is NULL and `*count` is the number of rows of v. `touched` has one byte per row of v. */
parley_status pl_support_take(const pl_glm *glm, const pl_team *team, unsigned worker, uint8_t *touched,
                              uint32_t **support, uint64_t *count, parley_error *error);

#endif
