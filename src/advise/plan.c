/* plan.c: reads what is to be planned from the settings, and makes the experiments: first every preset at H = 1 on
 * numbers of workers that a greedy I-optimal design names, then other H for the fastest presets, then the choice again
 * where clocks are real, and longer where the run will be long. Presets that are far behind are dropped on the way. */
#define _POSIX_C_SOURCE 200809L /* gethostname */
#include "advise/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advise/cached_plan.h"
#include "advise/trial_file.h"
#include "base/pool.h"
#include "base/stop.h"
#include "engine/network.h"
#include "shard/team.h"

#define FLOOR_SECONDS 3.0 /* that experiments may cost in any case: 5 % of a minute */
#define MOST_MACHINES 1024
#define MEASURED 9 /* most numbers of workers to measure */
#define FIRST 3    /* of them before slow presets are dropped */
#define FAR_BEHIND 4.0
#define OTHER_H 2         /* presets for which other H are measured */
#define TIMING_ROUNDS 30  /* of an experiment whose convergence is known from other machines */
#define SAMPLED_ROUNDS 8  /* the same if it is known from a sample of the rows */
#define ENOUGH_PASSES 6.0 /* that an experiment should have time for, or else it gets a sample of the rows */
#define NONZERO_SECONDS 4e-9
#define LEAST_SAMPLE 2000.0 /* rows */
#define CONFIRMED 1.2       /* times the predicted time that a choice by a sample is tried on all rows */
#define NO_TIMES "workers that share machines"

static const char *const usual_presets[] = {"newton", "cocoa+", "lbfgs", "cocoa", "ma-sgd"};
static const double other_h[] = {0.25, 2.0, 4.0};
#define LENGTHS (sizeof other_h / sizeof *other_h)

/* Numbers such as 1-64 or 1,2,8. Of long ranges some are left out, evenly in the logarithm. */
static parley_status parse_machines(const char *words, pl_plan_task *task, parley_error *error) {
    char *end;
    const char *at = words;
    double last = 0;
    while (*at) {
        double from = strtod(at, &end), to = from;
        if (*end == '-')
            to = strtod(end + 1, &end);
        bool whole = from == floor(from) && to == floor(to);
        if (end == at || (*end && *end != ',') || !whole || !(from > last && from <= to && to <= MOST_MACHINES))
            return pl_fail(error, PARLEY_BAD_USAGE,
                           "--machines %.80s: give a range or increasing numbers up to %u, as in 1-64 or 1,2,8", words,
                           MOST_MACHINES);
        for (double m = from; m <= to && task->workers < PL_PLAN_WORKERS;) {
            task->worker[task->workers++] = last = m;
            m = m == to ? to + 1 : fmin(to, fmax(m + 1, floor(m * 1.12)));
        }
        at = *end ? end + 1 : end;
    }
    return PARLEY_OK;
}

/* The cores of these machines: powers of two up to them, on each machine as many. */
static void cores_of_machines(const parley_settings *settings, pl_plan_task *task) {
    unsigned cores = settings->threads ? (unsigned)settings->threads : pl_cores();
    for (unsigned m = 1; m < cores && task->workers < PL_PLAN_WORKERS; m *= 2)
        task->worker[task->workers++] = m * task->hosts;
    task->worker[task->workers++] = cores * task->hosts;
}

static parley_status parse_workers(const parley_settings *settings, pl_plan_task *task, parley_error *error) {
    bool simulated = strcmp(settings->engine, "sim") == 0;
    task->machines = *settings->machines;
    if (task->machines && pl_setting_given(settings, "workers"))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--workers has no effect with --machines, on each of which there is one; leave it out");
    if (task->hosts > 1 && (simulated || pl_setting_given(settings, "network")))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--engine sim and --network simulate machines, but %u processes were started; start one, or "
                       "leave them out to measure on those machines",
                       task->hosts);
    if (simulated && !task->machines)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--engine sim: give the numbers of hosts to plan for, as --machines 1-64");
    if (task->machines)
        return parse_machines(settings->machines, task, error);
    if (pl_setting_given(settings, "workers") && settings->workers) {
        task->worker[task->workers++] = (double)settings->workers;
        return PARLEY_OK;
    }
    cores_of_machines(settings, task);
    return PARLEY_OK;
}

/* --sample 10%, all or auto. */
static parley_status parse_sample(const char *words, pl_plan_task *task, parley_error *error) {
    char *end;
    double number = strtod(words, &end);
    bool percent = end != words && strcmp(end, "%") == 0 && number > 0 && number <= 100;
    if (!percent && strcmp(words, "all") != 0 && strcmp(words, "auto") != 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--sample %.80s: give a share of the rows, as in 10%%, or all or auto",
                       words);
    task->sample = percent ? number / 100 : strcmp(words, "all") == 0 ? 1.0 : 0.0;
    bool other = task->goal.kind != PL_GOAL_GAP;
    if (other && percent && task->sample < 1)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--sample %.80s: a sample has another %s; plan for a gap, or leave --sample out", words,
                       task->goal.kind == PL_GOAL_METRIC ? task->goal.name : "optimum");
    task->sample = other ? 1.0 : task->sample;
    return PARLEY_OK;
}

/* --experiments 2% or 30s. */
static parley_status parse_experiments(const char *words, pl_plan_task *task, parley_error *error) {
    char *end;
    double number = strtod(words, &end);
    task->share = 0.02;
    task->floor = FLOOR_SECONDS;
    if (end != words && number > 0 && strcmp(end, "%") == 0 && number <= 100)
        task->share = number / 100;
    else if (pl_duration_of(words) > 0) {
        task->floor = pl_duration_of(words);
        task->share = 0;
    } else
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--experiments %.80s: give a share of the predicted run, as in 2%%, or a duration, as in 30s",
                       words);
    return PARLEY_OK;
}

static parley_status parse_task(const parley_settings *settings, pl_plan_task *task, parley_error *error) {
    parley_status status = pl_goal_open(&task->goal, settings, error);
    task->price = settings->price;
    if (status != PARLEY_OK)
        return status;
    if (*settings->budget && !((task->budget = pl_duration_of(settings->budget)) > 0))
        return pl_fail(error, PARLEY_BAD_USAGE, "--budget %.80s: give a duration, such as 60s or 500ms",
                       settings->budget);
    status = parse_experiments(settings->experiments, task, error);
    if (status == PARLEY_OK)
        status = parse_sample(settings->sample, task, error);
    return status == PARLEY_OK ? parse_workers(settings, task, error) : status;
}

/* The presets to compare: those of --presets or --preset, or the usual ones. */
static parley_status parse_presets(const parley_settings *settings, pl_plan_task *task, parley_error *error) {
    char words[PL_TEXT], *rest = words, *word;
    bool one = strcmp(settings->preset, "auto") != 0;
    task->named = one || strcmp(settings->presets, "auto") != 0;
    if (one && pl_setting_given(settings, "presets"))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--preset names one method and --presets several; leave one of them out");
    for (unsigned i = 0; i < sizeof usual_presets / sizeof *usual_presets && !task->named; i++)
        snprintf(task->preset[task->presets++], PL_PRESET_NAME, "%s", usual_presets[i]);
    snprintf(words, sizeof words, "%s", one ? settings->preset : settings->presets);
    while (task->named && (word = strtok_r(rest, ",", &rest))) {
        if (strlen(word) >= PL_PRESET_NAME || task->presets == PL_PLAN_GROUPS / 4)
            return pl_fail(error, PARLEY_BAD_USAGE, "--presets %.200s: give at most %d names", words,
                           PL_PLAN_GROUPS / 4);
        snprintf(task->preset[task->presets++], PL_PRESET_NAME, "%s", word);
    }
    return PARLEY_OK;
}

/* Settings for a configuration, checked. */
static parley_status check_one(const parley_settings *settings, const pl_configuration *of, parley_error *error) {
    parley_settings *copy;
    parley_status status = pl_take(&copy, 1, sizeof *copy, "settings", error);
    if (status != PARLEY_OK)
        return status;
    *copy = *settings;
    status = pl_configure(copy, of, error);
    if (status == PARLEY_OK)
        status = pl_train_check(copy, error);
    pl_free(copy);
    return status;
}

static void add_group(pl_plan *plan, const char *preset, double epochs, unsigned order) {
    if (plan->groups == PL_PLAN_GROUPS)
        return;
    pl_group *group = &plan->group[plan->groups++];
    group->of.epochs = epochs;
    group->order = order;
    snprintf(group->of.preset, sizeof group->of.preset, "%s", preset);
}

/* Makes the groups at H = 1, or at the H that was given. */
static parley_status open_groups(pl_plan *plan, const parley_settings *settings, parley_error *error) {
    const pl_plan_task *task = &plan->task;
    bool given = pl_setting_given(settings, "local_epochs");
    for (unsigned p = 0; p < task->presets; p++) {
        pl_configuration of = {.workers = (unsigned)task->worker[0], .epochs = given ? settings->local_epochs : 1.0};
        parley_error why;
        snprintf(of.preset, sizeof of.preset, "%s", task->preset[p]);
        parley_status status = check_one(settings, &of, &why);
        if (status != PARLEY_OK && !given) {
            of.epochs = NAN;
            status = check_one(settings, &of, &why);
        }
        if (status == PARLEY_OK)
            add_group(plan, of.preset, of.epochs, p);
        else if (task->named || task->presets == 1) {
            *error = why;
            return status;
        }
    }
    if (!plan->groups)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "none of the usual presets can solve this problem; name others with --presets");
    return PARLEY_OK;
}

/* Describes the machines, so that timings of others are not mixed in. */
static parley_status describe_system(pl_plan *plan, const parley_settings *settings, parley_error *error) {
    char host[48] = "";
    pl_network network;
    gethostname(host, sizeof host - 1);
    if (!plan->task.machines || plan->task.hosts > 1) {
        pl_this_machine(settings, plan->system, sizeof plan->system);
        size_t length = strlen(plan->system);
        if (plan->task.hosts > 1)
            snprintf(plan->system + length, sizeof plan->system - length, " and %u hosts", plan->task.hosts);
        return PARLEY_OK;
    }
    parley_status status = pl_network_parse(settings, &network, error);
    bool modelled = settings->compute == PL_MODELLED;
    plan->bandwidth = network.bandwidth;
    plan->modelled = modelled ? network.nonzero : 0;
    snprintf(plan->system, sizeof plan->system, "sim %g %g %g %g %g %g %.12s %s", network.latency, network.bandwidth,
             network.message, network.duplex[0], modelled ? network.nonzero : 0, modelled ? network.entry : 0,
             settings->host_speed, modelled ? "modelled" : host);
    return status;
}

parley_status pl_plan_open(pl_plan **out, const parley_settings *settings, unsigned hosts, parley_error *error) {
    parley_status status = pl_take(out, 1, sizeof **out, "a plan", error);
    if (status != PARLEY_OK)
        return status;
    pl_plan *plan = *out;
    plan->task.hosts = hosts;
    status = parse_task(settings, &plan->task, error);
    if (status == PARLEY_OK)
        status = parse_presets(settings, &plan->task, error);
    if (status == PARLEY_OK)
        status = describe_system(plan, settings, error);
    if (status == PARLEY_OK)
        status = open_groups(plan, settings, error);
    bool several_h = status == PARLEY_OK && !isnan(plan->group[0].of.epochs) &&
                     !pl_setting_given(settings, "local_epochs") && plan->task.worker[plan->task.workers - 1] > 1;
    if (status == PARLEY_OK && plan->groups == 1 && plan->task.workers == 1 && !several_h)
        status =
            pl_fail(error, PARLEY_BAD_USAGE,
                    "there is one configuration, %s with %g workers, and nothing to choose; name several --presets "
                    "or --machines",
                    plan->group[0].of.preset, plan->task.worker[0]);
    if (status != PARLEY_OK) {
        pl_plan_close(plan);
        *out = NULL;
    }
    return status;
}

void pl_plan_close(pl_plan *plan) {
    if (!plan)
        return;
    pl_plan_forget(plan);
    pl_trials_close(&plan->trials);
    pl_free(plan->row);
    pl_free(plan);
}

/* The measuring. */
typedef struct measuring {
    pl_plan *plan;
    const pl_laboratory *all, *sample; /* sample NULL: convergence is measured on all rows */
    pl_plan_tell tell;
    void *user;
    const char *cache, *key;
    double most; /* cost of one experiment */
} measuring;

static void say(const measuring *this, const pl_trial *trial) {
    char text[256], h[80] = "";
    if (!this->tell)
        return;
    if (!isnan(trial->of.epochs))
        snprintf(h, sizeof h, ", H %g", trial->of.epochs);
    if (trial->sample < 1)
        snprintf(h + strlen(h), sizeof h - strlen(h), ", %.3g %% of the rows", 100 * trial->sample);
    snprintf(text, sizeof text, "experiment: %s, %u %s%s%s: %g rounds, gap %.2e, %.3f seconds", trial->of.preset,
             trial->of.workers, this->plan->task.machines ? "machine" : "worker", trial->of.workers == 1 ? "" : "s", h,
             trial->rounds, trial->count ? trial->points[trial->count - 1].gap : 1.0, trial->cost);
    this->tell(this->user, text);
}

/* Whether an earlier experiment tells as much about convergence as a new one would; `here`: and about times. */
static bool is_known(const measuring *this, const pl_configuration *of, bool here) {
    const pl_plan *plan = this->plan;
    for (unsigned t = 0; t < plan->trials.count; t++) {
        const pl_trial *trial = &plan->trials.list[t];
        bool there = !isnan(pl_goal_rounds(&plan->task.goal, trial));
        bool enough = there || (trial->reached && trial->target <= pl_goal_gap(&plan->task.goal)) ||
                      trial->cost >= 0.9 * this->most;
        if (pl_same_configuration(&trial->of, of) && enough && pl_plan_uses(plan, trial) &&
            (!here || strcmp(trial->system, plan->system) == 0))
            return true;
    }
    return false;
}

static bool is_timed(const pl_plan *plan, const pl_configuration *of) {
    for (unsigned t = 0; t < plan->trials.count; t++)
        if (pl_same_configuration(&plan->trials.list[t].of, of) &&
            strcmp(plan->trials.list[t].system, plan->system) == 0)
            return true;
    return false;
}

/* Keeps the experiments beside the data. If that fails, the plan goes on without. */
static void keep(measuring *this) {
    parley_error why;
    char text[sizeof why.sentence + 80];
    if (!*this->cache || pl_trials_save(&this->plan->trials, this->cache, this->key, &why) == PARLEY_OK)
        return;
    this->cache = "";
    snprintf(text, sizeof text, "warning: experiments are not kept for later plans: %s", why.sentence);
    if (this->tell)
        this->tell(this->user, text);
}

/* Which machines the times of an experiment are of. Those of workers that share a machine, and of a part of the rows,
 * are of none. */
static const char *system_of(const pl_plan *plan, const pl_trial *trial) {
    bool shared = plan->task.machines && plan->task.hosts > 1 && trial->of.workers > plan->task.hosts;
    return shared || trial->sample < 1 ? NO_TIMES : plan->system;
}

/* Runs an experiment and takes what it showed. */
static parley_status run_on(measuring *this, const pl_laboratory *laboratory, pl_group *group, unsigned workers,
                            uint64_t rounds, parley_error *error) {
    pl_plan *plan = this->plan;
    pl_configuration of = group->of;
    pl_trial_end end = {.goal = &plan->task.goal, .most = this->most, .rounds = rounds};
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
    say(this, &trial);
    status = pl_trials_add(&plan->trials, &trial, error);
    if (status != PARLEY_OK) {
        pl_free(trial.points);
        return status;
    }
    pl_goal_learn(&plan->task.goal, &plan->trials);
    keep(this);
    return status;
}

/* Whether the last experiment came no nearer to the target. */
static bool is_stuck(const pl_trials *trials) {
    const pl_trial *last = trials->count ? &trials->list[trials->count - 1] : NULL;
    return last && last->count > 0 && last->points[last->count - 1].gap >= 1 && last->rounds > 1;
}

/* Measures convergence, on the sample if there is one, and times. If one is known, only the other. */
static parley_status run_one(measuring *this, pl_group *group, double workers, parley_error *error) {
    pl_configuration of = group->of;
    of.workers = (unsigned)workers;
    bool known = is_known(this, &of, false);
    parley_status status = PARLEY_OK;
    if (this->sample && !known)
        status = run_on(this, this->sample, group, of.workers, 0, error);
    if (this->sample && !known && !this->plan->task.named && is_stuck(&this->plan->trials))
        group->dropped = true;
    if (status != PARLEY_OK || group->dropped || this->plan->interrupted)
        return status;
    return run_on(this, this->all, group, of.workers, this->sample ? SAMPLED_ROUNDS : known ? TIMING_ROUNDS : 0, error);
}

static parley_status measure(measuring *this, pl_group *group, double workers, parley_error *error) {
    pl_configuration of = group->of;
    const pl_plan_task *task = &this->plan->task;
    of.workers = (unsigned)workers;
    bool lone = workers == 1 && !isnan(of.epochs) && of.epochs != 1 && task->worker[0] < 2;
    bool timeless = task->machines && task->hosts > 1 && workers > task->hosts;
    if (group->dropped || this->plan->interrupted || lone || is_known(this, &of, true) ||
        (is_known(this, &of, false) && (timeless || is_timed(this->plan, &of))))
        return PARLEY_OK;
    return run_one(this, group, workers, error);
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

static parley_status refit(measuring *this, parley_error *error) {
    parley_status status = pl_plan_fit(this->plan, (double)pl_all_nonzeros(this->all->data), error);
    return status == PARLEY_OK ? pl_plan_choose(this->plan, error) : status;
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

/* What experiments may cost, by what is predicted so far. */
static double allowance(const pl_plan *plan) {
    if (!plan->rows)
        return plan->task.floor;
    const pl_plan_row *choice = &plan->row[0];
    double machines = plan->task.machines ? choice->of.workers : 1;
    return fmax(plan->task.floor, plan->task.share * choice->seconds * machines);
}

/* Every group has one experiment at least, and the others while they may cost more. */
static parley_status measure_groups(measuring *this, unsigned from, const double *order, unsigned count,
                                    parley_error *error) {
    pl_plan *plan = this->plan;
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++) {
        if ((i == 1 || i == FIRST) && (status = refit(this, error)) == PARLEY_OK && i == FIRST)
            drop_slow(plan);
        for (unsigned g = from; g < plan->groups && status == PARLEY_OK; g++)
            if (i == 0 || plan->spent < (i < FIRST ? allowance(plan) : plan->task.floor))
                status = measure(this, &plan->group[g], order[i], error);
    }
    return status;
}

/* Other H for the presets that are fastest so far. */
static parley_status measure_other_h(measuring *this, const double *order, unsigned count, parley_error *error) {
    pl_plan *plan = this->plan;
    unsigned before = plan->groups, tried = 0;
    parley_status status = refit(this, error);
    if (status != PARLEY_OK || plan->task.worker[plan->task.workers - 1] < 2 || plan->spent > allowance(plan))
        return status;
    for (unsigned r = 0; r < plan->rows && tried < OTHER_H; r++) {
        const pl_group *group = plan->row[r].group;
        bool is_new = !isnan(group->of.epochs);
        for (unsigned g = before; g < plan->groups; g++)
            is_new = is_new && strcmp(plan->group[g].of.preset, group->of.preset) != 0;
        for (unsigned h = 0; h < LENGTHS && is_new; h++)
            add_group(plan, group->of.preset, other_h[h], group->order + 100);
        tried += is_new;
    }
    return measure_groups(this, before, order, count, error);
}

/* The choice again, where clocks are real, and for longer, where its end has not been seen. */
static parley_status measure_again(measuring *this, parley_error *error) {
    pl_plan *plan = this->plan;
    parley_status status = refit(this, error);
    if (status != PARLEY_OK || !plan->rows || plan->interrupted)
        return status;
    pl_plan_row choice = plan->row[0];
    double left = allowance(plan) - plan->spent;
    pl_group *group = (pl_group *)choice.group;
    bool longer = !choice.measured && left > this->most, again = choice.measured && plan->modelled == 0;
    if (!longer && !(again && choice.seconds < left))
        return status;
    group->dropped = false;
    this->most = longer ? left : this->most;
    return run_on(this, this->all, group, choice.of.workers, 0, error);
}

/* A sample of the rows may mislead: the choice runs on all rows for as long as it should take. If that is not its end,
 * the next choice does, or the same one for longer. */
static parley_status confirm(measuring *this, parley_error *error) {
    pl_plan *plan = this->plan;
    double most = this->most, began = plan->spent;
    parley_status status = refit(this, error);
    while (status == PARLEY_OK && plan->rows && !plan->row[0].measured && !plan->interrupted) {
        pl_plan_row choice = plan->row[0];
        double left = allowance(plan) - (plan->spent - began);
        double length = CONFIRMED * choice.seconds * (plan->task.machines ? choice.of.workers : 1);
        if (left < most)
            break;
        this->most = fmax(most, fmin(length, left));
        status = run_on(this, this->all, (pl_group *)choice.group, choice.of.workers, 0, error);
        if (status == PARLEY_OK)
            status = refit(this, error);
    }
    this->most = most;
    return status;
}

/* The first experiment of a plan for a sub-optimality shows the optimum. */
static parley_status find_optimum(measuring *this, parley_error *error) {
    pl_plan *plan = this->plan;
    double most = this->most;
    pl_goal_learn(&plan->task.goal, &plan->trials);
    if (plan->task.goal.kind != PL_GOAL_SUBOPTIMALITY ||
        plan->task.goal.doubt <= 0.5 * pl_goal_gap(&plan->task.goal) * (1 + 1e-9))
        return PARLEY_OK;
    this->most = 0.25 * plan->task.floor;
    parley_status status = PARLEY_OK;
    for (unsigned g = 0; g < plan->groups && status == PARLEY_OK; g++) {
        status = run_on(this, this->all, &plan->group[g], (unsigned)plan->task.worker[0], 0, error);
        if (!plan->group[g].dropped)
            break;
    }
    this->most = most;
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
    measuring this = {.plan = plan,
                      .all = all,
                      .sample = sample,
                      .tell = tell,
                      .user = user,
                      .cache = cache->path,
                      .key = cache->key};
    bool several_h = !pl_setting_given(all->settings, "local_epochs");
    this.most = plan->task.floor / (double)((plan->groups + LENGTHS * OTHER_H) * (count < FIRST ? count : FIRST));
    status = find_optimum(&this, error);
    if (status == PARLEY_OK)
        status = measure_groups(&this, 0, order, count, error);
    if (status == PARLEY_OK && several_h)
        status = measure_other_h(&this, order, count, error);
    if (status == PARLEY_OK && sample)
        status = confirm(&this, error);
    if (status == PARLEY_OK)
        status = measure_again(&this, error);
    if (status == PARLEY_OK)
        status = refit(&this, error);
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
