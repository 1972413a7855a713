/* optimiser.h: how gradients become steps, for the solver of networks and for the combine of its gradients. */
#ifndef PL_OPTIMISER_H
#define PL_OPTIMISER_H

#include "network/net_kernel.h"
#include "network/net_settings.h"

/* The settings that an optimiser reads, for a list of settings. */
#define PL_OPTIMISER_SETTINGS                                                                                          \
    "optimiser", "momentum", "beta1", "beta2", "optimiser_epsilon", "rate", "schedule", "warm_up", "decay_every",      \
        "decay", "clip"
#define PL_OPTIMISER_BLOCK 1024 /* parameters that are moved at a time, so that they stay in the cache */

typedef struct pl_optimiser {
    pl_net_step step;
    double rate, clip;
    pl_schedule schedule;
    double batches, total, warm, decay_every, decay; /* in steps; total 0: unknown */
} pl_optimiser;

/* `batches` are the steps of a pass. */
pl_optimiser pl_optimiser_make(const parley_settings *settings, double batches);
/* Step t, from 1, of the schedule, and number n of the steps that the state has seen. `norm` is that of the gradient,
 * for clipping. */
pl_net_step pl_optimiser_at(const pl_optimiser *optimiser, uint64_t t, uint64_t n, double norm);
bool pl_optimiser_has_first(const pl_optimiser *optimiser);
bool pl_optimiser_has_second(const pl_optimiser *optimiser);

#endif
