/* neighbours.c: see neighbours.h. */
#define _GNU_SOURCE /* gethostname */
#include "engine/neighbours.h"

#include <string.h>
#include <unistd.h>

#include "engine/collective.h"
#include "engine/watch.h"

/* What ranks tell of themselves: the name of the machine they are on, and the cores that they may use there. */
typedef struct card {
    char host[PL_WATCH_HOST];
    uint64_t cores[PL_CORE_WORDS];
} card;

enum { CARD = sizeof(card) / sizeof(double) };

static parley_status gather_cards(pl_engine *engine, card *cards, parley_error *error) {
    uint64_t *bounds;
    parley_status status = pl_take(&bounds, engine->ranks + 1, sizeof *bounds, "names of hosts", error);
    for (unsigned r = 0; r <= engine->ranks && status == PARLEY_OK; r++)
        bounds[r] = (uint64_t)r * CARD;
    if (status == PARLEY_OK) {
        gethostname(cards[engine->rank].host, PL_WATCH_HOST - 1);
        pl_cores_list(cards[engine->rank].cores);
        status = pl_all_gather(engine, (double *)(void *)cards, bounds, error);
    }
    pl_free(bounds);
    return status;
}

static bool are_neighbours(const card *a, const card *b) { return memcmp(a->host, b->host, PL_WATCH_HOST) == 0; }

/* Numbers the hosts by their names, where they make a difference (engine.h), and tells how many there are. */
static unsigned number_hosts(pl_engine *engine, const card *cards, unsigned *host) {
    unsigned last = 0;
    bool ordered = true;
    for (unsigned r = 1; r < engine->ranks && ordered; r++) {
        bool same = are_neighbours(&cards[r], &cards[r - 1]);
        host[r] = last += !same;
        for (unsigned i = 0; i + 1 < r && !same; i++)
            ordered = ordered && !are_neighbours(&cards[r], &cards[i]);
    }
    engine->host = ordered && last > 0 && last + 1 < engine->ranks ? host : NULL;
    return last + 1;
}

static unsigned count_bits(const uint64_t *words) {
    unsigned count = 0;
    for (unsigned i = 0; i < PL_CORE_WORDS; i++)
        for (uint64_t left = words[i]; left; left &= left - 1)
            count++;
    return count;
}

/* The core of a list that has so many before it, which there is. */
static unsigned find_core(const uint64_t *words, unsigned before) {
    unsigned core = 0;
    for (;; core++)
        if ((words[core / 64] >> core % 64 & 1) && before-- == 0)
            return core;
}

/* The cores of this host, and how many threads a rank takes: those that it is bound to alone, or its part of all.
 * Several ranks for each core that all may use: one that waits would often be behind two others while a core is idle,
 * so they are shared out too. */
static void share_cores(pl_engine *engine, const card *cards, pl_neighbourhood *out) {
    const card *own = &cards[engine->rank];
    uint64_t all[PL_CORE_WORDS] = {0};
    unsigned here = 0, before = 0, taken = 0, alike = 0, mine = pl_cores();
    for (unsigned r = 0; r < engine->ranks; r++)
        if (are_neighbours(&cards[r], own)) {
            before += r < engine->rank;
            here++;
            taken += count_bits(cards[r].cores);
            alike += memcmp(cards[r].cores, own->cores, sizeof own->cores) == 0;
            for (unsigned i = 0; i < PL_CORE_WORDS; i++)
                all[i] |= cards[r].cores[i];
        }
    unsigned known = count_bits(all);
    engine->cores = known > mine ? known : mine;
    out->threads = known && taken <= known ? mine : engine->cores > here ? engine->cores / here : 1;
    if (known && alike == here && here > known && here % known == 0)
        out->core = 1 + find_core(all, before % known);
}

parley_status pl_find_neighbours(pl_engine *engine, pl_neighbourhood *out, parley_error *error) {
    card *cards = pl_alloc(engine->ranks, sizeof *cards);
    unsigned *host = pl_alloc(engine->ranks, sizeof *host);
    parley_status status =
        cards && host ? PARLEY_OK : pl_fail_memory(error, "names of hosts", engine->ranks * sizeof *cards);
    *out = (pl_neighbourhood){.hosts = 1, .threads = 1};
    if (status == PARLEY_OK && engine->ranks > 1)
        status = gather_cards(engine, cards, error);
    if (status == PARLEY_OK) {
        out->hosts = number_hosts(engine, cards, host);
        share_cores(engine, cards, out);
    }
    if (!engine->host)
        pl_free(host);
    pl_free(cards);
    return status;
}
