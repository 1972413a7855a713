/* parallel_read.h: reading on several ranks in parallel, each rank a part of the input. */
#ifndef PL_PARALLEL_READ_H
#define PL_PARALLEL_READ_H

#include "shard/distributed.h"

/* Reads the inputs that `words` name. Each row ends up on the rank that read it (data->spread); rows are numbered in
 * the order of the input. If reading fails, all ranks report the error that a single process would. With one rank, it
 * reads everything. */
parley_status pl_ranks_read(pl_engine *engine, const char *const *words, unsigned count, const pl_reading *reading,
                            pl_pool *pool, parley_data **out, parley_error *error);

/* Reads text that can be split at any line (parallel_read_text.c). mapped[i] says whether input i is an uncompressed
 * file. */
parley_status pl_ranks_text(pl_engine *engine, const pl_inputs *inputs, const bool *mapped, const pl_reading *reading,
                            pl_pool *pool, parley_data **out, parley_error *error);

#endif
