/* replay.c: reads a log: its settings, the shape and hash of its data, and its rounds. */
#include "train/replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shard/fingerprint.h"
#include "trace/lines.h"

#define MOST_EPOCHS 1e18 /* in a round, as many as the settings allow */

/* A given setting must agree with the log; one that is not given, or auto, is taken from the log. */
static parley_status take_setting(parley_settings *settings, const pl_setting *row, const json_t *log,
                                  parley_error *error) {
    char ours[PL_TEXT], flag[48];
    const json_t *value = json_object_get(log, row->name);
    const char *theirs = json_string_value(value);
    unsigned at = pl_setting_number(row);
    theirs = theirs ? theirs : row->initial; /* the log is older than the setting */
    if (value && !json_is_string(value))
        return pl_fail(error, PARLEY_BAD_INPUT, "--replay %s: the setting %s is not a text; the log is damaged",
                       settings->replay, row->name);
    pl_setting_text(settings, row, ours, sizeof ours);
    if (strcmp(ours, theirs) == 0)
        return PARLEY_OK;
    pl_setting_flag(row, flag, sizeof flag);
    if (settings->given[at] && strcmp(ours, "auto") != 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--replay %s: %s is %s, but it was %s in that run; leave it out",
                       settings->replay, flag, ours, *theirs ? theirs : "empty");
    parley_status status = pl_setting_set(settings, 0, row->name, theirs, error);
    settings->given[at] = false;
    return status;
}

/* Whether the setting influences a run. Settings that name files are not in the model. */
static bool decides(const pl_setting *row) {
    const char *const others[] = {"seconds", "start", "validation"};
    bool one = row->in_model;
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        one = one || strcmp(row->name, others[i]) == 0;
    return one;
}

static parley_status take_settings(parley_settings *settings, const json_t *log, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < pl_settings_count() && status == PARLEY_OK; i++) {
        const pl_setting *row = pl_setting_at(i);
        if (decides(row))
            status = take_setting(settings, row, log, error);
    }
    return status;
}

/* Logs that do not name their problem are of linear models. */
static parley_status check_problem(const parley_settings *settings, const json_t *start, parley_error *error) {
    const char *theirs = pl_line_text(start, "problem");
    theirs = *theirs ? theirs : pl_setting_find("problem")->initial;
    if (strcmp(theirs, settings->problem) != 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "--replay %s: that run solved problem %s, but this one solves %s",
                       settings->replay, theirs, settings->problem);
    return PARLEY_OK;
}

static parley_status check_data(const char *path, const json_t *start, const parley_data *data, uint64_t fingerprint,
                                parley_error *error) {
    const char *const names[] = {"rows", "columns", "nonzeros"};
    const uint64_t ours[] = {pl_all_rows(data), data->x.columns, pl_all_nonzeros(data)};
    for (unsigned i = 0; i < 3; i++) {
        double theirs = pl_line_number(start, names[i]);
        if (theirs != (double)ours[i])
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "--replay %s: the data of that run had %.0f %s, but these have %" PRIu64
                           "; give the same data",
                           path, theirs, i == 2 ? "non-zeros" : names[i], ours[i]);
    }
    char text[20];
    snprintf(text, sizeof text, PL_FINGERPRINT, (unsigned long long)fingerprint);
    if (strcmp(text, pl_line_text(start, "fingerprint")) != 0)
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "--replay %s: the data of that run had the same shape but other labels, weights or values; give the "
            "same data",
            path);
    return PARLEY_OK;
}

/* H of a round: a number of epochs, or null if the solver has none. */
static parley_status take_epochs(const pl_replay *replay, const json_t *line, const parley_settings *settings,
                                 double *epochs, parley_error *error) {
    const json_t *value = json_object_get(line, "local_epochs");
    *epochs = pl_line_number(line, "local_epochs");
    if (value && !json_is_null(value) && !(*epochs > 0 && *epochs <= MOST_EPOCHS))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "--replay %s: local_epochs of round %" PRIu64
                       " is not a number above 0 and up to %g; the log is damaged",
                       settings->replay, replay->rounds + 1, MOST_EPOCHS);
    return PARLEY_OK;
}

/* A number of workers or lanes; 0 if there is none. */
static unsigned count_of(const json_t *line, const char *key) {
    double number = pl_line_number(line, key);
    return number >= 1 && number <= UINT16_MAX ? (unsigned)number : 0;
}

static parley_status add_round(pl_replay *replay, uint64_t *room, const json_t *line, const parley_settings *settings,
                               parley_error *error) {
    if (pl_line_number(line, "round") != (double)(replay->rounds + 1))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "--replay %s: the line after round %" PRIu64 " is not the next round's; the log is damaged",
                       settings->replay, replay->rounds);
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
    parley_status status = take_epochs(replay, line, settings, &replay->epochs[replay->rounds], error);
    replay->objective[replay->rounds++] = pl_line_number(line, "objective");
    const json_t *adapt = json_object_get(line, "adapt");
    const char *preset = adapt ? pl_line_text(adapt, "preset") : "";
    if (*preset && replay->changes < PL_REPLAY_CHANGES) {
        pl_replay_change *change = &replay->change[replay->changes++];
        *change = (pl_replay_change){
            .round = replay->rounds, .workers = count_of(adapt, "workers"), .lanes = count_of(adapt, "lanes")};
        snprintf(change->preset, sizeof change->preset, "%s", preset);
    }
    return status;
}

static parley_status read_rounds(pl_replay *replay, pl_lines *lines, const parley_settings *settings,
                                 parley_error *error) {
    parley_status status = PARLEY_OK;
    uint64_t room = 0;
    for (json_t *line; status == PARLEY_OK && !replay->ended && (line = pl_lines_next(lines, &status, error));
         json_decref(line)) {
        const char *event = pl_line_text(line, "event"), *end = pl_line_text(line, "status");
        if (strcmp(event, "round") == 0)
            status = add_round(replay, &room, line, settings, error);
        else if (strcmp(event, "stop") == 0) {
            replay->ended = true;
            replay->seconds = strcmp(end, parley_stop_text(PARLEY_SECONDS)) == 0 ||
                              strcmp(end, parley_stop_text(PARLEY_CONVERGED)) == 0 ||
                              strcmp(end, parley_stop_text(PARLEY_VALIDATED)) == 0;
            replay->interrupted = strcmp(end, parley_stop_text(PARLEY_INTERRUPTED)) == 0;
        }
    }
    return status;
}

parley_status pl_replay_read(pl_replay *replay, FILE *file, parley_settings *settings, const parley_data *data,
                             uint64_t fingerprint, parley_error *error) {
    const char *path = settings->replay;
    char name[PL_TEXT + 16];
    parley_status status = PARLEY_OK;
    pl_lines lines = {.file = file, .name = name};
    snprintf(name, sizeof name, "--replay %s", path);
    json_t *start = pl_lines_next(&lines, &status, error);
    if (status == PARLEY_OK && strcmp(pl_line_text(start, "event"), "start") != 0)
        status =
            pl_fail(error, PARLEY_BAD_INPUT, "--replay %s: not a Parley log: its first line is not a start line", path);
    if (status == PARLEY_OK)
        status = check_problem(settings, start, error);
    if (status == PARLEY_OK)
        status = check_data(path, start, data, fingerprint, error);
    if (status == PARLEY_OK)
        status = take_settings(settings, json_object_get(start, "settings"), error);
    json_decref(start);
    if (status == PARLEY_OK)
        status = read_rounds(replay, &lines, settings, error);
    pl_lines_close(&lines);
    return status;
}

parley_status pl_replay_open(pl_replay *replay, parley_settings *settings, const parley_data *data,
                             uint64_t fingerprint, parley_error *error) {
    FILE *file = fopen(settings->replay, "r");
    if (!file)
        return pl_fail_file(error, settings->replay, "open the log to replay");
    parley_status status = pl_replay_read(replay, file, settings, data, fingerprint, error);
    fclose(file);
    return status;
}

const pl_replay_change *pl_replay_changed(const pl_replay *replay, uint64_t round) {
    for (unsigned i = 0; i < replay->changes; i++)
        if (replay->change[i].round == round)
            return &replay->change[i];
    return NULL;
}

void pl_replay_close(pl_replay *replay) {
    pl_free(replay->epochs);
    pl_free(replay->objective);
    *replay = (pl_replay){0};
}
