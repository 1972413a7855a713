/* test_stop.c: requests to stop in the middle of passes. Every rank must leave, all with the same outcome, and the
 * model must be one that was evaluated to the end. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/stop.h"
#include "engine/collective.h"
#include "shard/row_sums.h"
#include "support.h"

#define REQUEST_ROW 1000

/* The first request leaves a second. */
static void ask_now(void) {
    pl_stop_ask();
    pl_stop_ask();
}

static void a_second_request_is_due_but_not_that_of_another_rank(void **state) {
    (void)state;
    pl_stop_enter();
    pl_stop_ask();
    pl_stop_join();
    assert_true(pl_stop_asked() && !pl_stop_due());
    pl_stop_ask();
    assert_true(pl_stop_due());
    pl_stop_leave(PARLEY_OK);
    assert_false(pl_stop_asked());
    pl_stop_enter();
    pl_stop_join();
    pl_stop_ask(); /* the first request to this process */
    assert_true(pl_stop_asked() && !pl_stop_due());
    pl_stop_leave(PARLEY_OK);
}

static void count_row(const void *context, uint64_t row, double *sums) {
    uint64_t *visited = *(uint64_t *const *)context;
    ++*visited;
    sums[0] += 1;
    if (row == REQUEST_ROW)
        ask_now();
}

static void a_pass_over_rows_leaves_its_range(void **state) {
    (void)state;
    pl_engine *engine;
    pl_team team;
    parley_error error;
    double sum;
    uint64_t visited = 0, *counter = &visited;
    parley_data *data = random_data((sample_plan){.seed = 1, .rows = 20000, .columns = 2, .density = 0.5});
    assert_done(pl_threads_open(&engine, 1, 1, DEADLINE, &error), &error);
    assert_done(pl_team_open(&team, engine, data, 1, 1, 1, &error), &error);
    pl_stop_enter();
    assert_int_equal(pl_total_rows(&team, count_row, &counter, 1, &sum, &error), PARLEY_STOPPED);
    assert_true(visited < data->x.rows);
    uint64_t before = visited;
    assert_int_equal(pl_total_rows(&team, count_row, &counter, 1, &sum, &error), PARLEY_STOPPED);
    assert_int_equal(visited, before);
    pl_stop_leave(PARLEY_OK);
    pl_team_close(&team);
    pl_engine_close(engine);
    parley_data_free(data);
}

static parley_status sum_body(pl_engine *engine, void *context, parley_error *error) {
    unsigned count = *(const unsigned *)context;
    static double values[MOST_RANKS][2000], sums[MOST_RANKS][2000];
    unsigned r = engine->rank;
    parley_status status = pl_sum_workers(engine, engine->ranks, values[r], count, sums[r], error); /* never fails */
    return status == PARLEY_OK ? pl_sum_passes(engine, engine->ranks, values[r], count, sums[r], error) : status;
}

static void sums_after_passes_fail_on_all_ranks(void **state) {
    (void)state;
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++)
        for (unsigned stop = 0; stop < 2; stop++)
            for (unsigned i = 0; i < 2; i++) {
                unsigned count = i ? 2000 : 3;
                pl_stop_enter();
                if (stop)
                    ask_now();
                run_ranks(ranks, 1, DEADLINE, sum_body, &count, status, error);
                for (unsigned r = 0; r < ranks; r++)
                    assert_int_equal(status[r], stop ? PARLEY_STOPPED : PARLEY_OK);
                pl_stop_leave(PARLEY_OK);
            }
}

static void *ask_later(void *seconds) {
    pl_sleep(*(double *)seconds);
    ask_now();
    return NULL;
}

/* Either there is no model yet, or P of the model is the P of the summary on every rank. */
static unsigned check_outcome(const outcome *outcome, unsigned ranks) {
    if (outcome->status[0] != PARLEY_OK) {
        for (unsigned r = 0; r < ranks; r++)
            assert_int_equal(outcome->status[r], PARLEY_STOPPED);
        return 0;
    }
    for (unsigned r = 0; r < ranks; r++) {
        assert_done(outcome->status[r], &outcome->error[r]);
        assert_true(outcome->summary[r].stop == PARLEY_INTERRUPTED || outcome->summary[r].stop == PARLEY_STALLED);
        assert_true(outcome->summary[r].objective == outcome->summary[0].objective);
        assert_close(objective_of(outcome->data, outcome->model[r], pl_loss_find("logistic"), &outcome->summary[r]),
                     outcome->summary[r].objective, 1e-9);
    }
    return outcome->summary[0].rounds > 0;
}

static void an_interrupted_run_keeps_a_model_that_was_evaluated(void **state) {
    (void)state;
    static const char *const words[] = {"preset=newton",           "preset=lbfgs",
                                        "preset=ma-sgd",           "preset=gd",
                                        "preset=cocoa+",           "local=gradient combine=truncated",
                                        "preset=minibatch-sgd",    "preset=cocoa+ l1_ratio=0.5",
                                        "preset=hybrid workers=3", "preset=lbfgs validation_fraction=0.2"};
    parley_data *data = random_data((sample_plan){.seed = 2, .rows = 3000, .columns = 40, .density = 0.3});
    pl_stream stream = pl_stream_make(9, 0, 0);
    unsigned rounds = 0;
    for (unsigned w = 0; w < COUNT(words); w++)
        for (unsigned i = 0; i < 6; i += SOME) {
            static parley_settings settings;
            char all[256];
            pthread_t thread;
            double seconds = 0.04 * pl_random_unit(&stream);
            unsigned ranks = 1 + i % 3;
            snprintf(all, sizeof all, "loss=logistic lambda=1e-6 gap=0 rounds=1000000 %s", words[w]);
            settings = settings_of(all);
            outcome outcome = {.data = data, .settings = &settings};
            pl_stop_enter();
            assert_int_equal(pthread_create(&thread, NULL, ask_later, &seconds), 0);
            train(&outcome, ranks, 1);
            pthread_join(thread, NULL);
            pl_stop_leave(PARLEY_OK);
            if (strstr(words[w], "validation") == NULL) /* its objective is over the other rows */
                rounds += check_outcome(&outcome, ranks);
            free_models(&outcome);
        }
    assert_true(rounds > 0); /* some runs were interrupted after they had begun */
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_request_is_due_but_not_that_of_another_rank),
        cmocka_unit_test(a_pass_over_rows_leaves_its_range),
        cmocka_unit_test(sums_after_passes_fail_on_all_ranks),
        cmocka_unit_test(an_interrupted_run_keeps_a_model_that_was_evaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
