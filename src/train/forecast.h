/* forecast.h: what a plan predicts for a run (--plan): its configuration, and its course, which the log sets beside
 * what happens. */
#ifndef PL_FORECAST_H
#define PL_FORECAST_H

#include <jansson.h>

#include "base/settings.h"

typedef struct pl_forecast {
    double seconds, low, high, rounds; /* to the target */
    unsigned machines;
    unsigned count;
    double *curve; /* (round, seconds, gap), increasing; NULL: there is no plan */
} pl_forecast;

/* Reads the plan that the settings name, and sets what it chose. Fails if the user gave something else. */
parley_status pl_forecast_open(pl_forecast *forecast, parley_settings *settings, parley_error *error);
/* The same from JSON: a plan, or its choice alone. `name` begins the sentences of failures. */
parley_status pl_forecast_take(pl_forecast *forecast, const json_t *plan, const char *name, parley_settings *settings,
                               parley_error *error);
/* The prediction for the end of a round; NaN if there is none. */
double pl_forecast_seconds(const pl_forecast *forecast, double round);
double pl_forecast_gap(const pl_forecast *forecast, double round);
void pl_forecast_close(pl_forecast *forecast);

#endif
