/* system_model.h: seconds of a round with m workers and H, of one preset on one kind of machines:
 *
 *   f(m, H) = theta . (1, H size/m, size/m, log2 m, ceil log2 m, m, bytes/bandwidth)
 *
 * with theta >= 0 by least squares of relative errors (weights 1/t^2). These are the features of Ernest, the steps of
 * a tree, and what a worker sends. What the features leave over at measured values of m is interpolated in log m, if
 * that predicts values of m that are left out better. */
#ifndef PL_SYSTEM_MODEL_H
#define PL_SYSTEM_MODEL_H

#include "advise/trial.h"

#define PL_SYSTEM_FEATURES 7
#define PL_SYSTEM_MOST 96 /* trials */

typedef struct pl_system_point {
    double workers, epochs, seconds; /* epochs 0: the method has no H */
    double bytes, setup, exchange;
} pl_system_point;

typedef struct pl_system_model {
    pl_system_point point[PL_SYSTEM_MOST];
    unsigned count;
    double size, bandwidth; /* non-zeros; bytes per second */
    double theta[PL_SYSTEM_FEATURES];
    bool corrected;
    double error; /* when leaving out m: root mean square of the logarithm; NaN if unknown */
} pl_system_model;

extern const char *const pl_system_name[PL_SYSTEM_FEATURES];

/* Fits theta to the points. */
void pl_system_fit(pl_system_model *self);
/* Seconds of a round; with `without` > 0, from a model without points of so many workers. */
double pl_system_seconds(const pl_system_model *self, double workers, double epochs, double without);
/* Seconds before the first round, between those that were measured. */
double pl_system_setup(const pl_system_model *self, double workers, double without);
/* Seconds of a round that are not local work, between those that were measured. */
double pl_system_exchange(const pl_system_model *self, double workers, double epochs);
/* Bytes that a worker sends in a round. */
double pl_system_bytes(const pl_system_model *self, double workers, double without);
/* The number of workers to measure next, of `count` candidates: the one that reduces the mean variance of predictions
 * over all candidates most for its cost (a greedy I-optimal design), after both ends, so that nothing is extrapolated.
 * `done` marks those that are measured. Returns `count` if all are. */
unsigned pl_system_next(const double *workers, const double *cost, unsigned count, const bool *done);

#endif
