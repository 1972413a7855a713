/* measure.c: makes the experiments of a plan: first every preset at H = 1 on numbers of workers that a greedy I-optimal
 * design names, then other H for the fastest presets, then the choice again where clocks are real, and longer where the
 * run will be long. Presets that are far behind are dropped on the way, and nothing is begun that the allowance does
 * not cover. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/plan.h"
#include "advise/trial_file.h"
#include "base/stop.h"
#include "shard/team.h"

#define MEASURED 9 /* most numbers of workers to measure */
#define FIRST 3    /* of them before slow presets are dropped */
#define FAR_BEHIND 4.0
#define OTHER_H 2         /* presets for which other H are measured */
#define TIMING_ROUNDS 30  /* of an experiment whose convergence is known from other machines */
#define SAMPLED_ROUNDS 8  /* the same if it is known from a sample of the rows */
#define ENOUGH_PASSES 6.0 /* that an experiment should have time for, or else it gets a sample of the rows */
#define NONZERO_SECONDS 4e-9
#define LEAST_SAMPLE 1000.0 /* rows */
#define CONFIRMED 1.2       /* times the predicted time that a choice by a sample is tried on all rows */
#define NO_TIMES "workers that share machines"
#define TIMED 2.0             /* rounds that are timed at least */
#define SHOWN 3.0             /* that a longer experiment shows at least */
#define REPEATED 3            /* configurations that are measured twice */
#define BEFORE_CONFIRMING 0.6 /* share of the allowance that is spent before the choice by a sample is tried */

static const double other_h[] = {0.25, 2.0, 4.0};
#define LENGTHS (sizeof other_h / sizeof *other_h)

/* The measuring. */
typedef struct measuring {
    pl_plan *plan;
    const pl_laboratory *all, *sample; /* sample NULL: convergence is measured on all rows */
    pl_plan_tell tell;
    void *user;
    const char *cache, *key;
    double most;    /* cost of one experiment */
    double dearest; /* what an experiment on all rows has cost so far, at most, */
    double sampled; /* and one on a sample */
} measuring;

static void say(const measuring *self, const pl_trial *trial) {
    char text[256], h[80] = "";
    if (!self->tell)
        return;
    if (!isnan(trial->of.epochs))
        snprintf(h, sizeof h, ", H %g", trial->of.epochs);
    if (trial->sample < 1)
        snprintf(h + strlen(h), sizeof h - strlen(h), ", %.3g %% of the rows", 100 * trial->sample);
    snprintf(text, sizeof text, "experiment: %s, %u %s%s%s: %.0f rounds, gap %.2e, %.3f seconds", trial->of.preset,
             trial->of.workers, self->plan->task.machines ? "machine" : "worker", trial->of.workers == 1 ? "" : "s", h,
             trial->rounds, trial->count ? trial->points[trial->count - 1].gap : 1.0, trial->cost);
    self->tell(self->user, text);
}

/* Whether an earlier experiment tells as much about convergence as a new one would; `here`: and about times. */
static bool is_known(const measuring *self, const pl_configuration *of, bool here) {
    const pl_plan *plan = self->plan;
    for (unsigned t = 0; t < plan->trials.count; t++) {
        const pl_trial *trial = &plan->trials.list[t];
        bool there = !isnan(pl_goal_rounds(&plan->task.goal, trial));
        bool enough = there || (trial->reached && trial->target <= pl_goal_gap(&plan->task.goal)) ||
                      trial->cost >= 0.9 * self->most;
        if (pl_same_configuration(&trial->of, of) && enough && pl_plan_uses(plan, trial) &&
            (!here || (trial->sample >= 1 && strcmp(trial->system, plan->system) == 0)))
            return true;
    }
    return false;
}

/* Whether rounds of a configuration were timed on these machines, on all rows or at least on a sample. */
static bool is_timed(const pl_plan *plan, const pl_configuration *of, bool sample) {
    for (unsigned t = 0; t < plan->trials.count; t++)
        if ((sample || plan->trials.list[t].sample >= 1) && pl_same_configuration(&plan->trials.list[t].of, of) &&
            strcmp(plan->trials.list[t].system, plan->system) == 0)
            return true;
    return false;
}

/* Keeps the experiments beside the data. If that fails, the plan goes on without. */
static void keep(measuring *self) {
    parley_error why;
    char text[sizeof why.sentence + 80];
    if (!*self->cache || pl_trials_save(&self->plan->trials, self->cache, self->key, &why) == PARLEY_OK)
        return;
    self->cache = "";
    snprintf(text, sizeof text, "warning: experiments are not kept for later plans: %s", why.sentence);
    if (self->tell)
        self->tell(self->user, text);
}

/* What experiments may cost, by what is predicted so far. */
static double allowance(const pl_plan *plan) {
    if (!plan->rows)
        return plan->task.floor;
    const pl_plan_row *choice = &plan->row[0];
    double machines = plan->task.machines ? choice->of.workers : 1;
    return fmax(plan->task.floor, plan->task.share * choice->seconds * machines);
}

/* Whether there is time for one more experiment on all rows that costs so much. Experiments show a few rounds in any
 * case, which may take longer than they should. */
static bool affords(const measuring *self, double cost) {
    double share = self->sample ? BEFORE_CONFIRMING : 1.0;
    return self->plan->spent + fmax(cost, self->most) <= share * allowance(self->plan);
}

/* What timing rounds on all rows would cost, by the experiment on the sample that was just made. */
static double cost_of_timing(const measuring *self) {
    const pl_trials *trials = &self->plan->trials;
    const pl_trial *last = trials->count ? &trials->list[trials->count - 1] : NULL;
    if (!last || last->sample >= 1 || !(last->rounds > 0))
        return self->dearest;
    return TIMED * last->cost / last->rounds / last->sample;
}

/* Which machines the times of an experiment are of. Those of workers that share a machine are of none. */
static const char *system_of(const pl_plan *plan, const pl_trial *trial) {
    bool shared = plan->task.machines && plan->task.hosts > 1 && trial->of.workers > plan->task.hosts;
    return shared ? NO_TIMES : plan->system;
}

/* Runs an experiment and takes what it showed. */
static parley_status run_on(measuring *self, const pl_laboratory *laboratory, pl_group *group, unsigned workers,
                            uint64_t rounds, parley_error *error) {
    pl_plan *plan = self->plan;
    pl_configuration of = group->of;
    pl_trial_end end = {.goal = &plan->task.goal, .most = self->most, .rounds = rounds};
    parley_error why;
    pl_trial trial;
    of.workers = workers;
    if (plan->task.machines && workers < plan->task.hosts)
        of.lanes = laboratory->engine->threads; /* a worker does not use the cores of machines that have none */
    parley_status status = pl_trial_run(laboratory, &of, &end, &trial, &why);
    if (status == PARLEY_STOPPED || pl_stop_asked())
        plan->interrupted = true;
    if ((status == PARLEY_BAD_USAGE || status == PARLEY_NO_MEMORY) && !plan->task.named) {
        group->dropped = true; /* the data do not suit the method, or are too large for it */
        return PARLEY_OK;
    }
    if (status != PARLEY_OK) {
        *error = why;
        return status == PARLEY_STOPPED ? PARLEY_OK : status;
    }
    snprintf(trial.system, sizeof trial.system, "%s", system_of(plan, &trial));
    plan->runs++;
    plan->spent += trial.cost;
    double *most = trial.sample < 1 ? &self->sampled : &self->dearest;
    *most = fmax(*most, trial.cost);
    say(self, &trial);
    status = pl_trials_add(&plan->trials, &trial, error);
    if (status != PARLEY_OK) {
        pl_free(trial.points);
        return status;
    }
    pl_goal_learn(&plan->task.goal, &plan->trials);
    keep(self);
    return status;
}

/* Whether the last experiment came no nearer to the target. */
static bool is_stuck(const pl_trials *trials) {
    const pl_trial *last = trials->count ? &trials->list[trials->count - 1] : NULL;
    return last && last->count > 0 && last->points[last->count - 1].gap >= 1 && last->rounds > 1;
}

/* Measures convergence, on the sample if there is one, and times. If one is known, only the other. */
static parley_status run_one(measuring *self, pl_group *group, double workers, parley_error *error) {
    pl_configuration of = group->of;
    of.workers = (unsigned)workers;
    bool known = is_known(self, &of, false);
    parley_status status = PARLEY_OK;
    if (self->sample && (!known || !is_timed(self->plan, &of, true))) /* it also tells what rounds on all rows cost */
        status = run_on(self, self->sample, group, of.workers, known ? SAMPLED_ROUNDS : 0, error);
    if (self->sample && !known && !self->plan->task.named && is_stuck(&self->plan->trials))
        group->dropped = true;
    if (status != PARLEY_OK || group->dropped || self->plan->interrupted)
        return status;
    if (self->sample && !affords(self, cost_of_timing(self)))
        return status; /* its times follow from those on the sample */
    return run_on(self, self->all, group, of.workers, self->sample ? SAMPLED_ROUNDS : known ? TIMING_ROUNDS : 0, error);
}

static parley_status measure(measuring *self, pl_group *group, double workers, parley_error *error) {
    pl_configuration of = group->of;
    const pl_plan_task *task = &self->plan->task;
    of.workers = (unsigned)workers;
    bool lone = workers == 1 && !isnan(of.epochs) && of.epochs != 1 && task->worker[0] < 2;
    bool timeless = task->machines && task->hosts > 1 && workers > task->hosts;
    if (group->dropped || self->plan->interrupted || lone || is_known(self, &of, true) ||
        (is_known(self, &of, false) && (timeless || is_timed(self->plan, &of, false))))
        return PARLEY_OK;
    return run_one(self, group, workers, error);
}

/* Powers of two, and three times them. */
static bool is_round(double workers) {
    double power = exp2(floor(log2(workers)));
    return workers == power || 2 * workers == 3 * power;
}

/* The numbers of workers to measure, best first: of machines round ones and both ends, by design. */
static unsigned design(const pl_plan_task *task, double *order) {
    double candidate[PL_PLAN_WORKERS], cost[PL_PLAN_WORKERS];
    bool done[PL_PLAN_WORKERS] = {false};
    unsigned count = 0, chosen = 0, next;
    for (unsigned w = 0; w < task->workers; w++)
        if (!task->machines || task->workers <= FIRST || w == 0 || w + 1 == task->workers ||
            is_round(task->worker[w])) {
            candidate[count] = task->worker[w];
            cost[count++] = sqrt(task->worker[w]); /* about as rounds grow */
        }
    while (chosen < count && (next = pl_system_next(candidate, cost, count, done)) < count) {
        done[next] = true;
        order[chosen++] = candidate[next];
    }
    return chosen < MEASURED ? chosen : MEASURED;
}

static parley_status refit(measuring *self, parley_error *error) {
    parley_status status = pl_plan_fit(self->plan, (double)pl_all_nonzeros(self->all->data), error);
    return status == PARLEY_OK ? pl_plan_choose(self->plan, error) : status;
}

/* The best time that is predicted for a group. */
static double best_of(const pl_plan *plan, const pl_group *group) {
    double best = INFINITY;
    for (unsigned r = 0; r < plan->rows; r++)
        if (plan->row[r].group == group)
            best = fmin(best, plan->row[r].seconds);
    return best;
}

static void drop_slow(pl_plan *plan) {
    double best = INFINITY;
    for (unsigned g = 0; g < plan->groups; g++)
        best = fmin(best, best_of(plan, &plan->group[g]));
    for (unsigned g = 0; g < plan->groups; g++)
        if (best_of(plan, &plan->group[g]) > FAR_BEHIND * best)
            plan->group[g].dropped = true;
}

/* One experiment is made in any case, with a preset whose rounds are short, and tells how long the run will be. */
static parley_status measure_first(measuring *self, double workers, parley_error *error) {
    pl_plan *plan = self->plan;
    parley_status status = PARLEY_OK;
    for (unsigned pass = 0; pass < 2 && status == PARLEY_OK; pass++)
        for (unsigned g = 0; g < plan->groups && status == PARLEY_OK; g++) {
            if (isnan(plan->group[g].of.epochs) == (pass == 0))
                continue;
            status = measure(self, &plan->group[g], workers, error);
            if (status == PARLEY_OK && !plan->group[g].dropped)
                return refit(self, error);
        }
    return status;
}

/* Whether there is time for an experiment on the i-th number of workers. */
static bool is_due(const measuring *self, unsigned i) {
    const pl_plan *plan = self->plan;
    if (!(plan->spent < (i < FIRST ? allowance(plan) : plan->task.floor)))
        return false;
    return self->sample ? plan->spent + self->sampled <= BEFORE_CONFIRMING * allowance(plan)
                        : affords(self, self->dearest);
}

/* Every group has an experiment, and then another one, while they may cost more. */
static parley_status measure_groups(measuring *self, unsigned from, const double *order, unsigned count,
                                    parley_error *error) {
    pl_plan *plan = self->plan;
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++) {
        if ((i == 1 || i == FIRST) && (status = refit(self, error)) == PARLEY_OK && i == FIRST)
            drop_slow(plan);
        for (unsigned g = from; g < plan->groups && status == PARLEY_OK; g++)
            if (is_due(self, i))
                status = measure(self, &plan->group[g], order[i], error);
    }
    return status;
}

/* Other H for the presets that are fastest so far. */
static parley_status measure_other_h(measuring *self, const double *order, unsigned count, parley_error *error) {
    pl_plan *plan = self->plan;
    unsigned before = plan->groups, tried = 0;
    parley_status status = refit(self, error);
    if (status != PARLEY_OK || plan->task.worker[plan->task.workers - 1] < 2 || plan->spent > allowance(plan))
        return status;
    for (unsigned r = 0; r < plan->rows && tried < OTHER_H; r++) {
        const pl_group *group = plan->row[r].group;
        bool is_new = !isnan(group->of.epochs);
        for (unsigned g = before; g < plan->groups; g++)
            is_new = is_new && strcmp(plan->group[g].of.preset, group->of.preset) != 0;
        for (unsigned h = 0; h < LENGTHS && is_new; h++)
            pl_plan_add_group(plan, group->of.preset, other_h[h], group->order + 100);
        tried += is_new;
    }
    return measure_groups(self, before, order, count, error);
}

/* What a configuration costs at least on all rows. */
static double least_cost(const pl_plan *plan, const pl_plan_row *row) {
    return (row->setup + SHOWN * row->round_seconds) * (plan->task.machines ? row->of.workers : 1);
}

/* Where clocks are real, the best configurations again, one after the other, to see how much clocks vary. */
static parley_status repeat(measuring *self, parley_error *error) {
    pl_plan *plan = self->plan;
    parley_status status = PARLEY_OK;
    for (unsigned r = 0, done = 0; r < plan->rows && done < REPEATED && status == PARLEY_OK; r++) {
        pl_plan_row row = plan->row[r];
        if (!row.measured || plan->interrupted || row.seconds > allowance(plan) - plan->spent)
            continue;
        status = run_on(self, self->all, (pl_group *)row.group, row.of.workers, 0, error);
        done++;
    }
    return status;
}

/* The choice for longer, where its end has not been seen; otherwise see `repeat`. */
static parley_status measure_again(measuring *self, parley_error *error) {
    pl_plan *plan = self->plan;
    parley_status status = refit(self, error);
    if (status != PARLEY_OK || !plan->rows || plan->interrupted)
        return status;
    pl_plan_row choice = plan->row[0];
    double left = allowance(plan) - plan->spent;
    if (choice.measured)
        return plan->modelled == 0 ? repeat(self, error) : status;
    if (!(left > fmax(self->most, least_cost(plan, &choice))))
        return status;
    ((pl_group *)choice.group)->dropped = false;
    self->most = left;
    return run_on(self, self->all, (pl_group *)choice.group, choice.of.workers, 0, error);
}

/* A sample of the rows may mislead: the choice runs on all rows for as long as it should take. If that is not its end,
 * the next choice does, or the same one for longer. */
static parley_status confirm(measuring *self, parley_error *error) {
    pl_plan *plan = self->plan;
    double most = self->most;
    parley_status status = refit(self, error);
    while (status == PARLEY_OK && plan->rows && !plan->row[0].measured && !plan->interrupted) {
        pl_plan_row choice = plan->row[0];
        double left = allowance(plan) - plan->spent;
        double length = CONFIRMED * choice.seconds * (plan->task.machines ? choice.of.workers : 1);
        if (left < fmax(most, least_cost(plan, &choice)))
            break;
        self->most = fmax(most, fmin(length, left));
        status = run_on(self, self->all, (pl_group *)choice.group, choice.of.workers, 0, error);
        if (status == PARLEY_OK)
            status = refit(self, error);
    }
    self->most = most;
    return status;
}

/* The first experiment of a plan for a sub-optimality shows the optimum. */
static parley_status find_optimum(measuring *self, parley_error *error) {
    pl_plan *plan = self->plan;
    double most = self->most;
    pl_goal_learn(&plan->task.goal, &plan->trials);
    if (plan->task.goal.kind != PL_GOAL_SUBOPTIMALITY ||
        plan->task.goal.doubt <= 0.5 * pl_goal_gap(&plan->task.goal) * (1 + 1e-9))
        return PARLEY_OK;
    self->most = 0.25 * plan->task.floor;
    parley_status status = PARLEY_OK;
    for (unsigned g = 0; g < plan->groups && status == PARLEY_OK; g++) {
        status = run_on(self, self->all, &plan->group[g], (unsigned)plan->task.worker[0], 0, error);
        if (!plan->group[g].dropped)
            break;
    }
    self->most = most;
    return status;
}

double pl_plan_sample(const pl_plan *plan, const parley_data *data) {
    double rows = (double)pl_all_rows(data), experiments = (double)((plan->groups + LENGTHS * OTHER_H) * FIRST);
    double nonzero = plan->modelled > 0 ? plan->modelled : NONZERO_SECONDS;
    double passes = plan->task.floor / experiments / (nonzero * fmax(1.0, (double)pl_all_nonzeros(data)));
    if (plan->task.sample > 0)
        return plan->task.sample;
    double share = fmin(1.0, passes / ENOUGH_PASSES);
    return rows * share < LEAST_SAMPLE ? fmin(1.0, LEAST_SAMPLE / rows) : share;
}

/* A worker needs a row. */
static parley_status leave_out_many(pl_plan_task *task, uint64_t rows, parley_error *error) {
    while (task->workers && task->worker[task->workers - 1] > (double)rows)
        task->workers--;
    return task->workers
               ? PARLEY_OK
               : pl_fail(error, PARLEY_BAD_USAGE, "there are only %llu rows to distribute; plan for fewer workers",
                         (unsigned long long)rows);
}

parley_status pl_plan_make(pl_plan *plan, const pl_laboratory *all, const pl_laboratory *sample,
                           const pl_plan_cache *cache, pl_plan_tell tell, void *user, parley_error *error) {
    double order[PL_PLAN_WORKERS];
    parley_status status = leave_out_many(&plan->task, pl_all_rows(sample ? sample->data : all->data), error);
    if (status != PARLEY_OK)
        return status;
    unsigned count = design(&plan->task, order);
    measuring self = {.plan = plan,
                      .all = all,
                      .sample = sample,
                      .tell = tell,
                      .user = user,
                      .cache = cache->path,
                      .key = cache->key};
    bool several_h = !pl_setting_given(all->settings, "local_epochs");
    self.most = plan->task.floor / (double)((plan->groups + LENGTHS * OTHER_H) * (count < FIRST ? count : FIRST));
    status = find_optimum(&self, error);
    if (status == PARLEY_OK)
        status = measure_first(&self, order[0], error);
    if (status == PARLEY_OK)
        status = measure_groups(&self, 0, order, count, error);
    if (status == PARLEY_OK && several_h)
        status = measure_other_h(&self, order, count, error);
    if (status == PARLEY_OK && sample)
        status = confirm(&self, error);
    if (status == PARLEY_OK)
        status = measure_again(&self, error);
    if (status == PARLEY_OK)
        status = refit(&self, error);
    if (status == PARLEY_OK)
        status = pl_goal_check(&plan->task.goal, &plan->trials, error);
    if (status == PARLEY_OK && !plan->rows)
        status =
            pl_fail(error, plan->interrupted ? PARLEY_STOPPED : PARLEY_BAD_INPUT,
                    plan->interrupted ? "interrupted before anything was measured"
                                      : "no experiment came nearer to the target; give experiments more time, as in "
                                        "--experiments 60s, or a larger --target");
    return status;
}
