/* agree.h: ranks agree on a failure. For a failure between collectives there is the engine's `fail`. */
#ifndef PL_AGREE_H
#define PL_AGREE_H

#include "engine/engine.h"

/* A collective: among the failures of all ranks, the one with the smallest `key` (then the lowest rank) becomes that of
 * all. If only some ranks have this failure and `remedy` is not NULL, its sentence names the rank and the host and ends
 * with the remedy. */
parley_status pl_agree_status(pl_engine *engine, parley_status status, double key, const char *remedy,
                              parley_error *error);

#endif
