/* test_outer_products.c: sums of weighted outer products against a plain triple loop, for sparse rows, dense rows and a
 * mix, and for columns that are apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "math/outer_products.h"
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
    pl_outer_products outer;
    parley_error error = {0};
    assert_true(expected && sum);
    pl_arrow shape = {size, 0, 1};
    assert_done(pl_outer_open(&outer, &shape, NULL, intercept, 1, &error), &error);
    for (unsigned i = 0; i < ROWS; i++) {
        add_plainly(rows, i, values, intercept, size, expected);
        pl_outer_add(&outer, rows->index[i], (pl_values){.narrow = values ? rows->value[i] : NULL}, rows->count[i],
                     &rows->weight[i], sum);
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

/* Columns from `core` on are apart, in any order of places; a row has at most one of them. */
static void rows_with_an_entry_apart_add_up(void **state) {
    (void)state;
    enum { CORE = 7, COLUMNS = 20, SIZE = COLUMNS + 1, GROUP = 3 };
    pl_stream stream = pl_stream_make(5, 0, 0);
    const double curvature[GROUP * GROUP] = {1.5, -2, 0.5, -2, 1.75, 0.25, 0.5, 0.25, -0.75}; /* rows sum to 0 */
    for (unsigned group = 1; group <= GROUP; group += GROUP - 1) {
        static double expected[SIZE * SIZE], sum[GROUP * GROUP * SIZE * SIZE];
        uint32_t place[SIZE], index[COLUMNS];
        float value[COLUMNS];
        parley_error error = {0};
        pl_outer_products outer;
        pl_arrow shape = {(CORE + 1) * group, COLUMNS - CORE, group};
        for (uint32_t j = 0; j < SIZE; j++) /* even columns come first, then the intercept, then the rest */
            place[j] = j == COLUMNS                 ? CORE
                       : j % 2 == 0 && j < 2 * CORE ? j / 2
                       : j < 2 * CORE               ? CORE + 1 + j / 2
                                                    : j + 1;
        memset(expected, 0, sizeof expected);
        memset(sum, 0, sizeof sum);
        assert_done(pl_outer_open(&outer, &shape, place, true, 1, &error), &error);
        for (unsigned i = 0; i < ROWS; i++) {
            double x[SIZE] = {0}, weight = pl_random_unit(&stream);
            uint64_t count = 0, apart = pl_random_below(&stream, COLUMNS);
            for (uint32_t j = 0; j < COLUMNS; j++)
                if (place[j] < CORE ? pl_random_unit(&stream) < 0.6 : j == apart) {
                    index[count] = j;
                    value[count] = (float)pl_random_normal(&stream);
                    x[place[j]] = (double)value[count++];
                }
            x[CORE] = 1.0;
            if (group == 1)
                pl_outer_add(&outer, index, (pl_values){.narrow = value}, count, &weight, sum);
            else
                pl_outer_blocks(&outer, index, (pl_values){.narrow = value}, count, weight, curvature, sum);
            for (unsigned a = 0; a < SIZE; a++)
                for (unsigned b = 0; b < SIZE; b++)
                    expected[a * SIZE + b] += weight * x[a] * x[b];
        }
        pl_outer_flush(&outer, sum);
        for (unsigned a = 0; a < SIZE * group; a++)
            for (unsigned b = 0; b < shape.core; b++) {
                double one = group == 1 ? 1.0 : curvature[a % group * group + b % group];
                uint64_t at = a < shape.core ? a * shape.core + b : pl_arrow_begin(&shape, a) + group + b;
                if (a >= shape.core || b >= a)
                    assert_close(sum[at], one * expected[a / group * SIZE + b / group], 1e-12);
            }
        for (uint64_t a = shape.core; a < SIZE * group; a++)
            assert_close(sum[pl_arrow_diagonal(&shape, a)],
                         (group == 1 ? 1.0 : curvature[a % group * (group + 1)]) * expected[a / group * (SIZE + 1)],
                         1e-12);
        pl_outer_close(&outer);
    }
}

static void a_failed_allocation_is_told(void **state) {
    (void)state;
    pl_arrow shape = {10, 0, 1};
    pl_outer_products outer;
    parley_error error = {0};
    pl_memory_fail_after(0);
    assert_int_equal(pl_outer_open(&outer, &shape, NULL, false, 1, &error), PARLEY_NO_MEMORY);
    pl_memory_fail_after(-1);
    pl_outer_close(&outer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_rows_add_up),          cmocka_unit_test(dense_rows_add_up),
        cmocka_unit_test(mixed_rows_add_up),           cmocka_unit_test(rows_with_an_entry_apart_add_up),
        cmocka_unit_test(a_failed_allocation_is_told),
    };
    return cmocka_run_group_tests_name("outer", tests, NULL, NULL);
}
