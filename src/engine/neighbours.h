/* neighbours.h: which ranks share a machine, and its cores. */
#ifndef PL_NEIGHBOURS_H
#define PL_NEIGHBOURS_H

#include "engine/engine.h"

/* Fills in engine->host and engine->cores; tells how many hosts there are, and how many threads this rank should have.
 */
parley_status pl_find_neighbours(pl_engine *engine, unsigned *hosts, unsigned *threads, parley_error *error);

#endif
