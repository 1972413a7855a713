/* trial_file.c: see trial_file.h. */
#include "advise/trial_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/json_memory.h"
#include "base/json_values.h"
#include "data/file.h"
#include "shard/fingerprint.h"
#include "trace/lines.h"

#define FORMAT "parley-experiments"
#define MOST_BYTES ((uint64_t)64 << 20)
#define MOST_VALUES ((uint64_t)4e6)
#define ENDING ".experiments.json"

/* Settings that a plan chooses, or that end a run without changing its course. */
static bool is_chosen(const char *name) {
    static const char *const names[] = {"preset",      "workers", "lanes",  "local_epochs",
                                        "local_steps", "gap",     "rounds", "metric"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static uint64_t hash_text(uint64_t hash, const char *text) { /* FNV-1a */
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    return hash;
}

static uint64_t hash_settings(const parley_settings *settings) {
    uint64_t hash = hash_text(14695981039346656037u, settings->validation);
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        char text[PL_TEXT];
        if (!pl_setting_at(i)->in_model || is_chosen(pl_setting_at(i)->name))
            continue;
        pl_setting_text(settings, pl_setting_at(i), text, sizeof text);
        hash = (hash_text(hash, text) ^ i) * 1099511628211u;
    }
    return hash;
}

parley_status pl_problem_key(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                             char key[PL_PROBLEM_KEY], parley_error *error) {
    pl_engine *own = NULL;
    uint64_t fingerprint = 0;
    parley_status status =
        engine ? PARLEY_OK : pl_threads_open(&own, 1, (unsigned)settings->threads, settings->deadline, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_fingerprint(engine ? engine : own, data, &fingerprint, error);
    if (own)
        pl_engine_close(own);
    snprintf(key, PL_PROBLEM_KEY, "%016llx-%016llx", (unsigned long long)fingerprint,
             (unsigned long long)hash_settings(settings));
    return status;
}

void pl_trials_path(const char *data, char *path, size_t size) {
    bool fits = strcmp(data, "-") != 0 && snprintf(path, size, "%s%s", data, ENDING) < (int)size;
    if (!fits)
        *path = '\0';
}

/* The whole file; a new object if there is none, or none that can be used. */
static json_t *read_file(const char *path) {
    json_t *object = NULL;
    bool opened;
    if (*path)
        pl_json_read(path, MOST_BYTES, MOST_VALUES, &object, &opened, NULL);
    const char *format = pl_line_text(object, "format");
    if (strcmp(format, FORMAT) == 0 && json_is_object(json_object_get(object, "problems")))
        return object;
    json_decref(object);
    object = json_object();
    json_object_set_new(object, "format", json_string(FORMAT));
    json_object_set_new(object, "problems", json_object());
    return object;
}

/* Replaces the file, so that a killed plan leaves the old one. */
static parley_status write_file(const char *path, json_t *object, parley_error *error) {
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    pl_file *file = NULL;
    json_decref(object);
    parley_status status =
        text ? pl_file_open(path, PL_NOT_COMPRESSED, &file, error) : pl_fail_memory(error, "experiments", MOST_BYTES);
    if (status == PARLEY_OK)
        status = pl_file_write(file, text, strlen(text), error);
    pl_json_free(text);
    return pl_file_close(file, status, error);
}

/* The object of a problem, which is made if it is not there. */
static json_t *problem_of(json_t *file, const char *key) {
    json_t *problems = json_object_get(file, "problems");
    if (!json_is_object(json_object_get(problems, key)))
        json_object_set_new(problems, key, json_object());
    return json_object_get(problems, key);
}

static json_t *json_trial(const pl_trial *trial) {
    json_t *object = json_object(), *points = json_array();
    for (unsigned p = 0; p < trial->count; p++) {
        json_t *point = json_array();
        json_array_append_new(point, pl_json_real(trial->points[p].round));
        json_array_append_new(point, pl_json_real(trial->points[p].gap));
        json_array_append_new(point, json_boolean(trial->points[p].estimated));
        json_array_append_new(point, pl_json_real(trial->points[p].objective));
        json_array_append_new(point, pl_json_real(trial->points[p].metric));
        json_array_append_new(points, point);
    }
    json_object_set_new(object, "preset", json_string(trial->of.preset));
    json_object_set_new(object, "workers", json_integer(trial->of.workers));
    json_object_set_new(object, "lanes", json_integer(trial->of.lanes));
    json_object_set_new(object, "local_epochs", pl_json_real(trial->of.epochs));
    json_object_set_new(object, "system", json_string(trial->system));
    json_object_set_new(object, "sample", pl_json_real(trial->sample));
    json_object_set_new(object, "target", pl_json_real(trial->target));
    json_object_set_new(object, "reached", json_boolean(trial->reached));
    json_object_set_new(object, "rounds", pl_json_real(trial->rounds));
    json_object_set_new(object, "setup", pl_json_real(trial->setup));
    json_object_set_new(object, "round_seconds", pl_json_real(trial->round_seconds));
    json_object_set_new(object, "exchange", pl_json_real(trial->exchange));
    json_object_set_new(object, "spread", pl_json_real(trial->spread));
    json_object_set_new(object, "bytes", pl_json_real(trial->bytes));
    json_object_set_new(object, "cost", pl_json_real(trial->cost));
    json_object_set_new(object, "points", points);
    return object;
}

static double number_at(const json_t *list, size_t place) {
    const json_t *value = json_array_get(list, place);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Reads an experiment. One that is damaged has no points. */
static parley_status take_trial(const json_t *object, pl_trial *out, parley_error *error) {
    const json_t *points = json_object_get(object, "points");
    size_t count = json_array_size(points);
    *out = (pl_trial){.of = {.workers = (unsigned)fmax(1, pl_line_number(object, "workers")),
                             .lanes = (unsigned)fmax(0, pl_line_number(object, "lanes")),
                             .epochs = pl_line_number(object, "local_epochs")},
                      .sample = json_object_get(object, "sample") ? pl_line_number(object, "sample") : 1.0,
                      .target = pl_line_number(object, "target"),
                      .reached = json_is_true(json_object_get(object, "reached")),
                      .rounds = pl_line_number(object, "rounds"),
                      .setup = pl_line_number(object, "setup"),
                      .round_seconds = pl_line_number(object, "round_seconds"),
                      .exchange = pl_line_number(object, "exchange"),
                      .spread = pl_line_number(object, "spread"),
                      .bytes = pl_line_number(object, "bytes"),
                      .cost = pl_line_number(object, "cost")};
    snprintf(out->of.preset, sizeof out->of.preset, "%s", pl_line_text(object, "preset"));
    snprintf(out->system, sizeof out->system, "%s", pl_line_text(object, "system"));
    count = count < PL_TRIAL_POINTS ? count : PL_TRIAL_POINTS;
    parley_status status = pl_take(&out->points, count + 1, sizeof *out->points, "experiments", error);
    for (size_t p = 0; p < count && status == PARLEY_OK; p++) {
        const json_t *point = json_array_get(points, p);
        pl_point_of_run one = {number_at(point, 0), number_at(point, 1), json_is_true(json_array_get(point, 2)),
                               number_at(point, 3), number_at(point, 4)};
        if (one.round >= 1 && one.gap > 0)
            out->points[out->count++] = one;
    }
    return status;
}

parley_status pl_trials_load(pl_trials *trials, const char *path, const char *key, parley_error *error) {
    json_t *file = read_file(path), *list = json_object_get(problem_of(file, key), "trials");
    parley_status status = PARLEY_OK;
    for (size_t t = 0; t < json_array_size(list) && status == PARLEY_OK; t++) {
        pl_trial trial;
        status = take_trial(json_array_get(list, t), &trial, error);
        if (status == PARLEY_OK)
            status = pl_trials_add(trials, &trial, error);
    }
    json_decref(file);
    return status;
}

parley_status pl_trials_save(const pl_trials *trials, const char *path, const char *key, parley_error *error) {
    json_t *file = read_file(path), *list = json_array();
    for (unsigned t = 0; t < trials->count; t++)
        json_array_append_new(list, json_trial(&trials->list[t]));
    json_object_set_new(problem_of(file, key), "trials", list);
    return write_file(path, file, error);
}

parley_status pl_choice_save(const char *path, const char *key, json_t *choice, parley_error *error) {
    json_t *file = read_file(path);
    json_object_set_new(problem_of(file, key), "choice", choice);
    return write_file(path, file, error);
}

json_t *pl_choice_load(const char *path, const char *key) {
    json_t *file = read_file(path), *choice = json_object_get(problem_of(file, key), "choice");
    json_incref(choice);
    json_decref(file);
    return choice;
}
