/* test_team.c: the partition of rows among workers and lanes: each row once, evenly, and determined by (data, K, L,
 * seed). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/collective.h"
#include "shard/team.h"
#include "support.h"

static parley_data *data;

static int make_data(void **state) {
    (void)state;
    data = random_data((sample_plan){.seed = 3, .rows = 1500, .columns = 60, .density = 0.15});
    double *weight = malloc(data->x.rows * sizeof *weight);
    for (uint64_t i = 0; i < data->x.rows; i++)
        weight[i] = (double)(i % 5);
    set_weights(data, weight);
    free(weight);
    return 0;
}

static int free_data(void **state) {
    (void)state;
    parley_data_free(data);
    return 0;
}

/* A recorded partition: the worker and lane of every row, and the sums of every worker. */
typedef struct deal {
    unsigned workers, lanes;
    uint64_t seed;
    const parley_data *data;
    unsigned *part;  /* of each row; parts are numbered worker x lanes + lane */
    unsigned *times; /* how often each row was assigned; rows of different ranks are different */
    uint64_t rows[64], nonzeros[64];
    double weight[64];
} deal;

static parley_status deal_body(pl_engine *engine, void *context, parley_error *error) {
    deal *deal = context;
    pl_team team;
    parley_status status = pl_team_open(&team, engine, deal->data, deal->workers, deal->lanes, deal->seed, error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned p = 0; p < team.hosted * team.lanes; p++)
        for (uint64_t r = 0; r < team.parts[p].count; r++)
            for (uint64_t i = team.parts[p].ranges[r].begin; i < team.parts[p].ranges[r].end; i++) {
                deal->part[i] = team.first * team.lanes + p;
                deal->times[i]++;
            }
    for (unsigned k = 0; k < team.hosted; k++) {
        deal->rows[team.first + k] = team.rows[k];
        deal->nonzeros[team.first + k] = team.nonzeros[k];
        deal->weight[team.first + k] = team.weight[k];
    }
    pl_team_close(&team);
    return PARLEY_OK;
}

static deal deal_rows(const parley_data *from, unsigned ranks, unsigned workers, unsigned lanes, uint64_t seed) {
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    deal deal = {.workers = workers, .lanes = lanes, .seed = seed, .data = from};
    deal.part = calloc(from->x.rows, sizeof *deal.part);
    deal.times = calloc(from->x.rows, sizeof *deal.times);
    run_ranks(ranks, 1, 30.0, deal_body, &deal, status, error);
    for (unsigned r = 0; r < ranks; r++)
        assert_done(status[r], &error[r]);
    return deal;
}

static void free_deal(deal *deal) {
    free(deal->part);
    free(deal->times);
}

static void every_row_is_dealt_once_and_counted(void **state) {
    (void)state;
    for (unsigned workers = 1; workers <= 20; workers += 1 + workers / 4)
        for (unsigned lanes = 1; lanes <= 3; lanes++) {
            deal deal = deal_rows(data, 1, workers, lanes, 7);
            uint64_t rows[64] = {0}, nonzeros[64] = {0};
            double weight[64] = {0};
            for (uint64_t i = 0; i < data->x.rows; i++) {
                unsigned k = deal.part[i] / lanes;
                assert_int_equal(deal.times[i], 1);
                rows[k]++;
                nonzeros[k] += data->x.start[i + 1] - data->x.start[i];
                weight[k] += data->weight[i];
            }
            assert_memory_equal(rows, deal.rows, sizeof rows);
            assert_memory_equal(nonzeros, deal.nonzeros, sizeof nonzeros);
            for (unsigned k = 0; k < workers; k++)
                assert_close(deal.weight[k], weight[k], 1e-12);
            free_deal(&deal);
        }
}

static void parts_have_about_equal_nonzeros(void **state) {
    (void)state;
    uint64_t longest = 0;
    for (uint64_t i = 0; i < data->x.rows; i++) {
        uint64_t cost = data->x.start[i + 1] - data->x.start[i] + 1;
        longest = cost > longest ? cost : longest;
    }
    for (unsigned workers = 2; workers <= 16; workers++) {
        deal deal = deal_rows(data, 1, workers, 2, 1);
        double mean = (double)(data->x.nonzeros + data->x.rows) / (2.0 * workers);
        for (unsigned p = 0; p < 2 * workers; p++) {
            double cost = 0;
            for (uint64_t i = 0; i < data->x.rows; i++)
                if (deal.part[i] == p)
                    cost += (double)(data->x.start[i + 1] - data->x.start[i] + 1);
            assert_at_most(fabs(cost - mean), (double)longest + 1.0);
        }
        free_deal(&deal);
    }
}

static void the_deal_does_not_depend_on_ranks(void **state) {
    (void)state;
    const unsigned workers[] = {1, 3, 4, 7, 12};
    for (unsigned w = 0; w < COUNT(workers); w++)
        for (unsigned lanes = 1; lanes <= 2; lanes++) {
            deal one = deal_rows(data, 1, workers[w], lanes, 5);
            for (unsigned ranks = 2; ranks <= 4; ranks++) {
                deal many = deal_rows(data, ranks, workers[w], lanes, 5);
                assert_memory_equal(one.part, many.part, data->x.rows * sizeof *one.part);
                assert_memory_equal(one.times, many.times, data->x.rows * sizeof *one.times);
                assert_memory_equal(one.weight, many.weight, sizeof one.weight);
                free_deal(&many);
            }
            free_deal(&one);
        }
}

static void lanes_cut_a_shard_without_moving_it(void **state) {
    (void)state;
    deal plain = deal_rows(data, 1, 5, 1, 9), cut = deal_rows(data, 1, 5, 3, 9);
    unsigned moved = 0;
    for (uint64_t i = 0; i < data->x.rows; i++)
        moved += plain.part[i] != cut.part[i] / 3;
    assert_at_most(moved, 5); /* a cut may fall on either side of a row */
    free_deal(&plain);
    free_deal(&cut);
}

static void the_seed_changes_the_deal(void **state) {
    (void)state;
    deal a = deal_rows(data, 1, 4, 1, 1), b = deal_rows(data, 1, 4, 1, 2), c = deal_rows(data, 1, 4, 1, 1);
    assert_memory_equal(a.part, c.part, data->x.rows * sizeof *a.part);
    assert_memory_not_equal(a.part, b.part, data->x.rows * sizeof *a.part);
    free_deal(&a);
    free_deal(&b);
    free_deal(&c);
}

/* With a file sorted by label, workers must not get one label each. */
static void blocks_are_spread_over_the_file(void **state) {
    (void)state;
    deal deal = deal_rows(data, 1, 4, 1, 1);
    uint64_t first_half[4] = {0}, half = data->x.rows / 2;
    for (uint64_t i = 0; i < half; i++)
        first_half[deal.part[i]]++;
    for (unsigned k = 0; k < 4; k++)
        assert_true(first_half[k] > half / 10 && first_half[k] < half / 2);
    free_deal(&deal);
}

static void as_many_workers_as_rows_or_empty_rows_are_dealt(void **state) {
    (void)state;
    parley_data *few = data_of("1 1:1\n-1\n1\n-1\n1 2:1 3:4\n-1\n1\n");
    for (unsigned workers = 1; workers <= 7; workers++)
        for (unsigned lanes = 1; lanes <= 4; lanes += 3) {
            deal deal = deal_rows(few, 1, workers, lanes, 1);
            for (uint64_t i = 0; i < few->x.rows; i++)
                assert_int_equal(deal.times[i], 1);
            free_deal(&deal);
        }
    parley_data_free(few);
}

static void failed_allocations_are_told(void **state) {
    (void)state;
    pl_engine *engine;
    parley_status status = pl_threads_open(&engine, 1, 1, 1.0, NULL);
    assert_int_equal(status, PARLEY_OK);
    status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 100; n++) {
        pl_team team = {0};
        parley_error error = {0};
        pl_memory_fail_after(n);
        status = pl_team_open(&team, engine, data, 4, 2, 1, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && *error.sentence));
        pl_team_close(&team);
    }
    assert_int_equal(status, PARLEY_OK);
    pl_engine_close(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_dealt_once_and_counted),
        cmocka_unit_test(parts_have_about_equal_nonzeros),
        cmocka_unit_test(the_deal_does_not_depend_on_ranks),
        cmocka_unit_test(lanes_cut_a_shard_without_moving_it),
        cmocka_unit_test(the_seed_changes_the_deal),
        cmocka_unit_test(blocks_are_spread_over_the_file),
        cmocka_unit_test(as_many_workers_as_rows_or_empty_rows_are_dealt),
        cmocka_unit_test(failed_allocations_are_told),
    };
    return cmocka_run_group_tests_name("team", tests, make_data, free_data);
}
