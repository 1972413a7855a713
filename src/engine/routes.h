/* routes.h: ranks by the host they are on, and as a binomial tree around rank 0. */
#ifndef PL_ROUTES_H
#define PL_ROUTES_H

#include "engine/engine.h"

/* Ranks [first, end). */
typedef struct pl_ranks {
    unsigned first, end;
} pl_ranks;

/* Those on the host of `rank`; all, where hosts make no difference. */
pl_ranks pl_ranks_here(const pl_engine *engine, unsigned rank);
/* Who on a host stands for an owner: its namesake in number, or where there are fewer ranks one of them. */
unsigned pl_deputy(const pl_engine *engine, pl_ranks on, unsigned owner);

/* The tree: the children of r are r + 1, r + 2, r + 4, ... below its lowest set bit; at most 32. */
unsigned pl_tree_parent(unsigned rank);
unsigned pl_tree_children(const pl_engine *engine, unsigned *children); /* of this rank */
unsigned pl_tree_end(const pl_engine *engine, unsigned rank);           /* one behind the last rank of its branch */
/* Does rank 0 own all, so that the tree is the way? */
bool pl_first_owns_all(const pl_engine *engine, const uint64_t *bounds);

#endif
