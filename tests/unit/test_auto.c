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
        assert_string_equal(chosen(data, "loss=logistic C=1e-3"), "cocoa-newton");
        assert_string_equal(chosen(data, "loss=squared-hinge C=1"), "newton");
        parley_data_free(data);
    }
    parley_data *wide = random_data((sample_plan){.seed = 3, .rows = 600, .columns = 900, .density = 0.02});
    assert_string_equal(chosen(wide, "loss=logistic C=1"), "cocoa-newton");
    parley_data_free(wide);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(weak_penalties_on_hundreds_of_columns_go_to_newton),
                                       cmocka_unit_test(wide_filled_data_go_to_dual_ascent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
