/* smoothing_schedule.h: by how much Newton's method smooths a loss with kinks, or with curvature in few rows (a narrow
 * Huber loss). The loss is smoothed by mu, which starts at the spread of the labels and decreases whenever the smoothed
 * problem is solved. The dual points are feasible for the loss itself, so that the certificate closes as mu goes to 0.
 *
 * All ranks decide alike, because they know the same sums. */
#ifndef PL_HARDENING_H
#define PL_HARDENING_H

#include "linear/glm.h"
#include "method/combine.h"

#define PL_MOST_STEPS 100 /* at one mu, for any problem */

typedef struct pl_smoothing {
    double softness;    /* mu; 0: the loss itself */
    double first_slope; /* the largest slope at this mu */
    unsigned rounds;    /* at this mu */
    bool recentre;      /* the smoothing moves to the dual point */
    double target;      /* the gap that ends the run */
} pl_smoothing;

/* A round at one mu: the slope along its step and the last one, the squared norm of the gradient where it began, and
 * the distance of the bounds there. */
typedef struct pl_softened_round {
    double slope, last_slope, norm2, gap;
} pl_softened_round;

/* Whether there are kinks, in the loss or the penalty, and no L2 penalty, so that an L1 penalty is smoothed as well. */
static inline bool pl_smooths_penalty(const pl_glm *glm) {
    return glm->base.l2 == 0 && glm->loss->soften &&
           (!glm->loss->smooth || (glm->base.l1 > 0 && glm->least_factor > 0));
}

/* The part of a run's target that is kept for pl_drop_small: a smoothed L1 penalty leaves entries near 0 that are 0 at
 * the optimum. */
double pl_smoothing_reserve(const pl_glm *glm);
/* Makes entries of the model w 0 whose L1 penalty is at most `gap`. Returns whether there are any. */
bool pl_drop_small(const pl_glm *glm, double gap, double *w);

pl_smoothing pl_smoothing_begin(const pl_glm *glm, double target);
/* Decides on mu of the next round. */
void pl_smoothing_next(pl_smoothing *self, const pl_glm *glm, const pl_softened_round *round);

#define PL_HARDENING_VALUES(self, loss)                                                                                \
    PL_WITHIN((self).softness, 0, (loss)->soften ? DBL_MAX : 0), PL_UNSURE((self).first_slope),                        \
        PL_WITHIN((self).rounds, 0, PL_MOST_STEPS)

#endif
