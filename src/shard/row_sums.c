/* row_sums.c: sums over the rows of workers. Each lane adds up its rows, then lanes and workers are added in tree
 * order, so the bits do not depend on threads and ranks. */
#include "shard/row_sums.h"

#include <string.h>

#include "engine/collective.h"

typedef struct sum_pass {
    const pl_team *team;
    pl_row_sum f;
    pl_chunk_sum chunk; /* or NULL */
    const void *context;
    const parley_data *data; /* whose entries `f` reads; NULL: none */
    double *sums;            /* hosted x lanes x PL_ROW_SUMS */
} sum_pass;

static void sum_task(void *context, unsigned task) {
    const sum_pass *pass = context;
    double sums[PL_ROW_SUMS] = {0};
    for (pl_walk rows = pass->data ? pl_walk_entries(pass->data) : (pl_walk){0};
         pl_walk_on(&pass->team->parts[task], &rows);) {
        for (uint64_t i = rows.begin; i < rows.end && !pass->chunk; i++)
            pass->f(pass->context, i, sums);
        if (pass->chunk)
            pass->chunk(pass->context, rows.begin, rows.end, sums);
    }
    memcpy(pass->sums + (uint64_t)task * PL_ROW_SUMS, sums, sizeof sums);
}

static void run_sums(sum_pass *pass, unsigned count, double *sums) {
    const pl_team *team = pass->team;
    pl_team_run(team, sum_task, pass);
    for (unsigned k = 0; k < team->hosted; k++) {
        double *lanes = team->lane_sums + (uint64_t)k * team->lanes * PL_ROW_SUMS;
        pl_tree_add(lanes, team->lanes, PL_ROW_SUMS, PL_ROW_SUMS);
        memcpy(sums + (uint64_t)k * count, lanes, count * sizeof *sums);
    }
}

void pl_sum_rows(const pl_team *team, pl_row_sum f, const void *context, unsigned count, double *sums) {
    run_sums(&(sum_pass){.team = team, .f = f, .context = context, .sums = team->lane_sums}, count, sums);
}

void pl_sum_chunks(const pl_team *team, pl_chunk_sum f, const void *context, unsigned count, double *sums) {
    run_sums(&(sum_pass){.team = team, .chunk = f, .context = context, .sums = team->lane_sums}, count, sums);
}

parley_status pl_total_entries(const pl_team *team, const parley_data *data, pl_row_sum f, const void *context,
                               unsigned count, double *sums, parley_error *error) {
    sum_pass pass = {.team = team, .f = f, .context = context, .data = data, .sums = team->lane_sums};
    run_sums(&pass, count, team->worker_sums);
    return pl_team_sum(team, team->worker_sums, count, sums, error);
}

parley_status pl_total_rows(const pl_team *team, pl_row_sum f, const void *context, unsigned count, double *sums,
                            parley_error *error) {
    pl_sum_rows(team, f, context, count, team->worker_sums);
    return pl_team_sum(team, team->worker_sums, count, sums, error);
}
