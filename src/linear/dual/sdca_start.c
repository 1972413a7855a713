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
    pl_sdca *this = starting->of;
    const pl_part *part = &this->team->parts[task];
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            double slope, curvature;
            if (this->glm->classes > 1) {
                pl_classes_slopes(this->glm, i, this->z, starting->b, this->t);
                continue;
            }
            this->glm->loss->expand(this->glm->loss, this->z[i] + starting->b[0], pl_target(this->glm, i), &slope,
                                    &curvature);
            this->t[i] = -slope;
        }
}

/* Repairs t so that sum q t = 0, as the evaluation did, and computes q t. */
static void weigh(const starting *starting, const pl_evaluation *at) {
    pl_sdca *this = starting->of;
    const pl_glm *glm = this->glm;
    uint64_t classes = glm->classes;
    for (unsigned p = 0; p < this->team->hosted * this->team->lanes; p++)
        for (uint64_t r = 0; r < this->team->parts[p].count; r++)
            for (uint64_t i = this->team->parts[p].ranges[r].begin; i < this->team->parts[p].ranges[r].end; i++) {
                if (classes > 1 && at->tilt > 0)
                    pl_classes_repair(glm, i, this->t + i * classes);
                else if (classes == 1 && (this->t[i] > 0) == at->heavy)
                    this->t[i] *= 1.0 - at->tilt;
                for (uint64_t e = i * classes; e < (i + 1) * classes; e++)
                    starting->a[e] = pl_share(glm, i) * this->t[e];
            }
}

/* Computes the intercepts of w, which are optimal if they are free. */
static parley_status begin_intercepts(pl_sdca *this, const double *w, parley_error *error) {
    const pl_glm *glm = this->glm;
    parley_status status = PARLEY_OK;
    if (glm->intercept != PL_NO_INTERCEPT)
        memcpy(this->b, w + glm->data->x.columns * glm->classes, glm->classes * sizeof *this->b);
    if (pl_centres(glm))
        status = glm->classes > 1 ? pl_classes_centre(glm, this->team, this->z, NULL, CENTRED, this->b, error)
                                  : pl_centre(glm, this->team, this->z, CENTRED, this->b, error);
    memcpy(this->b0, this->b, glm->classes * sizeof *this->b);
    return status;
}

parley_status pl_sdca_start(pl_local *local, const double *w, double *v, parley_error *error) {
    pl_sdca *this = (pl_sdca *)local;
    const pl_glm *glm = this->glm;
    starting starting = {.of = this, .a = this->t_round, .b = this->b};
    pl_evaluation at = {0};
    this->in_step = false;
    pl_sdca_wake(this);
    pl_margins(glm, this->team, w, this->z);
    parley_status status = begin_intercepts(this, w, error);
    if (status != PARLEY_OK)
        return status;
    pl_team_run(this->team, slope_task, &starting);
    if (glm->intercept == PL_FREE)
        status = glm->classes > 1 ? pl_classes_evaluate(glm, this->team, this->z, this->b, this->t, &at, error)
                                  : pl_evaluate_rows(glm, this->team, this->z, this->b[0], this->t, &at, error);
    weigh(&starting, &at);
    return status == PARLEY_OK ? pl_weighted_rows(glm, this->team, starting.a, v, error) : status;
}

/* Dual variables and u have the same meaning for any penalty. */
parley_status pl_sdca_renew(pl_local *local, double *v, parley_error *error) {
    pl_sdca *this = (pl_sdca *)local;
    (void)v, (void)error;
    memcpy(this->b0, this->b, this->glm->classes * sizeof *this->b);
    pl_sdca_wake(this);
    return PARLEY_OK;
}

double *pl_sdca_by_row(pl_local *local, uint64_t *width) {
    pl_sdca *this = (pl_sdca *)local;
    *width = this->glm->classes;
    return this->t;
}

/* v is the sum of q t x, and the multiplier of a free intercept is such that the intercept stays as it was in w. */
parley_status pl_sdca_rejoin(pl_local *local, const double *w, double *v, parley_error *error) {
    pl_sdca *this = (pl_sdca *)local;
    const pl_glm *glm = this->glm;
    uint64_t columns = glm->data->x.columns, classes = glm->classes;
    starting starting = {.of = this, .a = this->t_round, .b = this->b};
    this->in_step = false;
    pl_sdca_wake(this);
    weigh(&starting, &(pl_evaluation){0});
    parley_status status = pl_weighted_rows(glm, this->team, starting.a, v, error);
    for (uint64_t c = 0; c < classes && glm->intercept != PL_NO_INTERCEPT && status == PARLEY_OK; c++) {
        uint64_t at = columns * classes + c;
        this->b[c] = this->b0[c] = w[at];
        if (glm->intercept == PL_FREE)
            this->b0[c] -= v[at] / glm->mu;
    }
    return status;
}
