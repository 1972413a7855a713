/* forecast.h: what a plan predicts for a run (--plan): its configuration, and its course, which the log sets beside
 * what happens. */
#ifndef PL_FORECAST_H
#define PL_FORECAST_H

#include <jansson.h>

#include "base/settings.h"

#define PL_ALTERNATIVES 64

/* A preset, an H and a number of workers that a plan has measured or predicted. */
typedef struct pl_alternative {
    char preset[32];
    double epochs;                   /* H; NaN if it has none */
    double setup, compute, exchange; /* seconds: once, and of a round */
    unsigned count;
    double *curve;           /* (round, seconds, gap), increasing */
    unsigned workers, lanes; /* 0: those of the choice */
} pl_alternative;

typedef struct pl_forecast {
    double seconds, low, high, rounds; /* to the target */
    unsigned machines;
    unsigned workers; /* of the choice */
    unsigned count;
    double *curve; /* (round, seconds, gap), increasing; NULL: there is no plan */
    double epochs; /* the H of the choice; NaN if it has none */
    pl_alternative
        alternative[PL_ALTERNATIVES]; /* the choice first; of each preset and number of workers the best H first */
    unsigned alternatives;
} pl_forecast;

/* Reads the plan that the settings name, and sets what it chose. Fails if the user gave something else. */
parley_status pl_forecast_open(pl_forecast *forecast, parley_settings *settings, parley_error *error);
/* The same from JSON: a plan, or its choice alone. `name` begins the sentences of failures. */
parley_status pl_forecast_take(pl_forecast *forecast, const json_t *plan, const char *name, parley_settings *settings,
                               parley_error *error);
/* The prediction for the end of a round; NaN if there is none. */
double pl_forecast_seconds(const pl_forecast *forecast, double round);
double pl_forecast_gap(const pl_forecast *forecast, double round);
/* Rounds of a method to a gap; infinite if its curve does not get there. */
double pl_alternative_rounds(const pl_alternative *alternative, double gap);
/* The best H of a preset with so many workers, or NULL; and whether the plan has several H of it. */
const pl_alternative *pl_forecast_find(const pl_forecast *forecast, const char *preset, unsigned workers);
bool pl_forecast_paces(const pl_forecast *forecast, const char *preset, unsigned workers);
/* Whether both have the same preset and as many workers, so that they differ in H only. */
bool pl_same_method(const pl_alternative *a, const pl_alternative *b);
void pl_forecast_close(pl_forecast *forecast);

#endif
