/* test_l1_quadratic.c: solutions satisfy the conditions of a minimum, also where A is badly scaled or singular,
 * and where variables are apart or have been eliminated. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "math/l1_quadratic.h"
#include "support.h"

#define MOST 60

typedef struct quadratic {
    double a[MOST * MOST], g[MOST], l1[MOST], x[MOST], slope[MOST], start[MOST];
    double apart[MOST * MOST], u[MOST], diagonal[MOST], moved[1];
} quadratic;

/* A = B' B, where B has `rank` rows and columns that differ in scale by up to `decades`. Columns of a group of `group`
 * add up to 0. */
static void fill(quadratic *q, uint64_t size, uint64_t rank, uint64_t group, double decades, pl_stream *stream) {
    static double b[MOST * MOST];
    for (uint64_t j = 0; j < size; j++) {
        double scale = pow(10.0, decades * (double)(j / group * group) / (double)size);
        bool last = group > 1 && j % group == group - 1;
        for (uint64_t k = 0; k < rank; k++) {
            b[j * rank + k] = last ? 0.0 : scale * (pl_random_normal(stream) + (k == 0 ? 3.0 : 0.0));
            for (uint64_t i = 1; i < group && last; i++)
                b[j * rank + k] -= b[(j - i) * rank + k];
        }
        q->l1[j] = scale * (double)rank;
        q->x[j] = q->start[j] = j % 3 ? 0.0 : pl_random_normal(stream) / scale;
    }
    for (uint64_t j = 0; j < size; j++) {
        q->g[j] = 0;
        for (uint64_t k = 0; k < rank; k++)
            q->g[j] += b[j * rank + k] * (double)(k % 5);
        q->slope[j] = q->g[j];
        for (uint64_t i = 0; i < size; i++) {
            q->a[j * size + i] = 0;
            for (uint64_t k = 0; k < rank; k++)
                q->a[j * size + i] += b[j * rank + k] * b[i * rank + k];
        }
    }
}

/* Removes the products of variables that are apart, in groups from `core` on. With less in common, they need more in
 * the diagonal. */
static void separate(quadratic *q, uint64_t size, uint64_t core, uint64_t group) {
    for (uint64_t j = core; j < size; j++)
        for (uint64_t i = core; i < size; i++)
            if (i / group != j / group)
                q->a[j * size + i] = 0;
    for (uint64_t j = 0; j < size && core < size; j++)
        q->a[j * (size + 1)] *= (double)size;
}

/* The problem as the solver wants it, where the matrix is H. If it is loose, u is a part of its first column. */
static pl_l1_quadratic arrange(quadratic *q, uint64_t size, uint64_t core, uint64_t group, bool loose) {
    double root = sqrt(q->a[0]);
    for (uint64_t j = 0; j < size; j++) {
        q->u[j] = loose ? 0.7 * q->a[j] / root : 0.0;
        q->diagonal[j] = q->a[j * (size + 1)] - q->u[j] * q->u[j];
    }
    for (uint64_t j = core; j < size; j++) {
        double *own = q->apart + (j - core) * (group + core);
        memcpy(own, q->a + j * size + j / group * group, group * sizeof *own);
        memcpy(own + group, q->a + j * size, core * sizeof *own);
    }
    q->moved[0] = 0;
    return (pl_l1_quadratic){
        {size, core, group, loose}, q->a, q->apart, q->u, q->diagonal, q->l1, q->x, q->slope, q->moved};
}

/* The least slopes at x, computed anew, are small compared with the penalty. */
static void assert_minimum(const quadratic *q, uint64_t size, double tolerance) {
    for (uint64_t j = 0; j < size; j++) {
        double slope = q->g[j];
        for (uint64_t i = 0; i < size; i++)
            slope += (q->a[j * size + i] - q->u[j] * q->u[i]) * (q->x[i] - q->start[i]);
        double least = pl_l1_least_slope(q->x[j], slope, q->l1[j]);
        if (!(fabs(least) <= tolerance * fmax(q->l1[j], sqrt(q->diagonal[j]))))
            fail_msg("%u of %u: %g where the penalty is %g, diagonal %g", (unsigned)j, (unsigned)size, least, q->l1[j],
                     q->diagonal[j]);
    }
}

static void solutions_satisfy_the_conditions_of_a_minimum(void **state) {
    (void)state;
    static quadratic q;
    static const struct {
        uint64_t size, core, rank, group;
        double decades, l1;
    } cases[] = {
        {1, 1, 3, 1, 0, 1},      {5, 5, 30, 1, 0, 1},       {60, 60, 60, 1, 0, 1},     {60, 60, 60, 1, 8, 0.01},
        {60, 60, 60, 1, 6, 0.1}, {60, 60, 60, 1, 6, 0},     {48, 48, 20, 1, 6, 0.1},   {12, 12, 40, 4, 0, 0.1},
        {60, 60, 60, 5, 7, 0.1}, {60, 60, 60, 10, 6, 1},    {40, 40, 30, 8, 5, 0.001}, {59, 59, 7, 1, 0, 10},
        {60, 60, 60, 3, 0, 1e9}, {30, 30, 60, 2, 7, 0.001}, {60, 5, 60, 1, 0, 0.1},    {60, 40, 60, 1, 6, 0.1},
        {60, 1, 60, 1, 0, 0},    {60, 0, 60, 1, 6, 0.1},    {60, 12, 60, 3, 5, 0.1},   {60, 30, 60, 10, 0, 0.01}};
    pl_stream stream = pl_stream_make(3, 0, 0);
    pl_l1_room room;
    parley_error error = {0};
    for (unsigned c = 0; c < 2 * COUNT(cases); c++) {
        unsigned k = c / 2;
        uint64_t size = cases[k].size, core = cases[k].core, group = cases[k].group;
        fill(&q, size, cases[k].rank, group, cases[k].decades, &stream);
        separate(&q, size, core, group);
        for (uint64_t j = 0; j < size; j++)
            q.l1[j] *= cases[k].l1;
        pl_l1_quadratic problem = arrange(&q, size, core, group, c % 2);
        assert_done(pl_l1_open(&room, &problem.shape, &error), &error);
        double violation = pl_l1_violation(&problem);
        pl_l1_solve(&problem, &room, 1e-24 * violation);
        assert_true(pl_l1_violation(&problem) <= 1e-12 * violation);
        assert_minimum(&q, size, 1e-6);
        pl_l1_close(&room);
    }
}

/* A column without entries has no curvature: its coefficient becomes 0, or stays if it has no penalty either. */
static void variables_without_curvature_have_only_their_penalty(void **state) {
    (void)state;
    double a[9] = {2, 0, 0, 0, 0, 0, 0, 0, 0}, diagonal[3] = {2, 0, 0}, l1[3] = {1, 1, 0}, x[3] = {0, 4, 5},
           slope[3] = {-3, 0, 0}, none[1] = {0};
    pl_l1_quadratic problem = {.shape = {3, 3, 1, 0},
                               .core = a,
                               .diagonal = diagonal,
                               .l1 = l1,
                               .x = x,
                               .slope = slope,
                               .u = none,
                               .moved = none};
    pl_l1_room room;
    parley_error error = {0};
    assert_done(pl_l1_open(&room, &problem.shape, &error), &error);
    pl_l1_solve(&problem, &room, 0.0);
    assert_close(x[0], 1.0, 1e-15);
    assert_true(x[1] == 0 && x[2] == 5);
    pl_l1_close(&room);
}

static void a_failed_allocation_is_told(void **state) {
    (void)state;
    const pl_l1_shape shape = {10, 10, 1, 1};
    for (int64_t n = 0; n < 5; n++) {
        pl_l1_room room;
        parley_error error = {0};
        pl_memory_fail_after(n);
        assert_int_equal(pl_l1_open(&room, &shape, &error), PARLEY_NO_MEMORY);
        pl_memory_fail_after(-1);
        pl_l1_close(&room);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_satisfy_the_conditions_of_a_minimum),
        cmocka_unit_test(variables_without_curvature_have_only_their_penalty),
        cmocka_unit_test(a_failed_allocation_is_told),
    };
    return cmocka_run_group_tests_name("l1_quadratic", tests, NULL, NULL);
}
