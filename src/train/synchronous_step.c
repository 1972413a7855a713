/* synchronous_step.c: from the reduced update to the new v. The owners propose a direction, the workers answer what the
 * combine asks about it, trial steps are judged, v moves by the accepted step gamma, and gamma is committed. */
#include <string.h>

#include "engine/collective.h"
#include "train/run.h"

#define MOVED (1u << 15) /* entries of v that one task moves; fewer take less time than waking a thread */

typedef struct measurement {
    pl_run *run;
    const pl_slice *slice;
    double gamma;
} measurement;

static void measure_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const measurement *measurement = context;
    const pl_run *run = measurement->run;
    pl_slice slice = *measurement->slice;
    slice.begin = begin;
    slice.end = end;
    run->method.combine->trial->measure(run->combine, &slice, measurement->gamma, sums);
}

static const pl_local_search *search_of(const pl_run *run) { return run->method.local->search; }

/* Sends the direction to all workers, which prepare for probes along it. */
static parley_status follow(pl_run *run, parley_error *error) {
    parley_status status = pl_exchange_spread(run->exchange, run->tables.direction, error);
    if (status != PARLEY_OK)
        return status;
    pl_phase_begin(&run->spans, PL_IN_PROBE);
    status = search_of(run)->follow(run->local, run->tables.v, run->tables.direction, error);
    pl_phase_end(&run->spans);
    run->summary.epochs += 1.0;
    return status;
}

static bool bends(const pl_run *run) {
    const pl_combine_search *search = run->method.combine->search;
    return search->bends && search->bends(run->combine);
}

/* Computes the workers' sums at the trial step in their updates. */
static parley_status probe(pl_run *run, const pl_slice *slice, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (bends(run)) {
        status = run->method.combine->search->bend(run->combine, slice, run->gamma, error);
        if (status == PARLEY_OK)
            status = follow(run, error);
    }
    if (status != PARLEY_OK)
        return status;
    pl_phase_begin(&run->spans, PL_IN_PROBE);
    search_of(run)->probe(run->local, bends(run) ? 1.0 : run->gamma, run->update);
    pl_phase_end(&run->spans);
    return status;
}

/* Sums the scalars of the updates, which a probe has changed. */
static parley_status sum_scalars(pl_run *run, double *sums, parley_error *error) {
    for (unsigned k = 0; k < run->rows.team.hosted; k++)
        memcpy(run->sums_room + k * PL_SCALARS, run->update[k].scalars, sizeof run->update[k].scalars);
    return pl_team_sum(&run->rows.team, run->sums_room, PL_SCALARS, sums, error);
}

static void move_v(const pl_run *run, double gamma, uint64_t begin, uint64_t end) {
    double *v = run->tables.v;
    const double *direction = run->tables.direction;
    for (uint64_t j = begin; j < end; j++)
        v[j] += gamma * direction[j];
}

typedef struct move {
    const pl_run *run;
    double gamma;
    uint64_t begin, end;
} move;

static void move_task(void *context, unsigned task) {
    const move *move = context;
    uint64_t begin = move->begin + (uint64_t)task * MOVED, end = begin + MOVED < move->end ? begin + MOVED : move->end;
    move_v(move->run, move->gamma, begin, end);
}

static void move_as_master(pl_run *run, double gamma, uint64_t begin, uint64_t end) {
    move move = {run, gamma, begin, end};
    pl_phase_begin(&run->spans, PL_IN_MASTER);
    if (end - begin > MOVED)
        run->engine->type->run(run->engine, move_task, &move, (unsigned)((end - begin + MOVED - 1) / MOVED));
    else
        move_v(run, gamma, begin, end);
    pl_phase_end(&run->spans);
}

static void commit(pl_run *run, double gamma) {
    for (unsigned k = 0; k < run->rows.team.hosted; k++)
        run->method.local->commit(run->local, k, gamma * run->share[k]);
}

/* Tries steps along the direction until the combine accepts one. v then moves on all ranks, because all have the
 * direction. */
static parley_status search(pl_run *run, const pl_slice *slice, parley_error *error) {
    double workers[PL_SCALARS], owners[PL_OWN_SCALARS];
    parley_status status = PARLEY_OK;
    if (!bends(run))
        status = follow(run, error);
    for (bool accepted = false; !accepted && status == PARLEY_OK;) {
        status = probe(run, slice, error);
        measurement measurement = {run, slice, run->gamma};
        if (status == PARLEY_OK)
            status = sum_scalars(run, workers, error);
        if (status == PARLEY_OK)
            status = pl_exchange_sum(run->exchange, measure_entries, &measurement, owners, error);
        if (status == PARLEY_OK)
            accepted = run->method.combine->trial->judge(run->combine, workers, owners, &run->gamma);
    }
    if (status != PARLEY_OK)
        return status;
    double gamma = bends(run) ? 1.0 : run->gamma;
    move_as_master(run, gamma, 0, run->tables.entries);
    commit(run, gamma);
    return status;
}

static void leap_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const measurement *measurement = context;
    measure_entries(context, begin, end, sums);
    move_v(measurement->run, 1.0, begin, end);
}

/* Without a search, the owners move v by the whole direction, measure this on the way, and then distribute v. If the
 * step turns out to be too long, which is rare, they first undo part of it. */
static parley_status leap(pl_run *run, const pl_slice *slice, parley_error *error) {
    const pl_combine_trial *trial = run->method.combine->trial;
    measurement measurement = {run, slice, 1.0};
    double owners[PL_OWN_SCALARS];
    bool judged = trial && run->rows.team.workers > 1; /* the change of a single worker is taken whole */
    parley_status status = PARLEY_OK;
    if (judged) {
        pl_gather_offer(run->engine, run->tables.v);
        status = pl_exchange_sum(run->exchange, leap_entries, &measurement, owners, error);
    }
    if (status != PARLEY_OK)
        return status;
    if (judged)
        trial->judge(run->combine, run->sums.scalars, owners, &run->gamma);
    double rest = judged ? run->gamma - 1.0 : 1.0;
    if (rest != 0) {
        pl_gather_offer(run->engine, run->tables.v); /* offer v again: it changes after the barrier */
        move_as_master(run, rest, slice->begin, slice->end);
    }
    commit(run, run->gamma);
    return pl_exchange_spread(run->exchange, run->tables.v, error);
}

/* Computes as many products with the curvature as the combine asks for. Their sums replace the gradient. */
static parley_status answer(pl_run *run, const pl_slice *slice, parley_error *error) {
    const pl_combine_curvature *curvature = run->method.combine->curvature;
    parley_status status = PARLEY_OK;
    while (status == PARLEY_OK && curvature && curvature->asks && curvature->asks(run->combine)) {
        status = pl_exchange_spread(run->exchange, run->tables.direction, error);
        if (status != PARLEY_OK)
            break;
        pl_phase_begin(&run->spans, PL_IN_PROBE);
        search_of(run)->product(run->local, run->tables.direction, run->update);
        pl_phase_end(&run->spans);
        run->summary.epochs += 1.0;
        status = (run->setup.preconditions ? pl_exchange_reduce : pl_exchange_reduce_first)(
            run->exchange, run->update, run->share, run->tables.change, error);
        if (status == PARLEY_OK)
            status = curvature->next(run->combine, slice, error);
    }
    return status;
}

/* If the reduced update itself is the direction, the two tables are swapped instead of copied. */
static bool takes_change(pl_run *run) {
    if (run->method.combine->propose || run->sums.shrink != 1.0 || run->exchange->width != 1)
        return false;
    double *direction = run->tables.change;
    run->tables.change = run->tables.direction;
    run->tables.direction = direction;
    return true;
}

/* v becomes shrink v + change. */
static void propose_change(const pl_slice *slice) {
    for (uint64_t j = slice->begin; j < slice->end; j++)
        slice->direction[j] = (slice->shrink - 1.0) * slice->v[j] + slice->change[j];
}

static parley_status propose(pl_run *run, const pl_slice *slice, parley_error *error) {
    parley_status status = PARLEY_OK;
    pl_phase_begin(&run->spans, PL_IN_MASTER);
    if (run->method.combine->propose)
        status = run->method.combine->propose(run->combine, slice, run->round, error);
    else
        propose_change(slice);
    pl_phase_end(&run->spans);
    return status;
}

parley_status pl_step(pl_run *run, parley_error *error) {
    bool taken = takes_change(run);
    pl_slice slice = {.begin = pl_exchange_begin(run->exchange),
                      .end = pl_exchange_end(run->exchange),
                      .v = run->tables.v,
                      .change = run->tables.change,
                      .direction = run->tables.direction,
                      .shrink = run->sums.shrink,
                      .value = run->at.value,
                      .gap = run->best.latest_gap,
                      .sums = pl_exchange_sums(run->exchange)};
    parley_status status = taken ? PARLEY_OK : propose(run, &slice, error);
    if (status == PARLEY_OK)
        status = answer(run, &slice, error);
    run->gamma = 1.0;
    if (status != PARLEY_OK)
        return status;
    return run->method.combine->search ? search(run, &slice, error) : leap(run, &slice, error);
}
