/* test_matrix_of_ones.c: a matrix whose entries are all 1 is held without values. Every method must give the same bits
 * as with a value of 1 for every entry, on one rank and on ranks that hold their own rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linear/path/linear_path.h"
#include "support.h"
#include "train/presets.h"

/* The same rows with a value for every entry; `ones` receives the values, to be freed after the data. */
static parley_data *with_values(const parley_data *data, float **ones) {
    parley_data *out;
    parley_error error = {0};
    const pl_matrix *x = &data->x;
    int32_t *index = (int32_t *)x->index;
    *ones = malloc((x->nonzeros + 1) * sizeof **ones);
    assert_non_null(*ones);
    for (uint64_t e = 0; e < x->nonzeros; e++)
        (*ones)[e] = 1.0F;
    assert_done(parley_data_from_csr(x->rows, x->columns, x->start, PARLEY_INT64, index, PARLEY_INT32, *ones,
                                     PARLEY_FLOAT32, data->label, data->weight, 1, &out, &error),
                &error);
    assert_null(x->values.narrow);
    assert_non_null(out->x.values.narrow);
    return out;
}

static void assert_same_numbers(const double *a, const double *b, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        assert_close(a[i], b[i], 1e-7);
}

static void assert_takes_ones(const parley_data *data, const char *words) {
    float *ones;
    parley_data *valued = with_values(data, &ones);
    outcome a = train_once(data, words), b = train_once(valued, words);
    uint64_t outputs = a.model[0]->outputs, count = outputs * data->x.columns;
    assert_int_equal(outputs, b.model[0]->outputs);
    assert_same_numbers(parley_model_coef(a.model[0]), parley_model_coef(b.model[0]), count);
    assert_same_numbers(parley_model_intercept(a.model[0]), parley_model_intercept(b.model[0]), outputs);
    assert_close(a.summary[0].objective, b.summary[0].objective, 1e-9);
    for (unsigned ranks = 2; ranks <= 3; ranks++) {
        static parley_settings settings;
        settings = settings_of(words);
        outcome many = {.data = data, .settings = &settings};
        ranks_share_memory = ranks == 2;
        train(&many, ranks, 1);
        for (unsigned r = 0; r < ranks; r++) {
            assert_done(many.status[r], &many.error[r]);
            assert_memory_equal(parley_model_coef(many.model[r]), parley_model_coef(a.model[0]),
                                count * sizeof(double));
        }
        free_models(&many);
    }
    free_models(&a);
    free_models(&b);
    parley_data_free(valued);
    free(ones);
}

static const sample_plan binary = {.seed = 15, .rows = 150, .columns = 20, .density = 0.3, .ones = true};

static void every_preset_takes_ones(void **state) {
    (void)state;
    parley_data *data = random_data(binary);
    for (unsigned p = 0; p < linear_presets(); p++) {
        char words[160];
        if (pl_presets[p].stream || (pl_presets[p].exchange && !pl_presets[p].exchange->repeats))
            continue;
        snprintf(words, sizeof words, "workers=4 gap=0 rounds=5 seed=3 preset=%s%s", pl_presets[p].name,
                 loss_of_preset(&pl_presets[p]));
        assert_takes_ones(data, words);
    }
    parley_data_free(data);
}

static void solvers_by_columns_take_ones(void **state) {
    (void)state;
    sample_plan numbers = binary;
    numbers.real = true;
    parley_data *data = random_data(binary), *real_data = random_data(numbers);
    assert_takes_ones(data, "workers=4 gap=1e-9 rounds=20 preset=cocoa+ l1_ratio=1 lambda=0.01");
    assert_takes_ones(data, "workers=4 gap=1e-9 rounds=20 preset=cocoa+ local=scd l1_ratio=0.5 lambda=0.01 lanes=2");
    assert_takes_ones(data, "workers=1 gap=1e-9 rounds=20 preset=cocoa+ local=scd l1_ratio=0.5 lambda=0.01");
    assert_takes_ones(real_data, "workers=4 gap=1e-9 rounds=20 preset=cocoa+ l1_ratio=1 lambda=0.01");
    assert_takes_ones(real_data, "workers=1 gap=1e-9 rounds=20 preset=cocoa+ l1_ratio=1 lambda=0.01");
    assert_takes_ones(real_data, "workers=3 gap=1e-9 rounds=20 preset=cocoa+ l1_ratio=1 lambda=0.01 standardise=true");
    parley_data_free(data);
    parley_data_free(real_data);
}

static void models_of_classes_take_ones(void **state) {
    (void)state;
    parley_data *data = class_data(binary, true);
    assert_takes_ones(data, "workers=4 gap=0 rounds=5 preset=cocoa+ loss=softmax");
    assert_takes_ones(data, "workers=4 gap=0 rounds=5 preset=cocoa+ loss=hinge standardise=true");
    assert_takes_ones(data, "workers=4 gap=0 rounds=5 preset=lbfgs loss=softmax standardise=true");
    assert_takes_ones(data, "workers=4 gap=0 rounds=5 preset=newton loss=logistic");
    parley_data_free(data);
}

static void rates_and_weights_take_ones(void **state) {
    (void)state;
    parley_data *data = random_data(binary);
    assert_takes_ones(data, "workers=4 gap=0 rounds=5 preset=ma-sgd schedule=normalised");
    assert_takes_ones(data, "workers=4 gap=0 rounds=5 preset=ma-sgd schedule=adagrad l1_ratio=0.5 lambda=0.01");
    assert_takes_ones(data, "workers=4 gap=0 rounds=5 preset=ma-sgd average_iterates=true");
    assert_takes_ones(data, "workers=4 gap=0 rounds=5 preset=cocoa+ validation_fraction=0.3");
    assert_takes_ones(data, "workers=4 gap=0 rounds=5 preset=cocoa+ class_weights=balanced");
    parley_data_free(data);
}

static void a_path_takes_ones(void **state) {
    (void)state;
    float *ones;
    parley_data *data = random_data(binary), *valued = with_values(data, &ones);
    parley_settings settings = settings_of("lambdas=5 l1_ratio=1 workers=2 threads=1");
    parley_path_result *a, *b;
    parley_error error = {0};
    assert_done(parley_path(data, &settings, NULL, NULL, &a, NULL, &error), &error);
    assert_done(parley_path(valued, &settings, NULL, NULL, &b, NULL, &error), &error);
    assert_int_equal(a->count, b->count);
    double *with = path_values(a), *without = path_values(b);
    assert_same_numbers(with, without, a->count * a->columns);
    free(with);
    free(without);
    parley_path_free(a);
    parley_path_free(b);
    parley_data_free(valued);
    parley_data_free(data);
    free(ones);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_takes_ones),     cmocka_unit_test(solvers_by_columns_take_ones),
        cmocka_unit_test(models_of_classes_take_ones), cmocka_unit_test(rates_and_weights_take_ones),
        cmocka_unit_test(a_path_takes_ones),
    };
    return cmocka_run_group_tests_name("ones", tests, NULL, NULL);
}
