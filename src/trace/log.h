/* log.h: the log of a run, one JSON object per line. docs/log.md has the schema. */
#ifndef PL_LOG_H
#define PL_LOG_H

#include <jansson.h>
#include <stdbool.h>

#include "base/settings.h"
#include "trace/spans.h"

typedef struct pl_log pl_log; /* NULL if no log is kept, which every call accepts */

/* Why H of a round was chosen, if H is auto; NaN if unknown. */
typedef struct pl_pace_trace {
    const char *why;
    double epoch_seconds, round_seconds;
    double predicted_seconds, seconds;
    double predicted_fall, fall; /* decrease of the logarithm of the gap */
} pl_pace_trace;

/* What a plan predicted for the end of this round. */
typedef struct pl_plan_trace {
    double seconds, gap; /* the gap is relative; NaN if unknown */
} pl_plan_trace;

/* Why the run goes on as another preset or with other workers after this round: seconds of the rest as it is, of the
 * rest after the change, and of the change. */
typedef struct pl_adapt_trace {
    const char *preset;
    unsigned workers, lanes;
    double left, predicted, cost;
} pl_adapt_trace;

typedef struct pl_round_trace {
    uint64_t round;
    double seconds, epochs; /* since training began */
    double sigma, gamma;
    double local_epochs;         /* H; NaN if the solver has none */
    uint64_t local_steps;        /* H in steps of a worker; 0 if the solver has none */
    const pl_pace_trace *pace;   /* NULL: H is not auto */
    const pl_adapt_trace *adapt; /* NULL: preset and workers stay */
    const pl_plan_trace *plan;   /* NULL: there is none, or the round was not evaluated */
    bool evaluated;
    double objective, dual, gap, relative_gap; /* NaN is written as null, as in rounds that are not evaluated */
    double estimate;                           /* of the relative gap; NaN: the key is left out */
    double validation;                         /* metric on validation rows; NaN: the key is left out */
    unsigned workers;
    const pl_worker_trace *worker;
    unsigned ranks;
    const pl_rank_trace *rank;
} pl_round_trace;

/* A look of the coordinator between two parks. */
typedef struct pl_view_trace {
    uint64_t round, clock; /* the round that is being made; the clocks that all workers have made */
    double seconds;        /* since training began */
    double validation;     /* the metric on validation rows */
} pl_view_trace;

/* Opens a log. "" gives NULL, and "-" is standard output. With `round` > 0, a log that has a line for this round is
 * continued after it, `*goes_on` is set, and the following lines, which will be repeated, are cut off. */
parley_status pl_log_open(const char *path, uint64_t round, pl_log **out, bool *goes_on, parley_error *error);
/* `commands` is PL_FOR_*, which selects the settings in the line. `host` has the host of each rank; NULL: all are on
 * one or, if they are scattered, each has its own. */
parley_status pl_log_start(pl_log *log, const parley_settings *settings, unsigned commands,
                           const parley_summary *summary, uint64_t fingerprint, unsigned cores, const unsigned *host,
                           bool scattered, parley_error *error);
parley_status pl_log_round(pl_log *log, const pl_round_trace *round, parley_error *error);
parley_status pl_log_view(pl_log *log, const pl_view_trace *view, parley_error *error);
/* Takes over `plan`, an object with what was predicted, or NULL. */
parley_status pl_log_stop(pl_log *log, const parley_summary *summary, double seconds, json_t *plan,
                          parley_error *error);
/* Writes a line about the model. Takes over `shown`, an object of what the model shows; NULL: memory ran out. */
parley_status pl_log_model(pl_log *log, json_t *shown, parley_error *error);
void pl_log_close(pl_log *log);

#endif
