/* neighbours.c: see neighbours.h. */
#define _GNU_SOURCE /* gethostname */
#include "engine/neighbours.h"

#include <string.h>
#include <unistd.h>

#include "engine/collective.h"
#include "engine/launched.h"
#include "engine/watch.h"

/* What ranks exchange: the name of their host, and the cores that they may use there. */
typedef struct host_info {
    char host[PL_WATCH_HOST];
    uint64_t cores[PL_CORE_WORDS];
} host_info;

enum { INFO = sizeof(host_info) / sizeof(double) };

static parley_status gather_infos(pl_engine *engine, host_info *infos, parley_error *error) {
    uint64_t *bounds;
    parley_status status = pl_take(&bounds, engine->ranks + 1, sizeof *bounds, "names of hosts", error);
    for (unsigned r = 0; r <= engine->ranks && status == PARLEY_OK; r++)
        bounds[r] = (uint64_t)r * INFO;
    if (status == PARLEY_OK) {
        gethostname(infos[engine->rank].host, PL_WATCH_HOST - 1);
        pl_cores_list(infos[engine->rank].cores);
        status = pl_all_gather(engine, (double *)(void *)infos, bounds, error);
    }
    pl_free(bounds);
    return status;
}

static bool are_neighbours(const host_info *a, const host_info *b) {
    return memcmp(a->host, b->host, PL_WATCH_HOST) == 0;
}

/* Numbers the hosts by their names, if hosts matter (engine.h), and returns how many there are. */
static unsigned number_hosts(pl_engine *engine, const host_info *infos, unsigned *host) {
    unsigned last = 0;
    bool ordered = true;
    for (unsigned r = 1; r < engine->ranks && ordered; r++) {
        bool same = are_neighbours(&infos[r], &infos[r - 1]);
        host[r] = last += !same;
        for (unsigned i = 0; i + 1 < r && !same; i++)
            ordered = ordered && !are_neighbours(&infos[r], &infos[i]);
    }
    engine->host = ordered && last > 0 && last + 1 < engine->ranks ? host : NULL;
    engine->scattered = ordered && last > 0 && last + 1 == engine->ranks;
    return last + 1;
}

static unsigned count_bits(const uint64_t *words) {
    unsigned count = 0;
    for (unsigned i = 0; i < PL_CORE_WORDS; i++)
        for (uint64_t left = words[i]; left; left &= left - 1)
            count++;
    return count;
}

/* Finds the core in a set that has `before` cores before it. */
static unsigned find_core(const uint64_t *words, unsigned before) {
    unsigned core = 0;
    for (;; core++)
        if ((words[core / 64] >> core % 64 & 1) && before-- == 0)
            return core;
}

/* Determines the cores of this host and the threads of a rank: the cores to which it alone is bound, or its share of
 * all. Several ranks per core are pinned too, because a waiting rank would otherwise often queue behind two others
 * while a core is idle. */
static void share_cores(pl_engine *engine, const host_info *infos, pl_neighbourhood *out) {
    const host_info *own = &infos[engine->rank];
    uint64_t all[PL_CORE_WORDS] = {0};
    unsigned here = 0, before = 0, taken = 0, alike = 0, mine = pl_cores();
    for (unsigned r = 0; r < engine->ranks; r++)
        if (are_neighbours(&infos[r], own)) {
            before += r < engine->rank;
            here++;
            taken += count_bits(infos[r].cores);
            alike += memcmp(infos[r].cores, own->cores, sizeof own->cores) == 0;
            for (unsigned i = 0; i < PL_CORE_WORDS; i++)
                all[i] |= infos[r].cores[i];
        }
    unsigned known = count_bits(all);
    engine->cores = known > mine ? known : mine;
    out->threads = known && taken <= known ? mine : engine->cores > here ? engine->cores / here : 1;
    if (known && alike == here && here > known && here % known == 0)
        out->core = 1 + find_core(all, before % known);
}

parley_status pl_find_neighbours(pl_engine *engine, pl_neighbourhood *out, parley_error *error) {
    host_info *infos = pl_alloc(engine->ranks, sizeof *infos);
    unsigned *host = pl_alloc(engine->ranks, sizeof *host);
    parley_status status =
        infos && host ? PARLEY_OK : pl_fail_memory(error, "names of hosts", engine->ranks * sizeof *infos);
    *out = (pl_neighbourhood){.hosts = 1, .threads = 1};
    if (status == PARLEY_OK && engine->ranks > 1)
        status = gather_infos(engine, infos, error);
    if (status == PARLEY_OK) {
        out->hosts = number_hosts(engine, infos, host);
        share_cores(engine, infos, out);
    }
    if (!engine->host)
        pl_free(host);
    pl_free(infos);
    return status;
}

unsigned pl_ranks_of_machine(const pl_engine *engine) {
    unsigned here = 0;
    if (engine->ranks == 1 || engine->shared || engine->type == &pl_engine_threads)
        return engine->ranks;
    for (unsigned r = 0; r < engine->ranks && engine->host; r++)
        here += engine->host[r] == engine->host[engine->rank];
    return engine->host ? here : pl_launched_here();
}
