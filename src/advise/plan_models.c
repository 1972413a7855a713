/* plan_models.c: fits both models to all experiments, predicts every configuration with a band, and chooses.
 *
 * Bands are split-conformal. The models are fitted without each measured number of workers in turn, and the 90 %
 * quantile of the errors of predicted time, over all presets and H, is the half width for numbers of workers that were
 * not measured. Where the experiments ended before the target, the quantile of the errors of curves that are cut as
 * early is added, and where clocks are real, what repeated experiments differ by. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/plan.h"
#include "base/sort_numbers.h"

#define COVER 0.9
#define MOST_ERRORS 512
#define FEW_ERRORS 8 /* below this, the largest error counts, and more */
#define FEW_FACTOR 1.5
#define UNKNOWN_WORKERS 0.3 /* half width if nothing could be left out */
#define UNKNOWN_AHEAD 0.7   /* the same for the rest of a run */
#define UNKNOWN_NOISE 0.25  /* of real clocks, before an experiment was repeated, */
#define LEAST_NOISE 0.1     /* and even if repetitions agree */
#define MOST_SPREAD 1.5     /* beyond which rounds within experiments say nothing more */
#define JITTER 0.01         /* seconds that a run may take longer by chance */
#define UNKNOWN_SAMPLE 0.1  /* of rounds on all rows, by those on a sample, after both were compared */
#define SHIFT_POINTS 3      /* least points of curves that are compared for that */
#define CUT_POINTS 6        /* least points of a curve that is cut to see how well it would have been continued */
#define DOUBT 1.5           /* factor on the time of runs that were not seen to their end */
#define SAME 0.02           /* relative difference that decides nothing */

bool pl_plan_uses(const pl_plan *plan, const pl_trial *trial) {
    return trial->sample >= plan->task.sample * (1 - 1e-9);
}

/* Whether a trial on all rows is as long as one on a sample, or has gone half of the way. */
static bool replaces(const pl_goal *goal, const pl_trial *all, const pl_trial *sample) {
    if (all->sample < 1 || sample->sample >= 1 || all->count < SHIFT_POINTS)
        return false;
    return all->rounds >= sample->rounds || log(all->points[all->count - 1].gap) < 0.5 * log(pl_goal_gap(goal));
}

/* Whether a trial tells more about convergence than another one: it is long and on all rows, or it reached the goal, or
 * did so on more rows, or came nearer. */
static bool tells_more(const pl_goal *goal, const pl_trial *trial, const pl_trial *than) {
    if (replaces(goal, trial, than) || replaces(goal, than, trial))
        return replaces(goal, trial, than);
    bool there = !isnan(pl_goal_rounds(goal, trial)), was = !isnan(pl_goal_rounds(goal, than));
    if (there != was)
        return there;
    if (there && trial->sample != than->sample)
        return trial->sample > than->sample;
    return trial->points[trial->count - 1].gap < than->points[than->count - 1].gap;
}

/* The best trial for the convergence of a group with so many workers. */
static const pl_trial *longest(const pl_plan *plan, const pl_group *group, double workers) {
    const pl_trial *best = NULL;
    for (unsigned t = 0; t < plan->trials.count; t++) {
        const pl_trial *trial = &plan->trials.list[t];
        pl_configuration of = group->of;
        of.workers = (unsigned)workers;
        if (!pl_same_configuration(&trial->of, &of) || trial->count == 0 || !pl_plan_uses(plan, trial))
            continue;
        if (!best || tells_more(&plan->task.goal, trial, best))
            best = trial;
    }
    return best;
}

static parley_status open_curves(const pl_plan *plan, const pl_group *group, const pl_goal *goal,
                                 pl_convergence *convergence, parley_error *error) {
    parley_status status = PARLEY_OK;
    unsigned last = 0;
    convergence->count = 0;
    for (;;) { /* trials of the cache may have other numbers of workers than the candidates */
        unsigned next = 0;
        for (unsigned t = 0; t < plan->trials.count; t++) {
            unsigned m = plan->trials.list[t].of.workers;
            const pl_trial *trial = m > last && (!next || m < next) ? longest(plan, group, m) : NULL;
            next = trial ? m : next;
        }
        if (!next || convergence->count == PL_MOST_CURVES || status != PARLEY_OK)
            return status;
        status = pl_curve_open(&convergence->curve[convergence->count], goal, longest(plan, group, next), error);
        if (status == PARLEY_OK && convergence->curve[convergence->count].count > 0)
            convergence->count++;
        else
            pl_curve_close(&convergence->curve[convergence->count]);
        last = next;
    }
}

static double level_of_target(const pl_plan *plan) { return pl_goal_level(&plan->task.goal); }

/* The course of the relative gap. */
static const pl_convergence *gaps_of(const pl_group *group) {
    return group->gaps.count ? &group->gaps : &group->convergence;
}

/* The sparse regression of a preset, over all H. */
static void fit_lasso(pl_plan *plan, pl_group *group, unsigned number) {
    const pl_trial *trials[PL_MOST_CURVES];
    unsigned workers[PL_MOST_CURVES];
    pl_convergence *convergence = &group->convergence;
    for (unsigned c = 0; c < convergence->count; c++) {
        trials[c] = convergence->curve[c].trial;
        workers[c] = trials[c]->of.workers;
    }
    group->without = pl_alloc(convergence->count + 1, sizeof *group->without);
    plan->has_lasso[number] = group->without && convergence->count >= 4 &&
                              pl_lasso_fit(&plan->task.goal, trials, convergence->count, workers, convergence->count,
                                           &plan->lasso[number], group->without);
    if (!plan->has_lasso[number])
        return;
    convergence->lasso = &plan->lasso[number];
    for (unsigned c = 0; c < convergence->count; c++)
        group->without_at[c] = &group->without[c];
    convergence->without = group->without_at;
}

/* The first group of the same preset has the system model of all. */
static pl_system_model *system_of(pl_plan *plan, const pl_group *group) {
    for (unsigned g = 0; g < plan->groups; g++)
        if (strcmp(plan->group[g].of.preset, group->of.preset) == 0)
            return &plan->systems[g];
    return NULL;
}

/* Whether a trial has times of these machines. */
static bool has_times(const pl_plan *plan, const pl_trial *trial) {
    return strcmp(trial->system, plan->system) == 0 && trial->round_seconds > 0;
}

/* Seconds of a round on all rows by one on a sample: computing grows with the rows, and exchanging does not. */
static double scaled_round(const pl_trial *trial) {
    double compute = fmax(0.0, trial->round_seconds - trial->exchange);
    return compute / trial->sample + fmin(trial->exchange, trial->round_seconds);
}

/* A trial on all rows of the configuration of a trial on a sample, or NULL. */
static const pl_trial *on_all_rows(const pl_plan *plan, const pl_trial *sample) {
    for (unsigned t = 0; t < plan->trials.count; t++) {
        const pl_trial *trial = &plan->trials.list[t];
        if (trial->sample >= 1 && has_times(plan, trial) && pl_same_configuration(&trial->of, &sample->of))
            return trial;
    }
    return NULL;
}

/* How much longer rounds on all rows are than those on a sample, scaled: a sample may fit into a cache. The mean of the
 * logarithm over configurations that ran on both. */
static double cache_factor(const pl_plan *plan) {
    double sum = 0, count = 0;
    for (unsigned t = 0; t < plan->trials.count; t++) {
        const pl_trial *trial = &plan->trials.list[t];
        const pl_trial *all = trial->sample < 1 && has_times(plan, trial) ? on_all_rows(plan, trial) : NULL;
        if (!all)
            continue;
        sum += log(all->round_seconds / scaled_round(trial));
        count++;
    }
    return count > 0 ? exp(sum / count) : 1.0;
}

static void fit_system(pl_plan *plan, pl_group *group, double size) {
    pl_system_model *model = group->system = system_of(plan, group);
    double factor = cache_factor(plan);
    *model = (pl_system_model){.size = size, .bandwidth = plan->bandwidth};
    for (unsigned t = 0; t < plan->trials.count && model->count < PL_SYSTEM_MOST; t++) {
        const pl_trial *trial = &plan->trials.list[t];
        bool sampled = trial->sample < 1;
        if (strcmp(trial->of.preset, group->of.preset) != 0 || !has_times(plan, trial) ||
            (sampled && on_all_rows(plan, trial)))
            continue;
        model->point[model->count++] =
            (pl_system_point){.workers = trial->of.workers,
                              .epochs = isnan(trial->of.epochs) ? 0 : trial->of.epochs,
                              .seconds = sampled ? factor * scaled_round(trial) : trial->round_seconds,
                              .bytes = trial->bytes,
                              .exchange = trial->exchange,
                              .setup = trial->setup / trial->sample};
    }
    pl_system_fit(model);
}

/* The conformal quantile: of n errors the ceil((n + 1) x 0.9)-th smallest. */
static double quantile(double *errors, unsigned count, double unknown) {
    if (count == 0)
        return unknown;
    pl_sort_numbers(errors, count);
    unsigned rank = (unsigned)ceil((count + 1) * COVER);
    if (count < FEW_ERRORS || rank > count)
        return (count < FEW_ERRORS ? FEW_FACTOR : 1.0) * errors[count - 1];
    return errors[rank - 1];
}

/* Seconds of a trial that reached the target on these machines; NaN if it did not. */
static double seconds_of(const pl_plan *plan, const pl_trial *trial) {
    bool timed = trial->sample >= 1 && strcmp(trial->system, plan->system) == 0;
    double rounds = timed ? pl_goal_rounds(&plan->task.goal, trial) : NAN;
    return trial->setup + rounds * trial->round_seconds;
}

/* The error of the logarithm of time for a curve that is left out; NaN if it is unknown. */
static double error_without(const pl_plan *plan, const pl_group *group, unsigned c) {
    const pl_convergence *convergence = &group->convergence;
    double m = convergence->curve[c].workers, is = seconds_of(plan, convergence->curve[c].trial);
    double rounds = pl_convergence_rounds(convergence, m, level_of_target(plan), c);
    double seconds =
        pl_system_setup(group->system, m, m) + rounds * pl_system_seconds(group->system, m, group->of.epochs, m);
    double miss = fabs(log(seconds / is));
    return isfinite(miss) ? miss : NAN;
}

static double workers_band(const pl_plan *plan) {
    double errors[MOST_ERRORS];
    unsigned count = 0;
    for (unsigned g = 0; g < plan->groups; g++) {
        const pl_convergence *convergence = &plan->group[g].convergence;
        for (unsigned c = 1; c + 1 < convergence->count && count < MOST_ERRORS; c++) {
            double miss = error_without(plan, &plan->group[g], c);
            if (!isnan(miss))
                errors[count++] = miss;
        }
    }
    return quantile(errors, count, UNKNOWN_WORKERS);
}

/* The error of the logarithm of rounds if the curve had ended after a share of its fall; NaN if it is too short. */
static double error_of_cut(const pl_plan *plan, const pl_curve *curve, double share) {
    double target = level_of_target(plan), last = curve->level[0] + share * (target - curve->level[0]);
    pl_curve cut = *curve;
    double is = pl_curve_rounds(curve, target);
    if (isnan(curve->reached) || curve->count < CUT_POINTS)
        return NAN;
    cut.reached = NAN;
    for (cut.count = 0; cut.count < curve->count && curve->level[cut.count] >= last;)
        cut.count++;
    if (cut.count < 3)
        return NAN;
    pl_curve_fit_tail(&cut, cut.count);
    double miss = fabs(log(pl_curve_rounds(&cut, target) / is));
    return isfinite(miss) ? miss : UNKNOWN_AHEAD;
}

static double ahead_band(const pl_plan *plan, double share) {
    double errors[MOST_ERRORS];
    unsigned count = 0;
    for (unsigned g = 0; g < plan->groups; g++)
        for (unsigned c = 0; c < plan->group[g].convergence.count && count < MOST_ERRORS; c++) {
            double miss = error_of_cut(plan, &plan->group[g].convergence.curve[c], share);
            if (!isnan(miss))
                errors[count++] = miss;
        }
    return quantile(errors, count, UNKNOWN_AHEAD);
}

/* What rounds within experiments differ by: the upper quartile over experiments of the spread of their rounds. Other
 * programs that lengthen single rounds now may lengthen whole runs later. */
static double spread_within(const pl_plan *plan) {
    double spreads[MOST_ERRORS];
    unsigned count = 0;
    for (unsigned t = 0; t < plan->trials.count && count < MOST_ERRORS; t++)
        if (plan->trials.list[t].spread > 0 && strcmp(plan->trials.list[t].system, plan->system) == 0)
            spreads[count++] = plan->trials.list[t].spread;
    if (!count)
        return 0;
    pl_sort_numbers(spreads, count);
    return fmin(MOST_SPREAD, spreads[3 * count / 4]);
}

/* What repeated experiments differ by, or the rounds within them if that is more; 0 if they repeat exactly. */
static double noise_band(const pl_plan *plan) {
    double errors[MOST_ERRORS];
    unsigned count = 0;
    if (plan->modelled > 0)
        return 0;
    for (unsigned a = 0; a < plan->trials.count; a++)
        for (unsigned b = 0; b < a && count < MOST_ERRORS; b++) {
            const pl_trial *one = &plan->trials.list[a], *other = &plan->trials.list[b];
            double miss = fabs(log(seconds_of(plan, one) / seconds_of(plan, other)));
            if (pl_same_configuration(&one->of, &other->of) && isfinite(miss))
                errors[count++] = miss;
        }
    return fmax(quantile(errors, count, UNKNOWN_NOISE), fmax(spread_within(plan), LEAST_NOISE));
}

/* Runs of milliseconds also differ by a time that does not depend on their length: cold memory, and waiting for a
 * processor. */
static double noise_of(const pl_plan *plan, double seconds) {
    double once = plan->band_noise > 0 ? log1p(JITTER / fmax(seconds, JITTER)) : 0;
    return sqrt(plan->band_noise * plan->band_noise + once * once);
}

/* The course of the gap in a plan for something else, which tells a run at which gap to end. */
static parley_status fit_gaps(const pl_plan *plan, pl_group *group, parley_error *error) {
    pl_goal gap = pl_goal_of_gap(pl_goal_gap(&plan->task.goal));
    parley_status status = open_curves(plan, group, &gap, &group->gaps, error);
    pl_convergence_choose(&group->gaps, pl_goal_level(&gap));
    return status;
}

/* How many more rounds all rows need than the sample, by the curves of the same configuration at the last level that
 * both saw; NaN if none ran on both. */
static double shift_of(const pl_plan *plan) {
    double sum = 0, count = 0;
    for (unsigned a = 0; a < plan->trials.count; a++)
        for (unsigned b = 0; b < plan->trials.count; b++) {
            const pl_trial *all = &plan->trials.list[a], *part = &plan->trials.list[b];
            pl_curve one = {0}, other = {0};
            if (all->sample < 1 || part->sample >= 1 || !pl_same_configuration(&all->of, &part->of) ||
                !pl_plan_uses(plan, part) || all->count < SHIFT_POINTS || part->count < SHIFT_POINTS ||
                pl_curve_open(&one, &plan->task.goal, all, NULL) != PARLEY_OK ||
                pl_curve_open(&other, &plan->task.goal, part, NULL) != PARLEY_OK || !one.count || !other.count) {
                pl_curve_close(&one);
                pl_curve_close(&other);
                continue;
            }
            double level = fmax(one.level[one.count - 1], other.level[other.count - 1]);
            double weight = fmin(one.round[one.count - 1], other.round[other.count - 1]);
            double shift = log(pl_curve_rounds(&one, level) / pl_curve_rounds(&other, level));
            pl_curve_close(&one);
            pl_curve_close(&other);
            if (!isfinite(shift))
                continue;
            sum += weight * shift;
            count += weight;
        }
    return count > 0 ? sum / count : NAN;
}

/* Whether all times follow from a sample. */
static bool is_scaled(const pl_plan *plan) {
    for (unsigned t = 0; t < plan->trials.count; t++)
        if (plan->trials.list[t].sample >= 1 && has_times(plan, &plan->trials.list[t]))
            return false;
    return plan->trials.count > 0;
}

parley_status pl_plan_fit(pl_plan *plan, double size, parley_error *error) {
    parley_status status = PARLEY_OK;
    pl_plan_forget(plan);
    for (unsigned g = 0; g < plan->groups && status == PARLEY_OK; g++) {
        pl_group *group = &plan->group[g];
        status = open_curves(plan, group, &plan->task.goal, &group->convergence, error);
        if (status == PARLEY_OK && plan->task.goal.kind != PL_GOAL_GAP)
            status = fit_gaps(plan, group, error);
        if (status != PARLEY_OK)
            break;
        fit_lasso(plan, group, g);
        pl_convergence_choose(&group->convergence, level_of_target(plan));
        fit_system(plan, group, size);
    }
    if (status == PARLEY_OK) {
        plan->band_noise = noise_band(plan);
        double shift = shift_of(plan);
        plan->compared = !isnan(shift);
        plan->shift = plan->compared ? shift : 0;
        plan->scaled = is_scaled(plan);
        plan->band_workers = workers_band(plan);
    }
    return status;
}

void pl_plan_forget(pl_plan *plan) {
    for (unsigned g = 0; g < plan->groups; g++) {
        pl_group *group = &plan->group[g];
        pl_convergence_close(&group->convergence);
        group->convergence = (pl_convergence){0};
        pl_convergence_close(&group->gaps);
        group->gaps = (pl_convergence){0};
        pl_free(group->without);
        group->without = NULL;
        plan->has_lasso[g] = false;
    }
}

/* How much of the fall to the target the experiments nearest in workers have seen, 1 if all. */
static double share_seen(const pl_plan *plan, const pl_group *group, double workers) {
    double nearest = INFINITY, share = 0;
    for (unsigned c = 0; c < group->convergence.count; c++) {
        const pl_curve *curve = &group->convergence.curve[c];
        double far = fabs(log(curve->workers / workers)), first = curve->level[0];
        double seen = (first - curve->level[curve->count - 1]) / fmax(1e-9, first - level_of_target(plan));
        if (far < nearest) {
            nearest = far;
            share = seen >= 1 || !isnan(curve->reached) ? 1 : seen;
        }
    }
    return share;
}

/* The trial of the nearest number of workers. */
static const pl_trial *nearest_trial(const pl_group *group, double workers) {
    const pl_trial *nearest = NULL;
    for (unsigned c = 0; c < group->convergence.count; c++) {
        const pl_trial *trial = group->convergence.curve[c].trial;
        if (!nearest || fabs(log(trial->of.workers / workers)) < fabs(log(nearest->of.workers / workers)))
            nearest = trial;
    }
    return nearest;
}

static bool is_sampled(const pl_group *group, double workers) {
    const pl_trial *nearest = nearest_trial(group, workers);
    return nearest && nearest->sample < 1;
}

static double half_width(const pl_plan *plan, const pl_group *group, double workers, double seconds) {
    double share = share_seen(plan, group, workers), width = pow(noise_of(plan, seconds), 2);
    if (is_sampled(group, workers))
        width += plan->compared ? fmax(UNKNOWN_SAMPLE * UNKNOWN_SAMPLE, 0.25 * plan->shift * plan->shift)
                                : UNKNOWN_AHEAD * UNKNOWN_AHEAD;
    if (plan->modelled == 0 && plan->scaled)
        width += UNKNOWN_WORKERS * UNKNOWN_WORKERS; /* no round was timed on all rows */
    if (plan->task.machines && plan->task.hosts > 1 && workers > plan->task.hosts)
        width += UNKNOWN_WORKERS * UNKNOWN_WORKERS; /* no machines are there to time so many */
    if (plan->task.goal.doubt > 0)
        width += pow(log1p(plan->task.goal.doubt / plan->task.goal.target), 2);
    bool measured = false;
    for (unsigned c = 0; c < group->convergence.count; c++)
        measured = measured || group->convergence.curve[c].workers == workers;
    double between = measured ? 0 : plan->band_workers;
    if (!measured && group->convergence.count == 1) /* rounds may grow with the workers, and nothing tells how */
        between = fmax(between, fabs(log(workers / group->convergence.curve[0].workers)));
    double ahead = share < 1 ? ahead_band(plan, share) : 0;
    return sqrt(width + between * between + ahead * ahead);
}

static unsigned lanes_of(const pl_plan *plan, const pl_group *group, double workers) {
    const pl_trial *nearest = nearest_trial(group, workers);
    if (!nearest || plan->task.machines)
        return nearest ? nearest->of.lanes : 1;
    unsigned lanes = (unsigned)(nearest->of.lanes * nearest->of.workers / workers);
    return lanes > 1 ? lanes : 1; /* as many in all */
}

void pl_plan_predict(const pl_plan *plan, const pl_group *group, double workers, pl_plan_row *row) {
    const pl_plan_task *task = &plan->task;
    const pl_convergence *convergence = &group->convergence;
    *row = (pl_plan_row){.of = group->of, .group = group};
    row->of.workers = (unsigned)workers;
    row->of.lanes = lanes_of(plan, group, workers);
    row->round_seconds = pl_system_seconds(group->system, workers, group->of.epochs, 0);
    row->setup = pl_system_setup(group->system, workers, 0);
    double longer = is_sampled(group, workers) ? exp(plan->shift) : 1.0;
    row->rounds = longer * pl_convergence_rounds(convergence, workers, level_of_target(plan), PL_MOST_CURVES);
    row->seconds = row->setup + row->rounds * row->round_seconds;
    row->distance = exp(level_of_target(plan));
    if (task->budget > 0 && row->seconds > task->budget) {
        row->seconds = task->budget;
        row->rounds = floor((task->budget - row->setup) / row->round_seconds);
        row->distance = row->rounds >= 1 ? exp(pl_convergence_level(convergence, workers, row->rounds / longer)) : 1.0;
    }
    row->round_ratio = longer;
    row->gap = task->goal.kind == PL_GOAL_GAP
                   ? row->distance
                   : exp(pl_convergence_level(gaps_of(group), workers, row->rounds / longer));
    double width = half_width(plan, group, workers, row->seconds);
    row->extrapolated = share_seen(plan, group, workers) < 1;
    row->low = row->seconds * exp(-width);
    row->high = row->seconds * exp(width);
    row->bytes = pl_system_bytes(group->system, workers, 0) * workers * row->rounds;
    row->machines = task->machines ? row->of.workers : task->hosts;
    row->cost = task->price * row->machines * row->seconds / 3600;
    for (unsigned c = 0; c < convergence->count; c++)
        row->measured = row->measured || (convergence->curve[c].workers == workers &&
                                          !isnan(seconds_of(plan, convergence->curve[c].trial)));
}

/* What a row is judged by, the less the better. A run that no experiment has seen to its end may never get there, so
 * it is judged by the upper end of its band. */
static double worth(const pl_plan_task *task, const pl_plan_row *row) {
    double doubt = row->extrapolated ? DOUBT * row->high / row->seconds : 1.0;
    if (task->budget > 0)
        return log(row->distance) > pl_goal_level(&task->goal) + 1e-12 ? 1e6 + row->distance : row->seconds;
    return doubt * (task->price > 0 ? row->cost : row->seconds);
}

static const pl_plan_task *sorting; /* by one thread, for qsort */

static int by_worth(const void *a, const void *b) {
    double x = worth(sorting, a), y = worth(sorting, b);
    return (x > y) - (x < y);
}

static bool is_simpler(const pl_plan_row *a, const pl_plan_row *b) {
    if (a->of.workers != b->of.workers)
        return a->of.workers < b->of.workers;
    return a->group->order < b->group->order;
}

/* Ties go to fewer workers, then to the simpler method. */
static void settle_ties(pl_plan *plan) {
    unsigned best = 0;
    double least = worth(&plan->task, &plan->row[0]);
    for (unsigned r = 1; r < plan->rows && worth(&plan->task, &plan->row[r]) <= (1 + SAME) * least; r++)
        best = is_simpler(&plan->row[r], &plan->row[best]) ? r : best;
    pl_plan_row chosen = plan->row[best];
    memmove(plan->row + 1, plan->row, best * sizeof chosen);
    plan->row[0] = chosen;
}

unsigned pl_plan_draw(const pl_plan_row *row, double *curve) {
    double last = 0;
    unsigned points = 0;
    for (unsigned i = 0; i < PL_PLAN_CURVE; i++) {
        double round = floor(0.5 + pow(fmax(1.0, row->rounds), (double)i / (PL_PLAN_CURVE - 1)));
        if (round <= last)
            continue;
        double *point = curve + 3 * points++;
        point[0] = last = round;
        point[1] = row->setup + round * row->round_seconds;
        point[2] = exp(pl_convergence_level(gaps_of(row->group), row->of.workers, round / row->round_ratio));
    }
    return points;
}

parley_status pl_plan_choose(pl_plan *plan, parley_error *error) {
    uint64_t most = (uint64_t)plan->groups * plan->task.workers;
    pl_free(plan->row);
    plan->row = NULL;
    plan->rows = 0;
    parley_status status = pl_take(&plan->row, most, sizeof *plan->row, "a plan", error);
    for (unsigned g = 0; g < plan->groups && status == PARLEY_OK; g++)
        for (unsigned w = 0; w < plan->task.workers && plan->group[g].convergence.count; w++) {
            pl_plan_row *row = &plan->row[plan->rows];
            if (!isnan(plan->group[g].of.epochs) && plan->group[g].of.epochs != 1 && plan->task.worker[w] == 1)
                continue; /* a lone worker exchanges nothing */
            pl_plan_predict(plan, &plan->group[g], plan->task.worker[w], row);
            plan->rows += isfinite(row->seconds);
        }
    if (status != PARLEY_OK || !plan->rows)
        return status;
    sorting = &plan->task;
    qsort(plan->row, plan->rows, sizeof *plan->row, by_worth);
    settle_ties(plan);
    return status;
}
