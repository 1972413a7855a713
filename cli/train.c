/* train.c: `parley train`: check, read, train, save, report. */
#include "train/train.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "engine/launched.h"
#include "fit.h"
#include "progress.h"
#include "train/linear_stream.h"

typedef struct run {
    const command *command;
    const parley_settings *settings;
    operands inputs;
    parley_summary summary;
    progress_view view;
    double started, read_seconds;
} run;

static int on_progress(void *user, const parley_progress *progress, const char *message) {
    run *run = user;
    if (message)
        progress_message(&run->view, message);
    else if (!pl_streams(run->settings))
        progress_round(&run->view, progress);
    return fit_interrupted();
}

static parley_status check(const void *user, parley_error *error) {
    const run *run = user;
    parley_status status = pl_train_check(run->settings, error);
    return status == PARLEY_OK ? fit_check(run->settings, &run->inputs, error) : status;
}

/* A stream is not read in advance, but learnt as it arrives. */
static parley_status learn_stream(run *run, parley_error *error) {
    if (pl_launched_ranks() > 1)
        return pl_fail(error, PARLEY_BAD_USAGE, "--preset online runs in one process, but there are %d",
                       pl_launched_ranks());
    if (run->inputs.count > 1)
        return pl_fail(error, PARLEY_BAD_USAGE, "preset %s reads one stream; give only one DATA",
                       run->settings->preset);
    fit_catch_signals();
    parley_model *model = NULL;
    parley_status status =
        parley_train_stream(run->inputs.words[0], run->settings, on_progress, run, &model, &run->summary, error);
    if (status == PARLEY_OK)
        status = parley_model_save(model, run->settings->model, error);
    parley_model_free(model);
    return status;
}

/* What rank 0 saves. */
typedef struct result {
    const char *path;
    const parley_model *model;
} result;

static parley_status save(const void *user, parley_error *error) {
    const result *result = user;
    return parley_model_save(result->model, result->path, error);
}

static parley_status work(pl_engine *engine, void *user, parley_error *error) {
    run *run = user;
    const parley_settings *settings = run->settings;
    bool first = engine->here == 0; /* its results are reported */
    parley_data *data = NULL;
    parley_model *model = NULL;
    parley_summary summary = {0};
    parley_status status =
        read_data(&run->inputs, settings, engine, settings->quiet ? NULL : tell_error_output, &data, error);
    if (first)
        run->read_seconds = pl_now() - run->started;
    if (status == PARLEY_OK) {
        fit_catch_signals();
        status = pl_train_rank(engine, data, settings, first ? on_progress : NULL, run, &model, &summary, error);
    }
    if (first) {
        progress_close(&run->view);
        run->summary = summary;
    }
    if (status == PARLEY_OK)
        status = fit_save(engine, save, &(result){settings->model, model}, error);
    parley_model_free(model);
    parley_data_free(data);
    return status;
}

static json_t *summary_json(const run *run) {
    const parley_summary *summary = &run->summary;
    json_t *object = json_object();
    json_put(&object, "status", json_string(parley_stop_text(summary->stop)));
    json_put(&object, "problem", json_string(summary->problem));
    json_put(&object, "preset", json_string(summary->preset));
    json_put(&object, "local", json_string(summary->local));
    json_put(&object, "combine", json_string(summary->combine));
    json_put(&object, "exchange", json_string(summary->exchange));
    json_put(&object, "engine", json_string(summary->engine));
    json_problem(&object, summary);
    json_put(&object, "workers", json_count(summary->workers));
    json_put(&object, "lanes", json_count(summary->lanes));
    json_put(&object, "threads", json_count(summary->threads));
    json_put(&object, "ranks", json_count(summary->ranks));
    json_put(&object, "seed", json_count(summary->seed));
    json_put(&object, "rounds", json_count(summary->rounds));
    json_put(&object, "epochs", json_number(summary->epochs));
    json_certificate(&object, summary);
    if (summary->metric) {
        json_t *validation = json_object();
        json_put(&validation, "metric", json_string(summary->metric));
        json_put(&validation, "value", json_number(summary->validation));
        json_put(&validation, "round", json_count(summary->validation_round));
        json_put(&object, "validation", validation);
    }
    if (!isnan(summary->progressive_loss))
        json_put(&object, "progressive_loss", json_number(summary->progressive_loss));
    json_put(&object, "seconds", json_seconds(summary, run->read_seconds, run->started));
    json_put(&object, "bytes_sent", json_count(summary->bytes_sent));
    json_put(&object, "rank_bytes_sent", json_count(summary->rank_bytes_sent));
    json_put(&object, "peak_rss_bytes", json_count(pl_peak_bytes()));
    json_put(&object, "model", json_string(run->settings->model));
    return object;
}

static void print_stream(const run *run) {
    const parley_summary *summary = &run->summary;
    bool passed = summary->stop == PARLEY_PASSED;
    print_field(stdout, "status", "%s after %llu rows, %.4g passes", passed ? "done" : parley_stop_text(summary->stop),
                (unsigned long long)summary->rows, summary->epochs);
    print_field(stdout, "average loss", "%.10g, of predictions made before learning each row",
                summary->progressive_loss);
    print_field(stdout, "gap", "none: a stream has no certificate");
    print_field(stdout, "seconds", "%.3f in all", pl_now() - run->started);
    print_field(stdout, "model", "%s", run->settings->model);
}

static void print_summary(const run *run) {
    const parley_summary *summary = &run->summary;
    static const char *const ends[] = {"converged", "stopped by --rounds", "stopped by --seconds",
                                       "stalled",   "interrupted",         "stopped by --patience"};
    FILE *file = strcmp(run->settings->log, "-") == 0 ? stderr : stdout;
    print_field(file, "status", "%s after %llu round%s, %.4g epochs", ends[summary->stop],
                (unsigned long long)summary->rounds, summary->rounds == 1 ? "" : "s", summary->epochs);
    print_field(file, "objective", "%.10g", summary->objective);
    if (isnan(summary->gap))
        print_field(file, "gap", "none: there is no dual problem");
    else {
        print_field(file, "dual", "%.10g", summary->dual);
        print_field(file, "gap", "%.3g, %.3g of the objective at w = 0", summary->gap, summary->relative_gap);
    }
    if (summary->metric)
        print_field(file, "validation", "%s %.6g, in round %llu", summary->metric, summary->validation,
                    (unsigned long long)summary->validation_round);
    print_field(file, "seconds", "%.3f in all, %.3f reading", pl_now() - run->started, run->read_seconds);
    print_field(file, "model", "%s", run->settings->model);
}

static int exit_code(const void *user) {
    const run *run = user;
    bool limit_asked_for = run->view.last.target == 0 || pl_streams(run->settings); /* in a replay too */
    switch (run->summary.stop) {
    case PARLEY_CONVERGED:
    case PARLEY_PATIENCE:
    case PARLEY_PASSED: return EXIT_DONE;
    case PARLEY_INTERRUPTED: return EXIT_INTERRUPTED;
    default: return limit_asked_for ? EXIT_DONE : EXIT_EARLY;
    }
}

static int report(const void *user) {
    const run *run = user;
    if (run->summary.stop == PARLEY_INTERRUPTED)
        fprintf(stderr, "interrupted: the best model so far is in %s\n", run->settings->model);
    if (run->settings->json) {
        int printed = json_print(run->command, summary_json(run));
        return printed == EXIT_DONE ? exit_code(run) : printed;
    }
    if (isnan(run->summary.progressive_loss))
        print_summary(run);
    else
        print_stream(run);
    return exit_code(run);
}

static int stream_run(run *run) {
    parley_error error;
    signal(SIGPIPE, SIG_IGN);
    parley_status status = check(run, &error);
    if (status == PARLEY_OK)
        status = learn_stream(run, &error);
    signal(SIGPIPE, SIG_DFL);
    return status == PARLEY_OK ? report(run) : fail(run->command, &error);
}

int train_run(const arguments *arguments) {
    run run = {.command = arguments->command,
               .settings = &arguments->settings,
               .inputs = {arguments->operands, arguments->count},
               .started = pl_now()};
    progress_open(&run.view, run.settings);
    return pl_streams(run.settings) ? stream_run(&run)
                                    : fit_run(&(fit){run.command, run.settings, check, work, report, exit_code, &run});
}
