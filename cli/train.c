/* train.c: the commands that train a problem: check, read, train, save, report. */
#include "train/train.h"

#include <math.h>
#include <string.h>

#include "advise/cached_plan.h"
#include "base/clock.h"
#include "fit.h"
#include "progress.h"
#include "train/presets.h"
#include "view.h"

#define SHOWN 20 /* coefficients in the table of --inference */

typedef struct run {
    const command *command;
    const arguments *arguments;
    parley_settings *settings; /* `auto` may follow a plan */
    parley_model *certain;     /* the model, if its standard errors are to be shown */
    operands inputs;
    char machine[PL_MACHINE];
    parley_summary summary;
    progress_view view;
    double started, read_seconds;
    double virtual_seconds; /* of a simulated run, in all */
} run;

static double seconds_of(const run *run) {
    return run->summary.is_virtual ? run->virtual_seconds : pl_now() - run->started;
}

static int on_progress(void *user, const parley_progress *progress, const char *message) {
    run *run = user;
    if (message)
        progress_message(&run->view, message);
    else
        progress_round(&run->view, progress);
    return fit_interrupted();
}

static parley_status check(const void *user, parley_error *error) {
    const run *run = user;
    parley_status status = pl_train_check(run->settings, error);
    return status == PARLEY_OK ? fit_check(run->settings, &run->inputs, error) : status;
}

/* Where the method is left to auto, follows a plan that was made for these data on this machine. */
static parley_status follow_plan(run *run, const parley_data *data, parley_error *error) {
    char said[512];
    parley_status status = PARLEY_OK;
    if (run->inputs.count != 1 || !(run->command->options & PL_FOR_LINEAR_ONE))
        return status;
    status = pl_follow_cached_plan(data, run->inputs.words[0], run->machine, run->settings, said, sizeof said, error);
    if (status == PARLEY_OK && *said)
        progress_message(&run->view, said);
    return status;
}

static parley_status work(pl_engine *engine, void *user, parley_error *error) {
    run *run = user;
    const parley_settings *settings = run->settings;
    bool first = engine->here == 0; /* its results are reported */
    if (first && engine->rank != 0)
        run->view.quiet = true; /* only rank 0 prints */
    parley_data *data = NULL;
    parley_model *model = NULL;
    parley_summary summary = {0};
    pl_lock *lock = NULL;
    parley_status status =
        read_data(&run->inputs, settings, engine, settings->quiet ? NULL : tell_error_output, &data, error);
    if (first)
        run->read_seconds = engine->is_virtual ? pl_engine_now(engine) : pl_now() - run->started;
    if (status == PARLEY_OK && engine->ranks == 1)
        status = follow_plan(run, data, error);
    if (status == PARLEY_OK)
        status = fit_begin(settings, engine->rank == 0, &lock, error);
    if (status == PARLEY_OK)
        status = pl_train_rank(engine, data, settings, first ? on_progress : NULL, run, &model, &summary, error);
    if (first) {
        progress_close(&run->view);
        run->summary = summary;
        run->virtual_seconds = engine->is_virtual ? pl_engine_now(engine) : 0.0;
    }
    if (status == PARLEY_OK)
        status = fit_save(engine, save_model, model, settings->model, error);
    pl_lock_free(lock);
    if (status == PARLEY_OK && first && settings->inference) {
        run->certain = model;
        model = NULL;
    }
    parley_model_free(model);
    parley_data_free(data);
    return status;
}

json_t *json_summary(const parley_summary *summary, const parley_settings *settings, double read, double total) {
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
    json_put(&object, "epochs", pl_json_real(summary->epochs));
    json_certificate(&object, summary);
    if (settings->explain)
        json_put(&object, "explain", json_choices(summary));
    if (summary->suggestion)
        json_put(&object, "suggestion", json_suggestion(summary));
    if (summary->metric) {
        json_t *validation = json_object();
        json_put(&validation, "metric", json_string(summary->metric));
        json_put(&validation, "value", pl_json_real(summary->validation));
        json_put(&validation, "round", json_count(summary->validation_round));
        json_put(&object, "validation", validation);
    }
    if (summary->is_virtual)
        json_put(&object, "virtual", json_true());
    json_put(&object, "seconds", json_seconds(summary, read, total));
    json_put(&object, "bytes_sent", json_count(summary->bytes_sent));
    json_put(&object, "rank_bytes_sent", json_count(summary->rank_bytes_sent));
    json_put(&object, "peak_rss_bytes", json_count(pl_peak_bytes()));
    json_put(&object, "model", json_string(settings->model));
    return object;
}

static void print_summary(const run *run) {
    const parley_summary *summary = &run->summary;
    char earlier[80] = "";
    FILE *file = strcmp(run->settings->log, "-") == 0 ? stderr : stdout;
    if (summary->metric && summary->stop != PARLEY_CONVERGED && summary->validation_round < summary->rounds)
        snprintf(earlier, sizeof earlier, "; the model of round %llu is best on the validation rows",
                 (unsigned long long)summary->validation_round);
    print_field(file, "status", "%s after %llu round%s, %.4g epoch%s%s", ending_text(parley_stop_text(summary->stop)),
                (unsigned long long)summary->rounds, summary->rounds == 1 ? "" : "s", summary->epochs,
                summary->epochs == 1 ? "" : "s", earlier);
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
    print_suggestion(file, summary);
    print_field(file, "seconds", "%.3f in all, %.3f reading%s", seconds_of(run), run->read_seconds,
                summary->is_virtual ? ", on the virtual clock" : "");
    const parley_fact *speed = parley_summary_fact(summary, "rows_per_second");
    const parley_fact *accuracy = parley_summary_fact(summary, "accuracy");
    if (accuracy)
        print_field(file, "accuracy", "%.4g of the training rows", accuracy->number);
    if (speed && isfinite(speed->number))
        print_field(file, "speed", "%.0f rows per second", speed->number);
    print_field(file, "model", "%s", run->settings->model);
}

/* The first coefficients with their standard errors. */
static void print_certainty(const run *run) {
    view view;
    parley_error error;
    uint64_t count = run->certain->columns + (strcmp(pl_model_meta(run->certain, "intercept"), "none") != 0);
    pl_viewer *viewer = view_open(&view, run->arguments, VIEW_FIELDS, 10);
    parley_status status = run->certain->type->inference(run->certain, SHOWN, viewer, &error);
    view_close(&view, run->arguments, status, &error);
    if (status == PARLEY_OK && count > SHOWN)
        printf("%llu more: parley info %s --inference\n", (unsigned long long)count - SHOWN, run->settings->model);
}

static int exit_code(const void *user) {
    const run *run = user;
    bool limit_asked_for = run->view.last.target == 0; /* in a replay too */
    switch (run->summary.stop) {
    case PARLEY_CONVERGED:
    case PARLEY_VALIDATED:
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
    if (run->summary.stop == PARLEY_DIVERGED)
        fprintf(stderr,
                "diverged: the objective became infinite, so a smaller --rate is needed; the best model before "
                "that is in %s\n",
                run->settings->model);
    const parley_fact *constant = parley_summary_fact(&run->summary, "constant_objective");
    if (constant && run->summary.objective >= constant->number)
        fprintf(
            stderr,
            "warning: the objective, %.4g, is not below that of constant outputs, %.4g: the model has learnt nothing; "
            "try a smaller --rate, more --epochs or --standardise\n",
            run->summary.objective, constant->number);
    if (run->settings->json) {
        int printed =
            json_print(run->command, json_summary(&run->summary, run->settings, run->read_seconds, seconds_of(run)));
        return printed == EXIT_DONE ? exit_code(run) : printed;
    }
    print_summary(run);
    if (run->certain && strcmp(run->settings->log, "-") != 0) /* then standard output is the log */
        print_certainty(run);
    return exit_code(run);
}

int train_run(const arguments *arguments) {
    parley_error error;
    run run = {.command = arguments->command,
               .arguments = arguments,
               .inputs = {arguments->operands, arguments->count},
               .started = pl_now()};
    if (pl_stream_of(&arguments->settings))
        return stream_run(arguments);
    if (pl_settings_copy(&arguments->settings, &run.settings, &error) != PARLEY_OK)
        return fail(arguments->command, &error);
    pl_this_machine(run.settings, run.machine, sizeof run.machine);
    progress_open(&run.view, run.settings);
    int code = fit_run(&(fit){run.command, run.settings, check, work, report, exit_code, &run});
    parley_model_free(run.certain);
    parley_settings_free(run.settings);
    return code;
}
