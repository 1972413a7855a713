/* test_moments.c: products of the columns of a dense table, against their definition. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "support.h"

#define ROWS 5000
#define COLUMNS 6
#define SIZE (COLUMNS + 2)

static double doubles[ROWS * COLUMNS], by_columns[ROWS * COLUMNS], label[ROWS], weight[ROWS], shift[COLUMNS + 1];
static float floats[ROWS * COLUMNS];

static int fill(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(41, 0, 0);
    for (unsigned i = 0; i < ROWS; i++) {
        for (unsigned j = 0; j < COLUMNS; j++) {
            floats[i * COLUMNS + j] = (float)(j + pl_random_normal(&stream));
            doubles[i * COLUMNS + j] = by_columns[j * ROWS + i] = (double)floats[i * COLUMNS + j];
        }
        label[i] = pl_random_normal(&stream);
        weight[i] = pl_random_unit(&stream);
    }
    for (unsigned j = 0; j <= COLUMNS; j++)
        shift[j] = 0.5 * j;
    return 0;
}

static double z(unsigned i, unsigned j) {
    return j > COLUMNS ? 1.0 : (j < COLUMNS ? doubles[i * COLUMNS + j] : label[i]) - shift[j];
}

static void assert_products(const double *sums, bool weighted) {
    for (unsigned j = 0; j < SIZE; j++)
        for (unsigned k = 0; k < SIZE; k++) {
            double wanted = 0;
            for (unsigned i = 0; i < ROWS; i++)
                wanted += (weighted ? weight[i] : 1.0) * z(i, j) * z(i, k);
            assert_true(fabs(sums[j * SIZE + k] - wanted) <= 1e-12 * ROWS * SIZE);
        }
}

static void products_are_those_of_the_definition(void **state) {
    (void)state;
    double sums[SIZE * SIZE], first[SIZE * SIZE];
    parley_error error;
    for (unsigned kind = 0; kind < 6; kind++) {
        const double *weights = kind % 2 ? weight : NULL;
        const void *tables[] = {doubles, floats, by_columns};
        parley_type type = kind / 2 == 1 ? PARLEY_FLOAT32 : PARLEY_FLOAT64;
        bool turned = kind / 2 == 2;
        for (unsigned threads = 1; threads <= 3; threads++) {
            assert_done(parley_moments(ROWS, COLUMNS, tables[kind / 2], type, turned ? 1 : COLUMNS, turned ? ROWS : 1,
                                       label, weights, shift, threads, sums, &error),
                        &error);
            if (threads == 1)
                memcpy(first, sums, sizeof first);
            assert_memory_equal(sums, first, sizeof first);
        }
        assert_products(sums, weights);
    }
}

static void what_is_not_finite_is_refused(void **state) {
    (void)state;
    double sums[SIZE * SIZE];
    parley_error error = {0};
    double kept = doubles[COLUMNS * 77 + 3];
    doubles[COLUMNS * 77 + 3] = NAN;
    assert_int_equal(
        parley_moments(ROWS, COLUMNS, doubles, PARLEY_FLOAT64, COLUMNS, 1, label, NULL, shift, 2, sums, &error),
        PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "not finite"));
    doubles[COLUMNS * 77 + 3] = kept;
    assert_int_equal(
        parley_moments(ROWS, COLUMNS, doubles, PARLEY_INT32, COLUMNS, 1, label, NULL, shift, 2, sums, &error),
        PARLEY_BAD_USAGE);
    assert_int_equal(parley_moments(1, 5000, doubles, PARLEY_FLOAT64, 5000, 1, label, NULL, doubles, 2, sums, &error),
                     PARLEY_BAD_INPUT);
}

static void failed_allocations_are_told(void **state) {
    (void)state;
    double sums[SIZE * SIZE];
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 100; n++) {
        parley_error error = {0};
        pl_memory_fail_after(n);
        status =
            parley_moments(ROWS, COLUMNS, doubles, PARLEY_FLOAT64, COLUMNS, 1, label, NULL, shift, 2, sums, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && *error.sentence));
    }
    assert_int_equal(status, PARLEY_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_the_definition),
        cmocka_unit_test(what_is_not_finite_is_refused),
        cmocka_unit_test(failed_allocations_are_told),
    };
    return cmocka_run_group_tests_name("moments", tests, fill, NULL);
}
