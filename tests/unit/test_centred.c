/* test_centred.c: columns far from 0 are shifted, and the model applies to the original columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support.h"

#define ROWS 400

/* Column 1 is near 1000, column 2 near -300 but 0 in one row of 25, column 3 is sparse. */
static parley_data *far_data(double first, double second) {
    char *text = malloc(ROWS * 96), *p = text;
    for (unsigned i = 0; i < ROWS; i++) {
        pl_stream stream = pl_stream_make(7, i, 1);
        double a = pl_random_unit(&stream) - 0.5, b = pl_random_unit(&stream) - 0.5, c = pl_random_unit(&stream);
        bool zero = i % 25 == 3;
        p += sprintf(p, "%d 1:%.6f", a + (zero ? 0 : b) + 0.3 * c > 0.15 ? 1 : -1, first + 4 * a);
        if (!zero)
            p += sprintf(p, " 2:%.6f", second + 8 * b);
        p += sprintf(p, i % 3 ? "\n" : " %u:%.6f\n", 3 + i % 5, c);
    }
    parley_data *data = data_of(text);
    free(text);
    return data;
}

static void far_columns_are_shifted_and_filled(void **state) {
    (void)state;
    parley_data *data = far_data(1000, -300), out = *data;
    pl_engine *engine;
    pl_centred centred = {0};
    parley_error error;
    assert_done(pl_threads_open(&engine, 1, 1, DEADLINE, &error), &error);
    assert_done(pl_centred_open(&centred, engine, data, true, &out, &error), &error);
    assert_true(fabs(centred.shift[0] - 1000) < 1 && fabs(centred.shift[1] + 300) < 30);
    for (unsigned j = 2; j < data->x.columns; j++)
        assert_true(centred.shift[j] == 0);
    assert_int_equal(out.x.nonzeros, data->x.nonzeros + ROWS / 25);
    for (uint64_t i = 0; i < ROWS; i++) {
        double dense[8] = {0};
        for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++)
            dense[data->x.index[e]] = pl_value_at(data->x.values, e);
        for (uint64_t e = out.x.start[i]; e < out.x.start[i + 1]; e++) {
            assert_true(e == out.x.start[i] || out.x.index[e] > out.x.index[e - 1]);
            double rest = dense[out.x.index[e]] - centred.shift[out.x.index[e]];
            assert_true(pl_value_at(out.x.values, e) == (out.x.values.wide ? rest : (double)(float)rest));
            dense[out.x.index[e]] = centred.shift[out.x.index[e]]; /* seen */
        }
        for (unsigned j = 0; j < data->x.columns; j++)
            assert_true(dense[j] == centred.shift[j]);
    }
    pl_centred_close(&centred);
    assert_done(pl_centred_open(&centred, engine, data, false, &out, &error), &error);
    assert_null(centred.shift); /* no free intercept can absorb a shift */
    pl_centred_close(&centred);
    pl_engine_close(engine);
    parley_data_free(data);
}

static void the_model_is_that_of_the_original_columns(void **state) {
    (void)state;
    const char *const words[] = {"loss=logistic lambda=0.01 gap=1e-10",
                                 "loss=squared lambda=0.01 l1_ratio=0.5 gap=1e-10",
                                 "loss=logistic preset=lbfgs lambda=0.001 gap=1e-9"};
    parley_data *far = far_data(1000, -300);
    for (unsigned i = 0; i < COUNT(words); i++) {
        outcome run = train_once(far, words[i]);
        const pl_loss *loss = pl_loss_find(i == 1 ? "squared" : "logistic");
        double objective = objective_of(far, run.model[0], loss, &run.summary[0]);
        assert_close(objective, run.summary[0].objective, 1e-6);
        assert_at_most(run.summary[0].relative_gap, 1e-8);
        free_models(&run);
    }
    parley_data_free(far);
}

static void ranks_shift_alike(void **state) {
    (void)state;
    parley_data *far = far_data(1000, -300);
    parley_settings settings = settings_of("loss=logistic workers=3 lambda=0.01");
    outcome one = {.data = far, .settings = &settings}, three = one;
    train(&one, 1, 1);
    train(&three, 3, 1);
    assert_done(one.status[0], &one.error[0]);
    assert_done(three.status[0], &three.error[0]);
    const pl_linear_model *a = pl_linear(one.model[0]), *b = pl_linear(three.model[0]);
    assert_memory_equal(a->coef, b->coef, far->x.columns * sizeof *a->coef);
    assert_memory_equal(a->intercept, b->intercept, sizeof *a->intercept);
    free_models(&one);
    free_models(&three);
    parley_data_free(far);
}

static void lost_memory_is_survived(void **state) {
    (void)state;
    parley_data *far = far_data(1000, -300);
    assert_survives_lost_memory(far, "loss=logistic lambda=0.01 preset=lbfgs rounds=2");
    parley_data_free(far);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_columns_are_shifted_and_filled),
        cmocka_unit_test(the_model_is_that_of_the_original_columns),
        cmocka_unit_test(ranks_shift_alike),
        cmocka_unit_test(lost_memory_is_survived),
    };
    return cmocka_run_group_tests_name("centred", tests, NULL, NULL);
}
