/* routes.c: see routes.h. */
#include "engine/routes.h"

pl_ranks pl_ranks_here(const pl_engine *engine, unsigned rank) {
    pl_ranks host = {rank, rank + 1};
    if (!engine->host)
        return (pl_ranks){0, engine->ranks};
    while (host.first > 0 && engine->host[host.first - 1] == engine->host[rank])
        host.first--;
    while (host.end < engine->ranks && engine->host[host.end] == engine->host[rank])
        host.end++;
    return host;
}

unsigned pl_deputy(const pl_engine *engine, pl_ranks on, unsigned owner) {
    pl_ranks home = pl_ranks_here(engine, owner);
    return on.first + (owner - home.first) % (on.end - on.first);
}

unsigned pl_tree_parent(unsigned rank) { return rank & (rank - 1); }

unsigned pl_tree_children(const pl_engine *engine, unsigned *children) {
    unsigned count = 0, rank = engine->rank;
    for (unsigned bit = 1; rank + bit < engine->ranks && !(rank & bit); bit *= 2)
        children[count++] = rank + bit;
    return count;
}

unsigned pl_tree_end(const pl_engine *engine, unsigned rank) {
    unsigned end = rank ? rank + (rank & -rank) : engine->ranks;
    return end < engine->ranks ? end : engine->ranks;
}

bool pl_first_owns_all(const pl_engine *engine, const uint64_t *bounds) { return bounds[1] == bounds[engine->ranks]; }
