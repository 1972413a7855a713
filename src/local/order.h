/* order.h: the order in which a worker visits its rows, and the entries of v that they touch.
 *
 * Rows are visited in shuffled buckets: neighbouring rows together where the data outgrow the caches, single rows
 * where they do not. */
#ifndef PL_ORDER_H
#define PL_ORDER_H

#include "local/local.h"
#include "model/glm.h"

#define PL_BUCKET_MOST 16 /* rows */

/* A bucket is packed as first row << 8 | rows. */
static inline uint64_t pl_bucket_row(uint64_t bucket) { return bucket >> 8; }
static inline uint64_t pl_bucket_end(uint64_t bucket) { return (bucket >> 8) + (bucket & 255); }

uint64_t pl_bucket_rows(const parley_data *data);                              /* rows in a bucket */
uint64_t pl_bucket_count(const pl_team *team, unsigned worker, uint64_t rows); /* buckets of a hosted worker */
void pl_bucket_fill(const pl_team *team, unsigned worker, uint64_t rows, uint64_t *buckets);

/* Lists the order of a hosted worker's buckets; rows are kept by their place among the worker's. */
void pl_bucket_state(pl_state *state, const pl_team *team, unsigned worker, uint64_t *buckets, uint64_t count);

/* The rows of v, a table with an entry for each class in a row, that a hosted worker's rows touch, the intercept among
 * them, rising: `*support` is allocated (pl_shared_alloc), unless all of v would cost no more to send; then it is NULL
 * and
 * `*count` all of them. `touched` has a byte for each. */
parley_status pl_support_take(const pl_glm *glm, const pl_team *team, unsigned worker, uint8_t *touched,
                              uint32_t **support, uint64_t *count, parley_error *error);

#endif
