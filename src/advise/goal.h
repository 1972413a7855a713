/* goal.h: what a planned run is to reach: a relative gap, a relative sub-optimality, or a metric on validation rows.
 * Each is turned into a distance that is above 0 and falls during a run, so one model of convergence serves them all:
 * the gap itself, the objective above the optimum, a metric of which less is better, or 1 minus one of which more is
 * better. */
#ifndef PL_GOAL_H
#define PL_GOAL_H

#include "advise/trial.h"

typedef enum pl_goal_kind { PL_GOAL_GAP, PL_GOAL_SUBOPTIMALITY, PL_GOAL_METRIC } pl_goal_kind;

typedef struct pl_goal {
    pl_goal_kind kind;
    const char *name; /* as in --target-of */
    double target;
    bool larger;           /* larger values of the metric are better */
    double optimum, doubt; /* of a sub-optimality: the optimum relative to the objective at w = 0, and by how much it
                              may be wrong; NaN until an experiment has shown it */
} pl_goal;

/* Reads --target and --target-of, and checks them. */
parley_status pl_goal_open(pl_goal *goal, const parley_settings *settings, parley_error *error);
/* The same goal as a relative gap, for the certificate that a run ends by. */
pl_goal pl_goal_of_gap(double gap);
/* The distance at a point of a run; NaN if it is unknown. */
double pl_goal_distance(const pl_goal *goal, const pl_point_of_run *point);
/* The quantity at a distance, and the logarithm of the distance at the target. */
double pl_goal_value(const pl_goal *goal, double distance);
double pl_goal_level(const pl_goal *goal);
/* The relative gap at which experiments end at the latest. */
double pl_goal_gap(const pl_goal *goal);
/* Rounds after which a run reached the target; NaN if it did not. */
double pl_goal_rounds(const pl_goal *goal, const pl_trial *trial);
/* Learns the optimum from the lowest objective and the highest bound of the experiments. */
void pl_goal_learn(pl_goal *goal, const pl_trials *trials);
/* Fails if an experiment came to the optimum without reaching the target. */
parley_status pl_goal_check(const pl_goal *goal, const pl_trials *trials, parley_error *error);

#endif
