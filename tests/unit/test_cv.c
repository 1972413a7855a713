/* test_cv.c: folds, the rule of one standard error, and that threads change nothing. */
#include "linear/path/linear_cv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "support.h"

static void folds_have_equal_parts_of_every_label(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    parley_settings settings = settings_of("folds=4");
    uint32_t fold[160], other[160];
    unsigned folds, count[4][2] = {{0}};
    parley_error error;
    assert_done(pl_cv_folds(NULL, data, &settings, fold, &folds, &error), &error);
    assert_int_equal(folds, 4);
    for (unsigned i = 0; i < 160; i++)
        count[fold[i]][data->label[i] > 0]++;
    for (unsigned f = 1; f < 4; f++)
        for (unsigned c = 0; c < 2; c++)
            assert_true(count[f][c] + 1 >= count[0][c] && count[f][c] <= count[0][c] + 1);
    settings.seed = 9;
    assert_done(pl_cv_folds(NULL, data, &settings, other, &folds, &error), &error);
    assert_memory_not_equal(fold, other, sizeof fold);
    parley_data_free(data);
}

static void folds_may_come_from_a_file(void **state) {
    (void)state;
    const struct {
        const char *text, *part;
    } cases[] = {{"7\n2\n7\n40\n", NULL},
                 {"7 \r\n2\t\n7\n40", NULL},
                 {"7\n2\n\n40\n", ":3: a fold must be a whole number"},
                 {"7\n2\n7 x\n40\n", ":3: a fold must be a whole number"},
                 {"7\n2\n7\n4000000000", ":4: a fold must be a whole number"},
                 {"7\n2\n7\n", "3 lines for the 4 rows"},
                 {"7\n2\n7\n1\n1\n", "5 lines for the 4 rows"},
                 {"1\n1\n1\n1\n", "all rows are in one fold; at least two folds are needed"},
                 {"1\n2\n-1\n1\n", ":3: a fold must be a whole number"},
                 {"1\n2\n1.5\n1\n", ":3: a fold must be a whole number"},
                 {"1\n1000\n1\n1\n", ":2: a fold must be a whole number"}};
    parley_data *data = data_of("1 1:1\n-1 1:2\n1 2:1\n-1 3:1\n");
    for (unsigned c = 0; c < COUNT(cases); c++) {
        char path[64], words[100];
        uint32_t fold[4];
        unsigned folds;
        parley_error error;
        snprintf(path, sizeof path, "folds-%d.txt", (int)getpid());
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(cases[c].text, file);
        fclose(file);
        snprintf(words, sizeof words, "fold_file=%s", path);
        parley_settings settings = settings_of(words);
        parley_status status = pl_cv_folds(NULL, data, &settings, fold, &folds, &error);
        remove(path);
        if (!cases[c].part) {
            assert_done(status, &error);
            assert_int_equal(folds, 3);
            assert_memory_equal(fold, ((uint32_t[]){1, 0, 1, 2}), sizeof fold);
            continue;
        }
        assert_int_equal(status, PARLEY_BAD_INPUT);
        if (!strstr(error.sentence, cases[c].part))
            fail_msg("%s", error.sentence);
    }
    parley_data_free(data);
}

static void one_standard_error_is_a_simpler_model_that_is_as_good(void **state) {
    (void)state;
    double value[] = {9, 2.2, 2.0, 2.3, 11, 2.6, 1.9, 1.9, 10, 2.4, 2.4, 2.4}, mean[4], error[4];
    pl_cv cv = {.count = 4, .folds = 3, .value = value, .mean = mean, .error = error};
    pl_cv_judge(&cv, false);
    assert_close(mean[1], 2.4, 1e-12);
    assert_close(mean[2], 2.1, 1e-12);
    assert_close(error[2], sqrt((0.01 + 0.04 + 0.09) / 2.0 / 3.0), 1e-12);
    assert_int_equal(cv.best, 2);
    assert_int_equal(cv.one_se, 2); /* 2.4 is more than 0.153 worse */
    value[1] = value[5] = value[9] = 2.2;
    pl_cv_judge(&cv, false);
    assert_int_equal(cv.one_se, 1);
    pl_cv_judge(&cv, true);
    assert_int_equal(cv.best, 0);
    assert_int_equal(cv.one_se, 0);
}

static void ties_go_to_the_simplest_model(void **state) {
    (void)state;
    double mean[] = {0.7, 0.7, 0.7, 0.6}, explained[] = {0, 1e-4, 0.1, 0.3};
    pl_cv cv = {.count = 4, .mean = mean, .explained = explained, .best = 0};
    pl_cv_settle_ties(&cv);
    assert_int_equal(cv.best, 2); /* the models before it are constant */
    assert_int_equal(cv.ties, 2);
    explained[1] = 0.01;
    pl_cv_settle_ties(&cv);
    assert_int_equal(cv.best, 1);
    mean[3] = 0.8;
    cv.best = 3;
    pl_cv_settle_ties(&cv);
    assert_int_equal(cv.best, 3);
    assert_int_equal(cv.ties, 0);
    memset(explained, 0, sizeof explained);
    mean[3] = 0.7;
    cv.best = 0;
    pl_cv_settle_ties(&cv);
    assert_int_equal(cv.best, 0);
    assert_int_equal(cv.ties, 3);
}

static void threads_change_nothing(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    pl_cv *first = NULL;
    for (unsigned threads = 1; threads <= 3; threads++) {
        char words[160];
        snprintf(words, sizeof words,
                 "preset=cocoa+ lanes=1 l1_ratio=0.5 lambdas=6 lambda_ratio=0.01 folds=4 metric=auc threads=%u",
                 threads);
        parley_settings settings = settings_of(words);
        parley_error error;
        pl_cv *cv;
        assert_done(pl_cv_run(data, &settings, NULL, NULL, &cv, &error), &error);
        assert_int_equal(cv->folds, 4);
        if (!first) {
            first = cv;
            continue;
        }
        assert_int_equal(cv->count, first->count);
        assert_memory_equal(cv->value, first->value, cv->folds * cv->count * sizeof *cv->value);
        parley_cv_free(cv);
    }
    parley_cv_free(first);
    parley_data_free(data);
}

static pl_cv *cross_validated(const parley_data *data, const char *words) {
    parley_settings settings = settings_of(words);
    parley_error error;
    pl_cv *cv;
    assert_done(pl_cv_run(data, &settings, NULL, NULL, &cv, &error), &error);
    return cv;
}

/* Labels that depend on the small columns only, beside a large column of noise. */
static parley_data *uneven_data(void) {
    static char text[200 * 100];
    size_t used = 0;
    for (unsigned i = 0; i < 200; i++) {
        unsigned noise = (i * 7919u + 13u) % 1009u, a = i % 2, b = i / 2 % 2, c = i * 31u % 7u;
        used += (size_t)snprintf(text + used, sizeof text - used, "%d 1:%u 2:%u 3:%u 4:%.2f\n",
                                 a + (c > 4) > b ? 1 : -1, 100 * noise, a, b, c / 100.0);
    }
    return data_of(text);
}

static void lambdas_are_added_until_the_best_is_inside(void **state) {
    (void)state;
    parley_data *data = uneven_data();
    for (unsigned ratio = 0; ratio < 3; ratio++) {
        char words[100];
        snprintf(words, sizeof words, "l1_ratio=%g folds=4 lambdas=20", ratio / 2.0);
        pl_cv *cv = cross_validated(data, words);
        assert_true(cv->extensions >= 1 && cv->extensions <= 3);
        assert_true(cv->best > 0 && (cv->best + 1 < cv->count) == (cv->place == PARLEY_CV_INSIDE));
        assert_true(cv->mean[cv->best] < 0.6 * cv->mean[0]);
        for (uint64_t k = 2; k < cv->count; k++)
            assert_close(cv->lambdas[k] / cv->lambdas[k - 1], cv->lambdas[1] / cv->lambdas[0], 1e-9);
        parley_cv_free(cv);
    }
    parley_data_free(data);
}

static void given_lambdas_are_not_extended(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    const struct {
        const char *words;
        parley_cv_place place;
    } cases[] = {{"lambda_list=10,1,0.1 folds=4", PARLEY_CV_SMALLEST},
                 {"lambda_list=0.1 folds=4", PARLEY_CV_SINGLE},
                 {"lambdas=5 lambda_ratio=0.5 folds=4", PARLEY_CV_SMALLEST}};
    for (unsigned c = 0; c < COUNT(cases); c++) {
        pl_cv *cv = cross_validated(data, cases[c].words);
        assert_int_equal(cv->extensions, 0);
        assert_int_equal(cv->place, cases[c].place);
        parley_cv_free(cv);
    }
    parley_data_free(data);
}

static void lambdas_that_are_out_of_reach_are_not_cross_validated(void **state) {
    (void)state;
    parley_data *data = uneven_data();
    parley_settings settings = settings_of("loss=hinge l1_ratio=0.5 local=sdca folds=4 lambdas=50");
    parley_error error;
    pl_cv *cv;
    assert_int_equal(pl_cv_run(data, &settings, NULL, NULL, &cv, &error), PARLEY_BAD_USAGE);
    assert_null(cv);
    if (!strstr(error.sentence, "no lambda reached its gap on all rows") ||
        !strstr(error.sentence, "try --standardise"))
        fail_msg("%s", error.sentence);
    parley_data_free(data);
}

static void the_best_pair_of_l1_ratio_and_lambda_is_chosen(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    const double ratios[] = {0.2, 1, 0.6};
    pl_cv *all = cross_validated(data, "l1_ratios=0.2,1,0.6 folds=4 lambdas=8 metric=auc");
    assert_int_equal(all->ratios, COUNT(ratios));
    for (unsigned r = 0; r < COUNT(ratios); r++) {
        char words[100];
        snprintf(words, sizeof words, "l1_ratio=%g folds=4 lambdas=8 metric=auc", ratios[r]);
        pl_cv *one = cross_validated(data, words);
        const parley_cv_ratio *found = &all->by_ratio[r];
        assert_true(found->l1_ratio == ratios[r] && found->lambda == one->lambdas[one->best] &&
                    found->mean == one->mean[one->best] && found->error == one->error[one->best]);
        assert_true(found->mean <= all->by_ratio[all->best_ratio].mean);
        if (r == all->best_ratio)
            assert_memory_equal(one->value, all->value, one->folds * one->count * sizeof *one->value);
        parley_cv_free(one);
    }
    parley_cv_free(all);
    parley_data_free(data);
}

typedef struct patience {
    unsigned rounds, most; /* calls so far, and after how many to stop */
} patience;

static int until_patience_ends(void *user, const parley_progress *progress, const char *message) {
    patience *patience = user;
    (void)progress;
    if (message)
        return 0;
    return ++patience->rounds > patience->most;
}

static void a_callback_stops_the_path_and_the_folds(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    for (unsigned threads = 1; threads <= 3; threads++) {
        char words[120];
        snprintf(words, sizeof words, "preset=gd lambdas=3 rounds=4 gap=0 folds=5 threads=%u full_path=true", threads);
        parley_settings settings = settings_of(words);
        parley_error error;
        pl_cv *cv;
        patience patience = {.most = 2};
        assert_int_equal(pl_cv_run(data, &settings, until_patience_ends, &patience, &cv, &error), PARLEY_BAD_USAGE);
        assert_null(cv);
        assert_non_null(strstr(error.sentence, "stopped on the path of all rows"));
        assert_int_equal(patience.rounds, 3);
        patience = (struct patience){.most = 25}; /* 3 lambdas x (4 rounds and the call before them) on all rows: 15 */
        assert_int_equal(pl_cv_run(data, &settings, until_patience_ends, &patience, &cv, &error), PARLEY_BAD_USAGE);
        assert_null(cv);
        assert_string_equal(error.sentence,
                            "stopped before all folds were complete, so no lambda was chosen and there is no model");
        assert_int_equal(patience.rounds, 26);
    }
    parley_data_free(data);
}

static void a_failing_fold_is_told(void **state) {
    (void)state;
    parley_data *data = data_of("1 1:1\n-1 1:2\n-1 2:1\n-1 3:1\n"); /* one fold has the only row of label 1 */
    parley_settings settings = settings_of("folds=4 lambdas=3");
    parley_error error;
    pl_cv *cv;
    assert_int_equal(pl_cv_run(data, &settings, NULL, NULL, &cv, &error), PARLEY_BAD_INPUT);
    assert_null(cv);
    assert_non_null(strstr(error.sentence, "label"));
    parley_data_free(data);
}

static void failed_allocations_of_cv_end_with_a_sentence(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    parley_settings settings = settings_of("preset=newton lambdas=2 rounds=1 gap=0 folds=2 threads=1");
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK; n++) {
        parley_error error = {0};
        pl_cv *cv = NULL;
        assert_true(n < 3000);
        pl_memory_fail_after(n);
        status = pl_cv_run(data, &settings, NULL, NULL, &cv, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || status == PARLEY_NO_MEMORY);
        assert_int_equal(cv != NULL, status == PARLEY_OK);
        parley_cv_free(cv);
    }
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_have_equal_parts_of_every_label),
        cmocka_unit_test(folds_may_come_from_a_file),
        cmocka_unit_test(one_standard_error_is_a_simpler_model_that_is_as_good),
        cmocka_unit_test(ties_go_to_the_simplest_model),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(lambdas_are_added_until_the_best_is_inside),
        cmocka_unit_test(given_lambdas_are_not_extended),
        cmocka_unit_test(lambdas_that_are_out_of_reach_are_not_cross_validated),
        cmocka_unit_test(the_best_pair_of_l1_ratio_and_lambda_is_chosen),
        cmocka_unit_test(a_callback_stops_the_path_and_the_folds),
        cmocka_unit_test(a_failing_fold_is_told),
        cmocka_unit_test(failed_allocations_of_cv_end_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
