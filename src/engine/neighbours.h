/* neighbours.h: which ranks share a machine, and its cores. */
#ifndef PL_NEIGHBOURS_H
#define PL_NEIGHBOURS_H

#include "engine/engine.h"

typedef struct pl_neighbourhood {
    unsigned hosts;   /* number of hosts */
    unsigned threads; /* threads that this rank should use */
    unsigned core;    /* 1 + the core to pin this rank to; 0: none */
} pl_neighbourhood;

/* Also fills in engine->host and engine->cores. */
parley_status pl_find_neighbours(pl_engine *engine, pl_neighbourhood *out, parley_error *error);

unsigned pl_ranks_of_machine(const pl_engine *engine); /* how many ranks share this machine's memory */

#endif
