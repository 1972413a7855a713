/* measure_network.h: measures what network.h models, between the ranks of a real engine. */
#ifndef PL_MEASURE_NETWORK_H
#define PL_MEASURE_NETWORK_H

#include "engine/engine.h"
#include "engine/network.h"

#define PL_PROBE_SIZES 6

typedef struct pl_probe {
    pl_network network;
    uint64_t entries[PL_PROBE_SIZES]; /* of tables that all ranks add, */
    double seconds[PL_PROBE_SIZES];   /* and how long that takes: reduce-scatter and all-gather */
} pl_probe;

/* Every rank takes part; rank 0 gets the result. There must be two ranks at least. */
parley_status pl_probe_run(pl_engine *engine, pl_probe *out, parley_error *error);

#endif
