/* coordinator.c: see coordinator.h. Each look is a line of the log, and counts for --patience as an evaluation does.
 * The model of a look has no objective, which would take a pass over all rows. */
#include "train/coordinator.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "shard/distributed.h"

#define REST 9.0 /* times the time of a look, before the next one: looks take a tenth of the time of a core */

bool pl_coordinates(const pl_run *run) {
    const pl_exchange_async *async = run->method.exchange->async;
    return run->engine->rank == 0 && run->validation.rows && async && async->look && run->method.local->restart;
}

static void log_look(pl_run *run, uint64_t clock, double value) {
    parley_error lost;
    pl_view_trace trace = {run->round, clock, pl_engine_now(run->engine) - run->began, value};
    if (run->log && pl_log_view(run->log, &trace, &lost) != PARLEY_OK)
        pl_give_up_log(run, &lost);
}

/* Measures v, which all workers have brought to `clock`. */
static parley_status measure(pl_run *run, const double *v, double *w, uint64_t clock, parley_error *error) {
    pl_validation *validation = &run->validation;
    parley_model *model;
    double value = NAN;
    parley_status status = run->method.local->primal(run->local, v, w, error);
    if (status == PARLEY_OK)
        status = pl_model_of(run, w, true, &model, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_score_alone(validation->score, model, validation->rows, &value, error);
    pl_engine_compute(run->engine, (double)validation->rows->x.nonzeros * run->engine->nonzero_seconds);
    parley_model_free(model);
    if (status != PARLEY_OK || isnan(value))
        return status;
    pl_validation_note(validation, value, w, run->problem->size, NAN, run->round);
    log_look(run, clock, value);
    return status;
}

static parley_status look_until_parked(pl_run *run, const pl_async_round *round, double *v, double *w,
                                       parley_error *error) {
    const pl_exchange_async *async = run->method.exchange->async;
    uint64_t every = run->settings->view_every, step = every ? every : 1;
    pl_view_request look = {.wanted = round->from + step, .v = v};
    double rests = 0; /* until then, unless the user says how often to look */
    for (;;) {
        parley_status status = async->look(run->exchange, &look, error);
        if (status != PARLEY_OK || look.ends || look.seen == 0 || look.seen >= round->until || pl_stop_asked())
            return status;
        look.wanted = look.seen + step;
        double began = pl_engine_now(run->engine);
        if (!every && began < rests)
            continue;
        status = measure(run, v, w, look.seen, error);
        double now = pl_engine_now(run->engine);
        rests = now + REST * (now - began);
        look.ends = run->validation.worse >= run->settings->patience;
        if (status != PARLEY_OK)
            return status;
    }
}

parley_status pl_coordinate(pl_run *run, const pl_async_round *round, parley_error *error) {
    double *v, *w = NULL;
    parley_status status = pl_take(&v, run->exchange->size, sizeof *v, "the view of the model", error);
    if (status == PARLEY_OK)
        status = pl_take(&w, run->problem->size, sizeof *w, "the view of the model", error);
    if (status == PARLEY_OK)
        status = look_until_parked(run, round, v, w, error);
    pl_free(v);
    pl_free(w);
    return status;
}

/* What the ranks must agree on. */
typedef struct found {
    double best, objective;
    uint64_t best_round, worse;
} found;

parley_status pl_coordinator_tell(pl_run *run, parley_error *error) {
    pl_validation *validation = &run->validation;
    const pl_exchange_async *async = run->method.exchange->async;
    if (!validation->rows || !async || !async->look || run->engine->ranks == 1)
        return PARLEY_OK;
    found found = {validation->best, validation->objective, validation->best_round, validation->worse};
    parley_status status = pl_broadcast(run->engine, 0, &found, sizeof found, error);
    bool is_new = found.best_round == run->round; /* of this round, because it is not evaluated yet */
    validation->best = found.best;
    validation->objective = found.objective;
    validation->best_round = found.best_round;
    validation->worse = found.worse;
    return status == PARLEY_OK && is_new
               ? pl_broadcast(run->engine, 0, validation->w, run->problem->size * sizeof *validation->w, error)
               : status;
}

parley_status pl_coordinator_settle(pl_run *run, parley_error *error) {
    pl_validation *validation = &run->validation;
    if (!validation->w || isnan(validation->best) || !isnan(validation->objective))
        return PARLEY_OK;
    double best = validation->best;
    uint64_t round = validation->best_round, worse = validation->worse;
    double began = pl_engine_now(run->engine);
    parley_status status = pl_move_to(run, validation->w, NULL, error);
    if (status == PARLEY_OK)
        status = pl_evaluate(run, error);
    run->summary.evaluate_seconds += pl_engine_now(run->engine) - began;
    validation->best = best;
    validation->best_round = round;
    validation->worse = worse;
    validation->objective = status == PARLEY_OK ? run->best.latest : NAN;
    return status == PARLEY_STOPPED ? PARLEY_OK : status;
}
