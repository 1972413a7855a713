/* log.h: the run's log, one JSON object per line. The schema is docs/log.md. */
#ifndef PL_LOG_H
#define PL_LOG_H

#include <stdbool.h>

#include "base/settings.h"
#include "trace/spans.h"

typedef struct pl_log pl_log; /* NULL: no log is kept; every call takes it */

/* Why a round was as long as it was, where H is auto; NaN: not known. */
typedef struct pl_pace_trace {
    const char *why;
    double epoch_seconds, round_seconds;
    double predicted_seconds, seconds;
    double predicted_fall, fall; /* of the logarithm of the gap */
} pl_pace_trace;

typedef struct pl_round_trace {
    uint64_t round;
    double seconds, epochs; /* since training began */
    double sigma, gamma;
    double local_epochs;       /* H; NaN: the solver knows none */
    uint64_t local_steps;      /* the same in steps of a worker; 0 as above */
    const pl_pace_trace *pace; /* NULL: H is not auto */
    bool evaluated;
    double objective, dual, gap, relative_gap; /* of the latest evaluation; NaN: null */
    double validation;                         /* metric of the latest model on validation rows; NaN: no key */
    unsigned first, workers;                   /* numbers of the workers that follow */
    const pl_worker_trace *worker;
    unsigned ranks;
    const pl_rank_trace *rank;
} pl_round_trace;

/* "" gives NULL; "-" standard output. With `round` > 0 a log that has a line for it goes on after that, and `*goes_on`
 * says so: what followed, which will be repeated, is cut off. */
parley_status pl_log_open(const char *path, uint64_t round, pl_log **out, bool *goes_on, parley_error *error);
/* `commands`: PL_FOR_*, the settings that the line has. */
parley_status pl_log_start(pl_log *log, const parley_settings *settings, unsigned commands,
                           const parley_summary *summary, uint64_t fingerprint, unsigned cores, const unsigned *host,
                           parley_error *error);
parley_status pl_log_round(pl_log *log, const pl_round_trace *round, parley_error *error);
parley_status pl_log_stop(pl_log *log, const parley_summary *summary, double seconds, parley_error *error);
void pl_log_close(pl_log *log);

#endif
