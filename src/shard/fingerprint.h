/* fingerprint.h: hashes of rows, by which a log or a checkpoint knows its data again. */
#ifndef PL_FINGERPRINT_H
#define PL_FINGERPRINT_H

#include "shard/team.h"

/* Hash of all rows of all ranks: labels, weights, columns and values; the order of rows does not count. */
parley_status pl_fingerprint(pl_engine *engine, const parley_data *data, uint64_t *out, parley_error *error);
#define PL_FINGERPRINT "%016llx"
/* Hash of the rows of each hosted worker, in their order, by which it knows its private state again. */
parley_status pl_order_hash(const pl_team *team, const parley_data *data, uint64_t **out, parley_error *error);

#endif
