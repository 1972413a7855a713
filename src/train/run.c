/* run.c: a run from data and settings to a model: resolve, set up, loop, keep the best model. */
#include "train/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/collective.h"
#include "engine/launched.h"
#include "shard/distributed.h"
#include "shard/fingerprint.h"

/* Opens the log to replay, and computes the fingerprint of the data if a log is read or written. */
static parley_status open_replay(pl_run *run, parley_error *error) {
    parley_settings *settings = run->settings;
    parley_status status = PARLEY_OK;
    if (!run->fingerprint && (*settings->log || *settings->replay || *settings->checkpoint || *settings->resume))
        status = pl_fingerprint(run->engine, run->rows.data, &run->fingerprint, error);
    if (status == PARLEY_OK && *settings->replay)
        status = pl_replay_open(&run->replay, settings, run->rows.data, run->fingerprint, error);
    return status == PARLEY_OK ? pl_resume_open(run, error) : status;
}

/* Sorts the rows by their content, if that is asked for. */
static parley_status order_rows(pl_run *run, parley_error *error) {
    if (run->settings->row_order != PL_BY_CONTENT)
        return PARLEY_OK;
    parley_status status = pl_rows_by_content(run->engine, run->rows.data, &run->rows.ordered, error);
    if (status == PARLEY_OK)
        run->rows.data = run->rows.ordered;
    return status;
}

/* Sets aside validation rows, if there are any. Then every round is evaluated, unless the user gave an interval. */
static parley_status set_aside(pl_run *run, parley_error *error) {
    parley_status status =
        pl_validation_open(&run->validation, run->engine, run->rows.data, run->type->model_type, run->settings, error);
    if (run->validation.kept)
        run->rows.data = run->validation.kept;
    if (run->validation.rows && !run->settings->evaluate_every && !run->type->short_rounds) {
        run->settings->evaluate_every = 1;
        if (run->later)
            run->later->evaluate_every = 1;
    }
    return status;
}

/* Chooses the method, as far as that can be done. Settings are kept as they were before if a second method may follow,
 * which begins with them. */
static parley_status choose_method(pl_run *run, parley_error *error) {
    const parley_settings *settings = run->settings;
    const pl_preset *preset = pl_preset_find(settings->preset, run->type);
    parley_status status = PARLEY_OK;
    if (!preset->local && !preset->stream)
        preset = pl_preset_choose(settings, run->problem, NULL);
    bool changes = settings->adapt || *settings->replay || *settings->resume || (preset && preset->sequel.then);
    if (changes && !run->later)
        status = pl_settings_copy(settings, &run->later, error);
    return status == PARLEY_OK ? pl_method_choose(run->settings, run->problem, &run->method, error) : status;
}

/* Opens the problem, and chooses the method. */
static parley_status open_problem(pl_run *run, parley_error *error) {
    parley_status status = run->type->open(run->engine, run->rows.data, run->settings, &run->problem, error);
    if (status != PARLEY_OK)
        return status;
    run->rows.data = run->problem->data;
    run->problem->many = run->many;
    status = choose_method(run, error);
    run->target = run->type->by_change ? run->settings->tolerance : run->settings->gap;
    if (status == PARLEY_OK)
        pl_explain_problem(run, false);
    return status;
}

/* Distributes rows to workers. */
static parley_status place_rows(pl_run *run, parley_error *error) {
    parley_status status = pl_choose_team(run, error);
    if (status == PARLEY_OK)
        status = run->type->measure(run->problem, &run->rows.team, error);
    if (status == PARLEY_OK)
        status = pl_resume_check(run, error);
    if (status == PARLEY_OK && (*run->settings->checkpoint || run->resume.exact))
        status = pl_order_hash(&run->rows.team, run->rows.data, &run->order, error);
    if (status == PARLEY_OK && (run->method.local->traits & PL_OWNS_COLUMNS) && run->rows.dealt)
        status = pl_turn_to_columns(run, error);
    return status;
}

/* The run starts from a checkpoint, which is read later, from a model, or from the problem's first model. */
static parley_status begin(pl_run *run, parley_error *error) {
    if (run->resume.manifest)
        return PARLEY_OK;
    if (!run->problem->begins_at_zero && !run->start && !*run->settings->start)
        return pl_start_at(run, run->first, error);
    return pl_warm_start(run, error);
}

/* Reads the plan to follow, which must be for as many machines. */
static parley_status open_forecast(pl_run *run, parley_error *error) {
    parley_status status = pl_forecast_open(&run->forecast, run->settings, error);
    unsigned machines = run->forecast.machines, ranks = run->engine->ranks;
    if (status == PARLEY_OK && run->forecast.count && machines != ranks)
        status =
            pl_fail(error, PARLEY_BAD_USAGE,
                    "--plan %s: it is for %u machine%s, but this run has %u; start it on as many, or with --engine "
                    "sim --hosts %u",
                    run->settings->plan, machines, machines == 1 ? "" : "s", ranks, machines);
    if (status == PARLEY_OK && run->settings->adapt) { /* H is auto, and begins at the plan's */
        run->settings->local_epochs = NAN;
        pl_setting_forget(run->settings, "local_epochs");
        pl_adapt_open(&run->adapts.state,
                      pl_forecast_find(&run->forecast, run->settings->preset, run->forecast.workers));
    }
    return status;
}

/* Sets up everything that the loop needs. */
static parley_status set_up(pl_run *run, parley_error *error) {
    parley_status status = open_forecast(run, error);
    if (status == PARLEY_OK)
        status = open_replay(run, error);
    if (status == PARLEY_OK)
        status = pl_settings_check(run->settings, error);
    if (status == PARLEY_OK) /* a method that cannot work is refused before the data are looked at */
        status = choose_method(run, error);
    if (status == PARLEY_OK)
        status = order_rows(run, error);
    if (status == PARLEY_OK)
        status = set_aside(run, error);
    if (status == PARLEY_OK)
        status = open_problem(run, error);
    if (status == PARLEY_OK)
        status = place_rows(run, error);
    if (status == PARLEY_OK)
        status = pl_members_open(run, error);
    if (status == PARLEY_OK)
        status = pl_validation_begin(&run->validation, run->problem->size, error);
    return status == PARLEY_OK ? begin(run, error) : status;
}

static parley_status put(parley_model *model, const char *key, double value, parley_error *error) {
    char text[40] = "none";
    if (isfinite(value))
        pl_number_text(value, text, sizeof text);
    return pl_model_set_meta(model, key, text, error);
}

/* The settings that may be in a model, a log or a checkpoint of this problem. */
static unsigned commands_of(const pl_run *run) { return PL_FOR_TRAIN | PL_FOR_ONE | run->type->commands; }

/* Writes every setting that influences the model, and its certificate. Settings that depend on the machine or name
 * files are left out, so that the same run gives the same bytes anywhere. */
static parley_status describe_model(const pl_run *run, parley_model *model, parley_error *error) {
    const parley_summary *summary = &run->summary;
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < pl_settings_count() && status == PARLEY_OK; i++) {
        char text[PL_TEXT];
        const pl_setting *row = pl_setting_at(i);
        if (!row->in_model || !(row->commands & commands_of(run)) ||
            (run->type->applies && !run->type->applies(run->problem, row->name)))
            continue;
        pl_setting_text(run->recorded, row, text, sizeof text);
        status = pl_model_set_meta(model, row->name, text, error);
    }
    if (status == PARLEY_OK) /* `gap` is the certificate, so the target has another name */
        status = put(model, run->type->by_change ? "tolerance" : "target_gap", run->target, error);
    if (status == PARLEY_OK)
        status = put(model, "objective", summary->objective, error);
    if (status == PARLEY_OK)
        status = put(model, "dual", summary->dual, error);
    if (status == PARLEY_OK)
        status = put(model, "gap", summary->gap, error);
    if (status == PARLEY_OK && summary->metric)
        status = put(model, "validation_value", summary->validation, error);
    if (status == PARLEY_OK && summary->metric)
        status = put(model, "validation_round", (double)summary->validation_round, error);
    return status;
}

/* Replaces `auto` in the settings by the values that were chosen. */
static void record_choices(pl_run *run) {
    parley_settings *settings = run->settings;
    if (run->type->record)
        run->type->record(run->problem, settings);
    settings->metric = run->validation.score->name;
    settings->preset = run->method.preset;
    if (!run->method.sequel) { /* otherwise the preset stands for both methods */
        settings->local = run->method.local->name;
        settings->combine = run->method.combine->name;
    }
    settings->exchange = run->method.exchange->name;
}

/* Adds the problem's own results to the summary and the metadata. `passes` is a setting there. */
static parley_status add_results(pl_run *run, const pl_description *results, parley_model *model, parley_error *error) {
    parley_summary *summary = &run->summary;
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < results->count && status == PARLEY_OK; i++) {
        const parley_fact *fact = &results->facts[i];
        if (summary->facts < PARLEY_FACTS)
            summary->fact[summary->facts++] = *fact;
        if (!pl_setting_find(fact->name) && !(results->timings >> i & 1))
            status = put(model, fact->name, fact->number, error);
    }
    return status;
}

static parley_status add_to(parley_model *model, const pl_addition *addition, const void *member, bool measured,
                            parley_error *error) {
    return addition && !(measured && addition->for_runs) ? addition->add(member, model, error) : PARLEY_OK;
}

parley_status pl_model_of(const pl_run *run, const double *w, bool measured, parley_model **out, parley_error *error) {
    parley_status status = run->type->model(run->problem, w, out, error);
    if (status == PARLEY_OK)
        status = add_to(*out, run->method.local->addition, run->local, measured, error);
    if (status == PARLEY_OK)
        status = add_to(*out, run->method.combine->addition, run->combine, measured, error);
    if (status != PARLEY_OK) {
        parley_model_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status pl_run_model(pl_run *run, parley_model **out, parley_error *error) {
    parley_model *model;
    parley_status status = pl_model_of(run, run->best.w, false, &model, error);
    if (status != PARLEY_OK)
        return status;
    pl_result result = {run->settings, &run->summary, &run->rows.team, run->best.w, model};
    pl_description results = {.many = run->many};
    if (run->type->conclude)
        status = run->type->conclude(run->problem, &result, &results, error);
    if (status == PARLEY_OK)
        status = describe_model(run, model, error);
    if (status == PARLEY_OK)
        status = add_results(run, &results, model, error);
    if (status == PARLEY_OK)
        status = pl_model_name(model, run->rows.data, error);
    if (status != PARLEY_OK)
        parley_model_free(model);
    else
        *out = model;
    return status;
}

void pl_run_close(pl_run *run) {
    pl_placement *rows = &run->rows;
    pl_members_close(run);
    pl_team_close(&rows->team);
    pl_team_close(&rows->columns);
    parley_data_free(rows->dealt);
    parley_data_free(rows->all_rows);
    pl_columns_close(&rows->by_column);
    if (run->problem)
        run->type->close(run->problem);
    run->engine->servers = 0;
    pl_validation_close(&run->validation);
    parley_data_free(rows->ordered);
    pl_log_close(run->log);
    pl_span_file_close(run->span_file);
    pl_workers_close(run);
    pl_free(run->kept.values);
    pl_replay_close(&run->replay);
    pl_forecast_close(&run->forecast);
    pl_checkpoint_close(&run->checkpoint);
    pl_resume_close(&run->resume);
    for (unsigned i = 0; i < 2; i++)
        pl_lock_free(run->locks[i]);
    if (run->type && run->type->keeps_latest) /* then these are v */
        run->w = run->best.w = run->first = NULL;
    void *owned[] = {run->w, run->best.w, run->first, run->order};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
    parley_settings_free(run->recorded);
    parley_settings_free(run->later);
}

parley_status pl_log_begin(pl_run *run, parley_error *error) {
    return pl_log_start(run->log, run->settings, commands_of(run), &run->summary, run->fingerprint, run->engine->cores,
                        run->engine->host, run->engine->scattered, error);
}

static parley_status start_log(pl_run *run, parley_error *error) {
    uint64_t round = run->resume.exact ? run->resume.round : 0;
    bool goes_on = false;
    parley_status status = PARLEY_OK;
    if (run->engine->rank == 0)
        status = pl_log_open(run->settings->log, round, &run->log, &goes_on, error);
    if (run->engine->rank == 0 && status == PARLEY_OK)
        status = pl_span_file_open(run->settings->trace, run->rows.team.workers, run->engine->ranks, pl_host_begin,
                                   &run->span_file, error);
    return goes_on || status != PARLEY_OK ? status : pl_log_begin(run, error);
}

parley_status pl_run_lock(pl_run *run, const char *path, pl_lock **lock, parley_error *error) {
    char job[PL_TEXT];
    if (run->engine->rank != 0)
        return PARLEY_OK;
    pl_launched_job(job, sizeof job);
    return pl_lock_take(path, job, run->settings->deadline, lock, error);
}

static parley_status lock_outputs(pl_run *run, parley_error *error) {
    const char *folder = run->settings->checkpoint;
    parley_status status = pl_run_lock(run, run->settings->log, &run->locks[0], error);
    if (status == PARLEY_OK && *folder && run->engine->rank == 0)
        status = pl_checkpoint_folder(folder, error); /* the lock is in the folder */
    return status == PARLEY_OK ? pl_run_lock(run, folder, &run->locks[1], error) : status;
}

parley_status pl_run_open(pl_run *run, const parley_data *data, const parley_settings *settings, parley_error *error) {
    run->began = pl_engine_now(run->engine);
    run->type = pl_settings_problem(settings);
    run->rows.given = run->rows.data = data;
    run->told.wanted = run->told.wanted || *settings->log || *settings->trace;
    parley_status status = pl_settings_copy(settings, &run->settings, error);
    if (status != PARLEY_OK)
        return status;
    run->recorded = run->settings;
    status = lock_outputs(run, error);
    if (status == PARLEY_OK)
        status = set_up(run, error);
    if (status == PARLEY_OK) {
        record_choices(run);
        status = start_log(run, error);
    }
    run->summary.setup_seconds = pl_engine_now(run->engine) - run->began;
    if (status == PARLEY_OK)
        status = pl_checkpoint_open(run, error);
    return status == PARLEY_OK ? pl_resume_run(run, error) : status;
}

/* What the plan said, for the log and the user. NULL if there is none. */
static json_t *compare_with_plan(pl_run *run, double seconds) {
    const pl_forecast *forecast = &run->forecast;
    if (!forecast->count)
        return NULL;
    pl_say(run, "plan: predicted %.4g seconds (90 %% band %.4g to %.4g) and %.0f rounds; it took %.4g seconds and %llu",
           forecast->seconds, forecast->low, forecast->high, forecast->rounds, seconds,
           (unsigned long long)run->summary.rounds);
    return json_pack("{s:f, s:f, s:f, s:f}", "seconds", forecast->seconds, "low", forecast->low, "high", forecast->high,
                     "rounds", forecast->rounds);
}

parley_status pl_run_loop(pl_run *run, parley_error *error) {
    parley_error lost;
    parley_status status = pl_loop(run, error);
    pl_finish_summary(run);
    double seconds = pl_engine_now(run->engine) - run->began;
    json_t *plan = status == PARLEY_OK ? compare_with_plan(run, seconds) : NULL;
    if (status == PARLEY_OK && pl_log_stop(run->log, &run->summary, seconds, plan, &lost) != PARLEY_OK)
        pl_give_up_log(run, &lost);
    if (status == PARLEY_OK) /* the others clean up after it is written */
        status = pl_barrier(run->engine, error);
    return status;
}

/* Closes a solver that cannot change its penalty, and opens it again at the model that was found. */
static parley_status reopen(pl_run *run, parley_error *error) {
    const pl_local_type *local = run->method.local;
    uint64_t size = run->problem->size;
    double *found;
    parley_status status = pl_take(&found, size, sizeof *found, "the model to continue from", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(found, run->best.w, size * sizeof *found);
    local->close(run->local);
    run->local = NULL;
    memset(run->tables.v, 0, run->tables.entries * sizeof *run->tables.v);
    memset(run->best.w, 0, size * sizeof *run->best.w);
    status = pl_certificate_begin(run, error);
    if (status == PARLEY_OK)
        status = local->open(&run->setup, &run->local, error);
    run->setup.local = run->local;
    if (status == PARLEY_OK && local->restart)
        status = pl_move_to(run, found, NULL, error);
    pl_free(found);
    return status;
}

/* Lets the solver change its penalty. */
static parley_status renew(pl_run *run, parley_error *error) {
    memset(run->best.w, 0, run->problem->size * sizeof *run->best.w);
    parley_status status = pl_certificate_begin(run, error);
    return status == PARLEY_OK ? run->method.local->restart->renew(run->local, run->tables.v, error) : status;
}

parley_status pl_run_renew(pl_run *run, parley_error *error) {
    const pl_local_restart *restart = run->method.local->restart;
    const pl_combine_type *combine = run->method.combine;
    parley_error lost;
    if (run->type->record)
        run->type->record(run->problem, run->settings);
    pl_summarise(run);
    run->round = run->work.noted = 0;
    run->work.gap_seen = run->best.scale;
    pl_spans_interrupt(&run->spans);
    if (!combine->renew) {
        combine->close(run->combine);
        run->combine = NULL;
    }
    parley_status status = restart && restart->renew ? renew(run, error) : reopen(run, error);
    if (status == PARLEY_OK && combine->renew)
        combine->renew(run->combine);
    else if (status == PARLEY_OK)
        status = combine->open(&run->setup, &run->combine, error);
    if (status == PARLEY_OK && !pl_local_certifies(run->local))
        status = pl_evaluate(run, error);
    if (status == PARLEY_OK && pl_log_begin(run, &lost) != PARLEY_OK)
        pl_give_up_log(run, &lost);
    return status;
}

const pl_problem_type *pl_settings_problem(const parley_settings *settings) {
    const pl_problem_type *type = pl_problem_find(settings->problem);
    return type ? type : pl_problems[0];
}

parley_status pl_train_rank_from(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                                 const parley_model *start, parley_callback callback, void *user, parley_model **out,
                                 parley_summary *summary, parley_error *error) {
    const pl_stream_type *stream = pl_stream_of(settings);
    pl_run run = {.engine = engine, .start = start, .callback = callback, .user = user};
    *out = NULL;
    if (stream && engine->ranks > 1)
        return pl_fail(error, PARLEY_BAD_USAGE, "--preset %s runs in one process, but there are %u", settings->preset,
                       engine->ranks);
    if (stream)
        return stream->learn(data, settings, engine->threads, callback, user, out, summary, error);
    parley_status status = pl_run_open(&run, data, settings, error);
    if (status == PARLEY_OK)
        status = pl_run_loop(&run, error);
    if (status == PARLEY_OK)
        status = pl_run_model(&run, out, error);
    if (status == PARLEY_OK && run.log && run.type->by_change) /* there is no certificate to tell */
        pl_log_shown(&run, *out);
    if (status == PARLEY_OK && summary)
        pl_remedies(&run, settings, &run.summary);
    if (summary)
        *summary = run.summary;
    pl_run_close(&run);
    return status;
}

parley_status pl_train_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                            parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                            parley_error *error) {
    return pl_train_rank_from(engine, data, settings, NULL, callback, user, out, summary, error);
}
