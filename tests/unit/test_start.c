/* test_start.c: starting from a model. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static char path[64];

static void save(const parley_model *model) {
    parley_error error;
    snprintf(path, sizeof path, "start-%d.safetensors", (int)getpid());
    assert_done(parley_model_save(model, path, &error), &error);
}

static outcome train_from(const parley_data *data, const char *words) {
    char all[256];
    snprintf(all, sizeof all, "%s start=%s", words, path);
    return train_once(data, all);
}

static void a_start_at_the_optimum_ends_at_the_first_look(void **state) {
    (void)state;
    const char *const forms[] = {"preset=cocoa+",
                                 "preset=cocoa+ workers=3 lanes=2",
                                 "preset=cocoa+ local=scd intercept=none l1_ratio=0.3",
                                 "preset=cocoa+ intercept=penalised loss=squared-hinge",
                                 "preset=newton standardise=true",
                                 "preset=cocoa+ local=scd workers=2 standardise=true class_weights=balanced"};
    parley_data *data = random_data(small);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        char words[160];
        snprintf(words, sizeof words, "%s lambda=0.02 gap=1e-12", forms[f]);
        outcome cold = train_once(data, words);
        save(cold.model[0]);
        snprintf(words, sizeof words, "%s lambda=0.02 gap=1e-7", forms[f]);
        outcome warm = train_from(data, words);
        assert_int_equal(warm.summary[0].stop, PARLEY_CONVERGED);
        assert_at_most((double)warm.summary[0].rounds, strstr(forms[f], "newton") ? 1 : 0);
        free_models(&cold);
        free_models(&warm);
    }
    remove(path);
    parley_data_free(data);
}

static void a_start_helps_under_another_lambda(void **state) {
    (void)state;
    const char *const forms[] = {"preset=cocoa+ loss=hinge", "preset=cocoa+", "preset=newton", "preset=gd"};
    parley_data *data = random_data(small);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        char words[160];
        snprintf(words, sizeof words, "%s lambda=0.02 gap=1e-10 rounds=5000", forms[f]);
        outcome first = train_once(data, words);
        save(first.model[0]);
        snprintf(words, sizeof words, "%s lambda=0.019 gap=1e-5 rounds=5000", forms[f]);
        outcome cold = train_once(data, words), warm = train_from(data, words);
        assert_at_most((double)warm.summary[0].rounds, (double)cold.summary[0].rounds);
        assert_close(warm.summary[0].objective, cold.summary[0].objective, 2e-5);
        free_models(&first);
        free_models(&cold);
        free_models(&warm);
    }
    remove(path);
    parley_data_free(data);
}

/* Trains from a model of `scale` times these coefficients and of another intercept. */
static outcome train_from_scaled(const parley_data *data, const char *loss, const char *words, const parley_model *of,
                                 double scale, double shift) {
    static parley_settings settings;
    outcome outcome = {.data = data, .settings = &settings};
    double coef[12], intercept = *parley_model_intercept(of) + shift;
    const double labels[] = {-1, 1};
    parley_model *start;
    settings = settings_of(words);
    for (unsigned j = 0; j < COUNT(coef); j++)
        coef[j] = scale * parley_model_coef(of)[j];
    bool classes = strstr(loss, "logistic") || strstr(loss, "hinge");
    assert_done(
        parley_model_new(loss, 1, COUNT(coef), coef, &intercept, classes ? labels : NULL, &start, &outcome.error[0]),
        &outcome.error[0]);
    assert_done(parley_train_from(data, &settings, start, NULL, NULL, &outcome.model[0], &outcome.summary[0],
                                  &outcome.error[0]),
                &outcome.error[0]);
    parley_model_free(start);
    return outcome;
}

/* The starts of one problem and method: near, of the wrong sign, too large, and so large that exp(z) is infinite. */
static void compare_starts(const parley_data *data, const char *loss, const char *method) {
    const struct {
        double scale, shift;
    } starts[] = {{0.9, 0}, {-1, 0}, {-1, 3}, {20, 0}, {-20, -5}, {1e4, 0}, {-1e4, 50}};
    char words[160];
    snprintf(words, sizeof words, "loss=%s %s gap=1e-8 rounds=20000 workers=1 threads=1", loss, method);
    outcome cold = train_once(data, words);
    assert_int_equal(cold.summary[0].stop, PARLEY_CONVERGED);
    for (unsigned i = 0; i < COUNT(starts); i++) {
        outcome warm = train_from_scaled(data, loss, words, cold.model[0], starts[i].scale, starts[i].shift);
        if (warm.summary[0].stop != PARLEY_CONVERGED)
            fail_msg("%s from %g times the coefficients: stopped by %d", words, starts[i].scale, warm.summary[0].stop);
        assert_close(warm.summary[0].objective, cold.summary[0].objective, 1e-6);
        for (unsigned j = 0; j < data->x.columns; j++)
            assert_close(parley_model_coef(warm.model[0])[j], parley_model_coef(cold.model[0])[j], 1e-3);
        /* Without a penalty the target depends on the first gradient, and the dual of a near start may be far. */
        if (i == 0 && strstr(words, "lambda=0.1") && !strstr(words, "cocoa+"))
            assert_at_most((double)warm.summary[0].rounds, (double)cold.summary[0].rounds);
        free_models(&warm);
    }
    free_models(&cold);
}

static void a_bad_start_does_not_keep_from_the_optimum(void **state) {
    (void)state;
    const struct {
        const char *loss;
        const sample_plan *plan;
    } losses[] = {{"poisson", &counts}, {"gamma", &sizes},         {"tweedie", &counts},
                  {"logistic", &small}, {"squared-hinge", &small}, {"squared", &real}};
    const char *const presets[] = {"auto", "newton", "lbfgs", "gd"}, *const penalties[] = {"0.1", "0",
                                                                                           "0.05 l1_ratio=0.5"};
    for (unsigned l = 0; l < COUNT(losses); l++) {
        parley_data *data = random_data(*losses[l].plan);
        for (unsigned p = 0; p < COUNT(presets) * COUNT(penalties); p++) {
            char method[64];
            snprintf(method, sizeof method, "preset=%s lambda=%s", presets[p / COUNT(penalties)],
                     penalties[p % COUNT(penalties)]);
            compare_starts(data, losses[l].loss, method);
        }
        compare_starts(data, losses[l].loss, "preset=cocoa+ lambda=0.1");
        parley_data_free(data);
    }
}

static void a_start_gives_the_same_bits_on_any_ranks(void **state) {
    (void)state;
    parley_data *data = random_data(wide);
    outcome first = train_once(data, "lambda=0.1 gap=1e-3 preset=cocoa+");
    save(first.model[0]);
    char words[160];
    snprintf(words, sizeof words, "preset=cocoa+ workers=5 lanes=2 gap=0 rounds=3 lambda=0.01 start=%s", path);
    static parley_settings settings;
    settings = settings_of(words);
    outcome one = {.data = data, .settings = &settings}, more = one;
    train(&one, 1, 1);
    assert_done(one.status[0], &one.error[0]);
    for (unsigned ranks = 2; ranks <= 3; ranks++) {
        train(&more, ranks, 2);
        for (unsigned r = 0; r < ranks; r++) {
            assert_done(more.status[r], &more.error[r]);
            assert_memory_equal(parley_model_coef(more.model[r]), parley_model_coef(one.model[0]),
                                data->x.columns * sizeof(double));
        }
        free_models(&more);
    }
    free_models(&one);
    free_models(&first);
    remove(path);
    parley_data_free(data);
}

static void what_does_not_fit_is_named(void **state) {
    (void)state;
    const struct {
        const char *text, *words, *part;
    } cases[] = {{"-1 1:1\n1 2:1\n", "loss=logistic", "the model has 12 columns, but the data have 2"},
                 {"0 12:1\n1 2:1\n", "loss=logistic", "the model has labels -1 and 1, but the data have 0 and 1"},
                 {"-1 12:1\n1 2:1\n", "loss=squared", "the model has loss logistic, whose kind of labels"}};
    parley_data *data = random_data(small);
    outcome first = train_once(data, "");
    save(first.model[0]);
    for (unsigned c = 0; c < COUNT(cases); c++) {
        char words[160];
        snprintf(words, sizeof words, "%s start=%s", cases[c].words, path);
        static parley_settings settings;
        settings = settings_of(words);
        parley_data *other = data_of(cases[c].text);
        outcome outcome = {.data = other, .settings = &settings};
        train(&outcome, 1, 1);
        assert_int_equal(outcome.status[0], PARLEY_BAD_INPUT);
        if (!strstr(outcome.error[0].sentence, cases[c].part))
            fail_msg("%s", outcome.error[0].sentence);
        parley_data_free(other);
    }
    free_models(&first);
    remove(path);
    parley_data_free(data);
}

static void failed_allocations_of_a_start_end_with_a_sentence(void **state) {
    (void)state;
    const char *const presets[] = {"cocoa+", "newton"};
    parley_data *data = random_data(small);
    outcome first = train_once(data, "");
    save(first.model[0]);
    for (unsigned p = 0; p < COUNT(presets); p++) {
        char words[160];
        snprintf(words, sizeof words, "preset=%s workers=2 threads=1 rounds=2 gap=0 start=%s", presets[p], path);
        assert_survives_lost_memory(data, words);
    }
    free_models(&first);
    remove(path);
    parley_data_free(data);
}

static void a_model_of_another_problem_is_no_start(void **state) {
    (void)state;
    const double coef[9] = {0}, two[] = {-1, 1}, other[] = {0, 1}, upper[] = {-1, 2}, three[] = {1, 2, 3},
                 last[] = {1, 2, 4};
    const struct {
        const char *text, *loss;
        uint64_t outputs, columns;
        const double *labels;
        const char *start, *part;
    } cases[] = {
        {"1 1:1\n-1 2:1\n", "logistic", 1, 3, two, "logistic", "has 3 columns, but the data have 2"},
        {"1 1:1\n-1 2:1\n", "logistic", 3, 2, three, "logistic", "has 3 outputs, but this problem has 1"},
        {"1 1:1\n-1 2:1\n", "squared", 1, 2, NULL, "logistic", "has loss squared, whose kind of labels differs"},
        {"1 1:1\n-1 2:1\n", "logistic", 1, 2, other, "logistic", "has labels 0 and 1, but the data have -1 and 1"},
        {"1 1:1\n-1 2:1\n", "logistic", 1, 2, upper, "logistic", "has labels -1 and 2, but the data have -1 and 1"},
        {"1 1:1\n2 2:1\n3 1:2\n", "softmax", 3, 2, last, "softmax", "has other class labels than the data"},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        char words[64];
        parley_model *model, *out;
        parley_error error = {0};
        parley_data *data = data_of(cases[i].text);
        assert_done(parley_model_new(cases[i].loss, cases[i].outputs, cases[i].columns, coef, NULL, cases[i].labels,
                                     &model, &error),
                    &error);
        snprintf(words, sizeof words, "loss=%s lambda=0.1 workers=1 threads=1", cases[i].start);
        parley_settings settings = settings_of(words);
        assert_int_equal(parley_train_from(data, &settings, model, NULL, NULL, &out, NULL, &error), PARLEY_BAD_INPUT);
        assert_null(out);
        if (!strstr(error.sentence, cases[i].part))
            fail_msg("%s", error.sentence);
        parley_model_free(model);
        parley_data_free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_at_the_optimum_ends_at_the_first_look),
        cmocka_unit_test(a_start_helps_under_another_lambda),
        cmocka_unit_test(a_bad_start_does_not_keep_from_the_optimum),
        cmocka_unit_test(a_start_gives_the_same_bits_on_any_ranks),
        cmocka_unit_test(what_does_not_fit_is_named),
        cmocka_unit_test(failed_allocations_of_a_start_end_with_a_sentence),
        cmocka_unit_test(a_model_of_another_problem_is_no_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
