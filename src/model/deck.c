/* deck.c: dealing blocks. With one worker rows stay in order: solvers shuffle within a shard themselves. With more,
 * blocks of rows are shuffled first, because files sorted by label would give each worker one label only. */
#include "model/deck.h"

#include "base/random.h"

#define BLOCKS_PER_WORKER 64
#define DEAL_STREAM 0x6465616cu /* stream number of the deal, apart from any worker's */

parley_status pl_deck_open(pl_deck *deck, uint64_t rows, unsigned workers, unsigned lanes, uint64_t seed,
                           parley_error *error) {
    uint64_t blocks = workers == 1 ? 1 : (uint64_t)workers * BLOCKS_PER_WORKER;
    *deck = (pl_deck){.rows = rows, .parts = (uint64_t)workers * lanes};
    deck->block_rows = (rows + blocks - 1) / blocks;
    deck->blocks = (rows + deck->block_rows - 1) / deck->block_rows;
    deck->order = pl_alloc(deck->blocks, sizeof *deck->order);
    deck->mark = pl_alloc(deck->blocks + 1, sizeof *deck->mark);
    deck->place = pl_alloc(deck->parts, sizeof *deck->place);
    deck->target = pl_alloc(deck->parts, sizeof *deck->target);
    deck->cut = pl_alloc(deck->parts, sizeof *deck->cut);
    if (!deck->order || !deck->mark || !deck->place || !deck->target || !deck->cut) {
        pl_deck_close(deck);
        return pl_fail_memory(error, "shards", (2 * deck->blocks + 3 * deck->parts) * sizeof *deck->order);
    }
    for (uint64_t b = 0; b < deck->blocks; b++)
        deck->order[b] = b;
    pl_stream stream = pl_stream_make(seed, DEAL_STREAM, workers);
    pl_shuffle(&stream, deck->order, deck->blocks);
    return PARLEY_OK;
}

void pl_deck_aim(pl_deck *deck) {
    uint64_t cost = deck->mark[deck->blocks], dealt = 0, p = 0;
    for (uint64_t b = 0; b < deck->blocks; b++) {
        uint64_t before = deck->mark[deck->order[b]], after = deck->mark[deck->order[b] + 1];
        for (; p + 1 < deck->parts; p++) {
            uint64_t due = (uint64_t)((double)cost * (double)(p + 1) / (double)deck->parts);
            if (due > dealt + (after - before))
                break;
            deck->place[p] = b;
            deck->target[p] = before + (due > dealt ? due - dealt : 0);
        }
        dealt += after - before;
    }
    for (; p + 1 < deck->parts; p++) {
        deck->place[p] = deck->blocks - 1;
        deck->target[p] = deck->mark[deck->order[deck->blocks - 1] + 1];
    }
}

uint64_t pl_deck_parts(const pl_deck *deck, uint64_t first, uint64_t kept, pl_part *parts, pl_range *ranges) {
    uint64_t p = 0, used = 0;
    for (uint64_t b = 0; b < deck->blocks; b++) {
        uint64_t begin = deck->order[b] * deck->block_rows, end = begin + deck->block_rows;
        end = end < deck->rows ? end : deck->rows;
        for (bool ends = true; ends;) {
            ends = p + 1 < deck->parts && deck->place[p] == b;
            uint64_t cut = ends ? deck->cut[p] : end;
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

void pl_deck_close(pl_deck *deck) {
    pl_free(deck->order);
    pl_free(deck->mark);
    pl_free(deck->place);
    pl_free(deck->target);
    pl_free(deck->cut);
    *deck = (pl_deck){0};
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

void pl_deck_cut(pl_deck *deck, const pl_matrix *x) {
    for (uint64_t b = 0; b <= deck->blocks; b++) {
        uint64_t row = b < deck->blocks ? b * deck->block_rows : x->rows;
        deck->mark[b] = x->start[row] - x->start[0] + row;
    }
    pl_deck_aim(deck);
    for (uint64_t p = 0; p + 1 < deck->parts; p++) {
        uint64_t block = deck->order[deck->place[p]], begin = block * deck->block_rows, end = begin + deck->block_rows;
        deck->cut[p] =
            pl_cost_row(x->start + begin, begin, end < x->rows ? end : x->rows, deck->mark[block], deck->target[p]);
    }
}
