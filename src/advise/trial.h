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
} pl_point_of_run;

typedef struct pl_trial {
    pl_configuration of;
    char system[192]; /* the machines that it ran on, as a key: their timings are comparable */
    double target;    /* relative gap that ended it, if it was reached */
    bool reached;
    double rounds, setup, round_seconds; /* the first round's extra time is part of the setup */
    double exchange;                     /* seconds of a round that are not local work or evaluation */
    double bytes;                        /* that a worker sends in a round */
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
/* Runs a configuration until its target is reached, it has cost `most` seconds, it has made `rounds` rounds (0: no
 * limit), or a signal asks to stop. What was
 * measured by then counts. `modelled` > 0: seconds that a non-zero costs, from which the cost follows instead of the
 * clock. Each simulated host reads its own part of the rows, as on a real cluster. */
parley_status pl_trial_run(const parley_data *data, const parley_settings *settings, const pl_configuration *of,
                           double target, double most, double modelled, uint64_t rounds, pl_trial *out,
                           parley_error *error);

#endif
