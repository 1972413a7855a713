/* placement.c: chooses workers and lanes, and moves the rows or columns of each worker to its rank. */
#include <math.h>

#include "base/available_memory.h"
#include "engine/collective.h"
#include "shard/distributed.h"
#include "shard/fingerprint.h"
#include "train/run.h"

#define LANE_ENTRIES 8       /* least non-zeros of a lane per entry of v, which it must synchronise */
#define BLOCK_MEGABYTES 64.0 /* of a block of rows, if the memory allows it */
#define BLOCK_SHARE 0.1      /* of the memory */
#define LANE_ROWS 6          /* least non-zeros per row of v, if v is a table of several classes */

#define DIGITS(number) #number
#define NONZEROS(number) DIGITS(number) " non-zeros"

/* The shape of a run, for lanes. */
enum { OWN_LIMIT, RESTS, NUMBERS };
static const pl_shape_words words[NUMBERS] = {
    [OWN_LIMIT] = {"a problem that knows how many lanes it keeps busy", NULL},
    [RESTS] = {"dual ascent on a loss with kinks, with no second method", NULL},
};

static const pl_choice lane_choices[] = {
    {"own-limit", "limit of the problem", {{OWN_LIMIT, PL_IS, 0}}, "more lanes than that would have too little to do"},
    {"resting-rows",
     NONZEROS(PL_RESTING_NONZEROS),
     {{RESTS, PL_IS, 0}},
     "most rows soon rest, and lanes that share the few others hinder each other"},
    {"otherwise", NONZEROS(PL_LANE_NONZEROS), {{0}}, "a lane must synchronise its copy of the model with the others"},
};

const pl_decision pl_common_decisions[] = {
    {"lane work",
     "how much work a lane must have; there are no more lanes than threads, and with linear models a lane also needs 8 "
     "non-zeros for each entry of the model",
     .choices = lane_choices, .words = words},
    {0},
};

/* Whether dual ascent soon visits few rows: those at a kink. Lanes that share few rows hinder each other. */
static bool rests(const pl_run *run) {
    const parley_settings *settings = run->settings;
    return (run->method.local->traits & PL_ESTIMATES_GAP) && !run->method.sequel &&
           !(pl_settings_problem(settings)->rules->facts(run->problem, settings) & PL_FACT_SMOOTH);
}

/* The work of a pass over the data, in non-zeros. */
static uint64_t work_of(const pl_run *run) {
    const parley_data *data = run->rows.data;
    bool gradient = run->method.local->traits & PL_GIVES_GRADIENTS;
    return pl_all_nonzeros(data) + (gradient ? PL_ROW_NONZEROS : run->problem->step_nonzeros) * pl_all_rows(data);
}

/* The number of lanes that pays off: the threads per worker, as long as each lane has enough work. */
static uint64_t choose_lanes(pl_run *run, uint64_t workers) {
    const double shape[PL_SHAPE] = {[OWN_LIMIT] = run->problem->most_lanes > 0, [RESTS] = rests(run)};
    uint64_t lanes = run->engine->threads * (uint64_t)pl_engine_hosts(run->engine) / workers;
    pl_explain(run, pl_common_decisions, shape);
    if (run->problem->most_lanes) {
        uint64_t pays = run->problem->most_lanes / workers;
        return pays < 1 ? 1 : pays < lanes ? pays : lanes < 1 ? 1 : lanes;
    }
    uint64_t row = run->problem->row, entries = run->problem->size / row * (row > 1 ? LANE_ROWS : LANE_ENTRIES);
    bool resting = pl_decides(pl_common_decisions, shape, NONZEROS(PL_RESTING_NONZEROS));
    uint64_t nonzeros = resting ? PL_RESTING_NONZEROS : PL_LANE_NONZEROS,
             each = nonzeros > entries ? nonzeros : entries;
    uint64_t most = work_of(run) / workers / each;
    lanes = lanes < most ? lanes : most;
    return lanes < 1 ? 1 : lanes;
}

/* Moves rows from the ranks that read them to the ranks of their workers. */
static parley_status distribute(pl_run *run, parley_error *error) {
    const parley_settings *settings = run->settings;
    pl_placement *rows = &run->rows;
    parley_status status = pl_deal_rows(run->engine, rows->data, (unsigned)settings->workers, (unsigned)settings->lanes,
                                        settings->seed, &rows->dealt, error);
    if (status != PARLEY_OK)
        return status;
    rows->data = rows->dealt;
    return run->type->move(run->problem, rows->dealt, error);
}

/* Transposes the matrix, and partitions its columns. */
static parley_status open_columns(pl_run *run, parley_error *error) {
    pl_placement *rows = &run->rows;
    unsigned workers = (unsigned)run->settings->workers, lanes = (unsigned)run->settings->lanes;
    uint64_t seed = run->settings->seed;
    parley_status status =
        rows->dealt ? pl_columns_collect(&rows->by_column, run->engine, rows->dealt, workers, lanes, seed, error)
                    : pl_columns_open(&rows->by_column, run->engine, &rows->data->x, error);
    return status == PARLEY_OK
               ? pl_team_deal(&rows->columns, run->engine, &rows->by_column.shape, workers, lanes, seed, error)
               : status;
}

/* With distributed rows, each rank gets all rows without their entries, and then the columns of its workers. From here
 * on rows are numbered as in the whole data, and the distributed rows are freed. */
parley_status pl_turn_to_columns(pl_run *run, parley_error *error) {
    pl_placement *rows = &run->rows;
    const pl_team before = rows->team;
    parley_status status = run->type->collect(run->problem, run->engine, rows->dealt, &rows->all_rows, error);
    if (status != PARLEY_OK)
        return status;
    rows->data = rows->all_rows;
    pl_team_close(&rows->team);
    status = open_columns(run, error);
    parley_data_free(rows->dealt);
    rows->dealt = NULL;
    return status == PARLEY_OK
               ? pl_team_open(&rows->team, run->engine, rows->data, before.workers, before.lanes, before.seed, error)
               : status;
}

bool pl_can_place_again(const pl_run *run) { return !run->rows.all_rows; }

/* Moves the rows of this rank, and what it knows of them, to the ranks of their next workers. */
static parley_status deal_again(pl_run *run, unsigned workers, unsigned lanes, pl_row_table *table,
                                parley_error *error) {
    pl_placement *rows = &run->rows;
    parley_data *before = rows->dealt;
    parley_status status =
        pl_deal_again(run->engine, before, workers, lanes, run->settings->seed, table, &rows->dealt, error);
    if (status == PARLEY_OK) {
        rows->data = rows->dealt;
        status = run->type->move(run->problem, rows->dealt, error);
    }
    if (rows->dealt)
        parley_data_free(before);
    else
        rows->dealt = before; /* the problem refers to it */
    return status;
}

parley_status pl_place_again(pl_run *run, unsigned workers, unsigned lanes, pl_row_table *table, parley_error *error) {
    pl_placement *rows = &run->rows;
    parley_settings *settings = run->settings;
    bool by_columns = rows->columns.workers > 0;
    parley_error lost;
    settings->workers = workers;
    settings->lanes = lanes;
    pl_workers_close(run);
    pl_team_close(&rows->team);
    pl_team_close(&rows->columns);
    parley_status status = rows->dealt ? deal_again(run, workers, lanes, table, error) : PARLEY_OK;
    if (status == PARLEY_OK)
        status = pl_team_open(&rows->team, run->engine, rows->data, workers, lanes, settings->seed, error);
    if (status == PARLEY_OK && by_columns)
        status =
            pl_team_deal(&rows->columns, run->engine, &rows->by_column.shape, workers, lanes, settings->seed, error);
    if (status == PARLEY_OK)
        status = run->type->measure(run->problem, &rows->team, error);
    if (status == PARLEY_OK)
        status = pl_workers_open(run, error);
    if (status == PARLEY_OK && run->order) {
        pl_free(run->order);
        run->order = NULL;
        status = pl_order_hash(&rows->team, rows->data, &run->order, error);
    }
    if (status == PARLEY_OK && run->span_file &&
        pl_span_file_divide(run->span_file, workers, pl_host_begin, &lost) != PARLEY_OK)
        pl_give_up_spans(run, &lost);
    return status;
}

/* Data larger than memory are visited by blocks, of which a tenth of the memory holds one for every worker. Several
 * ranks hold their rows in memory. */
static void choose_blocks(pl_run *run) {
    parley_settings *settings = run->settings;
    if (!isnan(settings->block))
        return;
    settings->block = 0;
    if (run->rows.data->large && !run->rows.data->spread && pl_local_reads(run->method.local, "block")) {
        double most = BLOCK_SHARE * (double)pl_available_memory() / 1e6 / (double)settings->workers;
        settings->block = most < BLOCK_MEGABYTES ? exp2(floor(log2(fmax(most, 1e-3)))) : BLOCK_MEGABYTES;
    }
}

/* Values that are auto follow from the cores of rank 0, since other ranks may have more or fewer. */
static parley_status choose(pl_run *run, parley_error *error) {
    parley_settings *settings = run->settings;
    if (!settings->workers)
        settings->workers =
            (uint64_t)pl_engine_hosts(run->engine) * (settings->worker_per == PL_PER_CORE ? run->engine->threads : 1);
    if (!settings->lanes)
        settings->lanes = choose_lanes(run, settings->workers);
    uint64_t chosen[] = {settings->workers, settings->lanes};
    parley_status status =
        run->engine->ranks > 1 ? pl_broadcast(run->engine, 0, chosen, sizeof chosen, error) : PARLEY_OK;
    settings->workers = chosen[0];
    settings->lanes = chosen[1];
    return status;
}

/* Ranks that only serve get no workers. */
static parley_status set_servers_apart(pl_run *run, parley_error *error) {
    uint64_t servers = run->settings->servers;
    if (servers >= run->engine->ranks)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--servers %llu leaves no process of %u for workers; start more processes or use fewer servers",
                       (unsigned long long)servers, run->engine->ranks);
    run->engine->servers = (unsigned)servers;
    return PARLEY_OK;
}

/* Columns are all over the file. */
static parley_status fail_columns(const pl_run *run, parley_error *error) {
    const parley_data *data = run->rows.data;
    return pl_fail(error, PARLEY_NO_MEMORY,
                   "%s: local solver %s needs all columns in memory, and %.0f MB of data are more than half of what is "
                   "available; use --local sdca, gradient or sgd, which read rows block by block, or set --memory, if "
                   "more may be used",
                   data->path, run->method.local->name, (double)pl_data_bytes(data) / 1e6);
}

parley_status pl_choose_team(pl_run *run, parley_error *error) {
    parley_settings *settings = run->settings;
    pl_placement *rows = &run->rows;
    bool by_columns = run->method.local->traits & PL_OWNS_COLUMNS;
    uint64_t items = by_columns ? rows->data->x.columns : pl_all_rows(rows->data);
    parley_status status = set_servers_apart(run, error);
    if (status == PARLEY_OK)
        status = choose(run, error);
    if (status == PARLEY_OK)
        choose_blocks(run);
    if (status != PARLEY_OK)
        return status;
    if (by_columns && rows->data->large && !rows->data->spread)
        return fail_columns(run, error);
    if (items == 0)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: local solver %s needs columns, but the data have none; use another --local",
                       rows->data->path, run->method.local->name);
    if (settings->workers > items)
        return pl_fail(error, PARLEY_BAD_USAGE, "--workers %llu: there are only %llu %s to distribute",
                       (unsigned long long)settings->workers, (unsigned long long)items,
                       by_columns ? "columns" : "rows");
    status = rows->data->spread ? distribute(run, error) : PARLEY_OK;
    if (status == PARLEY_OK)
        status = pl_team_open(&rows->team, run->engine, rows->data, (unsigned)settings->workers,
                              (unsigned)settings->lanes, settings->seed, error);
    if (status == PARLEY_OK && by_columns && !rows->dealt)
        status = open_columns(run, error);
    return status;
}
