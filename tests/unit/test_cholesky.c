/* test_cholesky.c: factors against their product, solutions against the matrix, and matrices that are not definite. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "math/cholesky.h"
#include "support.h"

#define MOST 70

/* A = B B' + I, all of it. */
static void fill(double *a, uint64_t size, pl_stream *stream) {
    static double b[MOST * MOST];
    for (uint64_t i = 0; i < size * size; i++)
        b[i] = pl_random_normal(stream);
    for (uint64_t i = 0; i < size; i++)
        for (uint64_t j = 0; j < size; j++) {
            a[j * size + i] = i == j;
            for (uint64_t k = 0; k < size; k++)
                a[j * size + i] += b[k * size + i] * b[k * size + j];
        }
}

static void the_factor_times_itself_is_the_matrix(void **state) {
    (void)state;
    static double a[MOST * MOST], l[MOST * MOST];
    pl_stream stream = pl_stream_make(5, 0, 0);
    for (uint64_t size = 1; size <= MOST; size++) {
        fill(a, size, &stream);
        for (uint64_t i = 0; i < size * size; i++)
            l[i] = a[i];
        assert_true(pl_cholesky(l, size));
        for (uint64_t j = 0; j < size; j++)
            for (uint64_t i = j; i < size; i++) {
                double sum = 0;
                for (uint64_t k = 0; k <= j; k++)
                    sum += l[k * size + i] * l[k * size + j];
                assert_close(sum, a[j * size + i], 1e-12);
            }
    }
}

static void solutions_satisfy_the_equations(void **state) {
    (void)state;
    static double a[MOST * MOST], l[MOST * MOST];
    double b[MOST], x[MOST];
    pl_stream stream = pl_stream_make(6, 0, 0);
    const uint64_t sizes[] = {1, 2, 3, 7, 8, 9, 16, 31, MOST};
    for (unsigned s = 0; s < COUNT(sizes); s++) {
        uint64_t size = sizes[s];
        fill(a, size, &stream);
        for (uint64_t i = 0; i < size * size; i++)
            l[i] = i % size >= i / size ? a[i] : NAN; /* the upper triangle is not used */
        for (uint64_t i = 0; i < size; i++)
            x[i] = b[i] = pl_random_normal(&stream);
        assert_true(pl_cholesky(l, size));
        pl_cholesky_solve(l, size, x);
        for (uint64_t i = 0; i < size; i++) {
            double sum = 0;
            for (uint64_t j = 0; j < size; j++)
                sum += a[j * size + i] * x[j];
            assert_true(fabs(sum - b[i]) <= 1e-11 * (1.0 + fabs(b[i])) * (double)size);
        }
    }
}

static void matrices_that_are_not_definite_are_refused(void **state) {
    (void)state;
    double zero[] = {0}, indefinite[] = {1, 2, 2, 1}, lost[] = {NAN}, endless[] = {INFINITY};
    double late[MOST * MOST] = {0};
    for (uint64_t i = 0; i < MOST; i++)
        late[i * MOST + i] = i == MOST - 3 ? -1.0 : 1.0;
    assert_false(pl_cholesky(zero, 1));
    assert_false(pl_cholesky(indefinite, 2));
    assert_false(pl_cholesky(lost, 1));
    assert_false(pl_cholesky(endless, 1));
    assert_false(pl_cholesky(late, MOST));
    assert_true(pl_cholesky(NULL, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_factor_times_itself_is_the_matrix),
        cmocka_unit_test(solutions_satisfy_the_equations),
        cmocka_unit_test(matrices_that_are_not_definite_are_refused),
    };
    return cmocka_run_group_tests_name("cholesky", tests, NULL, NULL);
}
