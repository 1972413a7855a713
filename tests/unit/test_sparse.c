/* test_sparse.c: the kernels on sparse rows against plain loops, on random input of every short length. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "math/sparse.h"
#include "support.h"

#define LENGTHS 41
#define COLUMNS 100
#define REPEATS 20

typedef struct row {
    uint32_t index[LENGTHS];
    float narrow[LENGTHS];
    double wide[LENGTHS];
    double w[COLUMNS];
} row;

static void fill(row *row, pl_stream *stream, unsigned count) {
    uint32_t next = 0;
    for (unsigned e = 0; e < count; e++) {
        next += 1 + (uint32_t)pl_random_below(stream, 2);
        row->index[e] = next;
        row->wide[e] = pl_random_normal(stream);
        row->narrow[e] = (float)row->wide[e];
    }
    for (unsigned j = 0; j < COLUMNS; j++)
        row->w[j] = pl_random_normal(stream);
}

/* Calls `check` on rows of all lengths, with values of both types and without. */
static void on_all_rows(void (*check)(row *row, pl_values value, unsigned count)) {
    pl_stream stream = pl_stream_make(11, 0, 0);
    static row row;
    for (unsigned count = 0; count < LENGTHS; count++)
        for (unsigned i = 0; i < REPEATS; i++) {
            const pl_values types[] = {{0}, {.narrow = row.narrow}, {.wide = row.wide}};
            fill(&row, &stream, count);
            check(&row, types[i % 3], count);
        }
}

static void check_dot(row *row, pl_values value, unsigned count) {
    double sum = 0;
    for (unsigned e = 0; e < count; e++)
        sum += pl_value_at(value, e) * row->w[row->index[e]];
    assert_close(pl_sparse_dot(row->index, value, count, row->w), sum, 1e-14);
}

static void dot_is_the_sum_of_products(void **state) {
    (void)state;
    on_all_rows(check_dot);
}

/* With and without a threshold; the other half of w is the scale. */
static void check_dot_scaled(row *row, pl_values value, unsigned count) {
    for (unsigned t = 0; t < 2; t++) {
        double scale[COLUMNS], threshold = 0.5 * t, sum = 0;
        for (unsigned j = 0; j < COLUMNS; j++)
            scale[j] = row->w[COLUMNS - 1 - j];
        for (unsigned e = 0; e < count; e++)
            sum += pl_value_at(value, e) * scale[row->index[e]] * pl_soft(row->w[row->index[e]], threshold);
        assert_close(pl_sparse_dot_scaled(row->index, value, count, row->w, scale, threshold), sum, 1e-13);
    }
}

static void scaled_dot_is_the_sum_of_scaled_products(void **state) {
    (void)state;
    on_all_rows(check_dot_scaled);
}

/* The documented order: four accumulators, the rest in the first. */
static void check_dot_order(row *row, pl_values value, unsigned count) {
    double sums[4] = {0};
    unsigned whole = count / 4 * 4;
    for (unsigned e = 0; e < whole; e++)
        sums[e % 4] += pl_value_at(value, e) * row->w[row->index[e]];
    for (unsigned e = whole; e < count; e++)
        sums[0] += pl_value_at(value, e) * row->w[row->index[e]];
    double expected = (sums[0] + sums[1]) + (sums[2] + sums[3]), got = pl_sparse_dot(row->index, value, count, row->w);
    assert_memory_equal(&got, &expected, sizeof got);
}

static void dot_adds_in_the_documented_order(void **state) {
    (void)state;
    on_all_rows(check_dot_order);
}

static void check_dot_soft(row *row, pl_values value, unsigned count) {
    const double thresholds[] = {0.0, 0.5, 100.0};
    for (unsigned i = 0; i < COUNT(thresholds); i++) {
        double sum = 0;
        for (unsigned e = 0; e < count; e++) {
            double w = row->w[row->index[e]], size = fmax(0.0, fabs(w) - thresholds[i]);
            sum += pl_value_at(value, e) * copysign(size, w);
        }
        assert_close(pl_sparse_dot_soft(row->index, value, count, row->w, thresholds[i]), sum, 1e-14);
    }
}

static void dot_soft_thresholds_every_entry(void **state) {
    (void)state;
    on_all_rows(check_dot_soft);
}

static void check_add(row *row, pl_values value, unsigned count) {
    double expected[COLUMNS];
    memcpy(expected, row->w, sizeof expected);
    for (unsigned e = 0; e < count; e++)
        expected[row->index[e]] += -0.7 * pl_value_at(value, e);
    pl_sparse_add(row->index, value, count, -0.7, row->w);
    assert_memory_equal(row->w, expected, sizeof expected);
}

static void add_changes_the_rows_entries_only(void **state) {
    (void)state;
    on_all_rows(check_add);
}

static void check_norm(row *row, pl_values value, unsigned count) {
    double sum = 0;
    (void)row;
    for (unsigned e = 0; e < count; e++)
        sum += pl_value_at(value, e) * pl_value_at(value, e);
    assert_close(pl_sparse_norm2(value, count), sum, 1e-14);
}

static void norm_is_the_sum_of_squares(void **state) {
    (void)state;
    on_all_rows(check_norm);
}

static void soft_shrinks_towards_zero(void **state) {
    (void)state;
    assert_true(pl_soft(3.0, 1.0) == 2.0);
    assert_true(pl_soft(-3.0, 1.0) == -2.0);
    assert_true(pl_soft(0.5, 1.0) == 0.0);
    assert_true(pl_soft(-1.0, 1.0) == 0.0);
    assert_true(pl_soft(-3.0, 0.0) == -3.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_is_the_sum_of_products),        cmocka_unit_test(scaled_dot_is_the_sum_of_scaled_products),
        cmocka_unit_test(dot_adds_in_the_documented_order),  cmocka_unit_test(dot_soft_thresholds_every_entry),
        cmocka_unit_test(add_changes_the_rows_entries_only), cmocka_unit_test(norm_is_the_sum_of_squares),
        cmocka_unit_test(soft_shrinks_towards_zero),
    };
    return cmocka_run_group_tests_name("sparse", tests, NULL, NULL);
}
