/* partition.h: which rows go to which worker and lane: blocks of rows in a seeded order, cut at equal cost. A row costs
 * its non-zeros plus one. What is dealt depends on (data, K, L, seed) only, whoever holds which rows. */
#ifndef PL_PARTITION_H
#define PL_PARTITION_H

#include "data/data.h"

typedef struct pl_partition {
    uint64_t rows, block_rows, blocks, parts;
    uint64_t *order;  /* blocks in the order in which they are dealt */
    uint64_t *mark;   /* for the first row of each block, and behind the last: the cost of all rows before it */
    uint64_t *place;  /* for each part but the last: in which block of the order it ends */
    uint64_t *target; /* and the cost of all rows of the data before the row at which it ends, or a little less */
    uint64_t *cut;    /* and that row */
} pl_partition;

/* The order; `mark` and `cut` are to be filled in by those who know the rows. */
parley_status pl_partition_open(pl_partition *partition, uint64_t rows, unsigned workers, unsigned lanes, uint64_t seed,
                                parley_error *error);
/* Fills in everything, where `x` holds all rows. */
void pl_partition_cut(pl_partition *partition, const pl_matrix *x);
/* Makes `place` and `target` from the marks. */
void pl_partition_aim(pl_partition *partition);
/* The parts of [first, first + kept), with their ranges; returns how many ranges these are, at most blocks + parts. */
uint64_t pl_partition_parts(const pl_partition *partition, uint64_t first, uint64_t kept, pl_part *parts,
                            pl_range *ranges);
void pl_partition_close(pl_partition *partition);

/* The first row of [low, high] by which `before` and the cost of the rows from `low` on reach `target`; high at last.
 * `start` is that of row `low`. */
uint64_t pl_cost_row(const uint64_t *start, uint64_t low, uint64_t high, uint64_t before, uint64_t target);

#endif
