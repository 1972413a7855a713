/* start.c: beginning at a model, in memory or from a file: does it fit, and where are v and the certificate then? */
#include <stdio.h>
#include <string.h>

#include "engine/shared_memory.h"
#include "model/linear_model.h"
#include "train/run.h"

static parley_status check_model(const pl_run *run, const pl_linear_model *model, parley_error *error) {
    char name[PL_TEXT + 32] = "the model to begin at";
    const pl_glm *glm = &run->glm;
    if (!run->start)
        snprintf(name, sizeof name, "--start %s: the model", run->settings->start);
    if (model->base.columns != glm->data->x.columns)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has %llu columns and the data have %llu", name,
                       (unsigned long long)model->base.columns, (unsigned long long)glm->data->x.columns);
    if (model->base.outputs != glm->classes)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has %llu outputs, and this problem has %llu", name,
                       (unsigned long long)model->base.outputs, (unsigned long long)glm->classes);
    if (model->loss->labels != glm->loss->labels)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has loss %s, whose labels are not those of %s", name,
                       model->loss->name, glm->loss->name);
    if (glm->classes > 1 && memcmp(model->labels, glm->labels, glm->classes * sizeof *glm->labels) != 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has classes of other labels than the data's", name);
    if (glm->classes == 1 && glm->loss->labels == PL_LABELS_BINARY &&
        (model->low != glm->low || model->high != glm->high))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has labels %.17g and %.17g, the data %.17g and %.17g", name,
                       model->low, model->high, glm->low, glm->high);
    return PARLEY_OK;
}

/* A model as a table by rows, on scaled columns where they are. */
static void lay_out(const pl_glm *glm, const pl_linear_model *model, double *w) {
    uint64_t columns = glm->data->x.columns, classes = glm->classes;
    for (uint64_t c = 0; c < classes; c++) {
        for (uint64_t j = 0; j < columns; j++)
            w[j * classes + c] = model->coef[c * columns + j];
        if (glm->intercept != PL_NO_INTERCEPT)
            w[columns * classes + c] = model->intercept[c];
    }
    pl_unscale_columns(glm, w);
}

double *pl_next_v(pl_run *run) { return pl_common_keeps(run->engine, run->v) ? run->direction : run->v; }

parley_status pl_take_next_v(pl_run *run, parley_error *error) {
    uint64_t begin = pl_exchange_begin(run->exchange), end = pl_exchange_end(run->exchange);
    if (pl_next_v(run) == run->v)
        return PARLEY_OK;
    memcpy(run->v + begin, pl_next_v(run) + begin, (end - begin) * sizeof *run->v);
    return pl_exchange_spread(run->exchange, run->v, error);
}

parley_status pl_move_to(pl_run *run, const double *w, parley_error *error) {
    parley_status status = run->method.local->start(run->local, w, pl_next_v(run), error);
    return status == PARLEY_OK ? pl_take_next_v(run, error) : status;
}

parley_status pl_start_at(pl_run *run, const double *w, parley_error *error) {
    const pl_local_type *local = run->method.local;
    parley_status status = pl_move_to(run, w, error);
    if (status == PARLEY_OK && !(local->certifies && local->certifies(run->local)))
        status = pl_evaluate(run, error); /* others look at v as their first round begins */
    return status;
}

/* Begins at the model, if it fits. */
static parley_status start_at_model(pl_run *run, const parley_model *model, parley_error *error) {
    double *w;
    const pl_linear_model *linear = pl_linear(model);
    if (!linear)
        return pl_fail(error, PARLEY_BAD_INPUT, "a %s model cannot be the start of a linear one", model->type->name);
    parley_status status = check_model(run, linear, error);
    if (status == PARLEY_OK)
        status = pl_take(&w, run->problem.size, sizeof *w, "the model to begin at", error);
    if (status != PARLEY_OK)
        return status;
    lay_out(&run->glm, linear, w);
    status = pl_start_at(run, w, error);
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
