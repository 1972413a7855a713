/* Tests of a second problem, k-means, in the loop that linear models use: ranks, checkpoints, validation, files. */
#include "kmeans.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static const char *const methods[] = {"preset=auto", "preset=gd", "preset=kmeans-average local_epochs=3",
                                      "preset=gd exchange=allreduce rate=0.7"};

static void assert_same_centres(const parley_model *a, const parley_model *b) {
    assert_int_equal(a->columns, b->columns);
    assert_memory_equal(kmeans_centres(a), kmeans_centres(b), a->columns * KMEANS_CENTRES * sizeof(double));
}

/* The objective by the book. */
static double objective_at(const parley_data *data, const parley_model *model) {
    const double *c = kmeans_centres(model);
    double sum = 0, total = 0;
    for (uint64_t i = 0; i < data->x.rows; i++) {
        double weight = data->weight ? data->weight[i] : 1.0, least = INFINITY;
        for (unsigned k = 0; k < KMEANS_CENTRES; k++) {
            double *row = calloc(data->x.columns, sizeof *row), distance = 0;
            for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++)
                row[data->x.index[e]] = pl_value_at(data->x.values, e);
            for (uint64_t j = 0; j < data->x.columns; j++)
                distance += pow(row[j] - c[j * KMEANS_CENTRES + k], 2.0);
            least = fmin(least, distance);
            free(row);
        }
        sum += 0.5 * weight * least;
        total += weight;
    }
    return sum / total;
}

static void the_objective_is_that_of_the_centres(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    for (unsigned m = 0; m < COUNT(methods); m++) {
        char words[160];
        snprintf(words, sizeof words, "problem=kmeans %s workers=2 tolerance=1e-6", methods[m]);
        outcome outcome = train_once(data, words);
        const parley_summary *summary = &outcome.summary[0];
        assert_close(summary->objective, objective_at(data, outcome.model[0]), 1e-12);
        assert_true(isnan(summary->dual) && isnan(summary->gap));
        assert_string_equal(summary->problem, "kmeans");
        assert_true(parley_summary_fact(summary, "centres")->number == KMEANS_CENTRES);
        free_models(&outcome);
    }
    parley_data_free(data);
}

static void centres_are_means_at_the_end(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    outcome outcome = train_once(data, "problem=kmeans tolerance=1e-15 rounds=300");
    const double *c = kmeans_centres(outcome.model[0]);
    double sums[KMEANS_CENTRES][64] = {{0}}, rows[KMEANS_CENTRES] = {0}, norm2[KMEANS_CENTRES],
           distance[KMEANS_CENTRES];
    assert_true(data->x.columns <= 64);
    assert_int_equal(outcome.summary[0].stop, PARLEY_CONVERGED);
    kmeans_norms(data->x.columns, c, norm2);
    for (uint64_t i = 0; i < data->x.rows; i++) {
        kmeans_distances(&data->x, i, data->x.columns, c, norm2, distance);
        unsigned k = kmeans_nearest(distance);
        rows[k]++;
        for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++)
            sums[k][data->x.index[e]] += pl_value_at(data->x.values, e);
    }
    for (unsigned k = 0; k < KMEANS_CENTRES; k++)
        for (uint64_t j = 0; j < data->x.columns && rows[k] > 0; j++)
            assert_close(c[j * KMEANS_CENTRES + k], sums[k][j] / rows[k], 1e-9);
    free_models(&outcome);
    parley_data_free(data);
}

static void bits_do_not_depend_on_ranks_and_threads(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    for (unsigned m = 0; m < COUNT(methods); m += SOME) {
        static parley_settings settings;
        char words[160];
        snprintf(words, sizeof words, "problem=kmeans %s workers=4 lanes=1 rounds=7 tolerance=0 seed=%u", methods[m],
                 m + 1);
        settings = settings_of(words);
        pl_setting_forget(&settings, "lanes"); /* no solver here has lanes */
        assert_same_on_ranks(data, &settings, 4, assert_same_centres);
    }
    parley_data_free(data);
}

static void a_worker_makes_the_local_epochs_asked_for(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    outcome three = train_once(data, "problem=kmeans workers=1 rounds=2 local_epochs=3 tolerance=0"),
            one = train_once(data, "problem=kmeans workers=1 rounds=6 tolerance=0");
    for (uint64_t j = 0; j < data->x.columns * KMEANS_CENTRES; j++)
        assert_close(kmeans_centres(three.model[0])[j], kmeans_centres(one.model[0])[j], 1e-12);
    assert_close(three.summary[0].epochs, 6.0, 1e-12);
    free_models(&three);
    free_models(&one);
    parley_data_free(data);
}

static void runs_stop_by_change_passes_rounds_and_patience(void **state) {
    (void)state;
    static const struct {
        const char *words;
        parley_stop stop;
    } cases[] = {{"tolerance=1e-3", PARLEY_CONVERGED},
                 {"tolerance=0 passes=3 evaluate_every=1", PARLEY_PASSED},
                 {"tolerance=0 rounds=2", PARLEY_ROUNDS},
                 {"tolerance=0 seconds=0", PARLEY_SECONDS},
                 {"tolerance=0 validation_fraction=0.3 patience=2", PARLEY_PATIENCE}};
    parley_data *data = random_data(small);
    for (unsigned i = 0; i < COUNT(cases); i++) {
        char words[160];
        snprintf(words, sizeof words, "problem=kmeans %s", cases[i].words);
        outcome outcome = train_once(data, words);
        assert_int_equal(outcome.summary[0].stop, cases[i].stop);
        if (cases[i].stop == PARLEY_PATIENCE) {
            assert_string_equal(outcome.summary[0].metric, "inertia");
            assert_true(outcome.summary[0].validation > 0);
        }
        if (cases[i].stop == PARLEY_PASSED)
            assert_close(outcome.summary[0].epochs, 3.0, 1e-9);
        free_models(&outcome);
    }
    parley_data_free(data);
}

static void rows_need_no_labels(void **state) {
    (void)state;
    static parley_settings settings;
    parley_data *data = random_data(small), *bare;
    parley_arrays arrays;
    parley_model *with, *without;
    parley_error error;
    settings = settings_of("problem=kmeans workers=3 tolerance=0 rounds=4 validation_fraction=0.2");
    char log[128];
    snprintf(log, sizeof log, "%s/log", test_folder);
    settings.log = log;
    parley_data_arrays(data, &arrays);
    assert_done(parley_data_from_csr(data->x.rows, data->x.columns, arrays.start, PARLEY_INT64, arrays.index,
                                     PARLEY_INT32, arrays.value, PARLEY_FLOAT32, NULL, arrays.weight, 1, &bare, &error),
                &error);
    assert_done(parley_train(data, &settings, NULL, NULL, &with, NULL, &error), &error);
    assert_done(parley_train(bare, &settings, NULL, NULL, &without, NULL, &error), &error);
    assert_same_centres(with, without);
    assert_int_equal(unlink(settings.log), 0);
    parley_model_free(without);
    settings = settings_of("");
    assert_int_equal(parley_train(bare, &settings, NULL, NULL, &without, NULL, &error), PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "no labels to train on"));
    parley_model_free(with);
    parley_data_free(bare);
    parley_data_free(data);
}

static void a_resumed_run_ends_at_the_same_bits(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    for (unsigned m = 0; m < COUNT(methods); m++) {
        char words[512], checkpoint[64];
        snprintf(words, sizeof words, "problem=kmeans %s workers=3 tolerance=0", methods[m]);
        snprintf(checkpoint, sizeof checkpoint, "%s/%u", test_folder, m);
        assert_resumes(data, words, checkpoint, assert_same_centres);
        snprintf(words, sizeof words, "problem=linear resume=%s", checkpoint);
        static parley_settings settings;
        settings = settings_of(words);
        outcome wrong = {.data = data, .settings = &settings};
        train(&wrong, 1, 1);
        assert_int_equal(wrong.status[0], PARLEY_BAD_INPUT);
        assert_non_null(strstr(wrong.error[0].sentence, "that run solved problem kmeans, but this one solves linear"));
        remove_checkpoint(checkpoint);
    }
    parley_data_free(data);
}

static void models_are_saved_loaded_and_begun_at(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    outcome first = train_once(data, "problem=kmeans rounds=3 tolerance=0"),
            whole = train_once(data, "problem=kmeans rounds=5 tolerance=0");
    parley_model *loaded, *linear;
    parley_error error = {0};
    char words[160];
    double values[KMEANS_CENTRES];
    assert_done(parley_model_save(first.model[0], model_path, &error), &error);
    assert_done(parley_model_load(model_path, &loaded, &error), &error);
    assert_same_centres(loaded, first.model[0]);
    assert_string_equal(pl_model_meta(loaded, "preset"), "kmeans-average");
    assert_null(pl_model_meta(loaded, "lambda"));
    assert_null(parley_model_coef(loaded));
    loaded->type->apply(loaded, &data->x, 7, 8, values);
    assert_true(loaded->type->predict(loaded, values) == kmeans_nearest(values));
    parley_model_free(loaded);
    snprintf(words, sizeof words, "problem=kmeans start=%s rounds=2 tolerance=0", model_path);
    outcome rest = train_once(data, words);
    assert_same_centres(rest.model[0], whole.model[0]);
    outcome other = train_once(data, "lambda=0.1");
    linear = other.model[0];
    static parley_settings settings;
    settings = settings_of("problem=kmeans");
    assert_int_equal(parley_train_from(data, &settings, linear, NULL, NULL, &loaded, NULL, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, "the model to start from is of problem linear, but this problem is kmeans");
    settings = settings_of("lambda=0.1");
    assert_int_equal(parley_train_from(data, &settings, first.model[0], NULL, NULL, &loaded, NULL, &error),
                     PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, "the model to start from is of problem kmeans, but this problem is linear");
    free_models(&first);
    free_models(&whole);
    free_models(&rest);
    free_models(&other);
    parley_data_free(data);
}

static void members_of_another_problem_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *words, *sentence;
    } cases[] = {
        {"problem=kmeans preset=cocoa+",
         "preset cocoa+ is for problem linear, but this problem is kmeans; use parley train"},
        {"preset=kmeans-average",
         "preset kmeans-average is for problem kmeans, but this problem is linear; use parley cluster"},
        {"problem=kmeans preset=kmeans-average combine=newton",
         "combine newton is for problem linear, but this problem is kmeans; use --combine average"},
        {"problem=kmeans preset=kmeans-average local=sdca",
         "local solver sdca is for problem linear, but this problem is kmeans; use --preset gd with --local auto, or "
         "--preset auto"},
        {"problem=kmeans preset=kmeans-average combine=step", "combine step needs gradients, which local solver lloyd "
                                                              "does not compute; use --preset gd, or --local gradient"},
        {"problem=kmeans exchange=shared preset=kmeans-average",
         "exchange shared needs workers that step in one shared model, which local solver lloyd cannot do; use "
         "--exchange allreduce"},
        {"problem=kmeans preset=gd local_epochs=2",
         "--local-epochs has no effect with gradient x step; only --local lloyd reads it"},
        {"problem=kmeans preset=kmeans-average local_steps=9",
         "--local-steps has no effect with lloyd x average; leave it out"},
        {"problem=kmeans preset=kmeans-averag",
         "--preset kmeans-averag: unknown name; did you mean kmeans-average? (choose one of auto, kmeans-average, "
         "gd)"},
        {"problem=kmeans combine=lloyd", "--combine lloyd: unknown name; choose one of average, sum, step"},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        parley_settings settings = settings_of(cases[i].words);
        parley_error error = {0};
        assert_int_equal(pl_train_check(&settings, &error), PARLEY_BAD_USAGE);
        assert_string_equal(error.sentence, cases[i].sentence);
    }
}

static void every_failed_allocation_has_its_sentence(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    assert_survives_lost_memory(data, "problem=kmeans workers=2 rounds=2 tolerance=0 validation_fraction=0.2");
    assert_survives_lost_memory(data, "problem=kmeans preset=gd rounds=2 tolerance=0");
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_objective_is_that_of_the_centres),
        cmocka_unit_test(centres_are_means_at_the_end),
        cmocka_unit_test(bits_do_not_depend_on_ranks_and_threads),
        cmocka_unit_test(a_worker_makes_the_local_epochs_asked_for),
        cmocka_unit_test(runs_stop_by_change_passes_rounds_and_patience),
        cmocka_unit_test(rows_need_no_labels),
        cmocka_unit_test(a_resumed_run_ends_at_the_same_bits),
        cmocka_unit_test(models_are_saved_loaded_and_begun_at),
        cmocka_unit_test(members_of_another_problem_are_refused),
        cmocka_unit_test(every_failed_allocation_has_its_sentence),
    };
    return cmocka_run_group_tests_name("kmeans", tests, make_test_folder, remove_test_folder);
}
