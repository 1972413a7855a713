/* partition.h: which rows belong to which worker and lane. Blocks of rows are shuffled by the seed and divided at equal
 * cost, where a row costs its non-zeros plus one. The result depends only on (data, K, L, seed), not on which rank
 * holds which rows. */
#ifndef PL_PARTITION_H
#define PL_PARTITION_H

#include "data/data.h"

typedef struct pl_partition {
    uint64_t rows, block_rows, blocks, parts;
    uint64_t *order;  /* block numbers in shuffled order */
    uint64_t *mark;   /* blocks + 1: the cost of all rows before each block, and the total cost */
    uint64_t *place;  /* for each part but the last: the position in `order` of the block where it ends */
    uint64_t *target; /* and the cost of all rows at which it should end */
    uint64_t *cut;    /* and the number of that row */
} pl_partition;

/* Shuffles the blocks. `mark` and `cut` must then be filled in from the rows. */
parley_status pl_partition_open(pl_partition *partition, uint64_t rows, unsigned workers, unsigned lanes, uint64_t seed,
                                parley_error *error);
/* Fills in the rest, for a matrix that holds all rows. */
void pl_partition_cut(pl_partition *partition, const pl_matrix *x);
/* Computes `place` and `target` from `mark`. */
void pl_partition_aim(pl_partition *partition);
/* Lists parts [first, first + kept) with their ranges of rows. Returns the number of ranges, at most blocks + parts. */
uint64_t pl_partition_parts(const pl_partition *partition, uint64_t first, uint64_t kept, pl_part *parts,
                            pl_range *ranges);
void pl_partition_close(pl_partition *partition);

/* Returns the first row in [low, high] where `before` plus the cost of rows [low, row) reaches `target`, or `high` if
 * none does. start[0] is the start of row `low`. */
uint64_t pl_cost_row(const uint64_t *start, uint64_t low, uint64_t high, uint64_t before, uint64_t target);

#endif
