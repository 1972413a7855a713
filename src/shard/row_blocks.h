/* row_blocks.h: blocks of rows. Data that are larger than memory stay in a mapped file, and solvers that visit rows in
 * random order stay within a few blocks at a time: the next ones are read ahead, and those that were visited are given
 * back. */
#ifndef PL_ROW_BLOCKS_H
#define PL_ROW_BLOCKS_H

#include "data/data.h"

/* Rows of a part that follow each other there: `rows` of them, from row `first` of a range of the part. */
typedef struct pl_row_block {
    const pl_part *part;
    uint64_t range, first, rows;
} pl_row_block;

/* The most blocks of about `entries` entries that a part is divided into. */
uint64_t pl_row_blocks_most(const pl_part *part, uint64_t entries);
/* Divides the part. Returns the number of blocks, which cover it in its order. */
uint64_t pl_row_blocks_cut(const pl_matrix *x, const pl_part *part, uint64_t entries, pl_row_block *blocks);
/* Walks over the rows of a block, range by range. Begin with `number` 0. */
bool pl_row_block_next(const pl_row_block *block, uint64_t *number, pl_range *rows);

/* Begins to read the entries of a block, or gives their memory back. No effect on data that fit into memory. */
void pl_row_block_ahead(const parley_data *data, const pl_row_block *block);
void pl_row_block_leave(const parley_data *data, const pl_row_block *block);

#endif
