/* test_auto.c: what `auto` chooses by how stiff a problem is. */
#include <string.h>

#include "support.h"

static const char *chosen(const parley_data *data, const char *words) {
    outcome found = train_once(data, words);
    const char *preset = found.summary[0].preset;
    free_models(&found);
    return preset;
}

/* 300 columns are too many for the matrix of second derivatives where dual ascent takes few passes. */
static void weak_penalties_on_hundreds_of_columns_go_to_newton(void **state) {
    (void)state;
    static const bool ones[] = {true, false};
    for (unsigned i = 0; i < COUNT(ones); i++) {
        parley_data *data =
            random_data((sample_plan){.seed = 3, .rows = 600, .columns = 300, .density = 0.05, .ones = ones[i]});
        assert_string_equal(chosen(data, "loss=logistic C=1"), "newton");
        assert_string_equal(chosen(data, "loss=logistic"), "newton"); /* lambda = 1/n is the same */
        assert_string_equal(chosen(data, "loss=logistic lambda=0.1"), "cocoa-newton");
        assert_string_equal(chosen(data, "loss=logistic C=1e-2"), "cocoa-newton");
        assert_string_equal(chosen(data, "loss=squared-hinge C=1"), "newton");
        parley_data_free(data);
    }
    parley_data *wide = random_data((sample_plan){.seed = 3, .rows = 600, .columns = 900, .density = 0.02});
    assert_string_equal(chosen(wide, "loss=logistic C=1"), "cocoa-newton");
    parley_data_free(wide);
}

/* With more than half as many columns as rows, or under a strong penalty, dual ascent takes few passes. */
static void weak_penalties_on_tall_data_go_to_newton(void **state) {
    (void)state;
    parley_data *tall = random_data((sample_plan){.seed = 3, .rows = 1400, .columns = 600, .density = 0.02}),
                *square = random_data((sample_plan){.seed = 3, .rows = 800, .columns = 600, .density = 0.02});
    assert_string_equal(chosen(tall, "loss=logistic C=10"), "newton");
    assert_string_equal(chosen(tall, "loss=squared alpha=0.1"), "newton");
    assert_string_equal(chosen(tall, "loss=logistic C=0.1"), "cocoa-newton");
    assert_string_equal(chosen(square, "loss=logistic C=10"), "cocoa-newton");
    parley_data_free(tall);
    parley_data_free(square);
}

/* With hinge loss, C x mean |x|^2 decides between 200 and 500 columns. */
static void strong_penalties_of_hinge_loss_begin_with_dual_ascent(void **state) {
    (void)state;
    parley_data *data =
        random_data((sample_plan){.seed = 3, .rows = 600, .columns = 300, .density = 0.05, .ones = true});
    assert_string_equal(chosen(data, "loss=hinge C=1"), "newton");
    assert_string_equal(chosen(data, "loss=hinge C=1e-2"), "cocoa-newton");
    parley_data_free(data);
    parley_data *few = random_data((sample_plan){.seed = 3, .rows = 600, .columns = 150, .density = 0.05});
    assert_string_equal(chosen(few, "loss=hinge C=1e-2"), "newton");
    parley_data_free(few);
}

static uint64_t lanes_of(const parley_data *data, const char *words) {
    parley_settings settings = settings_of(words);
    parley_model *model;
    parley_summary summary;
    parley_error error;
    assert_done(parley_train(data, &settings, NULL, NULL, &model, &summary, &error), &error);
    parley_model_free(model);
    return summary.lanes;
}

/* 250,000 non-zeros are enough for two lanes, unless most rows soon rest. */
static void kinked_losses_have_fewer_lanes(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){.seed = 3, .rows = 5000, .columns = 2500, .density = 0.02});
    assert_int_equal(lanes_of(data, "loss=squared-hinge preset=cocoa+ threads=2 rounds=2"), 2);
    assert_int_equal(lanes_of(data, "loss=hinge preset=cocoa+ threads=2 rounds=2"), 1);
    assert_int_equal(lanes_of(data, "loss=hinge preset=cocoa+ threads=2 rounds=2 lanes=2"), 2);
    parley_data_free(data);
}

/* 150,000 non-zeros in 5,000 rows are enough work for two lanes only if a step costs as much as 30 more. */
static void expensive_steps_have_more_lanes(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){.seed = 3, .rows = 5000, .columns = 2500, .density = 0.012});
    assert_int_equal(lanes_of(data, "loss=logistic preset=cocoa+ threads=2 rounds=2"), 2);
    assert_int_equal(lanes_of(data, "loss=squared-hinge preset=cocoa+ threads=2 rounds=2"), 1);
    parley_data_free(data);
}

static void strong_penalties_and_standardised_columns_go_to_lbfgs(void **state) {
    (void)state;
    parley_data *tall = random_data((sample_plan){.seed = 3, .rows = 1200, .columns = 900, .density = 0.02}),
                *wide = random_data((sample_plan){.seed = 3, .rows = 600, .columns = 900, .density = 0.02});
    assert_string_equal(chosen(tall, "loss=logistic standardise=true C=100 rounds=2"), "lbfgs");
    assert_string_equal(chosen(wide, "loss=logistic standardise=true C=100 rounds=2"), "cocoa-newton");
    assert_string_equal(chosen(tall, "loss=logistic C=100 rounds=2"), "cocoa-newton");
    assert_string_equal(chosen(tall, "loss=logistic C=1e-4 rounds=2"), "lbfgs");
    parley_data_free(tall);
    parley_data_free(wide);
}

/* The first method may be slow, and the second one does not form the curvature of all classes. */
static void sparse_classes_begin_with_dual_ascent_and_may_end_with_newton(void **state) {
    (void)state;
    parley_data *data =
        class_data((sample_plan){.seed = 5, .rows = 400, .columns = 700, .density = 0.02, .ones = true}, false);
    assert_string_equal(chosen(data, "loss=softmax"), "cocoa-newton");
    assert_string_equal(chosen(data, "loss=logistic"), "cocoa-newton");
    assert_string_equal(chosen(data, "loss=hinge"), "cocoa+");
    assert_string_equal(chosen(data, "loss=softmax l1_ratio=0.5 rounds=2"), "cocoa+");
    parley_data_free(data);
}

/* Many filled columns and classes: L-BFGS, unless columns have different scales. */
static void filled_classes_of_different_scales_go_to_newton(void **state) {
    (void)state;
    parley_data *data = class_data((sample_plan){.seed = 5, .rows = 300, .columns = 250, .density = 0.9}, false);
    assert_string_equal(chosen(data, "loss=softmax"), "lbfgs");
    for (uint64_t e = 0; e < data->x.start[data->x.rows]; e++)
        ((float *)data->x.value)[e] *= data->x.index[e] % 3 == 0 ? 30.0f : 1.0f;
    assert_string_equal(chosen(data, "loss=softmax"), "newton");
    assert_string_equal(chosen(data, "loss=logistic"), "newton");
    assert_string_equal(chosen(data, "loss=softmax standardise=true rounds=2"), "lbfgs");
    parley_data_free(data);
}

/* Filled data with more columns than rows: dual ascent, unless the curvature is constant. */
static void wide_filled_data_go_to_dual_ascent(void **state) {
    (void)state;
    parley_data *wide = random_data((sample_plan){.seed = 4, .rows = 100, .columns = 400, .density = 0.9});
    assert_string_equal(chosen(wide, "loss=logistic C=1"), "cocoa-newton");
    assert_string_equal(chosen(wide, "loss=squared-hinge C=1"), "cocoa-newton");
    assert_string_equal(chosen(wide, "loss=squared alpha=1"), "newton");
    parley_data_free(wide);
    parley_data *tall = random_data((sample_plan){.seed = 4, .rows = 600, .columns = 400, .density = 0.9});
    assert_string_equal(chosen(tall, "loss=logistic C=1"), "newton");
    parley_data_free(tall);
}

/* Raw counts, of which a few are far above the others: Newton's method, unless the penalty is strong. */
static void heavy_tailed_counts_go_to_newton(void **state) {
    (void)state;
    parley_data *even = random_data((sample_plan){.seed = 6, .rows = 300, .columns = 900, .density = 0.02});
    assert_string_equal(chosen(even, "loss=logistic C=10"), "cocoa-newton");
    parley_data *heavy = random_data((sample_plan){.seed = 6, .rows = 300, .columns = 900, .density = 0.02});
    for (uint64_t e = 0; e < heavy->x.start[heavy->x.rows]; e++)
        ((float *)heavy->x.value)[e] = e % 11 == 0 ? 20.0f : 1.0f;
    assert_string_equal(chosen(heavy, "loss=logistic C=10"), "newton");
    assert_string_equal(chosen(heavy, "loss=squared-hinge C=1"), "cocoa-newton");
    assert_string_equal(chosen(heavy, "loss=logistic C=1e-2"), "cocoa-newton");
    assert_string_equal(chosen(heavy, "loss=logistic C=10 standardise=true"), "cocoa-newton");
    assert_string_equal(chosen(heavy, "loss=logistic C=10 l1_ratio=0.5"), "cocoa+");
    parley_data_free(heavy);
    parley_data_free(even);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weak_penalties_on_hundreds_of_columns_go_to_newton),
        cmocka_unit_test(weak_penalties_on_tall_data_go_to_newton),
        cmocka_unit_test(strong_penalties_of_hinge_loss_begin_with_dual_ascent),
        cmocka_unit_test(kinked_losses_have_fewer_lanes),
        cmocka_unit_test(expensive_steps_have_more_lanes),
        cmocka_unit_test(strong_penalties_and_standardised_columns_go_to_lbfgs),
        cmocka_unit_test(sparse_classes_begin_with_dual_ascent_and_may_end_with_newton),
        cmocka_unit_test(filled_classes_of_different_scales_go_to_newton),
        cmocka_unit_test(wide_filled_data_go_to_dual_ascent),
        cmocka_unit_test(heavy_tailed_counts_go_to_newton),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
