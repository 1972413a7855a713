/* test_api.c: only the public interface: read, train, save, load, decide, and wrong input. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs these first */
#include <cmocka.h>
#include <math.h>
#include <parley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH 300
#define TEXT "1 1:0.5 3:2\n-1 2:1\n1 1:1 2:-0.5\n-1 1:-1 3:-1\n1 3:1\n-1 2:2 3:0.5\n"
#define ROWS 6

static char folder[PATH / 2], data_path[PATH], model_path[PATH];

static int make_files(void **state) {
    (void)state;
    const char *scratch = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.100s/parley-api-XXXXXX", scratch ? scratch : "/tmp");
    if (!mkdtemp(folder))
        return 1;
    snprintf(data_path, sizeof data_path, "%s/data.svm", folder);
    snprintf(model_path, sizeof model_path, "%s/m.safetensors", folder);
    FILE *file = fopen(data_path, "w");
    return !file || fputs(TEXT, file) < 0 || fclose(file) != 0;
}

static int remove_files(void **state) {
    (void)state;
    unlink(data_path);
    unlink(model_path);
    return rmdir(folder);
}

static parley_data *read_data(void) {
    parley_data *data;
    parley_error error;
    assert_int_equal(parley_data_read(data_path, 1, &data, &error), PARLEY_OK);
    return data;
}

static parley_model *train(const parley_data *data, const char *preset, parley_summary *summary) {
    parley_settings *settings;
    parley_model *model;
    parley_error error;
    assert_int_equal(parley_settings_new(&settings, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "preset", preset, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "gap", "1e-6", &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "threads", "2", &error), PARLEY_OK);
    assert_int_equal(parley_train(data, settings, NULL, NULL, &model, summary, &error), PARLEY_OK);
    parley_settings_free(settings);
    return model;
}

static void settings_say_how_to_read(void **state) {
    (void)state;
    parley_settings *settings;
    parley_data *data;
    parley_error error;
    uint64_t columns;
    assert_int_equal(parley_settings_new(&settings, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "format", "libsvm", &error), PARLEY_OK);
    assert_int_equal(parley_data_read_with(data_path, settings, &data, &error), PARLEY_OK);
    parley_data_shape(data, NULL, &columns, NULL);
    assert_true(columns > 0);
    parley_data_free(data);
    assert_int_equal(parley_settings_set(settings, "hash_bits", "4", &error), PARLEY_OK);
    assert_int_equal(parley_data_read_with(data_path, settings, &data, &error), PARLEY_BAD_USAGE);
    assert_null(data);
    assert_int_equal(parley_settings_set(settings, "format", "vw", &error), PARLEY_OK);
    assert_int_equal(parley_data_read_with(data_path, settings, &data, &error), PARLEY_BAD_INPUT);
    assert_null(data);
    parley_settings_free(settings);
}

static void data_have_a_shape(void **state) {
    (void)state;
    parley_data *data = read_data();
    uint64_t rows, columns, nonzeros;
    parley_data_shape(data, &rows, &columns, &nonzeros);
    assert_int_equal(rows, ROWS);
    assert_int_equal(columns, 3);
    assert_int_equal(nonzeros, 10);
    parley_data_shape(data, NULL, NULL, NULL);
    parley_data_free(data);
}

static void a_model_trains_saves_loads_and_decides(void **state) {
    (void)state;
    parley_data *data = read_data();
    parley_summary summary;
    parley_error error;
    parley_model *model = train(data, "auto", &summary), *loaded;
    assert_int_equal(summary.stop, PARLEY_CONVERGED);
    assert_true(summary.gap >= 0.0 && summary.relative_gap <= 1e-6);
    assert_int_equal(parley_model_save(model, model_path, &error), PARLEY_OK);
    assert_int_equal(parley_model_load(model_path, &loaded, &error), PARLEY_OK);
    uint64_t outputs, columns;
    parley_model_shape(loaded, &outputs, &columns);
    assert_true(outputs == 1 && columns == 3);
    assert_memory_equal(parley_model_coef(model), parley_model_coef(loaded), 3 * sizeof(double));
    double decisions[ROWS], again[ROWS];
    assert_int_equal(parley_decide(model, data, decisions, &error), PARLEY_OK);
    assert_int_equal(parley_decide(loaded, data, again, &error), PARLEY_OK);
    assert_memory_equal(decisions, again, sizeof again);
    const double *w = parley_model_coef(model), b = parley_model_intercept(model)[0];
    assert_true(fabs(decisions[0] - (0.5 * w[0] + 2.0 * w[2] + b)) < 1e-12);
    for (unsigned i = 0; i < ROWS; i++)
        assert_true((decisions[i] > 0) == (i % 2 == 0));
    parley_model_free(model);
    parley_model_free(loaded);
    parley_data_free(data);
}

static void presets_agree(void **state) {
    (void)state;
    parley_data *data = read_data();
    parley_summary first, other;
    parley_model_free(train(data, "newton", &first));
    parley_model_free(train(data, "cocoa+", &other));
    assert_true(fabs(first.objective - other.objective) <= 2e-6);
    assert_true(fmax(first.dual, other.dual) <= fmin(first.objective, other.objective) + 1e-12);
    parley_data_free(data);
}

typedef struct story {
    unsigned rounds, messages;
    uint64_t last;
    double last_gap;
} story;

static int listen(void *user, const parley_progress *progress, const char *message) {
    story *story = user;
    if (message) {
        story->messages += *message != '\0';
        return 0;
    }
    story->rounds += progress->round == story->rounds; /* 0, 1, 2, ... */
    story->last = progress->round;
    story->last_gap = progress->relative_gap;
    return 0;
}

static void the_callback_hears_of_every_round(void **state) {
    (void)state;
    parley_data *data = read_data();
    parley_settings *settings;
    parley_model *model;
    parley_summary summary;
    story story = {0};
    assert_int_equal(parley_settings_new(&settings, NULL), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "preset", "cocoa+", NULL), PARLEY_OK);
    assert_int_equal(parley_train(data, settings, listen, &story, &model, &summary, NULL), PARLEY_OK);
    assert_int_equal(story.last, summary.rounds);
    assert_int_equal(story.rounds, summary.rounds + 1);
    assert_true(story.messages > 0);
    assert_true(story.last_gap == summary.relative_gap);
    parley_model_free(model);
    parley_settings_free(settings);
    parley_data_free(data);
}

static void failures_leave_null_and_a_sentence(void **state) {
    (void)state;
    parley_error error = {0};
    parley_data *data = (parley_data *)&error;
    parley_model *model = (parley_model *)&error;
    char missing[PATH], expected[PATH + 64];
    snprintf(missing, sizeof missing, "%s/missing", folder);
    assert_int_equal(parley_data_read(missing, 1, &data, &error), PARLEY_NO_FILE);
    assert_null(data);
    snprintf(expected, sizeof expected, "%s: cannot open: No such file or directory", missing);
    assert_string_equal(error.sentence, expected);
    assert_int_equal(error.status, PARLEY_NO_FILE);
    assert_int_equal(parley_model_load(data_path, &model, &error), PARLEY_BAD_INPUT);
    assert_null(model);
    assert_int_equal(parley_data_read(missing, 1, &data, NULL), PARLEY_NO_FILE);
    data = read_data();
    model = train(data, "auto", NULL);
    snprintf(missing, sizeof missing, "%s/no/such/folder", folder);
    assert_int_equal(parley_model_save(model, missing, &error), PARLEY_NO_FILE);
    parley_model_free(model);
    parley_data_free(data);
}

static parley_settings *settings_of(const char *const (*pairs)[2]) {
    parley_settings *settings;
    assert_int_equal(parley_settings_new(&settings, NULL), PARLEY_OK);
    for (; (*pairs)[0]; pairs++)
        assert_int_equal(parley_settings_set(settings, (*pairs)[0], (*pairs)[1], NULL), PARLEY_OK);
    return settings;
}

static void a_path_has_a_model_for_every_lambda(void **state) {
    (void)state;
    parley_data *data = read_data();
    parley_settings *settings = settings_of((const char *const[][2]){
        {"l1_ratio", "0.5"}, {"lambdas", "4"}, {"lambda_ratio", "0.01"}, {"full_path", "true"}, {"gap", "1e-9"}, {0}});
    parley_path_result *path;
    parley_summary summary;
    parley_error error = {0};
    uint64_t count, outputs, columns;
    assert_int_equal(parley_path(data, settings, NULL, NULL, &path, &summary, &error), PARLEY_OK);
    const parley_point *points = parley_path_points(path, &count);
    assert_int_equal(count, 4);
    assert_true(parley_summary_fact(&summary, "lambda")->number == points[3].lambda);
    for (uint64_t k = 0; k < count; k++) {
        parley_model *model;
        uint64_t nonzeros = 0;
        assert_int_equal(parley_path_model(path, k, &model, &error), PARLEY_OK);
        parley_model_shape(model, &outputs, &columns);
        assert_int_equal(outputs, 1);
        for (uint64_t j = 0; j < columns; j++)
            nonzeros += parley_model_coef(model)[j] != 0;
        assert_int_equal(nonzeros, points[k].nonzeros);
        assert_true(k == 0 || points[k].lambda < points[k - 1].lambda);
        assert_int_equal(parley_model_save(model, model_path, &error), PARLEY_OK);
        parley_model_free(model);
        assert_int_equal(parley_model_load(model_path, &model, &error), PARLEY_OK);
        parley_model_free(model);
    }
    parley_model *model = (parley_model *)&error;
    assert_int_equal(parley_path_model(path, 4, &model, &error), PARLEY_BAD_USAGE);
    assert_null(model);
    assert_int_equal(parley_path_save(path, model_path, &error), PARLEY_OK);
    assert_int_equal(parley_model_load(model_path, &model, &error), PARLEY_BAD_INPUT); /* the file holds many models */
    parley_path_free(path);
    parley_settings_free(settings);
    parley_data_free(data);
}

static void cross_validation_chooses_a_lambda_and_trains_with_it(void **state) {
    (void)state;
    parley_data *data = read_data();
    parley_settings *settings = settings_of((const char *const[][2]){
        {"lambda_list", "1,0.1,0.01"}, {"folds", "2"}, {"metric", "accuracy"}, {"full_path", "true"}, {0}});
    parley_cv_result *cv;
    parley_model *model;
    parley_summary summary;
    parley_error error = {0};
    assert_int_equal(parley_cv(data, settings, NULL, NULL, &cv, &model, &summary, &error), PARLEY_OK);
    assert_int_equal(cv->count, 3);
    assert_int_equal(cv->folds, 2);
    assert_int_equal(cv->chosen, cv->best);
    assert_string_equal(cv->metric, "accuracy");
    assert_true(parley_summary_fact(&summary, "lambda")->number == cv->lambdas[cv->chosen]);
    for (uint64_t k = 0; k < 3; k++)
        assert_true(cv->mean[k] == (cv->value[k] + cv->value[3 + k]) / 2);
    parley_model_free(model);
    parley_cv_free(cv);
    assert_int_equal(parley_settings_set(settings, "folds", "7", &error), PARLEY_OK);
    assert_int_equal(parley_cv(data, settings, NULL, NULL, &cv, &model, NULL, &error), PARLEY_BAD_USAGE);
    assert_null(cv);
    assert_null(model);
    assert_string_equal(error.sentence, "--folds 7: there are only 6 rows");
    parley_settings_free(settings);
    parley_data_free(data);
}

static void settings_are_checked_when_set(void **state) {
    (void)state;
    parley_settings *settings;
    parley_error error = {0};
    assert_int_equal(parley_settings_new(&settings, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "lambda", "-1", &error), PARLEY_BAD_USAGE);
    assert_string_equal(error.sentence, "--lambda -1: must be between 0 and 1e+300");
    assert_int_equal(parley_settings_set(settings, "colour", "red", &error), PARLEY_BAD_USAGE);
    parley_settings_free(settings);
}

static void everything_frees_null(void **state) {
    (void)state;
    parley_settings_free(NULL);
    parley_data_free(NULL);
    parley_model_free(NULL);
    parley_path_free(NULL);
    parley_cv_free(NULL);
    assert_true(strlen(parley_version()) >= 5);
    assert_string_equal(parley_status_text(PARLEY_NO_MEMORY), "out of memory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_say_how_to_read),
        cmocka_unit_test(data_have_a_shape),
        cmocka_unit_test(a_model_trains_saves_loads_and_decides),
        cmocka_unit_test(presets_agree),
        cmocka_unit_test(the_callback_hears_of_every_round),
        cmocka_unit_test(a_path_has_a_model_for_every_lambda),
        cmocka_unit_test(cross_validation_chooses_a_lambda_and_trains_with_it),
        cmocka_unit_test(failures_leave_null_and_a_sentence),
        cmocka_unit_test(settings_are_checked_when_set),
        cmocka_unit_test(everything_frees_null),
    };
    return cmocka_run_group_tests_name("api", tests, make_files, remove_files);
}
