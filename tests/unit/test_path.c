/* test_path.c: where a path begins, its models, and when it ends. */
#include "linear/path/linear_path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "support.h"

typedef struct walk {
    const parley_data *data;
    const parley_settings *settings;
    pl_path_plan plan;
    pl_path *path[MOST_RANKS];
} walk;

static parley_status walk_body(pl_engine *engine, void *context, parley_error *error) {
    walk *walk = context;
    return pl_path_rank(engine, walk->data, walk->settings, &walk->plan, NULL, NULL, &walk->path[engine->rank], error);
}

static pl_path *path_of(const parley_data *data, const char *words, bool all) {
    parley_settings settings = settings_of(words);
    walk walk = {.data = data, .settings = &settings, .plan = {.all = all}};
    parley_status status;
    parley_error error;
    run_ranks(1, 1, DEADLINE, walk_body, &walk, &status, &error);
    if (status != PARLEY_OK)
        print_error("%s:\n", words);
    assert_done(status, &error);
    return walk.path[0];
}

static void the_first_lambda_is_the_least_without_coefficients(void **state) {
    (void)state;
    const char *const forms[] = {"l1_ratio=0.5",
                                 "l1_ratio=0.9 standardise=true",
                                 "l1_ratio=0.5 intercept=none",
                                 "l1_ratio=0.3 class_weights=balanced",
                                 "l1_ratio=0.5 intercept=penalised",
                                 "l1_ratio=0.5 loss=squared",
                                 "l1_ratio=0.5 loss=squared-hinge"};
    parley_data *data = random_data(small);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        char words[160];
        snprintf(words, sizeof words, "%s preset=cocoa+ lambdas=3 gap=1e-12 lambda_ratio=0.98", forms[f]);
        pl_path *path = path_of(data, words, true);
        assert_int_equal(path->count, 3);
        bool intercept_first = strstr(forms[f], "penalised") != NULL; /* a penalised intercept is one more column */
        for (unsigned k = 0; k < 3; k++)
            if (!intercept_first)
                assert_true(k == 0 ? path->points[k].nonzeros == 0 : path->points[k].nonzeros > 0);
        assert_close(path->points[2].lambda, 0.98 * path->points[0].lambda, 1e-12);
        parley_path_free(path);
    }
    parley_data_free(data);
}

static void models_are_those_of_single_runs(void **state) {
    (void)state;
    const char *const forms[] = {"preset=cocoa+ local=sdca l1_ratio=0.5",
                                 "preset=cocoa+ local=scd workers=2 l1_ratio=0.5",
                                 "preset=newton",
                                 "preset=lbfgs",
                                 "preset=lbfgs l1_ratio=0.5",
                                 "preset=newton combine=truncated",
                                 "preset=cocoa+ workers=3 loss=hinge",
                                 "preset=cocoa+ standardise=true l1_ratio=0.2",
                                 "preset=gd l1_ratio=1 rounds=50000"};
    parley_data *data = random_data(small);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        char words[160];
        snprintf(words, sizeof words, "%s lambda_list=0.003,0.1,0.02 gap=1e-8", forms[f]);
        pl_path *path = path_of(data, words, true);
        double *coef = path_values(path);
        const double lambdas[] = {0.1, 0.02, 0.003};
        for (unsigned k = 0; k < 3; k++) {
            snprintf(words, sizeof words, "%s gap=1e-8 lambda=%g", forms[f], lambdas[k]);
            outcome one = train_once(data, words);
            assert_true(path->points[k].lambda == lambdas[k]);
            assert_int_equal(path->points[k].stop, PARLEY_CONVERGED);
            assert_close(path->points[k].objective, one.summary[0].objective, 2e-8);
            for (uint64_t j = 0; j < 12; j++)
                assert_close(coef[k * 12 + j], parley_model_coef(one.model[0])[j], 1e-2);
            free_models(&one);
        }
        assert_true(path->points[0].explained < path->points[2].explained);
        free(coef);
        parley_path_free(path);
    }
    parley_data_free(data);
}

static void a_path_ends_when_it_explains_no_more(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    const char *words = "preset=newton lambdas=60 lambda_ratio=1e-9";
    pl_path *all = path_of(data, words, true), *path = path_of(data, words, false);
    assert_int_equal(all->count, 60);
    assert_false(all->ended);
    assert_true(path->ended && path->count > 5 && path->count < 60);
    double last = path->points[path->count - 1].explained, before = path->points[path->count - 2].explained;
    assert_true(last > 0.999 || last - before < 1e-5 * last);
    parley_path_free(path);
    parley_path_free(all);
    parley_data_free(data);
}

static void a_path_is_the_same_on_any_ranks(void **state) {
    (void)state;
    parley_data *data = random_data(wide);
    parley_settings settings = settings_of("preset=cocoa+ l1_ratio=0.5 workers=5 lambdas=4 lambda_ratio=0.3 lanes=2");
    walk one = {.data = data, .settings = &settings}, more = one;
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    run_ranks(1, 2, DEADLINE, walk_body, &one, status, error);
    assert_done(status[0], &error[0]);
    ranks_share_memory = true;
    run_ranks(3, 1, DEADLINE, walk_body, &more, status, error);
    for (unsigned r = 0; r < 3; r++) {
        assert_done(status[r], &error[r]);
        assert_int_equal(more.path[r]->count, 4);
        double *mine = path_values(more.path[r]), *alone = path_values(one.path[0]);
        assert_memory_equal(mine, alone, 4 * data->x.columns * sizeof(double));
        free(mine);
        free(alone);
        parley_path_free(more.path[r]);
    }
    parley_path_free(one.path[0]);
    parley_data_free(data);
}

static void bad_lists_are_refused(void **state) {
    (void)state;
    const char *const words[] = {
        "lambda_list=0.1,x", "lambda_list=0", "lambda_list=-1",          "lambda_list=0.1;0.2",
        "lambda_list=1e999", "lambda_list=,", "lambda_list=1 lambdas=3", "lambda_list=1 lambda_ratio=0.1"};
    for (unsigned i = 0; i < COUNT(words); i++) {
        parley_error error;
        parley_settings settings = settings_of(words[i]);
        assert_int_equal(pl_path_check(&settings, &error), PARLEY_BAD_USAGE);
        assert_non_null(strstr(error.sentence, "--lambda-list"));
    }
}

static void a_path_takes_neither_checkpoints_nor_streams(void **state) {
    (void)state;
    const struct {
        const char *words, *part;
    } cases[] = {{"checkpoint=state", "--checkpoint"},
                 {"resume=state", "--resume"},
                 {"preset=online", "preset online reads a stream and cannot compute a path"}};
    for (unsigned i = 0; i < COUNT(cases); i++) {
        parley_error error = {0};
        parley_settings settings = settings_of(cases[i].words);
        assert_int_equal(pl_path_check(&settings, &error), PARLEY_BAD_USAGE);
        assert_non_null(strstr(error.sentence, cases[i].part));
    }
}

static void failed_allocations_of_a_path_end_with_a_sentence(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    const char *const forms[] = {"preset=cocoa+ workers=2 validation_fraction=0.2", "preset=newton"};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        char words[160], file[64];
        snprintf(words, sizeof words, "%s lambdas=2 rounds=2 gap=0", forms[f]);
        snprintf(file, sizeof file, "path-%d.safetensors", (int)getpid());
        parley_settings settings = settings_of(words);
        parley_status status = PARLEY_NO_MEMORY;
        for (int64_t n = 0; status != PARLEY_OK; n++) {
            pl_engine *engine;
            parley_error error = {0};
            pl_path *path = NULL;
            pl_path_plan plan = {.all = true};
            assert_true(n < 2000);
            assert_int_equal(pl_threads_open(&engine, 1, 1, DEADLINE, NULL), PARLEY_OK);
            pl_memory_fail_after(n);
            status = pl_path_rank(engine, data, &settings, &plan, NULL, NULL, &path, &error);
            assert_int_equal(path != NULL, status == PARLEY_OK);
            if (status == PARLEY_OK)
                status = parley_path_save(path, file, &error);
            pl_memory_fail_after(-1);
            assert_true(status == PARLEY_OK || status == PARLEY_NO_MEMORY);
            parley_path_free(path);
            pl_engine_close(engine);
        }
        remove(file);
    }
    parley_data_free(data);
}

static void a_file_keeps_the_labels_of_classes(void **state) {
    (void)state;
    parley_data *data = class_data(small, false);
    pl_path *path = path_of(data, "preset=cocoa+ lambdas=3 gap=1e-4", true);
    pl_container *container;
    parley_model *model;
    parley_error error;
    char file[64];
    snprintf(file, sizeof file, "labels-%d.safetensors", (int)getpid());
    assert_true(path->outputs > 2);
    assert_done(parley_path_save(path, file, &error), &error);
    assert_done(pl_container_open(file, &container, &error), &error);
    remove(file);
    const pl_tensor *labels = pl_container_tensor(container, "labels");
    assert_non_null(labels);
    assert_int_equal(labels->shape[0], path->outputs);
    assert_memory_equal(labels->data, parley_model_labels(path->model), path->outputs * sizeof(double));
    pl_container_close(container);
    assert_done(parley_path_model(path, 1, &model, &error), &error);
    assert_memory_equal(parley_model_labels(model), parley_model_labels(path->model), path->outputs * sizeof(double));
    double *coef = path_values(path);
    assert_memory_equal(parley_model_coef(model), coef + path->outputs * path->columns,
                        path->outputs * path->columns * sizeof(double));
    free(coef);
    parley_model_free(model);
    parley_path_free(path);
    parley_data_free(data);
}

static void tell_once(void *user, const char *sentence) {
    char *said = user;
    snprintf(said, 200, "%s", sentence);
}

static void models_between_lambdas_are_interpolated(void **state) {
    (void)state;
    parley_data *data = class_data(small, false);
    pl_path *path = path_of(data, "preset=cocoa+ lambda_list=0.4,0.1 gap=1e-6", true);
    uint64_t size = path->outputs * path->columns;
    double *values = path_values(path);
    parley_model *model;
    parley_error error;
    char said[200] = "";
    const char *const exact[] = {"first", "0.4", "0.100000001", "last"};
    for (unsigned i = 0; i < 4; i++) {
        assert_done(parley_path_at(path, exact[i], tell_once, said, &model, &error), &error);
        assert_memory_equal(parley_model_coef(model), values + (i > 1 ? size : 0), size * sizeof *values);
        parley_model_free(model);
    }
    assert_string_equal(said, "");
    assert_done(parley_path_at(path, "0.2", tell_once, said, &model, &error), &error);
    assert_non_null(strstr(said, "between the lambdas 0.4 and 0.1"));
    for (uint64_t j = 0; j < size; j++)
        assert_close(parley_model_coef(model)[j], values[j] / 3 + 2 * values[size + j] / 3, 1e-12);
    for (uint64_t c = 0; c < path->outputs; c++)
        assert_close(parley_model_intercept(model)[c],
                     path->intercept[c] / 3 + 2 * path->intercept[path->outputs + c] / 3, 1e-12);
    parley_model_free(model);
    assert_done(parley_path_at(path, "7", tell_once, said, &model, &error), &error);
    assert_string_equal(said, "the path ends at lambda 0.4, whose model is used");
    assert_memory_equal(parley_model_coef(model), values, size * sizeof *values);
    parley_model_free(model);
    assert_int_equal(parley_path_at(path, "-1", NULL, NULL, &model, &error), PARLEY_BAD_USAGE);
    assert_null(model);
    free(values);
    parley_path_free(path);
    parley_data_free(data);
}

static void a_path_is_read_back_with_all_points(void **state) {
    (void)state;
    parley_data *data = class_data(small, false);
    pl_path *path = path_of(data, "preset=cocoa+ lambdas=3 gap=1e-4", true), *loaded;
    parley_model *model, *other;
    parley_error error;
    uint64_t point;
    char file[64], at[40];
    snprintf(file, sizeof file, "back-%d.safetensors", (int)getpid());
    assert_done(parley_path_save(path, file, &error), &error);
    assert_true(parley_is_path(file));
    assert_int_equal(parley_model_load(file, &model, &error), PARLEY_BAD_INPUT);
    assert_done(parley_path_load(file, &loaded, &error), &error);
    assert_int_equal(loaded->count, path->count);
    for (uint64_t k = 0; k < path->count; k++) {
        const pl_point *a = &path->points[k], *b = &loaded->points[k];
        assert_true(a->lambda == b->lambda && a->objective == b->objective && a->dual == b->dual);
        assert_true(a->relative_gap == b->relative_gap && a->explained == b->explained);
        assert_true(a->rounds == b->rounds && a->nonzeros == b->nonzeros && a->stop == b->stop);
        assert_close(a->gap, b->gap, 1e-9);
        assert_done(parley_path_model(path, k, &model, &error), &error);
        assert_done(parley_path_model(loaded, k, &other, &error), &error);
        assert_memory_equal(parley_model_coef(model), parley_model_coef(other),
                            path->outputs * path->columns * sizeof(double));
        assert_memory_equal(parley_model_intercept(model), parley_model_intercept(other),
                            path->outputs * sizeof(double));
        assert_memory_equal(parley_model_labels(model), parley_model_labels(other), path->outputs * sizeof(double));
        parley_model_free(model);
        parley_model_free(other);
        snprintf(at, sizeof at, "%.17g", a->lambda * 1.04);
        assert_done(parley_path_find(loaded, at, &point, &error), &error);
        assert_int_equal(point, k);
    }
    assert_int_equal(parley_path_find(loaded, "1e9", &point, &error), PARLEY_BAD_USAGE);
    assert_non_null(strstr(error.sentence, "3 lambdas"));
    assert_int_equal(parley_path_find(loaded, "-1", &point, &error), PARLEY_BAD_USAGE);
    assert_done(parley_path_find(loaded, "first", &point, &error), &error);
    assert_int_equal(point, 0);
    assert_done(parley_model_save(loaded->model, file, &error), &error);
    parley_path_free(path);
    assert_false(parley_is_path(file));
    assert_int_equal(parley_path_load(file, &path, &error), PARLEY_BAD_INPUT);
    assert_null(path);
    remove(file);
    parley_path_free(loaded);
    parley_data_free(data);
}

static void failed_allocations_of_reading_a_path_end_with_a_sentence(void **state) {
    (void)state;
    parley_data *data = class_data(small, false);
    pl_path *path = path_of(data, "preset=cocoa+ lambdas=2 gap=1e-2", true), *loaded = NULL;
    parley_error error;
    parley_status status = PARLEY_NO_MEMORY;
    char file[64];
    snprintf(file, sizeof file, "memory-%d.safetensors", (int)getpid());
    assert_done(parley_path_save(path, file, &error), &error);
    for (int64_t n = 0; status != PARLEY_OK; n++) {
        assert_true(n < 2000);
        pl_memory_fail_after(n);
        status = parley_path_load(file, &loaded, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || status == PARLEY_NO_MEMORY);
        assert_int_equal(loaded != NULL, status == PARLEY_OK);
    }
    remove(file);
    parley_path_free(loaded);
    parley_path_free(path);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_lambda_is_the_least_without_coefficients),
        cmocka_unit_test(models_are_those_of_single_runs),
        cmocka_unit_test(a_path_ends_when_it_explains_no_more),
        cmocka_unit_test(a_path_is_the_same_on_any_ranks),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(a_file_keeps_the_labels_of_classes),
        cmocka_unit_test(a_path_takes_neither_checkpoints_nor_streams),
        cmocka_unit_test(models_between_lambdas_are_interpolated),
        cmocka_unit_test(a_path_is_read_back_with_all_points),
        cmocka_unit_test(failed_allocations_of_reading_a_path_end_with_a_sentence),
        cmocka_unit_test(failed_allocations_of_a_path_end_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
