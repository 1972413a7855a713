/* plan.c: reads what is to be planned from the settings. */
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

static const char *const usual_presets[] = {"newton", "cocoa+", "lbfgs", "cocoa", "ma-sgd"};

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
    parley_status status = pl_settings_copy(settings, &copy, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_configure(copy, of, error);
    if (status == PARLEY_OK)
        status = pl_train_check(copy, error);
    parley_settings_free(copy);
    return status;
}

void pl_plan_add_group(pl_plan *plan, const char *preset, double epochs, unsigned order) {
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
            pl_plan_add_group(plan, of.preset, of.epochs, p);
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
