/* test_online.c: learning from streams: values of an independent oracle, any number of threads, tables, errors. */
#define _DEFAULT_SOURCE /* mkstemp */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/data.h"
#include "linear/model/fold.h"
#include "support.h"

static const char tiny[] = "+1 1:1 3:0.5\n-1 2:1 4:2\n+1 1:0.5 2:0.25 3:1\n-1 2:2\n-1 1:0.5 4:1\n+1 1:2 2:1 4:1\n-1\n"
                           "+1 3:1.5\n-1 1:0.25 2:0.75\n+1 1:1.25 9:1\n";

typedef struct listener {
    unsigned lines, calls, stop_after;
    char last[200];
} listener;

static int listen(void *user, const parley_progress *progress, const char *message) {
    listener *listener = user;
    (void)progress;
    if (message) {
        listener->lines++;
        snprintf(listener->last, sizeof listener->last, "%s", message);
        return 0;
    }
    return ++listener->calls >= listener->stop_after && listener->stop_after > 0;
}

/* The oracle: vowpalwabbit 9.11, vw -b 18 --loss_function LOSS on the rows of `tiny` (squared loss there is twice
 * ours): average loss, and the weights of columns 1 to 4. */
static void steps_are_those_of_vowpal_wabbit(void **state) {
    (void)state;
    const struct {
        const char *loss;
        double average, w[4];
    } cases[] = {
        {"logistic", 0.6468918561935425, {0.268955916, -0.202638015, 0.459372938, -0.129061177}},
        {"hinge", 0.8668535351753235, {0.312400430, -0.249484658, 0.464428514, -0.150995016}},
        {"squared", 0.8881540447473526 / 2, {0.217971504, -0.163351327, 0.368911505, -0.106152318}},
    };
    parley_data *data = data_of(tiny);
    for (unsigned c = 0; c < COUNT(cases); c++) {
        char words[64];
        snprintf(words, sizeof words, "preset=online loss=%s", cases[c].loss);
        outcome outcome = train_once(data, words);
        assert_close(parley_summary_fact(&outcome.summary[0], "progressive_loss")->number, cases[c].average, 1e-4);
        for (unsigned j = 0; j < 4; j++)
            assert_close(parley_model_coef(outcome.model[0])[j], cases[c].w[j], 2e-4);
        assert_int_equal(outcome.summary[0].stop, PARLEY_PASSED);
        assert_true(isnan(outcome.summary[0].gap) && isnan(outcome.summary[0].objective));
        assert_string_equal(pl_model_meta(outcome.model[0], "gap"), "none");
        assert_non_null(pl_model_meta(outcome.model[0], "progressive_loss"));
        free_models(&outcome);
    }
    parley_data_free(data);
}

static void write_text(const char *path, const parley_data *data) {
    parley_error error = {0};
    assert_done(pl_data_write_libsvm(data, path, NULL, &error), &error);
}

static void any_number_of_threads_gives_the_same_model(void **state) {
    (void)state;
    char path[] = "/tmp/parley_online_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    parley_data *data = random_data((sample_plan){.seed = 3, .rows = 30000, .columns = 500, .density = 0.05});
    write_text(path, data);
    outcome whole = train_once(data, "preset=online passes=2");
    for (unsigned threads = 1; threads <= 4; threads++) {
        char words[64];
        snprintf(words, sizeof words, "preset=online passes=2 threads=%u", threads);
        parley_settings settings = settings_of(words);
        parley_error error = {0};
        parley_model *model;
        parley_summary summary;
        assert_done(parley_train_stream(path, &settings, NULL, NULL, &model, &summary, &error), &error);
        assert_true(parley_summary_fact(&summary, "progressive_loss")->number ==
                    parley_summary_fact(&whole.summary[0], "progressive_loss")->number);
        assert_memory_equal(parley_model_coef(model), parley_model_coef(whole.model[0]),
                            data->x.columns * sizeof(double));
        assert_true(summary.rows == 2 * data->x.rows && summary.epochs == 2);
        parley_model_free(model);
    }
    free_models(&whole);
    parley_data_free(data);
    close(file);
    remove(path);
}

static void the_table_has_a_line_at_every_power_of_two(void **state) {
    (void)state;
    parley_data *data = data_of(tiny);
    parley_settings settings = settings_of("preset=online");
    listener listener = {0};
    parley_model *model;
    parley_error error = {0};
    assert_done(parley_train(data, &settings, listen, &listener, &model, NULL, &error), &error);
    assert_int_equal(listener.lines, 2 + 4);
    assert_non_null(strstr(listener.last, "            8            8.0         1.0000"));
    parley_model_free(model);
    parley_data_free(data);
}

static void folding_into_enough_columns_changes_nothing(void **state) {
    (void)state;
    parley_data *data = data_of(tiny);
    outcome plain = train_once(data, "preset=online"), folded = train_once(data, "preset=online hash_bits=4");
    assert_int_equal(folded.model[0]->columns, 16);
    assert_memory_equal(parley_model_coef(plain.model[0]), parley_model_coef(folded.model[0]), 9 * sizeof(double));
    parley_data *far = data_of("+1 1:1 1000000:2\n");
    double decision = 0;
    assert_int_equal(parley_decide(folded.model[0], far, &decision, NULL), PARLEY_OK);
    double expected =
        parley_model_coef(folded.model[0])[0] + 2 * parley_model_coef(folded.model[0])[pl_fold(999999, 4)];
    assert_close(decision, expected + parley_model_intercept(folded.model[0])[0], 1e-12);
    for (uint32_t column = 0; column < 4096; column++) {
        assert_true(pl_fold(column * 7919u, 12) < 4096);
        assert_int_equal(pl_fold(column, 12), column);
    }
    free_models(&plain);
    free_models(&folded);
    parley_data_free(far);
    parley_data_free(data);
}

static void penalties_shrink_what_they_should(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    outcome none = train_once(data, "preset=online passes=5"), l2 = train_once(data, "preset=online passes=5 lambda=1"),
            l1 = train_once(data, "preset=online passes=5 lambda=0.2 l1_ratio=1");
    double norms[3] = {0};
    unsigned zeros = 0;
    for (unsigned j = 0; j < small.columns; j++) {
        norms[0] += fabs(parley_model_coef(none.model[0])[j]);
        norms[1] += fabs(parley_model_coef(l2.model[0])[j]);
        norms[2] += fabs(parley_model_coef(l1.model[0])[j]);
        zeros += parley_model_coef(l1.model[0])[j] == 0.0;
    }
    assert_at_most(norms[1], 0.5 * norms[0]);
    assert_at_most(norms[2], 0.5 * norms[0]);
    assert_true(zeros > 0);
    free_models(&none);
    free_models(&l2);
    free_models(&l1);
    parley_data_free(data);
}

/* Whatever the labels are, the model is that of +1 for the positive one and -1 for the other. */
static void a_positive_label_may_have_any_value(void **state) {
    (void)state;
    static const char *const ways[] = {"preset=online loss=logistic", "preset=online", "preset=newton loss=logistic",
                                       "preset=cocoa+ loss=hinge lambda=0.1"};
    parley_data *data = random_data((sample_plan){.seed = 4, .rows = 200, .columns = 9, .density = 0.5});
    parley_data *other = random_data((sample_plan){.seed = 4, .rows = 200, .columns = 9, .density = 0.5});
    for (uint64_t i = 0; i < 200; i++)
        ((double *)(uintptr_t)other->label)[i] = data->label[i] > 0 ? 3.0 : 7.0;
    for (unsigned w = 0; w < COUNT(ways); w++) {
        char words[100];
        snprintf(words, sizeof words, "%s positive=3", ways[w]);
        outcome usual = train_once(data, ways[w]), chosen = train_once(other, words);
        const pl_linear_model *a = pl_linear(usual.model[0]), *b = pl_linear(chosen.model[0]);
        assert_memory_equal(a->coef, b->coef, 9 * sizeof *a->coef);
        assert_true(b->high == 3.0 && b->low == 7.0);
        free_models(&usual);
        free_models(&chosen);
    }
    parley_data_free(data);
    parley_data_free(other);
}

static void labels_must_be_minus_1_or_0_and_1(void **state) {
    (void)state;
    const struct {
        const char *text, *words, *sentence;
    } cases[] = {
        {"1 1:1\n3 1:1\n", "preset=online loss=logistic",
         "row 2 has label 3; the labels of a stream must be -1 and +1, or 0 and 1, or two of which --positive "
         "names one; for more classes, use --preset gd"},
        {"5 1:1\n3 1:1\n4 1:2\n", "preset=online positive=3",
         "row 3 has label 4 after rows with label 5; with --positive a stream has two labels"},
        {"0 1:1\n1 1:1\n-1 1:2\n", "preset=online loss=hinge",
         "row 3 has label -1 after rows with label 0; use only one of them"},
        {"2 1:1\n-1 1:1\n", "preset=online loss=poisson",
         "row 2 has label -1, but loss poisson needs labels of 0 or more"},
    };
    for (unsigned c = 0; c < COUNT(cases); c++) {
        parley_data *data = data_of(cases[c].text);
        parley_settings settings = settings_of(cases[c].words);
        parley_model *model;
        parley_error error = {0};
        assert_int_equal(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), PARLEY_BAD_INPUT);
        assert_non_null(strstr(error.sentence, cases[c].sentence));
        assert_null(model);
        parley_data_free(data);
    }
}

static void every_loss_learns(void **state) {
    (void)state;
    for (unsigned l = 0; l < pl_losses_count && !pl_losses[l]->together; l++) {
        parley_data *data = pl_losses[l]->labels == PL_LABELS_REAL
                                ? data_of("1 1:1\n2 1:2\n3 1:3\n1 1:1 2:1\n2 1:2 2:-1\n")
                                : random_data(small);
        char words[96];
        snprintf(words, sizeof words, "preset=online loss=%s", pl_losses[l]->name);
        outcome once = train_once(data, words);
        snprintf(words, sizeof words, "preset=online loss=%s passes=30", pl_losses[l]->name);
        outcome often = train_once(data, words);
        assert_at_most(parley_summary_fact(&often.summary[0], "progressive_loss")->number,
                       0.95 * parley_summary_fact(&once.summary[0], "progressive_loss")->number);
        free_models(&once);
        free_models(&often);
        parley_data_free(data);
    }
}

static void a_callback_can_stop_and_the_model_is_usable(void **state) {
    (void)state;
    parley_data *data = data_of(tiny);
    parley_settings settings = settings_of("preset=online passes=100");
    listener listener = {.stop_after = 3};
    parley_model *model;
    parley_summary summary;
    parley_error error = {0};
    assert_done(parley_train(data, &settings, listen, &listener, &model, &summary, &error), &error);
    assert_int_equal(summary.stop, PARLEY_INTERRUPTED);
    assert_int_equal(summary.rows, 30);
    parley_model_free(model);
    parley_data_free(data);
}

static void every_failed_allocation_ends_the_run_with_a_sentence(void **state) {
    (void)state;
    char path[] = "/tmp/parley_online_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, tiny, sizeof tiny - 1), sizeof tiny - 1);
    close(file);
    for (unsigned threads = 1; threads <= 2; threads++) {
        parley_settings settings = settings_of(threads == 1 ? "preset=online threads=1" : "preset=online threads=2");
        parley_status status = PARLEY_NO_MEMORY;
        int64_t n = 0;
        for (; status != PARLEY_OK && n < 500; n++) {
            parley_error error = {0};
            parley_model *model = (parley_model *)&error;
            pl_memory_fail_after(n);
            status = parley_train_stream(path, &settings, NULL, NULL, &model, NULL, &error);
            pl_memory_fail_after(-1);
            if (status == PARLEY_OK)
                parley_model_free(model);
            else {
                assert_int_equal(status, PARLEY_NO_MEMORY);
                assert_int_equal(strncmp(error.sentence, "out of memory: ", 15), 0);
                assert_null(model);
            }
        }
        assert_int_equal(status, PARLEY_OK);
        assert_true(n > 20);
    }
    remove(path);
}

static void rows_of_weight_0_teach_nothing(void **state) {
    (void)state;
    char text[512];
    const double weight[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0};
    snprintf(text, sizeof text, "%s-1 1:7 9:2\n+1 4:3\n", tiny);
    parley_data *plain = data_of(tiny), *more = data_of(text);
    set_weights(more, weight);
    outcome a = train_once(plain, "preset=online loss=hinge"), b = train_once(more, "preset=online loss=hinge");
    assert_memory_equal(parley_model_coef(a.model[0]), parley_model_coef(b.model[0]), 9 * sizeof(double));
    assert_true(parley_summary_fact(&a.summary[0], "progressive_loss")->number ==
                parley_summary_fact(&b.summary[0], "progressive_loss")->number);
    free_models(&a);
    free_models(&b);
    parley_data_free(plain);
    parley_data_free(more);
}

static void the_intercept_and_the_rate_are_as_asked_for(void **state) {
    (void)state;
    parley_data *data = data_of("1 1:1\n1 2:1\n1 1:1\n0 2:1\n1 1:2\n1 2:1\n1 1:1\n");
    outcome free_b = train_once(data, "preset=online loss=squared lambda=0.1"),
            held = train_once(data, "preset=online loss=squared lambda=0.1 intercept=penalised"),
            none = train_once(data, "preset=online loss=squared lambda=0.1 intercept=none"),
            slow = train_once(data, "preset=online loss=squared rate=1e-6");
    double b = parley_model_intercept(free_b.model[0])[0], penalised = parley_model_intercept(held.model[0])[0];
    assert_true(b > 0 && penalised > 0 && penalised < b);
    assert_true(parley_model_intercept(none.model[0])[0] == 0);
    for (unsigned j = 0; j < 2; j++)
        assert_at_most(fabs(parley_model_coef(slow.model[0])[j]), 1e-4);
    free_models(&free_b);
    free_models(&held);
    free_models(&none);
    free_models(&slow);
    parley_data_free(data);
}

static void the_first_labels_choose_the_loss(void **state) {
    (void)state;
    parley_data *numbers = data_of("1 1:1\n0.5 2:1\n-1 1:1\n"), *classes = data_of("1 1:1\n-1 2:1\n-1 1:1\n");
    outcome a = train_once(numbers, "preset=online"), b = train_once(classes, "preset=online");
    assert_string_equal(parley_summary_fact(&a.summary[0], "loss")->text, "squared");
    assert_string_equal(parley_summary_fact(&b.summary[0], "loss")->text, "logistic");
    free_models(&a);
    free_models(&b);
    parley_data_free(numbers);
    parley_data_free(classes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_vowpal_wabbit),
        cmocka_unit_test(any_number_of_threads_gives_the_same_model),
        cmocka_unit_test(the_table_has_a_line_at_every_power_of_two),
        cmocka_unit_test(folding_into_enough_columns_changes_nothing),
        cmocka_unit_test(penalties_shrink_what_they_should),
        cmocka_unit_test(a_positive_label_may_have_any_value),
        cmocka_unit_test(labels_must_be_minus_1_or_0_and_1),
        cmocka_unit_test(every_loss_learns),
        cmocka_unit_test(a_callback_can_stop_and_the_model_is_usable),
        cmocka_unit_test(every_failed_allocation_ends_the_run_with_a_sentence),
        cmocka_unit_test(rows_of_weight_0_teach_nothing),
        cmocka_unit_test(the_intercept_and_the_rate_are_as_asked_for),
        cmocka_unit_test(the_first_labels_choose_the_loss),
    };
    return cmocka_run_group_tests_name("online", tests, NULL, NULL);
}
