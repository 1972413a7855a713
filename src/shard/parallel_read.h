/* parallel_read.h: reading on many ranks, each its own part of the input. */
#ifndef PL_PARALLEL_READ_H
#define PL_PARALLEL_READ_H

#include "shard/distributed.h"

/* Reads the inputs that `words` name: the rows end up on the ranks that read them (data->spread), in an order that is
 * that of the whole; what is wrong is said by all ranks in the words of one process. On one rank it reads everything.
 */
parley_status pl_ranks_read(pl_engine *engine, const char *const *words, unsigned count, const pl_reading *reading,
                            pl_pool *pool, parley_data **out, parley_error *error);

/* ranks_text.c: text of a format that can be cut anywhere between lines. `mapped` tells of each input whether it is
 * plain text in a file. */
parley_status pl_ranks_text(pl_engine *engine, const pl_inputs *inputs, const bool *mapped, const pl_reading *reading,
                            pl_pool *pool, parley_data **out, parley_error *error);

#endif
