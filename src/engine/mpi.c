/* mpi.c: the engine `mpi`, for processes started by MPI on any number of machines. Messages use MPI's non-blocking
 * calls, and a wait that spins and then sleeps. Failures are detected by the watch (watch.h), because MPI detects none.
 *
 * A message is cut into pieces of PIECE bytes; the last one is shorter and may be empty. Channels are tags. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/blocking_tasks.h"
#include "engine/launched.h"
#include "engine/mpi_calls.h"
#include "engine/neighbours.h"
#include "engine/network.h"
#include "engine/shared_memory.h"
#include "engine/watch.h"

#define PIECE ((uint64_t)64 << 20)
#define LEAST_SLEEP 1e-3 /* in a barrier the last rank wakes the others, */
#define MOST_SLEEP 2e-2  /* but they must also check for failures */
#define SPINS 2000       /* spins of a barrier if no other rank needs the core */
#define YIELDS 30        /* yields if another rank might need it, since waking up takes longer */
#define PINNED_YIELDS 3  /* yields if another rank is pinned to it, which may as well wake this one */
/* The address of rank 0 may take this much longer than the deadline: if that rank is stopped, its guard reports it
 * first. */
#define START_SECONDS 3.5
#define MOST_PATH 4096
#define ADDRESS_TAG 32000

/* A piece that is being sent. */
typedef struct piece {
    struct piece *next;
    pl_mpi_request request;
    unsigned to;
    char data[]; /* empty in a zero-copy send */
} piece;

typedef struct cluster {
    pl_engine base;
    const pl_mpi *mpi;
    pl_watch *watch;
    pthread_mutex_t mutex; /* guards every call of MPI */
    piece *sent;
    piece *unsent, **last_unsent; /* incomplete zero-copy sends, oldest first */
    piece *spare;                 /* records for reuse */
    bool own_cores;               /* ranks do not share cores */
} cluster;

static parley_status fail_mpi(const cluster *self, int code, const char *what, parley_error *error) {
    char text[200];
    self->mpi->text(code, text, sizeof text);
    return pl_fail(error, PARLEY_NO_PEER, "%s cannot %s: %s", self->mpi->library, what, text);
}

/* Frees pieces that have arrived. The mutex is held. */
static void reap(cluster *self) {
    for (piece **at = &self->sent; *at;) {
        piece *piece = *at;
        int done = 0;
        if (self->mpi->test(&piece->request, &done, NULL) == 0 && !done) {
            at = &piece->next;
            continue;
        }
        *at = piece->next;
        pl_free(piece);
    }
}

/* After a failure MPI is no longer called, because it might write to the buffer of a receive after it is freed. */
static parley_status goes_on(const cluster *self, parley_error *error) {
    parley_error cause;
    if (self->watch && pl_watch_failed(self->watch, &cause))
        return pl_fail(error, cause.status, "%s", cause.sentence);
    return PARLEY_OK;
}

static parley_status post_piece(cluster *self, unsigned to, int tag, const char *data, uint64_t bytes,
                                parley_error *error) {
    piece *new = pl_alloc(1, sizeof *new + bytes);
    if (!new)
        return pl_fail_memory(error, "a message", bytes);
    memcpy(new->data, data, bytes);
    int code = self->mpi->send(new->data, (int)bytes, to, tag, &new->request);
    if (code != 0) {
        pl_free(new);
        return fail_mpi(self, code, "send", error);
    }
    new->next = self->sent;
    self->sent = new;
    return PARLEY_OK;
}

static parley_status post(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                          parley_error *error) {
    cluster *self = (cluster *)engine;
    parley_status status = goes_on(self, error);
    if (status != PARLEY_OK)
        return status;
    atomic_fetch_add(&engine->bytes_sent, bytes);
    pthread_mutex_lock(&self->mutex);
    reap(self);
    for (uint64_t done = 0; done <= bytes && status == PARLEY_OK; done += PIECE)
        status = post_piece(self, to, (int)channel, (const char *)data + done,
                            bytes - done < PIECE ? bytes - done : PIECE, error);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static parley_status post_zero_copy(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                                    parley_error *error) {
    cluster *self = (cluster *)engine;
    parley_status status = goes_on(self, error);
    piece *new = self->spare;
    if (status == PARLEY_OK && new)
        self->spare = new->next;
    else if (status == PARLEY_OK)
        status = pl_take(&new, 1, sizeof *new, "a message", error);
    if (status != PARLEY_OK)
        return status;
    atomic_fetch_add(&engine->bytes_sent, bytes);
    pthread_mutex_lock(&self->mutex);
    int code = self->mpi->send(data, (int)bytes, to, (int)channel, &new->request);
    pthread_mutex_unlock(&self->mutex);
    if (code != 0) {
        pl_free(new);
        return fail_mpi(self, code, "send", error);
    }
    new->next = NULL;
    new->to = to;
    *self->last_unsent = new;
    self->last_unsent = &new->next;
    return PARLEY_OK;
}

/* One turn of a wait that began at `began`: spins at first, then sleeps. */
static void pause_for(const cluster *self, bool barrier, double began, double *nap) {
    if (barrier) {
        pl_shared_sleep(self->base.shared, *nap);
        *nap = *nap * 2 < MOST_SLEEP ? *nap * 2 : MOST_SLEEP;
    } else if (pl_now() - began < PL_EAGER_SECONDS)
        sched_yield();
    else {
        pl_sleep(*nap);
        *nap = *nap * PL_NAP_GROWTH < PL_MOST_NAP ? *nap * PL_NAP_GROWTH : PL_MOST_NAP;
    }
}

/* A condition to wait for. Returns true when it holds, or when it failed with a code. */
typedef bool (*condition)(cluster *self, void *context, int *code);

typedef struct wish {
    condition there;
    void *context;
    unsigned from; /* the rank that is waited for; in a barrier, the first missing rank */
    bool barrier;
} wish;

static parley_status wait_until(cluster *self, wish wish, parley_error *error) {
    double began = pl_now(), nap = wish.barrier ? LEAST_SLEEP : PL_LEAST_NAP;
    bool done = false, left = false;
    int code = 0;
    parley_error cause;
    parley_status status = goes_on(self, error);
    if (status != PARLEY_OK)
        return status;
    for (;;) {
        pthread_mutex_lock(&self->mutex);
        done = wish.there(self, wish.context, &code);
        if (!done)
            reap(self);
        pthread_mutex_unlock(&self->mutex);
        if (done || (self->watch && pl_watch_failed(self->watch, &cause)))
            break;
        if (!left)
            pl_blocking_leave();
        unsigned missing = wish.barrier ? pl_shared_missing(self->base.shared) : wish.from;
        if (self->watch && (!left || missing != wish.from))
            pl_watch_waits(self->watch, missing);
        wish.from = missing;
        left = true;
        if (pl_now() - began > self->base.deadline) {
            if (self->watch && wish.from < self->base.ranks)
                pl_watch_late(self->watch, wish.from);
            if (self->watch && pl_watch_failed(self->watch, &cause))
                break;
            if (wish.from < self->base.ranks)
                pl_fail(&cause, PARLEY_NO_PEER, "rank %u sent nothing for %g seconds", wish.from, self->base.deadline);
            else
                pl_fail_silence(&self->base, &cause);
            break;
        }
        pause_for(self, wish.barrier, began, &nap);
    }
    if (left) {
        pl_blocking_enter();
        if (self->watch)
            pl_watch_waits(self->watch, self->base.rank);
    }
    if (!done)
        return pl_fail(error, cause.status, "%s", cause.sentence);
    return code == 0 ? PARLEY_OK : fail_mpi(self, code, "receive", error);
}

typedef struct arrival {
    pl_mpi_request request;
    int tag, bytes;
    unsigned from;
} arrival;

static bool received(cluster *self, void *context, int *code) {
    arrival *arrival = context;
    int done = 0;
    *code = self->mpi->test(&arrival->request, &done, &arrival->bytes);
    return done || *code != 0;
}

static bool found(cluster *self, void *context, int *code) {
    arrival *arrival = context;
    int there = 0;
    *code = self->mpi->probe(arrival->tag, &there, &arrival->from, &arrival->bytes);
    return there || *code != 0;
}

/* Receives the next piece of at most `bytes` bytes; `got` is its length. */
static parley_status take_piece(cluster *self, unsigned from, int tag, char *data, uint64_t bytes, uint64_t *got,
                                parley_error *error) {
    arrival arrival = {.from = from};
    parley_status status = goes_on(self, error);
    if (status != PARLEY_OK)
        return status;
    pthread_mutex_lock(&self->mutex);
    int code = self->mpi->receive(data, (int)bytes, from, tag, &arrival.request);
    pthread_mutex_unlock(&self->mutex);
    if (code != 0)
        return fail_mpi(self, code, "receive", error);
    status = wait_until(self, (wish){received, &arrival, from, false}, error);
    *got = (uint64_t)arrival.bytes;
    if (status == PARLEY_OK)
        atomic_fetch_add(&self->base.bytes_received, *got);
    return status;
}

static parley_status take(pl_engine *engine, unsigned from, unsigned channel, void *data, uint64_t bytes,
                          parley_error *error) {
    cluster *self = (cluster *)engine;
    parley_status status = PARLEY_OK;
    for (uint64_t done = 0, got = 0; done <= bytes && status == PARLEY_OK; done += PIECE) {
        uint64_t due = bytes - done < PIECE ? bytes - done : PIECE;
        status = take_piece(self, from, (int)channel, (char *)data + done, due, &got, error);
        if (status == PARLEY_OK && got != due)
            status = pl_fail_length(from, done + got, bytes, error);
    }
    return status;
}

static parley_status take_any(pl_engine *engine, unsigned channel, unsigned *from, pl_span *data, uint64_t *bytes,
                              parley_error *error) {
    cluster *self = (cluster *)engine;
    arrival arrival = {.tag = (int)channel};
    parley_status status = wait_until(self, (wish){found, &arrival, engine->ranks, false}, error);
    uint64_t got = (uint64_t)arrival.bytes, next = got;
    *from = arrival.from;
    *bytes = 0;
    while (status == PARLEY_OK) {
        if (!pl_span_reserve(data, *bytes + next + 1))
            return pl_fail_memory(error, "a message", *bytes + next);
        status = take_piece(self, *from, (int)channel, (char *)data->data + *bytes, next, &got, error);
        *bytes += got;
        if (got < PIECE)
            break;
        next = PIECE;
    }
    return status;
}

static bool all_arrived(cluster *self, void *context, int *code) {
    (void)context, (void)code;
    return self->sent == NULL;
}

/* Waits until everything is sent, since MPI makes progress only during calls. */
static parley_status flush(cluster *self, parley_error *error) {
    return wait_until(self, (wish){all_arrived, NULL, self->base.rank, false}, error);
}

static parley_status expect(pl_engine *engine, pl_request *request, parley_error *error) {
    cluster *self = (cluster *)engine;
    pl_mpi_request handle;
    parley_status status = goes_on(self, error);
    if (status != PARLEY_OK)
        return status;
    pthread_mutex_lock(&self->mutex);
    int code = self->mpi->receive(request->data, (int)request->most, request->from, (int)request->channel, &handle);
    pthread_mutex_unlock(&self->mutex);
    request->word = handle.word;
    return code == 0 ? PARLEY_OK : fail_mpi(self, code, "receive", error);
}

static parley_status await(pl_engine *engine, pl_request *request, uint64_t *bytes, parley_error *error) {
    cluster *self = (cluster *)engine;
    arrival arrival = {.request = {request->word}, .from = request->from};
    parley_status status = wait_until(self, (wish){received, &arrival, request->from, false}, error);
    *bytes = (uint64_t)arrival.bytes;
    if (status == PARLEY_OK)
        atomic_fetch_add(&engine->bytes_received, *bytes);
    return status;
}

/* Drops complete zero-copy sends in order, up to the first incomplete one. The mutex is held. */
static bool all_sent(cluster *self, void *context, int *code) {
    (void)context;
    while (self->unsent) {
        piece *first = self->unsent;
        int done = 0;
        *code = self->mpi->test(&first->request, &done, NULL);
        if (*code != 0 || !done)
            return *code != 0;
        self->unsent = first->next;
        first->next = self->spare;
        self->spare = first;
    }
    self->last_unsent = &self->unsent;
    return true;
}

static parley_status wait_sent(pl_engine *engine, parley_error *error) {
    cluster *self = (cluster *)engine;
    return self->unsent ? wait_until(self, (wish){all_sent, NULL, self->unsent->to, false}, error) : PARLEY_OK;
}

static bool barrier_passed(cluster *self, void *context, int *code) {
    (void)context, (void)code;
    return pl_shared_all_arrived(self->base.shared);
}

static parley_status barrier(pl_engine *engine, parley_error *error) {
    cluster *self = (cluster *)engine;
    parley_status status = goes_on(self, error);
    if (status != PARLEY_OK)
        return status;
    pl_shared_arrive(engine->shared);
    unsigned most = engine->pinned ? PINNED_YIELDS : YIELDS;
    for (unsigned i = 0, yields = 0; i < SPINS && yields < most; i++) {
        if (pl_shared_all_arrived(engine->shared))
            return PARLEY_OK;
        if (!self->own_cores && (!engine->pinned || pl_shared_core_wanted(engine->shared))) {
            sched_yield();
            yields++;
        }
    }
    return wait_until(self, (wish){barrier_passed, NULL, engine->rank, true}, error);
}

/* A rank is a process, so its clock is that of the process. */
static double cpu(pl_engine *engine) {
    (void)engine;
    return pl_cpu_now();
}

static void free_pieces(piece *first) {
    for (piece *next; first; first = next) {
        next = first->next;
        pl_free(first);
    }
}

/* MPI cannot cancel a send. But it is no longer called, and the data are freed with the process. */
static void cancel_sent(pl_engine *engine) {
    cluster *self = (cluster *)engine;
    free_pieces(self->unsent);
    self->unsent = NULL;
    self->last_unsent = &self->unsent;
}

static void fail(pl_engine *engine, parley_error *error) {
    cluster *self = (cluster *)engine;
    if (!self->watch)
        return;
    pl_watch_fail(self->watch, error);
    pl_watch_failed(self->watch, error);
    engine->speaker = pl_watch_speaker(self->watch);
}

static void release(cluster *self) {
    pl_watch_close(self->watch);
    pl_pool_close(self->base.pool);
    free_pieces(self->unsent);
    free_pieces(self->spare);
    pl_span_free(&self->base.room);
    pl_free(self->base.host);
    pl_shared_close(self->base.shared);
    pthread_mutex_destroy(&self->mutex);
    pl_free(self);
}

static void close_engine(pl_engine *engine) {
    cluster *self = (cluster *)engine;
    parley_error ignored;
    if (pl_barrier(engine, &ignored) != PARLEY_OK || /* no rank leaves while others still wait */
        flush(self, &ignored) != PARLEY_OK) {
        self->mpi->abandon();
        if (self->watch)
            pl_watch_part(self->watch);
    }
    release(self);
}

static const pl_mpi *load(const char *folder, const char *below, const char *name, char why[MOST_PATH]) {
    char path[MOST_PATH];
    if (snprintf(path, sizeof path, "%s%s/%s", folder, below, name) >= (int)sizeof path)
        return NULL;
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    const pl_mpi *mpi = module ? dlsym(module, PL_MPI_SYMBOL) : NULL;
    if (mpi && mpi->version == PL_MPI_CALLS)
        return mpi;
    const char *reason = module ? "it is of another version" : dlerror();
    if (access(path, F_OK) == 0) /* otherwise it is just not in this folder */
        snprintf(why, MOST_PATH, "%s", reason);
    return NULL;
}

/* Looks beside this library or program, where it was built, and in lib/parley, where it is installed. */
static parley_status find_module(const char *name, const pl_mpi **out, parley_error *error) {
    static const char *const below[] = {"", "/parley", "/../lib/parley", "/../" PARLEY_LIBDIR "/parley"};
    char program[MOST_PATH] = "", library[MOST_PATH] = "", why[MOST_PATH] = "it is not there";
    Dl_info info;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    if (dladdr(below, &info) && info.dli_fname)
        snprintf(library, sizeof library, "%s", info.dli_fname);
    const char *folders[] = {pl_launched_folder(), library, program};
    *out = NULL;
    for (unsigned f = 0; f < 3; f++) {
        char folder[MOST_PATH];
        if (!folders[f] || *folders[f] != '/') /* a relative path would run code of whoever wrote the current folder */
            continue;
        snprintf(folder, sizeof folder, "%s", folders[f]);
        char *slash = strrchr(folder, '/');
        if (f > 0 && slash)
            *slash = '\0';
        for (unsigned b = 0; b < sizeof below / sizeof *below && !*out; b++)
            *out = load(folder, below[b], name, why);
    }
    if (*out)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_NO_FILE,
                   "this process was started by MPI, but the module %s cannot be opened: %.500s; install the MPI "
                   "library's development package and build parley again",
                   name, why);
}

/* MPI tells all ranks but the first where the watch is. */
static parley_status open_watch(cluster *self, parley_error *error) {
    pl_engine *engine = &self->base;
    char address[PL_WATCH_ADDRESS] = "";
    parley_status status = PARLEY_OK;
    if (engine->ranks == 1) {
        pl_launched_joined();
        return status;
    }
    if (engine->rank > 0) {
        engine->deadline += START_SECONDS;
        status = take(engine, 0, ADDRESS_TAG, address, sizeof address, error);
        engine->deadline -= START_SECONDS;
        if (status != PARLEY_OK)
            return status;
        pl_launched_joined();
        return pl_watch_join(&self->watch, engine->rank, engine->ranks, engine->deadline, address, error);
    }
    status = pl_watch_listen(&self->watch, engine->ranks, pl_launched_here() == engine->ranks, engine->deadline,
                             address, error);
    for (unsigned r = 1; r < engine->ranks && status == PARLEY_OK; r++)
        status = post(engine, r, ADDRESS_TAG, address, sizeof address, error);
    if (status == PARLEY_OK)
        status = flush(self, error);
    if (status == PARLEY_OK)
        status = pl_watch_gather(self->watch, error);
    pl_launched_joined();
    return status;
}

/* Finds the ranks that share a machine, its cores and memory. */
static parley_status find_neighbours(cluster *self, const parley_settings *settings, parley_error *error) {
    pl_engine *engine = &self->base;
    pl_neighbourhood around;
    parley_status status = pl_find_neighbours(engine, &around, error);
    if (status == PARLEY_OK)
        status = pl_pool_open(&engine->pool, settings->threads ? (unsigned)settings->threads : around.threads, error);
    if (status != PARLEY_OK)
        return status;
    engine->pinned = around.core && pl_pool_keep_to(engine->pool, around.core - 1) ? around.core : 0;
    engine->threads = pl_pool_threads(engine->pool);
    self->own_cores = !engine->pinned && pl_launched_here() * engine->threads <= engine->cores;
    return engine->ranks > 1 && around.hosts == 1 && settings->between_ranks == PL_BY_MEMORY
               ? pl_shared_open(engine, error)
               : PARLEY_OK;
}

/* `out` is NULL if the ranks have not found each other; after that, the engine tells other ranks of a failure. */
static parley_status open_engine(const parley_settings *settings, pl_engine **out, parley_error *error) {
    const char *module = pl_launched_module();
    cluster *self;
    *out = NULL;
    if (!module)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--engine mpi: this process was not started by MPI; use mpiexec -n 4 parley ..., or parley "
                       "launch -n 4 -- ...");
    parley_status status = pl_take(&self, 1, sizeof *self, "an engine", error);
    if (status != PARLEY_OK)
        return status;
    self->base = (pl_engine){.type = &pl_engine_mpi, .ranks = 1, .deadline = settings->deadline};
    self->last_unsent = &self->unsent;
    pthread_mutex_init(&self->mutex, NULL);
    status = find_module(module, &self->mpi, error);
    if (status == PARLEY_OK) {
        int code = self->mpi->begin(&self->base.rank, &self->base.ranks);
        if (code != 0)
            status = fail_mpi(self, code, "begin", error);
    }
    if (status == PARLEY_OK && pl_launched_ranks() > 1 && self->base.ranks != (unsigned)pl_launched_ranks())
        status = pl_fail(error, PARLEY_BROKEN, "%s found %u of %d ranks: this process could not reach its launcher",
                         self->mpi->library, self->base.ranks, pl_launched_ranks());
    if (status == PARLEY_OK)
        status = open_watch(self, error);
    if (status != PARLEY_OK) {
        release(self);
        return status;
    }
    *out = &self->base;
    return find_neighbours(self, settings, error);
}

static parley_status launch(const parley_settings *settings, const pl_job *job, parley_error *error) {
    pl_engine *engine;
    parley_status status = open_engine(settings, &engine, error);
    if (!engine)
        return status;
    status = pl_job_run(engine, status, job, error);
    close_engine(engine);
    return status;
}

const pl_engine_type pl_engine_mpi = {
    .name = "mpi",
    .help = "workers in processes started by MPI, on one machine or many",
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
