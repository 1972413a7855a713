/* certificate.c: how good the model is, for any method and problem, and when to evaluate it.
 *
 * An evaluation costs a pass or two over the data. Solvers that make those passes anyway certify every round. For the
 * others an evaluation is made when the solver's own estimate of the gap, or the speed at which the gap fell, suggests
 * that the target is reached, or when its cost is small compared with the work since the last one. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "train/costs.h"

#define WORK_PER_EVALUATION 20.0 /* passes of work for each pass of evaluation */
#define PASS (1.0 - 1e-9)        /* up to the rounding of sums of parts of passes */
#define SOONEST 4.0              /* least work before the next evaluation, as a multiple of its cost */
#define TRUST 5.0                /* estimates that are wrong by this factor are no longer shown */
#define WINDOW 300               /* a stall is this many rounds without progress */
#define TELL_ROUNDS 12           /* rounds between two measurements of how fast the gap falls */
#define NOISE 1e3                /* multiple of the best P up to which sampled gradients may rise */
#define PARKS 60                 /* the same, if a round is asynchronous */
#define WORSE 0.1                /* than at the start of the run, relative to that: diverging */
#define HOPELESS 3               /* evaluations in a row that found that, where the steps are not to be changed */
#define PROGRESS 1e-4            /* relative progress that a window must make */

double pl_gap(const pl_certificate *best) { return best->exists ? fmax(0.0, best->objective - best->dual) : NAN; }

double pl_relative_gap(const pl_certificate *best) {
    double gap = pl_gap(best);
    return !best->exists ? best->measure
           : gap > 0     ? gap / best->scale
                         : 0.0; /* avoids 0 / 0 if the first model is perfect */
}

bool pl_reached(const pl_run *run) {
    return run->target > 0 && pl_relative_gap(&run->best) <= run->target * (1.0 - run->combine->reserve);
}

/* Workers compute residuals when they visit their rows, on average in the middle of the round. By its end the gap has
 * fallen further, and the last rounds tell how far. (On text and census data with four kinds of models, the result is
 * right within a third.) */
void pl_estimate_gap(pl_run *run) {
    double residual = fmax(0.0, run->sums.residual), last = run->pace.residual;
    if (!(run->method.local->traits & PL_ESTIMATES_GAP))
        return;
    run->pace.residual = residual;
    run->pace.estimate = residual * (residual < last ? pow(residual / last, 0.75) : 1.0);
}

/* If the curvature has no bound, no rate is safe, and an objective that rises means that the rate is too large. So does
 * a model that is worse than the first one, if the combine can make smaller steps. A start may be too far as well: for
 * any method if the curvature has no bound, because neither have the slopes there, and otherwise for primal ones. */
static bool too_far(const pl_run *run, bool gradient, double objective) {
    unsigned facts = run->problem->facts;
    const pl_certificate *best = &run->best;
    bool worse = objective > best->scale + WORSE * fabs(best->scale);
    return (gradient && worse && (run->at_start || (run->round > 0 && run->method.combine->stalled))) ||
           ((gradient || run->at_start) && (facts & PL_FACT_SMOOTH) && !(facts & PL_FACT_BOUNDED) &&
            objective > best->objective * (run->settings->batch_fraction < 1 ? NOISE : 1.0 + 1e-10));
}

/* Without a dual problem: the norm of the gradient relative to the first, or the relative change of the objective. */
static void measure_progress(pl_run *run, const pl_bound *bound) {
    pl_certificate *best = &run->best;
    if (run->type->by_change) {
        best->measure = fabs(best->reference - bound->objective) / fmax(fabs(bound->objective), DBL_MIN);
        best->measure = isnan(best->measure) ? INFINITY : best->measure;
        best->reference = bound->objective;
    } else if (!isnan(bound->gradient)) {
        if (!(best->reference > 0))
            best->reference = bound->gradient > 0 ? bound->gradient : 1.0;
        if (!bound->softened)
            best->measure = bound->gradient / best->reference;
    }
}

parley_status pl_certify(pl_run *run, const pl_evaluation *at, bool gradient, parley_error *error) {
    pl_certificate *best = &run->best;
    pl_bound bound;
    pl_point_seen point = {.at = at,
                           .w = run->w,
                           .u = gradient ? run->tables.change : run->tables.v,
                           .gradient = gradient,
                           .sums = pl_exchange_sums(run->exchange)};
    parley_status status = run->type->bound(run->problem, &point, &bound, error);
    if (status != PARLEY_OK)
        return status;
    run->diverged = !isfinite(bound.objective) || too_far(run, gradient, bound.objective);
    best->latest = bound.objective;
    best->latest_gap = bound.objective - bound.dual;
    bool as_good = bound.objective <= best->least + run->type->noise * fabs(best->least);
    best->least = fmin(best->least, bound.objective);
    if (bound.objective < best->objective || run->type->keeps_latest || (run->type->noise > 0 && as_good)) {
        best->objective = bound.objective;
        best->value = at->value;
        if (best->w != run->w)
            memcpy(best->w, run->w, run->problem->size * sizeof *run->w);
    }
    run->evaluated = true;
    run->pace.passes = 0;
    run->pace.hopeless = run->diverged ? run->pace.hopeless : 0;
    if (best->exists)
        best->dual = fmax(best->dual, bound.dual);
    else if (!run->at_start || !run->diverged) /* a gradient at a bad start may be as large as it likes */
        measure_progress(run, &bound);
    return PARLEY_OK;
}

/* Predicts when the gap reaches the target if it keeps falling at the same speed. */
static void look_ahead(pl_run *run, double gap, double target) {
    pl_pace *pace = &run->pace;
    double fall = log(pace->seen_gap / gap), epochs = run->summary.epochs - pace->seen_epochs;
    double soonest = SOONEST * run->method.local->evaluate_passes(run->local);
    pace->look_after = fall > 0 && epochs > 0 ? fmax(soonest, epochs * log(gap / target) / fall) : INFINITY;
    pace->seen_gap = gap;
    pace->seen_epochs = run->summary.epochs;
}

/* Measures the model on the validation rows. */
static parley_status validate(pl_run *run, parley_error *error) {
    parley_model *model;
    parley_status status = pl_model_of(run, run->w, true, &model, error);
    if (status == PARLEY_OK)
        status = pl_validation_look(&run->validation, run->engine, model, run->w, run->problem->size, run->best.latest,
                                    run->round, error);
    parley_model_free(model);
    return status;
}

parley_status pl_evaluate(pl_run *run, parley_error *error) {
    pl_evaluation at;
    bool gradient = run->method.local->traits & PL_EVALUATES_GRADIENT;
    parley_status status = run->method.local->evaluate(run->local, run->tables.v, run->w, run->update, &at, error);
    for (unsigned k = 0; k < run->rows.team.hosted; k++)
        run->share[k] = 1.0;
    pl_charge_evaluation(run);
    if (status == PARLEY_OK && gradient)
        status =
            pl_exchange_reduce(run->exchange, run->setup.width, run->update, run->share, run->tables.change, error);
    if (status == PARLEY_OK)
        status = pl_certify(run, &at, gradient, error);
    if (status == PARLEY_OK && run->validation.rows && isfinite(run->best.latest)) /* else it returns to the best */
        status = validate(run, error);
    double gap = pl_gap(&run->best), target = run->target * run->best.scale;
    run->pace.trusted = run->pace.trusted && gap <= TRUST * fmax(run->pace.estimate, target);
    if (status == PARLEY_OK && run->pace.estimate > 0 && gap > target) /* the estimate was too low by this factor */
        run->pace.threshold = 0.9 * run->pace.estimate * fmin(1.0, target / gap);
    if (status == PARLEY_OK && gap > target &&
        !(run->method.local->traits & PL_OWNS_COLUMNS)) /* otherwise it is also a step of the method */
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
    double most = run->type->by_change ? PASS : WORK_PER_EVALUATION * run->method.local->evaluate_passes(run->local);
    return run->pace.passes >= fmin(most, run->pace.look_after);
}

/* Lets the members change what they can, on any rank: halve rates, wake resting rows. */
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
    combine->adjust(run->combine, log(pace->last_gap / gap) / (double)(run->round - pace->told), run->best.latest);
    pace->told = run->round;
    pace->last_gap = gap;
}

parley_status pl_recover(pl_run *run, parley_error *error) {
    bool left = run->at_start, changed = false; /* no step led to a bad start, so none was too long */
    parley_status status = left ? PARLEY_OK : change_something(run, &changed, error);
    bool goes_back = left || changed || !isfinite(run->best.latest);
    if (left)
        pl_say(run,
               "start: the objective is larger at the model to start from than at w = 0; training starts at w = 0");
    if (status == PARLEY_OK && goes_back && (left || (run->method.local->traits & PL_EVALUATES_GRADIENT)) &&
        run->method.local->restart)
        status = pl_move_to(run, run->best.w, NULL, error);
    run->pace.hopeless = left || changed ? 0 : run->pace.hopeless + 1;
    run->at_start = run->diverged = false;
    return status;
}

parley_status pl_stalls(pl_run *run, bool *stalls, parley_error *error) {
    pl_pace *pace = &run->pace;
    bool changed = false;
    *stalls = false;
    tell_combine(run);
    *stalls = pace->hopeless >= HOPELESS;
    if (*stalls || !run->evaluated || run->round < pace->window + (run->method.exchange->async ? PARKS : WINDOW))
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
