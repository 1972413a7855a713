/* block_order.h: the order of rows of data that are larger than memory.
 *
 * A worker's rows are cut into chunks of some megabytes, whose order is shuffled in every epoch. The next chunks in
 * that order, as many as make a block, are in memory together, and their buckets are shuffled with each other: so a
 * block holds rows from all over the shard, also if the rows are sorted. A turn is one pass over a block; several turns
 * in a row visit the same block, if the worker makes several passes between two exchanges. While a block is visited,
 * the next one is read ahead.
 *
 * The order depends on the data, the seed, the worker and the size of blocks only, not on the memory that there is. */
#ifndef PL_TURNS_H
#define PL_TURNS_H

#include "base/background.h"
#include "linear/rows/order.h"
#include "shard/row_blocks.h"

typedef struct pl_block_order {
    const parley_data *data;
    uint64_t bucket_rows;
    pl_row_block *chunks; /* in the order of rows */
    uint64_t count;       /* of chunks */
    uint64_t group;       /* chunks of a block */
    uint64_t blocks;
    uint64_t passes;       /* over a block, one after another */
    uint64_t *order;       /* of the chunks in this epoch */
    uint64_t *bound;       /* count + 1: the first bucket of each of them, in that order */
    uint64_t epoch;        /* 1 + the epoch that these are for; 0: none yet */
    pl_background *reader; /* reads ahead, and waits for the disk, while others compute; NULL: all fits into memory */
    uint64_t held;         /* 1 + the block that is in memory; 0: none */
} pl_block_order;

/* For a hosted worker. `megabytes` is the size of a block, and `epochs` the worker's passes between two exchanges. */
parley_status pl_block_order_open(pl_block_order *turns, const pl_team *team, unsigned worker, const parley_data *data,
                                  double megabytes, double epochs, parley_error *error);
void pl_block_order_close(pl_block_order *turns);
uint64_t pl_block_order_buckets(const pl_block_order *turns); /* the number of buckets */
/* Writes all buckets in the order of rows, and forgets the order of earlier turns. */
void pl_block_order_fill(pl_block_order *turns, uint64_t *buckets);

/* Begins a turn: shuffles its buckets, and those of all blocks if it begins an epoch, and reads ahead. Returns where
 * its buckets are. `worker` is the number among all workers. */
pl_range pl_block_order_begin(pl_block_order *turns, uint64_t seed, unsigned worker, uint64_t turn, uint64_t *buckets);
/* Finds the buckets of a turn that was begun in an earlier process, of which `cursor` have been visited. `worker` is
 * the number of a hosted worker. */
void pl_block_order_restore(pl_block_order *turns, pl_state *state, const pl_team *team, unsigned worker, uint64_t turn,
                            uint64_t cursor, uint64_t *base, uint64_t *length);
/* Whether a turn is the first one over its block. */
static inline bool pl_block_order_first(const pl_block_order *turns, uint64_t turn) {
    return turn % turns->passes == 0;
}
/* Gives back the memory of the block of the last turn. */
void pl_block_order_leave(pl_block_order *turns);

#endif
