/* classes_centre.c: the best free intercepts for given margins.
 *
 * Softmax: f(b) = sum_i q_i log sum_c exp(z_ic + b_c) - pi.b has the gradient pbar - pi. Iterative scaling, b_c +=
 * log(pi_c / pbar_c), never increases f. Newton's method converges faster near the end, and a step is undone if it
 * increases f. One against the rest: a safeguarded Newton's method in one dimension for every class, with common passes
 * over the rows. */
#include <math.h>
#include <string.h>

#include "linear/rows/classes.h"

#define CENTRE_STEPS 60
#define EXACT 1e-13 /* relative accuracy of sums over rows */

typedef struct rows {
    const pl_glm *glm;
    const double *z, *b;
    const pl_softening *soft;
} rows;

/* Adds f, pbar and sum q p p', whose lower triangle is stored by rows. */
static void softmax_row(const void *context, uint64_t i, double *sums) {
    const rows *rows = context;
    const pl_glm *glm = rows->glm;
    uint64_t classes = glm->classes;
    double q = pl_share(glm, i), at[PL_MOST_CLASSES], p[PL_MOST_CLASSES];
    pl_classes_ahead(glm, rows->z + i * classes, 1.0, rows->b, at);
    *sums++ += q * pl_softmax(at, classes, p);
    for (uint64_t c = 0; c < classes; c++)
        sums[c] += q * p[c];
    sums += classes;
    for (uint64_t c = 0; c < classes && classes <= PL_CENTRE_CLASSES; sums += ++c)
        for (uint64_t d = 0; d <= c; d++)
            sums[d] += q * p[c] * p[d];
}

/* Solves (diag(mean) - products + the direction that changes nothing) step = frequency - mean by Cholesky. Returns
 * false if the matrix is not positive definite. */
static bool newton_step(const pl_glm *glm, const double *mean, const double *products, double *step) {
    uint64_t classes = glm->classes;
    double factor[PL_CENTRE_CLASSES][PL_CENTRE_CLASSES], even = 1.0 / (double)(classes * classes);
    for (uint64_t c = 0; c < classes; c++)
        for (uint64_t d = 0; d <= c; d++) {
            double sum = (c == d ? mean[c] : 0.0) - *products++ + even;
            for (uint64_t e = 0; e < d; e++)
                sum -= factor[c][e] * factor[d][e];
            if (c == d && !(sum > 0))
                return false;
            factor[c][d] = c == d ? sqrt(sum) : sum / factor[d][d];
        }
    for (uint64_t c = 0; c < classes; c++) {
        step[c] = glm->frequency[c] - mean[c];
        for (uint64_t d = 0; d < c; d++)
            step[c] -= factor[c][d] * step[d];
        step[c] /= factor[c][c];
    }
    for (uint64_t c = classes; c-- > 0;) {
        for (uint64_t d = c + 1; d < classes; d++)
            step[c] -= factor[d][c] * step[d];
        step[c] /= factor[c][c];
    }
    return true;
}

static parley_status centre_softmax(const pl_glm *glm, const pl_team *team, const double *z, double tolerance,
                                    double *b, parley_error *error) {
    uint64_t classes = glm->classes, count = 1 + classes;
    double *sums = glm->repair->sums, at[PL_MOST_CLASSES], scaled[PL_MOST_CLASSES], step[PL_MOST_CLASSES];
    double least = INFINITY;
    rows rows = {glm, z, at, NULL};
    bool small = classes <= PL_CENTRE_CLASSES;
    memcpy(at, b, classes * sizeof *at);
    memcpy(scaled, b, classes * sizeof *scaled);
    count += small ? classes * (classes + 1) / 2 : 0;
    for (unsigned i = 0; i < CENTRE_STEPS; i++) {
        parley_status status = pl_classes_total(glm, team, softmax_row, &rows, count, sums, error);
        if (status != PARLEY_OK)
            return status;
        double f = sums[0], off = 0, far = 0, *mean = sums + 1;
        for (uint64_t c = 0; c < classes; c++) {
            f -= glm->frequency[c] * at[c];
            off += fabs(mean[c] - glm->frequency[c]);
        }
        if (!(f <= least + 1e-15 * fabs(least))) { /* the Newton step was too long */
            memcpy(at, scaled, classes * sizeof *at);
            least = INFINITY;
            continue;
        }
        least = f;
        memcpy(b, at, classes * sizeof *b);
        if (off <= fmax(tolerance, EXACT) * 2.0)
            break;
        for (uint64_t c = 0; c < classes; c++)
            scaled[c] = at[c] + log(glm->frequency[c] / fmax(mean[c], 1e-300));
        bool solved = small && newton_step(glm, mean, mean + classes, step);
        for (uint64_t c = 0; c < classes; c++) {
            double next = solved ? at[c] + step[c] : scaled[c];
            far = fmax(far, fabs(next - at[c]) / (1.0 + fabs(at[c])));
            at[c] = next;
        }
        if (far <= 1e-15)
            break;
    }
    return PARLEY_OK;
}

/* Adds, for every class, the slope, curvature and absolute slope of sum q loss(z + b) by b. */
static void side_row(const void *context, uint64_t i, double *sums) {
    const rows *rows = context;
    const pl_glm *glm = rows->glm;
    double q = pl_share(glm, i), slope, curvature;
    for (uint64_t c = 0; c < glm->classes; c++, sums += 3) {
        uint64_t e = i * glm->classes + c;
        double z = rows->z[e] + rows->b[c], y = pl_classes_side(glm, i, c);
        if (rows->soft)
            pl_soften(glm->loss, rows->soft, e, 1, &z, &y, &slope, &curvature);
        else
            glm->loss->expand(glm->loss, z, y, &slope, &curvature);
        sums[0] += q * slope;
        sums[1] += q * curvature;
        sums[2] += q * fabs(slope);
    }
}

/* The search for one class's intercept: a bracket, and the step for extending it while it is open. */
typedef struct search {
    double low, high, stride;
    bool done;
} search;

static void look(search *search, const double *sums, double tolerance, double *b) {
    if (search->done || fabs(sums[0]) <= tolerance * sums[2] ||
        search->high - search->low <= 1e-15 * (1.0 + fabs(*b))) {
        search->done = true;
        return;
    }
    *(sums[0] > 0 ? &search->high : &search->low) = *b;
    double next = *b - sums[0] / sums[1];
    if (!(next > search->low && next < search->high) || fabs(next - *b) > 1e3 * search->stride)
        next = isfinite(search->low) && isfinite(search->high) ? 0.5 * (search->low + search->high)
                                                               : *b + (sums[0] > 0 ? -1.0 : 1.0) * search->stride;
    search->stride *= 2.0;
    *b = next;
}

static parley_status centre_sides(const pl_glm *glm, const pl_team *team, const double *z, const pl_softening *soft,
                                  double tolerance, double *b, parley_error *error) {
    search searches[PL_MOST_CLASSES];
    rows rows = {glm, z, b, soft};
    bool done = false;
    for (uint64_t c = 0; c < glm->classes; c++)
        searches[c] = (search){-INFINITY, INFINITY, 1.0, false};
    for (unsigned i = 0; i < CENTRE_STEPS && !done; i++) {
        double *sums = glm->repair->sums;
        parley_status status = pl_classes_total(glm, team, side_row, &rows, 3 * glm->classes, sums, error);
        if (status != PARLEY_OK)
            return status;
        done = true;
        for (uint64_t c = 0; c < glm->classes; c++) {
            look(&searches[c], sums + 3 * c, tolerance, &b[c]);
            done = done && searches[c].done;
        }
    }
    return PARLEY_OK;
}

parley_status pl_classes_centre(const pl_glm *glm, const pl_team *team, const double *z, const pl_softening *soft,
                                double tolerance, double *b, parley_error *error) {
    return glm->loss->together ? centre_softmax(glm, team, z, tolerance, b, error)
                               : centre_sides(glm, team, z, soft, tolerance, b, error);
}
