/* linear_cv_command.c: `parley cv`: checks, reads, cross-validates, trains with the chosen lambda, reports both. */
#include "linear/path/linear_cv.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "fit.h"
#include "progress.h"

typedef struct run {
    const command *command;
    const parley_settings *settings;
    operands inputs;
    pl_cv *cv;
    parley_summary summary;
    progress_view view;
    double started, read_seconds;
} run;

static parley_status check(const void *user, parley_error *error) {
    const run *run = user;
    const parley_settings *settings = run->settings;
    parley_status status = PARLEY_OK;
    if (*pl_linear_settings_of(settings)->fold_file && pl_setting_given(settings, "folds"))
        status = pl_fail(error, PARLEY_BAD_USAGE, "--fold-file already sets the number of folds; leave out --folds");
    if (status == PARLEY_OK)
        status = pl_cv_check(settings, error);
    return status == PARLEY_OK ? fit_check(settings, &run->inputs, error) : status;
}

static parley_status work(pl_engine *engine, void *user, parley_error *error) {
    run *run = user;
    const parley_settings *settings = run->settings;
    bool first = engine->here == 0; /* its results are reported */
    parley_data *data = NULL;
    parley_model *model = NULL;
    parley_summary summary = {0};
    pl_cv *cv = NULL;
    pl_lock *lock = NULL;
    parley_status status =
        read_data(&run->inputs, settings, engine, settings->quiet ? NULL : tell_error_output, &data, error);
    if (first)
        run->read_seconds = pl_now() - run->started;
    if (status == PARLEY_OK)
        status = fit_begin(settings, engine->rank == 0, &lock, error);
    if (status == PARLEY_OK)
        status = pl_cv_rank(engine, data, settings, first ? fit_tell : NULL, &run->view, &cv, &model, &summary, error);
    if (first)
        progress_clear(&run->view);
    if (status != PARLEY_OK && fit_interrupted())
        error->status = status = PARLEY_STOPPED;
    if (status == PARLEY_OK)
        status = fit_save(engine, save_model, model, settings->model, error);
    pl_lock_free(lock);
    if (first) {
        run->cv = cv;
        run->summary = summary;
    } else
        parley_cv_free(cv);
    parley_model_free(model);
    parley_data_free(data);
    return status;
}

static json_t *lambdas_json(const pl_cv *cv) {
    json_t *list = json_array();
    for (uint64_t k = 0; k < cv->count; k++) {
        json_t *point = json_object(), *values = json_array();
        for (unsigned f = 0; f < cv->folds; f++)
            json_append(&values, pl_json_real(cv->value[f * cv->count + k]));
        json_put(&point, "lambda", pl_json_real(cv->lambdas[k]));
        json_put(&point, "mean", pl_json_real(cv->mean[k]));
        json_put(&point, "standard_error", pl_json_real(cv->error[k]));
        json_put(&point, "folds", values);
        json_append(&list, point);
    }
    return list;
}

static json_t *ratios_json(const pl_cv *cv) {
    json_t *list = json_array();
    for (uint64_t r = 0; r < cv->ratios; r++) {
        const parley_cv_ratio *ratio = &cv->by_ratio[r];
        json_t *object = json_object();
        json_put(&object, "l1_ratio", pl_json_real(ratio->l1_ratio));
        json_put(&object, "best_lambda", pl_json_real(ratio->lambda));
        json_put(&object, "mean", pl_json_real(ratio->mean));
        json_put(&object, "standard_error", pl_json_real(ratio->error));
        json_append(&list, object);
    }
    return list;
}

static json_t *cv_json(const run *run) {
    const pl_cv *cv = run->cv;
    const parley_summary *summary = &run->summary;
    json_t *object = json_object();
    json_put(&object, "metric", json_string(cv->metric));
    json_put(&object, "folds", json_count(cv->folds));
    json_put(&object, "lambdas", lambdas_json(cv));
    json_put(&object, "best_lambda", pl_json_real(cv->lambdas[cv->best]));
    json_put(&object, "one_standard_error_lambda", pl_json_real(cv->lambdas[cv->one_se]));
    static const char *const places[] = {"inside", "level", "smallest", "largest", "empty", "single"};
    json_put(&object, "best_is", json_string(places[cv->place]));
    json_put(&object, "extensions", json_count(cv->extensions));
    json_put(&object, "ties", json_count(cv->ties));
    if (cv->suggestion)
        json_put(&object, "left_out_suggestion", json_string(cv->suggestion));
    json_put(&object, "l1_ratios", ratios_json(cv));
    json_put(&object, "status", json_string(parley_stop_text(summary->stop)));
    json_put(&object, "preset", json_string(summary->preset));
    json_problem(&object, summary);
    json_certificate(&object, summary);
    if (summary->suggestion)
        json_put(&object, "suggestion", json_suggestion(summary));
    json_put(&object, "seconds", pl_json_real(pl_now() - run->started));
    json_put(&object, "model", json_string(run->settings->model));
    return object;
}

/* Says whether lambdas were added, and whether the best one is at an end. */
static void print_grid(FILE *file, const pl_cv *cv) {
    static const char *const notes[] = {
        [PARLEY_CV_LEVEL] = "is at an end, but over the last decade there the metric hardly changes",
        [PARLEY_CV_SMALLEST] = "is the smallest that was tried; smaller ones may be better",
        [PARLEY_CV_LARGEST] = "is the largest that was tried; larger ones may be better",
        [PARLEY_CV_EMPTY] = "is the largest, at which all coefficients are 0: the columns do not help to predict",
        [PARLEY_CV_SINGLE] = NULL};
    char extended[80] = "";
    if (cv->extensions > 0)
        snprintf(extended, sizeof extended, "extended %u time%s, now from %.6g to %.6g", cv->extensions,
                 cv->extensions == 1 ? "" : "s", cv->lambdas[0], cv->lambdas[cv->count - 1]);
    const char *note = cv->suggestion ? NULL : notes[cv->place];
    if (cv->suggestion)
        print_field(file, "warning", "lambdas below %.6g did not reach the gap and were left out; try %s",
                    cv->lambdas[cv->count - 1], cv->suggestion);
    if (*extended)
        print_field(file, "lambdas", "%s", extended);
    if (cv->ties > 0)
        print_field(file, "ties", "%llu other%s the best %s; the largest lambda whose model is not constant is taken",
                    (unsigned long long)cv->ties, cv->ties == 1 ? " lambda has" : " lambdas have", cv->metric);
    if (note)
        print_field(file, cv->place == PARLEY_CV_LEVEL ? "note" : "warning", "the best lambda, %.6g, %s",
                    cv->lambdas[cv->best], note);
}

static void print_ratios(FILE *file, const pl_cv *cv) {
    fprintf(file, "%12s %12s %14s %14s\n", "l1-ratio", "best lambda", cv->metric, "standard error");
    for (uint64_t r = 0; r < cv->ratios; r++) {
        const parley_cv_ratio *ratio = &cv->by_ratio[r];
        fprintf(file, "%12.6g %12.6g %14.8g %14.4g%s\n", ratio->l1_ratio, ratio->lambda, ratio->mean, ratio->error,
                r == cv->best_ratio ? "  best" : "");
    }
}

static void print_cv(const run *run) {
    FILE *file = strcmp(run->settings->log, "-") == 0 ? stderr : stdout;
    const pl_cv *cv = run->cv;
    const parley_summary *summary = &run->summary;
    fprintf(file, "%12s %14s %14s\n", "lambda", cv->metric, "standard error");
    for (uint64_t k = 0; k < cv->count; k++)
        fprintf(file, "%12.6g %14.8g %14.4g%s%s\n", cv->lambdas[k], cv->mean[k], cv->error[k],
                k == cv->best ? "  best" : "", k == cv->one_se ? "  1se" : "");
    if (cv->ratios > 1) {
        print_ratios(file, cv);
        print_field(file, "l1-ratio", "%.6g", cv->by_ratio[cv->best_ratio].l1_ratio);
    }
    print_grid(file, cv);
    print_field(file, "chosen", "lambda %.6g: %s %.6g +- %.2g over %u folds", cv->lambdas[cv->chosen], cv->metric,
                cv->mean[cv->chosen], cv->error[cv->chosen], cv->folds);
    print_field(file, "objective", "%.10g", summary->objective);
    print_field(file, "gap", "%.3g, %.3g of the objective at w = 0", summary->gap, summary->relative_gap);
    print_suggestion(file, summary);
    print_field(file, "seconds", "%.3f in all, %.3f reading", pl_now() - run->started, run->read_seconds);
    print_field(file, "model", "%s", run->settings->model);
}

/* Whether something ended before its gap was reached. */
static int exit_code(const void *user) {
    const run *run = user;
    if (run->summary.stop == PARLEY_INTERRUPTED)
        return EXIT_INTERRUPTED;
    return run->summary.stop != PARLEY_CONVERGED || run->cv->suggestion ? EXIT_EARLY : EXIT_DONE;
}

static int report(const void *user) {
    const run *run = user;
    if (run->settings->json) {
        int printed = json_print(run->command, cv_json(run));
        return printed == EXIT_DONE ? exit_code(run) : printed;
    }
    print_cv(run);
    return exit_code(run);
}

static int cv_run(const arguments *arguments) {
    run run = {.command = arguments->command,
               .settings = &arguments->settings,
               .inputs = {arguments->operands, arguments->count},
               .started = pl_now()};
    progress_open(&run.view, run.settings);
    int code = fit_run(&(fit){arguments->command, run.settings, check, work, report, exit_code, &run});
    parley_cv_free(run.cv);
    return code;
}

const command cv_command = {
    .name = "cv",
    .operands = "DATA...",
    .least = 1,
    .most = UINT_MAX,
    .options = PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_CV,
    .summary = "choose lambda by cross-validation, then train",
    .details =
        "For each fold, trains the path of `parley path` on all other rows and measures --metric on the fold. Then "
        "trains "
        "a model on all rows with the lambda that was chosen. In one process folds run in parallel, each on one thread "
        "with a copy of its rows; several ranks train each fold together. If the best lambda is the smallest or the "
        "largest, up to three times lambdas are added there, unless "
        "--lambda-list or --lambda-ratio is given. Prints the mean and standard error of the metric for each lambda.",
    .run = cv_run,
};
