/* routes.h: ranks by their host, and as a binomial tree with root 0. */
#ifndef PL_ROUTES_H
#define PL_ROUTES_H

#include "engine/engine.h"

/* Ranks [first, end). */
typedef struct pl_ranks {
    unsigned first, end;
} pl_ranks;

/* The ranks on the host of `rank`; all ranks if hosts do not matter. */
pl_ranks pl_ranks_here(const pl_engine *engine, unsigned rank);
/* The deputy of an owner on a host: the rank with the same position there or, if there are fewer ranks, one of them. */
unsigned pl_deputy(const pl_engine *engine, pl_ranks on, unsigned owner);

/* The tree: the children of r are r + 1, r + 2, r + 4, ... below its lowest set bit; at most 32. */
unsigned pl_tree_parent(unsigned rank);
unsigned pl_tree_children(const pl_engine *engine, unsigned *children); /* of this rank */
unsigned pl_tree_end(const pl_engine *engine, unsigned rank);           /* the end of the ranks in its branch */
/* Whether rank 0 owns all, so that the tree is used. */
bool pl_first_owns_all(const pl_engine *engine, const uint64_t *bounds);

#endif
