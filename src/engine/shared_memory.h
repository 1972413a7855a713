/* shared_memory.h: memory shared by all ranks, if they are on one host. It replaces messages: a rank writes what it
 * would send, and the others read it there.
 *
 * Each rank has a send buffer, in two copies that alternate: what it writes before a barrier is read after that barrier
 * and may be overwritten after the next one. So an exchange needs one barrier per filling of the buffers.
 *
 * Each rank also has an arena for its working data. The send buffer then only holds their location, and nothing is
 * copied. A barrier must separate reading another rank's arena from that rank writing there again. */
#ifndef PL_SHARED_MEMORY_H
#define PL_SHARED_MEMORY_H

#include "engine/collective.h"

#define PL_SHARED_RANKS 64 /* with more ranks, messages are sent */

/* One rank's view of the shared memory. */
struct pl_shared {
    struct pl_shared_header *header; /* at the beginning of the shared memory */
    unsigned rank, ranks;
    uint64_t arena;           /* bytes of a rank's arena */
    uint64_t used;            /* bytes of this rank's arena that are in use */
    uint64_t most;            /* the most that were ever in use; the bytes after it are still 0 */
    struct arena_block *last; /* the latest block in use, or NULL */
    uint32_t barriers;        /* barriers that this rank has entered */
    uint32_t freed_at;        /* value of `barriers` when a block was last freed, */
    uint32_t reduced;         /* at the latest reduction, */
    uint32_t offered;         /* when `offer` was published, */
    uint32_t written;         /* and when `table` was offered */
    const pl_addend *offer;   /* nodes that are already published, or NULL */
    const double *table;      /* the table that will be complete after the next barrier, or NULL */
};

/* Bytes of the memory for this many ranks. They must be 0 at first. */
uint64_t pl_shared_bytes(unsigned ranks, uint64_t arena);
pl_shared pl_shared_of(void *memory, unsigned rank, unsigned ranks, uint64_t arena);

/* Opens shared memory for processes of one host as engine->shared, if the machine allows it. */
parley_status pl_shared_open(pl_engine *engine, parley_error *error);
void pl_shared_close(pl_shared *shared); /* accepts NULL */

/* A barrier in two parts, from which engines build `barrier`: this rank enters it; whether all ranks have entered it.
 */
void pl_shared_arrive(pl_shared *shared);
bool pl_shared_all_arrived(const pl_shared *shared);
/* Tells the others, before the first barrier, that this rank is pinned to a core (engine->pinned). Then, in a barrier:
 * whether a missing rank is pinned to the same core. */
void pl_shared_pin(pl_shared *shared, unsigned pinned);
bool pl_shared_core_wanted(const pl_shared *shared);
/* Sleeps until all ranks have entered the barrier, for at most `seconds`. */
void pl_shared_sleep(const pl_shared *shared, double seconds);
/* The first rank that has not entered it, or any if all have. */
unsigned pl_shared_missing(const pl_shared *shared);

/* Allocates zeroed memory from this rank's arena, or private memory if there is no arena or no room in it. Returns NULL
 * if memory is out. */
void *pl_shared_alloc(pl_engine *engine, uint64_t count, uint64_t size);
parley_status pl_shared_take(pl_engine *engine, void *out, uint64_t count, uint64_t size, const char *what,
                             parley_error *error);    /* the same, like pl_take */
void pl_shared_free(pl_engine *engine, void *memory); /* accepts NULL */
/* Allocates zeroed memory that all ranks share. Gives NULL if there is none, so that each rank needs its own. */
parley_status pl_shared_table(pl_engine *engine, uint64_t bytes, void **table, parley_error *error);
bool pl_shared_contains(const pl_engine *engine, const void *memory); /* whether it is in an arena */
/* Enters a barrier, unless one came after the latest reduction. Then all ranks have finished reading this rank's arena,
 * and it may be written. */
parley_status pl_shared_wait_read(pl_engine *engine, parley_error *error);

/* A slot of each rank for small data. Its rank writes it and others read it, with a barrier between the two. NULL if
 * there is none of that size. */
void *pl_shared_slot(const pl_engine *engine, unsigned rank, uint64_t bytes);

/* An all-gather of few bytes: this rank's, with the barrier, and then those of each other rank. */
bool pl_shared_fits(const pl_engine *engine, uint64_t bytes);
parley_status pl_shared_send(pl_engine *engine, const void *data, uint64_t bytes, parley_error *error);
parley_status pl_shared_receive(pl_engine *engine, unsigned from, void *data, uint64_t bytes, parley_error *error);

/* The collectives of these names (collective.h). */
void pl_shared_reduce_offer(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size, uint64_t width,
                            const uint64_t *bounds);
parley_status pl_shared_reduce(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size,
                               uint64_t width, const uint64_t *bounds, double *sum, parley_error *error);
void pl_shared_gather_offer(pl_engine *engine, const double *table); /* pl_gather_offer */
parley_status pl_shared_gather(pl_engine *engine, double *table, const uint64_t *bounds, parley_error *error);

#endif
