/* test_pool.c: every task runs exactly once, with any number of threads; runs may be short, many, nested or oversized.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "support.h"

static const unsigned thread_counts[] = {1, 2, 3, 8, 33};

typedef struct tally {
    atomic_uint runs[512];
    pl_pool *pool;
    atomic_uint inner;
} tally;

static void count_task(void *context, unsigned task) {
    tally *tally = context;
    atomic_fetch_add(&tally->runs[task], 1);
}

static pl_pool *open_pool(unsigned threads) {
    pl_pool *pool;
    parley_error error = {0};
    assert_done(pl_pool_open(&pool, threads, &error), &error);
    return pool;
}

static void every_task_runs_once(void **state) {
    (void)state;
    const unsigned tasks[] = {0, 1, 2, 3, 17, 512};
    for (unsigned c = 0; c < COUNT(thread_counts); c++) {
        pl_pool *pool = open_pool(thread_counts[c]);
        assert_int_equal(pl_pool_threads(pool), thread_counts[c]);
        for (unsigned t = 0; t < COUNT(tasks); t++) {
            static tally tally;
            memset(&tally, 0, sizeof tally);
            pl_pool_run(pool, count_task, &tally, tasks[t]);
            for (unsigned i = 0; i < 512; i++)
                assert_int_equal(atomic_load(&tally.runs[i]), i < tasks[t]);
        }
        pl_pool_close(pool);
    }
}

/* Plain memory: what tasks write is visible to the caller of the run, and to the tasks of the next one. */
static void increment_task(void *context, unsigned task) {
    uint64_t *values = context;
    values[task]++;
}

static void many_short_runs_see_each_others_writes(void **state) {
    (void)state;
    for (unsigned c = 0; c < COUNT(thread_counts); c++) {
        pl_pool *pool = open_pool(thread_counts[c]);
        unsigned runs = thread_counts[c] <= 2 ? 20000 : 1000;
        uint64_t values[5] = {0};
        for (unsigned i = 0; i < runs; i++) {
            pl_pool_run(pool, increment_task, values, 5);
            assert_int_equal(values[i % 5], i + 1);
        }
        pl_pool_close(pool);
    }
}

static void inner_task(void *context, unsigned task) {
    (void)task;
    atomic_fetch_add(&((tally *)context)->inner, 1);
}

static void outer_task(void *context, unsigned task) {
    tally *tally = context;
    atomic_fetch_add(&tally->runs[task], 1);
    pl_pool_run(tally->pool, inner_task, tally, 10);
}

static void nested_runs_are_done_by_who_asked(void **state) {
    (void)state;
    for (unsigned c = 0; c < COUNT(thread_counts); c++) {
        static tally tally;
        memset(&tally, 0, sizeof tally);
        tally.pool = open_pool(thread_counts[c]);
        for (unsigned i = 0; i < 50; i++)
            pl_pool_run(tally.pool, outer_task, &tally, 8);
        assert_int_equal(atomic_load(&tally.inner), 50 * 8 * 10);
        assert_int_equal(atomic_load(&tally.runs[7]), 50);
        pl_pool_close(tally.pool);
    }
}

static void open_inner_task(void *context, unsigned task) {
    pl_pool *pool;
    (void)task;
    if (pl_pool_open(&pool, 2, NULL) == PARLEY_OK) {
        pl_pool_run(pool, inner_task, context, 3);
        pl_pool_close(pool);
    }
}

static void a_pool_inside_a_task_works(void **state) {
    (void)state;
    static tally tally;
    memset(&tally, 0, sizeof tally);
    pl_pool *pool = open_pool(2);
    pl_pool_run(pool, open_inner_task, &tally, 4);
    assert_int_equal(atomic_load(&tally.inner), 12);
    pl_pool_close(pool);
}

static void *drive_pool(void *argument) {
    tally *tally = argument;
    pl_pool *pool;
    if (pl_pool_open(&pool, 3, NULL) == PARLEY_OK) {
        for (unsigned i = 0; i < 200; i++)
            pl_pool_run(pool, inner_task, tally, 7);
        pl_pool_close(pool);
    }
    return NULL;
}

static void pools_of_different_threads_do_not_mix(void **state) {
    (void)state;
    static tally tally;
    pthread_t handles[4];
    memset(&tally, 0, sizeof tally);
    for (unsigned i = 0; i < COUNT(handles); i++)
        assert_int_equal(pthread_create(&handles[i], NULL, drive_pool, &tally), 0);
    for (unsigned i = 0; i < COUNT(handles); i++)
        pthread_join(handles[i], NULL);
    assert_int_equal(atomic_load(&tally.inner), 4 * 200 * 7);
}

static void pools_open_and_close_unused(void **state) {
    (void)state;
    for (unsigned i = 0; i < 50; i++)
        pl_pool_close(open_pool(1 + i % 4));
    pl_pool *all = open_pool(0);
    assert_true(pl_pool_threads(all) >= 1);
    pl_pool_close(all);
    pl_pool_close(NULL);
}

static void a_thread_keeps_to_a_core_until_its_pool_is_closed(void **state) {
    (void)state;
    uint64_t before[PL_CORE_WORDS], after[PL_CORE_WORDS], one[PL_CORE_WORDS] = {0};
    unsigned core = 0;
    pl_cores_list(before);
    while (core < PL_CORE_WORDS * 64 && !(before[core / 64] >> core % 64 & 1))
        core++;
    if (core == PL_CORE_WORDS * 64) /* the cores are unknown here */
        skip();
    one[core / 64] = (uint64_t)1 << core % 64;
    for (unsigned threads = 1; threads <= 2; threads++) {
        pl_pool *pool = open_pool(threads);
        assert_int_equal(pl_pool_keep_to(pool, core), threads == 1);
        pl_cores_list(after);
        if (threads == 1)
            assert_memory_equal(after, one, sizeof one);
        pl_pool_close(pool);
        pl_cores_list(after);
        assert_memory_equal(after, before, sizeof before);
    }
}

static void failed_allocations_are_told(void **state) {
    (void)state;
    for (int64_t n = 0; n < 2; n++) {
        pl_pool *pool;
        parley_error error = {0};
        pl_memory_fail_after(n);
        assert_int_equal(pl_pool_open(&pool, 2, &error), PARLEY_NO_MEMORY);
        pl_memory_fail_after(-1);
        assert_null(pool);
        assert_non_null(strstr(error.sentence, "threads"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(many_short_runs_see_each_others_writes),
        cmocka_unit_test(nested_runs_are_done_by_who_asked),
        cmocka_unit_test(a_pool_inside_a_task_works),
        cmocka_unit_test(pools_of_different_threads_do_not_mix),
        cmocka_unit_test(pools_open_and_close_unused),
        cmocka_unit_test(a_thread_keeps_to_a_core_until_its_pool_is_closed),
        cmocka_unit_test(failed_allocations_are_told),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
