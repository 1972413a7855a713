/* open_members.c: opens the local solver, combine and exchange of a method with the tables that they work on, switches
 * to those of the second method, and closes them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/available_memory.h"
#include "engine/agree.h"
#include "engine/collective.h"
#include "engine/neighbours.h"
#include "engine/shared_memory.h"
#include "train/run.h"

/* Whether the only worker steps in v itself, so that no other table is needed. */
static bool v_is_the_model(const pl_run *run) {
    return run->type->keeps_latest && run->setup.owns_v && (run->method.local->traits & PL_STEPS_IN_V);
}

/* Allocates v, direction and change. */
static parley_status open_tables(pl_run *run, parley_error *error) {
    pl_tables *tables = &run->tables;
    uint64_t entries = tables->entries, width = run->setup.width, bytes = (entries + 1) * sizeof *tables->v;
    void *v = NULL;
    parley_status status = PARLEY_OK;
    if ((run->method.local->traits & PL_ONLY_READS_V) && !run->method.combine->dialogue) /* then only owners write v */
        status = pl_shared_table(run->engine, bytes, &v, error);
    if (status != PARLEY_OK)
        return status;
    bool room = v || pl_span_reserve(&tables->room, bytes);
    tables->v = v ? v : tables->room.data;
    if (room && v_is_the_model(run))
        return PARLEY_OK;
    tables->direction = pl_alloc(entries, sizeof *tables->direction);
    tables->change = pl_alloc(entries * width, sizeof *tables->change);
    if (!room || !tables->direction || !tables->change)
        return pl_fail_memory(error, "the model", entries * (width + 2) * sizeof(double));
    uint64_t begin = run->setup.begin, owned = (run->setup.end - begin) * sizeof *tables->v;
    memset(tables->direction + begin, 0, owned); /* page faults should happen during setup */
    memset(tables->change + begin, 0, owned);
    return PARLEY_OK;
}

static void close_tables(pl_run *run) {
    pl_tables *tables = &run->tables;
    if (tables->room.data)
        pl_span_free(&tables->room);
    else
        pl_shared_free(run->engine, tables->v);
    pl_free(tables->direction);
    pl_free(tables->change);
    *tables = (pl_tables){.entries = tables->entries};
}

/* Allocates what all methods of a run share. */
static parley_status open_vectors(pl_run *run, parley_error *error) {
    uint64_t size = run->problem->size;
    if (run->type->keeps_latest)
        run->w = run->best.w = run->first = run->tables.v;
    else {
        run->w = pl_alloc(size, sizeof *run->w);
        run->best.w = pl_alloc(size, sizeof *run->best.w);
        run->first = pl_alloc(size, sizeof *run->first);
    }
    if (!run->w || !run->best.w || !run->first)
        return pl_fail_memory(error, "the model", 3 * size * sizeof(double));
    memset(run->w, 0, size * sizeof *run->w); /* page faults should happen during setup, not in the first evaluation */
    memset(run->best.w, 0, size * sizeof *run->best.w);
    parley_status status = pl_certificate_begin(run, error);
    return status == PARLEY_OK ? pl_workers_open(run, error) : status;
}

parley_status pl_workers_open(pl_run *run, parley_error *error) {
    uint64_t hosted = run->rows.team.hosted;
    run->update = pl_alloc(hosted, sizeof *run->update);
    run->share = pl_alloc(hosted, sizeof *run->share);
    if (!run->update || !run->share)
        return pl_fail_memory(error, "the updates", hosted * sizeof *run->update);
    return pl_traces_open(run, error);
}

void pl_workers_close(pl_run *run) {
    pl_free(run->update);
    pl_free(run->share);
    run->update = NULL;
    run->share = NULL;
    pl_traces_close(run);
}

/* The objective at the first model is known. With a dual problem, 0 is a lower bound at no cost, because no
 * objective is negative. */
parley_status pl_certificate_begin(pl_run *run, parley_error *error) {
    pl_certificate *best = &run->best;
    parley_status status = run->type->first(run->problem, &run->rows.team, best->w, &best->scale, error);
    uint64_t zeros = run->problem->begins_at_zero ? run->problem->penalised
                                                  : 0; /* zeros are skipped, so that their pages are never touched */
    if (run->first != best->w)
        memcpy(run->first + zeros, best->w + zeros, (run->problem->size - zeros) * sizeof *run->first);
    best->exists = run->problem->facts & PL_FACT_DUAL;
    best->objective = best->value = best->least = best->scale;
    best->dual = 0;
    best->measure = INFINITY;
    best->reference = run->type->by_change ? NAN : 0.0;
    run->pace = (pl_pace){.threshold = run->target * best->scale,
                          .estimate = -1,
                          .trusted = true,
                          .seen_gap = best->scale,
                          .seen_epochs = run->summary.epochs,
                          .slow_gap = 1.0,
                          .slow_epochs = run->summary.epochs,
                          .look_after = INFINITY,
                          .watched = best->exists ? best->scale : INFINITY,
                          .watched_objective = best->scale,
                          .last_gap = best->scale};
    return status;
}

static bool is_alone(const pl_run *run) {
    return run->rows.team.workers == 1 && run->engine->ranks == 1 && !run->method.exchange->async;
}

static void set_up_members(pl_run *run) {
    const pl_method *method = &run->method;
    const pl_local_type *local = method->local;
    const pl_combine_type *combine = method->combine;
    const pl_combine_dialogue *dialogue = combine->dialogue;
    bool columns = local->traits & PL_OWNS_COLUMNS;
    bool async = method->exchange->async;
    uint64_t staleness = async ? pl_staleness(run->settings) : 0;
    bool alone = is_alone(run);
    run->tables.entries = columns ? run->problem->data->x.rows : run->problem->size;
    run->setup =
        (pl_setup){.problem = run->problem,
                   .team = &run->rows.team,
                   .columns = columns ? &run->rows.columns : NULL,
                   .by_column = columns ? &run->rows.by_column.x : NULL,
                   .settings = run->settings,
                   .entries = run->tables.entries,
                   .width = combine->width ? combine->width(run->problem) : 1,
                   .wants = dialogue ? dialogue->wants : NULL,
                   .owns_v = alone && !combine->propose,
                   .accelerates = (local->traits & PL_KNOWS_MOMENTUM) && run->settings->updates == PL_IMMEDIATE,
                   .in_place = pl_method_in_place(method),
                   .adds = combine->takes & PL_MAY_BE_ADDED,
                   .gradients = combine->takes & PL_GIVES_GRADIENTS,
                   .asynchronous = async,
                   .late = staleness == PL_UNBOUNDED ? 1.0 : (double)staleness};
    pl_owners_of_v owners = pl_exchange_owners(method->exchange, combine->whole, run->engine);
    pl_exchange_slice(&owners, run->tables.entries, run->engine->rank, &run->setup.begin, &run->setup.end);
}

static uint64_t bytes_of_members(const pl_run *run) {
    const pl_method *method = &run->method;
    uint64_t tables = (run->setup.width + 2) * run->tables.entries + 3 * run->problem->size;
    if (run->type->keeps_latest)
        tables = (v_is_the_model(run) ? 1 : run->setup.width + 2) * run->tables.entries;
    return method->local->bytes(&run->setup) + (method->combine->bytes ? method->combine->bytes(&run->setup) : 0) +
           method->exchange->bytes(&run->setup, method->combine->whole) +
           (run->setup.by_column ? pl_columns_bytes(&run->rows.data->x) : 0) + tables * sizeof(double);
}

/* All ranks ask before any of them allocates. */
static parley_status check_room(const pl_run *run, uint64_t bytes, parley_error *error) {
    char who[128];
    snprintf(who, sizeof who, "training with %" PRIu64 " columns", run->rows.data->x.columns);
    parley_status status =
        pl_memory_check(bytes * pl_ranks_of_machine(run->engine), who,
                        run->settings->workers * run->settings->lanes > 1
                            ? "fewer --workers and --lanes need less, and --preset online folds the columns into 2^B "
                              "with --hash-bits B"
                            : "--preset online folds the columns into 2^B with --hash-bits B",
                        error);
    return run->engine->ranks > 1 ? pl_agree_status(run->engine, status, run->engine->rank, NULL, error) : status;
}

parley_status pl_members_open(pl_run *run, parley_error *error) {
    const pl_method *method = &run->method;
    if (is_alone(run) && method->combine->for_one_worker)
        run->method.combine = method->combine->for_one_worker;
    set_up_members(run);
    pl_explain_problem(run, true);
    pl_summarise(run);
    uint64_t bytes = bytes_of_members(run);
    pl_describe_run(run, bytes);
    parley_status status = check_room(run, bytes, error);
    if (status == PARLEY_OK)
        status = open_tables(run, error);
    if (status == PARLEY_OK && !run->w)
        status = open_vectors(run, error);
    run->setup.first = run->first;
    run->setup.target = run->target * run->best.scale;
    if (status == PARLEY_OK)
        status = method->local->open(&run->setup, &run->local, error);
    run->setup.local = run->local;
    if (status == PARLEY_OK)
        status = method->combine->open(&run->setup, &run->combine, error);
    if (status == PARLEY_OK)
        status = method->exchange->open(&run->setup, method->combine->whole, &run->exchange, error);
    pl_spans_interrupt(&run->spans);
    pl_timed_open(run);
    return status;
}

void pl_members_close(pl_run *run) {
    if (run->local)
        run->method.local->close(run->local);
    if (run->combine)
        run->method.combine->close(run->combine);
    if (run->exchange)
        run->method.exchange->close(run->exchange);
    run->local = NULL;
    run->combine = NULL;
    run->exchange = NULL;
    if (run->update) /* it points to memory of the solver */
        memset(run->update, 0, run->rows.team.hosted * sizeof *run->update);
    close_tables(run);
}

parley_status pl_open_next(pl_run *run, parley_error *error) {
    pl_method next;
    parley_status status = pl_method_next(run->later, run->problem, &run->method, run->later, &next, error);
    if (status != PARLEY_OK)
        return status;
    run->later->workers = run->settings->workers;
    run->later->lanes = run->settings->lanes;
    pl_members_close(run);
    status = pl_barrier(run->engine, error); /* no rank reads the closed members any more */
    if (status != PARLEY_OK)
        return status;
    run->settings = run->later;
    run->method = next;
    pl_explain_problem(run, false);
    run->pace.estimate = -1;
    run->pace.window = run->round; /* the next method has its own time to make progress */
    if (run->adapts.workers)
        status = pl_place_again(run, run->adapts.workers, run->adapts.lanes, &run->kept, error);
    return status == PARLEY_OK ? pl_members_open(run, error) : status;
}

parley_status pl_go_on(pl_run *run, parley_error *error) {
    parley_status status = run->method.local->primal(run->local, run->tables.v, run->w, error);
    if (status == PARLEY_OK)
        status = pl_open_next(run, error);
    bool worse = run->evaluated && run->best.latest > run->best.objective;
    return status == PARLEY_OK ? pl_move_to(run, worse ? run->best.w : run->w, NULL, error) : status;
}
