/* test_outer.c: sums of weighted outer products against a plain triple loop, for sparse rows, dense rows and a mix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "math/outer.h"
#include "support.h"

#define MOST 40
#define ROWS 237

typedef struct rows {
    uint32_t index[ROWS][MOST];
    float value[ROWS][MOST];
    unsigned count[ROWS];
    double weight[ROWS];
} rows;

static void fill(rows *rows, pl_stream *stream, uint64_t columns, double low, double high) {
    for (unsigned i = 0; i < ROWS; i++) {
        double density = low + (high - low) * pl_random_unit(stream);
        rows->count[i] = 0;
        rows->weight[i] = pl_random_unit(stream);
        for (uint32_t j = 0; j < columns; j++)
            if (pl_random_unit(stream) < density) {
                rows->index[i][rows->count[i]] = j;
                rows->value[i][rows->count[i]++] = (float)pl_random_normal(stream);
            }
    }
}

static void add_plainly(const rows *rows, unsigned i, bool values, bool intercept, uint64_t size, double *sum) {
    double x[MOST + 1] = {0};
    for (unsigned e = 0; e < rows->count[i]; e++)
        x[rows->index[i][e]] = values ? (double)rows->value[i][e] : 1.0;
    if (intercept)
        x[size - 1] = 1.0;
    for (uint64_t a = 0; a < size; a++)
        for (uint64_t b = a; b < size; b++)
            sum[a * size + b] += rows->weight[i] * x[a] * x[b];
}

static void compare(const rows *rows, uint64_t columns, bool values, bool intercept) {
    uint64_t size = columns + intercept;
    double *expected = calloc(size * size + 1, sizeof *expected), *sum = calloc(size * size + 1, sizeof *sum);
    pl_outer outer;
    parley_error error = {0};
    assert_true(expected && sum);
    assert_done(pl_outer_open(&outer, size, intercept, 1, &error), &error);
    for (unsigned i = 0; i < ROWS; i++) {
        add_plainly(rows, i, values, intercept, size, expected);
        pl_outer_add(&outer, rows->index[i], values ? rows->value[i] : NULL, rows->count[i], &rows->weight[i], sum);
        if (i % 100 == 5)
            pl_outer_flush(&outer, sum);
    }
    pl_outer_flush(&outer, sum);
    pl_outer_flush(&outer, sum);
    for (uint64_t a = 0; a < size; a++)
        for (uint64_t b = 0; b < size; b++)
            assert_close(sum[a * size + b], b >= a ? expected[a * size + b] : 0.0, 1e-12);
    pl_outer_close(&outer);
    free(expected);
    free(sum);
}

static void compare_all(double low, double high) {
    static rows rows;
    pl_stream stream = pl_stream_make(21, 0, 0);
    const uint64_t columns[] = {1, 2, 3, 7, 8, 16, 33, 40};
    for (unsigned c = 0; c < COUNT(columns); c++)
        for (unsigned form = 0; form < 4; form++) {
            fill(&rows, &stream, columns[c], low, high);
            compare(&rows, columns[c], form & 1, form & 2);
        }
}

static void sparse_rows_add_up(void **state) {
    (void)state;
    compare_all(0.0, 0.1);
}

static void dense_rows_add_up(void **state) {
    (void)state;
    compare_all(0.9, 1.0);
}

static void mixed_rows_add_up(void **state) {
    (void)state;
    compare_all(0.0, 1.0);
}

static void a_failed_allocation_is_told(void **state) {
    (void)state;
    pl_outer outer;
    parley_error error = {0};
    pl_memory_fail_after(0);
    assert_int_equal(pl_outer_open(&outer, 10, false, 1, &error), PARLEY_NO_MEMORY);
    pl_memory_fail_after(-1);
    pl_outer_close(&outer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_rows_add_up),
        cmocka_unit_test(dense_rows_add_up),
        cmocka_unit_test(mixed_rows_add_up),
        cmocka_unit_test(a_failed_allocation_is_told),
    };
    return cmocka_run_group_tests_name("outer", tests, NULL, NULL);
}
