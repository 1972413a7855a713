/* adapt.h: whether a run should go on as another preset (--adapt with --plan). It is a pure function of what the run
 * has measured and of the plan, and reads no clock.
 *
 * The rest of the run as it is: the fall of the logarithm of the gap per round over the last evaluations, times the
 * seconds of the last rounds. The rest with another preset: its predicted rounds from this gap to the target, times its
 * predicted seconds of computing and of exchanging, each scaled by how much slower this run computes and exchanges than
 * the plan said. A change also costs the setting up, an evaluation, and some rounds until the new method is under way.
 */
#ifndef PL_ADAPT_H
#define PL_ADAPT_H

#include "train/forecast.h"

#define PL_ADAPT_ROUNDS 12 /* latest rounds and evaluations that count */

typedef struct pl_adapt {
    unsigned rounds;                                       /* since the method began */
    double local[PL_ADAPT_ROUNDS], rest[PL_ADAPT_ROUNDS];  /* seconds of the latest rounds */
    double epochs[PL_ADAPT_ROUNDS];                        /* their H; NaN if the method has none */
    unsigned seen;                                         /* evaluations since */
    double round[PL_ADAPT_ROUNDS], level[PL_ADAPT_ROUNDS]; /* of the latest evaluations */
    const pl_alternative *now;                             /* the method of the run */
} pl_adapt;

/* A decision, with its reason. */
typedef struct pl_change {
    const pl_alternative *to;     /* NULL: stay */
    double left, predicted, cost; /* seconds: the rest as it is, the rest after the change, and the change */
} pl_change;

void pl_adapt_open(pl_adapt *adapt, const pl_alternative *now);
/* Takes a round into account; `gap` is relative, and NaN in rounds without evaluation. */
void pl_adapt_note(pl_adapt *adapt, double epochs, double local, double rest, double round, double gap);
/* Decides after an evaluation. */
pl_change pl_adapt_judge(const pl_adapt *adapt, const pl_forecast *forecast, double gap, double target);

#endif
