/* network.c: see network.h. */
#include "engine/network.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"

#define MOST_FILE 65536  /* bytes of a file of parameters */
#define MOST_VALUES 1000 /* in it */
#define HEADER 66        /* bytes of frame and protocol headers per packet of PACKET bytes, over Ethernet and TCP */
#define PACKET 1448
#define MOST_RANKS 65536

typedef struct unit {
    const char *name;
    double factor;
} unit;

static double with_unit(const char *word, const unit *units) {
    char *end;
    double number = strtod(word, &end);
    if (end == word || !(number > 0) || !isfinite(number))
        return NAN;
    for (; units->name; units++)
        if (strcmp(end, units->name) == 0)
            return number * units->factor;
    return NAN;
}

double pl_rate_of(const char *word) {
    static const unit units[] = {{"bit", 0.125},  {"Kbit", 125.0}, {"kbit", 125.0}, {"Mbit", 125e3},
                                 {"Gbit", 125e6}, {"Tbit", 125e9}, {NULL, 0}};
    return with_unit(word, units);
}

double pl_duration_of(const char *word) {
    static const unit units[] = {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {NULL, 0}};
    return strcmp(word, "0") == 0 ? 0.0 : with_unit(word, units);
}

static parley_status take_number(const json_t *object, const char *path, const char *name, double *out,
                                 parley_error *error) {
    const json_t *value = json_object_get(object, name);
    double number = json_number_value(value);
    if (!value && !isnan(*out)) /* files of older versions have fewer */
        return PARLEY_OK;
    if (!json_is_number(value) || !(number >= 0) || !isfinite(number))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %s is not a number of 0 or more; let parley probe write the file",
                       path, name);
    *out = number;
    return PARLEY_OK;
}

/* A share for each size of messages, none of which is 0. */
static parley_status take_duplex(const json_t *object, const char *path, double *out, parley_error *error) {
    const json_t *list = json_object_get(object, "duplex");
    for (unsigned i = 0; i < PL_DUPLEX_SIZES; i++) {
        out[i] = json_number_value(json_array_get(list, i));
        if (!(out[i] > 0 && out[i] <= 1) || json_array_size(list) != PL_DUPLEX_SIZES)
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "%s: duplex is not a list of %u shares of 0 to 1; let parley probe write the file", path,
                           PL_DUPLEX_SIZES);
    }
    return PARLEY_OK;
}

static parley_status read_file(const char *path, pl_network *out, parley_error *error) {
    static char text[MOST_FILE]; /* read by one thread, before ranks exist */
    FILE *file = fopen(path, "r");
    json_t *object = NULL;
    parley_error why;
    double ranks = 0;
    if (!file)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--network %.200s: this is no rate, such as 1Gbit or 100Mbit, and no file that can be opened",
                       path);
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    parley_status status = pl_json_parse(text, bytes, MOST_VALUES, 0, &object, &why);
    if (status != PARLEY_OK)
        return pl_fail(error, status, "%s: %s", path, why.sentence);
    const struct {
        const char *name;
        double *at;
    } numbers[] = {{"latency", &out->latency}, {"bandwidth", &out->bandwidth}, {"message", &out->message},
                   {"nonzero", &out->nonzero}, {"entry", &out->entry},         {"burst", &out->burst},
                   {"wake", &out->wake},       {"together", &out->together},   {"ranks", &ranks}};
    out->latency = out->bandwidth = out->message = out->nonzero = out->entry = NAN; /* these must be there */
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers && status == PARLEY_OK; i++)
        status = take_number(object, path, numbers[i].name, numbers[i].at, error);
    out->ranks = ranks <= MOST_RANKS ? (unsigned)ranks : 0;
    out->together = fmax(1.0, out->together);
    if (status == PARLEY_OK && out->bandwidth == 0)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: bandwidth is 0", path);
    if (status == PARLEY_OK)
        status = take_duplex(object, path, out->duplex, error);
    json_decref(object);
    return status;
}

parley_status pl_network_parse(const parley_settings *settings, pl_network *out, parley_error *error) {
    const char *word = settings->network, *latency = settings->latency;
    *out = (pl_network){.latency = 50e-6,
                        .bandwidth = 125e6,
                        .message = 5e-6,
                        .duplex = {1.0, 1.0, 1.0, 1.0, 1.0},
                        .nonzero = 4e-9,
                        .entry = 2e-9,
                        .together = 1.0};
    double rate = pl_rate_of(word);
    parley_status status = PARLEY_OK;
    if (!isnan(rate))
        out->bandwidth = rate * PACKET / (PACKET + HEADER);
    else
        status = read_file(word, out, error);
    if (status == PARLEY_OK && *latency && strcmp(latency, "auto") != 0) {
        out->latency = pl_duration_of(latency);
        if (isnan(out->latency))
            status =
                pl_fail(error, PARLEY_BAD_USAGE, "--latency %.80s: give a duration, such as 50us or 0.2ms", latency);
    }
    return status;
}

double pl_network_noticed(const pl_network *network, double waited) {
    double now = PL_EAGER_SECONDS, nap = PL_LEAST_NAP, longest = PL_MOST_NAP + network->wake;
    if (network->wake == 0 || waited <= now)
        return waited;
    for (; now < waited && nap < PL_MOST_NAP; nap *= PL_NAP_GROWTH)
        now += nap + network->wake;
    return now < waited ? now + ceil((waited - now) / longest) * longest : now;
}

/* Between two sizes, by the logarithm. */
static double duplex_of(const pl_network *network, double bytes) {
    double place = fmax(0.0, log2(fmax(1.0, bytes) / (double)PL_DUPLEX_LEAST) / 2.0);
    unsigned i = place >= PL_DUPLEX_SIZES - 1 ? PL_DUPLEX_SIZES - 2 : (unsigned)place;
    double part = fmin(1.0, place - i);
    return (1.0 - part) * network->duplex[i] + part * network->duplex[i + 1];
}

double pl_network_send(const pl_network *network, pl_link *from, pl_link *to, double bytes, double now) {
    double begins = fmax(now, from->up), length = bytes / network->bandwidth;
    double ahead = network->burst / network->bandwidth, travels = network->latency;
    if (from->down > begins || to->up > begins)
        length /= duplex_of(network, bytes);
    from->up = fmax(now - ahead, from->up) + length;
    to->down = fmax(now + travels - ahead, to->down) + length;
    return fmax(now + travels, fmax(from->up + travels, to->down));
}
