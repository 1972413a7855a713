/* linear_stream_command.c: `parley train --preset online`: a stream is not read in advance, but learnt as it
 * arrives. */
#include <signal.h>

#include "base/clock.h"
#include "engine/launched.h"
#include "fit.h"
#include "guard.h"
#include "linear/stream/linear_stream.h"
#include "progress.h"

static parley_status check(const parley_settings *settings, const operands *inputs, parley_error *error) {
    parley_status status = pl_train_check(settings, error);
    if (status == PARLEY_OK)
        status = fit_check(settings, inputs, error);
    if (status == PARLEY_OK && pl_launched_ranks() > 1)
        status = pl_fail(error, PARLEY_BAD_USAGE, "--preset online runs in one process, but there are %d",
                         pl_launched_ranks());
    if (status == PARLEY_OK && inputs->count > 1)
        status = pl_fail(error, PARLEY_BAD_USAGE, "preset %s reads one stream; give only one DATA", settings->preset);
    return status;
}

static parley_status learn(const parley_settings *settings, const char *path, parley_summary *summary,
                           parley_error *error) {
    progress_view view;
    parley_model *model = NULL;
    progress_open(&view, settings);
    pl_lock *lock;
    parley_status status = fit_begin(settings, true, &lock, error);
    if (status == PARLEY_OK)
        status = parley_train_stream(path, settings, fit_tell, &view, &model, summary, error);
    if (status == PARLEY_OK)
        status = save_or_keep(save_model, model, settings->model, error);
    pl_lock_free(lock);
    parley_model_free(model);
    return status;
}

static void print_stream(const parley_summary *summary, const parley_settings *settings, double started) {
    bool passed = summary->stop == PARLEY_PASSED;
    print_field(stdout, "status", "%s after %llu rows, %.4g passes", passed ? "done" : parley_stop_text(summary->stop),
                (unsigned long long)summary->rows, summary->epochs);
    print_field(stdout, "average loss", "%.10g, of predictions made before learning each row",
                parley_summary_fact(summary, "progressive_loss")->number);
    print_field(stdout, "gap", "none: a stream has no certificate");
    print_field(stdout, "seconds", "%.3f in all", pl_now() - started);
    print_field(stdout, "model", "%s", settings->model);
}

int stream_run(const arguments *arguments) {
    const parley_settings *settings = &arguments->settings;
    operands inputs = {arguments->operands, arguments->count};
    parley_summary summary;
    parley_error error;
    double started = pl_now();
    signal(SIGPIPE, SIG_IGN);
    parley_status status = check(settings, &inputs, &error);
    if (status == PARLEY_OK) {
        guard_start(settings->deadline); /* on another machine, it ends this process when the launcher is gone */
        pl_launched_joined();
        status = learn(settings, inputs.words[0], &summary, &error);
    }
    signal(SIGPIPE, SIG_DFL);
    if (status != PARLEY_OK)
        return fail(arguments->command, &error);
    bool interrupted = summary.stop == PARLEY_INTERRUPTED;
    if (interrupted)
        fprintf(stderr, "interrupted: the best model so far is in %s\n", settings->model);
    int code = EXIT_DONE;
    if (settings->json)
        code = json_print(arguments->command, json_summary(&summary, settings, 0.0, pl_now() - started));
    else
        print_stream(&summary, settings, started);
    return code == EXIT_DONE && interrupted ? EXIT_INTERRUPTED : code;
}
