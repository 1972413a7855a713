/* test_class_weights.c: weights by label, given as words or balanced. */
#include <math.h>
#include <string.h>

#include "support.h"

static const char *const text = "3 1:1\n3 2:1\n3 1:2\n5 1:1\n5 2:3\n";

static parley_status weigh(parley_data *data, const char *words, double **out, parley_error *error) {
    pl_engine *engine;
    assert_int_equal(pl_threads_open(&engine, 1, 1, DEADLINE, NULL), PARLEY_OK);
    parley_status status = pl_class_weights(engine, data, words, out, error);
    pl_engine_close(engine);
    return status;
}

static void balanced_classes_weigh_the_same(void **state) {
    (void)state;
    parley_data *data = data_of(text);
    double *weight;
    parley_error error;
    assert_done(weigh(data, "balanced", &weight, &error), &error);
    for (unsigned i = 0; i < 5; i++)
        assert_true(weight[i] == 5.0 / (2.0 * (i < 3 ? 3.0 : 2.0)));
    pl_free(weight);
    parley_data_free(data);
}

static void rows_of_weight_0_do_not_count(void **state) {
    (void)state;
    parley_data *data = data_of(text);
    double *weight;
    parley_error error;
    set_weights(data, (const double[]){0, 1, 2, 1, 1});
    assert_done(weigh(data, "balanced", &weight, &error), &error);
    for (unsigned i = 0; i < 5; i++)
        assert_true(weight[i] == data->weight[i]);
    pl_free(weight);
    parley_data_free(data);
}

static void words_multiply_the_rows_own_weights(void **state) {
    (void)state;
    parley_data *data = data_of(text);
    double *weight;
    parley_error error;
    set_weights(data, (const double[]){1, 2, 3, 4, 5});
    assert_done(weigh(data, "5=2.5", &weight, &error), &error);
    for (unsigned i = 0; i < 5; i++)
        assert_true(weight[i] == (i + 1.0) * (i < 3 ? 1.0 : 2.5));
    pl_free(weight);
    parley_data_free(data);
}

static void bad_words_are_named(void **state) {
    (void)state;
    const struct {
        const char *words, *part;
    } cases[] = {{"4=1", "no row has label 4; the labels are 3, 5"},
                 {"3", "3 is not LABEL=W"},
                 {"3=-1", "weight of label 3"},
                 {"3=nan", "weight of label 3"},
                 {"3=1e999", "weight of label 3"},
                 {"3=", "3= is not LABEL=W"},
                 {"3=1;5=2", "3=1;5=2 is not LABEL=W"},
                 {"=1", "=1 is not LABEL=W"},
                 {"3=1,3=2", "label 3 is given twice"},
                 {"blanced", "use balanced"}};
    parley_data *data = data_of(text);
    for (unsigned c = 0; c < COUNT(cases); c++) {
        double *weight;
        parley_error error;
        parley_status status = weigh(data, cases[c].words, &weight, &error);
        assert_int_equal(status, PARLEY_BAD_USAGE);
        if (!strstr(error.sentence, cases[c].part))
            fail_msg("%s: %s", cases[c].words, error.sentence);
        assert_null(weight);
    }
    parley_data_free(data);
}

static void class_weights_are_as_sample_weights(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    double weight[160];
    outcome by_class = train_once(data, "class_weights=1=3,-1=0.5 lambda=0.01 gap=1e-10");
    for (unsigned i = 0; i < 160; i++)
        weight[i] = data->label[i] > 0 ? 3.0 : 0.5;
    set_weights(data, weight);
    outcome by_row = train_once(data, "lambda=0.01 gap=1e-10");
    assert_memory_equal(parley_model_coef(by_class.model[0]), parley_model_coef(by_row.model[0]), 12 * sizeof(double));
    assert_string_equal(pl_model_meta(by_class.model[0], "class_weights"), "1=3,-1=0.5");
    free_models(&by_class);
    free_models(&by_row);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balanced_classes_weigh_the_same),     cmocka_unit_test(rows_of_weight_0_do_not_count),
        cmocka_unit_test(words_multiply_the_rows_own_weights), cmocka_unit_test(bad_words_are_named),
        cmocka_unit_test(class_weights_are_as_sample_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
