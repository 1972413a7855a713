/* agree.h: ranks agree on a failure. The counterpart for ranks that reach no collective is the engine's `fail`. */
#ifndef PL_AGREE_H
#define PL_AGREE_H

#include "engine/engine.h"

/* Collective: the failure with the least `key` of those that ranks bring becomes that of all, and of equal keys that of
 * the lowest rank. `remedy`: where only some ranks have that failure, its sentence names the rank and the host and ends
 * with the remedy; NULL: the sentence stays as it is. */
parley_status pl_agree_status(pl_engine *engine, parley_status status, double key, const char *remedy,
                              parley_error *error);

#endif
