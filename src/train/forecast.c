/* forecast.c: see forecast.h. */
#include "train/forecast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/memory.h"
#include "trace/lines.h"

#define MOST_BYTES ((uint64_t)16 << 20)
#define MOST_VALUES ((uint64_t)1e6)
#define MOST_POINTS 4096

static parley_status damaged(const char *name, const char *what, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_INPUT, "--plan %s: %s; let parley plan --json write the file", name, what);
}

/* Sets a value that the plan chose, unless the user gave another one. */
static parley_status choose(parley_settings *settings, const char *plan, const char *name, const char *value,
                            parley_error *error) {
    const pl_setting *row = pl_setting_find(name);
    char ours[PL_TEXT], flag[48];
    pl_setting_text(settings, row, ours, sizeof ours);
    pl_setting_flag(row, flag, sizeof flag);
    if (pl_setting_given(settings, name) && strcmp(ours, value) != 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--plan %s chose %s %s, but %s is given; leave one of them out", plan,
                       flag, value, ours);
    return pl_setting_set(settings, 0, name, value, error);
}

static parley_status choose_number(parley_settings *settings, const char *plan, const json_t *choice, const char *key,
                                   const char *name, parley_error *error) {
    char text[40];
    const json_t *value = json_object_get(choice, key);
    if (!json_is_number(value) || json_number_value(value) <= 0)
        return PARLEY_OK; /* the method has no such setting */
    pl_number_text(json_number_value(value), text, sizeof text);
    return choose(settings, plan, name, text, error);
}

static parley_status take_curve(double **out, unsigned *points, const json_t *curve, const char *name,
                                parley_error *error) {
    size_t count = json_array_size(curve);
    if (count == 0 || count > MOST_POINTS)
        return damaged(name, "a method has no predicted curve", error);
    parley_status status = pl_take(out, 3 * count, sizeof **out, "a plan", error);
    for (size_t p = 0; p < count && status == PARLEY_OK; p++) {
        double *point = *out + 3 * p;
        for (size_t i = 0; i < 3; i++)
            point[i] = json_number_value(json_array_get(json_array_get(curve, p), i));
        if (!(point[0] > (p ? point[-3] : 0)) || !(point[2] > 0))
            return damaged(name, "the predicted curve is not in order", error);
        (*points)++;
    }
    return status;
}

static parley_status take_alternatives(pl_forecast *forecast, const json_t *list, const char *name,
                                       parley_error *error) {
    parley_status status = PARLEY_OK;
    for (size_t i = 0; i < json_array_size(list) && i < PL_ALTERNATIVES && status == PARLEY_OK; i++) {
        const json_t *one = json_array_get(list, i);
        pl_alternative *out = &forecast->alternative[forecast->alternatives++];
        *out = (pl_alternative){.epochs = pl_line_number(one, "local_epochs"),
                                .setup = pl_line_number(one, "setup_seconds"),
                                .compute = pl_line_number(one, "compute_seconds"),
                                .exchange = pl_line_number(one, "exchange_seconds"),
                                .workers = (unsigned)fmax(0.0, pl_line_number(one, "workers")),
                                .lanes = (unsigned)fmax(0.0, pl_line_number(one, "lanes"))};
        snprintf(out->preset, sizeof out->preset, "%s", pl_line_text(one, "preset"));
        status = take_curve(&out->curve, &out->count, json_object_get(one, "curve"), name, error);
    }
    return status;
}

double pl_alternative_rounds(const pl_alternative *alternative, double gap) {
    const double *curve = alternative->curve;
    unsigned i = 0;
    while (i < alternative->count && curve[3 * i + 2] > gap * (1 + 1e-9))
        i++;
    if (i == 0 || i == alternative->count)
        return i == 0 ? 0 : INFINITY;
    const double *left = curve + 3 * (i - 1), *right = left + 3;
    return left[0] + (right[0] - left[0]) * log(left[2] / gap) / log(left[2] / right[2]);
}

bool pl_same_method(const pl_alternative *a, const pl_alternative *b) {
    return strcmp(a->preset, b->preset) == 0 && a->workers == b->workers;
}

const pl_alternative *pl_forecast_find(const pl_forecast *forecast, const char *preset, unsigned workers) {
    for (unsigned i = 0; i < forecast->alternatives; i++) {
        const pl_alternative *one = &forecast->alternative[i];
        if (strcmp(one->preset, preset) == 0 && (one->workers ? one->workers : forecast->workers) == workers)
            return one;
    }
    return NULL;
}

bool pl_forecast_paces(const pl_forecast *forecast, const char *preset, unsigned workers) {
    const pl_alternative *first = pl_forecast_find(forecast, preset, workers);
    unsigned count = 0;
    for (unsigned i = 0; i < forecast->alternatives && first; i++)
        count += pl_same_method(&forecast->alternative[i], first) && forecast->alternative[i].epochs > 0;
    return count > 1;
}

parley_status pl_forecast_take(pl_forecast *forecast, const json_t *plan, const char *name, parley_settings *settings,
                               parley_error *error) {
    const json_t *choice = json_object_get(plan, "choice");
    choice = choice ? choice : plan;
    const char *preset = json_string_value(json_object_get(choice, "preset"));
    *forecast = (pl_forecast){.seconds = pl_line_number(choice, "seconds"),
                              .low = pl_line_number(choice, "low"),
                              .high = pl_line_number(choice, "high"),
                              .rounds = pl_line_number(choice, "rounds"),
                              .machines = (unsigned)fmax(1.0, pl_line_number(choice, "machines")),
                              .workers = (unsigned)fmax(0.0, pl_line_number(choice, "workers"))};
    if (!preset || !(forecast->seconds > 0))
        return damaged(name, "there is no choice in it", error);
    parley_status status = choose(settings, name, "preset", preset, error);
    if (status == PARLEY_OK)
        status = choose_number(settings, name, choice, "workers", "workers", error);
    if (status == PARLEY_OK && pl_line_number(choice, "lanes") > 1)
        status = choose_number(settings, name, choice, "lanes", "lanes", error);
    if (status == PARLEY_OK)
        status = choose_number(settings, name, choice, "local_epochs", "local_epochs", error);
    if (status == PARLEY_OK && !pl_setting_given(settings, "gap"))
        status = choose_number(settings, name, choice, "gap", "gap", error);
    if (status == PARLEY_OK)
        status = choose_number(settings, name, choice, "evaluate_every", "evaluate_every", error);
    if (status == PARLEY_OK)
        status = take_curve(&forecast->curve, &forecast->count, json_object_get(choice, "curve"), name, error);
    forecast->epochs = pl_line_number(choice, "local_epochs");
    return status == PARLEY_OK ? take_alternatives(forecast, json_object_get(choice, "alternatives"), name, error)
                               : status;
}

static parley_status read_plan(const char *path, json_t **out, parley_error *error) {
    parley_error why;
    bool opened;
    parley_status status = pl_json_read(path, MOST_BYTES, MOST_VALUES, out, &opened, &why);
    if (status == PARLEY_OK)
        return status;
    return opened && status == PARLEY_BAD_INPUT ? damaged(path, why.sentence, error)
                                                : pl_fail(error, status, "%s", why.sentence);
}

parley_status pl_forecast_open(pl_forecast *forecast, parley_settings *settings, parley_error *error) {
    json_t *plan = NULL;
    *forecast = (pl_forecast){0};
    if (!*settings->plan)
        return PARLEY_OK;
    parley_status status = read_plan(settings->plan, &plan, error);
    if (status == PARLEY_OK)
        status = pl_forecast_take(forecast, plan, settings->plan, settings, error);
    json_decref(plan);
    if (status != PARLEY_OK)
        pl_forecast_close(forecast);
    return status;
}

/* Column `at` of the curve, between its points by the round; beyond them its end. */
static double look_up(const pl_forecast *forecast, double round, unsigned at, bool logarithm) {
    unsigned i = 0;
    if (!forecast->count)
        return NAN;
    while (i < forecast->count && forecast->curve[3 * i] < round)
        i++;
    if (i == 0 || i == forecast->count)
        return i == 0 ? forecast->curve[at] : forecast->curve[3 * (i - 1) + at];
    const double *left = forecast->curve + 3 * (i - 1), *right = left + 3;
    double part = (round - left[0]) / (right[0] - left[0]);
    return logarithm ? left[at] * pow(right[at] / left[at], part) : left[at] + part * (right[at] - left[at]);
}

double pl_forecast_seconds(const pl_forecast *forecast, double round) { return look_up(forecast, round, 1, false); }
double pl_forecast_gap(const pl_forecast *forecast, double round) { return look_up(forecast, round, 2, true); }

void pl_forecast_close(pl_forecast *forecast) {
    for (unsigned i = 0; i < forecast->alternatives; i++)
        pl_free(forecast->alternative[i].curve);
    pl_free(forecast->curve);
    *forecast = (pl_forecast){0};
}
