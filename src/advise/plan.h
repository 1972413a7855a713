/* plan.h: the advisor: which preset, how many workers and which H reach a target soonest, how long that takes, and how
 * sure the answer is. It measures some configurations for a while, fits two models, and predicts all of them:
 *
 *   seconds(m) = setup(m) + rounds(target, m) x seconds of a round(m)
 *
 * system_model.h has the seconds of a round, and convergence.h the rounds. */
#ifndef PL_PLAN_H
#define PL_PLAN_H

#include "advise/convergence.h"
#include "advise/system_model.h"

#define PL_PLAN_GROUPS 32  /* presets x H */
#define PL_PLAN_WORKERS 64 /* candidates for the number of workers */

/* What to plan. */
typedef struct pl_plan_task {
    pl_goal goal;        /* what to reach; with a budget, experiments end there */
    double budget;       /* seconds; 0: reach the target as soon as possible */
    double price;        /* of a machine for an hour; 0: unknown */
    double share, floor; /* experiments may cost this share of the predicted run, and these seconds in any case */
    double worker[PL_PLAN_WORKERS]; /* candidates, increasing */
    unsigned workers;
    bool machines;  /* every worker has a machine of its own, */
    unsigned hosts; /* processes that measure together; with one, machines are simulated */
    double sample;  /* share of the rows on which convergence is measured; 0: as the budget allows */
    char preset[PL_PLAN_GROUPS][PL_PRESET_NAME];
    unsigned presets;
    bool named; /* the user named the presets: one that cannot solve the problem is an error */
} pl_plan_task;

/* One preset and one H. */
typedef struct pl_group {
    pl_configuration of;        /* without workers and lanes */
    unsigned order;             /* simpler ones first */
    bool dropped;               /* too slow to go on measuring it */
    pl_convergence convergence; /* to the goal */
    pl_convergence gaps;        /* the same as relative gaps, if that is not the goal */
    pl_lasso *without;
    const pl_lasso *without_at[PL_MOST_CURVES];
    pl_system_model *system; /* of its preset */
} pl_group;

typedef struct pl_plan_row {
    pl_configuration of;
    double seconds, low, high; /* to the target or, with a budget, within it */
    double distance;           /* from the goal, that is reached then */
    double gap;                /* the relative gap then */
    double rounds, round_seconds, setup, bytes, cost;
    double round_ratio; /* rounds on all rows for one on the sample */
    unsigned machines;  /* that it takes */
    bool measured;      /* this number of workers was measured, and reached the target */
    bool extrapolated;  /* the nearest experiments ended before the target */
    const pl_group *group;
} pl_plan_row;

typedef struct pl_plan {
    pl_plan_task task;
    pl_trials trials; /* those of the cache as well */
    unsigned cached;  /* how many came from there */
    unsigned runs;    /* experiments that were made */
    double spent;     /* seconds that they took */
    bool interrupted;
    uint64_t evaluate_every; /* rounds between evaluations in experiments; 0: auto */
    char system[192];
    double modelled, bandwidth; /* see pl_laboratory; bytes per second of a link, or 0 */
    double shift;               /* of the logarithm of rounds, from the sample to all rows */
    bool compared;              /* it is known from curves; otherwise 0 */
    bool scaled;                /* no round was timed on all rows, so times follow from the sample */
    pl_group group[PL_PLAN_GROUPS];
    unsigned groups;
    pl_system_model systems[PL_PLAN_GROUPS]; /* by preset */
    pl_lasso lasso[PL_PLAN_GROUPS];
    bool has_lasso[PL_PLAN_GROUPS];
    pl_plan_row *row; /* the choice first, then by time */
    unsigned rows;
    double band_workers, band_ahead, band_noise; /* half widths, of the logarithm of seconds */
} pl_plan;

typedef void (*pl_plan_tell)(void *user, const char *sentence);

/* Fills in candidates from the settings, and checks all that can be checked before data are read. `hosts` processes
 * measure together. */
parley_status pl_plan_open(pl_plan **out, const parley_settings *settings, unsigned hosts, parley_error *error);
/* Adds a preset and an H; simpler ones have a smaller `order`. */
void pl_plan_add_group(pl_plan *plan, const char *preset, double epochs, unsigned order);
/* The share of the rows to measure convergence on: --sample or, for large data, what leaves each experiment enough
 * passes. */
double pl_plan_sample(const pl_plan *plan, const parley_data *data);
/* Where experiments are kept: a file, "" for none, and the problem that they belong to (trial_file.h). */
typedef struct pl_plan_cache {
    const char *path, *key;
} pl_plan_cache;
/* Measures, fits and chooses. A request to stop ends the measuring, and what was measured decides. `sample` may be
 * NULL.
 */
parley_status pl_plan_make(pl_plan *plan, const pl_laboratory *all, const pl_laboratory *sample,
                           const pl_plan_cache *cache, pl_plan_tell tell, void *user, parley_error *error);
void pl_plan_close(pl_plan *plan);

/* plan_models.c: whether an experiment counts, by the rows that it ran on; fits the models to the trials; predicts,
 * with a band; chooses. */
bool pl_plan_uses(const pl_plan *plan, const pl_trial *trial);
parley_status pl_plan_fit(pl_plan *plan, double size, parley_error *error);
void pl_plan_predict(const pl_plan *plan, const pl_group *group, double workers, pl_plan_row *row);
parley_status pl_plan_choose(pl_plan *plan, parley_error *error);
/* The predicted course of a configuration, for the log and the page: up to PL_PLAN_CURVE points (round, seconds, gap).
 * Returns their number. */
#define PL_PLAN_CURVE 64
unsigned pl_plan_draw(const pl_plan_row *row, double *curve);
void pl_plan_forget(pl_plan *plan); /* frees what pl_plan_fit made */

#endif
