/* test_glm.c: the objective, its dual and the passes over rows, against plain sums. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "linear/glm.h"
#include "math/sparse.h"
#include "support.h"

#define ROWS 120
#define COLUMNS 15
#define DRAWS 30

static team_problem open_problem(const char *words) {
    parley_settings settings = settings_of(words);
    double weight[ROWS];
    parley_data *data = random_data(
        (sample_plan){.seed = 9,
                      .rows = ROWS,
                      .columns = COLUMNS,
                      .density = 0.3,
                      .real = pl_loss_find(pl_linear_settings_of(&settings)->loss)->labels == PL_LABELS_REAL,
                      .counts = pl_loss_takes(pl_loss_find(pl_linear_settings_of(&settings)->loss), 0.0) &&
                                !pl_loss_takes(pl_loss_find(pl_linear_settings_of(&settings)->loss), -1.0),
                      .sizes = !pl_loss_takes(pl_loss_find(pl_linear_settings_of(&settings)->loss), 0.0)});
    for (unsigned i = 0; i < ROWS; i++)
        weight[i] = (double)(i % 4) * 0.5;
    set_weights(data, weight);
    return open_problem_on(data, &settings);
}

/* Every loss with every kind of intercept, with and without L1. */
static const char *const forms[] = {
    "loss=squared lambda=0.1 intercept=free",
    "loss=squared lambda=0.1 intercept=none l1_ratio=0.4",
    "loss=logistic lambda=0.05 intercept=free l1_ratio=0.4",
    "loss=logistic lambda=0.05 intercept=penalised",
    "loss=logistic lambda=0.05 intercept=penalised l1_ratio=0.3",
    "loss=hinge lambda=0.2 intercept=free",
    "loss=hinge lambda=0.2 intercept=none",
    "loss=squared-hinge lambda=0.1 intercept=free",
    "loss=squared-hinge lambda=0.1 intercept=penalised l1_ratio=0.2",
    "loss=huber huber_width=0.7 lambda=0.1 intercept=free",
    "loss=huber lambda=0.1 intercept=penalised l1_ratio=0.4",
    "loss=epsilon-insensitive lambda=0.1 intercept=free",
    "loss=epsilon-insensitive epsilon=1 lambda=0.1 intercept=none l1_ratio=0.4",
    "loss=squared-epsilon-insensitive epsilon=0.5 lambda=0.1 intercept=free",
    "loss=quantile lambda=0.1 intercept=free",
    "loss=quantile quantile=0.9 lambda=0.1 intercept=free l1_ratio=0.4",
    "loss=quantile quantile=0.2 lambda=0.1 intercept=penalised",
    "loss=poisson lambda=0.1 intercept=free",
    "loss=poisson lambda=0.1 intercept=penalised l1_ratio=0.4",
    "loss=gamma lambda=0.1 intercept=free",
    "loss=gamma lambda=0.1 intercept=none l1_ratio=0.4",
    "loss=tweedie lambda=0.1 intercept=free l1_ratio=0.4",
    "loss=tweedie power=1.2 lambda=0.1 intercept=penalised",
};

static void random_vector(pl_stream *stream, double *w, uint64_t size) {
    for (uint64_t j = 0; j < size; j++)
        w[j] = pl_random_normal(stream);
}

static double margin(const team_problem *problem, uint64_t i, const double *w) {
    const pl_matrix *x = &problem->data->x;
    double sum = 0;
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
        sum += (double)x->values.narrow[e] * w[x->index[e]];
    return sum;
}

static double plain_share(const team_problem *problem, uint64_t i) {
    double total = 0;
    for (uint64_t k = 0; k < ROWS; k++)
        total += problem->data->weight[k];
    return problem->data->weight[i] / total;
}

static double loss_value(const team_problem *problem, uint64_t i, double z) {
    double slope, curvature;
    return problem->glm.loss->expand(problem->glm.loss, z, pl_target(&problem->glm, i), &slope, &curvature);
}

static double plain_objective(const team_problem *problem, const double *w) {
    const pl_glm *glm = &problem->glm;
    double b = glm->intercept == PL_NO_INTERCEPT ? 0.0 : w[COLUMNS], sum = 0;
    uint64_t penalised = glm->intercept == PL_PENALISED ? COLUMNS + 1 : COLUMNS;
    for (uint64_t i = 0; i < ROWS; i++)
        sum += plain_share(problem, i) * loss_value(problem, i, margin(problem, i, w) + b);
    for (uint64_t j = 0; j < penalised; j++)
        sum += glm->lambda * (glm->l1_ratio * fabs(w[j]) + (1.0 - glm->l1_ratio) * 0.5 * w[j] * w[j]);
    return sum;
}

static void setting_up_measures_the_data(void **state) {
    (void)state;
    team_problem problem = open_problem("loss=logistic intercept=free");
    const pl_glm *glm = &problem.glm;
    double total = 0, norms = 0, upper = 0;
    for (uint64_t i = 0; i < ROWS; i++) {
        const pl_matrix *x = &problem.data->x;
        double norm = 0;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            norm += (double)x->values.narrow[e] * (double)x->values.narrow[e];
        assert_close((double)glm->norm2[i], norm, 1e-6);
        total += problem.data->weight[i];
        norms += problem.data->weight[i] * norm;
        upper += problem.data->label[i] > 0 ? problem.data->weight[i] : 0.0;
    }
    assert_close(glm->base.total, total, 1e-14);
    assert_close(glm->lambda, 1.0 / total, 1e-14);
    assert_close(glm->mean_norm2, norms / total, 1e-6);
    assert_close(glm->upper, upper / total, 1e-14);
    assert_true(glm->low == -1.0 && glm->high == 1.0);
    assert_int_equal(glm->base.size, COLUMNS + 1);
    close_problem(&problem);
}

static void the_loss_follows_from_the_labels(void **state) {
    (void)state;
    const struct {
        const char *text, *words, *loss, *sentence;
    } cases[] = {
        {"1 1:1\n-1 1:2\n", "", "logistic", NULL},
        {"7 1:1\n3 1:2\n7 1:3\n", "", "logistic", NULL},
        {"0.5 1:1\n-1 1:2\n2 1:1\n", "", "squared", NULL},
        {"1 1:1\n2 1:2\n", "loss=squared", "squared", NULL},
        {"1 1:1\n2 1:2\n3 1:2\n", "loss=squared", "squared", NULL},
        {"4 1:1\n4 1:2\n", "", NULL, "sample: all labels are 4; there is nothing to learn"},
        {"4 1:1\n4 1:2\n", "loss=hinge", NULL, "sample: all labels are 4; there is nothing to learn"},
        {"4 1:1\n4 1:2\n", "loss=softmax", NULL, "sample: all labels are 4; there is nothing to learn"},
        {"1 1:1\n2 1:2\n3 1:2\n", "loss=hinge", "hinge", NULL},
        {"1 1:1\n2 1:2\n3 1:2\n", "", "softmax", NULL},
        {"1 1:1\n2 1:2\n1 1:2\n", "loss=softmax", "softmax", NULL},
        {"1 1:1\n2.5 1:2\n3 1:2\n", "", "squared", NULL},
        {"1 1:1\n2.5 1:2\n3 1:2\n", "loss=softmax", "softmax", NULL},
    };
    pl_engine *engine;
    assert_int_equal(pl_threads_open(&engine, 1, 1, 1.0, NULL), PARLEY_OK);
    for (unsigned i = 0; i < COUNT(cases); i++) {
        parley_data *data = data_of(cases[i].text);
        parley_settings settings = settings_of(cases[i].words);
        parley_error error = {0};
        pl_glm glm;
        parley_status status = pl_glm_open(&glm, engine, data, &settings, &error);
        if (cases[i].loss)
            assert_string_equal(glm.loss->name, cases[i].loss);
        else
            assert_string_equal(error.sentence, cases[i].sentence);
        assert_int_equal(status, cases[i].loss ? PARLEY_OK : PARLEY_BAD_INPUT);
        pl_glm_close(&glm);
        parley_data_free(data);
    }
    pl_engine_close(engine);
}

static void weights_that_add_up_to_nothing_are_refused(void **state) {
    (void)state;
    parley_data *data = data_of("1 1:1\n-1 1:2\n");
    parley_settings settings = settings_of("");
    parley_error error = {0};
    pl_engine *engine;
    pl_team team;
    pl_glm glm;
    const double none[] = {0.0, 0.0};
    set_weights(data, none);
    assert_int_equal(pl_threads_open(&engine, 1, 1, 1.0, NULL), PARLEY_OK);
    assert_done(pl_glm_open(&glm, engine, data, &settings, &error), &error);
    assert_done(pl_team_open(&team, engine, data, 1, 1, 1, &error), &error);
    assert_int_equal(pl_glm_measure(&glm, &team, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, "sample: all weights are 0; at least one row needs a positive weight");
    pl_team_close(&team);
    pl_glm_close(&glm);
    pl_engine_close(engine);
    parley_data_free(data);
}

static void penalties_are_as_defined(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(1, 0, 0);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        const pl_glm *glm = &problem.glm;
        double w[COLUMNS + 1], largest = 0, sum = 0;
        random_vector(&stream, w, glm->base.size);
        for (uint64_t j = 0; j < glm->base.size; j++)
            if (j < COLUMNS || glm->intercept == PL_PENALISED) {
                sum += glm->base.l1 * fabs(w[j]) + 0.5 * glm->base.l2 * w[j] * w[j];
                largest = fmax(largest, fabs(w[j]));
            }
        assert_close(pl_penalty(glm, w, 0, glm->base.size), sum, 1e-14);
        assert_close(pl_penalty(glm, w, 0, 4) + pl_penalty(glm, w, 4, glm->base.size), sum, 1e-14);
        assert_true(pl_largest(glm, w, 1.0, 0, glm->base.size) == largest);
        close_problem(&problem);
    }
}

/* r*(s u) = sup_w s u.w - r(w), entry by entry: the supremum is at soft(s u, l1) / l2. */
static void the_penaltys_conjugate_is_a_supremum(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(2, 0, 0);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        const pl_glm *glm = &problem.glm;
        double u[COLUMNS + 1], w[COLUMNS + 1];
        random_vector(&stream, u, glm->base.size);
        for (double scale = 0.25; scale <= 1.0; scale *= 2.0) {
            double conjugate = pl_penalty_conjugate(glm, u, scale, 0, glm->base.size), best = 0;
            for (uint64_t j = 0; j < glm->base.size; j++) {
                w[j] = pl_penalised(glm, j) ? pl_soft(scale * u[j], glm->base.l1) / glm->base.l2 : 0.0;
                best += scale * u[j] * w[j];
            }
            assert_close(conjugate, best - pl_penalty(glm, w, 0, glm->base.size), 1e-13);
            for (unsigned i = 0; i < DRAWS; i++) {
                double product = 0;
                for (uint64_t j = 0; j < glm->base.size; j++) {
                    w[j] = pl_penalised(glm, j) ? 3.0 * pl_random_normal(&stream) : 0.0;
                    product += scale * u[j] * w[j];
                }
                assert_at_most(product - pl_penalty(glm, w, 0, glm->base.size), conjugate + 1e-12);
            }
        }
        close_problem(&problem);
    }
}

static void without_l2_the_conjugate_is_zero_or_infinite(void **state) {
    (void)state;
    team_problem problem = open_problem("loss=logistic lambda=0.5 l1_ratio=1 intercept=free");
    double u[COLUMNS + 1] = {0.5, -0.5, 0.2};
    u[COLUMNS] = 100.0; /* a free intercept has no penalty */
    assert_true(pl_penalty_conjugate(&problem.glm, u, 1.0, 0, COLUMNS + 1) == 0.0);
    assert_true(isinf(pl_penalty_conjugate(&problem.glm, u, 1.001, 0, COLUMNS + 1)));
    close_problem(&problem);
}

static void margins_are_products(void **state) {
    (void)state;
    team_problem problem = open_problem(forms[0]);
    pl_stream stream = pl_stream_make(3, 0, 0);
    double w[COLUMNS + 1], z[ROWS];
    random_vector(&stream, w, COLUMNS + 1);
    pl_margins(&problem.glm, &problem.team, w, z);
    for (uint64_t i = 0; i < ROWS; i++)
        assert_close(z[i], margin(&problem, i, w), 1e-14);
    close_problem(&problem);
}

static double loss_at(const team_problem *problem, const double *z, double b) {
    double sum = 0;
    for (uint64_t i = 0; i < ROWS; i++)
        sum += plain_share(problem, i) * loss_value(problem, i, z[i] + b);
    return sum;
}

static void centring_finds_the_best_intercept(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(4, 0, 0);
    const double starts[] = {0.0, 5.0, -300.0, 1e4};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        for (unsigned s = 0; s < COUNT(starts); s++) {
            double z[ROWS], b = starts[s];
            parley_error error = {0};
            for (uint64_t i = 0; i < ROWS; i++)
                z[i] = 3.0 * pl_random_normal(&stream) + 2.0;
            assert_done(pl_centre(&problem.glm, &problem.team, z, 1e-14, &b, &error), &error);
            double least = loss_at(&problem, z, b);
            for (double step = 1e-4; step < 100.0; step *= 10.0) {
                assert_at_most(least, loss_at(&problem, z, b + step) + 1e-12);
                assert_at_most(least, loss_at(&problem, z, b - step) + 1e-12);
            }
        }
        close_problem(&problem);
    }
}

static void the_null_objective_is_the_best_constant(void **state) {
    (void)state;
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        double objective, b, zero[ROWS] = {0};
        parley_error error = {0};
        assert_done(pl_null_objective(&problem.glm, &problem.team, &objective, &b, &error), &error);
        assert_close(objective, loss_at(&problem, zero, b), 1e-12);
        if (problem.glm.intercept != PL_FREE)
            assert_true(b == 0.0);
        for (double other = -3.0; other <= 3.0 && problem.glm.intercept == PL_FREE; other += 0.05)
            assert_at_most(objective, loss_at(&problem, zero, other) + 1e-12);
        close_problem(&problem);
    }
}

/* Minus a slope is feasible, and so is everything between that and 0. */
static double random_dual(const team_problem *problem, uint64_t i, pl_stream *stream) {
    const pl_loss *loss = problem->glm.loss;
    double slope, curvature;
    loss->expand(loss, 2.0 * pl_random_normal(stream), pl_target(&problem->glm, i), &slope, &curvature);
    return -slope * pl_random_unit(stream);
}

/* D at t, by the definition. */
static double plain_dual(const team_problem *problem, const double *t) {
    const pl_matrix *x = &problem->data->x;
    double u[COLUMNS + 1] = {0}, conjugate = 0;
    for (uint64_t i = 0; i < ROWS; i++) {
        double q = plain_share(problem, i);
        conjugate += q * problem->glm.loss->conjugate(problem->glm.loss, t[i], pl_target(&problem->glm, i));
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            u[x->index[e]] += q * t[i] * (double)x->values.narrow[e];
        u[COLUMNS] += q * t[i];
    }
    return -conjugate - pl_penalty_conjugate(&problem->glm, u, 1.0, 0, problem->glm.base.size);
}

/* Shrinks the heavier side of t as an evaluation does. */
static void repair(const pl_linear_evaluation *at, const double *t, double *repaired) {
    for (uint64_t i = 0; i < ROWS; i++)
        repaired[i] = t[i] * ((t[i] > 0) == (at->heavy == 1) ? 1.0 - at->tilt : 1.0);
}

static void repaired_dual_points_are_feasible_and_bound_the_objective(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(5, 0, 0);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        for (unsigned n = 0; n < DRAWS; n++) {
            double t[ROWS], fixed[ROWS], z[ROWS], w[COLUMNS + 1], sum = 0;
            pl_linear_evaluation at;
            parley_error error = {0};
            random_vector(&stream, w, COLUMNS + 1);
            for (uint64_t i = 0; i < ROWS; i++)
                t[i] = random_dual(&problem, i, &stream);
            pl_margins(&problem.glm, &problem.team, w, z);
            assert_done(pl_evaluate_rows(&problem.glm, &problem.team, z, w[COLUMNS], t, &at, &error), &error);
            assert_close(at.value, loss_at(&problem, z, w[COLUMNS]), 1e-12);
            assert_true(at.tilt >= 0.0 && at.tilt <= 1.0);
            repair(&at, t, fixed);
            double conjugate = 0;
            for (uint64_t i = 0; i < ROWS; i++) {
                sum += plain_share(&problem, i) * fixed[i];
                conjugate += plain_share(&problem, i) *
                             problem.glm.loss->conjugate(problem.glm.loss, fixed[i], pl_target(&problem.glm, i));
            }
            assert_close(at.conjugate, conjugate, 1e-12);
            if (problem.glm.intercept == PL_FREE)
                assert_close(sum, 0.0, 1e-14);
            else
                assert_true(at.tilt == 0.0);
            if (problem.glm.intercept == PL_NO_INTERCEPT)
                w[COLUMNS] = 0.0;
            assert_at_most(plain_dual(&problem, fixed), plain_objective(&problem, w));
        }
        close_problem(&problem);
    }
}

/* Bounds on the heavier side's u that do not need u. */
static void pull_and_reach_bound_what_the_repair_takes_away(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(6, 0, 0);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        double t[ROWS], z[ROWS], w[COLUMNS + 1], u[COLUMNS] = {0}, product = 0, norm2 = 0;
        const pl_matrix *x = &problem.data->x;
        pl_linear_evaluation at;
        parley_error error = {0};
        random_vector(&stream, w, COLUMNS + 1);
        for (uint64_t i = 0; i < ROWS; i++)
            t[i] = random_dual(&problem, i, &stream);
        pl_margins(&problem.glm, &problem.team, w, z);
        assert_done(pl_evaluate_rows(&problem.glm, &problem.team, z, 0.0, t, &at, &error), &error);
        for (uint64_t i = 0; i < ROWS && problem.glm.intercept == PL_FREE; i++)
            for (uint64_t e = x->start[i]; e < x->start[i + 1] && (t[i] > 0) == (at.heavy == 1); e++)
                u[x->index[e]] += plain_share(&problem, i) * t[i] * (double)x->values.narrow[e];
        for (uint64_t j = 0; j < COLUMNS; j++) {
            product += u[j] * w[j];
            norm2 += u[j] * u[j];
        }
        if (problem.glm.intercept == PL_FREE) {
            assert_close(at.pull, product, 1e-12);
            assert_at_most(sqrt(norm2), at.reach * (1.0 + 1e-6));
        }
        close_problem(&problem);
    }
}

static void scaled_conjugates_are_those_of_the_scaled_point(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(7, 0, 0);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        double z[ROWS], expected = 0;
        pl_linear_evaluation at = {.b = 0.3, .heavy = 1, .tilt = 0.25};
        parley_error error = {0};
        random_vector(&stream, z, ROWS);
        assert_done(pl_conjugate_rows(&problem.glm, &problem.team, z, NULL, &(pl_softening){0}, 0.5, &at, &error),
                    &error);
        for (uint64_t i = 0; i < ROWS; i++) {
            double slope, curvature, y = pl_target(&problem.glm, i);
            problem.glm.loss->expand(problem.glm.loss, z[i] + 0.3, y, &slope, &curvature);
            expected += plain_share(&problem, i) *
                        problem.glm.loss->conjugate(problem.glm.loss, -slope * 0.5 * (slope < 0 ? 0.75 : 1.0), y);
        }
        assert_close(at.conjugate, expected, 1e-12);
        close_problem(&problem);
    }
}

/* Sums over rows and workers on R ranks. */
typedef struct ranked {
    const parley_data *data;
    double objective[4], b[4];
} ranked;

static parley_status null_body(pl_engine *engine, void *context, parley_error *error) {
    ranked *ranked = context;
    pl_glm glm;
    pl_team team;
    parley_settings *settings = malloc(sizeof *settings);
    pl_settings_defaults(settings);
    pl_linear_settings_in(settings)->loss = "squared";
    parley_status status = pl_glm_open(&glm, engine, ranked->data, settings, error);
    free(settings);
    if (status == PARLEY_OK)
        status = pl_team_open(&team, engine, ranked->data, 7, 1, 1, error);
    if (status == PARLEY_OK)
        status = pl_glm_measure(&glm, &team, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_null_objective(&glm, &team, &ranked->objective[engine->rank], &ranked->b[engine->rank], error);
    pl_team_close(&team);
    pl_glm_close(&glm);
    return status;
}

static void sums_over_rows_have_the_same_bits_on_any_ranks(void **state) {
    (void)state;
    ranked one, many;
    parley_status status[4];
    parley_error error[4];
    one.data = many.data =
        random_data((sample_plan){.seed = 2, .rows = 300, .columns = 9, .density = 0.5, .real = true});
    run_ranks(1, 1, 30.0, null_body, &one, status, error);
    assert_done(status[0], &error[0]);
    for (unsigned ranks = 2; ranks <= 4; ranks++) {
        run_ranks(ranks, 2, 30.0, null_body, &many, status, error);
        for (unsigned r = 0; r < ranks; r++) {
            assert_done(status[r], &error[r]);
            assert_true(many.objective[r] == one.objective[0] && many.b[r] == one.b[0]);
        }
    }
    parley_data_free((parley_data *)one.data);
}

static void numbers_that_cannot_be_divided_or_squared_are_refused(void **state) {
    (void)state;
    const struct {
        const char *text, *words;
        double weight[2];
        const char *sentence;
    } cases[] = {
        {"1 1:1\n-1 2:1\n", "", {1e-320, 0}, "sample: the sum of weights is 9.99989e-321, which is out of range; "},
        {"1 1:1\n-1 2:1\n", "", {1e308, 1e308}, "sample: the sum of weights is inf, which is out of range; "},
        {"1 1:1e38\n-1 2:1e38\n", "", {1e300, 1e300}, "sample: values are too large to square; scale them down"},
        {"1 1:1\n-1 2:1\n", "", {1, 0}, "sample: all rows of positive weight have label 1; there is nothing to learn"},
        {"1 1:1\n-1 2:1\n", "", {0, 1}, "sample: all rows of positive weight have label -1; there is nothing to learn"},
        {"0 1:1\n3 2:1\n",
         "loss=poisson",
         {1, 0},
         "sample: all rows of positive weight have label 0; there is nothing"},
        {"1e200 1:1\n1 2:1\n", "loss=squared", {1, 1}, "sample: labels are too large to square; scale them down"},
        {"1 1:1\n-1 2:1\n",
         "lambda=1e-310",
         {1, 1},
         "--lambda 1e-310 is too small to divide by; give 0 or a value above"},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        char words[96];
        parley_model *model;
        parley_error error = {0};
        parley_data *data = data_of(cases[i].text);
        set_weights(data, cases[i].weight);
        snprintf(words, sizeof words, "workers=1 threads=1 preset=newton %s", cases[i].words);
        parley_settings settings = settings_of(words);
        assert_int_not_equal(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), PARLEY_OK);
        assert_null(model);
        if (!strstr(error.sentence, cases[i].sentence))
            fail_msg("`%s` is not in: %s", cases[i].sentence, error.sentence);
        parley_data_free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_up_measures_the_data),
        cmocka_unit_test(the_loss_follows_from_the_labels),
        cmocka_unit_test(weights_that_add_up_to_nothing_are_refused),
        cmocka_unit_test(penalties_are_as_defined),
        cmocka_unit_test(the_penaltys_conjugate_is_a_supremum),
        cmocka_unit_test(without_l2_the_conjugate_is_zero_or_infinite),
        cmocka_unit_test(margins_are_products),
        cmocka_unit_test(centring_finds_the_best_intercept),
        cmocka_unit_test(the_null_objective_is_the_best_constant),
        cmocka_unit_test(repaired_dual_points_are_feasible_and_bound_the_objective),
        cmocka_unit_test(pull_and_reach_bound_what_the_repair_takes_away),
        cmocka_unit_test(scaled_conjugates_are_those_of_the_scaled_point),
        cmocka_unit_test(sums_over_rows_have_the_same_bits_on_any_ranks),
        cmocka_unit_test(numbers_that_cannot_be_divided_or_squared_are_refused),
    };
    return cmocka_run_group_tests_name("glm", tests, NULL, NULL);
}
