/* test_random.c: random streams are repeatable, independent of each other, and have the right distributions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support.h"

#define DRAWS 200000

static void a_stream_is_repeatable(void **state) {
    (void)state;
    pl_stream a = pl_stream_make(1, 2, 3), b = pl_stream_make(1, 2, 3);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(pl_random(&a), pl_random(&b));
}

/* The published test vector of xoshiro256** for the state 1, 2, 3, 4. */
static void draws_are_those_of_xoshiro256(void **state) {
    (void)state;
    pl_stream stream = {{1, 2, 3, 4}};
    const uint64_t expected[] = {11520u, 0u, 1509978240u, 1215971899390074240u};
    for (unsigned i = 0; i < COUNT(expected); i++)
        assert_int_equal(pl_random(&stream), expected[i]);
}

static void neighbouring_keys_give_different_streams(void **state) {
    (void)state;
    enum { SEEDS = 8, WORKERS = 16, ROUNDS = 32, ALL = SEEDS * WORKERS * ROUNDS };
    static uint64_t first[ALL];
    unsigned count = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (uint64_t worker = 0; worker < WORKERS; worker++)
            for (uint64_t round = 0; round < ROUNDS; round++) {
                pl_stream stream = pl_stream_make(seed, worker, round);
                first[count++] = pl_random(&stream);
            }
    for (unsigned i = 0; i < ALL; i++)
        for (unsigned j = 0; j < i; j++)
            assert_true(first[i] != first[j]);
}

static void streams_are_not_correlated(void **state) {
    (void)state;
    for (uint64_t worker = 1; worker < 4; worker++) {
        pl_stream a = pl_stream_make(5, 0, 9), b = pl_stream_make(5, worker, 9);
        double sum = 0;
        for (int i = 0; i < DRAWS; i++)
            sum += (pl_random_unit(&a) - 0.5) * (pl_random_unit(&b) - 0.5) * 12.0;
        assert_close(sum / DRAWS, 0.0, 5.0 / sqrt(DRAWS));
    }
}

static void below_is_uniform_and_in_range(void **state) {
    (void)state;
    const uint64_t bounds[] = {1, 2, 3, 7, 64, 1000};
    for (unsigned b = 0; b < COUNT(bounds); b++) {
        pl_stream stream = pl_stream_make(3, b, 0);
        unsigned counts[1000] = {0};
        for (int i = 0; i < DRAWS; i++) {
            uint64_t draw = pl_random_below(&stream, bounds[b]);
            assert_true(draw < bounds[b]);
            counts[draw]++;
        }
        double expected = (double)DRAWS / (double)bounds[b], chi = 0;
        for (uint64_t k = 0; k < bounds[b]; k++)
            chi += (counts[k] - expected) * (counts[k] - expected) / expected;
        double freedom = (double)bounds[b] - 1;
        assert_at_most(chi, freedom + 6.0 * sqrt(2.0 * freedom) + 1.0);
    }
}

static void below_takes_bounds_of_over_32_bits(void **state) {
    (void)state;
    const uint64_t bounds[] = {(uint64_t)UINT32_MAX, (uint64_t)UINT32_MAX + 1, (uint64_t)1 << 40, UINT64_MAX};
    for (unsigned b = 0; b < COUNT(bounds); b++) {
        pl_stream stream = pl_stream_make(4, b, 0);
        uint64_t upper = 0;
        for (int i = 0; i < 2000; i++) {
            uint64_t draw = pl_random_below(&stream, bounds[b]);
            assert_true(draw < bounds[b]);
            upper += draw >= bounds[b] / 2;
        }
        assert_true(upper > 850 && upper < 1150);
    }
}

static void unit_draws_have_their_moments(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(1, 1, 1);
    double sum = 0, squares = 0;
    for (int i = 0; i < DRAWS; i++) {
        double u = pl_random_unit(&stream);
        assert_true(u >= 0.0 && u < 1.0);
        sum += u;
        squares += u * u;
    }
    assert_close(sum / DRAWS, 0.5, 0.003);
    assert_close(squares / DRAWS, 1.0 / 3.0, 0.003);
}

static void normal_draws_have_their_moments(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(1, 1, 2);
    double sum[5] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double x = pl_random_normal(&stream);
        assert_true(isfinite(x));
        for (int k = 1; k < 5; k++)
            sum[k] += pow(x, k);
    }
    assert_close(sum[1] / DRAWS, 0.0, 0.015);
    assert_close(sum[2] / DRAWS, 1.0, 0.015);
    assert_close(sum[3] / DRAWS, 0.0, 0.05);
    assert_close(sum[4] / DRAWS, 3.0, 0.03);
}

static void shuffles_keep_all_items_and_reach_every_order(void **state) {
    (void)state;
    enum { ITEMS = 4, ORDERS = 24, TRIES = 24000 };
    pl_stream stream = pl_stream_make(8, 0, 0);
    unsigned counts[256] = {0}, reached = 0;
    for (int i = 0; i < TRIES; i++) {
        uint64_t items[ITEMS] = {0, 1, 2, 3}, seen = 0, code = 0;
        pl_shuffle(&stream, items, ITEMS);
        for (int k = 0; k < ITEMS; k++) {
            seen |= (uint64_t)1 << items[k];
            code = code * 4 + items[k];
        }
        assert_int_equal(seen, 15);
        counts[code]++;
    }
    for (unsigned code = 0; code < 256; code++)
        if (counts[code]) {
            reached++;
            assert_true(counts[code] > 800 && counts[code] < 1200);
        }
    assert_int_equal(reached, ORDERS);
}

static void shuffling_nothing_or_one_item_is_harmless(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(8, 0, 1);
    uint64_t item = 7;
    pl_shuffle(&stream, &item, 0);
    pl_shuffle(&stream, &item, 1);
    assert_int_equal(item, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_is_repeatable),
        cmocka_unit_test(draws_are_those_of_xoshiro256),
        cmocka_unit_test(neighbouring_keys_give_different_streams),
        cmocka_unit_test(streams_are_not_correlated),
        cmocka_unit_test(below_is_uniform_and_in_range),
        cmocka_unit_test(below_takes_bounds_of_over_32_bits),
        cmocka_unit_test(unit_draws_have_their_moments),
        cmocka_unit_test(normal_draws_have_their_moments),
        cmocka_unit_test(shuffles_keep_all_items_and_reach_every_order),
        cmocka_unit_test(shuffling_nothing_or_one_item_is_harmless),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
