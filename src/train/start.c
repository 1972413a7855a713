/* start.c: starts from a model in memory or in a file. It checks whether the model fits, and moves v and the
 * certificate there. */
#include <stdio.h>
#include <string.h>

#include "engine/shared_memory.h"
#include "train/run.h"

double *pl_next_v(pl_run *run) {
    return pl_shared_contains(run->engine, run->tables.v) ? run->tables.direction : run->tables.v;
}

parley_status pl_take_next_v(pl_run *run, parley_error *error) {
    uint64_t begin = pl_exchange_begin(run->exchange), end = pl_exchange_end(run->exchange);
    double *v = run->tables.v, *next = pl_next_v(run);
    if (next == v)
        return PARLEY_OK;
    memcpy(v + begin, next + begin, (end - begin) * sizeof *v);
    return pl_exchange_spread(run->exchange, v, error);
}

parley_status pl_move_to(pl_run *run, const double *w, const double *rows, parley_error *error) {
    parley_status status = run->method.local->restart->start(run->local, w, rows, pl_next_v(run), error);
    return status == PARLEY_OK ? pl_take_next_v(run, error) : status;
}

parley_status pl_start_at(pl_run *run, const double *w, parley_error *error) {
    parley_status status = pl_move_to(run, w, NULL, error);
    run->at_start = run->type->noise == 0 && !run->type->keeps_latest; /* otherwise no start is left */
    if (status == PARLEY_OK && (!pl_local_certifies(run->local) || run->validation.rows))
        status = pl_evaluate(run, error); /* otherwise the first round begins with an evaluation of v */
    return status == PARLEY_OK && run->diverged && run->at_start ? pl_recover(run, error) : status;
}

static void take_from(const parley_model *model, const pl_addition *addition, void *member) {
    if (addition && addition->take)
        addition->take(member, model);
}

/* Starts from the model, if it fits. */
static parley_status start_at_model(pl_run *run, const parley_model *model, parley_error *error) {
    char name[PL_TEXT + 32] = "the model to start from";
    double *w;
    if (!run->start)
        snprintf(name, sizeof name, "--start %s: the model", run->settings->start);
    if (model->type != run->type->model_type)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s is of problem %s, but this problem is %s", name, model->type->name,
                       run->type->name);
    parley_status status = pl_take(&w, run->problem->size, sizeof *w, "the model to begin at", error);
    if (status != PARLEY_OK)
        return status;
    status = run->type->accept(run->problem, model, name, w, error);
    if (status == PARLEY_OK) {
        take_from(model, run->method.local->addition, run->local);
        take_from(model, run->method.combine->addition, run->combine);
        status = pl_start_at(run, w, error);
    }
    pl_free(w);
    return status;
}

parley_status pl_warm_start(pl_run *run, parley_error *error) {
    if (run->start)
        return start_at_model(run, run->start, error);
    if (!*run->settings->start)
        return PARLEY_OK;
    parley_model *model;
    parley_status status = parley_model_load(run->settings->start, &model, error);
    if (status == PARLEY_OK)
        status = start_at_model(run, model, error);
    parley_model_free(model);
    return status;
}
