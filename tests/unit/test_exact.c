/* Tests of the preset exact: optima of other methods, one pass, tables in the caller's memory, refusals. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linear/glm.h"
#include "support.h"
#include "train/train.h"

#define ROWS 120
#define COLUMNS 7

static const sample_plan plan = {11, ROWS, COLUMNS, 0.8, .real = true};

static void it_finds_the_optimum_of_newton(void **state) {
    (void)state;
    static const char *const problems[] = {"lambda=0.1",
                                           "lambda=0",
                                           "lambda=0.05 l1_ratio=1",
                                           "lambda=0.05 l1_ratio=0.4 standardise=true",
                                           "lambda=0.1 intercept=none",
                                           "lambda=0.1 intercept=penalised l1_ratio=0.5",
                                           "lambda=0.1 l1_ratio=0.5 penalty_factors=2=3,4=0.5"};
    parley_data *data = random_data(plan);
    for (unsigned i = 0; i < COUNT(problems); i++) {
        char words[160];
        snprintf(words, sizeof words, "loss=squared gap=1e-11 preset=newton %s", problems[i]);
        outcome newton = train_once(data, words);
        snprintf(words, sizeof words, "loss=squared gap=1e-11 preset=exact workers=3 lanes=2 %s", problems[i]);
        outcome exact = train_once(data, words);
        assert_int_equal(exact.summary[0].stop, PARLEY_CONVERGED);
        assert_close(exact.summary[0].objective, newton.summary[0].objective, 1e-9);
        assert_close(exact.summary[0].epochs, 1.0, 1e-12);
        for (uint64_t j = 0; j < COLUMNS; j++)
            assert_true(fabs(parley_model_coef(exact.model[0])[j] - parley_model_coef(newton.model[0])[j]) < 1e-4);
        free_models(&newton);
        free_models(&exact);
    }
    parley_data_free(data);
}

static void dependent_columns_have_a_solution(void **state) {
    (void)state;
    parley_data *data = data_of("1 1:1 2:2 3:3\n2 1:2 2:1 3:3\n4 1:3 2:3 3:6\n3 1:1 2:4 3:5\n5 1:5 2:1 3:6\n");
    outcome found = train_once(data, "loss=squared preset=exact lambda=0 gap=1e-9");
    outcome newton = train_once(data, "loss=squared preset=newton lambda=0 gap=1e-9");
    assert_close(found.summary[0].objective, newton.summary[0].objective, 1e-9);
    free_models(&found);
    free_models(&newton);
    parley_data_free(data);
}

/* A column of seconds since 1970, whose float32 values would lose the differences between rows. */
static void fill_table(double *table, double *label) {
    for (unsigned i = 0; i < ROWS; i++) {
        double first = sin(i + 1.0), second = cos(7.0 * i);
        table[2 * i] = 1.7e9 + 100.0 * first;
        table[2 * i + 1] = second;
        label[i] = 3.0 * first - 2.0 * second + 5.0;
    }
}

static void tables_are_used_in_their_own_precision(void **state) {
    (void)state;
    static double cells[2 * ROWS], label[ROWS];
    static const char *const presets[] = {"auto", "exact", "newton"};
    parley_table table = {ROWS, 2, cells, PARLEY_FLOAT64, 2, 1, label, NULL};
    fill_table(cells, label);
    for (unsigned p = 0; p < COUNT(presets); p++) {
        char words[80];
        parley_model *model;
        parley_summary summary;
        parley_error error = {0};
        snprintf(words, sizeof words, "loss=squared lambda=0 gap=1e-12 preset=%s", presets[p]);
        parley_settings settings = settings_of(words);
        assert_done(parley_train_table(&table, &settings, NULL, NULL, NULL, &model, &summary, &error), &error);
        assert_close(parley_model_coef(model)[0], 0.03, 1e-6);
        assert_close(parley_model_coef(model)[1], -2.0, 1e-6);
        assert_int_equal(parley_model_products(model) != NULL, p < 2);
        if (p < 2)
            assert_string_equal(summary.preset, "exact");
        parley_model_free(model);
    }
}

/* label = first + 2 second + 5, of which the first is an offset. */
static void tables_have_offsets(void **state) {
    (void)state;
    static double cells[2 * ROWS], label[ROWS];
    static const char *const presets[] = {"auto", "exact", "newton"};
    parley_table table = {ROWS, 2, cells, PARLEY_FLOAT64, 2, 1, label, NULL};
    fill_table(cells, label);
    for (unsigned i = 0; i < ROWS; i++) {
        cells[2 * i] = sin(3.0 * i);
        label[i] = cells[2 * i] + 2.0 * cells[2 * i + 1] + 5.0;
    }
    for (unsigned p = 0; p < COUNT(presets); p++) {
        char words[120];
        parley_model *model;
        parley_error error = {0};
        snprintf(words, sizeof words, "loss=squared lambda=0 gap=1e-12 offset_column=0 preset=%s", presets[p]);
        parley_settings settings = settings_of(words);
        assert_done(parley_train_table(&table, &settings, NULL, NULL, NULL, &model, NULL, &error), &error);
        assert_close(parley_model_coef(model)[0], 1.0, 1e-12);
        assert_close(parley_model_coef(model)[1], 2.0, 1e-5);
        parley_model_free(model);
    }
}

static void a_value_of_a_table_must_be_finite(void **state) {
    (void)state;
    static double cells[2 * ROWS], label[ROWS];
    parley_table table = {ROWS, 2, cells, PARLEY_FLOAT64, 2, 1, label, NULL};
    parley_model *model;
    parley_error error = {0};
    fill_table(cells, label);
    cells[37] = NAN;
    parley_settings settings = settings_of("loss=squared");
    assert_int_equal(parley_train_table(&table, &settings, NULL, NULL, NULL, &model, NULL, &error), PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "not finite"));
    assert_null(model);
}

static void lost_memory_is_told(void **state) {
    (void)state;
    parley_data *data = random_data(plan);
    assert_survives_lost_memory(data, "preset=exact loss=squared workers=2 threads=1 l1_ratio=0.5");
    assert_survives_lost_memory(data, "preset=exact loss=squared workers=2 threads=1 lambda=0");
    parley_data_free(data);
}

static void losses_have_their_facts(void **state) {
    (void)state;
    parley_loss loss;
    assert_true(parley_loss_facts("poisson", &loss));
    assert_true(loss.log_link && loss.least == 1 && !loss.classes && !loss.probabilities);
    assert_true(parley_loss_facts("gamma", &loss));
    assert_int_equal(loss.least, 2);
    assert_true(parley_loss_facts("logistic", &loss));
    assert_true(loss.classes && loss.probabilities && !loss.together);
    assert_true(parley_loss_facts("softmax", &loss));
    assert_true(loss.probabilities && loss.together);
    assert_true(parley_loss_facts("hinge", &loss));
    assert_false(loss.probabilities);
    assert_false(parley_loss_facts("none", &loss));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_the_optimum_of_newton),
        cmocka_unit_test(dependent_columns_have_a_solution),
        cmocka_unit_test(tables_are_used_in_their_own_precision),
        cmocka_unit_test(tables_have_offsets),
        cmocka_unit_test(a_value_of_a_table_must_be_finite),
        cmocka_unit_test(lost_memory_is_told),
        cmocka_unit_test(losses_have_their_facts),
    };
    return cmocka_run_group_tests_name("exact", tests, NULL, NULL);
}
