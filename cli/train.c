/* train.c: `parley train`: check, read, train, save, report. */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include "train/train.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli.h"
#include "engine/collective.h"
#include "engine/launched.h"
#include "guard.h"
#include "progress.h"
#include "train/checkpoint.h"
#include "train/linear_stream.h"

static volatile sig_atomic_t interrupted;

typedef struct run {
    const command *command;
    const parley_settings *settings;
    operands inputs;
    pl_engine *engine;
    parley_data *data;
    parley_model *model;
    parley_summary summary;
    progress_view view;
    double started, read_seconds;
} run;

/* The first signal asks the run to stop at its round; the second finds the default and kills. */
static void on_signal(int number) {
    static const char text[] = "\nstopping when this round ends; once more stops at once, without a model\n";
    interrupted = 1;
    ssize_t written = number == SIGINT ? write(STDERR_FILENO, text, sizeof text - 1) : 0;
    (void)written;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

bool fit_interrupted(void) { return interrupted != 0; }

int fit_tell(void *view, const parley_progress *progress, const char *message) {
    (void)progress;
    if (message && view)
        progress_message(view, message);
    return interrupted;
}

void fit_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL); /* a closed terminal is no reason to lose the model */
}

static int on_progress(void *user, const parley_progress *progress, const char *message) {
    run *run = user;
    if (message)
        progress_message(&run->view, message);
    else if (!pl_streams(run->settings))
        progress_round(&run->view, progress);
    return interrupted;
}

parley_status fit_check(const parley_settings *settings, const operands *data, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (settings->json && strcmp(settings->log, "-") == 0)
        status = pl_fail(error, PARLEY_BAD_USAGE, "--json and --log - would both write to standard output");
    if (status == PARLEY_OK && strcmp(settings->model, "-") == 0)
        status = pl_fail(error, PARLEY_BAD_USAGE, "--model -: a model can only be written to a file");
    if (status == PARLEY_OK)
        status = check_writable(settings->model, error);
    if (status == PARLEY_OK && *settings->log && strcmp(settings->log, "-") != 0)
        status = check_writable(settings->log, error);
    if (status == PARLEY_OK)
        status = pl_checkpoint_look(settings->checkpoint, settings->resume, error);
    const char *inputs[] = {settings->weights, settings->replay}, *outputs[] = {settings->model, settings->log};
    for (unsigned i = 0; i < 2 * data->count && status == PARLEY_OK; i++)
        status = check_different(data->words[i / 2], outputs[i % 2], error);
    if (status == PARLEY_OK && *settings->start) /* which is read whole, and may be replaced */
        status = check_different(settings->start, settings->log, error);
    if (status == PARLEY_OK && *settings->validation)
        status = check_different(settings->validation, settings->model, error);
    for (unsigned i = 0; i < 4 && status == PARLEY_OK; i++)
        status = check_different(inputs[i / 2], outputs[i % 2], error);
    return status == PARLEY_OK ? check_different(settings->model, settings->log, error) : status;
}

parley_status fit_open(const parley_settings *settings, pl_engine **out, parley_error *error) {
    guard_start(settings->deadline);
    return pl_engine_open(settings, out, error);
}

parley_status fit_save(pl_engine *engine, parley_status (*save)(const void *run, parley_error *error), const void *run,
                       parley_error *error) {
    parley_status status = engine->rank == 0 ? save(run, error) : PARLEY_OK;
    return status == PARLEY_OK ? pl_barrier(engine, error) : status;
}

int fit_end(const command *command, pl_engine *engine, parley_status status, parley_error *error,
            int (*report)(const void *run), int (*code)(const void *run), const void *run) {
    bool first = !engine || engine->rank == 0;
    if (status != PARLEY_OK && engine)
        engine->type->fail(engine, error);
    int exit_code = status == PARLEY_OK               ? (first ? report : code)(run)
                    : !engine                         ? fail(command, error)
                    : engine->rank == engine->speaker ? fail_aloud(command, error)
                                                      : fail_code(error);
    fflush(NULL);
    pl_engine_close(engine);
    guard_ending(exit_code);
    return exit_code;
}

/* A stream is not read first: it is learnt as it comes. */
static parley_status work_stream(run *run, parley_error *error) {
    if (pl_launched_ranks() > 1)
        return pl_fail(error, PARLEY_BAD_USAGE, "--preset online learns in one process, and there are %d",
                       pl_launched_ranks());
    if (run->inputs.count > 1)
        return pl_fail(error, PARLEY_BAD_USAGE, "preset %s reads one stream: DATA can be given once",
                       run->settings->preset);
    fit_catch_signals();
    parley_status status =
        parley_train_stream(run->inputs.words[0], run->settings, on_progress, run, &run->model, &run->summary, error);
    return status == PARLEY_OK ? parley_model_save(run->model, run->settings->model, error) : status;
}

static parley_status save(const void *user, parley_error *error) {
    const run *run = user;
    return parley_model_save(run->model, run->settings->model, error);
}

static parley_status work(run *run, parley_error *error) {
    const parley_settings *settings = run->settings;
    parley_status status = pl_train_check(settings, error);
    if (status == PARLEY_OK)
        status = fit_check(settings, &run->inputs, error);
    if (status != PARLEY_OK)
        return status;
    if (pl_streams(settings))
        return work_stream(run, error);
    status = fit_open(settings, &run->engine, error);
    if (status != PARLEY_OK)
        return status;
    status =
        read_data(&run->inputs, settings, run->engine, settings->quiet ? NULL : tell_error_output, &run->data, error);
    run->read_seconds = pl_now() - run->started;
    if (status != PARLEY_OK)
        return status;
    fit_catch_signals();
    status = pl_train_rank(run->engine, run->data, settings, on_progress, run, &run->model, &run->summary, error);
    progress_close(&run->view);
    return status == PARLEY_OK ? fit_save(run->engine, save, run, error) : status;
}

static json_t *summary_json(const run *run) {
    const parley_summary *summary = &run->summary;
    json_t *object = json_object();
    json_put(&object, "status", json_string(parley_stop_text(summary->stop)));
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
    print_field(stdout, "average loss", "%.10g, of predictions made before rows were learnt",
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
        print_field(file, "gap", "none: without a penalty there is no dual problem");
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
    bool limit_asked_for = run->view.last.target == 0 || pl_streams(run->settings); /* a replay takes it from its log */
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

int train_run(const arguments *arguments) {
    run run = {.command = arguments->command,
               .settings = &arguments->settings,
               .inputs = {arguments->operands, arguments->count},
               .started = pl_now()};
    parley_error error;
    progress_open(&run.view, run.settings);
    signal(SIGPIPE, SIG_IGN); /* whoever reads our progress may go away; the model must still be written */
    parley_status status = work(&run, &error);
    signal(SIGPIPE, SIG_DFL);
    int code = fit_end(run.command, run.engine, status, &error, report, exit_code, &run);
    parley_model_free(run.model);
    parley_data_free(run.data);
    return code;
}
