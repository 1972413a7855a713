/* test_validation.c: validation rows, the metric on them, patience, and the returned model. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include "train/validation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"
#include "trace/lines.h"

static void a_subset_has_the_rows_that_are_listed(void **state) {
    (void)state;
    parley_data *data = random_data(small), *part;
    double weight[160];
    uint64_t rows[] = {159, 3, 3, 70};
    parley_error error;
    for (unsigned i = 0; i < 160; i++)
        weight[i] = i;
    set_weights(data, weight);
    assert_done(pl_data_subset(data, rows, COUNT(rows), &part, &error), &error);
    assert_int_equal(part->x.rows, COUNT(rows));
    assert_int_equal(part->x.columns, data->x.columns);
    for (unsigned i = 0; i < COUNT(rows); i++) {
        uint64_t from = data->x.start[rows[i]], count = data->x.start[rows[i] + 1] - from;
        assert_int_equal(part->x.start[i + 1] - part->x.start[i], count);
        assert_memory_equal(part->x.index + part->x.start[i], data->x.index + from, count * sizeof *data->x.index);
        assert_memory_equal(part->x.values.narrow + part->x.start[i], data->x.values.narrow + from,
                            count * sizeof *data->x.values.narrow);
        assert_true(part->label[i] == data->label[rows[i]] && part->weight[i] == (double)rows[i]);
    }
    assert_int_equal(part->x.nonzeros, part->x.start[part->x.rows]);
    parley_data_free(part);
    parley_data_free(data);
}

static void a_fraction_splits_the_rows(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    pl_validation first, again, other;
    parley_error error;
    parley_settings settings = settings_of("validation_fraction=0.25");
    assert_done(pl_validation_open(&first, NULL, data, &pl_model_linear, &settings, &error), &error);
    assert_done(pl_validation_open(&again, NULL, data, &pl_model_linear, &settings, &error), &error);
    settings.seed = 2;
    assert_done(pl_validation_open(&other, NULL, data, &pl_model_linear, &settings, &error), &error);
    assert_int_equal(first.rows->x.rows, 40);
    assert_int_equal(first.kept->x.rows, 120);
    assert_int_equal(first.rows->x.nonzeros + first.kept->x.nonzeros, data->x.nonzeros);
    assert_memory_equal(first.rows->label, again.rows->label, 40 * sizeof(double));
    assert_true(first.rows->x.nonzeros != other.rows->x.nonzeros ||
                memcmp(first.rows->x.index, other.rows->x.index, first.rows->x.nonzeros * 4) != 0);
    pl_validation_close(&first);
    pl_validation_close(&again);
    pl_validation_close(&other);
    parley_data_free(data);
}

static void fractions_that_leave_nothing_are_refused(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    const char *const words[] = {"validation_fraction=0.001", "validation_fraction=1"};
    for (unsigned i = 0; i < COUNT(words); i++) {
        pl_validation validation;
        parley_error error;
        parley_settings settings = settings_of(words[i]);
        assert_int_equal(pl_validation_open(&validation, NULL, data, &pl_model_linear, &settings, &error),
                         PARLEY_BAD_USAGE);
        pl_validation_close(&validation);
    }
    parley_data_free(data);
}

static void a_metric_of_another_type_of_model_is_refused(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    pl_validation validation;
    parley_error error;
    parley_settings settings = settings_of("validation_fraction=0.25 metric=perplexity");
    assert_int_equal(pl_validation_open(&validation, NULL, data, &pl_model_linear, &settings, &error),
                     PARLEY_BAD_USAGE);
    assert_non_null(strstr(error.sentence, "--metric perplexity is not for linear models; choose one of accuracy, "));
    pl_validation_close(&validation);
    parley_data_free(data);
}

static void several_classes_have_the_mean_of_their_f1(void **state) {
    (void)state;
    parley_data *data = class_data(small, false);
    outcome done =
        train_once(data, "preset=cocoa+ validation_fraction=0.3 metric=macro_f1 lambda=1e-3 rounds=20 gap=0");
    assert_string_equal(done.summary[0].metric, "macro_f1");
    assert_true(done.summary[0].validation > 0.3 && done.summary[0].validation <= 1.0);
    free_models(&done);
    parley_data_free(data);
}

static void the_model_returned_is_the_best_on_validation_rows(void **state) {
    (void)state;
    const char *const metrics[] = {"loss", "accuracy", "auc", "log_loss", "hinge"};
    parley_data *data = random_data(small);
    for (unsigned m = 0; m < COUNT(metrics); m++) {
        char words[200];
        snprintf(words, sizeof words,
                 "preset=cocoa+ validation_fraction=0.3 metric=%s patience=4 lambda=1e-6 gap=0 rounds=400", metrics[m]);
        outcome done = train_once(data, words);
        pl_validation validation;
        parley_error error;
        double value;
        pl_engine *engine;
        parley_settings settings = settings_of(words);
        assert_int_equal(done.summary[0].stop, PARLEY_PATIENCE);
        assert_string_equal(done.summary[0].metric, metrics[m]);
        assert_int_equal(done.summary[0].rounds, done.summary[0].validation_round + 4);
        assert_done(pl_validation_open(&validation, NULL, data, &pl_model_linear, &settings, &error), &error);
        assert_int_equal(pl_threads_open(&engine, 1, 2, DEADLINE, NULL), PARLEY_OK);
        assert_done(pl_score_model(pl_metric_find(&pl_model_linear, settings.metric), engine, done.model[0],
                                   validation.rows, &value, &error),
                    &error);
        assert_true(value == done.summary[0].validation);
        assert_close(objective_of(validation.kept, done.model[0], pl_linear(done.model[0])->loss, &done.summary[0]),
                     done.summary[0].objective, 1e-12);
        pl_engine_close(engine);
        pl_validation_close(&validation);
        free_models(&done);
    }
    parley_data_free(data);
}

/* The metric in the log's line of a round; NaN if that line has none. */
static double logged_metric(const char *path, uint64_t round) {
    parley_error error;
    parley_status status = PARLEY_OK;
    double found = NAN;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    pl_lines lines = {.file = file, .name = path};
    for (json_t *line; (line = pl_lines_next(&lines, &status, &error)); json_decref(line))
        if (strcmp(pl_line_text(line, "event"), "round") == 0 && pl_line_number(line, "round") == (double)round)
            found = pl_line_number(line, "validation");
    pl_lines_close(&lines);
    fclose(file);
    assert_done(status, &error);
    return found;
}

static double meta_number(const parley_model *model, const char *wanted) {
    const char *key, *value;
    for (unsigned i = 0; (key = parley_model_meta(model, i, &value)); i++)
        if (strcmp(key, wanted) == 0)
            return strtod(value, NULL);
    return NAN;
}

/* Summary, metadata, log and status describe the model that is returned. */
static void assert_one_story(const parley_data *data, const char *words, const char *path) {
    outcome done = train_once(data, words);
    const parley_summary *summary = &done.summary[0];
    const parley_model *model = done.model[0];
    parley_settings settings = settings_of(words);
    pl_validation validation;
    parley_error error;
    double value;
    pl_engine *engine;
    assert_done(pl_validation_open(&validation, NULL, data, &pl_model_linear, &settings, &error), &error);
    assert_int_equal(pl_threads_open(&engine, 1, 2, DEADLINE, NULL), PARLEY_OK);
    assert_done(pl_score_model(validation.score, engine, model, validation.rows, &value, &error), &error);
    double logged = logged_metric(path, summary->validation_round);
    bool evaluated_last = summary->validation_round == summary->rounds; /* perhaps after its line was written */
    bool told = summary->validation_round == 0 || logged == value || (isnan(logged) && evaluated_last);
    bool claimed = summary->stop == PARLEY_CONVERGED && summary->relative_gap > settings.gap;
    if (value != summary->validation || !told || claimed)
        print_error("%s: %s, metric %.17g, summary %.17g, in the log's line of round %llu %.17g, relative gap %g\n",
                    words, parley_stop_text(summary->stop), value, summary->validation,
                    (unsigned long long)summary->validation_round, logged, summary->relative_gap);
    assert_true(value == summary->validation && told && !claimed);
    assert_true(meta_number(model, "validation_value") == value);
    assert_true(meta_number(model, "validation_round") == (double)summary->validation_round);
    assert_close(objective_of(validation.kept, model, pl_linear(model)->loss, summary), summary->objective, 1e-9);
    assert_true(meta_number(model, "objective") == summary->objective);
    if (!isnan(summary->gap))
        assert_true(summary->gap == fmax(0.0, summary->objective - summary->dual));
    pl_engine_close(engine);
    pl_validation_close(&validation);
    free_models(&done);
}

static void all_reports_describe_the_returned_model(void **state) {
    (void)state;
    static const char *const presets[] = {"newton", "lbfgs",        "cocoa+", "gd",       "ma-sgd",
                                          "hybrid", "cocoa-newton", "cocoa",  "mllib-ma", "minibatch-sgd"};
    static const char *const limits[] = {"rounds=4 gap=0", "rounds=60 patience=60 gap=1e-3",
                                         "rounds=13 evaluate_every=5 gap=1e-9", "rounds=60 patience=2 gap=1e-6"};
    char path[] = "/tmp/parley-validation-XXXXXX";
    parley_data *data = random_data(small);
    assert_true(close(mkstemp(path)) == 0);
    for (unsigned p = 0; p < COUNT(presets); p++)
        for (unsigned l = 0; l < COUNT(limits); l++)
            for (unsigned m = 0; m < 2; m++) {
                char words[300];
                snprintf(words, sizeof words,
                         "preset=%s %s validation_fraction=0.3 metric=%s lambda=1e-4 workers=2 log=%s", presets[p],
                         limits[l], m ? "auc" : "loss", path);
                assert_one_story(data, words, path);
            }
    remove(path);
    parley_data_free(data);
}

static void ranks_agree_on_when_to_stop(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    static parley_settings settings;
    settings = settings_of("preset=cocoa+ workers=4 validation_fraction=0.3 patience=4 lambda=1e-6 gap=0 rounds=400");
    outcome one = {.data = data, .settings = &settings}, more = one;
    train(&one, 1, 1);
    train(&more, 3, 2);
    for (unsigned r = 0; r < 3; r++) {
        assert_done(more.status[r], &more.error[r]);
        assert_int_equal(more.summary[r].rounds, one.summary[0].rounds);
        assert_memory_equal(parley_model_coef(more.model[r]), parley_model_coef(one.model[0]), 12 * sizeof(double));
    }
    free_models(&one);
    free_models(&more);
    parley_data_free(data);
}

static void failed_allocations_end_with_a_sentence(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    assert_survives_lost_memory(data,
                                "preset=cocoa+ workers=2 threads=1 rounds=3 gap=0 validation_fraction=0.3 metric=auc");
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subset_has_the_rows_that_are_listed),
        cmocka_unit_test(a_fraction_splits_the_rows),
        cmocka_unit_test(fractions_that_leave_nothing_are_refused),
        cmocka_unit_test(a_metric_of_another_type_of_model_is_refused),
        cmocka_unit_test(several_classes_have_the_mean_of_their_f1),
        cmocka_unit_test(the_model_returned_is_the_best_on_validation_rows),
        cmocka_unit_test(all_reports_describe_the_returned_model),
        cmocka_unit_test(ranks_agree_on_when_to_stop),
        cmocka_unit_test(failed_allocations_end_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
