/* shares.c: who works on what: workers and lanes, the rows or columns that each has, and how these get to its rank. */
#include "shard/distributed.h"
#include "train/run.h"

#define LANE_NONZEROS 100000 /* below this a lane's work is shorter than its meetings */
#define LANE_ENTRIES 8       /* non-zeros of a lane for each entry of v, which it has to keep in step */
#define LANE_ROWS 6          /* for each row of v, where it is a table of several classes */

/* Lanes that pay: threads left over for each worker, as long as each lane has enough to do. */
static uint64_t choose_lanes(const pl_run *run, uint64_t workers) {
    uint64_t lanes = run->engine->threads * (uint64_t)run->engine->ranks / workers;
    uint64_t classes = run->glm.classes, entries = run->glm.size / classes * (classes > 1 ? LANE_ROWS : LANE_ENTRIES);
    uint64_t each = LANE_NONZEROS > entries ? LANE_NONZEROS : entries;
    uint64_t most = pl_all_nonzeros(run->data) / workers / each;
    lanes = lanes < most ? lanes : most;
    return lanes < 1 ? 1 : lanes;
}

/* Rows that lie on the ranks that read them go to those that work on them. */
static parley_status deal(pl_run *run, parley_error *error) {
    const parley_settings *settings = run->settings;
    parley_status status = pl_deal_rows(run->engine, run->data, (unsigned)settings->workers, (unsigned)settings->lanes,
                                        settings->seed, &run->dealt, error);
    if (status != PARLEY_OK)
        return status;
    run->data = run->dealt;
    pl_free(run->class_weight); /* the rows took it with them */
    run->class_weight = NULL;
    return pl_glm_move(&run->glm, run->data, error);
}

/* The matrix by columns, and the deal of these. */
static parley_status open_columns(pl_run *run, parley_error *error) {
    unsigned workers = (unsigned)run->settings->workers, lanes = (unsigned)run->settings->lanes;
    uint64_t seed = run->settings->seed;
    parley_status status =
        run->dealt ? pl_columns_collect(&run->by_column, run->engine, run->dealt, workers, lanes, seed, error)
                   : pl_columns_open(&run->by_column, run->engine, &run->data->x, error);
    return status == PARLEY_OK
               ? pl_team_deal(&run->columns, run->engine, &run->by_column.shape, workers, lanes, seed, error)
               : status;
}

/* Of dealt rows each rank gets of every row what is not an entry, and then the columns of its workers: from here on
 * rows are numbered as in the whole, and those that were dealt are gone. */
parley_status pl_turn_to_columns(pl_run *run, parley_error *error) {
    double *norm2;
    const pl_team rows = run->team;
    parley_status status = pl_columns_rows(run->engine, run->dealt, run->glm.norm2, &run->all_rows, &norm2, error);
    if (status != PARLEY_OK)
        return status;
    pl_free(run->glm.norm2);
    run->glm.norm2 = norm2;
    run->data = run->glm.data = run->all_rows;
    pl_team_close(&run->team);
    status = open_columns(run, error);
    parley_data_free(run->dealt);
    run->dealt = NULL;
    return status == PARLEY_OK
               ? pl_team_open(&run->team, run->engine, run->data, rows.workers, rows.lanes, rows.seed, error)
               : status;
}

/* Those that were not given follow from the cores of rank 0: other ranks may have more or fewer. */
static parley_status choose(pl_run *run, parley_error *error) {
    parley_settings *settings = run->settings;
    if (!settings->workers)
        settings->workers =
            (uint64_t)run->engine->ranks * (settings->worker_per == PL_PER_CORE ? run->engine->threads : 1);
    if (!settings->lanes)
        settings->lanes = choose_lanes(run, settings->workers);
    uint64_t chosen[] = {settings->workers, settings->lanes};
    parley_status status =
        run->engine->ranks > 1 ? pl_broadcast(run->engine, 0, chosen, sizeof chosen, error) : PARLEY_OK;
    settings->workers = chosen[0];
    settings->lanes = chosen[1];
    return status;
}

parley_status pl_choose_team(pl_run *run, parley_error *error) {
    parley_settings *settings = run->settings;
    bool by_columns = run->method.local->by_columns;
    uint64_t items = by_columns ? run->data->x.columns : pl_all_rows(run->data);
    parley_status status = choose(run, error);
    if (status != PARLEY_OK)
        return status;
    if (items == 0)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: there are no columns for local solver %s to work on; use another --local, or no --l1-ratio",
                       run->data->path, run->method.local->name);
    if (settings->workers > items)
        return pl_fail(error, PARLEY_BAD_USAGE, "--workers %llu: there are only %llu %s to deal out",
                       (unsigned long long)settings->workers, (unsigned long long)items,
                       by_columns ? "columns" : "rows");
    status = run->data->spread ? deal(run, error) : PARLEY_OK;
    if (status == PARLEY_OK)
        status = pl_team_open(&run->team, run->engine, run->data, (unsigned)settings->workers,
                              (unsigned)settings->lanes, settings->seed, error);
    if (status == PARLEY_OK && by_columns && !run->dealt)
        status = open_columns(run, error);
    return status;
}
