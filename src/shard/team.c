/* team.c: the workers of a run, and sums over their rows. */
#include "shard/team.h"

#include <string.h>

#include "engine/collective.h"
#include "shard/partition.h"

#define WALK_AHEAD ((uint64_t)2 << 20) /* entries that a walk reads ahead; 16 MB with values */
#define WALK_STEP ((uint64_t)1 << 18)  /* that it asks for, and gives back, at a time */

static void weigh(pl_team *team, const double *weight) {
    for (unsigned k = 0; k < team->hosted; k++)
        for (unsigned l = 0; l < team->lanes; l++) {
            const pl_part *part = &team->parts[k * team->lanes + l];
            team->rows[k] += part->rows;
            team->weight[k] += weight ? 0.0 : (double)part->rows;
            team->nonzeros[k] += part->nonzeros;
            for (uint64_t r = 0; r < part->count; r++)
                for (uint64_t i = part->ranges[r].begin; i < part->ranges[r].end && weight; i++)
                    team->weight[k] += weight[i];
        }
}

static parley_status allocate_team(pl_team *team, pl_engine *engine, unsigned workers, unsigned lanes, uint64_t seed,
                                   parley_error *error) {
    unsigned first = pl_host_begin(workers, pl_engine_hosts(engine), engine->rank);
    unsigned hosted = pl_host_begin(workers, pl_engine_hosts(engine), engine->rank + 1) - first;
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

static parley_status assign_rows(pl_team *team, const pl_matrix *x, parley_error *error) {
    pl_partition partition;
    uint64_t parts = (uint64_t)team->hosted * team->lanes;
    parley_status status = pl_partition_open(&partition, x->rows, team->workers, team->lanes, team->seed, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_take(&team->ranges, partition.blocks + partition.parts, sizeof *team->ranges, "shards", error);
    if (status == PARLEY_OK) {
        pl_partition_cut(&partition, x);
        pl_partition_parts(&partition, (uint64_t)team->first * team->lanes, parts, team->parts, team->ranges);
    }
    for (uint64_t p = 0; p < parts && status == PARLEY_OK; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++) {
            pl_range range = team->parts[p].ranges[r];
            team->parts[p].nonzeros += pl_row_start(x, range.end) - pl_row_start(x, range.begin);
        }
    pl_partition_close(&partition);
    return status;
}

/* Uses the assignment that was made when the rows were moved to their ranks. */
static parley_status use_deal(pl_team *team, const pl_deal *deal, parley_error *error) {
    if (deal->workers != team->workers || deal->lanes != team->lanes)
        return pl_fail(error, PARLEY_BROKEN, "rows were assigned to %u workers with %u lanes, not to %u with %u",
                       deal->workers, deal->lanes, team->workers, team->lanes);
    memcpy(team->parts, deal->parts, (size_t)team->hosted * team->lanes * sizeof *team->parts);
    return PARLEY_OK;
}

static parley_status open_team(pl_team *team, pl_engine *engine, const pl_matrix *x, const pl_deal *deal,
                               const double *weight, unsigned workers, unsigned lanes, uint64_t seed,
                               parley_error *error) {
    parley_status status = allocate_team(team, engine, workers, lanes, seed, error);
    if (status != PARLEY_OK)
        return status;
    team->all_rows = deal ? deal->rows : x->rows;
    team->all_nonzeros = deal ? deal->nonzeros : x->nonzeros;
    status = deal ? use_deal(team, deal, error) : assign_rows(team, x, error);
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
    return pl_sum_passes(team->engine, team->workers, scalars, count, sums, error);
}

/* Asks for the next entries of the part. */
static void ask_ahead(const pl_part *part, pl_walk *walk) {
    const uint64_t *start = walk->large->x.start;
    while (walk->asked_range < part->count && walk->asked < walk->walked + WALK_AHEAD) {
        pl_range range = part->ranges[walk->asked_range];
        uint64_t begin = walk->asked_row ? walk->asked_row : range.begin, end = begin;
        while (end < range.end && start[end] - start[begin] < WALK_STEP)
            end = end + PL_ROW_CHUNK < range.end ? end + PL_ROW_CHUNK : range.end;
        pl_data_ahead(walk->large, begin, end);
        walk->asked += start[end] - start[begin];
        walk->asked_range += end == range.end;
        walk->asked_row = end == range.end ? 0 : end;
    }
}

void pl_walk_read(const pl_part *part, pl_walk *walk) {
    const uint64_t *start = walk->large->x.start;
    if (walk->held.end != walk->begin) { /* a new range */
        pl_walk_leave(walk);
        walk->held = (pl_range){walk->begin, walk->begin};
    }
    if (start[walk->begin] - start[walk->held.begin] >= WALK_STEP) {
        pl_walk_leave(walk);
        walk->held.begin = walk->begin;
    }
    walk->held.end = walk->end;
    walk->walked += start[walk->end] - start[walk->begin];
    if (walk->asked < walk->walked + WALK_AHEAD / 2)
        ask_ahead(part, walk);
}

void pl_walk_leave(pl_walk *walk) { pl_data_release(walk->large, walk->held.begin, walk->held.end); }

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
    status = pl_sum_passes(team->engine, team->workers, pass.tables, (unsigned)entries, out, error);
    pl_free(pass.tables);
    return status;
}
