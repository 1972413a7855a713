/* row_sums.h: sums over rows, with the same bits for any number of threads and ranks. */
#ifndef PL_ROW_SUMS_H
#define PL_ROW_SUMS_H

#include "shard/team.h"

/* Sums over the rows of each hosted worker, `count` of them: sums[worker * count ...] (PL_ROW_SUMS at most). */
typedef void (*pl_row_sum)(const void *context, uint64_t row, double *sums);
void pl_sum_rows(const pl_team *team, pl_row_sum f, const void *context, unsigned count, double *sums);
/* The same by chunks of PL_ROW_CHUNK rows at most, for what is done faster for several at a time. */
typedef void (*pl_chunk_sum)(const void *context, uint64_t begin, uint64_t end, double *sums);
void pl_sum_chunks(const pl_team *team, pl_chunk_sum f, const void *context, unsigned count, double *sums);
/* Over all workers of all ranks. pl_total_entries is for an `f` that reads the entries of its row. */
parley_status pl_total_entries(const pl_team *team, const parley_data *data, pl_row_sum f, const void *context,
                               unsigned count, double *sums, parley_error *error);
parley_status pl_total_rows(const pl_team *team, pl_row_sum f, const void *context, unsigned count, double *sums,
                            parley_error *error);

#endif
