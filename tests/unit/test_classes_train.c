/* test_classes_train.c: whole runs on several classes: certificates, optima, the same bits everywhere, models, and
 * every allocation failing in turn. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define ROWS 120
#define FEATURES 9
#define CLASSES CLASS_LABELS

static const sample_plan plan = {.seed = 9, .rows = ROWS, .columns = FEATURES, .density = 0.4};

static const char *const forms[] = {
    "loss=softmax lambda=0.1 intercept=free",       "loss=softmax lambda=0.05 intercept=free l1_ratio=0.4",
    "loss=softmax lambda=0.05 intercept=penalised", "loss=softmax lambda=0.05 intercept=none l1_ratio=0.3",
    "loss=logistic lambda=0.05 intercept=free",     "loss=hinge lambda=0.2 intercept=free l1_ratio=0.1",
    "loss=squared-hinge lambda=0.1 intercept=free", "loss=squared-hinge lambda=0.1 intercept=penalised l1_ratio=0.2",
};

/* P of a model by the definition. */
static double objective_by_class(const parley_data *data, const parley_model *model, const parley_summary *at) {
    double sum = 0, total = 0, l1 = 0, l2 = 0, z[CLASSES];
    for (uint64_t i = 0; i < data->x.rows; i++) {
        double weight = data->weight ? data->weight[i] : 1.0;
        model->type->apply(model, &data->x, i, i + 1, z);
        sum += weight *
               loss_of_classes(pl_linear(model)->loss, z, (unsigned)pl_linear_class(pl_linear(model), data->label[i]));
        total += weight;
    }
    for (uint64_t j = 0; j < CLASSES * model->columns; j++) {
        l1 += fabs(parley_model_coef(model)[j]);
        l2 += parley_model_coef(model)[j] * parley_model_coef(model)[j];
    }
    for (unsigned c = 0; c < CLASSES && strcmp(parley_summary_fact(at, "intercept")->text, "penalised") == 0; c++) {
        l1 += fabs(parley_model_intercept(model)[c]);
        l2 += parley_model_intercept(model)[c] * parley_model_intercept(model)[c];
    }
    double lambda = parley_summary_fact(at, "lambda")->number, ratio = parley_summary_fact(at, "l1_ratio")->number;
    return sum / total + lambda * (ratio * l1 + (1.0 - ratio) * 0.5 * l2);
}

typedef struct watch {
    double best;
    unsigned broken;
    parley_progress first;
} watch;

static int watch_round(void *user, const parley_progress *progress, const char *message) {
    watch *watch = user;
    double slack = 1e-10 * (1.0 + fabs(watch->best));
    if (!message && !(progress->dual <= watch->best + slack &&
                      progress->objective - watch->best <= progress->gap + slack && progress->gap >= 0.0))
        if (watch->broken++ == 0)
            watch->first = *progress;
    return 0;
}

static void watch_run(const parley_data *data, const char *problem, const char *method, double best) {
    static parley_settings settings;
    char words[256];
    snprintf(words, sizeof words, "%s %s rounds=40 gap=0 evaluate_every=1", problem, method);
    settings = settings_of(words);
    watch watch = {.best = best};
    outcome outcome = {.data = data, .settings = &settings, .callback = watch_round, .user = &watch};
    train(&outcome, 1, 2);
    assert_done(outcome.status[0], &outcome.error[0]);
    if (watch.broken)
        print_error("%s: round %llu: objective %.12g, dual %.12g; the least known is %.12g\n", words,
                    (unsigned long long)watch.first.round, watch.first.objective, watch.first.dual, best);
    assert_int_equal(watch.broken, 0);
    assert_close(outcome.summary[0].objective, objective_by_class(data, outcome.model[0], &outcome.summary[0]), 1e-12);
    free_models(&outcome);
}

static void every_rounds_gap_bounds_the_suboptimality(void **state) {
    (void)state;
    const char *const methods[] = {"preset=cocoa+",          "preset=cocoa+ workers=5 lanes=2",
                                   "preset=cocoa workers=3", "preset=cocoa+ workers=4 local_epochs=0.4",
                                   "preset=gd workers=3",    "preset=minibatch-sgd workers=2",
                                   "preset=lbfgs workers=2"};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        char words[256];
        parley_data *data = class_data(plan, f % 2);
        snprintf(words, sizeof words, "%s preset=cocoa+ gap=1e-9", forms[f]);
        outcome reference = train_once(data, words);
        assert_int_equal(reference.summary[0].stop, PARLEY_CONVERGED);
        double best = objective_by_class(data, reference.model[0], &reference.summary[0]);
        free_models(&reference);
        for (unsigned m = 0; m < COUNT(methods); m++)
            if (!strstr(methods[m], "lbfgs") || !strstr(forms[f], "loss=hinge"))
                watch_run(data, forms[f], methods[m], best);
        parley_data_free(data);
    }
}

static void methods_agree_on_the_optimum(void **state) {
    (void)state;
    const char *const methods[] = {"preset=newton",           "preset=newton workers=3 lanes=2",
                                   "preset=cocoa+",           "preset=cocoa+ workers=6 lanes=2",
                                   "combine=truncated",       "combine=truncated workers=3 lanes=2",
                                   "preset=gd rounds=100000", "preset=lbfgs workers=2"};
    const char *const problems[] = {"loss=softmax lambda=0.05",
                                    "loss=softmax lambda=0.05 intercept=none",
                                    "loss=logistic lambda=0.05",
                                    "loss=squared-hinge lambda=0.1 intercept=penalised",
                                    "loss=softmax lambda=0.05 standardise=true",
                                    "loss=logistic lambda=0.05 standardise=true intercept=none"};
    for (unsigned p = 0; p < COUNT(problems); p++) {
        parley_data *data = class_data(plan, true);
        double first = 0;
        for (unsigned m = 0; m < COUNT(methods); m++) {
            char words[256];
            snprintf(words, sizeof words, "%s gap=1e-8 %s", problems[p], methods[m]);
            outcome outcome = train_once(data, words);
            if (outcome.summary[0].stop != PARLEY_CONVERGED)
                print_error("%s: %s\n", words, parley_stop_text(outcome.summary[0].stop));
            assert_int_equal(outcome.summary[0].stop, PARLEY_CONVERGED);
            first = m == 0 ? outcome.summary[0].objective : first;
            assert_close(outcome.summary[0].objective, first, 3e-8);
            free_models(&outcome);
        }
        parley_data_free(data);
    }
}

/* Two classes together: twice the coefficients' difference is that of logistic regression with half the penalty. */
static void two_classes_together_are_logistic_regression(void **state) {
    (void)state;
    parley_data *data = random_data(plan);
    outcome both = train_once(data, "loss=softmax lambda=0.1 gap=1e-12 preset=newton");
    outcome one = train_once(data, "loss=logistic lambda=0.05 gap=1e-12 preset=newton");
    assert_close(both.summary[0].objective, one.summary[0].objective, 1e-10);
    for (uint64_t j = 0; j < FEATURES; j++)
        assert_close(parley_model_coef(both.model[0])[FEATURES + j] - parley_model_coef(both.model[0])[j],
                     parley_model_coef(one.model[0])[j], 1e-5);
    free_models(&both);
    free_models(&one);
    parley_data_free(data);
}

/* One against the rest is one binary problem per class. */
static void one_against_the_rest_is_a_binary_problem_for_each_class(void **state) {
    (void)state;
    const char *words = "loss=hinge lambda=0.1 gap=1e-8 preset=cocoa+ intercept=none rounds=20000";
    parley_data *data = class_data(plan, true);
    outcome all = train_once(data, words);
    double sum = 0;
    for (unsigned c = 0; c < CLASSES; c++) {
        parley_data *own = class_data(plan, true);
        for (uint64_t i = 0; i < ROWS; i++)
            ((double *)own->label)[i] = own->label[i] == class_labels[c] ? 1.0 : -1.0;
        outcome one = train_once(own, words);
        sum += one.summary[0].objective;
        free_models(&one);
        parley_data_free(own);
    }
    assert_close(all.summary[0].objective, sum, 1e-7);
    free_models(&all);
    parley_data_free(data);
}

static void the_same_bits_for_any_ranks_and_threads(void **state) {
    (void)state;
    const sample_plan wider = {.seed = 6, .rows = 150, .columns = 3000, .density = 0.003};
    const char *const runs[] = {
        "loss=softmax preset=cocoa+ workers=7 lanes=2",
        "loss=softmax preset=cocoa+ workers=4 intercept=penalised l1_ratio=0.3",
        "loss=hinge preset=cocoa workers=5",
        "loss=logistic preset=cocoa+ workers=4 lanes=3",
        "loss=softmax preset=gd workers=5 lanes=2",
        "loss=softmax preset=minibatch-sgd workers=4",
        "loss=softmax preset=lbfgs workers=4",
        "loss=softmax preset=newton workers=4",
        "loss=softmax preset=newton workers=1 lanes=2 lambda=1e-5",
        "loss=squared-hinge preset=newton workers=1 lambda=1e-4",
        "loss=squared-hinge preset=newton workers=3 lanes=2 intercept=none",
        "loss=logistic preset=newton workers=4 standardise=true",
        "loss=softmax preset=cocoa+ workers=3 lanes=2 standardise=true",
        "loss=squared-hinge preset=mllib-sgd workers=4 intercept=none",
    };
    parley_data *data = class_data(wider, true);
    for (unsigned f = 0; f < COUNT(runs); f++) {
        static parley_settings settings;
        char words[256];
        snprintf(words, sizeof words, "gap=0 rounds=5 lambda=0.01 %s", runs[f]);
        settings = settings_of(words);
        outcome first = {.data = data, .settings = &settings}, other = first;
        train(&first, 1, 1);
        assert_done(first.status[0], &first.error[0]);
        for (unsigned ranks = 1; ranks <= 3; ranks++) {
            train(&other, ranks, 2);
            for (unsigned r = 0; r < ranks; r++) {
                assert_done(other.status[r], &other.error[r]);
                const parley_model *a = first.model[0], *b = other.model[r];
                assert_memory_equal(parley_model_coef(a), parley_model_coef(b), CLASSES * a->columns * sizeof(double));
                assert_memory_equal(parley_model_intercept(a), parley_model_intercept(b), CLASSES * sizeof(double));
            }
            free_models(&other);
        }
        free_models(&first);
    }
    parley_data_free(data);
}

/* A run that starts from its own result has almost nothing left to do. */
static void runs_begin_at_models_of_several_classes(void **state) {
    (void)state;
    const char *const problems[] = {"loss=softmax lambda=0.05",
                                    "loss=softmax lambda=0.05 intercept=penalised l1_ratio=0.3",
                                    "loss=logistic lambda=0.05", "loss=squared-hinge lambda=0.05 standardise=true"};
    for (unsigned p = 0; p < COUNT(problems); p++) {
        char path[] = "/tmp/parley_classes_XXXXXX", words[256];
        int file = mkstemp(path);
        assert_true(file >= 0);
        parley_data *data = class_data(plan, true);
        parley_error error = {0};
        snprintf(words, sizeof words, "%s preset=cocoa+ gap=1e-9", problems[p]);
        outcome first = train_once(data, words);
        assert_done(parley_model_save(first.model[0], path, &error), &error);
        snprintf(words, sizeof words, "%s preset=cocoa+ gap=1e-7 start=%s", problems[p], path);
        outcome again = train_once(data, words);
        assert_int_equal(again.summary[0].stop, PARLEY_CONVERGED);
        assert_at_most((double)again.summary[0].rounds, 3.0);
        assert_close(again.summary[0].objective, first.summary[0].objective, 1e-7);
        free_models(&first);
        free_models(&again);
        parley_data_free(data);
        remove(path);
    }
}

/* Models */

static void models_of_several_classes_are_kept_whole(void **state) {
    (void)state;
    char path[] = "/tmp/parley_classes_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    parley_data *data = class_data(plan, false);
    outcome outcome = train_once(data, "loss=softmax lambda=0.05 preset=cocoa+");
    parley_model *read;
    parley_error error = {0};
    assert_done(parley_model_save(outcome.model[0], path, &error), &error);
    assert_done(parley_model_load(path, &read, &error), &error);
    assert_int_equal(read->outputs, CLASSES);
    assert_memory_equal(parley_model_labels(read), class_labels, sizeof class_labels);
    assert_memory_equal(parley_model_coef(read), parley_model_coef(outcome.model[0]),
                        CLASSES * FEATURES * sizeof(double));
    static double decisions[ROWS * CLASSES];
    assert_done(parley_decide(read, data, decisions, &error), &error);
    for (uint64_t i = 0; i < ROWS; i++) {
        double z[CLASSES], sum = 0;
        read->type->apply(read, &data->x, i, i + 1, z);
        assert_memory_equal(z, decisions + i * CLASSES, sizeof z);
        unsigned best = (unsigned)pl_linear_class(pl_linear(read), read->type->predict(read, z));
        assert_done(read->type->finish(read, PL_PROBABILITY, z, &error), &error);
        for (unsigned c = 0; c < CLASSES; c++) {
            assert_true(z[c] <= z[best]);
            sum += z[c];
        }
        assert_close(sum, 1.0, 1e-14);
    }
    assert_int_equal(pl_linear_class(pl_linear(read), 2.5), CLASSES);
    parley_model_free(read);
    free_models(&outcome);
    parley_data_free(data);
    remove(path);
}

static void refusals_name_what_can_be_done(void **state) {
    (void)state;
    const sample_plan wider = {.seed = 6, .rows = 150, .columns = 3000, .density = 0.003};
    parley_data *data = class_data(wider, false);
    static parley_settings settings;
    settings = settings_of("loss=hinge preset=newton");
    outcome outcome = {.data = data, .settings = &settings};
    train(&outcome, 1, 1);
    assert_int_equal(outcome.status[0], PARLEY_BAD_USAGE);
    assert_string_equal(outcome.error[0].sentence,
                        "combine newton would need a matrix of 3001 x 3001 for each class, but its limit is 2000; "
                        "use --preset cocoa+, or --preset gd");
    double weight[150];
    for (unsigned i = 0; i < 150; i++)
        weight[i] = data->label[i] == 3.0 ? 0.0 : 1.0;
    set_weights(data, weight);
    settings = settings_of("loss=softmax");
    train(&outcome, 1, 1);
    assert_int_equal(outcome.status[0], PARLEY_BAD_INPUT);
    assert_string_equal(outcome.error[0].sentence, "sample: all rows of label 3 have weight 0; leave these rows out");
    parley_data_free(data);
}

/* Every allocation fails in turn. */
static void no_failed_allocation_breaks_a_run(void **state) {
    (void)state;
    const char *const runs[] = {"loss=softmax preset=cocoa+ workers=3 lanes=2 rounds=2 gap=0",
                                "loss=logistic preset=newton rounds=2 gap=0",
                                "loss=softmax combine=truncated workers=2 lanes=2 rounds=2 gap=0"};
    parley_data *data = class_data(plan, false);
    for (unsigned f = 0; f < COUNT(runs); f++)
        assert_survives_lost_memory(data, runs[f]);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rounds_gap_bounds_the_suboptimality),
        cmocka_unit_test(methods_agree_on_the_optimum),
        cmocka_unit_test(two_classes_together_are_logistic_regression),
        cmocka_unit_test(one_against_the_rest_is_a_binary_problem_for_each_class),
        cmocka_unit_test(the_same_bits_for_any_ranks_and_threads),
        cmocka_unit_test(runs_begin_at_models_of_several_classes),
        cmocka_unit_test(models_of_several_classes_are_kept_whole),
        cmocka_unit_test(refusals_name_what_can_be_done),
        cmocka_unit_test(no_failed_allocation_breaks_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
