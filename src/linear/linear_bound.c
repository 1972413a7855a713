/* linear_bound.c: computes the objective P at a model and the dual objective D at a dual point: D <= optimum <= P.
 *
 *   D = -sum q loss*(-t) - r*(u)
 *
 * If the intercept is free, one side of t was shrunk by `tilt` so that sum q t = 0, which changed u to u - tilt u_side.
 */
#include <math.h>

#include "linear/glm.h"

#define ROUNDED_TILT 1e-13 /* a tilt this small is rounding */
#define REACH 10.0         /* without a penalty: largest margins, in spreads of the labels */

enum { SUM_PENALTY, SUM_CONJUGATE };

typedef struct dual_point {
    const pl_glm *glm;
    const double *w, *u;
    double scale; /* of u; its sign is negative if u is a gradient */
} dual_point;

static void sum_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const dual_point *point = context;
    sums[SUM_PENALTY] = pl_penalty(point->glm, point->w, begin, end);
    sums[SUM_CONJUGATE] = pl_penalty_conjugate(point->glm, point->u, point->scale, begin, end);
}

/* With `exact`, w is the gradient of r* at u, and r* is 1/l2-smooth. Otherwise only norms are known. The smallest
 * penalty factor bounds both. */
static double dual_value(const pl_glm *glm, const pl_linear_evaluation *at, double conjugate, bool exact) {
    double tilt = at->tilt, l2 = glm->base.l2 * glm->least_factor;
    if (tilt > 0 && exact)
        conjugate += tilt * (0.5 * tilt * at->reach * at->reach / l2 - at->pull);
    else if (tilt <= ROUNDED_TILT)
        conjugate += tilt * fabs(at->pull);
    else {
        double root = sqrt(conjugate) + tilt * at->reach / sqrt(2 * l2);
        conjugate = root * root;
    }
    return -at->conjugate - conjugate;
}

static void largest_entry(void *context, uint64_t begin, uint64_t end, double *sums) {
    const dual_point *point = context;
    sums[0] = pl_largest(point->glm, point->u, point->scale, begin, end);
}

/* With an L1 penalty t may have to shrink until u is inside the penalty's ball. Computes D at c t. Without an L2
 * penalty, the repair of t must not lead out of the ball either. */
static parley_status bound_scaled(const pl_point_seen *seen, dual_point *point, pl_bound *out, parley_error *error) {
    const pl_glm *glm = point->glm;
    const pl_entry_sums *over = &seen->sums;
    pl_linear_evaluation at = *(const pl_linear_evaluation *)seen->at->own;
    double sums[PL_OWN_SCALARS] = {0}, largest;
    parley_status status = over->largest(over->exchange, largest_entry, point, &largest, error);
    bool tilted = glm->base.l2 == 0 && at.tilt > ROUNDED_TILT;
    if (status == PARLEY_OK && tilted)
        largest += at.tilt * at.reach / glm->least_factor;
    if (status != PARLEY_OK || (largest <= glm->base.l1 && !tilted))
        return status;
    double shrink = fmin(1.0, glm->base.l1 / largest);
    point->scale *= shrink;
    status = at.rescale(at.solver, shrink, &at, error);
    at.tilt = tilted ? 0.0 : at.tilt;
    if (status == PARLEY_OK)
        status = over->sum(over->exchange, sum_entries, point, sums, error);
    if (status == PARLEY_OK)
        out->dual = fmax(out->dual, dual_value(glm, &at, sums[SUM_CONJUGATE], false));
    return status;
}

/* The part of u that the penalty and the bound of w do not balance, which is minus the subgradient closest to 0. */
static double unbalanced(const pl_glm *glm, uint64_t j, double w, double u) {
    double l1 = pl_l1_at(&glm->base, j), rest = u - pl_l2_at(&glm->base, j) * w;
    if (w != 0)
        return rest - copysign(l1, w);
    return pl_pull(glm, j, rest) > l1 ? rest - copysign(l1, rest) : 0.0;
}

static void square_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const dual_point *point = context;
    bool plain = point->glm->lambda == 0 && !point->glm->non_negative;
    for (uint64_t j = begin; j < end; j++) {
        double u = plain ? point->u[j] : unbalanced(point->glm, j, point->w[j], point->scale * point->u[j]);
        sums[0] += u * u;
    }
}

/* If a column has no penalty there is no dual problem, so the norm of the gradient is the only measure. */
static parley_status measure_gradient(const pl_point_seen *seen, dual_point *point, pl_bound *out,
                                      parley_error *error) {
    double sums[PL_OWN_SCALARS] = {0};
    parley_status status = seen->sums.sum(seen->sums.exchange, square_entries, point, sums, error);
    if (status == PARLEY_OK)
        out->gradient = sqrt(sums[0]);
    out->softened = ((const pl_linear_evaluation *)seen->at->own)->softened;
    return status;
}

static void unpenalised_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const dual_point *point = context;
    for (uint64_t j = begin; j < end; j++)
        if (pl_penalised(point->glm, j)) {
            sums[0] += point->u[j] * point->u[j];
            sums[1] += fabs(point->u[j] * point->w[j]);
        }
}

/* Without a penalty D is finite only where u is 0, and the smoothed problem is solved up to rounding. In a ball of
 * radius R about w, the optimum is at least D - sum |u_j w_j| - R |u|, with a radius that holds every model whose
 * margins are within REACH times the spread of the labels. */
static parley_status bound_unpenalised(const pl_point_seen *seen, dual_point *point, pl_bound *out,
                                       parley_error *error) {
    const pl_linear_evaluation *at = seen->at->own;
    const pl_glm *glm = point->glm;
    double sums[PL_OWN_SCALARS] = {0};
    double radius = glm->mean_norm2 > 0 ? REACH * pl_label_spread(glm) / sqrt(glm->mean_norm2) : 0.0;
    parley_status status = seen->sums.sum(seen->sums.exchange, unpenalised_entries, point, sums, error);
    if (status == PARLEY_OK)
        out->dual =
            -at->conjugate - sums[1] - radius * (sqrt(sums[0]) + at->tilt * at->reach) - at->tilt * fabs(at->pull);
    return status;
}

parley_status pl_linear_bound(const pl_problem *problem, const pl_point_seen *seen, pl_bound *out,
                              parley_error *error) {
    const pl_glm *glm = pl_glm_of(problem);
    const pl_linear_evaluation *at = seen->at->own;
    double sums[PL_OWN_SCALARS] = {0};
    dual_point point = {glm, seen->w, seen->u, seen->gradient ? -1.0 : 1.0};
    parley_status status = PARLEY_OK;
    if (at->penalised) {
        sums[SUM_PENALTY] = at->penalty;
        sums[SUM_CONJUGATE] = at->penalty_conjugate;
    } else
        status = seen->sums.sum(seen->sums.exchange, sum_entries, &point, sums, error);
    if (status != PARLEY_OK)
        return status;
    *out = (pl_bound){.objective = at->value + sums[SUM_PENALTY], .dual = -INFINITY, .gradient = NAN};
    if (!(problem->facts & PL_FACT_DUAL))
        return seen->gradient ? measure_gradient(seen, &point, out, error) : PARLEY_OK;
    if (glm->lambda == 0)
        return bound_unpenalised(seen, &point, out, error);
    out->dual = dual_value(glm, at, sums[SUM_CONJUGATE], !seen->gradient);
    return seen->gradient && glm->base.l1 > 0 ? bound_scaled(seen, &point, out, error) : PARLEY_OK;
}
