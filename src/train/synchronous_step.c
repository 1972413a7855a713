/* synchronous_step.c: from the reduced update to the new v. The owners propose a direction, the workers answer what the
 * combine asks about it, v moves by the accepted step gamma, and gamma is committed. */
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

/* Sums the scalars of the updates, which an answer has changed. */
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

/* Sends a new direction to all workers, and collects their answers: the sum of their tables in `change`, or of their
 * scalars. */
static parley_status ask_workers(pl_run *run, pl_question *question, double *scalars, parley_error *error) {
    pl_tables *tables = &run->tables;
    parley_status status = question->moved ? pl_exchange_spread(run->exchange, tables->direction, error) : PARLEY_OK;
    if (status != PARLEY_OK)
        return status;
    pl_phase_begin(&run->spans, PL_IN_PROBE);
    run->method.local->answer(run->local, question, tables->direction, run->update);
    pl_phase_end(&run->spans);
    run->summary.epochs += question->moved ? 1.0 : 0.0;
    question->moved = false;
    return question->columns > 0
               ? pl_exchange_reduce(run->exchange, question->columns, run->update, run->share, tables->change, error)
               : sum_scalars(run, scalars, error);
}

/* Asks what the combine wants to know until it accepts a step. v then moves on all ranks, because all have the
 * direction. */
static parley_status converse(pl_run *run, const pl_slice *slice, parley_error *error) {
    const pl_combine_dialogue *dialogue = run->method.combine->dialogue;
    pl_question question = {.moved = true, .gamma = 1.0};
    double scalars[PL_SCALARS];
    parley_status status = dialogue->next(run->combine, slice, NULL, &question, error);
    while (status == PARLEY_OK && !question.accepted) {
        status = ask_workers(run, &question, scalars, error);
        if (status == PARLEY_OK)
            status = dialogue->next(run->combine, slice, scalars, &question, error);
    }
    if (status != PARLEY_OK)
        return status;
    double length = pl_question_length(&question);
    run->gamma = question.gamma;
    move_as_master(run, length, 0, run->tables.entries);
    commit(run, length);
    return status;
}

static void leap_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const measurement *measurement = context;
    measure_entries(context, begin, end, sums);
    move_v(measurement->run, 1.0, begin, end);
}

/* Without questions, the owners move v by the whole direction, measure this on the way, and then distribute v. If the
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
    run->gamma = 1.0;
    if (status != PARLEY_OK)
        return status;
    return run->method.combine->dialogue ? converse(run, &slice, error) : leap(run, &slice, error);
}
