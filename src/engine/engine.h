/* engine.h: an engine carries bytes between ranks, runs tasks on this rank and keeps its clock. Nothing above it knows
 * threads or MPI.
 *
 * A rank is a process, or in tests a thread. Engines never add: the collectives in collective.h are written once over
 * post and take, so their order of addition is the same everywhere. */
#ifndef PL_ENGINE_H
#define PL_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/settings.h"

#define PL_MOST_ZERO_COPY ((uint64_t)1 << 20) /* bytes of a message that post_zero_copy or expect can carry */

typedef struct pl_engine pl_engine;
typedef struct pl_shared pl_shared; /* shared_memory.h */

/* A posted receive. */
typedef struct pl_request {
    unsigned from, channel;
    void *data;
    uint64_t most, word; /* bytes that the message may have; the engine's own */
} pl_request;

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
    /* Sends like post, but without a copy: the data must not change until wait_sent has returned. */
    parley_status (*post_zero_copy)(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                                    parley_error *error);
    /* Waits until every zero-copy send of this rank is complete. */
    parley_status (*wait_sent)(pl_engine *engine, parley_error *error);
    /* Replaces wait_sent where this rank cannot go on: after it nobody reads the data of zero-copy sends. */
    void (*cancel_sent)(pl_engine *engine);
    /* Posts a receive: the next message of that rank on that channel goes to `data`, which belongs to the engine until
     * await has returned. Receives of one rank and channel are awaited in the order in which they were posted. */
    parley_status (*expect)(pl_engine *engine, pl_request *request, parley_error *error);
    parley_status (*await)(pl_engine *engine, pl_request *request, uint64_t *bytes, parley_error *error);
    /* The barrier of shared memory, where there is any: returns when all ranks have entered it, and all of them see
     * what each wrote there before. */
    parley_status (*barrier)(pl_engine *engine, parley_error *error);
    /* Runs tasks on this rank's threads; see pool.h. They must not wait for each other. */
    void (*run)(pl_engine *engine, pl_task task, void *context, unsigned tasks);
    /* Runs tasks that may block on each other in take: all of them start, at most `threads` compute at a time, and a
     * task that blocks lets another one compute. */
    parley_status (*run_blocking)(pl_engine *engine, pl_task task, void *context, unsigned tasks, parley_error *error);
    /* The engine's clock in seconds; the processor seconds that this rank has used, asked by the thread that drives it;
     * and a pause of so many seconds on that clock. */
    double (*now)(pl_engine *engine);
    double (*cpu)(pl_engine *engine);
    void (*spend)(pl_engine *engine, double seconds);
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
    unsigned cores;   /* that all ranks of this host may use together */
    unsigned pinned;  /* 1 + the core that this rank is pinned to; 0: to none */
    double deadline;  /* seconds that a take waits */
    unsigned speaker; /* the rank that reports to the user: 0, or after a failure the lowest one that is left */
    /* The host of each rank, where that makes a difference: there are several, some have several ranks, and ranks of
     * one host follow each other. NULL: it makes none. */
    unsigned *host;
    pl_shared *shared; /* shared memory of all ranks, if they are on one host; NULL: there is none */
    _Atomic uint64_t bytes_sent, bytes_received; /* by whatever way, so far */
    double adding;                               /* processor seconds of adding up tables; the reader resets it */
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
/* Gives them shared memory, which the collectives use in place of messages. */
parley_status pl_threads_share(pl_engine **engines, parley_error *error);
void pl_engine_close(pl_engine *engine); /* NULL is welcome */
/* The sentence for a message that is not of the length that was due. */
parley_status pl_fail_length(unsigned from, uint64_t got, uint64_t due, parley_error *error);

/* `run`, `now` and `spend` of engines with real threads and a real clock. */
void pl_run_on_pool(pl_engine *engine, pl_task task, void *context, unsigned tasks);
double pl_wall_clock(pl_engine *engine);
void pl_wall_sleep(pl_engine *engine, double seconds);

/* The clock may be a virtual one: everything that is measured in a run is measured by these. */
static inline double pl_engine_now(pl_engine *engine) { return engine->type->now(engine); }
static inline double pl_engine_cpu(pl_engine *engine) { return engine->type->cpu(engine); }
static inline void pl_engine_spend(pl_engine *engine, double seconds) { engine->type->spend(engine, seconds); }

#endif
