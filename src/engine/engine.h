/* engine.h: an engine carries bytes between ranks, runs tasks on this rank and has the clock. No layer above knows
 * threads or MPI.
 *
 * A rank is a process, or in tests a thread. Engines never add: the collectives in collective.h are written once on top
 * of post and take, so their order of addition is the same everywhere. */
#ifndef PL_ENGINE_H
#define PL_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/settings.h"

#define PL_MOST_ZERO_COPY ((uint64_t)1 << 20) /* most bytes of a message for post_zero_copy or expect */

typedef struct pl_engine pl_engine;
typedef struct pl_shared pl_shared; /* shared_memory.h */

/* A posted receive. */
typedef struct pl_request {
    unsigned from, channel;
    void *data;
    uint64_t most, word; /* most bytes of the message; private to the engine */
} pl_request;

/* What a rank runs. It reads, trains and saves on the engine that it is given, and opens none. Ranks of one process
 * share the context; the first of them (engine->here is 0) writes the results there. */
typedef parley_status (*pl_body)(pl_engine *engine, void *context, parley_error *error);

/* A body, and a report that every rank calls at its end, while the engine is still open. `failure` is NULL or the first
 * cause, the same on all ranks. */
typedef struct pl_job {
    pl_body body;
    void (*report)(pl_engine *engine, void *context, const parley_error *failure); /* NULL: no report */
    void *context;
} pl_job;

typedef struct pl_engine_type {
    const char *name, *help;
    /* Opens the engine according to the settings and to how this process was started, runs the job on every rank of
     * this process (pl_job_run), and closes it. Fails with the first cause, or if the engine cannot be opened. */
    parley_status (*launch)(const parley_settings *settings, const pl_job *job, parley_error *error);
    /* Sends a copy of `bytes` bytes to rank `to` on `channel`. Never waits for the receiver. */
    parley_status (*post)(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                          parley_error *error);
    /* Receives exactly `bytes` bytes, in the order of sending. Fails after `deadline` seconds and names the rank. */
    parley_status (*take)(pl_engine *engine, unsigned from, unsigned channel, void *data, uint64_t bytes,
                          parley_error *error);
    /* Receives the next message on `channel`, from any rank and of any length, and grows `data` to hold it. */
    parley_status (*take_any)(pl_engine *engine, unsigned channel, unsigned *from, pl_span *data, uint64_t *bytes,
                              parley_error *error);
    /* Sends like post, but without a copy: the data must not change until wait_sent has returned. */
    parley_status (*post_zero_copy)(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                                    parley_error *error);
    /* Waits until all zero-copy sends of this rank are complete. */
    parley_status (*wait_sent)(pl_engine *engine, parley_error *error);
    /* To be called after a failure, also one of wait_sent: afterwards no rank reads the data of zero-copy sends. */
    void (*cancel_sent)(pl_engine *engine);
    /* Posts a receive: the next message of that rank on that channel goes to `data`, which the engine owns until await
     * has returned. Receives of one rank and channel are awaited in the order in which they were posted. */
    parley_status (*expect)(pl_engine *engine, pl_request *request, parley_error *error);
    parley_status (*await)(pl_engine *engine, pl_request *request, uint64_t *bytes, parley_error *error);
    /* The barrier of shared memory, if there is any. Returns when all ranks have entered it; each sees what the others
     * wrote there before. */
    parley_status (*barrier)(pl_engine *engine, parley_error *error);
    /* Runs tasks on this rank's threads (pool.h). They must not wait for each other. */
    void (*run)(pl_engine *engine, pl_task task, void *context, unsigned tasks);
    /* Runs tasks that may block on each other in `take`. All of them start, at most `threads` compute at a time, and a
     * task that blocks lets another one compute. */
    parley_status (*run_blocking)(pl_engine *engine, pl_task task, void *context, unsigned tasks, parley_error *error);
    /* The engine's clock in seconds; the processor seconds that this rank has used, to be called by the thread that
     * drives it; and a pause on that clock. */
    double (*now)(pl_engine *engine);
    double (*cpu)(pl_engine *engine);
    void (*spend)(pl_engine *engine, double seconds);
    /* Counts work that took no time because the engine models its cost; see nonzero_seconds below. */
    void (*compute)(pl_engine *engine, double seconds);
    /* Tells all ranks that this one has failed. Every waiting take, on all ranks, ends with this sentence, or with that
     * of an earlier failure, which is then copied to `error`. */
    void (*fail)(pl_engine *engine, parley_error *error);
} pl_engine_type;

/* Every engine begins with this struct. */
struct pl_engine {
    const pl_engine_type *type;
    unsigned rank, ranks, threads;
    unsigned here;    /* the number of this rank among those of this process */
    unsigned servers; /* the last so many ranks have no workers, because they serve others */
    pl_pool *pool;    /* the threads, for work before workers exist */
    unsigned cores;   /* cores that all ranks of this host may use together */
    unsigned pinned;  /* 1 + the core to which this rank is pinned; 0 if it is not */
    double deadline;  /* how long a take waits, in seconds */
    unsigned speaker; /* the rank that reports to the user: 0, or after a failure the lowest remaining rank */
    /* The host of each rank, if hosts matter: there are several, some have several ranks, and ranks of one host are
     * consecutive. Otherwise NULL. */
    unsigned *host;
    bool scattered;    /* every rank has a host of its own */
    pl_shared *shared; /* memory shared by all ranks, if they are on one host; otherwise NULL */
    _Atomic uint64_t bytes_sent, bytes_received; /* by messages or shared memory, so far */
    bool is_virtual;                             /* the clock is virtual */
    /* If the clock is virtual and work takes no time on it: what visiting a non-zero and passing over an entry of v
     * cost, in seconds, to be counted by `compute`; otherwise 0. */
    double nonzero_seconds, entry_seconds;
    bool counts_cpu; /* somebody reads processor times, each of which is a system call */
    double adding;   /* processor seconds of adding tables; the reader resets it */
    pl_span room;    /* scratch of the collectives */
};

extern const pl_engine_type pl_engine_threads, pl_engine_mpi, pl_engine_sim;
extern const pl_engine_type *const pl_engines[];
extern const unsigned pl_engines_count;
const pl_engine_type *pl_engine_find(const char *name); /* or NULL */
/* Runs a job on the engine that the settings name. auto means mpi in a process that MPI started, and otherwise threads.
 * The command line, the library and tests all use it. */
parley_status pl_launch(const parley_settings *settings, pl_job job, parley_error *error);
/* The same on `ranks` threads of this process, which use shared memory unless the settings ask for messages. */
parley_status pl_threads_launch(const parley_settings *settings, unsigned ranks, const pl_job *job,
                                parley_error *error);
/* For engines: runs the job on this rank, unless opening already failed. Tells all ranks of a failure, copies the first
 * cause to `error`, and reports. */
parley_status pl_job_run(pl_engine *engine, parley_status opened, const pl_job *job, parley_error *error);

/* Opens engines without a job: `ranks` engines of this process in `out`, with `threads` threads each (0: all cores). */
parley_status pl_threads_open(pl_engine **out, unsigned ranks, unsigned threads, double deadline, parley_error *error);
/* Gives them shared memory, which the collectives use instead of messages. */
parley_status pl_threads_share(pl_engine **engines, parley_error *error);
void pl_engine_close(pl_engine *engine); /* one of those; accepts NULL */
/* Fails because a message has the wrong length. */
parley_status pl_fail_length(unsigned from, uint64_t got, uint64_t due, parley_error *error);

/* Fails because a wait for any rank took longer than the deadline; and whether a failure is that one. */
parley_status pl_fail_silence(const pl_engine *engine, parley_error *error);
bool pl_is_silence(const parley_error *error);

/* `run`, `now`, `compute` and `spend` for engines with real threads and a real clock. */
void pl_run_on_pool(pl_engine *engine, pl_task task, void *context, unsigned tasks);
double pl_wall_clock(pl_engine *engine);
void pl_wall_compute(pl_engine *engine, double seconds); /* does nothing: work takes its time by itself */
void pl_wall_sleep(pl_engine *engine, double seconds);

/* How many ranks have workers. */
static inline unsigned pl_engine_hosts(const pl_engine *engine) { return engine->ranks - engine->servers; }

/* The clock may be virtual. All measurements of a run use these. */
static inline double pl_engine_now(pl_engine *engine) { return engine->type->now(engine); }
static inline double pl_engine_cpu(pl_engine *engine) { return engine->counts_cpu ? engine->type->cpu(engine) : 0.0; }
static inline void pl_engine_spend(pl_engine *engine, double seconds) { engine->type->spend(engine, seconds); }
static inline void pl_engine_compute(pl_engine *engine, double seconds) {
    if (seconds > 0)
        engine->type->compute(engine, seconds);
}

#endif
