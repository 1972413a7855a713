/* partition.c: assigns blocks of rows to workers. With one worker, rows stay in order, because solvers shuffle within a
 * shard. With more, blocks are shuffled first: in a file sorted by label, each worker would otherwise get a single
 * label. */
#include "shard/partition.h"

#include "base/random.h"

#define BLOCKS_PER_WORKER 64
#define DEAL_STREAM 0x6465616cu /* a random stream of its own, apart from the workers' streams */

parley_status pl_partition_open(pl_partition *partition, uint64_t rows, unsigned workers, unsigned lanes, uint64_t seed,
                                parley_error *error) {
    uint64_t blocks = workers == 1 ? 1 : (uint64_t)workers * BLOCKS_PER_WORKER;
    *partition = (pl_partition){.rows = rows, .parts = (uint64_t)workers * lanes};
    partition->block_rows = (rows + blocks - 1) / blocks;
    partition->blocks = (rows + partition->block_rows - 1) / partition->block_rows;
    partition->order = pl_alloc(partition->blocks, sizeof *partition->order);
    partition->mark = pl_alloc(partition->blocks + 1, sizeof *partition->mark);
    partition->place = pl_alloc(partition->parts, sizeof *partition->place);
    partition->target = pl_alloc(partition->parts, sizeof *partition->target);
    partition->cut = pl_alloc(partition->parts, sizeof *partition->cut);
    if (!partition->order || !partition->mark || !partition->place || !partition->target || !partition->cut) {
        pl_partition_close(partition);
        return pl_fail_memory(error, "shards",
                              (2 * partition->blocks + 3 * partition->parts) * sizeof *partition->order);
    }
    for (uint64_t b = 0; b < partition->blocks; b++)
        partition->order[b] = b;
    pl_stream stream = pl_stream_make(seed, DEAL_STREAM, workers);
    pl_shuffle(&stream, partition->order, partition->blocks);
    return PARLEY_OK;
}

void pl_partition_aim(pl_partition *partition) {
    uint64_t cost = partition->mark[partition->blocks], dealt = 0, p = 0;
    for (uint64_t b = 0; b < partition->blocks; b++) {
        uint64_t before = partition->mark[partition->order[b]], after = partition->mark[partition->order[b] + 1];
        for (; p + 1 < partition->parts; p++) {
            uint64_t due = (uint64_t)((double)cost * (double)(p + 1) / (double)partition->parts);
            if (due > dealt + (after - before))
                break;
            partition->place[p] = b;
            partition->target[p] = before + (due > dealt ? due - dealt : 0);
        }
        dealt += after - before;
    }
    for (; p + 1 < partition->parts; p++) {
        partition->place[p] = partition->blocks - 1;
        partition->target[p] = partition->mark[partition->order[partition->blocks - 1] + 1];
    }
}

uint64_t pl_partition_parts(const pl_partition *partition, uint64_t first, uint64_t kept, pl_part *parts,
                            pl_range *ranges) {
    uint64_t p = 0, used = 0;
    for (uint64_t b = 0; b < partition->blocks; b++) {
        uint64_t begin = partition->order[b] * partition->block_rows, end = begin + partition->block_rows;
        end = end < partition->rows ? end : partition->rows;
        for (bool ends = true; ends;) {
            ends = p + 1 < partition->parts && partition->place[p] == b;
            uint64_t cut = ends ? partition->cut[p] : end;
            if (cut > begin && p >= first && p < first + kept) {
                pl_part *part = &parts[p - first];
                if (part->count++ == 0)
                    part->ranges = ranges + used;
                ranges[used++] = (pl_range){begin, cut};
                part->rows += cut - begin;
            }
            begin = cut > begin ? cut : begin;
            p += ends;
        }
    }
    return used;
}

void pl_partition_close(pl_partition *partition) {
    pl_free(partition->order);
    pl_free(partition->mark);
    pl_free(partition->place);
    pl_free(partition->target);
    pl_free(partition->cut);
    *partition = (pl_partition){0};
}

uint64_t pl_cost_row(const uint64_t *start, uint64_t low, uint64_t high, uint64_t before, uint64_t target) {
    uint64_t first = low;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (before + (start[middle - first] - start[0]) + (middle - first) < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same for rows with an entry in every column. */
static uint64_t full_cost_row(uint64_t columns, uint64_t low, uint64_t high, uint64_t before, uint64_t target) {
    uint64_t rows = target > before ? (target - before + columns) / (columns + 1) : 0;
    return rows < high - low ? low + rows : high;
}

void pl_partition_cut(pl_partition *partition, const pl_matrix *x) {
    for (uint64_t b = 0; b <= partition->blocks; b++) {
        uint64_t row = b < partition->blocks ? b * partition->block_rows : x->rows;
        partition->mark[b] = pl_row_start(x, row) - pl_row_start(x, 0) + row;
    }
    pl_partition_aim(partition);
    for (uint64_t p = 0; p + 1 < partition->parts; p++) {
        uint64_t block = partition->order[partition->place[p]], begin = block * partition->block_rows,
                 end = begin + partition->block_rows;
        end = end < x->rows ? end : x->rows;
        partition->cut[p] =
            x->start ? pl_cost_row(x->start + begin, begin, end, partition->mark[block], partition->target[p])
                     : full_cost_row(x->columns, begin, end, partition->mark[block], partition->target[p]);
    }
}
