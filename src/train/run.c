/* run.c: a run from data and settings to a model: resolve, set up, loop, keep the best. */
#include "train/train.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/shared_memory.h"
#include "model/linear_model.h"
#include "train/linear_stream.h"
#include "train/run.h"

void pl_progress(const pl_run *run, parley_progress *progress) {
    *progress =
        (parley_progress){.round = run->round,
                          .epochs = run->summary.epochs,
                          .seconds = pl_engine_now(run->engine) - run->began,
                          .objective = run->best.objective,
                          .dual = run->best.exists ? run->best.dual : NAN,
                          .gap = pl_gap(&run->best),
                          .relative_gap = pl_relative_gap(&run->best),
                          .estimate = run->evaluated || !run->pace.trusted || run->pace.estimate < 0 || run->round == 0
                                          ? NAN
                                          : run->pace.estimate / run->best.null,
                          .target = run->settings->gap,
                          .metric = run->validation.rows ? run->validation.score->name : NULL,
                          .validation = run->validation.latest};
}

static void tell(pl_run *run, const char *format, ...) {
    char text[512];
    parley_progress progress;
    if (!run->callback || run->engine->rank != 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pl_progress(run, &progress);
    run->callback(run->user, &progress, text);
}

void pl_say(pl_run *run, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tell(run, "%s", text);
}

void pl_give_up_log(pl_run *run, const parley_error *why) {
    tell(run, "warning: %s; training goes on without it", why->sentence);
    pl_log_close(run->log);
    run->log = NULL;
}

static void describe(pl_run *run, uint64_t bytes) {
    const pl_method *method = &run->method;
    const parley_settings *settings = run->settings;
    bool automatic = strcmp(settings->preset, "auto") == 0, open_loss = strcmp(settings->loss, "auto") == 0;
    if (run->round > 0) {
        tell(run, "method: %s goes on as %s x %s x %s", method->preset, method->local->name, method->combine->name,
             method->exchange->name);
        return;
    }
    tell(run, "data: %llu rows, %llu columns, %llu non-zeros", (unsigned long long)pl_all_rows(run->data),
         (unsigned long long)run->data->x.columns, (unsigned long long)pl_all_nonzeros(run->data));
    if (run->glm.classes > 1)
        tell(run, "classes: %llu, from %.10g to %.10g, %s", (unsigned long long)run->glm.classes, run->glm.labels[0],
             run->glm.labels[run->glm.classes - 1],
             !run->glm.loss->together                 ? "each against the rest"
             : open_loss && !run->data->classes.count ? "all together; --loss squared takes labels as numbers"
                                                      : "all together");
    char width[40] = "", lambda[40] = "falling";
    if (run->glm.loss->parameter)
        snprintf(width, sizeof width, " of width %.6g", run->glm.loss->width);
    if (!run->many)
        snprintf(lambda, sizeof lambda, "%.6g", run->glm.lambda);
    tell(run, "problem: loss %s%s, lambda %s, l1-ratio %.6g, intercept %s, seed %llu", run->glm.loss->name, width,
         lambda, run->glm.l1_ratio, run->summary.intercept, (unsigned long long)settings->seed);
    tell(run, "method: %s%s = %s x %s x %s, %llu worker%s, %llu lane%s, %u thread%s", automatic ? "auto chose " : "",
         method->preset, method->local->name, method->combine->name, method->exchange->name,
         (unsigned long long)settings->workers, settings->workers == 1 ? "" : "s", (unsigned long long)settings->lanes,
         settings->lanes == 1 ? "" : "s", run->engine->threads, run->engine->threads == 1 ? "" : "s");
    tell(run, "memory: training needs %.1f MB beside the data's %.1f MB", (double)bytes / 1e6,
         (double)pl_data_bytes(run->data) / 1e6);
    if (*settings->replay)
        tell(run, "replay: %s, %llu round%s%s", settings->replay, (unsigned long long)run->replay.rounds,
             run->replay.rounds == 1 ? "" : "s",
             run->replay.ended ? "" : "; it has no stop line, because its run was killed: they are repeated, no more");
    if (settings->gap > 0)
        tell(run, "target: %s at most %.6g",
             run->best.exists ? "relative gap" : "relative gradient norm (lambda 0 has no dual)", settings->gap);
}

static void summarise(pl_run *run) {
    static const char *const intercepts[] = {"free", "penalised", "none"};
    parley_summary *summary = &run->summary;
    summary->preset = run->method.preset;
    summary->local = run->method.local->name;
    summary->combine = run->method.combine->name;
    summary->exchange = run->method.exchange->name;
    summary->repeatable = !run->method.exchange->in_place && !run->method.exchange->pull;
    summary->engine = run->engine->type->name;
    summary->loss = run->glm.loss->name;
    summary->lambda = run->glm.lambda;
    summary->l1_ratio = run->glm.l1_ratio;
    summary->intercept = intercepts[run->glm.intercept];
    summary->rows = pl_all_rows(run->given);
    summary->columns = run->data->x.columns;
    summary->nonzeros = pl_all_nonzeros(run->given);
    summary->workers = run->settings->workers;
    summary->lanes = run->settings->lanes;
    summary->threads = run->engine->threads;
    summary->ranks = run->engine->ranks;
    summary->seed = run->settings->seed;
}

/* What a method's tables take: v, direction and change. */
static parley_status open_tables(pl_run *run, uint64_t width, parley_error *error) {
    uint64_t entries = run->entries, bytes = (entries + 1) * sizeof *run->v;
    void *v = NULL;
    parley_status status = PARLEY_OK;
    if (run->method.local->reads_v && !run->method.combine->searches) /* only owners write it, then */
        status = pl_common_table(run->engine, bytes, &v, error);
    if (status != PARLEY_OK)
        return status;
    bool room = v || pl_span_reserve(&run->v_room, bytes);
    run->v = v ? v : run->v_room.data;
    run->direction = pl_alloc(entries, sizeof *run->direction);
    run->change = pl_alloc(entries * width, sizeof *run->change);
    if (!room || !run->direction || !run->change)
        return pl_fail_memory(error, "the model", entries * (width + 2) * sizeof(double));
    uint64_t begin = run->setup.begin, owned = (run->setup.end - begin) * sizeof *run->v;
    memset(run->direction + begin, 0, owned); /* page faults belong to setting up */
    memset(run->change + begin, 0, owned);
    return PARLEY_OK;
}

static parley_status open_vectors(pl_run *run, parley_error *error) {
    uint64_t size = run->problem.size, hosted = run->team.hosted;
    run->w = pl_alloc(size, sizeof *run->w);
    run->best.w = pl_alloc(size, sizeof *run->best.w);
    run->null = pl_alloc(size, sizeof *run->null);
    run->update = pl_alloc(hosted, sizeof *run->update);
    run->share = pl_alloc(hosted, sizeof *run->share);
    run->scalars = pl_alloc(hosted * PL_SCALARS, sizeof *run->scalars);
    run->trace = pl_alloc(hosted, sizeof *run->trace);
    if (!run->w || !run->best.w || !run->null || !run->update || !run->share || !run->scalars || !run->trace)
        return pl_fail_memory(error, "the model", 3 * size * sizeof(double));
    memset(run->w, 0, size * sizeof *run->w); /* page faults belong to setting up, not to the first evaluation */
    memset(run->best.w, 0, size * sizeof *run->best.w);
    return PARLEY_OK;
}

/* At w = 0, t = 0: P is known, and D is 0 for every loss whose least value is 0, at no cost. */
static parley_status start_certificate(pl_run *run, parley_error *error) {
    pl_certificate *best = &run->best;
    parley_status status = run->problem.type->null(&run->problem, &run->team, best->w, &best->null, error);
    uint64_t zeros = run->problem.penalised; /* it is all zeros there, as it was allocated */
    memcpy(run->null + zeros, best->w + zeros, (run->problem.size - zeros) * sizeof *run->null);
    best->objective = best->loss = best->null;
    best->dual = 0;
    best->gradient = INFINITY;
    run->pace = (pl_pace){.threshold = run->settings->gap * best->null,
                          .estimate = -1,
                          .trusted = true,
                          .seen_gap = best->null,
                          .seen_epochs = run->summary.epochs,
                          .look_after = INFINITY,
                          .watched = best->exists ? best->null : INFINITY,
                          .watched_objective = best->null,
                          .last_gap = best->null};
    return status;
}

static parley_status open_members(pl_run *run, parley_error *error) {
    const pl_local_type *local = run->method.local;
    const pl_combine_type *combine = run->method.combine;
    uint64_t width = combine->width ? combine->width(&run->glm) : 1;
    run->entries = local->entries ? local->entries(&run->problem) : run->problem.size;
    run->setup = (pl_setup){.problem = &run->problem,
                            .glm = &run->glm,
                            .team = &run->team,
                            .columns = local->by_columns ? &run->columns : NULL,
                            .by_column = local->by_columns ? &run->by_column.x : NULL,
                            .settings = run->settings,
                            .entries = run->entries,
                            .width = width,
                            .diagonal = combine->diagonal,
                            .asks = combine->asks != NULL,
                            .searches = combine->searches,
                            .slopes_only = combine->slopes_only,
                            .alone = run->team.workers == 1 && run->engine->ranks == 1 &&
                                     combine->propose == pl_propose_change && !run->method.exchange->pull,
                            .accelerates = local->accelerates && run->settings->updates == PL_IMMEDIATE,
                            .in_place = run->method.exchange->in_place};
    pl_exchange_slice(run->method.exchange, combine->whole, run->entries, run->engine->rank, run->engine->ranks,
                      &run->setup.begin, &run->setup.end);
    summarise(run);
    describe(run, local->bytes(&run->setup) + (combine->bytes ? combine->bytes(&run->setup) : 0) +
                      (local->by_columns ? pl_columns_bytes(&run->data->x) : 0) +
                      ((width + 2) * run->entries + 3 * run->problem.size) * sizeof(double));
    parley_status status = open_tables(run, width, error);
    if (status == PARLEY_OK && !run->w) {
        status = open_vectors(run, error);
        if (status == PARLEY_OK)
            status = start_certificate(run, error);
    }
    run->setup.null = run->null;
    run->setup.target = run->settings->gap * run->best.null;
    if (status == PARLEY_OK)
        status = local->open(&run->setup, &run->local, error);
    if (status == PARLEY_OK)
        status = combine->open(&run->setup, &run->combine, error);
    if (status == PARLEY_OK)
        status = pl_exchange_open(run->method.exchange, &run->team, run->entries, width, combine->whole, &run->exchange,
                                  error);
    pl_clocked_open(run);
    return status;
}

/* A log to write or to repeat knows its data. */
static parley_status open_replay(pl_run *run, parley_error *error) {
    parley_settings *settings = run->settings;
    parley_status status = PARLEY_OK;
    if (*settings->log || *settings->replay || *settings->checkpoint || *settings->resume)
        status = pl_fingerprint(run->engine, run->data, &run->fingerprint, error);
    if (status == PARLEY_OK && *settings->replay)
        status = pl_replay_open(&run->replay, settings, run->data, run->fingerprint, error);
    return status == PARLEY_OK ? pl_resume_open(run, error) : status;
}

/* Rows for validation, where they are asked for; then every round is looked at, unless the user says how often. */
static parley_status set_aside(pl_run *run, parley_error *error) {
    parley_status status =
        pl_validation_open(&run->validation, run->engine, run->data, &pl_model_linear, run->settings, error);
    if (run->validation.kept)
        run->data = run->validation.kept;
    if (run->validation.rows && !run->settings->evaluate_every)
        run->settings->evaluate_every = 1;
    return status;
}

/* From here on the rows weigh what their labels say. */
static parley_status weigh_classes(pl_run *run, parley_error *error) {
    const char *words = run->settings->class_weights;
    if (!*words)
        return PARLEY_OK;
    if (run->glm.loss->labels == PL_LABELS_REAL)
        return pl_fail(error, PARLEY_BAD_USAGE, "--class-weights: loss %s has numbers for labels, not classes",
                       run->glm.loss->name);
    parley_status status = pl_class_weights(run->engine, run->data, words, &run->class_weight, error);
    run->weighted = *run->data;
    run->weighted.weight = run->class_weight;
    if (run->weighted.spread)
        run->weighted.spread->weighted = true;
    run->data = run->glm.data = &run->weighted;
    return status;
}

/* Everything that the loop needs. */
static parley_status set_up(pl_run *run, parley_error *error) {
    parley_status status = open_replay(run, error);
    if (status == PARLEY_OK)
        status = pl_train_check(run->settings, error);
    if (status == PARLEY_OK)
        status = set_aside(run, error);
    if (status == PARLEY_OK)
        status = pl_glm_open(&run->glm, run->engine, run->data, run->settings, error);
    if (status == PARLEY_OK)
        status = pl_take(&run->later, 1, sizeof *run->later, "settings", error);
    if (status == PARLEY_OK)
        *run->later = *run->settings;
    if (status == PARLEY_OK)
        status = weigh_classes(run, error);
    if (status == PARLEY_OK)
        status = pl_method_resolve(run->settings, &run->glm, &run->method, error);
    if (status == PARLEY_OK)
        status = pl_choose_team(run, error);
    if (status == PARLEY_OK)
        status = pl_glm_measure(&run->glm, &run->team, error);
    if (status == PARLEY_OK)
        status = pl_resume_check(run, error);
    if (status == PARLEY_OK && (*run->settings->checkpoint || run->resume.exact))
        status = pl_order_hash(&run->team, run->data, &run->order, error);
    if (status == PARLEY_OK && run->method.local->by_columns && run->dealt)
        status = pl_turn_to_columns(run, error);
    if (status != PARLEY_OK)
        return status;
    run->problem = pl_glm_problem(&run->glm);
    run->best.exists = run->problem.dual;
    status = open_members(run, error);
    if (status == PARLEY_OK)
        status = pl_validation_begin(&run->validation, run->problem.size, run->glm.classes, error);
    return status == PARLEY_OK && !run->resume.manifest ? pl_warm_start(run, error) : status;
}

static void close_members(pl_run *run) {
    if (run->local)
        run->method.local->close(run->local);
    if (run->combine)
        run->method.combine->close(run->combine);
    pl_exchange_close(run->exchange);
    run->local = NULL;
    run->combine = NULL;
    run->exchange = NULL;
    if (run->update) /* they point at what was the solver's */
        memset(run->update, 0, run->team.hosted * sizeof *run->update);
    if (run->v_room.data)
        pl_span_free(&run->v_room);
    else
        pl_common_free(run->engine, run->v);
    pl_free(run->direction);
    pl_free(run->change);
    run->v = run->direction = run->change = NULL;
}

parley_status pl_open_next(pl_run *run, parley_error *error) {
    pl_method next;
    parley_status status = pl_method_next(run->later, &run->glm, &run->method, run->later, &next, error);
    if (status != PARLEY_OK)
        return status;
    run->later->workers = run->settings->workers;
    run->later->lanes = run->settings->lanes;
    close_members(run);
    status = pl_barrier(run->engine, error); /* nobody reads any more what was closed */
    if (status != PARLEY_OK)
        return status;
    run->settings = run->later;
    run->method = next;
    run->pace.estimate = -1;
    return open_members(run, error);
}

parley_status pl_go_on(pl_run *run, parley_error *error) {
    parley_status status = run->method.local->primal(run->local, run->v, run->w, error);
    if (status == PARLEY_OK)
        status = pl_open_next(run, error);
    return status == PARLEY_OK ? pl_move_to(run, run->w, error) : status;
}

static parley_status put(parley_model *model, const char *key, double value, parley_error *error) {
    char text[40] = "none";
    if (isfinite(value))
        pl_number_text(value, text, sizeof text);
    return pl_model_set_meta(model, key, text, error);
}

/* Every setting that decides the model, and how good it is. What depends on the machine or on file names stays out: the
 * same run anywhere gives the same bytes. */
static parley_status describe_model(const pl_run *run, parley_model *model, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < pl_settings_count && status == PARLEY_OK; i++) {
        char text[PL_TEXT];
        const char *name = pl_settings[i].name;
        pl_setting_text(run->recorded, &pl_settings[i], text, sizeof text);
        if (pl_settings[i].in_model && (!pl_loss_of(name) || pl_loss_reads(run->glm.loss, name)))
            status = pl_model_set_meta(model, name, text, error);
    }
    if (status == PARLEY_OK) /* `gap` is the certificate; what was asked for goes by another name */
        status = put(model, "target_gap", run->settings->gap, error);
    if (status == PARLEY_OK)
        status = put(model, "objective", run->summary.objective, error);
    if (status == PARLEY_OK)
        status = put(model, "dual", run->summary.dual, error);
    if (status == PARLEY_OK)
        status = put(model, "gap", run->summary.gap, error);
    return status;
}

/* Puts what was resolved where the settings said auto. */
static void record_choices(pl_run *run) {
    parley_settings *settings = run->settings;
    snprintf(settings->loss, sizeof settings->loss, "%s", run->glm.loss->name);
    snprintf(settings->preset, sizeof settings->preset, "%s", run->method.preset);
    if (!run->method.sequel) { /* else the preset says it: there are two of each */
        snprintf(settings->local, sizeof settings->local, "%s", run->method.local->name);
        snprintf(settings->combine, sizeof settings->combine, "%s", run->method.combine->name);
    }
    snprintf(settings->exchange, sizeof settings->exchange, "%s", run->method.exchange->name);
    snprintf(settings->metric, sizeof settings->metric, "%s", run->validation.score->name);
    settings->lambda = run->glm.lambda;
    settings->c = settings->alpha = NAN;
}

parley_status pl_run_model(pl_run *run, parley_model **out, parley_error *error) {
    parley_model *model;
    parley_status status = run->problem.type->model(&run->problem, run->best.w, &model, error);
    if (status != PARLEY_OK)
        return status;
    status = describe_model(run, model, error);
    if (status == PARLEY_OK)
        status = pl_model_name(model, run->data, error);
    if (status != PARLEY_OK)
        parley_model_free(model);
    else
        *out = model;
    return status;
}

void pl_run_close(pl_run *run) {
    close_members(run);
    pl_team_close(&run->team);
    pl_team_close(&run->columns);
    parley_data_free(run->dealt);
    parley_data_free(run->all_rows);
    pl_columns_close(&run->by_column);
    pl_glm_close(&run->glm);
    pl_validation_close(&run->validation);
    pl_log_close(run->log);
    pl_traces_close(run);
    pl_replay_close(&run->replay);
    pl_checkpoint_close(&run->checkpoint);
    pl_resume_close(&run->resume);
    void *owned[] = {run->w,     run->best.w,   run->null,  run->update,       run->share, run->scalars,
                     run->trace, run->recorded, run->later, run->class_weight, run->order};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
}

static parley_status start_log(pl_run *run, parley_error *error) {
    uint64_t round = run->resume.exact ? run->resume.round : 0;
    bool goes_on = false;
    run->logs = run->logs || *run->settings->log;
    parley_status status = pl_traces_open(run, error);
    if (status == PARLEY_OK && run->engine->rank == 0)
        status = pl_log_open(run->settings->log, round, &run->log, &goes_on, error);
    if (goes_on || status != PARLEY_OK)
        return status;
    return pl_log_start(run->log, run->settings, &run->summary, run->fingerprint, run->engine->cores, run->engine->host,
                        error);
}

static void finish_summary(pl_run *run) {
    parley_summary *summary = &run->summary;
    const pl_validation *validation = &run->validation;
    if (validation->w && !isnan(validation->best)) { /* the model returned is the best by the metric */
        memcpy(run->best.w, validation->w, run->problem.size * sizeof *validation->w);
        run->best.objective = validation->objective;
        summary->metric = validation->score->name;
        summary->validation = validation->best;
        summary->validation_round = validation->best_round;
    }
    summary->progressive_loss = NAN;
    summary->objective = run->best.objective;
    summary->dual = run->best.exists ? run->best.dual : NAN;
    summary->gap = pl_gap(&run->best);
    summary->relative_gap = run->best.exists ? pl_relative_gap(&run->best) : NAN;
}

parley_status pl_run_open(pl_run *run, const parley_settings *settings, parley_error *error) {
    run->began = pl_engine_now(run->engine);
    run->given = run->data;
    parley_status status = pl_take(&run->settings, 1, sizeof *run->settings, "settings", error);
    if (status != PARLEY_OK)
        return status;
    *run->settings = *settings;
    run->recorded = run->settings;
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

parley_status pl_run_loop(pl_run *run, parley_error *error) {
    parley_error lost;
    parley_status status = pl_loop(run, error);
    finish_summary(run);
    if (status == PARLEY_OK &&
        pl_log_stop(run->log, &run->summary, pl_engine_now(run->engine) - run->began, &lost) != PARLEY_OK)
        pl_give_up_log(run, &lost);
    if (status == PARLEY_OK) /* the others clear up when that is written */
        status = pl_barrier(run->engine, error);
    return status;
}

/* A solver that cannot follow a change of penalty is opened anew, at the model that was found. */
static parley_status reopen(pl_run *run, parley_error *error) {
    const pl_local_type *local = run->method.local;
    double *found;
    parley_status status = pl_take(&found, run->problem.size, sizeof *found, "the model to go on from", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(found, run->best.w, run->problem.size * sizeof *found);
    local->close(run->local);
    run->local = NULL;
    memset(run->v, 0, run->entries * sizeof *run->v);
    memset(run->best.w, 0, run->problem.size * sizeof *run->best.w);
    status = start_certificate(run, error);
    if (status == PARLEY_OK)
        status = local->open(&run->setup, &run->local, error);
    if (status == PARLEY_OK && local->start)
        status = pl_move_to(run, found, error);
    pl_free(found);
    return status;
}

parley_status pl_run_renew(pl_run *run, double lambda, parley_error *error) {
    const pl_local_type *local = run->method.local;
    const pl_combine_type *combine = run->method.combine;
    parley_error lost;
    parley_status status = pl_glm_penalise(&run->glm, lambda, error);
    run->problem = pl_glm_problem(&run->glm);
    run->best.exists = run->problem.dual;
    run->settings->lambda = run->summary.lambda = lambda;
    run->round = run->noted = 0;
    run->gap_seen = run->best.null;
    combine->close(run->combine);
    run->combine = NULL;
    if (status == PARLEY_OK && !local->renew)
        status = reopen(run, error);
    else if (status == PARLEY_OK) {
        memset(run->best.w, 0, run->problem.size * sizeof *run->best.w);
        status = start_certificate(run, error);
        if (status == PARLEY_OK)
            status = local->renew(run->local, run->v, error);
    }
    if (status == PARLEY_OK)
        status = combine->open(&run->setup, &run->combine, error);
    if (status == PARLEY_OK && !(local->certifies && local->certifies(run->local)))
        status = pl_evaluate(run, error);
    if (status == PARLEY_OK && pl_log_start(run->log, run->settings, &run->summary, run->fingerprint,
                                            run->engine->cores, run->engine->host, &lost) != PARLEY_OK)
        pl_give_up_log(run, &lost);
    return status;
}

static parley_status train_stream(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                                  parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                                  parley_error *error) {
    *out = NULL;
    if (engine->ranks == 1)
        return pl_stream_data(data, settings, engine->threads, callback, user, out, summary, error);
    return pl_fail(error, PARLEY_BAD_USAGE, "--preset online learns in one process, and there are %u", engine->ranks);
}

static parley_status train_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                                const parley_model *start, parley_callback callback, void *user, parley_model **out,
                                parley_summary *summary, parley_error *error) {
    if (pl_streams(settings))
        return train_stream(engine, data, settings, callback, user, out, summary, error);
    pl_run run = {.engine = engine, .data = data, .start = start, .callback = callback, .user = user};
    parley_error local_error = {0};
    *out = NULL;
    parley_status status = pl_run_open(&run, settings, &local_error);
    if (status == PARLEY_OK)
        status = pl_run_loop(&run, &local_error);
    if (status == PARLEY_OK)
        status = pl_run_model(&run, out, &local_error);
    if (status != PARLEY_OK)
        engine->type->fail(engine, &local_error);
    if (status != PARLEY_OK && error)
        *error = local_error;
    if (summary)
        *summary = run.summary;
    pl_run_close(&run);
    return status;
}

parley_status pl_train_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                            parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                            parley_error *error) {
    return train_rank(engine, data, settings, NULL, callback, user, out, summary, error);
}

static parley_status check_start(const parley_settings *settings, parley_error *error) {
    const char *other = *settings->start ? "start" : *settings->resume ? "resume" : *settings->replay ? "replay" : NULL;
    if (other)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "a model to begin at is given, and the setting %s says another; leave one of them out", other);
    return pl_streams(settings) ? pl_fail(error, PARLEY_BAD_USAGE,
                                          "preset %s begins without a model; go on with a learner, or take another "
                                          "preset",
                                          settings->preset)
                                : PARLEY_OK;
}

parley_status parley_train_from(const parley_data *data, const parley_settings *settings, const parley_model *start,
                                parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                                parley_error *error) {
    pl_engine *engine = NULL;
    *out = NULL;
    parley_status status = pl_train_check(settings, error);
    if (status == PARLEY_OK && start)
        status = check_start(settings, error);
    if (status == PARLEY_OK)
        status = pl_data_teaches(data, error);
    if (status == PARLEY_OK)
        status = pl_engine_open(settings, &engine, error);
    if (status == PARLEY_OK)
        status = train_rank(engine, data, settings, start, callback, user, out, summary, error);
    pl_engine_close(engine);
    return status;
}

parley_status parley_train(const parley_data *data, const parley_settings *settings, parley_callback callback,
                           void *user, parley_model **out, parley_summary *summary, parley_error *error) {
    return parley_train_from(data, settings, NULL, callback, user, out, summary, error);
}
