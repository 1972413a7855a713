/* linear_path_command.c: `parley path`: checks, reads, computes the path, saves, prints a line for each lambda. */
#include "linear/path/linear_path.h"

#include <inttypes.h>
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
    pl_path *path;
    progress_view view;
    double started, read_seconds;
} run;

static parley_status check(const void *user, parley_error *error) {
    const run *run = user;
    parley_status status = pl_path_check(run->settings, error);
    return status == PARLEY_OK ? fit_check(run->settings, &run->inputs, error) : status;
}

static parley_status save(const void *path, const char *file, parley_error *error) {
    return parley_path_save(path, file, error);
}

static parley_status work(pl_engine *engine, void *user, parley_error *error) {
    run *run = user;
    const parley_settings *settings = run->settings;
    const pl_path_plan plan = {.all = pl_linear_settings_of(settings)->full_path};
    bool first = engine->here == 0; /* its results are reported */
    parley_data *data = NULL;
    pl_path *path = NULL;
    pl_lock *lock = NULL;
    parley_status status =
        read_data(&run->inputs, settings, engine, settings->quiet ? NULL : tell_error_output, &data, error);
    if (first)
        run->read_seconds = pl_now() - run->started;
    if (status == PARLEY_OK)
        status = fit_begin(settings, engine->rank == 0, &lock, error);
    if (status == PARLEY_OK)
        status = pl_path_rank(engine, data, settings, &plan, first ? fit_tell : NULL, &run->view, &path, error);
    if (first)
        progress_clear(&run->view);
    if (status == PARLEY_OK)
        status = fit_save(engine, save, path, settings->model, error);
    pl_lock_free(lock);
    if (first)
        run->path = path;
    else
        parley_path_free(path);
    parley_data_free(data);
    return status;
}

static json_t *point_json(const pl_point *point, bool measured) {
    json_t *object = json_object();
    json_put(&object, "lambda", pl_json_real(point->lambda));
    json_put(&object, "nonzeros", json_count(point->nonzeros));
    json_put(&object, "objective", pl_json_real(point->objective));
    json_put(&object, "dual", pl_json_real(point->dual));
    json_put(&object, "gap", pl_json_real(point->gap));
    json_put(&object, "relative_gap", pl_json_real(point->relative_gap));
    json_put(&object, "explained", pl_json_real(point->explained));
    json_put(&object, "rounds", json_count(point->rounds));
    json_put(&object, "status", json_string(parley_stop_text(point->stop)));
    if (measured)
        json_put(&object, "metric", pl_json_real(point->metric));
    return object;
}

static json_t *path_json(const run *run) {
    const pl_path *path = run->path;
    const parley_summary *summary = &path->summary;
    json_t *object = json_object(), *points = json_array();
    for (uint64_t k = 0; k < path->count; k++)
        json_append(&points, point_json(&path->points[k], path->metric != NULL));
    json_put(&object, "preset", json_string(summary->preset));
    json_put(&object, "loss", json_string(parley_summary_fact(summary, "loss")->text));
    json_put(&object, "l1_ratio", pl_json_real(parley_summary_fact(summary, "l1_ratio")->number));
    json_put(&object, "intercept", json_string(parley_summary_fact(summary, "intercept")->text));
    json_put(&object, "rows", json_count(summary->rows));
    json_put(&object, "columns", json_count(summary->columns));
    json_put(&object, "nonzeros", json_count(summary->nonzeros));
    json_put(&object, "metric", path->metric ? json_string(path->metric) : json_null());
    json_put(&object, "ended_early", json_boolean(path->ended));
    if (summary->suggestion)
        json_put(&object, "suggestion", json_suggestion(summary));
    json_put(&object, "epochs", pl_json_real(summary->epochs));
    json_put(&object, "path", points);
    json_put(&object, "seconds", json_seconds(summary, run->read_seconds, pl_now() - run->started));
    json_put(&object, "model", json_string(run->settings->model));
    return object;
}

static void print_path(const run *run) {
    FILE *file = strcmp(run->settings->log, "-") == 0 ? stderr : stdout;
    const pl_path *path = run->path;
    fprintf(file, "%12s %9s %14s %9s %9s %7s%s%s\n", "lambda", "nonzeros", "objective", "gap", "explained", "rounds",
            path->metric ? "  " : "", path->metric ? path->metric : "");
    for (uint64_t k = 0; k < path->count; k++) {
        const pl_point *point = &path->points[k];
        fprintf(file, "%12.6g %9" PRIu64 " %14.8g %9.1e %9.5f %7" PRIu64, point->lambda, point->nonzeros,
                point->objective, point->gap, point->explained, point->rounds);
        if (path->metric)
            fprintf(file, "  %.6g", point->metric);
        fputc('\n', file);
    }
    if (path->ended)
        print_field(file, "ended",
                    path->stuck ? "the last lambdas did not reach the gap; --full-path continues"
                                : "the share explained no longer grows; --full-path continues");
    print_suggestion(file, &path->summary);
    print_field(file, "seconds", "%.3f in all, %.3f reading", pl_now() - run->started, run->read_seconds);
    print_field(file, "model", "%s", run->settings->model);
}

/* Whether a lambda ended before its gap was reached. */
static int exit_code(const void *user) {
    const run *run = user;
    if (run->path->summary.stop == PARLEY_INTERRUPTED)
        return EXIT_INTERRUPTED;
    for (uint64_t k = 0; k < run->path->count; k++)
        if (run->path->points[k].stop != PARLEY_CONVERGED && run->settings->gap > 0)
            return EXIT_EARLY;
    return EXIT_DONE;
}

static int report(const void *user) {
    const run *run = user;
    if (run->settings->json) {
        int printed = json_print(run->command, path_json(run));
        return printed == EXIT_DONE ? exit_code(run) : printed;
    }
    print_path(run);
    return exit_code(run);
}

static int path_run(const arguments *arguments) {
    run run = {.command = arguments->command,
               .settings = &arguments->settings,
               .inputs = {arguments->operands, arguments->count},
               .started = pl_now()};
    progress_open(&run.view, run.settings);
    int code = fit_run(&(fit){run.command, run.settings, check, work, report, exit_code, &run});
    parley_path_free(run.path);
    return code;
}

const command path_command = {
    .name = "path",
    .operands = "DATA...",
    .least = 1,
    .most = UINT_MAX,
    .options = PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_PATH,
    .summary = "train models for a decreasing sequence of lambdas",
    .details =
        "Trains a model for each of many lambdas, downwards from the smallest at which all coefficients are 0. Each "
        "starts "
        "from the solution before it. Writes all models to one file. --gap is 1e-6 and --rounds 2000 here unless they "
        "are given. Prints a "
        "line "
        "for each model: lambda, number of nonzero coefficients, objective, gap, share of the deviance explained, "
        "rounds, "
        "and the metric if there are validation rows.",
    .run = path_run,
};
