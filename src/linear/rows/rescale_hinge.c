/* rescale_hinge.c: moves a model of the hinge loss to a better multiple of itself.
 *
 * Dual ascent finds the direction of w and the dual objective long before the margins of the support vectors are 1. If
 * rows can be separated and the penalty is weak, P is then mostly loss: margins of 0.99 cost more than all of the
 * penalty. A multiple c > 1 of w cures them and costs (c^2 - 1) times the penalty, so that
 *
 *   min over c, d of  sum q loss(c (z + b) + d) + c^2 penalty(w)          d = 0 unless the intercept is free
 *
 * is often smaller by orders of magnitude. P is convex in c and in d. Each pass evaluates TRIALS values of one of them
 * and keeps the interval about the best. */
#include "linear/glm.h"

#define TRIALS 8
#define WORTH 0.01 /* relative gain of the first pass from which on the others are made */
#define PASSES 4   /* each narrows the interval to 2 of TRIALS + 1 parts */
#define SHIFT 0.25 /* largest d at first, in margins */

/* The first c to try, minus 1. */
static const double FIRST[TRIALS] = {0.002, 0.01, 0.03, 0.0625, 0.125, 0.25, 1.0, 3.0};

typedef struct search {
    const pl_glm *glm;
    const pl_team *team;
    const double *z;
    double b, penalty; /* of w */
    double c[TRIALS], d[TRIALS];
    double best_c, best_d, loss, objective; /* the best of all trials */
} search;

static void try_chunk(const void *context, uint64_t begin, uint64_t end, double *sums) {
    const search *at = context;
    double z[PL_ROW_CHUNK], y[PL_ROW_CHUNK], value[PL_ROW_CHUNK], slope[PL_ROW_CHUNK], curvature[PL_ROW_CHUNK];
    for (uint64_t i = begin; i < end; i++)
        y[i - begin] = pl_target(at->glm, i);
    for (unsigned k = 0; k < TRIALS; k++) {
        for (uint64_t i = begin; i < end; i++)
            z[i - begin] = at->c[k] * (at->z[i] + at->b) + at->d[k] + pl_offset(at->glm, i);
        pl_expand_rows(at->glm->loss, z, y, end - begin, value, slope, curvature);
        for (uint64_t i = begin; i < end; i++)
            sums[k] += pl_share(at->glm, i) * value[i - begin];
    }
}

/* Evaluates all trials. Returns in *chosen the number of the best of them. */
static parley_status try_all(search *at, unsigned *chosen, parley_error *error) {
    double sums[TRIALS], least = INFINITY;
    pl_sum_chunks(at->team, try_chunk, at, TRIALS, at->team->worker_sums);
    parley_status status = pl_team_sum(at->team, at->team->worker_sums, TRIALS, sums, error);
    *chosen = 0;
    for (unsigned k = 0; k < TRIALS && status == PARLEY_OK; k++) {
        double objective = sums[k] + at->c[k] * at->c[k] * at->penalty;
        if (objective < least) {
            least = objective;
            *chosen = k;
        }
        if (objective < at->objective) {
            at->objective = objective;
            at->loss = sums[k];
            at->best_c = at->c[k];
            at->best_d = at->d[k];
        }
    }
    return status;
}

/* Narrows [low, high], which holds the best value of `trial`, one of the arrays c and d. */
static parley_status narrow(search *at, double *trial, double low, double high, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned pass = 0; pass < PASSES && status == PARLEY_OK; pass++) {
        double part = (high - low) / (TRIALS + 1);
        unsigned chosen;
        for (unsigned k = 0; k < TRIALS; k++) {
            at->c[k] = at->best_c;
            at->d[k] = at->best_d;
        }
        for (unsigned k = 0; k < TRIALS; k++)
            trial[k] = low + part * (k + 1);
        status = try_all(at, &chosen, error);
        low += part * chosen;
        high = low + 2 * part;
    }
    return status;
}

static parley_status refine(search *at, unsigned chosen, parley_error *error) {
    double low = 1.0 + (chosen > 0 ? FIRST[chosen - 1] : 0.0);
    double high = 1.0 + FIRST[chosen < TRIALS - 1 ? chosen + 1 : TRIALS - 1];
    parley_status status = narrow(at, at->c, low, high, error);
    if (at->glm->intercept != PL_FREE || status != PARLEY_OK)
        return status;
    status = narrow(at, at->d, -SHIFT, SHIFT, error);
    low = 0.5 + 0.5 * at->best_c; /* smaller violations need a smaller multiple */
    return status == PARLEY_OK ? narrow(at, at->c, low, at->best_c, error) : status;
}

parley_status pl_rescale_hinge(const pl_glm *glm, const pl_team *team, const double *z, double *w,
                               pl_linear_evaluation *out, parley_error *error) {
    uint64_t columns = glm->base.data->x.columns;
    search at = {.glm = glm, .team = team, .z = z, .b = out->b, .penalty = pl_penalty(glm, w, 0, glm->base.size)};
    unsigned chosen;
    if (glm->loss->smooth || glm->loss->labels != PL_LABELS_BINARY || glm->base.l1 > 0 || glm->classes > 1)
        return PARLEY_OK;
    double plain = at.objective = out->value + at.penalty;
    for (unsigned k = 0; k < TRIALS; k++)
        at.c[k] = 1.0 + FIRST[k];
    parley_status status = try_all(&at, &chosen, error);
    if (status == PARLEY_OK && at.objective < (1.0 - WORTH) * plain)
        status = refine(&at, chosen, error);
    if (status != PARLEY_OK || !(at.objective < (1.0 - WORTH) * plain))
        return status;
    for (uint64_t j = 0; j < columns; j++)
        w[j] *= at.best_c;
    if (glm->intercept != PL_NO_INTERCEPT)
        w[columns] = at.best_c * at.b + at.best_d;
    out->value = at.loss;
    return status;
}
