/* test_arrow_matrix.c: systems in the shape of an arrow against the same systems as full matrices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "math/arrow_matrix.h"
#include "math/cholesky.h"
#include "support.h"

#define MOST 60

/* A full matrix with the zeros of an arrow, and the same as an arrow. */
static void fill(const pl_arrow *shape, pl_stream *stream, double *full, double *arrow) {
    uint64_t rows = pl_arrow_rows(shape), core = shape->core, group = shape->group;
    for (uint64_t j = 0; j < rows; j++)
        for (uint64_t i = j; i < rows; i++) {
            bool meet = j < core || (i - core) / group == (j - core) / group;
            double value = j == i ? 3.0 * (double)rows : meet ? pl_random_normal(stream) : 0.0;
            full[j * rows + i] = value;
            if (i < core)
                arrow[j * core + i] = value;
            else if (j < core)
                arrow[pl_arrow_begin(shape, i) + group + j] = value;
            else if (meet)
                arrow[pl_arrow_begin(shape, j) + (i - core) % group] = value;
        }
}

static const pl_arrow shapes[] = {{1, 0, 1},  {9, 0, 1}, {0, 12, 1}, {3, 40, 1}, {20, 8, 1},
                                  {6, 10, 3}, {0, 7, 4}, {8, 1, 50}, {5, 0, 7},  {1, 11, 5}};

static void solutions_are_those_of_the_full_matrix(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(4, 0, 0);
    for (unsigned s = 0; s < COUNT(shapes); s++) {
        const pl_arrow *shape = &shapes[s];
        uint64_t rows = pl_arrow_rows(shape);
        double full[MOST * MOST], x[MOST], y[MOST], *arrow = calloc(pl_arrow_values(shape) + 1, sizeof *arrow);
        assert_true(arrow && rows <= MOST);
        fill(shape, &stream, full, arrow);
        for (uint64_t p = 0; p < rows; p++) {
            assert_true(arrow[pl_arrow_diagonal(shape, p)] == full[p * (rows + 1)]);
            x[p] = y[p] = pl_random_normal(&stream);
        }
        assert_true(pl_cholesky(full, rows) && pl_arrow_factor(shape, arrow));
        pl_cholesky_solve(full, rows, x);
        pl_arrow_solve(shape, arrow, y);
        for (uint64_t p = 0; p < rows; p++)
            assert_close(y[p], x[p], 1e-13);
        free(arrow);
    }
}

/* An entry of the diagonal that is not positive is found wherever it is, also one that infinity hides. */
static void matrices_that_are_not_positive_definite_are_refused(void **state) {
    (void)state;
    const double bad[] = {0.0, -1.0, INFINITY, NAN};
    pl_stream stream = pl_stream_make(4, 1, 0);
    for (unsigned s = 0; s < COUNT(shapes); s++)
        for (uint64_t p = 0; p < pl_arrow_rows(&shapes[s]); p++) {
            double full[MOST * MOST], *arrow = calloc(pl_arrow_values(&shapes[s]) + 1, sizeof *arrow);
            assert_non_null(arrow);
            fill(&shapes[s], &stream, full, arrow);
            arrow[pl_arrow_diagonal(&shapes[s], p)] = bad[p % COUNT(bad)];
            assert_false(pl_arrow_factor(&shapes[s], arrow));
            free(arrow);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_are_those_of_the_full_matrix),
        cmocka_unit_test(matrices_that_are_not_positive_definite_are_refused),
    };
    return cmocka_run_group_tests_name("arrow", tests, NULL, NULL);
}
