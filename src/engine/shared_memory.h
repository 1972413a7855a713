/* shared_memory.h: memory that all ranks see, where they are on one host: what would be sent is laid out there, and
 * whoever needs it reads it there.
 *
 * Each rank has a board to lay things out on, in two copies that take turns: what is laid out before one meeting is
 * read after it, and may be written over after the next. So an exchange takes one meeting for each time that the
 * boards are filled.
 *
 * Each rank also has an estate, to keep there what it works on: then a board only says where that lies, and nothing is
 * copied. A meeting has to come between reading what others keep there and writing it anew. */
#ifndef PL_SHARED_MEMORY_H
#define PL_SHARED_MEMORY_H

#include "engine/collective.h"

#define PL_COMMON_RANKS 64 /* more of them send messages */

/* One rank's view of it. */
struct pl_common {
    struct hall *hall; /* what is shared */
    unsigned rank, ranks;
    uint64_t estate;        /* bytes of each rank's */
    uint64_t taken;         /* of this rank's, now */
    uint64_t most;          /* and at most so far: what is behind is still 0 */
    struct holding *last;   /* that was taken; NULL: none is held */
    uint32_t vacant;        /* meetings, when something was last given back */
    uint32_t meetings;      /* that this rank has come to */
    uint32_t reduced;       /* and of those, before the latest reduction */
    uint32_t offered;       /* or before something was offered, */
    const pl_addend *offer; /* these nodes */
    const double *table;    /* or this table, for which all will */
    uint32_t written;       /* have met when they have come to more than so many */
};

/* Bytes that the memory for so many ranks takes; they are to be 0 in the beginning. */
uint64_t pl_common_bytes(unsigned ranks, uint64_t estate);
pl_common pl_common_of(void *memory, unsigned rank, unsigned ranks, uint64_t estate);

/* Gives ranks that are processes of one host such memory, where the machine lets them: engine->common. */
parley_status pl_common_open(pl_engine *engine, parley_error *error);
void pl_common_close(pl_common *common); /* NULL is welcome */

/* A meeting, for engines to make their `meet` of: this rank has come; have all? */
void pl_common_come(pl_common *common);
bool pl_common_met(const pl_common *common);
/* Does this rank keep to a core, and which? All are to know that before they meet; then, is there one that keeps to the
 * same and has not come yet? */
void pl_common_keep(pl_common *common, unsigned kept);
bool pl_common_crowded(const pl_common *common);
/* Sleeps until all have come, for at most so many seconds. */
void pl_common_doze(const pl_common *common, double seconds);
/* The first rank that has not come; any, if all have. */
unsigned pl_common_missing(const pl_common *common);

/* Memory for `count` things, 0 at first: of this rank's estate, or private where there is none (left); NULL: none at
 * all. */
void *pl_common_alloc(pl_engine *engine, uint64_t count, uint64_t size);
parley_status pl_common_take(pl_engine *engine, void *out, uint64_t count, uint64_t size, const char *what,
                             parley_error *error);    /* the same, as pl_take */
void pl_common_free(pl_engine *engine, void *memory); /* NULL is welcome */
/* The same memory for all ranks, 0 at first; NULL: there is none, and each needs its own. */
parley_status pl_common_table(pl_engine *engine, uint64_t bytes, void **table, parley_error *error);
bool pl_common_keeps(const pl_engine *engine, const void *memory); /* does it lie in an estate? */
/* Meets, if no meeting has come since the latest reduction: then what others may have read there can be written. */
parley_status pl_common_settle(pl_engine *engine, parley_error *error);

/* A note of each rank: written there, and read by others, with a meeting on each side. NULL: it would not hold that. */
void *pl_common_note(const pl_engine *engine, unsigned rank, uint64_t bytes);

/* Few bytes of each rank to all: what this one has to say, after which it hears the others. */
bool pl_common_holds(const pl_engine *engine, uint64_t bytes);
parley_status pl_common_tell(pl_engine *engine, const void *data, uint64_t bytes, parley_error *error);
parley_status pl_common_hear(pl_engine *engine, unsigned from, void *data, uint64_t bytes, parley_error *error);

/* The collectives of that name (collective.h). */
void pl_common_offer(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size, uint64_t width,
                     const uint64_t *bounds);
parley_status pl_common_reduce(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size,
                               uint64_t width, const uint64_t *bounds, double *sum, parley_error *error);
void pl_common_write(pl_engine *engine, const double *table); /* pl_gather_offer */
parley_status pl_common_gather(pl_engine *engine, double *table, const uint64_t *bounds, parley_error *error);

#endif
