/* pool.c: threads take tasks from a shared counter, and a run ends when its tasks are done, so it does not wait for a
 * helper that the kernel has not scheduled. A waiting thread spins for some hundred microseconds, because rounds are
 * short, and then sleeps. Threads are pinned to one core each until the pool is closed: otherwise the kernel keeps a
 * new thread on its creator's core for 20 ms, which is longer than many runs, and sometimes puts two threads on one
 * core. */
#define _GNU_SOURCE /* affinity */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

#define SPINS 20000

struct pl_pool {
    unsigned threads, spins, cores;
    unsigned wanted, started; /* helpers */
    pthread_t *handles;
    pthread_mutex_t mutex;
    pthread_cond_t wake, idle;
    atomic_uint generation; /* of the current run; written under the mutex */
    /* The number of tasks of the run (high half) and the next task (low half), which a thread claims by adding 1. Both
     * are in one word, so that a late helper cannot take tasks of the next run for this one's. */
    _Atomic uint64_t ticket;
    atomic_uint left; /* tasks not done yet */
    unsigned sleeping;
    bool owner_sleeps;
    atomic_bool stop; /* a late helper checks it after the run that it missed */
    bool pins;        /* the owner and the helpers will have one core each, */
    bool pinned;      /* and do */
    int home;
    cpu_set_t allowed; /* cores of the owner before it was pinned */
    bool outer_pinned; /* the owner was pinned already, by another pool that had these cores */
    cpu_set_t outer_allowed;
    pl_task task;
    void *context;
};

static _Thread_local bool inside_task;

/* How a pool has pinned this thread. */
static _Thread_local struct {
    bool pinned;
    cpu_set_t allowed, core; /* core: set while the thread has left it */
} here;

void pl_core_leave(void) {
    if (here.pinned && sched_getaffinity(0, sizeof here.core, &here.core) == 0)
        sched_setaffinity(0, sizeof here.allowed, &here.allowed);
}

void pl_core_return(void) {
    if (here.pinned)
        sched_setaffinity(0, sizeof here.core, &here.core);
}

static void relax(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

/* Runs tasks until there are none left. Returns true if it completed the last one. */
static bool run_tasks(pl_pool *pool) {
    bool last = false;
    inside_task = true;
    for (;;) {
        uint64_t ticket = atomic_fetch_add(&pool->ticket, 1);
        unsigned tasks = (unsigned)(ticket >> 32), i = (unsigned)ticket;
        if (i >= tasks)
            break;
        pool->task(pool->context, i);
        last = atomic_fetch_sub(&pool->left, 1) == 1;
    }
    inside_task = false;
    return last;
}

/* Waits for the run after `seen`. Returns false if the pool closes. */
static bool await_run(pl_pool *pool, unsigned seen) {
    for (unsigned i = 0; i < pool->spins; i++) {
        if (atomic_load(&pool->generation) != seen)
            return !pool->stop;
        relax();
    }
    pthread_mutex_lock(&pool->mutex);
    pool->sleeping++;
    while (atomic_load(&pool->generation) == seen && !pool->stop) /* it may have closed since the last check */
        pthread_cond_wait(&pool->wake, &pool->mutex);
    pool->sleeping--;
    pthread_mutex_unlock(&pool->mutex);
    return !pool->stop;
}

static void *helper(void *argument) {
    pl_pool *pool = argument;
    here.pinned = pool->pinned;
    here.allowed = pool->allowed;
    for (unsigned seen = 0; await_run(pool, seen);) {
        seen = atomic_load(&pool->generation);
        if (run_tasks(pool)) {
            pthread_mutex_lock(&pool->mutex);
            if (pool->owner_sleeps)
                pthread_cond_signal(&pool->idle);
            pthread_mutex_unlock(&pool->mutex);
        }
    }
    return NULL;
}

static void announce(pl_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->generation, 1);
    if (pool->sleeping)
        pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

static void await_helpers(pl_pool *pool) {
    for (unsigned i = 0; i < pool->spins; i++) {
        if (atomic_load(&pool->left) == 0)
            return;
        relax();
    }
    pthread_mutex_lock(&pool->mutex);
    pool->owner_sleeps = true;
    while (atomic_load(&pool->left) != 0)
        pthread_cond_wait(&pool->idle, &pool->mutex);
    pool->owner_sleeps = false;
    pthread_mutex_unlock(&pool->mutex);
}

/* The i-th allowed core after the one on which the pool was opened. */
static cpu_set_t core_of(const pl_pool *pool, unsigned i) {
    int core = pool->home;
    for (unsigned steps = 0; steps < i; steps++)
        do
            core = (core + 1) % CPU_SETSIZE;
        while (!CPU_ISSET(core, &pool->allowed));
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return one;
}

/* Pins the calling thread, the owner, until the pool is closed. */
static bool pin_owner(pl_pool *pool, const cpu_set_t *core) {
    if (sched_setaffinity(0, sizeof *core, core) != 0)
        return false;
    pool->outer_pinned = here.pinned;
    pool->outer_allowed = here.allowed;
    here.pinned = true;
    here.allowed = pool->allowed;
    return true;
}

static void unpin_owner(pl_pool *pool) {
    sched_setaffinity(0, sizeof pool->allowed, &pool->allowed);
    here.pinned = pool->outer_pinned;
    here.allowed = pool->outer_allowed;
}

static bool start_helper(pl_pool *pool, unsigned i) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    if (pool->pinned) {
        cpu_set_t core = core_of(pool, i + 1);
        pthread_attr_setaffinity_np(&attributes, sizeof core, &core);
    }
    bool started = pthread_create(&pool->handles[i], &attributes, helper, pool) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

static void pin_to_cores(pl_pool *pool) {
    pool->pins = false;
    pool->home = sched_getcpu();
    if (pool->home >= 0 && CPU_ISSET(pool->home, &pool->allowed)) {
        cpu_set_t core = core_of(pool, 0);
        pool->pinned = pin_owner(pool, &core);
    }
}

/* Starts the helpers, unless that was done before. Returns false if there are fewer than were wanted. */
static bool start_helpers(pl_pool *pool) {
    unsigned wanted = pool->wanted;
    if (pool->pins)
        pin_to_cores(pool);
    while (wanted > pool->started && start_helper(pool, pool->started))
        pool->started++;
    pool->wanted = pool->started;
    return pool->started == wanted;
}

unsigned pl_pool_threads(const pl_pool *pool) { return pool->threads; }
unsigned pl_pool_cores(const pl_pool *pool) { return pool->cores; }

double pl_pool_cpu(const pl_pool *pool) {
    double seconds = 0;
    for (unsigned i = 0; i < pool->started; i++)
        seconds += pl_cpu_of_thread(pool->handles[i]);
    return seconds;
}

void pl_pool_run(pl_pool *pool, pl_task task, void *context, unsigned tasks) {
    if (inside_task || tasks <= 1 || pool->threads == 1) {
        for (unsigned i = 0; i < tasks; i++)
            task(context, i);
        return;
    }
    start_helpers(pool); /* those that could be started share the tasks */
    pool->task = task;
    pool->context = context;
    atomic_store(&pool->left, tasks);
    atomic_store(&pool->ticket, (uint64_t)tasks << 32);
    announce(pool);
    if (!run_tasks(pool))
        await_helpers(pool);
}

/* Counts the cores that this process may use. `*known` says whether `allowed` lists them. */
static unsigned count_cores(cpu_set_t *allowed, bool *known) {
    CPU_ZERO(allowed);
    *known = sched_getaffinity(0, sizeof *allowed, allowed) == 0 && CPU_COUNT(allowed) > 0;
    if (*known)
        return (unsigned)CPU_COUNT(allowed);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* machines with more cores than a cpu_set_t has bits are not pinned */
    return online > 0 ? (unsigned)online : 1;
}

unsigned pl_cores(void) {
    cpu_set_t allowed;
    bool known;
    return count_cores(&allowed, &known);
}

void pl_cores_list(uint64_t bits[PL_CORE_WORDS]) {
    cpu_set_t allowed;
    bool known;
    count_cores(&allowed, &known);
    memset(bits, 0, PL_CORE_WORDS * sizeof *bits);
    for (unsigned core = 0; known && core < CPU_SETSIZE && core < PL_CORE_WORDS * 64; core++)
        if (CPU_ISSET(core, &allowed))
            bits[core / 64] |= (uint64_t)1 << core % 64;
}

parley_status pl_pool_open(pl_pool **out, unsigned threads, parley_error *error) {
    cpu_set_t allowed;
    bool known;
    *out = NULL;
    unsigned cores = count_cores(&allowed, &known);
    bool given = threads > 0;
    threads = given ? threads : cores;
    pl_pool *pool = pl_alloc(1, sizeof *pool);
    pthread_t *handles = pl_alloc(threads, sizeof *handles);
    if (!pool || !handles) {
        pl_free(pool);
        pl_free(handles);
        return pl_fail_memory(error, "threads", threads * sizeof *handles);
    }
    pool->threads = threads;
    pool->wanted = threads - 1;
    pool->cores = cores;
    pool->handles = handles;
    pool->spins = threads <= cores ? SPINS : 0;
    pool->allowed = allowed;
    pool->pins = known && threads > 1 && threads <= cores;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->idle, NULL);
    /* Otherwise the first run with several tasks starts them, since many fits are over before a thread has begun. */
    if (given && !start_helpers(pool)) {
        pl_pool_close(pool);
        return pl_fail(error, PARLEY_NO_MEMORY, "cannot start %u threads; use fewer with --threads", threads);
    }
    *out = pool;
    return PARLEY_OK;
}

bool pl_pool_keep_to(pl_pool *pool, unsigned core) {
    cpu_set_t one;
    if (pool->threads > 1)
        return false;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pool->pinned = pin_owner(pool, &one);
    return pool->pinned;
}

void pl_pool_close(pl_pool *pool) {
    if (!pool)
        return;
    if (pool->pinned)
        unpin_owner(pool);
    pool->stop = true;
    announce(pool);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->handles[i], NULL);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    pl_free(pool->handles);
    pl_free(pool);
}
