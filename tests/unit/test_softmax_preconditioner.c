/* test_softmax_preconditioner.c: the preconditioner of long rows against the matrix whose inverse it is, and runs that
 * use it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "linear/newton/softmax_preconditioner.h"
#include "linear/rows/classes_curvature.h"
#include "math/cholesky.h"
#include "support.h"

#define ROWS 120
#define FEATURES 9
#define CLASSES CLASS_LABELS
#define SIZE (FEATURES * CLASSES)

static const sample_plan plan = {.seed = 9, .rows = ROWS, .columns = FEATURES, .density = 0.4};

/* Adds the curvature of row i to the matrix. */
static void add_row(const pl_glm *glm, uint64_t i, const double *bend, double *matrix) {
    const pl_matrix *x = &glm->base.data->x;
    for (unsigned c = 0; c < CLASSES; c++) {
        double u[CLASSES] = {0};
        u[c] = 1.0;
        pl_classes_multiply(glm, bend, pl_share(glm, i), u);
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            for (uint64_t f = x->start[i]; f < x->start[i + 1]; f++)
                for (unsigned k = 0; k < CLASSES; k++)
                    matrix[(x->index[e] * CLASSES + c) * SIZE + x->index[f] * CLASSES + k] +=
                        (x->values.narrow ? (double)x->values.narrow[e] * x->values.narrow[f] : 1.0) * u[k];
    }
}

/* Bends of which a few rows have any, all of it in directions that the preconditioner takes whole. */
static void bend_few_rows(pl_stream *stream, double *bend) {
    memset(bend, 0, ROWS * CLASSES * sizeof *bend);
    for (uint64_t i = 0; i < ROWS; i += 30) {
        double p = 0.2 + 0.6 * pl_random_unit(stream);
        bend[i * CLASSES] = p;
        bend[i * CLASSES + 2] = 1.0 - p;
    }
}

static void few_long_rows_are_inverted_exactly(void **state) {
    (void)state;
    static double bend[ROWS * CLASSES], matrix[SIZE * SIZE], diagonal[SIZE], y[SIZE], v[SIZE], out[SIZE], exact[SIZE];
    pl_stream stream = pl_stream_make(3, 0, 0);
    parley_settings settings = settings_of("loss=softmax lambda=1e-4 intercept=none");
    team_problem problem = open_problem_on(class_data(plan, true), &settings);
    const pl_glm *glm = &problem.glm;
    pl_softmax_preconditioner *rows = NULL;
    parley_error error;
    assert_int_equal(glm->base.size, SIZE);
    assert_done(pl_softmax_preconditioner_open(glm, &rows, &error), &error);
    bend_few_rows(&stream, bend);
    memset(matrix, 0, sizeof matrix);
    for (uint64_t i = 0; i < ROWS; i++)
        add_row(glm, i, bend + i * CLASSES, matrix);
    for (unsigned j = 0; j < SIZE; j++) {
        diagonal[j] = matrix[j * SIZE + j];
        matrix[j * SIZE + j] += glm->base.l2;
        y[j] = pl_random_normal(&stream);
        v[j] = pl_random_normal(&stream);
        exact[j] = y[j] + glm->base.l2 * v[j];
    }
    pl_softmax_preconditioner_factor(rows, bend, diagonal);
    pl_softmax_preconditioner_apply(rows, &problem.team, y, v, out);
    assert_true(pl_cholesky(matrix, SIZE));
    pl_cholesky_solve(matrix, SIZE, exact);
    for (unsigned j = 0; j < SIZE; j++)
        assert_close(out[j], exact[j], 1e-8);
    pl_softmax_preconditioner_close(rows);
    close_problem(&problem);
}

/* One row in four is longer than the others, by up to a thousand times. Two workers have no such preconditioner. */
static void runs_with_and_without_it_agree_on_the_optimum(void **state) {
    (void)state;
    const sample_plan wide = {.seed = 4, .rows = 300, .columns = 900, .density = 0.02};
    const char *const problems[] = {"loss=softmax lambda=3e-4 intercept=none", "loss=softmax lambda=3e-4",
                                    "loss=softmax lambda=3e-4 intercept=penalised"};
    parley_data *data = class_data(wide, true);
    float *value = (float *)(uintptr_t)data->x.values.narrow;
    for (uint64_t i = 0; i < data->x.rows; i += 4)
        for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++)
            value[e] *= powf(10.0f, (float)(i % 64) / 20.0f);
    for (unsigned p = 0; p < COUNT(problems); p++) {
        double objective[2];
        for (unsigned workers = 1; workers <= 2; workers++) {
            char words[256];
            snprintf(words, sizeof words, "%s preset=newton combine=truncated gap=1e-8 workers=%u", problems[p],
                     workers);
            outcome outcome = train_once(data, words);
            assert_int_equal(outcome.summary[0].stop, PARLEY_CONVERGED);
            objective[workers - 1] = outcome.summary[0].objective;
            free_models(&outcome);
        }
        assert_close(objective[0], objective[1], 3e-8);
    }
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_long_rows_are_inverted_exactly),
        cmocka_unit_test(runs_with_and_without_it_agree_on_the_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
