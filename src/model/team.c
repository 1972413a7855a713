/* team.c: dealing rows. With one worker rows stay in order: solvers shuffle within a shard themselves. With more,
 * blocks of rows are shuffled first, because files sorted by label would give each worker one label only. */
#include "model/team.h"

#include <string.h>

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

static parley_status gather_team(pl_team *team, pl_engine *engine, unsigned workers, unsigned lanes, uint64_t seed,
                                 parley_error *error) {
    unsigned first = pl_host_begin(workers, engine->ranks, engine->rank);
    unsigned hosted = pl_host_begin(workers, engine->ranks, engine->rank + 1) - first;
    *team =
        (pl_team){.engine = engine, .workers = workers, .first = first, .hosted = hosted, .lanes = lanes, .seed = seed};
    team->parts = pl_alloc((uint64_t)hosted * lanes, sizeof *team->parts);
    team->rows = pl_alloc(hosted, sizeof *team->rows);
    team->nonzeros = pl_alloc(hosted, sizeof *team->nonzeros);
    team->weight = pl_alloc(hosted, sizeof *team->weight);
    team->lane_sums = pl_alloc((uint64_t)hosted * lanes * PL_ROW_SUMS, sizeof *team->lane_sums);
    team->worker_sums = pl_alloc((uint64_t)hosted * PL_ROW_SUMS, sizeof *team->worker_sums);
    if (team->lane_sums && team->worker_sums && team->parts && team->rows && team->nonzeros && team->weight)
        return PARLEY_OK;
    pl_team_close(team);
    return pl_fail_memory(error, "shards", (uint64_t)hosted * lanes * PL_ROW_SUMS * sizeof(double));
}

static parley_status deal_rows(pl_team *team, const pl_matrix *x, parley_error *error) {
    deck deck;
    parley_status status = shuffle_deck(&deck, x->rows, team->workers, team->seed, error);
    if (status != PARLEY_OK)
        return status;
    uint64_t parts = (uint64_t)team->workers * team->lanes;
    status = pl_take(&team->ranges, deck.blocks + parts, sizeof *team->ranges, "shards", error);
    if (status == PARLEY_OK)
        cut_deck(&deck, x, parts, (uint64_t)team->first * team->lanes, (uint64_t)team->hosted * team->lanes,
                 team->parts, team->ranges);
    pl_free(deck.order);
    return status;
}

/* The deal that was made while the rows were read. */
static parley_status take_deal(pl_team *team, const pl_deal *deal, parley_error *error) {
    if (deal->workers != team->workers || deal->lanes != team->lanes)
        return pl_fail(error, PARLEY_BROKEN, "rows were dealt to %u workers of %u lanes, not to %u of %u",
                       deal->workers, deal->lanes, team->workers, team->lanes);
    memcpy(team->parts, deal->parts, (size_t)team->hosted * team->lanes * sizeof *team->parts);
    return PARLEY_OK;
}

static parley_status open_team(pl_team *team, pl_engine *engine, const pl_matrix *x, const pl_deal *deal,
                               const double *weight, unsigned workers, unsigned lanes, uint64_t seed,
                               parley_error *error) {
    parley_status status = gather_team(team, engine, workers, lanes, seed, error);
    if (status != PARLEY_OK)
        return status;
    team->all_rows = deal ? deal->rows : x->rows;
    team->all_nonzeros = deal ? deal->nonzeros : x->nonzeros;
    status = deal ? take_deal(team, deal, error) : deal_rows(team, x, error);
    if (status == PARLEY_OK)
        weigh(team, weight);
    else
        pl_team_close(team);
    return status;
}

parley_status pl_team_open(pl_team *team, pl_engine *engine, const parley_data *data, unsigned workers, unsigned lanes,
                           uint64_t seed, parley_error *error) {
    return open_team(team, engine, &data->x, data->deal, data->weight, workers, lanes, seed, error);
}

parley_status pl_team_deal(pl_team *team, pl_engine *engine, const pl_matrix *x, unsigned workers, unsigned lanes,
                           uint64_t seed, parley_error *error) {
    return open_team(team, engine, x, NULL, NULL, workers, lanes, seed, error);
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

typedef struct table_pass {
    const pl_team *team;
    uint64_t entries;
    pl_table_sum f;
    const void *context;
    double *tables; /* hosted x lanes */
} table_pass;

static void table_task(void *context, unsigned task) {
    const table_pass *pass = context;
    pass->f(pass->context, &pass->team->parts[task], pass->tables + task * pass->entries);
}

parley_status pl_sum_tables(const pl_team *team, uint64_t entries, pl_table_sum f, const void *context, double *out,
                            parley_error *error) {
    table_pass pass = {team, entries, f, context, NULL};
    parley_status status =
        pl_take(&pass.tables, (uint64_t)team->hosted * team->lanes * entries, sizeof(double), "sums by column", error);
    if (status != PARLEY_OK)
        return status;
    pl_team_run(team, table_task, &pass);
    for (unsigned k = 0; k < team->hosted; k++) {
        double *lanes = pass.tables + (uint64_t)k * team->lanes * entries;
        pl_tree_add(lanes, team->lanes, entries, entries);
        memmove(pass.tables + (uint64_t)k * entries, lanes, entries * sizeof *lanes);
    }
    status = pl_sum_workers(team->engine, team->workers, pass.tables, (unsigned)entries, out, error);
    pl_free(pass.tables);
    return status;
}
