/* trial.h: an experiment of the advisor: the beginning of a real run with one configuration, and what it showed. */
#ifndef PL_TRIAL_H
#define PL_TRIAL_H

#include "train/train.h"

#define PL_PRESET_NAME 32
#define PL_TRIAL_POINTS 512 /* most points that are kept of a run */

/* What is chosen between. */
typedef struct pl_configuration {
    char preset[PL_PRESET_NAME];
    unsigned workers; /* each on a machine of its own, if machines are simulated */
    unsigned lanes;   /* of a worker; 0: chosen by the run */
    double epochs;    /* H; NaN: the method has none */
} pl_configuration;

/* A point of a run: an evaluation, or the solvers' own estimate of the gap. */
typedef struct pl_point_of_run {
    double round, gap; /* the gap is relative */
    bool estimated;
    double objective; /* relative to the one at w = 0; NaN if it is unknown */
    double metric;    /* on validation rows; NaN if there are none */
} pl_point_of_run;

typedef struct pl_trial {
    pl_configuration of;
    char system[192]; /* the machines that it ran on, as a key: their timings are comparable */
    double sample;    /* share of the rows that it ran on */
    double target;    /* relative gap that ended it, if it was reached */
    bool reached;
    double rounds, setup, round_seconds; /* the first round's extra time is part of the setup */
    double exchange;                     /* seconds of a round that are not local work or evaluation */
    double bytes;                        /* that a worker sends in a round */
    double spread;                       /* of the seconds of rounds without evaluation: the logarithm of their 90 %
                                            quantile over their median, or of wall-clock over processor seconds if
                                            that is more; NaN if neither is known */
    double cost;                         /* seconds of this machine that it took */
    unsigned count;
    pl_point_of_run *points;
} pl_trial;

typedef struct pl_trials {
    pl_trial *list;
    unsigned count, room;
} pl_trials;

/* Takes over the points of the trial. */
parley_status pl_trials_add(pl_trials *trials, const pl_trial *trial, parley_error *error);
void pl_trials_close(pl_trials *trials);
/* Whether both are the same, except lanes that one of them leaves open. */
bool pl_same_configuration(const pl_configuration *a, const pl_configuration *b);

/* Fills in the settings of a configuration; with engine sim every worker has a host. */
parley_status pl_configure(parley_settings *settings, const pl_configuration *of, parley_error *error);

/* On what experiments run. */
typedef struct pl_laboratory {
    const parley_data *data;
    const parley_settings *settings;
    double sample;     /* share of all rows that the data have */
    double modelled;   /* seconds that a non-zero costs, from which the cost of an experiment follows instead of the
                          clock; 0: the clock */
    pl_engine *engine; /* ranks that are there, whose first one orders the experiments; NULL: each opens an engine */
} pl_laboratory;

/* When an experiment ends, at the latest. A signal ends it, too. */
typedef struct pl_trial_end {
    const struct pl_goal *goal; /* goal.h */
    double most;                /* seconds that it may cost */
    uint64_t rounds;            /* 0: no limit */
} pl_trial_end;

/* Runs a configuration for a while. What was measured until its end counts. Each simulated host reads its own part of
 * the rows, as on a real cluster. */
parley_status pl_trial_run(const pl_laboratory *laboratory, const pl_configuration *of, const pl_trial_end *end,
                           pl_trial *out, parley_error *error);
/* On the other ranks of an engine: takes part in the experiments that the first one orders, until it dismisses them.
 * `sample` may be NULL. */
parley_status pl_trials_join(const pl_laboratory *all, const pl_laboratory *sample, parley_error *error);
parley_status pl_trials_dismiss(pl_engine *engine, parley_error *error);

#endif
