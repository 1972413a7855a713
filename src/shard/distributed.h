/* distributed.h: data whose rows are distributed over the ranks, and functions that move them between ranks. */
#ifndef PL_DISTRIBUTED_H
#define PL_DISTRIBUTED_H

#include "data/data.h"
#include "engine/engine.h"

/* Message channels for reading and moving rows. The collectives use lower numbers. */
enum { PL_CHANNEL_MOVE = 48, PL_CHANNEL_LIST, PL_CHANNEL_TEXT, PL_CHANNEL_READY };

/* Gathers a list of numbers from every rank into `*all`, which the caller frees. The list of rank r starts at
 * bounds[r]; `bounds` has ranks + 1 elements. */
parley_status pl_gather_lists(pl_engine *engine, const double *mine, uint64_t count, double **all, uint64_t *bounds,
                              parley_error *error);
/* Sums integers over ranks, in place. Doubles hold them exactly. */
parley_status pl_sum_ranks(pl_engine *engine, double *values, uint64_t count, parley_error *error);
/* Broadcasts bytes from the rank `from` to all ranks. */
parley_status pl_broadcast(pl_engine *engine, unsigned from, void *bytes, uint64_t count, parley_error *error);

/* Fills in `before`, the totals and the flags of data->spread. Its pieces must already have begin, end, first and rank.
 */
parley_status pl_spread_measure(pl_engine *engine, const parley_data *data, parley_error *error);
/* Selects rows of distributed data by their increasing global row numbers. Each row stays on the rank that holds it. */
parley_status pl_spread_subset(pl_engine *engine, const parley_data *data, const uint64_t *rows, uint64_t count,
                               parley_data **out, parley_error *error);

/* A transfer of the rows with global numbers [begin, end). They are rows source, source + 1, ... of rank `from` and
 * become rows place, place + 1, ... of rank `to`. */
typedef struct pl_transfer {
    uint64_t begin, end, source, place;
    unsigned from, to;
} pl_transfer;
#define PL_EVERY_RANK UINT32_MAX /* value of `to` that copies the rows to every rank */

/* Callbacks that pack and unpack the rows being moved. A row number is local to the rank that runs the callback. */
typedef struct pl_payload {
    void *context;
    uint64_t (*bytes)(const void *context, bool arriving, uint64_t row, uint64_t count);
    void (*load)(const void *context, uint64_t row, uint64_t count, char *to);
    void (*store)(void *context, uint64_t row, uint64_t count, const char *from);
    void (*sent)(void *context, uint64_t row); /* optional: all local rows before `row` have been sent */
} pl_payload;
/* Moves rows in steps. Each rank sends at most `window` rows per step, which bounds the memory for messages. */
parley_status pl_move_rows(pl_engine *engine, const pl_transfer *transfers, uint64_t count, uint64_t window,
                           const pl_payload *payload, parley_error *error);
/* The number of rows that makes a window of a few megabytes. */
uint64_t pl_window_rows(uint64_t rows, uint64_t nonzeros);

/* Copies all rows of distributed data to every rank. */
parley_status pl_spread_to_all(pl_engine *engine, const parley_data *data, parley_data **out, parley_error *error);
/* Makes the transfers, after which this rank has `rows` rows. Of data->spread it needs the totals and the flags. The
 * entries of `data` are released along the way. */
parley_status pl_exchange_rows(pl_engine *engine, const parley_data *data, const pl_transfer *transfers, uint64_t count,
                               uint64_t rows, parley_data **out, parley_error *error);
/* Copies the data in an order that depends on the content of the rows alone (content_order.c). The copy refers to the
 * names of `data`. */
parley_status pl_rows_by_content(pl_engine *engine, const parley_data *data, parley_data **out, parley_error *error);
/* Moves every row of distributed data to the rank that hosts its worker, and records the assignment in (*out)->deal.
 * Memory of rows that were sent is released along the way, so `data` has no rows afterwards. */
parley_status pl_deal_rows(pl_engine *engine, const parley_data *data, unsigned workers, unsigned lanes, uint64_t seed,
                           parley_data **out, parley_error *error);
/* Numbers of every row of this rank. */
typedef struct pl_row_table {
    double *values;
    uint64_t width; /* per row; 0: there are none */
} pl_row_table;
/* Moves rows that pl_deal_rows has distributed to another number of workers, and with them the table, if it is not
 * NULL, whose values are replaced. The rows are assigned as if they had been dealt to these workers at first. `dealt`
 * has no rows afterwards. */
parley_status pl_deal_again(pl_engine *engine, parley_data *dealt, unsigned workers, unsigned lanes, uint64_t seed,
                            pl_row_table *table, parley_data **out, parley_error *error);

#endif
