/* neighbours.h: which ranks share a machine, and its cores. */
#ifndef PL_NEIGHBOURS_H
#define PL_NEIGHBOURS_H

#include "engine/engine.h"

typedef struct pl_neighbourhood {
    unsigned hosts;   /* that there are */
    unsigned threads; /* that this rank should have */
    unsigned core;    /* 1 + the one that it should keep to; 0: any */
} pl_neighbourhood;

/* Fills in engine->host and engine->cores too. */
parley_status pl_find_neighbours(pl_engine *engine, pl_neighbourhood *out, parley_error *error);

#endif
