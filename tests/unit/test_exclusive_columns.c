/* test_exclusive_columns.c: columns that are apart are found, and Newton's method uses them on any number of ranks. */
#include <stdlib.h>
#include <string.h>

#include "linear/rows/exclusive_columns.h"
#include "support.h"

#define CORE (TABLE_JOBS + 3) /* columns that are not apart */

static void no_row_has_two_columns_that_are_apart(void **state) {
    (void)state;
    parley_data *data = table_data(2);
    const pl_matrix *x = &data->x;
    pl_engine *engine;
    pl_exclusive apart;
    parley_error error;
    assert_done(pl_threads_open(&engine, 1, 1, DEADLINE, &error), &error);
    for (unsigned intercept = 0; intercept < 2; intercept++) {
        assert_done(pl_exclusive_open(&apart, engine, x, intercept, &error), &error);
        uint64_t core = x->columns + intercept - apart.count;
        assert_int_equal(core, CORE + intercept); /* the categories of the larger column are apart */
        for (uint64_t i = 0; i < x->rows; i++) {
            unsigned found = 0;
            for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
                found += apart.place[x->index[e]] >= core;
            assert_at_most(found, 1);
        }
        for (uint64_t j = 0; j < x->columns + intercept; j++) {
            assert_int_equal(apart.column[apart.place[j]], j);
            bool before = j == 0 || apart.place[j - 1] < apart.place[j];
            assert_true(before || (apart.place[j] < core) != (apart.place[j - 1] < core));
        }
        pl_exclusive_close(&apart);
    }
    pl_engine_close(engine);
    parley_data_free(data);
}

static void columns_that_all_meet_are_core(void **state) {
    (void)state;
    parley_data *data = data_of("1 1:1 2:1 3:1\n0 1:2 2:1 3:4\n1 1:3 2:2 3:1\n");
    pl_engine *engine;
    pl_exclusive apart;
    parley_error error;
    assert_done(pl_threads_open(&engine, 1, 1, DEADLINE, &error), &error);
    assert_done(pl_exclusive_open(&apart, engine, &data->x, true, &error), &error);
    assert_true(apart.count <= 1 && (apart.count == 1) == (apart.place != NULL));
    pl_exclusive_close(&apart);
    pl_engine_close(engine);
    parley_data_free(data);
}

static const char *const methods[] = {"loss=logistic preset=newton lambda=0.001 l1_ratio=0.5 gap=1e-9 workers=3",
                                      "loss=hinge preset=newton lambda=0.001 gap=1e-7 workers=3",
                                      "loss=hinge preset=newton lambda=0.003 l1_ratio=1 gap=1e-5 workers=3",
                                      "loss=quantile preset=newton lambda=0.001 l1_ratio=0.3 gap=1e-6 workers=3",
                                      "loss=quantile preset=newton lambda=0 gap=1e-5 workers=3 standardise=true"};

static void ranks_find_the_same_optimum(void **state) {
    (void)state;
    parley_data *data = table_data(2);
    for (unsigned i = 0; i < COUNT(methods); i += SOME) {
        parley_settings settings = settings_of(methods[i]);
        outcome one = {.data = data, .settings = &settings}, three = one;
        train(&one, 1, 1);
        train(&three, 3, 1);
        assert_done(one.status[0], &one.error[0]);
        assert_done(three.status[0], &three.error[0]);
        assert_int_equal(one.summary[0].stop, PARLEY_CONVERGED);
        const pl_linear_model *a = pl_linear(one.model[0]), *b = pl_linear(three.model[0]);
        assert_memory_equal(a->coef, b->coef, data->x.columns * sizeof *a->coef);
        assert_memory_equal(a->intercept, b->intercept, sizeof *a->intercept);
        free_models(&one);
        free_models(&three);
    }
    parley_data_free(data);
}

/* Dual ascent, which knows nothing of curvature, has the same optimum. */
static void the_optimum_is_that_of_other_methods(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"loss=softmax preset=newton lambda=0.01 gap=1e-9", "loss=softmax preset=lbfgs lambda=0.01 gap=1e-6"},
        {"loss=softmax preset=newton lambda=0.01 l1_ratio=0.5 gap=1e-9",
         "loss=softmax preset=lbfgs lambda=0.01 l1_ratio=0.5 gap=1e-6"},
        {"loss=logistic preset=newton lambda=0.01 l1_ratio=1 gap=1e-9",
         "loss=logistic preset=lbfgs lambda=0.01 l1_ratio=1 gap=1e-6"}};
    parley_data *data = table_data(3);
    for (unsigned i = 0; i < COUNT(pairs); i += SOME) {
        outcome own = train_once(data, pairs[i][0]), other = train_once(data, pairs[i][1]);
        assert_int_equal(own.summary[0].stop, PARLEY_CONVERGED);
        assert_close(own.summary[0].objective, other.summary[0].objective, 1e-4);
        assert_at_most(own.summary[0].objective, other.summary[0].objective + 1e-8);
        free_models(&own);
        free_models(&other);
    }
    parley_data_free(data);
}

static void lost_memory_is_survived(void **state) {
    (void)state;
    parley_data *data = table_data(3);
    assert_survives_lost_memory(data, "loss=softmax lambda=0.01 preset=newton rounds=2");
    assert_survives_lost_memory(data, "loss=softmax lambda=0.01 l1_ratio=0.5 preset=newton rounds=2");
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_row_has_two_columns_that_are_apart),
        cmocka_unit_test(columns_that_all_meet_are_core),
        cmocka_unit_test(ranks_find_the_same_optimum),
        cmocka_unit_test(the_optimum_is_that_of_other_methods),
        cmocka_unit_test(lost_memory_is_survived),
    };
    return cmocka_run_group_tests_name("apart", tests, NULL, NULL);
}
