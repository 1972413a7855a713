/* plan_command.c: `parley plan`: reads, makes experiments, predicts, and prints the choice and its alternatives. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/plan_json.h"
#include "advise/plan_page.h"
#include "advise/sample.h"
#include "advise/trial_file.h"
#include "engine/agree.h"
#include "engine/launched.h"
#include "fit.h"

#define LINES 12 /* of the table on the terminal */
#define WARNING "warning: "

typedef struct run {
    const command *command;
    parley_settings *settings; /* a copy, with the engine that is planned for */
    operands inputs;
    pl_plan *plan;
    char cache[PL_TEXT], key[PL_PROBLEM_KEY];
} run;

/* Options of training that a plan chooses or does not read. */
static parley_status check_options(const parley_settings *settings, parley_error *error) {
    static const char *const names[] = {"model",  "log",   "rounds",      "seconds", "gap",   "hosts",
                                        "metric", "local", "local_steps", "combine", "lanes", "deadline"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (pl_setting_given(settings, names[i]) && !(pl_launched_ranks() > 1 && strcmp(names[i], "deadline") == 0)) {
            char flag[48];
            pl_setting_flag(pl_setting_find(names[i]), flag, sizeof flag);
            return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect on a plan%s", flag,
                           strcmp(names[i], "gap") == 0      ? "; give --target"
                           : strcmp(names[i], "metric") == 0 ? "; give --target-of"
                           : strcmp(names[i], "hosts") == 0  ? "; give --machines"
                                                             : "; leave it out");
        }
    bool network = pl_setting_given(settings, "network") || pl_setting_given(settings, "latency") ||
                   pl_setting_given(settings, "compute") || pl_setting_given(settings, "host_speed");
    if (network && !*settings->machines)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--network, --latency, --host-speed and --compute describe several machines; give --machines, "
                       "as in 1-16");
    return *settings->html ? check_writable(settings->html, error) : PARLEY_OK;
}

static void tell(void *user, const char *sentence) {
    const run *run = user;
    if (!run->settings->quiet || strncmp(sentence, WARNING, strlen(WARNING)) == 0)
        tell_error_output(NULL, sentence);
}

/* Experiments of earlier plans, and where to keep those of this one. */
static parley_status open_cache(run *run, parley_error *error) {
    char text[160];
    if (run->inputs.count == 1)
        pl_trials_path(run->inputs.words[0], run->cache, sizeof run->cache);
    if (*run->cache && check_writable(run->cache, NULL) != PARLEY_OK)
        *run->cache = '\0'; /* data in a folder that others own */
    parley_status status = pl_trials_load(&run->plan->trials, run->cache, run->key, error);
    run->plan->cached = run->plan->trials.count;
    if (status == PARLEY_OK && run->plan->cached) {
        snprintf(text, sizeof text, "experiments: %u from earlier plans for these data", run->plan->cached);
        tell(run, text);
    }
    return status;
}

static void keep_choice(const run *run) {
    parley_error why;
    char text[sizeof why.sentence + 80];
    bool kept = *run->cache && !run->plan->task.machines && run->plan->task.hosts == 1;
    if (!kept || pl_choice_save(run->cache, run->key, pl_plan_choice_json(run->plan), &why) == PARLEY_OK)
        return;
    snprintf(text, sizeof text, WARNING "the choice is not kept for parley train: %s", why.sentence);
    tell_error_output(NULL, text);
}

/* The first rank measures and chooses, and the others take part in its experiments. */
static parley_status measure(run *run, const pl_laboratory *all, const pl_laboratory *sample, parley_error *error) {
    const pl_plan_cache cache = {run->cache, run->key};
    parley_error ended;
    if (all->engine && all->engine->rank > 0)
        return pl_trials_join(all, sample, error);
    parley_status status = open_cache(run, error);
    if (status == PARLEY_OK)
        status = pl_plan_make(run->plan, all, sample, &cache, tell, run, error);
    if (status == PARLEY_OK)
        keep_choice(run);
    parley_status dismissed = pl_trials_dismiss(all->engine, &ended);
    if (status == PARLEY_OK && dismissed != PARLEY_OK)
        *error = ended;
    return status == PARLEY_OK ? dismissed : status;
}

static parley_status make(run *run, pl_engine *engine, const parley_data *data, parley_error *error) {
    pl_sample sample = {0};
    parley_status status = pl_problem_key(engine, data, run->settings, run->key, error);
    double share = pl_plan_sample(run->plan, data);
    if (status == PARLEY_OK && share < 1)
        status = pl_sample_open(&sample, engine, data, run->settings, share, error);
    run->plan->task.sample = share;
    run->plan->evaluate_every = run->settings->evaluate_every;
    pl_laboratory all = {data, run->settings, 1.0, run->plan->modelled, engine};
    pl_laboratory part = {sample.data, sample.settings, share, run->plan->modelled, engine};
    if (status == PARLEY_OK)
        status = measure(run, &all, sample.data ? &part : NULL, error);
    pl_sample_close(&sample);
    return status;
}

/* Runs to something other than a gap look at it after every round, unless told otherwise. */
static parley_status watch_goal(run *run, parley_error *error) {
    const pl_goal *goal = &run->plan->task.goal;
    parley_status status = PARLEY_OK;
    if (goal->kind != PL_GOAL_GAP && !run->settings->evaluate_every)
        status = pl_setting_set(run->settings, 0, "evaluate_every", "1", error);
    if (status == PARLEY_OK && goal->kind == PL_GOAL_METRIC)
        status = pl_setting_set(run->settings, 0, "metric", goal->name, error);
    return status;
}

/* All that can be checked before data are read. */
static parley_status check(run *run, parley_error *error) {
    unsigned hosts = (unsigned)pl_launched_ranks();
    parley_status status = check_options(run->settings, error);
    if (status == PARLEY_OK && *run->settings->machines && hosts == 1)
        status = pl_setting_set(run->settings, 0, "engine", "sim", error);
    if (status == PARLEY_OK)
        status = pl_plan_open(&run->plan, run->settings, hosts, error);
    return status == PARLEY_OK ? watch_goal(run, error) : status;
}

/* Reads, measures and writes the page. `engine` has the ranks that were started; NULL: this process is alone, and each
 * experiment opens an engine. */
static parley_status work(pl_engine *engine, void *user, parley_error *error) {
    run *run = user;
    bool first = !engine || engine->rank == 0;
    parley_data *data = NULL;
    pl_lock *lock = NULL;
    parley_status status = read_data(&run->inputs, run->settings, engine,
                                     run->settings->quiet || !first ? NULL : tell_error_output, &data, error);
    if (status == PARLEY_OK)
        status = pl_data_teaches(data, pl_settings_problem(run->settings)->labels, error);
    if (status == PARLEY_OK)
        status = fit_begin(run->settings, false, &lock, error);
    if (status == PARLEY_OK)
        status = make(run, engine, data, error);
    if (status == PARLEY_OK && *run->settings->html && first)
        status = pl_plan_page(run->plan, run->settings->html, error);
    parley_data_free(data);
    return status;
}

static void h_text(const pl_plan_row *row, char *text, size_t size) {
    if (isnan(row->of.epochs))
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%g", row->of.epochs);
}

static void print_row(const pl_plan *plan, const pl_plan_row *row) {
    char h[32], cost[32] = "";
    h_text(row, h, sizeof h);
    if (plan->task.price > 0)
        snprintf(cost, sizeof cost, " %8.4g", row->cost);
    printf("%-14s %8u %5u %5s %10.4g %10.4g %10.4g %8.0f %9.2e %10.3g%s\n", row->of.preset, row->of.workers,
           row->of.lanes, h, row->seconds, row->low, row->high, row->rounds, row->gap, row->bytes, cost);
}

static int by_seconds(const void *a, const void *b) {
    const pl_plan_row *const *x = a, *const *y = b;
    return ((*x)->seconds > (*y)->seconds) - ((*x)->seconds < (*y)->seconds);
}

/* The best number of workers of each preset and H. With a budget, rows are in order of what they reach in it. */
static void print_table(const pl_plan *plan) {
    const pl_plan_row *best[PL_PLAN_GROUPS];
    unsigned count = 0;
    for (unsigned r = 0; r < plan->rows && count < LINES; r++) {
        bool is_new = true;
        for (unsigned i = 0; i < count; i++)
            is_new = is_new && best[i]->group != plan->row[r].group;
        if (is_new)
            best[count++] = &plan->row[r];
    }
    if (!(plan->task.budget > 0))
        qsort(best, count, sizeof *best, by_seconds);
    printf("%-14s %8s %5s %5s %10s %10s %10s %8s %9s %10s%s\n", "preset", plan->task.machines ? "machines" : "workers",
           "lanes", "H", "seconds", "low", "high", "rounds", "gap", "bytes", plan->task.price > 0 ? "     cost" : "");
    for (unsigned i = 0; i < count; i++)
        print_row(plan, best[i]);
}

static void print_plan(const run *run) {
    const pl_plan *plan = run->plan;
    const pl_plan_row *row = &plan->row[0];
    char h[48] = "";
    if (!isnan(row->of.epochs))
        snprintf(h, sizeof h, ", H = %g epochs", row->of.epochs);
    print_field(stdout, "choice", "%s, %u %s%s, %u lane%s%s", row->of.preset, row->of.workers,
                plan->task.machines ? "machine" : "worker", row->of.workers == 1 ? "" : "s", row->of.lanes,
                row->of.lanes == 1 ? "" : "s", h);
    print_field(stdout, "time", "%.4g seconds; 90 %% band %.4g to %.4g", row->seconds, row->low, row->high);
    if (plan->task.goal.kind != PL_GOAL_GAP)
        print_field(stdout, plan->task.goal.name, "%.4g; the relative gap is then about %.2g",
                    pl_goal_value(&plan->task.goal, row->distance), row->gap);
    else if (plan->task.budget > 0)
        print_field(stdout, "gap", "%.3g of the objective at w = 0", row->gap);
    if (plan->task.machines && row->of.workers == 1 && plan->task.workers > 1)
        print_field(stdout, "note",
                    "one machine is fastest: more of them cost more rounds and messages than they save");
    print_field(stdout, "experiments", "%u run%s, %.4g seconds%s", plan->runs, plan->runs == 1 ? "" : "s", plan->spent,
                plan->modelled > 0 ? " (modelled)" : "");
    if (plan->task.sample < 1)
        print_field(stdout, "sample", "rounds were measured on %.3g %% of the rows, and times on %s of them",
                    100 * plan->task.sample, plan->scaled ? "as many" : "all");
    if (plan->interrupted)
        print_field(stdout, "warning", "interrupted: the plan rests on the experiments until then");
    printf("\n");
    print_table(plan);
}

static int code_of(const void *user) {
    const run *run = user;
    return run->plan->interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
}

static int report(const void *user) {
    const run *run = user;
    int code = EXIT_DONE;
    if (run->settings->json)
        code = json_print(run->command, pl_plan_json(run->plan));
    else
        print_plan(run);
    return code == EXIT_DONE ? code_of(run) : code;
}

static parley_status is_checked(const void *user, parley_error *error) {
    (void)user, (void)error;
    return PARLEY_OK;
}

static int plan_run(const arguments *arguments) {
    parley_error error;
    run run = {.command = arguments->command, .inputs = {arguments->operands, arguments->count}};
    int code = EXIT_DONE;
    parley_status status = pl_settings_copy(&arguments->settings, &run.settings, &error);
    if (status == PARLEY_OK)
        status = check(&run, &error);
    bool several = pl_launched_ranks() > 1;
    if (status == PARLEY_OK && several)
        code = fit_run(&(fit){run.command, run.settings, is_checked, work, report, code_of, &run});
    else if (status == PARLEY_OK)
        status = work(NULL, &run, &error);
    if (status != PARLEY_OK)
        code = fail(arguments->command, &error);
    else if (!several)
        code = report(&run);
    pl_plan_close(run.plan);
    parley_settings_free(run.settings);
    return code;
}

const command plan_command = {
    .name = "plan",
    .operands = "DATA...",
    .least = 1,
    .most = UINT_MAX,
    .options = PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_PLAN,
    .summary = "predict which method and how many workers are fastest",
    .details =
        "Runs short experiments with several presets, numbers of workers and lengths of rounds, fits a model of the "
        "time of a round and one of the rounds to a gap, and prints the fastest configuration with the seconds that it "
        "will take and a 90 % band, then the alternatives. With --machines, machines are simulated, connected as "
        "--network says. Experiments are kept beside DATA, in DATA.experiments.json, and reused. "
        "The output of --json is a plan that parley train --plan runs.",
    .run = plan_run,
};
