/* adapt.h: how a run with a plan should go on (--adapt with --plan): with which H, as which preset, and with how many
 * workers. These are pure functions of what the run has measured and of the plan, and read no clock.
 *
 * The rest with a method of the plan: its predicted rounds from this gap to the target, times its predicted seconds of
 * computing and of exchanging, each scaled by how much slower than planned the latest rounds computed and exchanged. H
 * changes freely, since that costs nothing, if the whole run would be shorter with it. For a preset, the rest as it is
 * follows from the fall of the logarithm of the gap over the last evaluations and the seconds of the last rounds, and a
 * change also costs the setting up, an evaluation, and some rounds until the new method is under way.
 *
 * For another number of workers, a whole run must be shorter too, and the rest as it is may be no longer than the
 * plan's own curve of the method says: the run should not pay for a short lull. A new division of the rows costs
 * messages, so its setting up takes as many times as long as exchanges do. */
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
    bool divided;                                          /* the rows cannot go to other workers */
} pl_adapt;

/* A decision, with its reason. */
typedef struct pl_change {
    const pl_alternative *to;     /* NULL: stay */
    double left, predicted, cost; /* seconds: the rest as it is, the rest after the change, and the change */
} pl_change;

void pl_adapt_open(pl_adapt *adapt, const pl_alternative *now);
/* Takes a round into account; `gap` is relative, perhaps an estimate, and NaN if it is not known. */
void pl_adapt_note(pl_adapt *adapt, double epochs, double local, double rest, double round, double gap);
/* The method of the plan with the same preset and the H to go on with, or NULL to stay. `gap` may be an estimate. */
const pl_alternative *pl_adapt_pace(const pl_adapt *adapt, const pl_forecast *forecast, double gap, double target);
void pl_adapt_paced(pl_adapt *adapt, const pl_alternative *now); /* H has changed */
/* Decides on the preset and the number of workers where the gap is known. */
pl_change pl_adapt_judge(const pl_adapt *adapt, const pl_forecast *forecast, double gap, double target);

#endif
