/* replay.c: reads a log back: its settings, the shape and hash of its data, and its rounds. */
#include "train/replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/collective.h"
#include "trace/lines.h"

#define CHUNKS 64 /* of rows that are hashed at a time */

typedef struct hashing {
    const parley_data *data;
    uint64_t sums[CHUNKS];
} hashing;

static uint64_t stir(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_row(const parley_data *data, uint64_t i) {
    const pl_matrix *x = &data->x;
    uint64_t label, weight, hash;
    double one = 1.0;
    memcpy(&label, &data->label[i], sizeof label);
    memcpy(&weight, data->weight ? &data->weight[i] : &one, sizeof weight);
    hash = stir(stir(x->start[i + 1] - x->start[i], label), weight);
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
        float value = x->value ? x->value[e] : 1.0f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        hash = stir(hash, (uint64_t)x->index[e] << 32 | bits);
    }
    return stir(hash, hash >> 32);
}

static void hash_task(void *context, unsigned chunk) {
    hashing *hashing = context;
    uint64_t rows = hashing->data->x.rows, sum = 0;
    for (uint64_t i = rows * chunk / CHUNKS; i < rows * (chunk + 1) / CHUNKS; i++)
        sum += hash_row(hashing->data, i);
    hashing->sums[chunk] = sum;
}

parley_status pl_fingerprint(pl_engine *engine, const parley_data *data, uint64_t *out, parley_error *error) {
    hashing hashing = {.data = data};
    uint64_t sum = 0;
    engine->type->run(engine, hash_task, &hashing, CHUNKS);
    for (unsigned c = 0; c < CHUNKS; c++)
        sum += hashing.sums[c];
    *out = sum;
    if (!pl_is_parted(data)) /* every rank sees all rows */
        return PARLEY_OK;
    double parts[4], sums[4] = {0}; /* 16 bits each, which doubles add exactly */
    for (unsigned p = 0; p < 4; p++)
        parts[p] = (double)(sum >> 16 * p & 0xffff);
    parley_status status = pl_sum_workers(engine, engine->ranks, parts, 4, sums, error);
    *out = 0;
    for (unsigned p = 0; p < 4; p++)
        *out += (uint64_t)sums[p] << 16 * p;
    return status;
}

typedef struct order_pass {
    const pl_team *team;
    const parley_data *data;
    uint64_t *parts; /* hosted x lanes */
} order_pass;

static void order_task(void *context, unsigned task) {
    const order_pass *pass = context;
    const pl_part *part = &pass->team->parts[task];
    uint64_t hash = part->rows;
    for (uint64_t r = 0; r < part->count; r++)
        for (uint64_t i = part->ranges[r].begin; i < part->ranges[r].end; i++)
            hash = stir(hash, hash_row(pass->data, i));
    pass->parts[task] = hash;
}

parley_status pl_order_hash(const pl_team *team, const parley_data *data, uint64_t **out, parley_error *error) {
    order_pass pass = {team, data, NULL};
    parley_status status =
        pl_take(&pass.parts, (uint64_t)team->hosted * team->lanes, sizeof *pass.parts, "hashes of rows", error);
    if (status != PARLEY_OK)
        return status;
    pl_team_run(team, order_task, &pass);
    for (unsigned k = 0; k < team->hosted; k++) {
        uint64_t hash = 0;
        for (unsigned l = 0; l < team->lanes; l++)
            hash = stir(hash, pass.parts[k * team->lanes + l]);
        pass.parts[k] = hash;
    }
    *out = pass.parts;
    return PARLEY_OK;
}

/* A setting that was given must be the log's; one that was not, or is auto, becomes it. */
static parley_status take_setting(parley_settings *settings, const pl_setting *row, const json_t *log,
                                  parley_error *error) {
    char ours[PL_TEXT], flag[48];
    const char *theirs = json_string_value(json_object_get(log, row->name));
    unsigned at = (unsigned)(row - pl_settings);
    theirs = theirs ? theirs : row->initial; /* the log is older than the setting */
    pl_setting_text(settings, row, ours, sizeof ours);
    if (strcmp(ours, theirs) == 0)
        return PARLEY_OK;
    pl_setting_flag(row, flag, sizeof flag);
    if (settings->given[at] && strcmp(ours, "auto") != 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--replay %s: %s is %s here and was %s in that run; leave it out",
                       settings->replay, flag, ours, *theirs ? theirs : "empty");
    parley_status status = pl_setting_set(settings, PL_FOR_TRAIN | PL_FOR_ONE, row->name, theirs, error);
    settings->given[at] = false;
    return status;
}

/* Does the setting decide what a run does? Those that name files are not in the model. */
static bool decides(const pl_setting *row) {
    const char *const others[] = {"seconds", "start", "validation"};
    bool one = row->in_model;
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        one = one || strcmp(row->name, others[i]) == 0;
    return one;
}

static parley_status take_settings(parley_settings *settings, const json_t *log, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < pl_settings_count && status == PARLEY_OK; i++) {
        const pl_setting *row = &pl_settings[i];
        if ((row->commands & (PL_FOR_TRAIN | PL_FOR_ONE)) && decides(row))
            status = take_setting(settings, row, log, error);
    }
    return status;
}

static parley_status check_data(const char *path, const json_t *start, const parley_data *data, uint64_t fingerprint,
                                parley_error *error) {
    const char *const names[] = {"rows", "columns", "nonzeros"};
    const uint64_t ours[] = {pl_all_rows(data), data->x.columns, pl_all_nonzeros(data)};
    for (unsigned i = 0; i < 3; i++) {
        double theirs = pl_line_number(start, names[i]);
        if (theirs != (double)ours[i])
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "--replay %s: that run's data had %.0f %s and these have %" PRIu64 "; give the same data",
                           path, theirs, i == 2 ? "non-zeros" : names[i], ours[i]);
    }
    char text[20];
    snprintf(text, sizeof text, PL_FINGERPRINT, (unsigned long long)fingerprint);
    if (strcmp(text, pl_line_text(start, "fingerprint")) != 0)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "--replay %s: that run's data had the same shape but other labels, weights or values; give the "
                       "same data",
                       path);
    return PARLEY_OK;
}

static parley_status add_round(pl_replay *replay, uint64_t *room, const json_t *line, const char *path,
                               parley_error *error) {
    if (pl_line_number(line, "round") != (double)(replay->rounds + 1))
        return pl_fail(error, PARLEY_BAD_INPUT, "--replay %s: the line after round %" PRIu64 " is not that of the next",
                       path, replay->rounds);
    if (replay->rounds == *room) {
        uint64_t more = 2 * *room + 64;
        double *epochs = pl_realloc(replay->epochs, more, sizeof *epochs);
        replay->epochs = epochs ? epochs : replay->epochs;
        double *objective = epochs ? pl_realloc(replay->objective, more, sizeof *objective) : NULL;
        if (!objective)
            return pl_fail_memory(error, "the log to replay", 2 * more * sizeof *objective);
        replay->objective = objective;
        *room = more;
    }
    replay->epochs[replay->rounds] = pl_line_number(line, "local_epochs");
    replay->objective[replay->rounds++] = pl_line_number(line, "objective");
    return PARLEY_OK;
}

static json_t *next_line(FILE *file, const char *path, parley_status *status, parley_error *error) {
    char name[PL_TEXT + 16];
    snprintf(name, sizeof name, "--replay %s", path);
    return pl_next_line(file, name, status, error);
}

static parley_status read_rounds(pl_replay *replay, FILE *file, const char *path, parley_error *error) {
    parley_status status = PARLEY_OK;
    uint64_t room = 0;
    for (json_t *line; status == PARLEY_OK && !replay->ended && (line = next_line(file, path, &status, error));
         json_decref(line)) {
        const char *event = pl_line_text(line, "event"), *end = pl_line_text(line, "status");
        if (strcmp(event, "round") == 0)
            status = add_round(replay, &room, line, path, error);
        else if (strcmp(event, "stop") == 0) {
            replay->ended = true;
            replay->seconds = strcmp(end, parley_stop_text(PARLEY_SECONDS)) == 0 ||
                              strcmp(end, parley_stop_text(PARLEY_CONVERGED)) == 0;
            replay->interrupted = strcmp(end, parley_stop_text(PARLEY_INTERRUPTED)) == 0;
        }
    }
    return status;
}

parley_status pl_replay_open(pl_replay *replay, parley_settings *settings, const parley_data *data,
                             uint64_t fingerprint, parley_error *error) {
    const char *path = settings->replay;
    parley_status status = PARLEY_OK;
    FILE *file = fopen(path, "r");
    if (!file)
        return pl_fail_file(error, path, "open the log to replay");
    json_t *start = next_line(file, path, &status, error);
    if (status == PARLEY_OK && strcmp(pl_line_text(start, "event"), "start") != 0)
        status =
            pl_fail(error, PARLEY_BAD_INPUT, "--replay %s: not a log of Parley: its first line is no start line", path);
    if (status == PARLEY_OK)
        status = check_data(path, start, data, fingerprint, error);
    if (status == PARLEY_OK)
        status = take_settings(settings, json_object_get(start, "settings"), error);
    json_decref(start);
    if (status == PARLEY_OK)
        status = read_rounds(replay, file, path, error);
    fclose(file);
    return status;
}

void pl_replay_close(pl_replay *replay) {
    pl_free(replay->epochs);
    pl_free(replay->objective);
    *replay = (pl_replay){0};
}
