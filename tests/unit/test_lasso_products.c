/* test_lasso_products.c: least squares with an L1 penalty from products of columns. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "support.h"

#define ROWS 60
#define COLUMNS 12

static double products[COLUMNS * COLUMNS], target[COLUMNS];

/* Correlated columns, the last of which are 0 and a copy of the first. */
static int fill(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(7, 0, 0);
    for (unsigned i = 0; i < ROWS; i++) {
        double row[COLUMNS] = {0}, y = pl_random_normal(&stream);
        for (unsigned j = 0; j + 2 < COLUMNS; j++) {
            row[j] = (j ? 0.9 * row[j - 1] : 0.0) + 0.3 * pl_random_normal(&stream);
            y += j % 3 ? 0.0 : row[j];
        }
        row[COLUMNS - 1] = row[0];
        for (unsigned j = 0; j < COLUMNS; j++) {
            target[j] += row[j] * y / ROWS;
            for (unsigned k = 0; k < COLUMNS; k++)
                products[j * COLUMNS + k] += row[j] * row[k] / ROWS;
        }
    }
    return 0;
}

/* Slopes are l1 against the sign of a coefficient, and at most l1 where it is 0. */
static void assert_optimal(const double *x, double l1) {
    for (unsigned j = 0; j < COLUMNS; j++) {
        double slope = -target[j];
        for (unsigned k = 0; k < COLUMNS; k++)
            slope += products[j * COLUMNS + k] * x[k];
        if (x[j] != 0)
            assert_true(fabs(slope + copysign(l1, x[j])) < 1e-8);
        else
            assert_true(fabs(slope) <= l1 + 1e-8);
    }
}

static void solutions_are_optimal_from_any_start(void **state) {
    (void)state;
    const double penalties[] = {0, 1e-3, 0.05, 0.3, 100};
    for (unsigned p = 0; p < COUNT(penalties); p++)
        for (unsigned start = 0; start < 2; start++) {
            double x[COLUMNS];
            parley_error error;
            for (unsigned j = 0; j < COLUMNS; j++)
                x[j] = start ? 3.0 - j : 0.0;
            assert_done(parley_lasso_products(COLUMNS, products, target, penalties[p], 1e-18, x, &error), &error);
            assert_optimal(x, penalties[p]);
            assert_true(x[COLUMNS - 2] == 0);
        }
}

static void what_is_not_finite_is_refused(void **state) {
    (void)state;
    double x[COLUMNS] = {0}, kept = target[3];
    parley_error error = {0};
    assert_int_equal(parley_lasso_products(COLUMNS, products, target, -1, 1e-9, x, &error), PARLEY_BAD_INPUT);
    assert_int_equal(parley_lasso_products(COLUMNS, products, target, INFINITY, 1e-9, x, &error), PARLEY_BAD_INPUT);
    target[3] = NAN;
    assert_int_equal(parley_lasso_products(COLUMNS, products, target, 1, 1e-9, x, &error), PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "not finite"));
    target[3] = kept;
}

static void failed_allocations_are_told(void **state) {
    (void)state;
    double x[COLUMNS] = {0};
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 100; n++) {
        parley_error error = {0};
        pl_memory_fail_after(n);
        status = parley_lasso_products(COLUMNS, products, target, 0.05, 1e-9, x, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && *error.sentence));
    }
    assert_int_equal(status, PARLEY_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_are_optimal_from_any_start),
        cmocka_unit_test(what_is_not_finite_is_refused),
        cmocka_unit_test(failed_allocations_are_told),
    };
    return cmocka_run_group_tests_name("lasso_products", tests, fill, NULL);
}
