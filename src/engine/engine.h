/* engine.h: what carries bytes between ranks and runs tasks on this one. Thin: nothing above it knows threads or MPI.
 *
 * A rank is a process (in tests, a thread that plays one). Sums are never an engine's business: the collectives in
 * collective.h are written once over post and take, so their order of addition is the same everywhere. */
#ifndef PL_ENGINE_H
#define PL_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/settings.h"

#define PL_MOST_LENT ((uint64_t)1 << 20) /* bytes of a message that is lent or expected */

typedef struct pl_engine pl_engine;
typedef struct pl_common pl_common; /* common.h */

/* A message that is expected. */
typedef struct pl_ticket {
    unsigned from, channel;
    void *data;
    uint64_t most, word; /* bytes it may have; the engine's own */
} pl_ticket;

typedef struct pl_engine_type {
    const char *name, *help;
    /* This process's rank, as the settings and the way it was started say. Ranks that have met tell a failure by the
     * engine, which is there in `out` then, to be closed; else `out` is NULL. */
    parley_status (*open)(const parley_settings *settings, pl_engine **out, parley_error *error);
    /* Sends a copy of `bytes` bytes to rank `to` on `channel`. Never waits for the receiver. */
    parley_status (*post)(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                          parley_error *error);
    /* Receives exactly `bytes` bytes, in the order of sending; fails, naming the rank, after `deadline` seconds. */
    parley_status (*take)(pl_engine *engine, unsigned from, unsigned channel, void *data, uint64_t bytes,
                          parley_error *error);
    /* Receives the next message on `channel`, whoever sent it and however long: grows `data` to hold it. */
    parley_status (*take_any)(pl_engine *engine, unsigned channel, unsigned *from, pl_span *data, uint64_t *bytes,
                              parley_error *error);
    /* Sends like post, but the caller's own memory, which must stay as it is until settle has returned. */
    parley_status (*lend)(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                          parley_error *error);
    /* Waits until all that was lent has been taken. */
    parley_status (*settle)(pl_engine *engine, parley_error *error);
    /* In place of settle where this rank cannot go on: nobody reads what was lent any more. */
    void (*retract)(pl_engine *engine);
    /* Says beforehand where the next message of a rank on a channel is to be put. Its `data` are the engine's until
     * await has returned. Messages of one rank and channel are awaited in the order in which they were expected. */
    parley_status (*expect)(pl_engine *engine, pl_ticket *ticket, parley_error *error);
    parley_status (*await)(pl_engine *engine, pl_ticket *ticket, uint64_t *bytes, parley_error *error);
    /* Where there is common memory: returns when all ranks have come, and what each wrote before is seen by all. */
    parley_status (*meet)(pl_engine *engine, parley_error *error);
    /* Runs tasks on this rank's threads; see pool.h. They must not wait for each other. */
    void (*run)(pl_engine *engine, pl_task task, void *context, unsigned tasks);
    /* Runs tasks that may wait for each other in take: all of them are begun, at most `threads` compute at a time, and
     * one that waits lets another in. */
    parley_status (*converse)(pl_engine *engine, pl_task task, void *context, unsigned tasks, parley_error *error);
    double (*now)(pl_engine *engine);
    /* Tells all ranks that this one cannot go on: every take that waits, here and elsewhere, ends with this sentence;
     * or with that of a failure which came first, which `error` becomes then. */
    void (*fail)(pl_engine *engine, parley_error *error);
    void (*close)(pl_engine *engine);
} pl_engine_type;

/* Every engine embeds this first. */
struct pl_engine {
    const pl_engine_type *type;
    unsigned rank, ranks, threads;
    pl_pool *pool;    /* the threads: for what is done before workers are */
    unsigned cores;   /* that the ranks of this one's host may use, together */
    unsigned kept;    /* 1 + the core that this one keeps to; 0: to none */
    double deadline;  /* seconds that a take waits */
    unsigned speaker; /* the rank that tells the user: 0, or after a failure the lowest that is left */
    /* The host of each rank, where that makes a difference: there are several, some have several ranks, and ranks of
     * one host follow each other. NULL: it makes none. */
    unsigned *host;
    pl_common *common;                           /* memory that all ranks see, being on one host; NULL: there is none */
    _Atomic uint64_t bytes_sent, bytes_received; /* by whatever way, so far */
    double adding;                               /* processor seconds of adding up tables; who reads it may set it */
    pl_span room;                                /* scratch of the collectives */
};

extern const pl_engine_type pl_engine_threads, pl_engine_mpi;
extern const pl_engine_type *const pl_engines[];
extern const unsigned pl_engines_count;
const pl_engine_type *pl_engine_find(const char *name); /* or NULL */
/* The engine that the settings name; auto: mpi in a process that MPI started, else threads. */
parley_status pl_engine_open(const parley_settings *settings, pl_engine **out, parley_error *error);

/* One process, all its ranks inside: `out` gets `ranks` engines of `threads` threads each (0: all cores). */
parley_status pl_threads_open(pl_engine **out, unsigned ranks, unsigned threads, double deadline, parley_error *error);
/* Gives them memory in common, which they use in place of messages. */
parley_status pl_threads_share(pl_engine **engines, parley_error *error);
void pl_engine_close(pl_engine *engine); /* NULL is welcome */
/* The sentence for a message that is not of the length that was due. */
parley_status pl_fail_length(unsigned from, uint64_t got, uint64_t due, parley_error *error);

/* `run` and `now` of engines with real threads and a real clock. */
void pl_run_on_pool(pl_engine *engine, pl_task task, void *context, unsigned tasks);
double pl_wall_clock(pl_engine *engine);

/* Seconds on the engine's clock, which may be a virtual one: whatever is measured in a run is measured by it. */
static inline double pl_engine_now(pl_engine *engine) { return engine->type->now(engine); }

#endif
