/* team.c: dealing rows. With one worker rows stay in order: solvers shuffle within a shard themselves. With more,
 * blocks of rows are shuffled first, because files sorted by label would give each worker one label only. */
#include "model/team.h"

#include "base/random.h"
#include "engine/collective.h"

#define BLOCKS_PER_WORKER 64
#define DEAL_STREAM 0x6465616cu /* stream number of the deal, apart from any worker's */

/* Blocks of rows in the order in which they are dealt. */
typedef struct deck {
    uint64_t block_rows, blocks;
    uint64_t *order;
} deck;

static parley_status shuffle_deck(deck *deck, uint64_t rows, unsigned workers, uint64_t seed, parley_error *error) {
    uint64_t blocks = workers == 1 ? 1 : (uint64_t)workers * BLOCKS_PER_WORKER;
    deck->block_rows = (rows + blocks - 1) / blocks;
    deck->blocks = (rows + deck->block_rows - 1) / deck->block_rows;
    parley_status status = pl_take(&deck->order, deck->blocks, sizeof *deck->order, "shards", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t b = 0; b < deck->blocks; b++)
        deck->order[b] = b;
    pl_stream stream = pl_stream_make(seed, DEAL_STREAM, workers);
    pl_shuffle(&stream, deck->order, deck->blocks);
    return PARLEY_OK;
}

static pl_range block_range(const deck *deck, const pl_matrix *x, uint64_t b) {
    uint64_t begin = deck->order[b] * deck->block_rows;
    uint64_t end = begin + deck->block_rows;
    return (pl_range){begin, end < x->rows ? end : x->rows};
}

/* First row of [begin, end) by which the dealt cost reaches `due`. A row costs its non-zeros plus one. */
static uint64_t cut_row(const pl_matrix *x, pl_range range, uint64_t dealt, uint64_t due) {
    uint64_t low = range.begin, high = range.end;
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        uint64_t cost = x->start[mid] - x->start[range.begin] + (mid - range.begin);
        if (dealt + cost < due)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Cuts the deck into `parts` consecutive parts of equal cost; keeps those in [first, first + kept). */
static void cut_deck(const deck *deck, const pl_matrix *x, uint64_t parts, uint64_t first, uint64_t kept, pl_part *part,
                     pl_range *ranges) {
    uint64_t cost = x->nonzeros + x->rows, dealt = 0, p = 0;
    for (uint64_t b = 0; b < deck->blocks; b++)
        for (pl_range left = block_range(deck, x, b); left.begin < left.end;) {
            uint64_t due = p + 1 == parts ? UINT64_MAX : (uint64_t)((double)cost * (double)(p + 1) / (double)parts);
            uint64_t cut = cut_row(x, left, dealt, due);
            if (cut > left.begin) {
                if (p >= first && p < first + kept) {
                    pl_part *mine = &part[p - first];
                    if (mine->count == 0)
                        mine->ranges = ranges;
                    *ranges++ = (pl_range){left.begin, cut};
                    mine->count++;
                    mine->rows += cut - left.begin;
                    mine->nonzeros += x->start[cut] - x->start[left.begin];
                }
                dealt += x->start[cut] - x->start[left.begin] + (cut - left.begin);
            }
            left.begin = cut;
            if (left.begin < left.end || dealt >= due)
                p++;
        }
}

static void weigh(pl_team *team, const double *weight) {
    for (unsigned k = 0; k < team->hosted; k++)
        for (unsigned l = 0; l < team->lanes; l++) {
            const pl_part *part = &team->parts[k * team->lanes + l];
            team->rows[k] += part->rows;
            team->nonzeros[k] += part->nonzeros;
            for (uint64_t r = 0; r < part->count; r++)
                for (uint64_t i = part->ranges[r].begin; i < part->ranges[r].end; i++)
                    team->weight[k] += weight ? weight[i] : 1.0;
        }
}

parley_status pl_team_open(pl_team *team, pl_engine *engine, const parley_data *data, unsigned workers, unsigned lanes,
                           uint64_t seed, parley_error *error) {
    unsigned first = pl_host_begin(workers, engine->ranks, engine->rank);
    unsigned hosted = pl_host_begin(workers, engine->ranks, engine->rank + 1) - first;
    *team =
        (pl_team){.engine = engine, .workers = workers, .first = first, .hosted = hosted, .lanes = lanes, .seed = seed};
    deck deck;
    parley_status status = shuffle_deck(&deck, data->x.rows, workers, seed, error);
    if (status != PARLEY_OK)
        return status;
    team->parts = pl_alloc((uint64_t)hosted * lanes, sizeof *team->parts);
    team->ranges = pl_alloc(deck.blocks + (uint64_t)workers * lanes, sizeof *team->ranges);
    team->rows = pl_alloc(hosted, sizeof *team->rows);
    team->nonzeros = pl_alloc(hosted, sizeof *team->nonzeros);
    team->weight = pl_alloc(hosted, sizeof *team->weight);
    team->lane_sums = pl_alloc((uint64_t)hosted * lanes * PL_ROW_SUMS, sizeof *team->lane_sums);
    team->worker_sums = pl_alloc((uint64_t)hosted * PL_ROW_SUMS, sizeof *team->worker_sums);
    if (!team->lane_sums || !team->worker_sums || !team->parts || !team->ranges || !team->rows || !team->nonzeros ||
        !team->weight) {
        status = pl_fail_memory(error, "shards", (deck.blocks + (uint64_t)workers * lanes) * sizeof *team->ranges);
        pl_team_close(team);
    } else {
        cut_deck(&deck, &data->x, (uint64_t)workers * lanes, (uint64_t)first * lanes, (uint64_t)hosted * lanes,
                 team->parts, team->ranges);
        weigh(team, data->weight);
    }
    pl_free(deck.order);
    return status;
}

void pl_team_close(pl_team *team) {
    pl_free(team->parts);
    pl_free(team->ranges);
    pl_free(team->rows);
    pl_free(team->nonzeros);
    pl_free(team->weight);
    pl_free(team->lane_sums);
    pl_free(team->worker_sums);
    *team = (pl_team){0};
}

void pl_team_run(const pl_team *team, pl_task task, void *context) {
    team->engine->type->run(team->engine, task, context, team->hosted * team->lanes);
}

parley_status pl_team_sum(const pl_team *team, const double *scalars, unsigned count, double *sums,
                          parley_error *error) {
    return pl_sum_workers(team->engine, team->workers, scalars, count, sums, error);
}
