/* test_row_descent.c: descent by rows against plain steps that touch every entry, and its failures. Python's tests
 * compare it with scikit-learn. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/stop.h"
#include "support.h"

#define ROWS 30
#define COLUMNS 5

typedef struct table {
    double dense[ROWS * COLUMNS], value[ROWS * COLUMNS], target[ROWS];
    float narrow[ROWS * COLUMNS];
    int64_t start[ROWS + 1];
    int32_t index[ROWS * COLUMNS];
} table;

static void fill(table *table) {
    pl_stream stream = pl_stream_make(7, 0, 0);
    int64_t entries = 0;
    memset(table, 0, sizeof *table);
    for (unsigned i = 0; i < ROWS; i++) {
        double sum = 0.0;
        for (unsigned j = 0; j < COLUMNS; j++) {
            if (pl_random_unit(&stream) < 0.4)
                continue;
            float x = (float)pl_random_normal(&stream);
            table->narrow[entries] = x;
            table->dense[i * COLUMNS + j] = table->value[entries] = x;
            table->index[entries++] = (int32_t)j;
            sum += x;
        }
        table->start[i + 1] = entries;
        table->target[i] = sum > 0 ? 1.0 : -1.0;
    }
}

static parley_descent descent_of(const table *table, double *coef) {
    return (parley_descent){.rows = ROWS,
                            .columns = COLUMNS,
                            .value = table->dense,
                            .type = PARLEY_FLOAT64,
                            .target = table->target,
                            .loss = "squared",
                            .rate = "constant",
                            .penalty = 0.1,
                            .l1_ratio = 0.0,
                            .alpha = 0.1,
                            .eta0 = 0.05,
                            .power = 0.5,
                            .positive = 2.0,
                            .negative = 1.0,
                            .bias_rate = 1.0,
                            .tolerance = -INFINITY,
                            .patience = 5,
                            .most_passes = 3,
                            .intercept = 1,
                            .coef = coef,
                            .steps = 1.0};
}

/* The same with squared loss and a constant rate, on every entry; the mean of all models in `mean`. */
static double plain(const table *table, double *w, double *mean, double *mean_bias) {
    double bias = 0.0, count = 0.0;
    memset(w, 0, COLUMNS * sizeof *w);
    memset(mean, 0, COLUMNS * sizeof *mean);
    *mean_bias = 0.0;
    for (unsigned k = 0; k < 3 * ROWS; k++) {
        const double *x = table->dense + (k % ROWS) * COLUMNS;
        double z = bias, y = table->target[k % ROWS];
        for (unsigned j = 0; j < COLUMNS; j++)
            z += w[j] * x[j];
        double step = -0.05 * (z - y) * (y > 0 ? 2.0 : 1.0);
        count++;
        bias += step;
        *mean_bias += (bias - *mean_bias) / count;
        for (unsigned j = 0; j < COLUMNS; j++) {
            w[j] = w[j] * (1.0 - 0.05 * 0.1) + step * x[j];
            mean[j] += (w[j] - mean[j]) / count;
        }
    }
    return bias;
}

static void steps_and_means_are_those_of_plain_descent(void **state) {
    (void)state;
    table table;
    parley_error error;
    double w[COLUMNS], mean[COLUMNS], mean_bias;
    fill(&table);
    double bias = plain(&table, w, mean, &mean_bias);
    for (unsigned form = 0; form < 3; form++) {
        double coef[COLUMNS] = {0}, average[COLUMNS] = {0};
        parley_descent descent = descent_of(&table, coef);
        descent.mean = average;
        descent.average = 1;
        if (form > 0) {
            descent.start = table.start;
            descent.index = table.index;
            descent.value = form == 1 ? (void *)table.value : (void *)table.narrow;
            descent.type = form == 1 ? PARLEY_FLOAT64 : PARLEY_FLOAT32;
        }
        assert_done(parley_descend(&descent, NULL, NULL, &error), &error);
        assert_int_equal(descent.passes, 3);
        assert_close(descent.steps, 1.0 + 3 * ROWS, 0);
        assert_close(descent.bias, bias, 1e-13);
        assert_close(descent.mean_bias, mean_bias, 1e-13);
        for (unsigned j = 0; j < COLUMNS; j++) {
            assert_close(coef[j], w[j], 1e-13);
            assert_close(average[j], mean[j], 1e-13);
        }
    }
}

static void a_steep_decay_does_not_divide_by_0(void **state) {
    (void)state;
    table table;
    parley_error error;
    fill(&table);
    static const double penalties[] = {19.9999, 20.0, 40.0}; /* the scale is 5e-6, 0 and 0 after a step */
    for (unsigned i = 0; i < COUNT(penalties); i++) {
        double coef[COLUMNS] = {0}, mean[COLUMNS] = {0};
        parley_descent descent = descent_of(&table, coef);
        descent.penalty = penalties[i];
        descent.mean = mean;
        descent.average = 1;
        assert_done(parley_descend(&descent, NULL, NULL, &error), &error);
        for (unsigned j = 0; j < COLUMNS; j++)
            assert_true(isfinite(coef[j]) && isfinite(mean[j]));
    }
}

static void an_l1_penalty_leaves_zeros_and_a_score_ends_the_descent(void **state) {
    (void)state;
    table table;
    parley_error error;
    double coef[COLUMNS] = {0};
    unsigned char held[ROWS] = {0};
    fill(&table);
    parley_descent descent = descent_of(&table, coef);
    descent.l1_ratio = 1.0;
    descent.penalty = 3.0;
    descent.rate = "invscaling";
    assert_done(parley_descend(&descent, NULL, NULL, &error), &error);
    for (unsigned j = 0; j < COLUMNS; j++)
        assert_true(coef[j] == 0.0);
    memset(held, 1, ROWS / 2);
    descent = descent_of(&table, coef);
    descent.held_out = held;
    descent.loss = "hinge";
    descent.rate = "adaptive";
    descent.classes = descent.shuffle = 1;
    descent.tolerance = 1e-3;
    descent.most_passes = 1000;
    assert_done(parley_descend(&descent, NULL, NULL, &error), &error);
    assert_true(descent.converged && descent.passes < 1000);
}

static int stop_at_two(void *user, const parley_progress *progress, const char *message) {
    (void)user, (void)message;
    return progress->round >= 2;
}

static int interrupt(void *user, const parley_progress *progress, const char *message) {
    (void)user, (void)progress, (void)message;
    parley_interrupt();
    return 0;
}

static void it_can_be_stopped(void **state) {
    (void)state;
    table table;
    parley_error error;
    double coef[COLUMNS] = {0};
    fill(&table);
    parley_descent descent = descent_of(&table, coef);
    assert_done(parley_descend(&descent, stop_at_two, NULL, &error), &error);
    assert_int_equal(descent.passes, 2);
    descent = descent_of(&table, coef);
    assert_int_equal(parley_descend(&descent, interrupt, NULL, &error), PARLEY_STOPPED);
    assert_int_equal(descent.passes, 2);
}

static void what_is_wrong_is_told(void **state) {
    (void)state;
    table table;
    parley_error error;
    double coef[COLUMNS] = {0}, mean[COLUMNS] = {0};
    fill(&table);
    struct {
        const char *words;
        parley_descent descent;
    } cases[6];
    for (unsigned i = 0; i < COUNT(cases); i++)
        cases[i].descent = descent_of(&table, coef);
    cases[0].descent.loss = "softmax", cases[0].words = "no loss softmax";
    cases[1].descent.rate = "magic", cases[1].words = "no learning rate magic";
    cases[2].descent.type = PARLEY_INT32, cases[2].words = "float32 or float64";
    cases[3].descent.mean = mean, cases[3].words = "an array for the mean";
    cases[4].descent.start = table.start, cases[4].descent.index = table.index, cases[4].descent.columns = 2;
    cases[4].words = "is not below 2";
    cases[5].descent.eta0 = 1e308, cases[5].words = "overflow occurred at epoch #1";
    for (unsigned i = 0; i < COUNT(cases); i++) {
        assert_int_not_equal(parley_descend(&cases[i].descent, NULL, NULL, &error), PARLEY_OK);
        assert_non_null(strstr(error.sentence, cases[i].words));
    }
    for (int64_t n = 0; n < 3; n++) {
        parley_descent descent = descent_of(&table, coef);
        descent.l1_ratio = 0.5;
        descent.type = PARLEY_FLOAT32;
        descent.value = table.narrow;
        pl_memory_fail_after(n);
        assert_int_equal(parley_descend(&descent, NULL, NULL, &error), PARLEY_NO_MEMORY);
        pl_memory_fail_after(-1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_means_are_those_of_plain_descent),
        cmocka_unit_test(a_steep_decay_does_not_divide_by_0),
        cmocka_unit_test(an_l1_penalty_leaves_zeros_and_a_score_ends_the_descent),
        cmocka_unit_test(it_can_be_stopped),
        cmocka_unit_test(what_is_wrong_is_told),
    };
    return cmocka_run_group_tests_name("row_descent", tests, NULL, NULL);
}
