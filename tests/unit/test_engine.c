/* test_engine.c: parts of an engine that the collectives do not use: messages from any rank, tasks that block on each
 * other, the clock, and ranks that share the cores of a machine. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "engine/collective.h"
#include "engine/neighbours.h"
#include "support.h"

#define CHANNEL 5
#define TASKS 12

static parley_status greet(pl_engine *engine, void *context, parley_error *error) {
    uint64_t *seen = context; /* bytes from each rank, at rank 0 */
    parley_status status = PARLEY_OK;
    char text[MOST_RANKS + 1] = "abcde";
    pl_span span = {0};
    if (engine->rank > 0)
        return engine->type->post(engine, 0, CHANNEL, text, engine->rank, error);
    for (unsigned i = 1; i < engine->ranks && status == PARLEY_OK; i++) {
        unsigned from;
        uint64_t bytes;
        status = engine->type->take_any(engine, CHANNEL, &from, &span, &bytes, error);
        if (status == PARLEY_OK && memcmp(span.data, text, bytes) == 0)
            seen[from] += bytes;
    }
    pl_span_free(&span);
    return status;
}

static void messages_from_anybody_say_who_sent_them_and_how_long_they_are(void **state) {
    (void)state;
    for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++) {
        uint64_t seen[MOST_RANKS] = {0};
        parley_status status[MOST_RANKS];
        parley_error error[MOST_RANKS];
        run_ranks(ranks, 1, DEADLINE, greet, seen, status, error);
        for (unsigned r = 0; r < ranks; r++) {
            assert_done(status[r], &error[r]);
            assert_int_equal(seen[r], r);
        }
    }
}

static void nobody_sending_ends_at_the_deadline(void **state) {
    (void)state;
    pl_engine *engine;
    pl_span span = {0};
    parley_error error = {0};
    unsigned from;
    uint64_t bytes;
    assert_done(pl_threads_open(&engine, 1, 1, 0.01, &error), &error);
    assert_int_equal(engine->type->take_any(engine, CHANNEL, &from, &span, &bytes, &error), PARLEY_NO_PEER);
    assert_string_equal(error.sentence, "no rank sent anything for 0.01 seconds");
    pl_span_free(&span);
    pl_engine_close(engine);
}

typedef struct ring {
    pl_engine *engine;
    unsigned rounds;
    atomic_uint inside, most; /* tasks that compute now, and the maximum */
    parley_status status[TASKS];
} ring;

/* Passes a number to the next task and waits for the one before, which needs all tasks to be running. */
static void pass_on(void *context, unsigned task) {
    ring *ring = context;
    pl_engine *engine = ring->engine;
    parley_error error;
    for (unsigned round = 0; round < ring->rounds && ring->status[task] == PARLEY_OK; round++) {
        unsigned number = round, got = 0, inside = ++ring->inside, most = ring->most;
        while (inside > most && !atomic_compare_exchange_weak(&ring->most, &most, inside))
            ;
        ring->inside--;
        ring->status[task] = engine->type->post(engine, 0, 100 + (task + 1) % TASKS, &number, sizeof number, &error);
        if (ring->status[task] == PARLEY_OK)
            ring->status[task] = engine->type->take(engine, 0, 100 + task, &got, sizeof got, &error);
        if (ring->status[task] == PARLEY_OK && got != round)
            ring->status[task] = PARLEY_BROKEN;
    }
}

static void tasks_that_wait_for_each_other_all_get_on(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        parley_error error = {0};
        ring ring = {.rounds = 50};
        assert_done(pl_threads_open(&ring.engine, 1, threads, DEADLINE, &error), &error);
        assert_done(ring.engine->type->run_blocking(ring.engine, pass_on, &ring, TASKS, &error), &error);
        for (unsigned t = 0; t < TASKS; t++)
            assert_int_equal(ring.status[t], PARLEY_OK);
        assert_true(ring.most >= 1 && ring.most <= threads);
        pl_engine_close(ring.engine);
    }
}

static void lost_memory_starts_no_blocking_task(void **state) {
    (void)state;
    parley_error error = {0};
    ring ring = {.rounds = 50};
    assert_done(pl_threads_open(&ring.engine, 1, 2, DEADLINE, &error), &error);
    for (unsigned t = 0; t < TASKS; t++)
        ring.status[t] = PARLEY_BROKEN;
    pl_memory_fail_after(0);
    assert_int_equal(ring.engine->type->run_blocking(ring.engine, pass_on, &ring, TASKS, &error), PARLEY_NO_MEMORY);
    pl_memory_fail_after(-1);
    for (unsigned t = 0; t < TASKS; t++)
        assert_int_equal(ring.status[t], PARLEY_BROKEN);
    pl_engine_close(ring.engine);
}

#define BUSY 0.05 /* processor seconds */

/* Rank 1 computes while rank 0 waits for it. */
static parley_status compute_body(pl_engine *engine, void *context, parley_error *error) {
    assert_true(pl_engine_cpu(engine) == 0.0); /* nobody reads it yet */
    engine->counts_cpu = true;
    double *used = context, began = pl_engine_cpu(engine);
    while (engine->rank == 1 && pl_engine_cpu(engine) < began + BUSY)
        ;
    parley_status status = pl_barrier(engine, error);
    used[engine->rank] = pl_engine_cpu(engine) - began;
    return status;
}

static void a_rank_counts_its_own_processor_seconds(void **state) {
    (void)state;
    double used[2];
    parley_status status[2];
    parley_error error[2];
    run_ranks(2, 1, DEADLINE, compute_body, used, status, error);
    assert_int_equal(status[0], PARLEY_OK);
    assert_at_most(BUSY, used[1]);
    assert_at_most(used[0], 0.5 * BUSY);
}

/* Every task needs its own thread, so the threads of the pool compute as well. */
static void spin(void *context, unsigned task) {
    atomic_uint *begun = context;
    double began = pl_cpu_of_thread(pthread_self());
    (void)task;
    atomic_fetch_add(begun, 1);
    while (atomic_load(begun) < 2 || pl_cpu_of_thread(pthread_self()) < began + BUSY)
        ;
}

static parley_status spin_body(pl_engine *engine, void *context, parley_error *error) {
    engine->counts_cpu = true;
    double *used = context, began = pl_engine_cpu(engine);
    atomic_uint begun = 0;
    (void)error;
    engine->type->run(engine, spin, &begun, 2);
    used[engine->rank] = pl_engine_cpu(engine) - began;
    return PARLEY_OK;
}

static void threads_of_a_rank_are_counted(void **state) {
    (void)state;
    for (unsigned ranks = 1; ranks <= 2; ranks++) {
        double used[2];
        parley_status status[2];
        parley_error error[2];
        run_ranks(ranks, 2, DEADLINE, spin_body, used, status, error);
        for (unsigned r = 0; r < ranks; r++)
            assert_at_most(2 * BUSY, used[r]);
    }
}

static void spending_advances_the_clock(void **state) {
    (void)state;
    pl_engine *engine;
    parley_error error = {0};
    assert_done(pl_threads_open(&engine, 1, 1, DEADLINE, &error), &error);
    double began = pl_engine_now(engine);
    pl_engine_spend(engine, 0.01);
    assert_at_most(began + 0.01, pl_engine_now(engine));
    pl_engine_close(engine);
}

/* How the ranks of a job ended. */
typedef struct endings {
    pthread_t thread[MOST_RANKS];
    unsigned here[MOST_RANKS];
    parley_error error[MOST_RANKS];
    unsigned failing; /* a rank; MOST_RANKS: none */
} endings;

static parley_status ending_body(pl_engine *engine, void *context, parley_error *error) {
    endings *endings = context;
    endings->thread[engine->rank] = pthread_self();
    endings->here[engine->rank] = engine->here;
    if (engine->rank == endings->failing)
        return pl_fail(error, PARLEY_BAD_INPUT, "rank %u cannot go on", engine->rank);
    return pl_barrier(engine, error);
}

static void note_report(pl_engine *engine, void *context, const parley_error *failure) {
    endings *endings = context;
    endings->error[engine->rank] = failure ? *failure : (parley_error){0};
}

static void a_job_runs_on_every_rank(void **state) {
    (void)state;
    parley_settings settings = settings_of("threads=1 engine=threads");
    parley_error error = {0};
    endings one = {.failing = MOST_RANKS}, many = {.failing = MOST_RANKS};
    assert_done(pl_launch(&settings, (pl_job){ending_body, note_report, &one}, &error), &error);
    assert_true(pthread_equal(one.thread[0], pthread_self()));
    assert_done(pl_threads_launch(&settings, 3, &(pl_job){ending_body, NULL, &many}, &error), &error);
    for (unsigned r = 0; r < 3; r++)
        assert_int_equal(many.here[r], r);
    assert_false(pthread_equal(many.thread[0], many.thread[1]));
}

static void the_failure_of_a_rank_is_reported_by_all(void **state) {
    (void)state;
    parley_settings settings = settings_of("threads=1 engine=threads");
    for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++)
        for (unsigned form = 0; form < 2; form++) {
            parley_error error = {0};
            endings endings = {.failing = ranks - 1};
            settings.between_ranks = form ? PL_BY_MESSAGES : PL_BY_MEMORY;
            pl_job job = {ending_body, note_report, &endings};
            assert_int_equal(pl_threads_launch(&settings, ranks, &job, &error), PARLEY_BAD_INPUT);
            for (unsigned r = 0; r < ranks; r++) {
                assert_int_equal(endings.error[r].status, PARLEY_BAD_INPUT);
                assert_string_equal(endings.error[r].sentence, error.sentence);
            }
        }
}

static void a_launch_that_lacks_memory_says_so(void **state) {
    (void)state;
    parley_settings settings = settings_of("threads=2 engine=threads");
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK; n++) {
        parley_error error = {0};
        endings endings = {.failing = MOST_RANKS};
        assert_true(n < 200);
        pl_memory_fail_after(n);
        status = pl_threads_launch(&settings, 3, &(pl_job){ending_body, NULL, &endings}, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && *error.sentence));
    }
}

/* What ranks find, on all cores or each on its own core. */
typedef struct neighbourhood {
    bool bound;
    pl_neighbourhood found[MOST_RANKS];
    unsigned cores[MOST_RANKS];
} neighbourhood;

static void bind(unsigned rank) {
    cpu_set_t allowed, one;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    CPU_ZERO(&one);
    for (int core = 0, seen = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed) && seen++ == (int)rank)
            CPU_SET(core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static parley_status look_around(pl_engine *engine, void *context, parley_error *error) {
    neighbourhood *found = context;
    unsigned r = engine->rank;
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (found->bound)
        bind(r);
    parley_status status = pl_find_neighbours(engine, &found->found[r], error);
    found->cores[r] = engine->cores;
    sched_setaffinity(0, sizeof allowed, &allowed); /* one rank runs on this thread */
    return status;
}

static void assert_settled(const pl_neighbourhood *found, unsigned ranks, unsigned cores) {
    unsigned taken = 0;
    for (unsigned core = 0; core < PL_CORE_WORDS * 64; core++) {
        unsigned keep = 0;
        for (unsigned r = 0; r < ranks; r++)
            keep += found[r].core == core + 1;
        assert_true(keep == 0 || keep == ranks / cores);
        taken += keep > 0;
    }
    assert_int_equal(taken, cores);
}

static void cores_are_shared_out_unless_ranks_are_bound_to_their_own(void **state) {
    (void)state;
    unsigned cores = pl_cores();
    for (unsigned bound = 0; bound < 2; bound++)
        for (unsigned ranks = 1; ranks <= MOST_RANKS && (!bound || ranks <= cores); ranks++) {
            neighbourhood found = {.bound = bound};
            parley_status status[MOST_RANKS];
            parley_error error[MOST_RANKS];
            run_ranks(ranks, 1, DEADLINE, look_around, &found, status, error);
            for (unsigned r = 0; r < ranks; r++) {
                assert_done(status[r], &error[r]);
                assert_int_equal(found.found[r].hosts, 1);
                assert_int_equal(found.cores[r], bound ? ranks : cores);
                assert_int_equal(found.found[r].threads, bound || cores < ranks ? 1 : cores / ranks);
                assert_int_equal(found.found[r].core > 0, !bound && ranks > cores && ranks % cores == 0);
            }
            if (!bound && ranks > cores && ranks % cores == 0)
                assert_settled(found.found, ranks, cores);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_from_anybody_say_who_sent_them_and_how_long_they_are),
        cmocka_unit_test(nobody_sending_ends_at_the_deadline),
        cmocka_unit_test(tasks_that_wait_for_each_other_all_get_on),
        cmocka_unit_test(a_rank_counts_its_own_processor_seconds),
        cmocka_unit_test(threads_of_a_rank_are_counted),
        cmocka_unit_test(spending_advances_the_clock),
        cmocka_unit_test(a_job_runs_on_every_rank),
        cmocka_unit_test(the_failure_of_a_rank_is_reported_by_all),
        cmocka_unit_test(a_launch_that_lacks_memory_says_so),
        cmocka_unit_test(cores_are_shared_out_unless_ranks_are_bound_to_their_own),
        cmocka_unit_test(lost_memory_starts_no_blocking_task),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
