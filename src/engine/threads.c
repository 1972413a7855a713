/* threads.c: the engine within one process. Usually there is one rank, whose workers run on a pool of threads. There
 * may be more ranks, each driven by its own thread, which exchange messages through mailboxes. Tests use them to run in
 * one process what runs on many machines. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "engine/blocking_tasks.h"
#include "engine/shared_memory.h"

#define ANYBODY UINT_MAX
#define ARENA ((uint64_t)1 << 22) /* bytes of shared memory that a rank may allocate */
#define BARRIER_SLEEP 1e-3        /* seconds that a rank sleeps in a barrier before it checks for failures */

typedef struct message {
    struct message *next;
    unsigned from, channel;
    uint64_t bytes;
    const void *borrowed; /* the sender's memory in a zero-copy send; NULL: `data` */
    char data[];
} message;

/* What the ranks share. */
typedef struct hub {
    pthread_mutex_t mutex;
    pthread_cond_t arrived;
    unsigned open;    /* engines that are not closed yet */
    message **inbox;  /* one list per rank, oldest first */
    unsigned *unread; /* zero-copy messages of each rank that others have not read yet */
    pl_span shared;   /* shared memory; empty if there is none */
    bool failed;
    parley_error failure;
    unsigned ranks;
} hub;

typedef struct threads_engine {
    pl_engine base;
    hub *hub;
} threads_engine;

static void deliver(pl_engine *engine, unsigned to, message *new) {
    hub *hub = ((threads_engine *)engine)->hub;
    atomic_fetch_add(&engine->bytes_sent, new->bytes);
    pthread_mutex_lock(&hub->mutex);
    message **last = &hub->inbox[to];
    while (*last)
        last = &(*last)->next;
    *last = new;
    if (new->borrowed)
        hub->unread[engine->rank]++;
    pthread_cond_broadcast(&hub->arrived);
    pthread_mutex_unlock(&hub->mutex);
}

static parley_status post(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                          parley_error *error) {
    message *new = pl_alloc(1, sizeof *new + bytes);
    if (!new)
        return pl_fail_memory(error, "a message", bytes);
    *new = (message){.from = engine->rank, .channel = channel, .bytes = bytes};
    memcpy(new->data, data, bytes);
    deliver(engine, to, new);
    return PARLEY_OK;
}

static parley_status post_zero_copy(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                                    parley_error *error) {
    message *new;
    parley_status status = pl_take(&new, 1, sizeof *new, "a message", error);
    if (status != PARLEY_OK)
        return status;
    *new = (message){.from = engine->rank, .channel = channel, .bytes = bytes, .borrowed = data};
    deliver(engine, to, new);
    return status;
}

/* Releases a message that was read. */
static void discard(hub *hub, message *message) {
    if (message && message->borrowed) {
        pthread_mutex_lock(&hub->mutex);
        hub->unread[message->from]--;
        pthread_cond_broadcast(&hub->arrived);
        pthread_mutex_unlock(&hub->mutex);
    }
    pl_free(message);
}

/* Finds the oldest message on the channel, from `from` or from any rank. */
static message *find(message **list, unsigned from, unsigned channel) {
    for (; *list; list = &(*list)->next)
        if ((from == ANYBODY || (*list)->from == from) && (*list)->channel == channel) {
            message *found = *list;
            *list = found->next;
            return found;
        }
    return NULL;
}

/* Waits for a message, which the caller then owns. */
static parley_status receive(pl_engine *engine, unsigned from, unsigned channel, message **out, parley_error *error) {
    hub *hub = ((threads_engine *)engine)->hub;
    struct timespec limit = pl_after(engine->deadline);
    message *got = NULL;
    bool late = false, left = false;
    pthread_mutex_lock(&hub->mutex);
    while (!hub->failed && !(got = find(&hub->inbox[engine->rank], from, channel)) && !late) {
        if (!left)
            pl_blocking_leave();
        left = true;
        late = pthread_cond_timedwait(&hub->arrived, &hub->mutex, &limit) != 0;
    }
    parley_error failure = hub->failure;
    bool failed = hub->failed;
    pthread_mutex_unlock(&hub->mutex);
    if (left)
        pl_blocking_enter();
    *out = got;
    if (failed)
        return pl_fail(error, failure.status, "%s", failure.sentence);
    if (!got && from == ANYBODY)
        return pl_fail_silence(engine, error);
    if (!got)
        return pl_fail(error, PARLEY_NO_PEER, "rank %u sent nothing for %g seconds", from, engine->deadline);
    return PARLEY_OK;
}

/* Reads a message of at most `most` bytes. */
static parley_status read_next(pl_engine *engine, unsigned from, unsigned channel, void *data, uint64_t most,
                               uint64_t *bytes, parley_error *error) {
    message *got;
    parley_status status = receive(engine, from, channel, &got, error);
    *bytes = status == PARLEY_OK ? got->bytes : 0;
    if (*bytes > 0 && *bytes <= most)
        memcpy(data, got->borrowed ? got->borrowed : got->data, *bytes);
    atomic_fetch_add(&engine->bytes_received, *bytes);
    discard(((threads_engine *)engine)->hub, got);
    return status;
}

static parley_status take(pl_engine *engine, unsigned from, unsigned channel, void *data, uint64_t bytes,
                          parley_error *error) {
    uint64_t got;
    parley_status status = read_next(engine, from, channel, data, bytes, &got, error);
    return status == PARLEY_OK && got != bytes ? pl_fail_length(from, got, bytes, error) : status;
}

static parley_status take_any(pl_engine *engine, unsigned channel, unsigned *from, pl_span *data, uint64_t *bytes,
                              parley_error *error) {
    message *got;
    parley_status status = receive(engine, ANYBODY, channel, &got, error);
    if (status == PARLEY_OK && !pl_span_reserve(data, got->bytes + 1))
        status = pl_fail_memory(error, "a message", got->bytes);
    if (status == PARLEY_OK) {
        *from = got->from;
        *bytes = got->bytes;
        memcpy(data->data, got->borrowed ? got->borrowed : got->data, got->bytes);
        atomic_fetch_add(&engine->bytes_received, got->bytes);
    }
    discard(((threads_engine *)engine)->hub, got);
    return status;
}

static parley_status expect(pl_engine *engine, pl_request *request, parley_error *error) {
    (void)engine, (void)request, (void)error; /* messages stay in the mailbox until they are awaited */
    return PARLEY_OK;
}

static parley_status await(pl_engine *engine, pl_request *request, uint64_t *bytes, parley_error *error) {
    parley_status status =
        read_next(engine, request->from, request->channel, request->data, request->most, bytes, error);
    return status == PARLEY_OK && *bytes > request->most ? pl_fail_length(request->from, *bytes, request->most, error)
                                                         : status;
}

/* Removes zero-copy messages of this rank that no rank has begun to read. The mutex is held. */
static void remove_unread(hub *hub, unsigned rank) {
    for (unsigned r = 0; r < hub->ranks; r++)
        for (message **at = &hub->inbox[r]; *at;) {
            message *message = *at;
            if (message->from != rank || !message->borrowed) {
                at = &message->next;
                continue;
            }
            *at = message->next;
            pl_free(message);
            hub->unread[rank]--;
        }
}

static void cancel_sent(pl_engine *engine) {
    hub *hub = ((threads_engine *)engine)->hub;
    pthread_mutex_lock(&hub->mutex);
    remove_unread(hub, engine->rank);
    while (hub->unread[engine->rank])
        pthread_cond_wait(&hub->arrived, &hub->mutex);
    pthread_mutex_unlock(&hub->mutex);
}

static parley_status wait_sent(pl_engine *engine, parley_error *error) {
    hub *hub = ((threads_engine *)engine)->hub;
    struct timespec limit = pl_after(engine->deadline);
    bool late = false, left = false;
    pthread_mutex_lock(&hub->mutex);
    while (hub->unread[engine->rank] && !hub->failed && !late) {
        if (!left)
            pl_blocking_leave();
        left = true;
        late = pthread_cond_timedwait(&hub->arrived, &hub->mutex, &limit) != 0;
    }
    bool read = hub->unread[engine->rank] == 0;
    parley_error failure = hub->failure;
    bool failed = hub->failed;
    pthread_mutex_unlock(&hub->mutex);
    if (left)
        pl_blocking_enter();
    if (read)
        return PARLEY_OK;
    return failed ? pl_fail(error, failure.status, "%s", failure.sentence)
                  : pl_fail(error, PARLEY_NO_PEER, "messages of rank %u were not received for %g seconds", engine->rank,
                            engine->deadline);
}

/* Whether a rank has failed. Then `error` is its sentence. */
static bool has_failed(hub *hub, parley_error *error) {
    pthread_mutex_lock(&hub->mutex);
    bool failed = hub->failed;
    if (failed)
        *error = hub->failure;
    pthread_mutex_unlock(&hub->mutex);
    return failed;
}

static parley_status barrier(pl_engine *engine, parley_error *error) {
    hub *hub = ((threads_engine *)engine)->hub;
    double until = pl_now() + engine->deadline;
    parley_error failure;
    pl_shared_arrive(engine->shared);
    for (;;) {
        if (has_failed(hub, &failure))
            return pl_fail(error, failure.status, "%s", failure.sentence);
        if (pl_shared_all_arrived(engine->shared))
            return PARLEY_OK;
        if (pl_now() > until)
            return pl_fail(error, PARLEY_NO_PEER, "rank %u sent nothing for %g seconds",
                           pl_shared_missing(engine->shared), engine->deadline);
        pl_shared_sleep(engine->shared, BARRIER_SLEEP);
    }
}

/* A single rank with several threads uses the clock of the process, which is one call. Otherwise ranks share the
 * process, such as the folds of a cross-validation, and add up the clocks of their own threads. */
static double cpu(pl_engine *engine) {
    return engine->ranks == 1 && engine->threads > 1 ? pl_cpu_now()
                                                     : pl_cpu_of_thread(pthread_self()) + pl_pool_cpu(engine->pool);
}

static void fail(pl_engine *engine, parley_error *error) {
    hub *hub = ((threads_engine *)engine)->hub;
    pthread_mutex_lock(&hub->mutex);
    if (!hub->failed)
        hub->failure = *error;
    *error = hub->failure;
    hub->failed = true;
    pthread_cond_broadcast(&hub->arrived);
    pthread_mutex_unlock(&hub->mutex);
}

static void free_hub(hub *hub) {
    for (unsigned r = 0; r < hub->ranks; r++)
        for (message *next, *m = hub->inbox[r]; m; m = next) {
            next = m->next;
            pl_free(m);
        }
    pthread_cond_destroy(&hub->arrived);
    pthread_mutex_destroy(&hub->mutex);
    pl_free(hub->inbox);
    pl_free(hub->unread);
    pl_span_free(&hub->shared);
    pl_free(hub);
}

void pl_engine_close(pl_engine *engine) {
    threads_engine *self = (threads_engine *)engine;
    if (!engine)
        return;
    pthread_mutex_lock(&self->hub->mutex);
    bool last = --self->hub->open == 0;
    pthread_mutex_unlock(&self->hub->mutex);
    if (last)
        free_hub(self->hub);
    pl_pool_close(engine->pool);
    pl_span_free(&engine->room);
    pl_free(engine->shared);
    pl_free(self);
}

static parley_status open_hub(hub **out, unsigned ranks, parley_error *error) {
    hub *new = pl_alloc(1, sizeof *new);
    message **inbox = pl_alloc(ranks, sizeof *inbox);
    unsigned *unread = pl_alloc(ranks, sizeof *unread);
    if (!new || !inbox || !unread) {
        pl_free(new);
        pl_free(inbox);
        pl_free(unread);
        return pl_fail_memory(error, "mailboxes", ranks * sizeof *inbox);
    }
    new->inbox = inbox;
    new->unread = unread;
    new->ranks = ranks;
    pthread_mutex_init(&new->mutex, NULL);
    pthread_cond_init(&new->arrived, NULL);
    *out = new;
    return PARLEY_OK;
}

static parley_status open_rank(threads_engine **out, hub *hub, unsigned rank, unsigned threads, double deadline,
                               parley_error *error) {
    threads_engine *self;
    pl_pool *pool;
    parley_status status = pl_take(&self, 1, sizeof *self, "an engine", error);
    if (status == PARLEY_OK && (status = pl_pool_open(&pool, threads, error)) != PARLEY_OK)
        pl_free(self);
    if (status != PARLEY_OK)
        return status;
    self->base = (pl_engine){.type = &pl_engine_threads,
                             .rank = rank,
                             .here = rank,
                             .ranks = hub->ranks,
                             .threads = pl_pool_threads(pool),
                             .pool = pool,
                             .cores = pl_pool_cores(pool),
                             .deadline = deadline};
    self->hub = hub;
    hub->open++;
    *out = self;
    return PARLEY_OK;
}

parley_status pl_threads_open(pl_engine **out, unsigned ranks, unsigned threads, double deadline, parley_error *error) {
    hub *hub = NULL;
    parley_status status = open_hub(&hub, ranks, error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned r = 0; r < ranks; r++) {
        threads_engine *engine;
        status = open_rank(&engine, hub, r, threads, deadline, error);
        if (status != PARLEY_OK) {
            if (r == 0)
                free_hub(hub);
            while (r > 0)
                pl_engine_close(out[--r]);
            return status;
        }
        out[r] = &engine->base;
    }
    return PARLEY_OK;
}

parley_status pl_threads_share(pl_engine **engines, parley_error *error) {
    hub *hub = ((threads_engine *)engines[0])->hub;
    uint64_t bytes = pl_shared_bytes(hub->ranks, ARENA);
    if (!pl_span_reserve(&hub->shared, bytes))
        return pl_fail_memory(error, "shared memory", bytes);
    for (unsigned r = 0; r < hub->ranks; r++) {
        parley_status status = pl_take(&engines[r]->shared, 1, sizeof *engines[r]->shared, "shared memory", error);
        if (status != PARLEY_OK)
            return status;
        *engines[r]->shared = pl_shared_of(hub->shared.data, r, hub->ranks, ARENA);
    }
    return PARLEY_OK;
}

/* A rank and the thread that drives it. */
typedef struct driver {
    pthread_t thread;
    pl_engine *engine;
    const pl_job *job;
    parley_status status;
    parley_error error;
} driver;

static void *drive(void *argument) {
    driver *self = argument;
    self->status = pl_job_run(self->engine, PARLEY_OK, self->job, &self->error);
    return NULL;
}

/* Runs the job on one thread per rank. The failure of one rank is that of all. */
static parley_status drive_all(pl_engine *const *engines, driver *drivers, const pl_job *job, parley_error *error) {
    unsigned ranks = engines[0]->ranks, started = 0;
    parley_status status = PARLEY_OK;
    for (; started < ranks && status == PARLEY_OK; started += status == PARLEY_OK) {
        drivers[started] = (driver){.engine = engines[started], .job = job};
        if (pthread_create(&drivers[started].thread, NULL, drive, &drivers[started]) != 0) {
            status = pl_fail(error, PARLEY_NO_MEMORY, "cannot start rank %u of %u as a thread", started, ranks);
            fail(engines[started], error);
        }
    }
    for (unsigned r = 0; r < started; r++)
        pthread_join(drivers[r].thread, NULL);
    for (unsigned r = 0; r < started && status == PARLEY_OK; r++)
        if (drivers[r].status != PARLEY_OK) {
            status = drivers[r].status;
            *error = drivers[r].error;
        }
    return status;
}

/* A single rank runs on the caller's thread. */
static parley_status launch_one(const parley_settings *settings, const pl_job *job, parley_error *error) {
    pl_engine *engine;
    parley_status status = pl_threads_open(&engine, 1, (unsigned)settings->threads, settings->deadline, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_job_run(engine, PARLEY_OK, job, error);
    pl_engine_close(engine);
    return status;
}

parley_status pl_threads_launch(const parley_settings *settings, unsigned ranks, const pl_job *job,
                                parley_error *error) {
    if (ranks == 1)
        return launch_one(settings, job, error);
    pl_engine **engines = pl_alloc(ranks, sizeof *engines);
    driver *drivers = pl_alloc(ranks, sizeof *drivers);
    bool open = false;
    parley_status status = engines && drivers ? PARLEY_OK : pl_fail_memory(error, "ranks", ranks * sizeof *drivers);
    if (status == PARLEY_OK) {
        status = pl_threads_open(engines, ranks, (unsigned)settings->threads, settings->deadline, error);
        open = status == PARLEY_OK;
    }
    if (status == PARLEY_OK && settings->between_ranks == PL_BY_MEMORY && ranks <= PL_SHARED_RANKS)
        status = pl_threads_share(engines, error);
    if (status == PARLEY_OK)
        status = drive_all(engines, drivers, job, error);
    for (unsigned r = 0; r < ranks && open; r++)
        pl_engine_close(engines[r]);
    pl_free(engines);
    pl_free(drivers);
    return status;
}

/* Servers are ranks of their own, on threads of this process. */
static parley_status launch(const parley_settings *settings, const pl_job *job, parley_error *error) {
    return pl_threads_launch(settings, 1 + (unsigned)settings->servers, job, error);
}

const pl_engine_type pl_engine_threads = {
    .name = "threads",
    .help = "workers on the threads of one process",
    .launch = launch,
    .post = post,
    .take = take,
    .take_any = take_any,
    .post_zero_copy = post_zero_copy,
    .wait_sent = wait_sent,
    .cancel_sent = cancel_sent,
    .expect = expect,
    .await = await,
    .barrier = barrier,
    .run = pl_run_on_pool,
    .run_blocking = pl_run_blocking,
    .now = pl_wall_clock,
    .cpu = cpu,
    .spend = pl_wall_sleep,
    .compute = pl_wall_compute,
    .fail = fail,
};
