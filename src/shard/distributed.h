/* distributed.h: rows that lie on the ranks that read them, and how they get to those that work on them. */
#ifndef PL_DISTRIBUTED_H
#define PL_DISTRIBUTED_H

#include "data/data.h"
#include "engine/engine.h"

/* Messages of reading and dealing; the collectives use lower channels. */
enum { PL_CHANNEL_MOVE = 48, PL_CHANNEL_LIST, PL_CHANNEL_TEXT, PL_CHANNEL_READY };

/* Every rank's list of numbers, one after the other: `*all` (to be freed) with rank r's from bounds[r] on (ranks + 1
 * of them). */
parley_status pl_gather_lists(pl_engine *engine, const double *mine, uint64_t count, double **all, uint64_t *bounds,
                              parley_error *error);
/* Adds whole numbers over ranks, in place. */
parley_status pl_sum_ranks(pl_engine *engine, double *values, uint64_t count, parley_error *error);
/* Bytes that the rank `from` has, to all. */
parley_status pl_send_all(pl_engine *engine, unsigned from, void *bytes, uint64_t count, parley_error *error);

/* Fills in `before`, the sums and the flags of data->spread, whose pieces have begin, end, first and rank. */
parley_status pl_spread_measure(pl_engine *engine, const parley_data *data, parley_error *error);
/* Some rows of spread data, by their numbers in the whole, which rise; those that this rank holds stay with it. */
parley_status pl_spread_subset(pl_engine *engine, const parley_data *data, const uint64_t *rows, uint64_t count,
                               parley_data **out, parley_error *error);

/* Rows [begin, end) of the whole, which are rows from `source` on of rank `from`, become rows from `place` on of `to`.
 */
typedef struct pl_fragment {
    uint64_t begin, end, source, place;
    unsigned from, to;
} pl_fragment;
#define PL_EVERY_RANK UINT32_MAX /* `to`: all get a copy */

/* What is moved. Rows are numbered as the rank that loads or stores them has them. */
typedef struct pl_cargo {
    void *context;
    uint64_t (*bytes)(const void *context, bool arriving, uint64_t row, uint64_t count);
    void (*load)(const void *context, uint64_t row, uint64_t count, char *to);
    void (*store)(void *context, uint64_t row, uint64_t count, const char *from);
    void (*passed)(void *context, uint64_t row); /* rows before this one, or all, have left; may be NULL */
} pl_cargo;
/* Moves fragments in windows of `window` rows of each rank, so that little is on its way at any time. */
parley_status pl_move(pl_engine *engine, const pl_fragment *fragments, uint64_t count, uint64_t window,
                      const pl_cargo *cargo, parley_error *error);
/* How many of these rows make a window of a few megabytes. */
uint64_t pl_window_rows(uint64_t rows, uint64_t nonzeros);

/* All rows of spread data, on every rank. */
parley_status pl_spread_to_all(pl_engine *engine, const parley_data *data, parley_data **out, parley_error *error);
/* Moves the rows of spread data to the ranks that host their workers: `*out` is dealt. The memory of what has left is
 * given back as it leaves, so `data` has no rows afterwards. */
parley_status pl_deal_rows(pl_engine *engine, const parley_data *data, unsigned workers, unsigned lanes, uint64_t seed,
                           parley_data **out, parley_error *error);

#endif
