/* run_messages.c: reports to the user: the first lines, progress, warnings and the summary. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/callback.h"
#include "base/json_memory.h"
#include "method/json_viewer.h"
#include "train/run.h"

#define LOGGED_ENTRIES 12 /* of a topic */

double pl_validation_now(const pl_run *run) {
    const pl_validation *validation = &run->validation;
    return validation->rows && validation->latest_round == run->round ? validation->latest : NAN;
}

double pl_estimate_now(const pl_run *run) {
    bool estimated = !run->evaluated && run->pace.trusted && run->pace.estimate >= 0 && run->round > 0;
    return estimated ? run->pace.estimate / run->best.scale : NAN;
}

void pl_progress(const pl_run *run, parley_progress *progress) {
    *progress = (parley_progress){.round = run->round,
                                  .epochs = run->summary.epochs,
                                  .seconds = pl_engine_now(run->engine) - run->began,
                                  .objective = run->best.objective,
                                  .dual = run->best.exists ? run->best.dual : NAN,
                                  .gap = pl_gap(&run->best),
                                  .relative_gap = pl_relative_gap(&run->best),
                                  .estimate = pl_estimate_now(run),
                                  .target = run->target,
                                  .metric = run->validation.rows ? run->validation.score->name : NULL,
                                  .validation = pl_validation_now(run),
                                  .part = run->told.part,
                                  .parts = run->told.parts};
}

void pl_say(pl_run *run, const char *format, ...) {
    char text[512];
    parley_progress progress;
    if (!run->callback || run->engine->rank != 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pl_progress(run, &progress);
    pl_call_back(run->callback, run->user, &progress, text);
}

void pl_give_up_log(pl_run *run, const parley_error *why) {
    pl_say(run, "warning: %s; training continues without it", why->sentence);
    pl_log_close(run->log);
    run->log = NULL;
}

void pl_give_up_spans(pl_run *run, const parley_error *why) {
    pl_say(run, "warning: %s; training continues without it", why->sentence);
    pl_span_file_close(run->span_file);
    run->span_file = NULL;
}

/* What eval would report on the validation rows; NULL if there are none, or it cannot be had. */
static json_t *shown_scores(pl_run *run, const parley_model *model) {
    pl_json_viewer viewer;
    if (!run->validation.rows)
        return NULL;
    pl_json_viewer_open(&viewer);
    parley_status status = pl_score_show(run->engine, model, run->validation.rows, &viewer.base, NULL);
    json_t *scores = pl_json_viewer_close(&viewer);
    if (status == PARLEY_OK)
        return scores;
    json_decref(scores);
    return NULL;
}

void pl_log_shown(pl_run *run, const parley_model *model) {
    pl_json_viewer viewer;
    parley_error lost;
    pl_json_watch();
    json_t *scores = shown_scores(run, model);
    pl_json_viewer_open(&viewer);
    parley_status status = model->type->dump(model, LOGGED_ENTRIES, &viewer.base, &lost);
    json_t *shown = pl_json_viewer_close(&viewer);
    if (scores)
        json_object_set_new(shown, "validation", scores);
    if (status == PARLEY_OK)
        status = pl_log_model(run->log, shown, &lost);
    else
        json_decref(shown);
    if (status != PARLEY_OK)
        pl_give_up_log(run, &lost);
}

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

static void describe_method(pl_run *run) {
    const pl_method *method = &run->method;
    const parley_settings *settings = run->settings;
    pl_say(run, "method: %s%s = %s x %s x %s, %llu worker%s, %llu lane%s, %u thread%s",
           strcmp(settings->preset, "auto") == 0 ? "auto chose " : "", method->preset, method->local->name,
           method->combine->name, method->exchange->name, (unsigned long long)settings->workers,
           plural(settings->workers), (unsigned long long)settings->lanes, plural(settings->lanes),
           run->engine->threads, plural(run->engine->threads));
}

static const char *target_name(const pl_run *run) {
    return run->problem->facts & PL_FACT_DUAL ? "relative gap"
           : run->type->by_change             ? "relative change of the objective"
                                              : "relative gradient norm, because there is no dual problem,";
}

/* Says how data larger than memory are read, and whether their rows have another order than in memory. */
static void describe_blocks(pl_run *run) {
    const parley_settings *settings = run->settings;
    const char *why = run->rows.data->large ? "the data are larger than memory: " : "";
    bool whole = settings->local_epochs >= 2;
    if (settings->block > 0 && pl_local_reads(run->method.local, "block"))
        pl_say(run,
               "blocks: %srows are visited in blocks of %.6g MB, %.0f pass%s at a time; the order of rows, and so the "
               "model's last digits, are those of --block %.6g with any memory",
               why, settings->block, whole ? floor(settings->local_epochs) : 1.0, whole ? "es" : "", settings->block);
    else if (run->rows.data->large)
        pl_say(run, "blocks: %severy pass reads them in order, with the same result as in memory", why);
}

void pl_describe_run(pl_run *run, uint64_t bytes) {
    const pl_method *method = &run->method;
    const parley_data *data = run->rows.data;
    if (run->round > 0) {
        pl_say(run, "method: %s continues as %s x %s x %s", method->preset, method->local->name, method->combine->name,
               method->exchange->name);
        pl_tell_choices(run);
        return;
    }
    pl_description description = {.many = run->many};
    run->type->describe(run->problem, run->settings, &description);
    pl_say(run, "data: %llu rows, %llu columns, %llu non-zeros%s%s", (unsigned long long)pl_all_rows(data),
           (unsigned long long)data->x.columns, (unsigned long long)pl_all_nonzeros(data),
           !pl_is_wide(data)       ? ""
           : data->wide_columns[0] ? ", in 64 bits because of column "
                                   : ", in 64 bits",
           pl_is_wide(data) ? data->wide_columns : "");
    for (unsigned i = 0; i < description.lines; i++)
        pl_say(run, "%s", description.line[i]);
    describe_method(run);
    pl_tell_choices(run);
    pl_say(run, "memory: training needs %.1f MB beside the data's %.1f MB", (double)bytes / 1e6,
           (double)pl_data_bytes(data) / 1e6);
    describe_blocks(run);
    if (*run->settings->replay)
        pl_say(run, "replay: %s, %llu round%s%s", run->settings->replay, (unsigned long long)run->replay.rounds,
               plural(run->replay.rounds),
               run->replay.ended
                   ? ""
                   : "; the log has no stop line, because its run was killed, so only these rounds are repeated");
    if (run->target > 0)
        pl_say(run, "target: %s at most %.6g", target_name(run), run->target);
}

void pl_summarise(pl_run *run) {
    parley_summary *summary = &run->summary;
    const parley_data *given = run->rows.given;
    pl_description description = {.many = run->many};
    run->type->describe(run->problem, run->settings, &description);
    memcpy(summary->fact, description.facts, sizeof summary->fact);
    summary->facts = description.count;
    summary->problem = run->type->name;
    summary->preset = run->method.preset;
    summary->local = run->method.local->name;
    summary->combine = run->method.combine->name;
    summary->exchange = run->method.exchange->name;
    summary->engine = run->engine->type->name;
    summary->repeatable = run->method.exchange->repeats || run->engine->nonzero_seconds > 0;
    summary->is_virtual = run->engine->is_virtual;
    summary->rows = pl_all_rows(given);
    summary->columns = run->rows.data->x.columns;
    summary->nonzeros = pl_all_nonzeros(given);
    summary->workers = run->settings->workers;
    summary->lanes = run->settings->lanes;
    summary->threads = run->engine->threads;
    summary->ranks = run->engine->ranks;
    summary->seed = run->settings->seed;
}

void pl_finish_summary(pl_run *run) {
    parley_summary *summary = &run->summary;
    const pl_validation *validation = &run->validation;
    if (validation->w && !isnan(validation->best)) { /* the returned model is the best by the metric */
        memcpy(run->best.w, validation->w, run->problem->size * sizeof *validation->w);
        run->best.objective = validation->objective;
        summary->metric = validation->score->name;
        summary->validation = validation->best;
        summary->validation_round = validation->best_round;
        bool certain = run->best.exists ? pl_reached(run) : validation->worse == 0;
        if (summary->stop == PARLEY_CONVERGED && !certain) /* the run converged, but not at this model */
            summary->stop = PARLEY_VALIDATED;
    }
    summary->objective = run->best.objective;
    summary->dual = run->best.exists ? run->best.dual : NAN;
    summary->gap = pl_gap(&run->best);
    summary->relative_gap = run->best.exists ? pl_relative_gap(&run->best) : NAN;
}
