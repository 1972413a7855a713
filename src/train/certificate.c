/* certificate.c: how good the model is, for any method and problem, and when to look.
 *
 * An evaluation costs a pass over the data or two. Solvers that make those passes anyway certify every round; for the
 * others an evaluation is made when the target should be reached, by the solver's own estimate of the gap or by how
 * fast it fell, or when the cost is a small part of the work since the last. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "train/run.h"

#define WORK_PER_EVALUATION 20.0 /* passes of work for each pass of evaluation */
#define WORK_PER_CHANGE 4.0      /* the same where the objective's change decides when to stop */
#define SOONEST 4.0              /* times the cost of an evaluation: work before the next */
#define TRUST 5.0                /* times off, and estimates are not shown any more */
#define WINDOW 300               /* rounds without progress that are a stall */
#define TELL_ROUNDS 12           /* between two looks at how fast the gap falls */
#define NOISE 1e3                /* times the best P that sampled gradients may pass through */
#define PROGRESS 1e-4            /* relative, over a window */

double pl_gap(const pl_certificate *best) { return best->exists ? fmax(0.0, best->objective - best->dual) : NAN; }

double pl_relative_gap(const pl_certificate *best) {
    double gap = pl_gap(best);
    return !best->exists ? best->measure
           : gap > 0     ? gap / best->scale
                         : 0.0; /* the first model may be perfect: 0 / 0 */
}

bool pl_reached(const pl_run *run) { return run->target > 0 && pl_relative_gap(&run->best) <= run->target; }

/* Residuals of workers are from when they visited their rows, on average in the middle of the round; by its end the gap
 * has fallen further, and the last rounds tell how far. (On text and census data, for four kinds of models: right
 * within a third.)
 */
void pl_estimate_gap(pl_run *run) {
    double residual = fmax(0.0, run->sums.residual), last = run->pace.residual;
    if (!(run->method.local->traits & PL_ESTIMATES_GAP))
        return;
    run->pace.residual = residual;
    run->pace.estimate = residual * (residual < last ? pow(residual / last, 0.75) : 1.0);
}

/* Where curvature has no bound no rate is safe: an objective that rises says that the rate is too large. */
static bool too_far(const pl_run *run, double objective) {
    unsigned facts = run->problem->facts;
    return (facts & PL_FACT_SMOOTH) && !(facts & PL_FACT_BOUNDED) &&
           objective > run->best.objective * (run->settings->batch_fraction < 1 ? NOISE : 1.0 + 1e-10);
}

/* Without a dual problem: the norm of the gradient against the first, or how far the objective moved. */
static void measure_progress(pl_run *run, const pl_bound *bound, bool softened) {
    pl_certificate *best = &run->best;
    if (run->type->by_change) {
        best->measure = fabs(best->reference - bound->objective) / fmax(fabs(bound->objective), DBL_MIN);
        best->measure = isnan(best->measure) ? INFINITY : best->measure;
        best->reference = bound->objective;
    } else if (!isnan(bound->gradient)) {
        if (!(best->reference > 0))
            best->reference = bound->gradient > 0 ? bound->gradient : 1.0;
        if (!softened)
            best->measure = bound->gradient / best->reference;
    }
}

static parley_status rescale(void *local, double scale, pl_evaluation *at, parley_error *error) {
    return ((pl_local *)local)->type->certificate->rescale(local, scale, at, error);
}

parley_status pl_certify(pl_run *run, const pl_evaluation *at, bool gradient, parley_error *error) {
    pl_certificate *best = &run->best;
    pl_bound bound;
    pl_point_seen point = {.at = at,
                           .w = run->w,
                           .u = gradient ? run->tables.change : run->tables.v,
                           .gradient = gradient,
                           .sums = pl_exchange_sums(run->exchange),
                           .rescale = rescale,
                           .local = run->local};
    parley_status status = run->type->bound(run->problem, &point, &bound, error);
    if (status != PARLEY_OK)
        return status;
    run->diverged = !isfinite(bound.objective) || (gradient && too_far(run, bound.objective));
    if (bound.objective < best->objective) {
        best->objective = bound.objective;
        best->value = at->value;
        memcpy(best->w, run->w, run->problem->size * sizeof *run->w);
    }
    run->evaluated = true;
    run->pace.passes = 0;
    if (best->exists)
        best->dual = fmax(best->dual, bound.dual);
    else
        measure_progress(run, &bound, at->softened);
    return run->validation.rows ? pl_validation_look(&run->validation, run->engine, run->problem, run->w,
                                                     bound.objective, run->round, error)
                                : PARLEY_OK;
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
    bool gradient = run->method.local->traits & PL_EVALUATES_GRADIENT;
    parley_status status = run->method.local->evaluate(run->local, run->tables.v, run->w, run->update, &at, error);
    for (unsigned k = 0; k < run->rows.team.hosted; k++)
        run->share[k] = 1.0;
    if (status == PARLEY_OK && gradient)
        status = pl_exchange_reduce(run->exchange, run->update, run->share, run->tables.change, error);
    if (status == PARLEY_OK)
        status = pl_certify(run, &at, gradient, error);
    double gap = pl_gap(&run->best), target = run->target * run->best.scale;
    run->pace.trusted = run->pace.trusted && gap <= TRUST * fmax(run->pace.estimate, target);
    if (status == PARLEY_OK && run->pace.estimate > 0 && gap > target) /* the estimate was too low by this factor */
        run->pace.threshold = 0.9 * run->pace.estimate * fmin(1.0, target / gap);
    if (status == PARLEY_OK && gap > target &&
        !(run->method.local->traits & PL_OWNS_COLUMNS)) /* else it is a step of the method too */
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
    double work = run->type->by_change ? WORK_PER_CHANGE : WORK_PER_EVALUATION;
    double most = work * run->method.local->evaluate_passes(run->local);
    return run->pace.passes >= fmin(most, run->pace.look_after);
}

/* Halves rates, wakes rows: whatever the members can change, on any rank. */
static parley_status change_something(pl_run *run, bool *changed, parley_error *error) {
    const pl_local_type *local = run->method.local;
    const pl_combine_type *combine = run->method.combine;
    double flags[2] = {local->stalled && local->stalled(run->local),
                       combine->stalled && combine->stalled(run->combine)};
    parley_status status = pl_sum_flags(run, flags, 2, error);
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
    if (status == PARLEY_OK && (run->method.local->traits & PL_EVALUATES_GRADIENT) && run->method.local->restart)
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
    double now = run->best.exists ? pl_gap(&run->best) : run->best.measure;
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
