/* test_second_order.c: second-order combines alone: directions against dense references, line searches against their
 * conditions, orthants, and truncated solves against the matrix. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "linear/newton/oracle.h"
#include "linear/newton/search.h"
#include "support.h"

#define SIZE 7
#define BLOCK 3 /* entries in one call of a sum */

/* f(v) = v' A v / 2 + sum cosh-like terms: smooth and strictly convex. */
typedef struct function {
    double a[SIZE][SIZE], c[SIZE];
} function;

static function random_function(uint64_t seed) {
    function f = {0};
    pl_stream stream = pl_stream_make(seed, 1, 1);
    double b[SIZE][SIZE];
    for (unsigned i = 0; i < SIZE; i++)
        for (unsigned j = 0; j < SIZE; j++)
            b[i][j] = pl_random_normal(&stream);
    for (unsigned i = 0; i < SIZE; i++) {
        f.c[i] = 3.0 * pl_random_normal(&stream);
        for (unsigned j = 0; j < SIZE; j++)
            for (unsigned k = 0; k < SIZE; k++)
                f.a[i][j] += b[i][k] * b[j][k] * (k + 1.0) / SIZE;
    }
    return f;
}

static double value_of(const function *f, const double *v, double *gradient) {
    double value = 0;
    for (unsigned i = 0; i < SIZE; i++) {
        double e = exp(0.3 * (v[i] - f->c[i])), row = 0;
        for (unsigned j = 0; j < SIZE; j++)
            row += f->a[i][j] * v[j];
        value += 0.5 * v[i] * row + e + 1.0 / e;
        gradient[i] = row + 0.3 * (e - 1.0 / e);
    }
    return value;
}

static parley_status sum_alone(void *of, pl_entry_sum f, void *context, double *sums, parley_error *error) {
    const pl_slice *slice = of;
    (void)error;
    memset(sums, 0, PL_OWN_SCALARS * sizeof *sums);
    for (uint64_t begin = slice->begin; begin < slice->end; begin += BLOCK) {
        double block[PL_OWN_SCALARS] = {0};
        f(context, begin, begin + BLOCK < slice->end ? begin + BLOCK : slice->end, block);
        for (unsigned i = 0; i < PL_OWN_SCALARS; i++)
            sums[i] += block[i];
    }
    return PARLEY_OK;
}

/* A combine that owns all of v, and what a round of it needs. */
typedef struct bench {
    const pl_combine_type *type;
    parley_settings settings;
    pl_problem problem;
    pl_combine *combine;
    double v[SIZE], change[2 * SIZE], direction[SIZE];
    pl_slice slice;
} bench;

/* With `intercept`, the last entry is a free intercept. */
static void open_bench(bench *bench, const pl_combine_type *type, const char *words, double l1, double l2,
                       bool intercept) {
    parley_error error = {0};
    *bench = (struct bench){.type = type, .settings = settings_of(words)};
    bench->problem =
        (pl_problem){.size = SIZE, .l1 = l1, .l2 = l2, .penalised = SIZE - intercept, .facts = PL_FACT_DUAL};
    pl_setup setup = {.problem = &bench->problem, .settings = &bench->settings, .entries = SIZE, .end = SIZE};
    assert_done(type->open(&setup, &bench->combine, &error), &error);
    bench->slice = (pl_slice){.end = SIZE,
                              .v = bench->v,
                              .change = bench->change,
                              .direction = bench->direction,
                              .shrink = 1.0,
                              .sums = {&bench->slice, sum_alone, NULL}};
}

static void propose(bench *bench, const function *f, uint64_t round) {
    parley_error error = {0};
    bench->slice.value = value_of(f, bench->v, bench->change);
    assert_done(bench->type->propose(bench->combine, &bench->slice, round, &error), &error);
}

static double dot(const double *a, const double *b) {
    double sum = 0;
    for (unsigned i = 0; i < SIZE; i++)
        sum += a[i] * b[i];
    return sum;
}

/* -H g by the dense formula: H <- (I - rho s y') H (I - rho y s') + rho s s', from H = (s.y / y.y) I of the newest. */
static void dense_bfgs(double (*s)[SIZE], double (*y)[SIZE], unsigned pairs, const double *g, double *d) {
    double h[SIZE][SIZE] = {{0}};
    double scale = dot(s[pairs - 1], y[pairs - 1]) / dot(y[pairs - 1], y[pairs - 1]);
    for (unsigned i = 0; i < SIZE; i++)
        h[i][i] = scale;
    for (unsigned p = 0; p < pairs; p++) {
        double rho = 1.0 / dot(s[p], y[p]), hy[SIZE];
        for (unsigned i = 0; i < SIZE; i++)
            hy[i] = dot(h[i], y[p]);
        double yhy = dot(y[p], hy);
        for (unsigned i = 0; i < SIZE; i++)
            for (unsigned j = 0; j < SIZE; j++)
                h[i][j] += rho * (1.0 + rho * yhy) * s[p][i] * s[p][j] - rho * (hy[i] * s[p][j] + s[p][i] * hy[j]);
    }
    for (unsigned i = 0; i < SIZE; i++)
        d[i] = -dot(h[i], g);
}

static void follow_dense_bfgs(const char *words, unsigned history) {
    enum { ROUNDS = 12 };
    double s[ROUNDS][SIZE], y[ROUNDS][SIZE], last_v[SIZE], last_g[SIZE], g[SIZE], expected[SIZE];
    function f = random_function(3);
    bench bench;
    open_bench(&bench, &pl_combine_lbfgs, words, 0, 0.1, true);
    for (unsigned round = 0; round < ROUNDS; round++) {
        propose(&bench, &f, round + 1);
        for (unsigned i = 0; i < SIZE; i++) {
            g[i] = bench.change[i] + (i < SIZE - 1 ? 0.1 * bench.v[i] : 0.0);
            if (round > 0) {
                s[round - 1][i] = bench.v[i] - last_v[i];
                y[round - 1][i] = g[i] - last_g[i];
            }
        }
        unsigned pairs = round < history ? round : history;
        if (pairs > 0)
            dense_bfgs(s + round - pairs, y + round - pairs, pairs, g, expected);
        for (unsigned i = 0; i < SIZE; i++) {
            assert_close(bench.direction[i], pairs > 0 ? expected[i] : -g[i], 1e-9);
            last_v[i] = bench.v[i];
            last_g[i] = g[i];
            bench.v[i] += (round == 0 ? 0.05 : 0.7) * bench.direction[i];
        }
    }
    pl_combine_lbfgs.close(bench.combine);
}

/* Newton between two factors: -H g by the dense formula, from the factored H. */
static void old_factors_are_mended_as_in_bfgs(void **state) {
    (void)state;
    enum { ROUNDS = 2 };
    function f = random_function(8);
    parley_data data = {.x = {.columns = SIZE}};
    pl_glm glm = {
        .base = {.type = &pl_problem_linear, .data = &data, .size = SIZE, .row = 1, .penalised = SIZE, .l2 = 0.1},
        .loss = &pl_loss_logistic,
        .classes = 1};
    pl_setup setup = {.problem = &glm.base, .entries = SIZE, .end = SIZE};
    double v[SIZE] = {0}, change[SIZE + SIZE * SIZE], d[SIZE], s[SIZE], y[SIZE], g[SIZE];
    double workers[PL_SCALARS] = {0};
    pl_question question = {.gamma = 1.0};
    parley_error error = {0};
    pl_combine *combine;
    pl_slice slice = {.end = SIZE, .v = v, .change = change, .direction = d, .sums = {.sum = sum_alone}};
    slice.sums.exchange = &slice;
    assert_done(pl_combine_newton.open(&setup, &combine, &error), &error);
    for (unsigned i = 0; i < SIZE; i++)
        for (unsigned j = 0; j < SIZE; j++)
            change[SIZE + i * SIZE + j] = f.a[i][j];
    for (unsigned round = 0; round < ROUNDS; round++) {
        pl_round asked = {.columns = 1 + SIZE};
        pl_combine_newton.ask(combine, &asked);
        assert_int_equal(asked.columns, round == 0 ? 1 + SIZE : 1);
        value_of(&f, v, change);
        assert_done(pl_combine_newton.propose(combine, &slice, round + 1, &error), &error);
        for (unsigned i = 0; i < SIZE; i++) {
            s[i] = v[i] - (round ? s[i] : 0.0);
            y[i] = change[i] + 0.1 * v[i] - (round ? g[i] : 0.0);
            g[i] = change[i] + 0.1 * v[i];
        }
        if (round > 0)
            continue;
        for (unsigned i = 0; i < SIZE; i++) /* so that the step leaves no slope, and is accepted */
            workers[PL_SUM_SLOPE] -= 0.1 * (v[i] + d[i]) * d[i];
        assert_done(pl_combine_newton.dialogue->next(combine, &slice, workers, &question, &error), &error);
        assert_true(question.accepted);
        for (unsigned i = 0; i < SIZE; i++) {
            assert_close(dot(f.a[i], d) + 0.1 * d[i], -g[i], 1e-10); /* the equations of Newton's method */
            s[i] = v[i];
            v[i] += 0.7 * d[i];
        }
    }
    /* B d = -g, with B = A - A s s' A / s'As + y y' / s'y: the same formula for the matrix itself. */
    double as[SIZE], sas = 0, sy = dot(s, y);
    for (unsigned i = 0; i < SIZE; i++) {
        as[i] = dot(f.a[i], s) + 0.1 * s[i];
        sas += s[i] * as[i];
    }
    for (unsigned i = 0; i < SIZE; i++) {
        double left = dot(f.a[i], d) + 0.1 * d[i] - as[i] * dot(as, d) / sas + y[i] * dot(y, d) / sy;
        assert_true(fabs(left + g[i]) <= 1e-9 * (1.0 + fabs(g[i])));
    }
    pl_combine_newton.close(combine);
}

static void two_loops_are_the_dense_bfgs_formula(void **state) {
    (void)state;
    follow_dense_bfgs("history=20", 20);
    follow_dense_bfgs("history=3", 3);
    follow_dense_bfgs("history=1", 1);
}

/* phi(gamma) = sum of softplus terms and a parabola. */
static double line(const double *c, double gamma, double *slope) {
    double e = exp(-c[1] * (gamma - c[0]));
    *slope = -c[1] * e / (1.0 + e) + c[2] * gamma;
    return log1p(e) + 0.5 * c[2] * gamma * gamma;
}

static void accepted_steps_satisfy_the_wolfe_conditions(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(8, 1, 1);
    unsigned most = 0;
    for (unsigned k = 0; k < 2000; k++) {
        double c[3] = {pl_random_normal(&stream), exp(pl_random_normal(&stream)), exp(4.0 * pl_random_normal(&stream))};
        double first_slope, first = line(c, 0, &first_slope), gamma = 1.0, slope, value;
        if (!(first_slope < 0))
            continue;
        pl_search search = pl_search_begin(first, first_slope);
        do
            value = line(c, gamma, &slope);
        while (!pl_search_judge(&search, value, slope, &gamma));
        value = line(c, gamma, &slope);
        assert_false(search.failed);
        assert_at_most(value, first + PL_DECREASE * gamma * first_slope + 1e-12 * fabs(first));
        assert_at_most(fabs(slope), PL_FLATTEN * fabs(first_slope));
        most = search.trials > most ? search.trials : most;
    }
    assert_true(most > 0 && most < 25);
}

static double sign_of(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }

static void next(bench *bench, const double *scalars, pl_question *question) {
    parley_error error = {0};
    assert_done(bench->type->dialogue->next(bench->combine, &bench->slice, scalars, question, &error), &error);
}

/* Answers a trial point of OWL-QN. Returns P there. */
static double answer_projected(bench *bench, const function *f, pl_question *question) {
    double scalars[PL_SCALARS] = {0}, at[SIZE], unused[SIZE], penalty = 0;
    assert_true(question->moved && question->projected);
    for (unsigned i = 0; i < SIZE; i++) {
        at[i] = bench->v[i] + bench->direction[i];
        if (i < bench->problem.penalised)
            penalty += bench->problem.l1 * fabs(at[i]) + 0.5 * bench->problem.l2 * at[i] * at[i];
    }
    scalars[PL_SUM_LOSS] = value_of(f, at, unused);
    next(bench, scalars, question);
    return scalars[PL_SUM_LOSS] + penalty;
}

static void steps_by_slopes_alone_are_flat(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(14, 0, 0);
    for (unsigned draw = 0; draw < 300; draw++) {
        double c[3] = {3.0 * pl_random_normal(&stream), exp(pl_random_normal(&stream)),
                       exp(4.0 * pl_random_normal(&stream))};
        double first, slope, gamma = 1.0;
        line(c, 0.0, &first);
        if (!(first < 0))
            continue;
        pl_search search = pl_search_begin(0.0, first);
        for (line(c, gamma, &slope); !pl_search_flat(&search, 0.1, slope, &gamma);)
            line(c, gamma, &slope);
        line(c, gamma, &slope);
        assert_false(search.failed);
        assert_true(fabs(slope) <= 0.1 * fabs(first));
    }
}

static void trials_with_l1_stay_in_an_orthant_and_lower_the_objective(void **state) {
    (void)state;
    const double l1 = 0.8;
    unsigned zeros = 0, crossed = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        function f = random_function(seed);
        double last = INFINITY;
        bench bench;
        open_bench(&bench, &pl_combine_lbfgs, "history=5", l1, 0.05, true);
        for (unsigned round = 1; round <= 60; round++) {
            pl_question question = {.gamma = round == 1 ? 0.05 : 1.0};
            double value = 0;
            propose(&bench, &f, round);
            for (next(&bench, NULL, &question); !question.accepted;) {
                value = answer_projected(&bench, &f, &question);
                for (unsigned i = 0; i < SIZE - 1; i++) {
                    double v = bench.v[i], next = v + bench.direction[i];
                    double away = -sign_of(bench.change[i]); /* from 0, in the direction in which P decreases */
                    assert_true(next == 0 || sign_of(next) == (v != 0 ? sign_of(v) : away));
                    assert_true(v != 0 || next == 0 || fabs(bench.change[i]) > l1);
                }
            }
            assert_at_most(value, last + 1e-9);
            last = value;
            crossed += bench.v[SIZE - 1] * (bench.v[SIZE - 1] + bench.direction[SIZE - 1]) < 0;
            for (unsigned i = 0; i < SIZE; i++)
                bench.v[i] += bench.direction[i];
        }
        value_of(&f, bench.v, bench.change); /* the conditions of the optimum, intercept last */
        for (unsigned i = 0; i < SIZE - 1; i++) {
            double g = bench.change[i] + 0.05 * bench.v[i];
            zeros += bench.v[i] == 0;
            assert_at_most(bench.v[i] == 0 ? fabs(g) - l1 : fabs(g + l1 * sign_of(bench.v[i])), 1e-5);
        }
        assert_at_most(fabs(bench.change[SIZE - 1]), 1e-5);
        pl_combine_lbfgs.close(bench.combine);
    }
    assert_true(zeros > 0 && crossed > 0); /* the penalty had an effect; the intercept has no orthant */
}

/* Answers products by the matrix until the combine asks for no more; returns their number. */
static unsigned solve(bench *bench, const function *f) {
    unsigned products = 0;
    double scalars[PL_SCALARS] = {0};
    pl_question question = {.gamma = 1.0};
    for (next(bench, NULL, &question); question.columns > 0; next(bench, scalars, &question)) {
        for (unsigned i = 0; i < SIZE; i++)
            bench->change[i] = dot(f->a[i], bench->direction);
        assert_true(++products < 100);
    }
    return products;
}

/* Proposes at the gradient g, whose entry for a free intercept is 0, and solves. */
static unsigned propose_and_solve(bench *bench, const function *f, const double *g) {
    parley_error error = {0};
    for (unsigned i = 0; i < SIZE; i++) {
        bench->change[i] = g[i];
        bench->change[SIZE + i] = f->a[i][i];
    }
    assert_done(bench->type->propose(bench->combine, &bench->slice, 1, &error), &error);
    return solve(bench, f);
}

static void truncated_solves_leave_a_small_residual(void **state) {
    (void)state;
    const double l2 = 0.01;
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (unsigned intercept = 0; intercept <= 1; intercept++) {
            const unsigned last = SIZE - 1;
            function f = random_function(seed);
            double g[SIZE], before = 0, after = 0, tilt = f.a[last][last];
            bench bench;
            open_bench(&bench, &pl_combine_truncated, "gap=0", 0, l2, intercept);
            for (unsigned i = 0; i < SIZE; i++)
                g[i] = intercept && i == last ? 0.0 : sin(3.0 * i + (double)seed);
            assert_in_range(propose_and_solve(&bench, &f, g), 1, SIZE + 2);
            for (unsigned i = 0; i < SIZE - intercept; i++) {
                double r = g[i] + dot(f.a[i], bench.direction) + l2 * bench.direction[i];
                double scale = f.a[i][i] + l2 - (intercept ? f.a[i][last] * f.a[i][last] / tilt : 0.0);
                before += g[i] * g[i] / scale;
                after += r * r / scale;
            }
            assert_at_most(sqrt(after), 0.25 * sqrt(before) * (1.0 + 1e-9));
            if (intercept) /* its own equation is solved exactly */
                assert_close(dot(f.a[last], bench.direction), 0.0, 1e-10);
            assert_true(dot(g, bench.direction) < 0);
            pl_combine_truncated.close(bench.combine);
        }
}

static void truncated_steps_survive_a_flat_function(void **state) {
    (void)state;
    function flat = {0};
    bench bench;
    open_bench(&bench, &pl_combine_truncated, "gap=0", 0, 0, false);
    for (unsigned i = 0; i < SIZE; i++) {
        bench.v[i] = 1.0;
        bench.change[SIZE + i] = i % 2 ? 1e-3 : 0.0;
    }
    propose(&bench, &flat, 1);
    assert_true(solve(&bench, &flat) == 1);
    for (unsigned i = 0; i < SIZE; i++)
        assert_true(isfinite(bench.direction[i]) && (i % 2 ? bench.direction[i] < 0 : bench.direction[i] == 0));
    pl_combine_truncated.close(bench.combine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_loops_are_the_dense_bfgs_formula),
        cmocka_unit_test(old_factors_are_mended_as_in_bfgs),
        cmocka_unit_test(steps_by_slopes_alone_are_flat),
        cmocka_unit_test(accepted_steps_satisfy_the_wolfe_conditions),
        cmocka_unit_test(trials_with_l1_stay_in_an_orthant_and_lower_the_objective),
        cmocka_unit_test(truncated_solves_leave_a_small_residual),
        cmocka_unit_test(truncated_steps_survive_a_flat_function),
    };
    return cmocka_run_group_tests_name("second", tests, NULL, NULL);
}
