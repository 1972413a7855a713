/* costs.h: counts what work costs on an engine that models it (engine.h, nonzero_seconds). On others nothing happens.
 */
#ifndef PL_COSTS_H
#define PL_COSTS_H

#include "train/run.h"

/* The updates of all hosted workers, which work at the same time. Their seconds become the modelled ones. */
void pl_charge_updates(pl_run *run);
/* The update of one worker, on whose own task this is called. */
void pl_charge_update(pl_run *run, unsigned worker, pl_update *update);
void pl_charge_evaluation(pl_run *run);
void pl_charge_entries(pl_run *run, double passes); /* passes over all entries of v */

#endif
