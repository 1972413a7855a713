/* linear_stream.c: learning from a stream of batches. A table of losses is printed at rows 1, 2, 4, 8, ... as in Vowpal
 * Wabbit, and the result is a model. */
#include "linear/stream/linear_stream.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/callback.h"
#include "base/clock.h"
#include "base/stop.h"
#include "data/read_ahead.h"
#include "linear/model/linear_model.h"
#include "linear/sgd/online.h"
#include "train/presets.h"

typedef struct stream {
    const pl_stream_source *source;
    parley_settings *settings; /* resolved */
    pl_method method;
    pl_online *online;
    parley_callback callback;
    void *user;
    parley_summary *summary;
    double began;
    uint64_t batches, next_told;
    double told_loss, told_weight; /* sums at the last line of the table */
} stream;

static void progress_of(const stream *stream, parley_progress *progress) {
    *progress = (parley_progress){.round = stream->batches,
                                  .seconds = pl_now() - stream->began,
                                  .objective = NAN,
                                  .dual = NAN,
                                  .gap = NAN,
                                  .relative_gap = NAN,
                                  .estimate = NAN};
}

static void tell(const stream *stream, const char *text) {
    parley_progress progress;
    progress_of(stream, &progress);
    if (stream->callback)
        pl_call_back(stream->callback, stream->user, &progress, text);
}

static void tell_head(const stream *stream) {
    tell(stream, "average  since         example        example        current        current  current");
    tell(stream, "loss     last          counter         weight          label        predict features");
}

static void tell_row(stream *stream) {
    const pl_online_state *state = pl_online_look(stream->online);
    char line[160];
    double weight = state->weight - stream->told_weight;
    snprintf(line, sizeof line, "%8.6f %8.6f %12llu %14.1f %14.4f %14.4f %8llu",
             state->weight > 0 ? state->loss / state->weight : 0.0,
             weight > 0 ? (state->loss - stream->told_loss) / weight : 0.0, (unsigned long long)state->rows,
             state->weight, state->label, state->prediction, (unsigned long long)state->features);
    tell(stream, line);
    stream->told_loss = state->loss;
    stream->told_weight = state->weight;
    stream->next_told = 2 * state->rows;
}

/* Learns a batch in pieces, each of which ends at a line of the table. */
static parley_status learn(stream *stream, const parley_data *batch, parley_error *error) {
    const pl_online_state *state = pl_online_look(stream->online);
    parley_status status = PARLEY_OK;
    for (uint64_t begin = 0, end; begin < batch->x.rows && status == PARLEY_OK; begin = end) {
        uint64_t until = stream->next_told - state->rows;
        end = begin + until < batch->x.rows ? begin + until : batch->x.rows;
        status = pl_online_learn(stream->online, batch, begin, end, error);
        if (status == PARLEY_OK && state->rows == stream->next_told)
            tell_row(stream);
    }
    stream->batches++;
    return status;
}

static bool stops(stream *stream) {
    parley_progress progress;
    progress_of(stream, &progress);
    if (stream->callback && pl_call_back(stream->callback, stream->user, &progress, NULL) + pl_stop_asked() != 0)
        stream->summary->stop = PARLEY_INTERRUPTED;
    else if (progress.seconds >= stream->settings->seconds)
        stream->summary->stop = PARLEY_SECONDS;
    else
        return false;
    return true;
}

static parley_status pass(stream *stream, bool *stop, parley_error *error) {
    const pl_stream_source *source = stream->source;
    const parley_data *batch = NULL;
    parley_status status = source->rewind(source->of, error);
    while (status == PARLEY_OK && !*stop) {
        double asked = pl_now();
        status = source->next(source->of, &batch, error);
        double came = pl_now();
        stream->summary->wait_seconds += came - asked;
        if (status == PARLEY_STOPPED && pl_online_look(stream->online)->rows > 0) {
            *stop = stops(stream);
            return PARLEY_OK;
        }
        if (status != PARLEY_OK || !batch)
            break;
        status = learn(stream, batch, error);
        stream->summary->compute_seconds += pl_now() - came;
        *stop = status == PARLEY_OK && stops(stream);
    }
    return status;
}

double pl_stream_loss(const pl_online *online) {
    const pl_online_state *state = pl_online_look(online);
    return state->weight > 0 ? state->loss / state->weight : NAN;
}

parley_status pl_stream_describe(const parley_settings *settings, const pl_online *online, parley_model *model,
                                 parley_error *error) {
    parley_status status = PARLEY_OK;
    char text[PL_TEXT];
    for (unsigned i = 0; i < pl_settings_count() && status == PARLEY_OK; i++) {
        pl_setting_text(settings, pl_setting_at(i), text, sizeof text);
        if (pl_setting_at(i)->in_model && !(pl_setting_at(i)->commands & (PL_FOR_CHANGE | PL_FOR_TOPICS)) &&
            pl_loss_concerned(pl_linear(model)->loss, pl_setting_at(i)->name))
            status = pl_model_set_meta(model, pl_setting_at(i)->name, text, error);
    }
    const pl_online_state *state = pl_online_look(online);
    unsigned fold_bits = pl_linear(model)->fold_bits;
    snprintf(text, sizeof text, "%u", state->hash_bits ? state->hash_bits : fold_bits);
    if (status == PARLEY_OK && (state->hash_bits || fold_bits))
        status = pl_model_set_meta(model, state->hash_bits ? "hash_bits" : "fold_bits", text, error);
    pl_number_text(pl_stream_loss(online), text, sizeof text);
    if (status == PARLEY_OK)
        status = pl_model_set_meta(model, "progressive_loss", text, error);
    const char *const none[] = {"objective", "dual", "gap"};
    for (unsigned i = 0; i < sizeof none / sizeof *none && status == PARLEY_OK; i++)
        status = pl_model_set_meta(model, none[i], "none", error);
    return status;
}

void pl_stream_record(parley_settings *settings, const pl_method *method, const pl_online *online) {
    const pl_online_state *state = pl_online_look(online);
    pl_linear_settings_in(settings)->lambda =
        isnan(pl_linear_settings_of(settings)->lambda) ? 0.0 : pl_linear_settings_of(settings)->lambda;
    settings->schedule = settings->schedule == PL_ANY ? PL_NORMALISED : settings->schedule;
    if (state->learns)
        pl_linear_settings_in(settings)->loss = state->learns->name;
    settings->local = method->stream->name;
    settings->metric = pl_metric_find(&pl_model_linear, settings->metric)->name;
    settings->workers = settings->lanes = 1;
}

/* Fills in the settings that were auto, and the results. */
static void summarise(stream *stream, unsigned threads) {
    const pl_online_state *state = pl_online_look(stream->online);
    parley_settings *settings = stream->settings;
    pl_description description = {0};
    pl_stream_record(settings, &stream->method, stream->online);
    parley_summary *summary = stream->summary;
    summary->preset = stream->method.preset;
    summary->problem = pl_problem_linear.name;
    summary->local = stream->method.stream->name;
    summary->combine = summary->exchange = "none"; /* a single worker learns, without communication */
    summary->engine = pl_engine_threads.name;      /* a stream is learnt in this process */
    pl_linear_facts(state->learns ? state->learns->name : "none", pl_linear_settings_of(settings)->lambda,
                    pl_linear_settings_of(settings)->l1_ratio, (pl_intercept)pl_linear_settings_of(settings)->intercept,
                    &description);
    pl_describe_number(&description, "progressive_loss", pl_stream_loss(stream->online));
    memcpy(summary->fact, description.facts, sizeof summary->fact);
    summary->facts = description.count;
    summary->rows = state->rows;
    summary->columns = state->columns;
    summary->nonzeros = state->nonzeros;
    summary->workers = summary->lanes = summary->ranks = 1;
    summary->threads = threads;
    summary->seed = settings->seed;
    summary->repeatable = 1;
    summary->rounds = stream->batches;
}

static parley_status run_passes(stream *stream, unsigned threads, parley_model **out, parley_error *error) {
    bool stop = false;
    uint64_t passes = stream->settings->passes;
    stream->summary->stop = PARLEY_PASSED;
    tell_head(stream);
    parley_status status = PARLEY_OK;
    for (uint64_t p = 0; p < passes && !stop && status == PARLEY_OK; p++) {
        status = pass(stream, &stop, error);
        stream->summary->epochs += stop ? 0 : 1;
    }
    if (status != PARLEY_OK)
        return status;
    summarise(stream, threads);
    if (stream->summary->rows == 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "interrupted before the first row was learnt, so there is no model");
    status = pl_online_model(stream->online, out, error);
    if (status == PARLEY_OK)
        status = pl_stream_describe(stream->settings, stream->online, *out, error);
    if (status != PARLEY_OK) {
        parley_model_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status pl_stream_run(const pl_stream_source *source, const parley_settings *settings, unsigned threads,
                            parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                            parley_error *error) {
    parley_summary unused;
    stream stream = {.source = source,
                     .callback = callback,
                     .user = user,
                     .summary = summary ? summary : &unused,
                     .began = pl_now(),
                     .next_told = 1};
    *out = NULL;
    *stream.summary = (parley_summary){.objective = NAN, .dual = NAN, .gap = NAN, .relative_gap = NAN};
    parley_status status = pl_settings_copy(settings, &stream.settings, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_method_resolve(stream.settings, NULL, &stream.method, error);
    if (status == PARLEY_OK)
        status = pl_online_open(stream.settings, &stream.online, error);
    if (status == PARLEY_OK)
        status = run_passes(&stream, threads, out, error);
    pl_online_close(stream.online);
    parley_settings_free(stream.settings);
    return status;
}

typedef struct held {
    const parley_data *data;
    bool passed;
} held;

static parley_status rewind_held(void *of, parley_error *error) {
    (void)error;
    ((held *)of)->passed = false;
    return PARLEY_OK;
}

static parley_status next_held(void *of, const parley_data **batch, parley_error *error) {
    held *held = of;
    (void)error;
    *batch = held->passed ? NULL : held->data;
    held->passed = true;
    return PARLEY_OK;
}

static parley_status learn_held(const parley_data *data, const parley_settings *settings, unsigned threads,
                                parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                                parley_error *error) {
    held held = {data, false};
    pl_stream_source source = {&held, rewind_held, next_held};
    return pl_stream_run(&source, settings, threads, callback, user, out, summary, error);
}

const pl_stream_type pl_stream_online = {
    .name = "online",
    .help = "one step per row of a stream, in order",
    .settings = pl_online_settings,
    .check = pl_online_check,
    .learn = learn_held,
};

typedef struct file {
    const char *path;
    pl_reading reading;
    unsigned threads;
    pl_read_ahead *ahead;
} file;

static parley_status rewind_file(void *of, parley_error *error) {
    file *file = of;
    pl_read_ahead_close(file->ahead);
    return pl_read_ahead_open(file->path, &file->reading, file->threads, &file->ahead, error);
}

static parley_status next_file(void *of, const parley_data **batch, parley_error *error) {
    return pl_read_ahead_next(((file *)of)->ahead, batch, error);
}

parley_status parley_train_stream(const char *path, const parley_settings *settings, parley_callback callback,
                                  void *user, parley_model **out, parley_summary *summary, parley_error *error) {
    *out = NULL;
    parley_status status = pl_train_check(settings, error);
    if (status == PARLEY_OK && !pl_stream_of(settings))
        status = pl_fail(error, PARLEY_BAD_USAGE, "only --preset online can learn from a stream");
    if (status == PARLEY_OK && strcmp(path, "-") == 0 && settings->passes > 1)
        status = pl_fail(error, PARLEY_BAD_USAGE, "standard input can be read only once; use --passes 1, or a file");
    if (status != PARLEY_OK)
        return status;
    pl_stop_enter();
    file file = {.path = path, .threads = settings->threads ? (unsigned)settings->threads : pl_cores()};
    parley_settings *copy;
    status = pl_settings_copy(settings, &copy, error);
    if (status != PARLEY_OK)
        return pl_stop_leave(status);
    pl_setting_forget(copy, "hash_bits"); /* this works for any format: columns that are not hashed are folded */
    status = pl_reading_of(copy, &file.reading, error);
    pl_stream_source source = {&file, rewind_file, next_file};
    if (status == PARLEY_OK)
        status = pl_stream_run(&source, settings, file.threads, callback, user, out, summary, error);
    pl_read_ahead_close(file.ahead);
    parley_settings_free(copy);
    return pl_stop_leave(status);
}
