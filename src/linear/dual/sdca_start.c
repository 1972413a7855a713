/* sdca_start.c: starts from a model w, and continues with another penalty.
 *
 * At the optimum t_i = -loss'(z_i) for any lambda, so t starts there, after a free intercept was moved to its optimum.
 * Losses with a kink then have sum q t != 0, which is repaired by shrinking the heavier side. */
#include <string.h>

#include "linear/dual/sdca.h"
#include "linear/rows/classes.h"

#define CENTRED 1e-14 /* remaining slope of the intercept; t depends on it */

typedef struct starting {
    pl_sdca *of;
    double *b; /* intercepts */
    double *a; /* q t, by row */
} starting;

static void slope_task(void *context, unsigned task) {
    const starting *starting = context;
    pl_sdca *self = starting->of;
    const pl_part *part = &self->team->parts[task];
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            double slope, curvature;
            if (self->glm->classes > 1) {
                pl_classes_slopes(self->glm, i, self->z, starting->b, self->t);
                continue;
            }
            self->glm->loss->expand(self->glm->loss, self->z[i] + starting->b[0] + pl_offset(self->glm, i),
                                    pl_target(self->glm, i), &slope, &curvature);
            self->t[i] = -slope;
        }
}

/* Repairs t so that sum q t = 0, as the evaluation did, and computes q t. */
static void weigh(const starting *starting, const pl_linear_evaluation *at) {
    pl_sdca *self = starting->of;
    const pl_glm *glm = self->glm;
    uint64_t classes = glm->classes;
    for (unsigned p = 0; p < self->team->hosted * self->team->lanes; p++)
        for (uint64_t r = 0; r < self->team->parts[p].count; r++)
            for (uint64_t i = self->team->parts[p].ranges[r].begin; i < self->team->parts[p].ranges[r].end; i++) {
                if (classes > 1 && at->tilt > 0)
                    pl_classes_repair(glm, i, self->t + i * classes);
                else if (classes == 1 && (self->t[i] > 0) == at->heavy)
                    self->t[i] *= 1.0 - at->tilt;
                for (uint64_t e = i * classes; e < (i + 1) * classes; e++)
                    starting->a[e] = pl_share(glm, i) * self->t[e];
            }
}

/* Computes the intercepts of w, which are optimal if they are free. */
static parley_status begin_intercepts(pl_sdca *self, const double *w, parley_error *error) {
    const pl_glm *glm = self->glm;
    parley_status status = PARLEY_OK;
    if (glm->intercept != PL_NO_INTERCEPT)
        memcpy(self->b, w + glm->base.data->x.columns * glm->classes, glm->classes * sizeof *self->b);
    if (pl_centres(glm))
        status = glm->classes > 1 ? pl_classes_centre(glm, self->team, self->z, NULL, CENTRED, self->b, error)
                                  : pl_centre(glm, self->team, self->z, CENTRED, self->b, error);
    memcpy(self->b0, self->b, glm->classes * sizeof *self->b);
    return status;
}

/* Starts from a model alone. */
static parley_status start_at(const starting *starting, const double *w, double *v, parley_error *error) {
    pl_sdca *self = starting->of;
    const pl_glm *glm = self->glm;
    pl_linear_evaluation at = {0};
    pl_margins(glm, self->team, w, self->z);
    parley_status status = begin_intercepts(self, w, error);
    if (status != PARLEY_OK)
        return status;
    pl_team_run(self->team, slope_task, (void *)starting);
    if (glm->intercept == PL_FREE)
        status = glm->classes > 1 ? pl_classes_evaluate(glm, self->team, self->z, self->b, self->t, &at, error)
                                  : pl_evaluate_rows(glm, self->team, self->z, self->b[0], self->t, &at, error);
    weigh(starting, &at);
    return status == PARLEY_OK ? pl_weighted_rows(glm, self->team, starting->a, v, error) : status;
}

/* Starts from the dual variables of the rows: v is the sum of q t x, and the multiplier of a free intercept is such
 * that the intercept stays as it was in w. */
static parley_status start_with(const starting *starting, const double *w, const double *t, double *v,
                                parley_error *error) {
    pl_sdca *self = starting->of;
    const pl_glm *glm = self->glm;
    uint64_t columns = glm->base.data->x.columns, classes = glm->classes;
    memcpy(self->t, t, glm->base.data->x.rows * classes * sizeof *t);
    weigh(starting, &(pl_linear_evaluation){0});
    parley_status status = pl_weighted_rows(glm, self->team, starting->a, v, error);
    for (uint64_t c = 0; c < classes && glm->intercept != PL_NO_INTERCEPT && status == PARLEY_OK; c++) {
        uint64_t at = columns * classes + c;
        self->b[c] = self->b0[c] = w[at];
        if (glm->intercept == PL_FREE)
            self->b0[c] -= v[at] / glm->mu;
    }
    return status;
}

parley_status pl_sdca_start(pl_local *local, const double *w, const double *rows, double *v, parley_error *error) {
    pl_sdca *self = (pl_sdca *)local;
    starting starting = {.of = self, .a = self->t_round, .b = self->b};
    self->in_step = false;
    pl_sdca_wake(self);
    return rows ? start_with(&starting, w, rows, v, error) : start_at(&starting, w, v, error);
}

/* Dual variables and u have the same meaning for any penalty. */
parley_status pl_sdca_renew(pl_local *local, double *v, parley_error *error) {
    pl_sdca *self = (pl_sdca *)local;
    (void)v, (void)error;
    memcpy(self->b0, self->b, self->glm->classes * sizeof *self->b);
    pl_sdca_wake(self);
    return PARLEY_OK;
}

const double *pl_sdca_by_row(const pl_local *local, uint64_t *width) {
    const pl_sdca *self = (const pl_sdca *)local;
    *width = self->glm->classes;
    return self->t;
}
