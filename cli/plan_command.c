/* plan_command.c: `parley plan`: reads, makes experiments, predicts, and prints the choice and its alternatives. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "advise/plan_json.h"
#include "advise/plan_page.h"
#include "advise/trial_file.h"
#include "fit.h"

#define LINES 12 /* of the table on the terminal */

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
        if (pl_setting_given(settings, names[i])) {
            char flag[48];
            pl_setting_flag(pl_setting_find(names[i]), flag, sizeof flag);
            return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect on a plan%s", flag,
                           strcmp(names[i], "gap") == 0 ? "; give --target" : "; leave it out");
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
    if (!run->settings->quiet)
        tell_error_output(NULL, sentence);
}

static parley_status make(run *run, const parley_data *data, parley_error *error) {
    const pl_plan_cache cache = {run->cache, run->key};
    char text[160];
    parley_status status = pl_problem_key(data, run->settings, run->key, error);
    if (status == PARLEY_OK && run->inputs.count == 1)
        pl_trials_path(run->inputs.words[0], run->cache, sizeof run->cache);
    if (status == PARLEY_OK && *run->cache && check_writable(run->cache, NULL) != PARLEY_OK)
        *run->cache = '\0'; /* data in a folder that others own */
    if (status == PARLEY_OK)
        status = pl_trials_load(&run->plan->trials, run->cache, run->key, error);
    run->plan->cached = run->plan->trials.count;
    if (status == PARLEY_OK && run->plan->cached) {
        snprintf(text, sizeof text, "experiments: %u from earlier plans for these data", run->plan->cached);
        tell(run, text);
    }
    if (status == PARLEY_OK)
        status = pl_plan_make(run->plan, data, run->settings, &cache, tell, run, error);
    if (status == PARLEY_OK && *run->cache && !run->plan->task.machines)
        status = pl_choice_save(run->cache, run->key, pl_plan_choice_json(run->plan), error);
    return status;
}

static parley_status work(run *run, parley_error *error) {
    parley_data *data = NULL;
    pl_lock *lock = NULL;
    parley_status status = check_options(run->settings, error);
    if (status == PARLEY_OK && *run->settings->machines)
        status = pl_setting_set(run->settings, 0, "engine", "sim", error);
    if (status == PARLEY_OK)
        status = pl_plan_open(&run->plan, run->settings, error);
    if (status == PARLEY_OK)
        status =
            read_data(&run->inputs, run->settings, NULL, run->settings->quiet ? NULL : tell_error_output, &data, error);
    if (status == PARLEY_OK)
        status = pl_data_teaches(data, pl_settings_problem(run->settings)->labels, error);
    if (status == PARLEY_OK)
        status = fit_begin(run->settings, false, &lock, error);
    if (status == PARLEY_OK)
        status = make(run, data, error);
    if (status == PARLEY_OK && *run->settings->html)
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
    char h[32], cost[32] = "-";
    h_text(row, h, sizeof h);
    if (plan->task.price > 0)
        snprintf(cost, sizeof cost, "%.4g", row->cost);
    printf("%-14s %7u %5u %5s %10.4g %10.4g %10.4g %8.0f %9.2e %10.3g %8s\n", row->of.preset, row->of.workers,
           row->of.lanes, h, row->seconds, row->low, row->high, row->rounds, row->gap, row->bytes, cost);
}

/* The best number of workers of each preset and H. */
static void print_table(const pl_plan *plan) {
    const pl_group *seen[PL_PLAN_GROUPS];
    unsigned count = 0;
    printf("%-14s %7s %5s %5s %10s %10s %10s %8s %9s %10s %8s\n", "preset",
           plan->task.machines ? "machines" : "workers", "lanes", "H", "seconds", "low", "high", "rounds", "gap",
           "bytes", "cost");
    for (unsigned r = 0; r < plan->rows && count < LINES; r++) {
        bool is_new = true;
        for (unsigned i = 0; i < count; i++)
            is_new = is_new && seen[i] != plan->row[r].group;
        if (!is_new)
            continue;
        seen[count++] = plan->row[r].group;
        print_row(plan, &plan->row[r]);
    }
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
    if (plan->task.budget > 0)
        print_field(stdout, "gap", "%.3g of the objective at w = 0", row->gap);
    if (plan->task.machines && row->of.workers == 1 && plan->task.workers > 1)
        print_field(stdout, "note",
                    "one machine is fastest: more of them cost more rounds and messages than they save");
    print_field(stdout, "experiments", "%u run%s, %.4g seconds%s", plan->runs, plan->runs == 1 ? "" : "s", plan->spent,
                plan->modelled > 0 ? " (modelled)" : "");
    if (plan->interrupted)
        print_field(stdout, "warning", "interrupted: the plan rests on the experiments until then");
    printf("\n");
    print_table(plan);
}

static int plan_run(const arguments *arguments) {
    parley_error error;
    run run = {.command = arguments->command, .inputs = {arguments->operands, arguments->count}};
    parley_status status = pl_take(&run.settings, 1, sizeof *run.settings, "settings", &error);
    if (status == PARLEY_OK) {
        *run.settings = arguments->settings;
        status = work(&run, &error);
    }
    int code = EXIT_DONE;
    if (status != PARLEY_OK)
        code = fail(arguments->command, &error);
    else if (run.settings->json)
        code = json_print(arguments->command, pl_plan_json(run.plan));
    else
        print_plan(&run);
    if (status == PARLEY_OK && run.plan->interrupted)
        code = EXIT_INTERRUPTED;
    pl_plan_close(run.plan);
    pl_free(run.settings);
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
