/* threads.c: the engine inside one process. Usually there is one rank, whose workers run on a pool of threads. There
 * may be more, each driven by a thread of the caller's, which talk through mailboxes: so that what runs on many
 * machines is tested in one process. */
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
#define ESTATE ((uint64_t)1 << 22) /* bytes of common memory that a rank may keep things in */
#define DOZE 1e-3                  /* seconds that a rank sleeps in a meeting before it looks for failures */

typedef struct message {
    struct message *next;
    unsigned from, channel;
    uint64_t bytes;
    const void *lent; /* the sender's own memory; NULL: `data` */
    char data[];
} message;

/* What the ranks share. */
typedef struct hub {
    pthread_mutex_t mutex;
    pthread_cond_t arrived;
    unsigned open;   /* engines not closed yet */
    message **inbox; /* one list per rank, oldest first */
    unsigned *lent;  /* messages of each rank that others have yet to read */
    pl_span common;  /* memory that the ranks use in place of messages; empty: they do not */
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
    if (new->lent)
        hub->lent[engine->rank]++;
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

static parley_status lend(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                          parley_error *error) {
    message *new;
    parley_status status = pl_take(&new, 1, sizeof *new, "a message", error);
    if (status != PARLEY_OK)
        return status;
    *new = (message){.from = engine->rank, .channel = channel, .bytes = bytes, .lent = data};
    deliver(engine, to, new);
    return status;
}

/* Lets go of a message that was read. */
static void discard(hub *hub, message *message) {
    if (message && message->lent) {
        pthread_mutex_lock(&hub->mutex);
        hub->lent[message->from]--;
        pthread_cond_broadcast(&hub->arrived);
        pthread_mutex_unlock(&hub->mutex);
    }
    pl_free(message);
}

/* The oldest message from `from`, or from anybody, on the channel. */
static message *find(message **list, unsigned from, unsigned channel) {
    for (; *list; list = &(*list)->next)
        if ((from == ANYBODY || (*list)->from == from) && (*list)->channel == channel) {
            message *found = *list;
            *list = found->next;
            return found;
        }
    return NULL;
}

/* Waits for a message; it is the caller's then. */
static parley_status receive(pl_engine *engine, unsigned from, unsigned channel, message **out, parley_error *error) {
    hub *hub = ((threads_engine *)engine)->hub;
    struct timespec limit = pl_after(engine->deadline);
    message *got = NULL;
    bool late = false, left = false;
    pthread_mutex_lock(&hub->mutex);
    while (!hub->failed && !(got = find(&hub->inbox[engine->rank], from, channel)) && !late) {
        if (!left)
            pl_converse_leave();
        left = true;
        late = pthread_cond_timedwait(&hub->arrived, &hub->mutex, &limit) != 0;
    }
    parley_error failure = hub->failure;
    bool failed = hub->failed;
    pthread_mutex_unlock(&hub->mutex);
    if (left)
        pl_converse_enter();
    *out = got;
    if (failed)
        return pl_fail(error, failure.status, "%s", failure.sentence);
    if (!got && from == ANYBODY)
        return pl_fail(error, PARLEY_NO_PEER, "no rank sent anything for %g seconds", engine->deadline);
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
        memcpy(data, got->lent ? got->lent : got->data, *bytes);
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
        memcpy(data->data, got->lent ? got->lent : got->data, got->bytes);
        atomic_fetch_add(&engine->bytes_received, got->bytes);
    }
    discard(((threads_engine *)engine)->hub, got);
    return status;
}

static parley_status expect(pl_engine *engine, pl_ticket *ticket, parley_error *error) {
    (void)engine, (void)ticket, (void)error; /* mail stays in the box until it is awaited */
    return PARLEY_OK;
}

static parley_status await(pl_engine *engine, pl_ticket *ticket, uint64_t *bytes, parley_error *error) {
    parley_status status = read_next(engine, ticket->from, ticket->channel, ticket->data, ticket->most, bytes, error);
    return status == PARLEY_OK && *bytes > ticket->most ? pl_fail_length(ticket->from, *bytes, ticket->most, error)
                                                        : status;
}

/* Takes back what this rank lent and nobody has begun to read. The mutex is held. */
static void take_back(hub *hub, unsigned rank) {
    for (unsigned r = 0; r < hub->ranks; r++)
        for (message **at = &hub->inbox[r]; *at;) {
            message *message = *at;
            if (message->from != rank || !message->lent) {
                at = &message->next;
                continue;
            }
            *at = message->next;
            pl_free(message);
            hub->lent[rank]--;
        }
}

static void retract(pl_engine *engine) {
    hub *hub = ((threads_engine *)engine)->hub;
    pthread_mutex_lock(&hub->mutex);
    take_back(hub, engine->rank);
    while (hub->lent[engine->rank])
        pthread_cond_wait(&hub->arrived, &hub->mutex);
    pthread_mutex_unlock(&hub->mutex);
}

static parley_status settle(pl_engine *engine, parley_error *error) {
    hub *hub = ((threads_engine *)engine)->hub;
    struct timespec limit = pl_after(engine->deadline);
    bool late = false, left = false;
    pthread_mutex_lock(&hub->mutex);
    while (hub->lent[engine->rank] && !hub->failed && !late) {
        if (!left)
            pl_converse_leave();
        left = true;
        late = pthread_cond_timedwait(&hub->arrived, &hub->mutex, &limit) != 0;
    }
    bool read = hub->lent[engine->rank] == 0;
    parley_error failure = hub->failure;
    bool failed = hub->failed;
    pthread_mutex_unlock(&hub->mutex);
    if (left)
        pl_converse_enter();
    if (read)
        return PARLEY_OK;
    retract(engine);
    return failed ? pl_fail(error, failure.status, "%s", failure.sentence)
                  : pl_fail(error, PARLEY_NO_PEER, "what rank %u sent was not taken for %g seconds", engine->rank,
                            engine->deadline);
}

/* Has a rank failed? Then `error` is its sentence. */
static bool has_failed(hub *hub, parley_error *error) {
    pthread_mutex_lock(&hub->mutex);
    bool failed = hub->failed;
    if (failed)
        *error = hub->failure;
    pthread_mutex_unlock(&hub->mutex);
    return failed;
}

static parley_status meet(pl_engine *engine, parley_error *error) {
    hub *hub = ((threads_engine *)engine)->hub;
    double until = pl_now() + engine->deadline;
    parley_error failure;
    pl_common_come(engine->common);
    for (;;) {
        if (has_failed(hub, &failure))
            return pl_fail(error, failure.status, "%s", failure.sentence);
        if (pl_common_met(engine->common))
            return PARLEY_OK;
        if (pl_now() > until)
            return pl_fail(error, PARLEY_NO_PEER, "rank %u sent nothing for %g seconds",
                           pl_common_missing(engine->common), engine->deadline);
        pl_common_doze(engine->common, DOZE);
    }
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
    pl_free(hub->lent);
    pl_span_free(&hub->common);
    pl_free(hub);
}

static void close_engine(pl_engine *engine) {
    threads_engine *this = (threads_engine *)engine;
    pthread_mutex_lock(&this->hub->mutex);
    bool last = --this->hub->open == 0;
    pthread_mutex_unlock(&this->hub->mutex);
    if (last)
        free_hub(this->hub);
    pl_pool_close(engine->pool);
    pl_span_free(&engine->room);
    pl_free(engine->common);
    pl_free(this);
}

static parley_status open_hub(hub **out, unsigned ranks, parley_error *error) {
    hub *new = pl_alloc(1, sizeof *new);
    message **inbox = pl_alloc(ranks, sizeof *inbox);
    unsigned *lent = pl_alloc(ranks, sizeof *lent);
    if (!new || !inbox || !lent) {
        pl_free(new);
        pl_free(inbox);
        pl_free(lent);
        return pl_fail_memory(error, "mailboxes", ranks * sizeof *inbox);
    }
    new->inbox = inbox;
    new->lent = lent;
    new->ranks = ranks;
    pthread_mutex_init(&new->mutex, NULL);
    pthread_cond_init(&new->arrived, NULL);
    *out = new;
    return PARLEY_OK;
}

static parley_status open_rank(threads_engine **out, hub *hub, unsigned rank, unsigned threads, double deadline,
                               parley_error *error) {
    threads_engine *this;
    pl_pool *pool;
    parley_status status = pl_take(&this, 1, sizeof *this, "an engine", error);
    if (status == PARLEY_OK && (status = pl_pool_open(&pool, threads, error)) != PARLEY_OK)
        pl_free(this);
    if (status != PARLEY_OK)
        return status;
    this->base = (pl_engine){.type = &pl_engine_threads,
                             .rank = rank,
                             .ranks = hub->ranks,
                             .threads = pl_pool_threads(pool),
                             .pool = pool,
                             .cores = pl_pool_cores(pool),
                             .deadline = deadline};
    this->hub = hub;
    hub->open++;
    *out = this;
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
                close_engine(out[--r]);
            return status;
        }
        out[r] = &engine->base;
    }
    return PARLEY_OK;
}

parley_status pl_threads_share(pl_engine **engines, parley_error *error) {
    hub *hub = ((threads_engine *)engines[0])->hub;
    uint64_t bytes = pl_common_bytes(hub->ranks, ESTATE);
    if (!pl_span_reserve(&hub->common, bytes))
        return pl_fail_memory(error, "common memory", bytes);
    for (unsigned r = 0; r < hub->ranks; r++) {
        parley_status status = pl_take(&engines[r]->common, 1, sizeof *engines[r]->common, "common memory", error);
        if (status != PARLEY_OK)
            return status;
        *engines[r]->common = pl_common_of(hub->common.data, r, hub->ranks, ESTATE);
    }
    return PARLEY_OK;
}

static parley_status open_engine(const parley_settings *settings, pl_engine **out, parley_error *error) {
    return pl_threads_open(out, 1, (unsigned)settings->threads, settings->deadline, error);
}

const pl_engine_type pl_engine_threads = {
    .name = "threads",
    .help = "workers on the threads of one process",
    .open = open_engine,
    .post = post,
    .take = take,
    .take_any = take_any,
    .lend = lend,
    .settle = settle,
    .retract = retract,
    .expect = expect,
    .await = await,
    .meet = meet,
    .run = pl_run_on_pool,
    .converse = pl_converse,
    .now = pl_wall_clock,
    .fail = fail,
    .close = close_engine,
};
