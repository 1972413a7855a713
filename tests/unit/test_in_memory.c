/* test_in_memory.c: a program that holds everything in memory: models from coefficients and bytes, runs that start from
 * them, are stopped, run side by side and after a fork, and the settings table. */
#define _POSIX_C_SOURCE 200809L /* fork */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "train/presets.h"

#define COLUMNS 8
#define ROWS 60

/* The same rows as those of random_data, but passed as arrays. */
static parley_data *handed_over(const parley_data *from) {
    parley_data *data;
    parley_error error;
    assert_done(parley_data_from_csr(from->x.rows, from->x.columns, from->x.start, PARLEY_INT64, from->x.index,
                                     PARLEY_INT32, from->x.values.narrow, PARLEY_FLOAT32, from->label, from->weight, 2,
                                     &data, &error),
                &error);
    return data;
}

static void every_preset_trains_on_arrays_as_on_a_file(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        sample_plan plan = {5, ROWS, COLUMNS, 0.5, .real = false};
        parley_data *from = kind ? class_data(plan, true) : random_data(plan), *data = handed_over(from);
        const char *preset;
        unsigned trained = 0;
        for (unsigned i = 0; (preset = parley_list_at("presets", i, NULL)); i++) {
            char words[120];
            bool streams = strcmp(preset, "online") == 0, races = strcmp(preset, "hogwild") == 0;
            if (races || strcmp(preset, "replicas") == 0 || (streams && kind))
                continue; /* another model each time, or none */
            snprintf(words, sizeof words, "preset=%s%s", preset,
                     streams ? "" : " lambda=0.05 rounds=20 validation_fraction=0.2 threads=1");
            parley_settings settings = settings_of(words);
            parley_model *one, *other;
            parley_error error = {0};
            parley_status status = parley_train(from, &settings, NULL, NULL, &one, NULL, &error);
            assert_int_equal(parley_train(data, &settings, NULL, NULL, &other, NULL, &error), status);
            if (status != PARLEY_OK)
                continue;
            assert_memory_equal(parley_model_coef(one), parley_model_coef(other),
                                one->outputs * COLUMNS * sizeof(double));
            trained++;
            parley_model_free(one);
            parley_model_free(other);
        }
        assert_true(trained >= 10);
        parley_data_free(data);
        parley_data_free(from);
    }
}

static void paths_and_folds_take_arrays_and_refuse_those_without_labels(void **state) {
    (void)state;
    parley_data *from = random_data((sample_plan){5, ROWS, COLUMNS, 0.5, .real = true}), *data = handed_over(from);
    parley_settings settings = settings_of("lambda_list=0.1,0.01 folds=3 full_path=true l1_ratio=0.5");
    parley_path_result *path;
    parley_cv_result *cv;
    parley_model *model;
    parley_error error = {0};
    assert_done(parley_path(data, &settings, NULL, NULL, &path, NULL, &error), &error);
    parley_path_free(path);
    assert_done(parley_cv(data, &settings, NULL, NULL, &cv, &model, NULL, &error), &error);
    parley_cv_free(cv);
    parley_model_free(model);
    data->label = NULL;
    const char *sentence = "data: there are no labels to train on; give one for each row";
    assert_int_equal(parley_path(data, &settings, NULL, NULL, &path, NULL, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, sentence);
    assert_int_equal(parley_cv(data, &settings, NULL, NULL, &cv, &model, NULL, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, sentence);
    settings = settings_of("loss=squared");
    assert_int_equal(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, sentence);
    data->x.rows = 0;
    assert_int_equal(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, "data: there are no rows to train on");
    parley_data_free(data);
    parley_data_free(from);
}

static void without_columns_there_is_an_intercept(void **state) {
    (void)state;
    const int64_t start[4] = {0};
    const double label[3] = {1, 2, 6};
    parley_data *data;
    parley_model *model;
    parley_error error = {0};
    assert_done(parley_data_from_csr(3, 0, start, PARLEY_INT64, NULL, PARLEY_INT32, NULL, PARLEY_FLOAT32, label, NULL,
                                     1, &data, &error),
                &error);
    parley_settings settings = settings_of("loss=squared gap=1e-9");
    assert_done(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), &error);
    assert_close(parley_model_intercept(model)[0], 3.0, 1e-9);
    parley_model_free(model);
    settings = settings_of("loss=squared l1_ratio=1");
    assert_done(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), &error);
    assert_close(parley_model_intercept(model)[0], 3.0, 1e-9);
    parley_model_free(model);
    settings = settings_of("loss=squared l1_ratio=1 local=scd");
    assert_int_equal(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence,
                        "data: local solver scd needs columns, but the data have none; use another --local");
    parley_data_free(data);
}

static void a_model_of_given_numbers_decides_with_them(void **state) {
    (void)state;
    const double coef[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, b[] = {-1, 0, 1}, labels[] = {2, 4, 8};
    const float x[] = {1, 10, 100};
    double decisions[3], two[2];
    parley_data *data;
    parley_model *model;
    parley_error error;
    assert_done(parley_data_from_dense(1, 3, x, PARLEY_FLOAT32, 3, 1, NULL, NULL, 1, &data, &error), &error);
    assert_done(parley_model_new("softmax", 3, 3, coef, b, labels, &model, &error), &error);
    assert_done(parley_decide(model, data, decisions, &error), &error);
    assert_true(decisions[0] == 320 && decisions[1] == 654 && decisions[2] == 988);
    assert_memory_equal(parley_model_labels(model), labels, sizeof labels);
    assert_false(parley_model_two_labels(model, two));
    parley_model_free(model);
    assert_done(parley_model_new("hinge", 1, 3, coef, NULL, labels, &model, &error), &error);
    assert_true(parley_model_two_labels(model, two) && two[0] == 2 && two[1] == 4);
    assert_true(parley_model_intercept(model)[0] == 0);
    parley_model_free(model);
    parley_data_free(data);
}

static void a_model_that_cannot_be_is_refused(void **state) {
    (void)state;
    const double coef[] = {1, NAN}, labels[] = {1, 1};
    struct {
        const char *loss;
        uint64_t outputs, columns;
        const double *labels;
        const char *sentence;
    } wrong[] = {
        {"quadratic", 1, 1, NULL, "there is no loss quadratic"},
        {"squared", 2, 1, NULL, "a model of loss squared must have one output, not 2"},
        {"softmax", 1, 1, NULL, "a model of loss softmax must have one output per class, and at least two"},
        {"squared", 1, 1, labels, "a model of loss squared takes no labels; give none"},
        {"logistic", 1, 1, NULL, "a model of loss logistic and 1 output needs 2 labels, but none were given"},
        {"logistic", 1, 1, labels, "the labels of a model must increase, but label 1 does not"},
        {"squared", 1, 2, NULL, "coefficient 1 of the model is not finite"},
    };
    for (unsigned i = 0; i < COUNT(wrong); i++) {
        parley_model *model = (parley_model *)&wrong;
        parley_error error = {0};
        assert_int_not_equal(parley_model_new(wrong[i].loss, wrong[i].outputs, wrong[i].columns, coef, NULL,
                                              wrong[i].labels, &model, &error),
                             PARLEY_OK);
        assert_null(model);
        assert_string_equal(error.sentence, wrong[i].sentence);
    }
}

static void bytes_are_those_of_the_file(void **state) {
    (void)state;
    const double coef[] = {1, -2.5, 0}, b = 0.5;
    char path[40], file[1 << 13], moved[1 << 13];
    const char *const losses[] = {"squared", "huber", "poisson"};
    for (unsigned i = 0; i < COUNT(losses); i++) {
        parley_model *model, *back;
        parley_error error = {0};
        void *bytes;
        uint64_t count;
        assert_done(parley_model_new(losses[i], 1, 3, coef, &b, NULL, &model, &error), &error);
        assert_done(parley_model_to_bytes(model, &bytes, &count, &error), &error);
        snprintf(path, sizeof path, "in-memory-%ld.safetensors", (long)getpid());
        assert_done(parley_model_save(model, path, &error), &error);
        FILE *stream = fopen(path, "rb");
        assert_int_equal(fread(file, 1, sizeof file, stream), count);
        fclose(stream);
        unlink(path);
        assert_memory_equal(file, bytes, count);
        memcpy(moved + 3, bytes, count);
        assert_done(parley_model_from_bytes(moved + 3, count, &back, &error), &error);
        assert_memory_equal(parley_model_coef(back), coef, sizeof coef);
        parley_model_free(back);
        assert_int_equal(parley_model_from_bytes(bytes, count - 1, &back, &error), PARLEY_BAD_INPUT);
        assert_null(back);
        parley_bytes_free(bytes);
        parley_model_free(model);
    }
}

static void a_model_tells_of_itself(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){5, ROWS, COLUMNS, 0.5, .real = false});
    outcome run = train_once(data, "lambda=0.25 loss=hinge");
    const char *key, *value;
    unsigned found = 0;
    assert_string_equal(parley_model_meta(run.model[0], 0, &value), "loss");
    assert_string_equal(value, "hinge");
    for (unsigned i = 1; (key = parley_model_meta(run.model[0], i, &value)); i++) {
        assert_string_not_equal(key, "loss");
        found += strcmp(key, "lambda") == 0 && strcmp(value, "0.25") == 0;
    }
    assert_int_equal(found, 1);
    assert_null(value);
    free_models(&run);
    parley_data_free(data);
}

static void a_run_begins_at_the_model_given(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){5, ROWS, COLUMNS, 0.5, .real = false});
    const char *const methods[] = {"cocoa+", "newton", "lbfgs", "gd", "ma-sgd"};
    for (unsigned i = 0; i < COUNT(methods); i++) {
        char words[80];
        snprintf(words, sizeof words, "preset=%s lambda=0.1 gap=1e-6", methods[i]);
        outcome cold = train_once(data, words);
        parley_settings settings = settings_of(words);
        parley_model *model;
        parley_summary summary;
        parley_error error = {0};
        assert_done(parley_train_from(data, &settings, cold.model[0], NULL, NULL, &model, &summary, &error), &error);
        assert_true(summary.rounds <= 1 || summary.rounds < cold.summary[0].rounds);
        assert_int_equal(summary.stop, PARLEY_CONVERGED);
        parley_model_free(model);
        free_models(&cold);
    }
    parley_data_free(data);
}

static void a_start_that_does_not_fit_is_refused(void **state) {
    (void)state;
    const double coef[COLUMNS + 1] = {0}, labels[] = {-1, 1}, others[] = {0, 1};
    parley_data *data = random_data((sample_plan){5, ROWS, COLUMNS, 0.5, .real = false});
    struct {
        const char *words;
        uint64_t columns;
        const double *labels;
        const char *sentence;
    } wrong[] = {
        {"loss=hinge", COLUMNS + 1, labels, "the model to start from has 9 columns, but the data have 8"},
        {"loss=hinge", COLUMNS, others, "the model to start from has labels 0 and 1, but the data have -1 and 1"},
        {"loss=squared", COLUMNS, labels,
         "the model to start from has loss logistic, whose kind of labels differs from that of"},
        {"start=file", COLUMNS, labels, "both a model to start from and the setting start are given;"},
        {"preset=online", COLUMNS, labels, "preset online cannot start from a model; use a learner"},
    };
    for (unsigned i = 0; i < COUNT(wrong); i++) {
        parley_settings settings = settings_of(wrong[i].words);
        parley_model *start, *model;
        parley_error error = {0};
        assert_done(parley_model_new("logistic", 1, wrong[i].columns, coef, NULL, wrong[i].labels, &start, &error),
                    &error);
        assert_int_not_equal(parley_train_from(data, &settings, start, NULL, NULL, &model, NULL, &error), PARLEY_OK);
        assert_null(model);
        assert_non_null(strstr(error.sentence, wrong[i].sentence));
        parley_model_free(start);
    }
    parley_data_free(data);
}

typedef struct listener {
    pthread_t caller;
    unsigned calls, elsewhere;
    uint64_t most;
} listener;

static int stop_at(void *user, const parley_progress *progress, const char *message) {
    listener *listener = user;
    listener->calls++;
    listener->elsewhere += !pthread_equal(listener->caller, pthread_self());
    return !message && progress->round >= listener->most;
}

static void a_callback_stops_from_the_calling_thread(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){5, 400, 50, 0.5, .real = false});
    const char *preset;
    for (unsigned i = 0; (preset = parley_list_at("presets", i, NULL)); i++) {
        char words[100];
        bool streams = strcmp(preset, "online") == 0;
        if (!pl_fits(pl_preset_find(preset, &pl_problem_linear)->problem, &pl_problem_linear))
            continue; /* it is for another problem */
        snprintf(words, sizeof words, "preset=%s threads=2%s%s", preset, streams ? "" : " gap=0 lambda=0.01",
                 loss_of_preset(pl_preset_find(preset, &pl_problem_linear)));
        parley_settings settings = settings_of(words);
        listener listener = {pthread_self(), 0, 0, 2};
        parley_model *model;
        parley_summary summary;
        parley_error error = {0};
        if (streams)
            settings.passes = 5;
        assert_done(parley_train(data, &settings, stop_at, &listener, &model, &summary, &error), &error);
        assert_non_null(model);
        assert_true(summary.rounds <= 2 && listener.calls > 0);
        assert_int_equal(listener.elsewhere, 0);
        parley_model_free(model);
    }
    parley_data_free(data);
}

typedef struct fit {
    const parley_data *data;
    parley_status status;
    parley_model *model;
} fit;

static void *fit_thread(void *argument) {
    fit *fit = argument;
    parley_settings settings = settings_of("preset=cocoa+ lambda=0.05 gap=1e-5 threads=2 workers=2");
    fit->status = parley_train(fit->data, &settings, NULL, NULL, &fit->model, NULL, NULL);
    return NULL;
}

static int count_threads(void *most, const parley_progress *progress, const char *text) {
    (void)progress, (void)text;
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks));)
        count += task->d_name[0] != '.';
    closedir(tasks);
    *(unsigned *)most = count > *(unsigned *)most ? count : *(unsigned *)most;
    return 0;
}

/* A small problem that is left to auto is over before a thread has begun, and the model is the same with two. */
static void small_problems_start_no_threads(void **state) {
    (void)state;
    unsigned before = 0;
    count_threads(&before, NULL, NULL);
    parley_data *data = random_data((sample_plan){.seed = 7, .rows = 150, .columns = 4, .density = 1.0});
    const char *const words[] = {"lambda=0.05", "lambda=0.05 threads=2", "lambda=0.05 workers=2"};
    parley_model *model[COUNT(words)];
    for (unsigned i = 0; i < COUNT(words); i++) {
        parley_settings settings = settings_of(words[i]);
        parley_summary summary;
        parley_error error = {0};
        unsigned most = 0;
        assert_done(parley_train(data, &settings, count_threads, &most, &model[i], &summary, &error), &error);
        assert_true(i > 0 || most == before);
        assert_int_equal(summary.threads, i == 1 ? 2 : pl_cores());
    }
    assert_memory_equal(pl_linear(model[0])->coef, pl_linear(model[1])->coef, 4 * sizeof(double));
    for (unsigned i = 0; i < COUNT(words); i++)
        parley_model_free(model[i]);
    parley_data_free(data);
}

static void two_threads_train_on_the_same_data(void **state) {
    (void)state;
    parley_data *from = random_data((sample_plan){5, ROWS, COLUMNS, 0.5, .real = false}), *data = handed_over(from);
    fit fits[3] = {{.data = data}, {.data = data}, {.data = data}};
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fit_thread, &fits[i]), 0);
    fit_thread(&fits[2]);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fits[i].status, PARLEY_OK);
        assert_memory_equal(parley_model_coef(fits[i].model), parley_model_coef(fits[2].model),
                            COLUMNS * sizeof(double));
    }
    for (unsigned i = 0; i < 3; i++)
        parley_model_free(fits[i].model);
    parley_data_free(data);
    parley_data_free(from);
}

static void a_child_trains_after_a_fork(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){5, ROWS, COLUMNS, 0.5, .real = false});
    fit before = {.data = data}, after = {.data = data};
    int status;
    fit_thread(&before);
    pid_t child = fork();
    if (child == 0) {
        fit_thread(&after);
        _exit(after.status != PARLEY_OK ||
              memcmp(parley_model_coef(before.model), parley_model_coef(after.model), COLUMNS * sizeof(double)) != 0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    parley_model_free(before.model);
    parley_data_free(data);
}

static void the_settings_table_can_be_walked(void **state) {
    (void)state;
    parley_setting row;
    unsigned count = 0, found = 0;
    for (; parley_setting_at(count, &row); count++) {
        assert_true(*row.name && *row.kind && *row.help && *row.group && row.initial);
        assert_int_equal(row.choices != NULL, strcmp(row.kind, "choice") == 0);
        found += strcmp(row.name, "lambda") == 0 && row.trains && !row.paths && !row.cvs && row.may_be_auto;
        found += strcmp(row.name, "folds") == 0 && !row.trains && !row.paths && row.cvs;
        found += strcmp(row.name, "l1_ratio") == 0 && row.trains && row.paths && row.cvs && row.max == 1;
        found += strcmp(row.name, "label_column") == 0 && row.reads && strcmp(row.group, "Reading") == 0;
        found += strcmp(row.name, "loss") == 0 && strcmp(row.list, "losses") == 0 && !row.reads;
    }
    assert_int_equal(count, pl_settings_count());
    assert_int_equal(found, 5);
    assert_null(row.name);
    const char *help;
    assert_string_equal(parley_list_at("losses", 0, &help), "squared");
    assert_true(*help);
    assert_null(parley_list_at("losses", 1000, &help));
    assert_null(help);
    assert_null(parley_list_at("colours", 0, NULL));
}

/* Converts a model to bytes and back, and starts a run from it. Returns whether nothing failed. */
static bool go_round(const parley_data *data, const parley_settings *settings, parley_error *error) {
    const double coef[COLUMNS] = {0}, labels[] = {-1, 1};
    parley_model *model, *back = NULL, *trained = NULL;
    void *bytes = NULL;
    uint64_t count;
    parley_status status = parley_model_new("logistic", 1, COLUMNS, coef, NULL, labels, &model, error);
    if (status == PARLEY_OK)
        status = parley_model_to_bytes(model, &bytes, &count, error);
    if (status == PARLEY_OK)
        status = parley_model_from_bytes(bytes, count, &back, error);
    if (status == PARLEY_OK)
        status = parley_train_from(data, settings, back, NULL, NULL, &trained, NULL, error);
    parley_bytes_free(bytes);
    parley_model_free(model);
    parley_model_free(back);
    parley_model_free(trained);
    return status == PARLEY_OK;
}

static void failed_allocations_end_with_a_sentence(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){5, ROWS, COLUMNS, 0.5, .real = false});
    parley_settings settings = settings_of("preset=newton lambda=0.1");
    parley_error error = {0};
    bool done = false;
    for (int64_t after = 0; !done; after++) {
        error = (parley_error){0};
        pl_memory_fail_after(after);
        done = go_round(data, &settings, &error);
        pl_memory_fail_after(-1);
        assert_true(done || (error.status == PARLEY_NO_MEMORY && *error.sentence));
        assert_true(!done || after > 20);
    }
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_trains_on_arrays_as_on_a_file),
        cmocka_unit_test(paths_and_folds_take_arrays_and_refuse_those_without_labels),
        cmocka_unit_test(without_columns_there_is_an_intercept),
        cmocka_unit_test(a_model_of_given_numbers_decides_with_them),
        cmocka_unit_test(a_model_that_cannot_be_is_refused),
        cmocka_unit_test(bytes_are_those_of_the_file),
        cmocka_unit_test(a_model_tells_of_itself),
        cmocka_unit_test(a_run_begins_at_the_model_given),
        cmocka_unit_test(a_start_that_does_not_fit_is_refused),
        cmocka_unit_test(a_callback_stops_from_the_calling_thread),
        cmocka_unit_test(small_problems_start_no_threads),
        cmocka_unit_test(two_threads_train_on_the_same_data),
        cmocka_unit_test(a_child_trains_after_a_fork),
        cmocka_unit_test(the_settings_table_can_be_walked),
        cmocka_unit_test(failed_allocations_end_with_a_sentence),
    };
    return cmocka_run_group_tests_name("in_memory", tests, NULL, NULL);
}
