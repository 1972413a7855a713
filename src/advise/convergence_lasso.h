/* convergence_lasso.h: the logarithm of the gap as a sparse linear function of features of the round i, the workers m
 * and H: i, sqrt i, log i and 1/i, each alone and with m, sqrt m, log m, H and their quotients. Parley's own lasso path
 * fits it. Its strength is the one with the smallest error when whole values of m are left out. */
#ifndef PL_CONVERGENCE_LASSO_H
#define PL_CONVERGENCE_LASSO_H

#include "advise/goal.h"

#define PL_LASSO_FEATURES 32

typedef struct pl_lasso {
    double intercept, weight[PL_LASSO_FEATURES];
    double lambda;
    double error; /* root mean square of the logarithm of the gap, on values of m that were left out */
} pl_lasso;

extern const char *const pl_lasso_name[PL_LASSO_FEATURES];

/* Fits the distance from the goal to the points of the trials, and again without each of the `count` numbers of
 * workers, at the same strength. Returns false if there are too few points, or fewer than three values of m. */
bool pl_lasso_fit(const pl_goal *goal, const pl_trial *const *trials, unsigned trial_count, const unsigned *workers,
                  unsigned count, pl_lasso *out, pl_lasso *without);
/* The smallest prediction up to this round, so that it never rises. */
double pl_lasso_level(const pl_lasso *lasso, double workers, double epochs, double round);
/* Rounds to a level; infinite if it is not reached in a million. */
double pl_lasso_rounds(const pl_lasso *lasso, double workers, double epochs, double level);

#endif
