/* adapt.h: how a run with a plan should go on (--adapt with --plan): with which H, and as which preset. Both are pure
 * functions of what the run has measured and of the plan, and read no clock.
 *
 * The rest with a method of the plan: its predicted rounds from this gap to the target, times its predicted seconds of
 * computing and of exchanging, each scaled by how much slower than planned the latest rounds computed and exchanged. H
 * changes freely, since that costs nothing. For a preset, the rest as it is follows from the fall of the logarithm of
 * the gap over the last evaluations and the seconds of the last rounds, and a change also costs the setting up, an
 * evaluation, and some rounds until the new method is under way. */
#ifndef PL_ADAPT_H
#define PL_ADAPT_H

#include "train/forecast.h"

#define PL_ADAPT_ROUNDS 12 /* latest rounds and evaluations that count */

typedef struct pl_adapt {
    unsigned rounds;                                       /* since the method began */
    double local[PL_ADAPT_ROUNDS], rest[PL_ADAPT_ROUNDS];  /* seconds of the latest rounds */
    double compute[PL_ADAPT_ROUNDS];                       /* how many times as long as planned they computed, */
    double exchange[PL_ADAPT_ROUNDS];                      /* and exchanged */
    unsigned seen;                                         /* evaluations since */
    double round[PL_ADAPT_ROUNDS], level[PL_ADAPT_ROUNDS]; /* of the latest evaluations */
    unsigned paced;                                        /* rounds since H was chosen */
    const pl_alternative *now;                             /* the method of the run, with its H */
} pl_adapt;

/* A decision, with its reason. */
typedef struct pl_change {
    const pl_alternative *to;     /* NULL: stay */
    double left, predicted, cost; /* seconds: the rest as it is, the rest after the change, and the change */
} pl_change;

void pl_adapt_open(pl_adapt *adapt, const pl_alternative *now);
/* Takes a round into account; `gap` is relative, and NaN in rounds without evaluation. */
void pl_adapt_note(pl_adapt *adapt, double epochs, double local, double rest, double round, double gap);
/* The method of the plan with the same preset and the H to go on with, or NULL to stay. `gap` may be an estimate. */
const pl_alternative *pl_adapt_pace(const pl_adapt *adapt, const pl_forecast *forecast, double gap, double target);
void pl_adapt_paced(pl_adapt *adapt, const pl_alternative *now); /* H has changed */
/* Decides on the preset after an evaluation. */
pl_change pl_adapt_judge(const pl_adapt *adapt, const pl_forecast *forecast, double gap, double target);

#endif
