/* row_blocks.c: divides parts into blocks of rows, and moves their entries between memory and disk. */
#include "shard/row_blocks.h"

uint64_t pl_row_blocks_most(const pl_part *part, uint64_t entries) { return part->nonzeros / entries + 1; }

uint64_t pl_row_blocks_cut(const pl_matrix *x, const pl_part *part, uint64_t entries, pl_row_block *blocks) {
    uint64_t most = pl_row_blocks_most(part, entries), due = part->nonzeros / most + 1, held = 0, count = 0;
    for (uint64_t r = 0; r < part->count; r++)
        for (uint64_t i = part->ranges[r].begin; i < part->ranges[r].end; i++) {
            if (count == 0 || (held >= due && count < most)) {
                blocks[count++] = (pl_row_block){part, r, i, 0};
                held = 0;
            }
            held += x->start[i + 1] - x->start[i];
            blocks[count - 1].rows++;
        }
    return count;
}

bool pl_row_block_next(const pl_row_block *block, uint64_t *number, pl_range *rows) {
    const pl_range *ranges = block->part->ranges;
    uint64_t left = block->rows, first = block->first;
    for (uint64_t r = block->range, i = 0; left > 0; r++, i++) {
        uint64_t end = ranges[r].end, count = end - first < left ? end - first : left;
        if (i == *number) {
            *rows = (pl_range){first, first + count};
            ++*number;
            return true;
        }
        left -= count;
        first = left > 0 ? ranges[r + 1].begin : 0;
    }
    return false;
}

void pl_row_block_ahead(const parley_data *data, const pl_row_block *block) {
    pl_range rows;
    for (uint64_t number = 0; data->large && pl_row_block_next(block, &number, &rows);)
        pl_data_ahead(data, rows.begin, rows.end);
}

void pl_row_block_leave(const parley_data *data, const pl_row_block *block) {
    pl_range rows;
    for (uint64_t number = 0; data->large && pl_row_block_next(block, &number, &rows);)
        pl_data_leave(data, rows.begin, rows.end);
}
