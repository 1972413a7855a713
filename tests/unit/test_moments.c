/* test_moments.c: products of the columns of a dense table, against their definition. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "support.h"

#define ROWS 35000 /* enough for several threads, with all columns */
#define COLUMNS 15
#define SIZE (COLUMNS + 2)

/* The same values four times: of each type, by rows and by columns. */
static double doubles[ROWS * COLUMNS], doubles_turned[ROWS * COLUMNS];
static float floats[ROWS * COLUMNS], floats_turned[ROWS * COLUMNS];
static double label[ROWS], weight[ROWS], shift[COLUMNS + 1];

static int fill(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(41, 0, 0);
    for (unsigned i = 0; i < ROWS; i++) {
        for (unsigned j = 0; j < COLUMNS; j++) {
            float value = (float)(j + pl_random_normal(&stream));
            floats[i * COLUMNS + j] = floats_turned[j * ROWS + i] = value;
            doubles[i * COLUMNS + j] = doubles_turned[j * ROWS + i] = (double)value;
        }
        label[i] = pl_random_normal(&stream);
        weight[i] = pl_random_unit(&stream);
    }
    for (unsigned j = 0; j <= COLUMNS; j++)
        shift[j] = 0.5 * j;
    return 0;
}

static double z(unsigned i, unsigned j, unsigned columns) {
    return j > columns ? 1.0 : (j < columns ? doubles[i * COLUMNS + j] : label[i]) - shift[j];
}

static void assert_products(const double *sums, unsigned columns, bool weighted) {
    unsigned size = columns + 2;
    for (unsigned j = 0; j < size; j++)
        for (unsigned k = 0; k < size; k++) {
            double wanted = 0;
            for (unsigned i = 0; i < ROWS; i++)
                wanted += (weighted ? weight[i] : 1.0) * z(i, j, columns) * z(i, k, columns);
            assert_true(fabs(sums[j * size + k] - wanted) <= 1e-13 * ROWS * (1 + columns) * (1 + columns));
        }
}

/* The first columns of the table give the same bits in each of its forms and with one to three threads. */
static void assert_forms(unsigned columns, const double *weights) {
    const void *tables[] = {doubles, floats, doubles_turned, floats_turned};
    double sums[SIZE * SIZE] = {0}, first[SIZE * SIZE];
    parley_error error;
    for (unsigned form = 0; form < 4; form++)
        for (unsigned threads = 1; threads <= 3; threads++) {
            parley_type type = form % 2 ? PARLEY_FLOAT32 : PARLEY_FLOAT64;
            assert_done(parley_moments(ROWS, columns, tables[form], type, form < 2 ? COLUMNS : 1, form < 2 ? 1 : ROWS,
                                       label, weights, shift, threads, sums, &error),
                        &error);
            if (form == 0 && threads == 1) {
                assert_products(sums, columns, weights);
                memcpy(first, sums, sizeof first);
            }
            assert_memory_equal(sums, first, (columns + 2) * (columns + 2) * sizeof *sums);
        }
}

static void products_are_those_of_the_definition(void **state) {
    (void)state;
    const unsigned columns[] = {0, 1, 2, 3, 5, 14, COLUMNS};
    for (unsigned c = 0; c < COUNT(columns); c++) {
        assert_forms(columns[c], NULL);
        assert_forms(columns[c], weight);
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
