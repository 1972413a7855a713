/* fit.c: what `train`, `path` and `cv` share: checks, signals, and running a command on the ranks of an engine, which
 * ends with a report and an exit code. */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include "fit.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/stop.h"
#include "engine/agree.h"
#include "engine/launched.h"
#include "guard.h"
#include "progress.h"
#include "train/checkpoint.h"

static bool silent; /* another process of the run prints */

/* The first signal asks the run to stop after the current round, or in a second; the second one has the default effect
 * and ends the process. */
static void on_signal(int number) {
    static const char text[] = "\nstopping after this round; interrupt again to stop at once, without a model\n";
    pl_stop_ask();
    ssize_t written = number == SIGINT && !silent ? write(STDERR_FILENO, text, sizeof text - 1) : 0;
    (void)written;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

bool fit_interrupted(void) { return pl_stop_asked(); }

int fit_tell(void *view, const parley_progress *progress, const char *message) {
    progress_view *lines = view;
    if (message && view)
        progress_message(lines, message);
    else if (view && lines->terminal) /* elsewhere a line for each problem would be too much */
        progress_round(lines, progress);
    return pl_stop_asked();
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    silent = pl_launched_rank() > 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL); /* closing the terminal should not lose the model */
}

/* Are the outputs in use by another run? Looking before data are read saves time; locks decide later. */
static parley_status check_locks(const parley_settings *settings, parley_error *error) {
    const char *outputs[] = {settings->model, settings->log, settings->checkpoint};
    char job[PL_TEXT];
    parley_status status = PARLEY_OK;
    pl_launched_job(job, sizeof job);
    for (unsigned i = 0; i < 3 && status == PARLEY_OK; i++)
        status = pl_lock_look(outputs[i], job, error);
    return status;
}

parley_status fit_check(const parley_settings *settings, const operands *data, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (settings->json && strcmp(settings->log, "-") == 0)
        status = pl_fail(error, PARLEY_BAD_USAGE,
                         "--json and --log - would both write to standard output; give a file to --log");
    if (status == PARLEY_OK && settings->explain && settings->quiet && !settings->json)
        status = pl_fail(error, PARLEY_BAD_USAGE,
                         "--explain has no effect with --quiet; leave one of them out, or add --json");
    if (status == PARLEY_OK && strcmp(settings->model, "-") == 0)
        status = pl_fail(error, PARLEY_BAD_USAGE, "--model -: a model can be written only to a file; give its name");
    if (status == PARLEY_OK)
        status = check_writable(settings->model, error);
    if (status == PARLEY_OK && *settings->log && strcmp(settings->log, "-") != 0)
        status = check_writable(settings->log, error);
    if (status == PARLEY_OK && *settings->trace)
        status = check_writable(settings->trace, error);
    if (status == PARLEY_OK)
        status = check_locks(settings, error);
    if (status == PARLEY_OK)
        status = pl_checkpoint_look(settings->checkpoint, settings->resume, error);
    const char *inputs[] = {settings->weights, settings->replay},
               *outputs[] = {settings->model, settings->log, settings->trace};
    for (unsigned i = 0; i < 3 * data->count && status == PARLEY_OK; i++)
        status = check_different(data->words[i / 3], outputs[i % 3], error);
    if (status == PARLEY_OK && *settings->start) /* it is read completely before, and may be replaced */
        status = check_different(settings->start, settings->log, error);
    if (status == PARLEY_OK && *settings->validation)
        status = check_different(settings->validation, settings->model, error);
    for (unsigned i = 0; i < 6 && status == PARLEY_OK; i++)
        status = check_different(inputs[i / 3], outputs[i % 3], error);
    for (unsigned i = 0; i < 3 && status == PARLEY_OK; i++) /* model and log, log and trace, trace and model */
        status = check_different(outputs[i], outputs[(i + 1) % 3], error);
    return status;
}

parley_status fit_begin(const parley_settings *settings, bool writes, pl_lock **lock, parley_error *error) {
    char job[PL_TEXT];
    *lock = NULL;
    catch_signals();
    if (!writes)
        return PARLEY_OK;
    pl_launched_job(job, sizeof job);
    return pl_lock_take(settings->model, job, settings->deadline, lock, error);
}

parley_status fit_save(pl_engine *engine, saver save, const void *result, const char *path, parley_error *error) {
    parley_status status = engine->rank == 0 ? save_or_keep(save, result, path, error) : PARLEY_OK;
    return pl_agree_status(engine, status, 0, NULL, error);
}

/* A running fit, and the exit code of this process. */
typedef struct running {
    const fit *fit;
    bool reported;
    int code;
} running;

static parley_status run_work(pl_engine *engine, void *context, parley_error *error) {
    const running *running = context;
    return running->fit->work(engine, running->fit->run, error);
}

/* Rank 0 reports success, and the speaker reports a failure. Other ranks wait for it when they close the engine. */
static void report_end(pl_engine *engine, void *context, const parley_error *failure) {
    running *running = context;
    const fit *fit = running->fit;
    if (engine->here > 0)
        return; /* only the first rank of a process sets its exit code */
    signal(SIGPIPE, SIG_DFL);
    running->code = failure == NULL                   ? (engine->rank == 0 ? fit->report : fit->code)(fit->run)
                    : engine->rank == engine->speaker ? fail_aloud(fit->command, failure)
                                                      : fail_code(failure);
    running->reported = true;
    fflush(NULL);
}

int fit_run(const fit *fit) {
    running running = {.fit = fit};
    parley_error error;
    parley_status status = fit->check(fit->run, &error);
    if (status == PARLEY_OK) {
        guard_start(fit->settings->deadline);
        signal(SIGPIPE, SIG_IGN); /* the reader of our progress may go away, but the model must still be written */
        status = pl_launch(fit->settings, (pl_job){run_work, report_end, &running}, &error);
        signal(SIGPIPE, SIG_DFL);
    }
    if (!running.reported) /* the engine could not be opened, or ranks did not find each other */
        running.code = fail(fit->command, &error);
    fflush(NULL);
    guard_ending(running.code);
    return running.code;
}
