/* test_dense_row.c: the kernels on entries of adjacent columns against plain loops, and that sparse rows use them. */
#include <string.h>

#include "base/random.h"
#include "math/sparse.h"
#include "support.h"

#define MOST 150
#define BEFORE 3 /* columns before the first entry */
#define COLUMNS (MOST + BEFORE + 5)

typedef struct row {
    uint32_t index[MOST];
    float narrow[PL_FULL_ROWS][MOST];
    double wide[PL_FULL_ROWS][MOST];
    pl_values value[PL_FULL_ROWS]; /* of the type under test */
    double w[COLUMNS], h[COLUMNS];
} row;

static void fill(row *row, unsigned type, unsigned count) {
    pl_stream stream = pl_stream_make(5, count, 0);
    for (unsigned r = 0; r < PL_FULL_ROWS; r++)
        row->value[r] = type ? (pl_values){.wide = row->wide[r]} : (pl_values){.narrow = row->narrow[r]};
    for (unsigned e = 0; e < count; e++) {
        row->index[e] = BEFORE + e;
        for (unsigned r = 0; r < PL_FULL_ROWS; r++)
            row->narrow[r][e] = (float)(row->wide[r][e] = pl_random_normal(&stream));
    }
    for (unsigned j = 0; j < COLUMNS; j++) {
        row->w[j] = pl_random_normal(&stream);
        row->h[j] = pl_random_unit(&stream);
    }
}

static double plain_dot(const row *row, unsigned r, unsigned count) {
    double sum = 0;
    for (unsigned e = 0; e < count; e++)
        sum += pl_value_at(row->value[r], e) * row->w[BEFORE + e];
    return sum;
}

static void dots_are_sums_of_products(void **state) {
    (void)state;
    static row row;
    for (unsigned count = 0; count < MOST; count++) {
        double sum, sums[PL_FULL_VECTORS * PL_FULL_ROWS];
        fill(&row, count % 2, count);
        pl_full_dot(row.value[0], count, row.w + BEFORE, &sum);
        pl_full_dots(row.value, count, (const double *const[]){row.w + BEFORE, row.h + BEFORE}, sums);
        assert_close(sum, plain_dot(&row, 0, count), 1e-13);
        double norm2 = 0;
        for (unsigned e = 0; e < count; e++)
            norm2 += pl_value_at(row.value[0], e) * pl_value_at(row.value[0], e);
        pl_full_norm2(row.value[0], count, &sum);
        assert_close(sum, norm2, 1e-13);
        assert_close(pl_sparse_norm2(row.value[0], count), norm2, 1e-13);
        assert_close(pl_sparse_dot(row.index, row.value[0], count, row.w), plain_dot(&row, 0, count), 1e-13);
        for (unsigned r = 0; r < PL_FULL_ROWS; r++) {
            assert_close(sums[r], plain_dot(&row, r, count), 1e-13);
            double weighted = 0;
            for (unsigned e = 0; e < count; e++)
                weighted += pl_value_at(row.value[r], e) * row.h[BEFORE + e];
            assert_close(sums[PL_FULL_ROWS + r], weighted, 1e-13);
        }
    }
}

/* Thirty-two accumulators in four groups, then eight, then one. */
static double ordered_dot(const row *row, unsigned count) {
    double sum[32] = {0}, s[8], rest = 0;
    unsigned e = 0;
    for (; e < count / 32 * 32; e++)
        sum[e % 32] += pl_value_at(row->value[0], e) * row->w[BEFORE + e];
    for (; e < count / 8 * 8; e++)
        sum[e % 8] += pl_value_at(row->value[0], e) * row->w[BEFORE + e];
    for (; e < count; e++)
        rest += pl_value_at(row->value[0], e) * row->w[BEFORE + e];
    for (unsigned k = 0; k < 8; k++)
        s[k] = (sum[k] + sum[8 + k]) + (sum[16 + k] + sum[24 + k]);
    return (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))) + rest;
}

static void every_processor_adds_in_the_same_order(void **state) {
    (void)state;
    static row row;
    for (unsigned count = PL_FULL_ENTRIES; count < MOST; count++) {
        fill(&row, count % 2, count);
        double expected = ordered_dot(&row, count), got = pl_sparse_dot(row.index, row.value[0], count, row.w);
        assert_memory_equal(&got, &expected, sizeof got);
    }
}

static void additions_are_exact_and_change_no_other_entry(void **state) {
    (void)state;
    static row row;
    for (unsigned count = 1; count < MOST; count++) {
        fill(&row, count % 2, count);
        double expected[COLUMNS];
        memcpy(expected, row.w, sizeof expected);
        for (unsigned e = 0; e < count; e++) {
            double value = pl_value_at(row.value[0], e);
            expected[BEFORE + e] += 0.3 * value;
            expected[BEFORE + e] += -0.7 * value * row.h[BEFORE + e];
            expected[BEFORE + e] += 0.9 * value * value;
        }
        pl_sparse_add(row.index, row.value[0], count, 0.3, row.w);
        pl_sparse_add_weighted(row.index, row.value[0], count, -0.7, row.h, row.w);
        pl_sparse_add_squares(row.index, row.value[0], count, 0.9, row.w);
        assert_memory_equal(row.w, expected, sizeof expected);
    }
}

static void a_row_with_a_gap_is_not_full(void **state) {
    (void)state;
    static row row;
    fill(&row, 0, MOST);
    assert_true(pl_sparse_is_full(row.index, row.value[0], MOST));
    assert_false(pl_sparse_is_full(row.index, (pl_values){0}, MOST));
    row.index[MOST - 1]++;
    assert_false(pl_sparse_is_full(row.index, row.value[0], MOST));
    assert_false(pl_sparse_is_full(row.index, row.value[0], PL_FULL_ENTRIES - 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dots_are_sums_of_products),
        cmocka_unit_test(every_processor_adds_in_the_same_order),
        cmocka_unit_test(additions_are_exact_and_change_no_other_entry),
        cmocka_unit_test(a_row_with_a_gap_is_not_full),
    };
    return cmocka_run_group_tests_name("full_row", tests, NULL, NULL);
}
