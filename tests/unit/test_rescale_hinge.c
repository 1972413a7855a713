/* Tests of rescale_hinge.c: models of the hinge loss are moved to better multiples of themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support.h"

#define ROWS 200
#define COLUMNS 2
#define GAP 0.3 /* margins of the direction (1, 2) are at least this */

/* Rows that the direction (1, 2) separates. */
static parley_data *separable(void) {
    char *text = malloc((size_t)ROWS * 80), *p = text;
    pl_stream stream = pl_stream_make(5, 0, 0);
    assert_non_null(text);
    for (unsigned i = 0; i < ROWS; i++) {
        double x, y;
        do {
            x = pl_random_normal(&stream);
            y = pl_random_normal(&stream);
        } while (fabs(x + 2 * y) < GAP);
        p += sprintf(p, "%d 1:%.6f 2:%.6f\n", x + 2 * y > 0 ? 1 : -1, x, y);
    }
    parley_data *data = data_of(text);
    free(text);
    return data;
}

static team_problem open_separable(const char *words) {
    parley_settings settings = settings_of(words);
    return open_problem_on(separable(), &settings);
}

/* P at c (w, b) + (0, d), computed plainly. */
static double plain(const team_problem *problem, const double *w, double c, double d) {
    const pl_glm *glm = &problem->glm;
    double z[ROWS], moved[COLUMNS + 1], sum = 0, slope, curvature;
    for (unsigned j = 0; j <= COLUMNS; j++)
        moved[j] = c * w[j] + (j == COLUMNS ? d : 0.0);
    pl_margins(glm, &problem->team, moved, z);
    for (unsigned i = 0; i < ROWS; i++)
        sum += pl_share(glm, i) * glm->loss->expand(glm->loss,
                                                    z[i] + (glm->intercept == PL_NO_INTERCEPT ? 0.0 : moved[COLUMNS]),
                                                    pl_target(glm, i), &slope, &curvature);
    return sum + pl_penalty(glm, moved, 0, glm->base.size);
}

/* Looks for a better multiple of a model whose smallest margins are below 1. Returns the objective. */
static double improve(team_problem *problem, double *w) {
    double z[ROWS];
    parley_error error = {0};
    pl_linear_evaluation at = {.b = problem->glm.intercept == PL_NO_INTERCEPT ? 0.0 : w[COLUMNS]};
    pl_margins(&problem->glm, &problem->team, w, z);
    at.value = plain(problem, w, 1.0, 0.0) - pl_penalty(&problem->glm, w, 0, problem->glm.base.size);
    assert_done(pl_rescale_hinge(&problem->glm, &problem->team, z, w, &at, &error), &error);
    return at.value + pl_penalty(&problem->glm, w, 0, problem->glm.base.size);
}

static void a_multiple_cures_small_violations(void **state) {
    (void)state;
    const char *forms[] = {"loss=hinge lambda=1e-6 intercept=none", "loss=hinge lambda=1e-6 intercept=free",
                           "loss=hinge lambda=1e-6 intercept=penalised"};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_separable(forms[f]);
        double w[COLUMNS + 1] = {0.8 / GAP, 1.6 / GAP, 0.0}, old[COLUMNS + 1], least = INFINITY;
        bool free = problem.glm.intercept == PL_FREE;
        memcpy(old, w, sizeof w);
        double before = plain(&problem, w, 1.0, 0.0), after = improve(&problem, w);
        assert_at_most(after, 0.1 * before);
        assert_close(after, plain(&problem, w, 1.0, 0.0), 1e-12);
        assert_close(w[1] / w[0], 2.0, 1e-12);
        for (double c = 1.0; c < 4.0; c += 0.01)
            for (double d = free ? -0.2 : 0.0; d <= (free ? 0.2 : 0.0); d += 0.01)
                least = fmin(least, plain(&problem, old, c, d));
        assert_at_most(after, 1.05 * least);
        close_problem(&problem);
    }
}

static void models_that_gain_nothing_stay(void **state) {
    (void)state;
    const char *forms[] = {"loss=logistic lambda=1e-6", "loss=squared-hinge lambda=1e-6",
                           "loss=hinge lambda=1e-6 l1_ratio=0.5", "loss=hinge lambda=10"};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_separable(forms[f]);
        double w[COLUMNS + 1] = {0.8 / GAP, 1.6 / GAP, 0.1}, old[COLUMNS + 1];
        memcpy(old, w, sizeof w);
        assert_close(improve(&problem, w), plain(&problem, old, 1.0, 0.0), 1e-12);
        assert_memory_equal(w, old, sizeof w);
        close_problem(&problem);
    }
}

static void certificates_hold_for_multiples(void **state) {
    (void)state;
    parley_settings settings =
        settings_of("loss=hinge lambda=1e-3 preset=cocoa+ workers=1 gap=1e-5 rounds=2000 seed=1");
    parley_data *data = separable();
    parley_summary summary;
    parley_model *model = NULL;
    parley_error error = {0};
    assert_done(parley_train(data, &settings, NULL, NULL, &model, &summary, &error), &error);
    assert_int_equal(summary.stop, PARLEY_CONVERGED);
    assert_at_most(summary.objective - summary.dual, 1e-5);
    parley_model_free(model);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_multiple_cures_small_violations),
        cmocka_unit_test(models_that_gain_nothing_stay),
        cmocka_unit_test(certificates_hold_for_multiples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
