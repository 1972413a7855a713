/* goal.c: see goal.h. */
#include "advise/goal.h"

#include <math.h>
#include <string.h>

#include "method/model.h"

#define LEAST_GAP 1e-13     /* below this, rounding of sums over rows hides the gap */
#define OPTIMAL_GAP 1e-6    /* a metric hardly changes any more */
#define REFERENCE 0.1       /* gap of the experiment that shows the optimum, relative to the target */
#define SURE_OF_OPTIMUM 0.3 /* doubt, relative to the target, up to which the optimum is known */

static parley_status open_metric(pl_goal *goal, const parley_settings *settings, parley_error *error) {
    char names[256];
    const pl_model_type *type = pl_settings_problem(settings)->model_type;
    const pl_model_metric *metric = pl_metric_find(type, settings->target_of);
    pl_metric_names(type, NULL, names, sizeof names);
    if (!metric)
        return pl_fail(error, PARLEY_BAD_USAGE, "--target-of %.60s: choose gap, suboptimality or a metric: %s",
                       settings->target_of, names);
    goal->kind = PL_GOAL_METRIC;
    goal->name = metric->name;
    goal->larger = metric->larger;
    if (!pl_setting_given(settings, "target"))
        return pl_fail(error, PARLEY_BAD_USAGE, "--target-of %s: give the value to reach, as --target %s", goal->name,
                       goal->larger ? "0.9" : "0.3");
    if (!*settings->validation && !(settings->validation_fraction > 0))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--target-of %s needs validation rows; give --validation FILE or --validation-fraction 0.2",
                       goal->name);
    if (!(pl_goal_distance(goal, &(pl_point_of_run){.metric = goal->target}) > 0))
        return pl_fail(error, PARLEY_BAD_USAGE, "--target %g: no model is better than that by %s; give a value %s",
                       goal->target, goal->name, goal->larger ? "below 1" : "above 0");
    return PARLEY_OK;
}

parley_status pl_goal_open(pl_goal *goal, const parley_settings *settings, parley_error *error) {
    bool gap = strcmp(settings->target_of, "gap") == 0, below = strcmp(settings->target_of, "suboptimality") == 0;
    *goal = (pl_goal){.name = gap ? "gap" : "suboptimality",
                      .kind = gap ? PL_GOAL_GAP : PL_GOAL_SUBOPTIMALITY,
                      .target = settings->target,
                      .optimum = NAN,
                      .doubt = NAN};
    if (!gap && !below)
        return open_metric(goal, settings, error);
    if (*settings->validation || settings->validation_fraction > 0)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "validation rows have no effect on a plan for a %s; leave them out, or plan for a metric, as "
                       "--target-of accuracy",
                       goal->name);
    if (goal->target > 1)
        return pl_fail(error, PARLEY_BAD_USAGE, "--target %g: a relative %s is at most 1", goal->target, goal->name);
    if (pl_goal_gap(goal) < LEAST_GAP)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--target %g: with 64-bit numbers no %s below about %g can be certified; ask for at least that",
                       goal->target, goal->name, gap ? LEAST_GAP : LEAST_GAP / REFERENCE);
    return PARLEY_OK;
}

pl_goal pl_goal_of_gap(double gap) {
    return (pl_goal){.name = "gap", .kind = PL_GOAL_GAP, .target = gap, .optimum = NAN, .doubt = NAN};
}

double pl_goal_distance(const pl_goal *goal, const pl_point_of_run *point) {
    double distance = goal->kind == PL_GOAL_GAP             ? point->gap
                      : goal->kind == PL_GOAL_SUBOPTIMALITY ? point->objective - goal->optimum
                      : goal->larger                        ? 1.0 - point->metric
                                                            : point->metric;
    return distance > 0 ? distance : NAN;
}

double pl_goal_value(const pl_goal *goal, double distance) {
    return goal->kind == PL_GOAL_METRIC && goal->larger ? 1.0 - distance : distance;
}

double pl_goal_level(const pl_goal *goal) {
    return log(goal->kind == PL_GOAL_METRIC && goal->larger ? 1.0 - goal->target : goal->target);
}

double pl_goal_gap(const pl_goal *goal) {
    return goal->kind == PL_GOAL_GAP             ? goal->target
           : goal->kind == PL_GOAL_SUBOPTIMALITY ? REFERENCE * goal->target
                                                 : OPTIMAL_GAP;
}

/* Below the optimum that was learnt, a run is there as well. */
static bool is_there(const pl_goal *goal, const pl_point_of_run *point) {
    if (goal->kind == PL_GOAL_SUBOPTIMALITY)
        return goal->doubt <= SURE_OF_OPTIMUM * goal->target && point->objective - goal->optimum <= goal->target;
    return log(pl_goal_distance(goal, point)) <= pl_goal_level(goal) + 1e-12;
}

double pl_goal_rounds(const pl_goal *goal, const pl_trial *trial) {
    if (goal->kind == PL_GOAL_GAP) /* the run ended there, by its own evaluations */
        return trial->reached && trial->target == goal->target ? trial->rounds : NAN;
    for (unsigned i = 0; i < trial->count; i++)
        if (!trial->points[i].estimated && is_there(goal, &trial->points[i]))
            return trial->points[i].round;
    return NAN;
}

void pl_goal_learn(pl_goal *goal, const pl_trials *trials) {
    double low = -INFINITY, high = INFINITY;
    if (goal->kind != PL_GOAL_SUBOPTIMALITY)
        return;
    for (unsigned t = 0; t < trials->count; t++)
        for (unsigned i = 0; i < trials->list[t].count; i++) {
            const pl_point_of_run *point = &trials->list[t].points[i];
            if (point->estimated || trials->list[t].sample < 1 || !isfinite(point->objective))
                continue;
            high = fmin(high, point->objective);
            low = fmax(low, point->objective - point->gap);
        }
    goal->optimum = 0.5 * (low + high);
    goal->doubt = 0.5 * (high - low);
}

parley_status pl_goal_check(const pl_goal *goal, const pl_trials *trials, parley_error *error) {
    double best = INFINITY;
    bool ended = false;
    for (unsigned t = 0; t < trials->count && goal->kind == PL_GOAL_METRIC; t++) {
        const pl_trial *trial = &trials->list[t];
        if (!isnan(pl_goal_rounds(goal, trial)))
            return PARLEY_OK;
        ended = ended || trial->reached;
        for (unsigned i = 0; i < trial->count; i++)
            best = fmin(best, pl_goal_distance(goal, &trial->points[i]));
    }
    if (!ended)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "--target %g: the optimum does not reach this %s; the best model of the experiments has %.4g on the "
                   "validation rows, so ask for that or less, or change --lambda",
                   goal->target, goal->name, pl_goal_value(goal, best));
}
