/* certificate.c: how good the model is, for any method: P at the model, D at a dual point, and when to look.
 *
 * An evaluation costs a pass over the data or two. Solvers that make those passes anyway certify every round; for the
 * others an evaluation is made when the target should be reached, by the solver's own estimate of the gap or by how
 * fast it fell, or when the cost is a small part of the work since the last. */
#include <math.h>
#include <string.h>

#include "train/run.h"

#define WORK_PER_EVALUATION 20.0 /* passes of work for each pass of evaluation */
#define SOONEST 4.0              /* times the cost of an evaluation: work before the next */
#define TRUST 5.0                /* times off, and estimates are not shown any more */
#define WINDOW 300               /* rounds without progress that are a stall */
#define TELL_ROUNDS 12           /* between two looks at how fast the gap falls */
#define NOISE 1e3                /* times the best P that sampled gradients may pass through */
#define PROGRESS 1e-4            /* relative, over a window */

double pl_gap(const pl_certificate *best) { return best->exists ? fmax(0.0, best->objective - best->dual) : NAN; }

double pl_relative_gap(const pl_certificate *best) {
    double gap = pl_gap(best);
    return !best->exists ? best->gradient : gap > 0 ? gap / best->null : 0.0; /* w = 0 may be perfect: 0 / 0 */
}

enum { SUM_PENALTY, SUM_CONJUGATE };

typedef struct dual_point {
    const pl_glm *glm;
    const double *w, *u;
    double scale;
} dual_point;

static void sum_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const dual_point *point = context;
    sums[SUM_PENALTY] = pl_penalty(point->glm, point->w, begin, end);
    sums[SUM_CONJUGATE] = pl_penalty_conjugate(point->glm, point->u, point->scale, begin, end);
}

/* D where one side of t was shrunk by `tilt`, so that u became u - tilt u_side. With `exact`, w is the gradient of r*
 * at u, and r* is 1/l2-smooth; else only norms are known. */
static double dual_value(const pl_glm *glm, const pl_evaluation *at, double conjugate, bool exact) {
    double tilt = at->tilt;
    if (tilt > 0 && exact)
        conjugate += tilt * (0.5 * tilt * at->reach * at->reach / glm->l2 - at->pull);
    else if (tilt <= 1e-13) /* rounding */
        conjugate += tilt * fabs(at->pull);
    else {
        double root = sqrt(conjugate) + tilt * at->reach / sqrt(2 * glm->l2);
        conjugate = root * root;
    }
    return -at->conjugate - conjugate;
}

static void largest_entry(void *context, uint64_t begin, uint64_t end, double *sums) {
    const dual_point *point = context;
    sums[0] = pl_largest(point->glm, point->u, begin, end);
}

/* With an L1 penalty t may have to shrink before u is inside its ball: D at c t. */
static parley_status certify_scaled(pl_run *run, dual_point *point, pl_evaluation at, parley_error *error) {
    const pl_glm *glm = &run->glm;
    double sums[PL_OWN_SCALARS] = {0}, largest;
    parley_status status = pl_exchange_largest(run->exchange, largest_entry, point, &largest, error);
    if (status != PARLEY_OK || largest <= glm->l1)
        return status;
    point->scale = glm->l1 / largest;
    status = run->method.local->rescale(run->local, point->scale, &at, error);
    if (status == PARLEY_OK)
        status = pl_exchange_sum(run->exchange, sum_entries, point, sums, error);
    if (status == PARLEY_OK)
        run->best.dual = fmax(run->best.dual, dual_value(glm, &at, sums[SUM_CONJUGATE], false));
    return status;
}

static void square_gradient(void *context, uint64_t begin, uint64_t end, double *sums) {
    const dual_point *point = context;
    for (uint64_t j = begin; j < end; j++)
        sums[0] += point->u[j] * point->u[j];
}

/* Without a penalty there is no dual: the gradient's norm, against that of the first round, has to do. */
static parley_status measure_gradient(pl_run *run, dual_point *point, bool softened, parley_error *error) {
    double sums[PL_OWN_SCALARS] = {0};
    parley_status status = pl_exchange_sum(run->exchange, square_gradient, point, sums, error);
    if (status != PARLEY_OK)
        return status;
    double norm = sqrt(sums[0]);
    if (!(run->best.first_gradient > 0))
        run->best.first_gradient = norm > 0 ? norm : 1.0;
    if (!softened)
        run->best.gradient = norm / run->best.first_gradient;
    return status;
}

/* Where curvature has no bound no rate is safe: P that rises says that the rate is too large. */
static bool too_far(const pl_run *run, double objective) {
    const pl_loss *loss = run->glm.loss;
    return loss->smooth && !pl_loss_bounded(loss) &&
           objective > run->best.objective * (run->settings->batch_fraction < 1 ? NOISE : 1.0 + 1e-10);
}

parley_status pl_certify(pl_run *run, const pl_evaluation *at, bool gradient, parley_error *error) {
    const pl_glm *glm = &run->glm;
    double sums[PL_OWN_SCALARS] = {0};
    dual_point point = {glm, run->w, gradient ? run->change : run->v, 1.0};
    parley_status status = PARLEY_OK;
    if (!at->penalised)
        status = pl_exchange_sum(run->exchange, sum_entries, &point, sums, error);
    if (status != PARLEY_OK)
        return status;
    if (at->penalised) {
        sums[SUM_PENALTY] = at->penalty;
        sums[SUM_CONJUGATE] = at->penalty_conjugate;
    }
    double objective = at->loss + sums[SUM_PENALTY];
    run->diverged = !isfinite(objective) || (gradient && too_far(run, objective));
    if (objective < run->best.objective) {
        run->best.objective = objective;
        run->best.loss = at->loss;
        memcpy(run->best.w, run->w, run->problem.size * sizeof *run->w);
    }
    run->evaluated = true;
    run->pace.passes = 0;
    if (run->validation.rows)
        status = pl_validation_look(&run->validation, run->engine, &run->problem, run->w, objective, run->round, error);
    if (status != PARLEY_OK)
        return status;
    if (!run->best.exists)
        return gradient ? measure_gradient(run, &point, at->softened, error) : PARLEY_OK;
    double dual = dual_value(glm, at, sums[SUM_CONJUGATE], !gradient);
    if (dual > run->best.dual)
        run->best.dual = dual;
    return gradient && glm->l1 > 0 ? certify_scaled(run, &point, *at, error) : PARLEY_OK;
}

/* When the gap will be at the target, if it goes on falling as it did. */
static void look_ahead(pl_run *run, double gap, double target) {
    pl_pace *pace = &run->pace;
    double fall = log(pace->seen_gap / gap), epochs = run->summary.epochs - pace->seen_epochs;
    double soonest = SOONEST * run->method.local->evaluate_passes(run->local);
    pace->look_after = fall > 0 && epochs > 0 ? fmax(soonest, epochs * log(gap / target) / fall) : INFINITY;
    pace->seen_gap = gap;
    pace->seen_epochs = run->summary.epochs;
}

parley_status pl_evaluate(pl_run *run, parley_error *error) {
    pl_evaluation at;
    bool gradient = run->method.local->evaluates_gradient;
    parley_status status = run->method.local->evaluate(run->local, run->v, run->w, run->update, &at, error);
    for (unsigned k = 0; k < run->team.hosted; k++)
        run->share[k] = 1.0;
    if (status == PARLEY_OK && gradient)
        status = pl_exchange_reduce(run->exchange, run->update, run->share, run->change, error);
    if (status == PARLEY_OK)
        status = pl_certify(run, &at, gradient, error);
    double gap = pl_gap(&run->best), target = run->settings->gap * run->best.null;
    run->pace.trusted = run->pace.trusted && gap <= TRUST * fmax(run->pace.estimate, target);
    if (status == PARLEY_OK && run->pace.estimate > 0 && gap > target) /* the estimate was too low by this factor */
        run->pace.threshold = 0.9 * run->pace.estimate * fmin(1.0, target / gap);
    if (status == PARLEY_OK && gap > target && !run->method.local->by_columns) /* else it is a step of the method too */
        look_ahead(run, gap, target);
    return status;
}

bool pl_evaluation_forced(const pl_run *run) { return run->round == run->settings->rounds; }

bool pl_evaluation_due(pl_run *run) {
    const parley_settings *settings = run->settings;
    if (settings->evaluate_every)
        return run->round % settings->evaluate_every == 0;
    if (run->pace.estimate >= 0 && run->pace.estimate <= run->pace.threshold)
        return true;
    double most = WORK_PER_EVALUATION * run->method.local->evaluate_passes(run->local);
    return run->pace.passes >= fmin(most, run->pace.look_after);
}

/* Halves rates, wakes rows: whatever the members can change, on any rank. */
static parley_status change_something(pl_run *run, bool *changed, parley_error *error) {
    const pl_local_type *local = run->method.local;
    const pl_combine_type *combine = run->method.combine;
    double flags[2] = {local->stalled && local->stalled(run->local),
                       combine->stalled && combine->stalled(run->combine)};
    parley_status status = pl_agree(run, flags, 2, error);
    *changed = flags[0] + flags[1] > 0;
    return status;
}

/* Tells the combine how fast the gap falls. */
static void tell_combine(pl_run *run) {
    pl_pace *pace = &run->pace;
    const pl_combine_type *combine = run->method.combine;
    double gap = pl_gap(&run->best);
    if (!combine->adjust || !run->evaluated || run->round < pace->told + TELL_ROUNDS || !(gap > 0))
        return;
    combine->adjust(run->combine, log(pace->last_gap / gap) / (double)(run->round - pace->told));
    pace->told = run->round;
    pace->last_gap = gap;
}

parley_status pl_recover(pl_run *run, parley_error *error) {
    bool changed;
    parley_status status = change_something(run, &changed, error);
    if (status == PARLEY_OK && run->method.local->evaluates_gradient && run->method.local->start)
        status = pl_move_to(run, run->best.w, error);
    run->diverged = false;
    return status;
}

parley_status pl_stalls(pl_run *run, bool *stalls, parley_error *error) {
    pl_pace *pace = &run->pace;
    bool changed = false;
    *stalls = false;
    tell_combine(run);
    if (!run->evaluated || run->round < pace->window + WINDOW)
        return PARLEY_OK;
    double now = run->best.exists ? pl_gap(&run->best) : run->best.gradient;
    bool progress = now < pace->watched - PROGRESS * fabs(pace->watched) ||
                    run->best.objective < pace->watched_objective - PROGRESS * fabs(pace->watched_objective);
    pace->watched = now;
    pace->watched_objective = run->best.objective;
    pace->window = run->round;
    if (progress)
        return PARLEY_OK;
    parley_status status = change_something(run, &changed, error);
    *stalls = !changed;
    return status;
}
