/* test_model.c: models to files and back, decisions, and metrics against plain references. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs those first */
#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "model/model.h"

#define ROWS 500
#define COLUMNS 40
#define PATH 256

static char folder[] = "/tmp/parley_model_XXXXXX";
static char path[PATH], other_path[PATH];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    snprintf(other_path, sizeof other_path, "%s/other.safetensors", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    unlink(other_path);
    return rmdir(folder);
}

static parley_model *make_model(const pl_loss *loss, uint64_t columns) {
    parley_model *model;
    pl_stream stream = pl_stream_make(3, 1, 4);
    assert_int_equal(pl_model_new(1, columns, loss, &model, NULL), PARLEY_OK);
    for (uint64_t i = 0; i < columns; i++)
        model->coef[i] = pl_random_normal(&stream);
    model->intercept[0] = 0.1;
    return model;
}

static char *read_bytes(const char *name, uint64_t *size) {
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* Random rows; `parts` must hold all arrays of `data`. */
typedef struct sample {
    parley_data data;
    uint64_t start[ROWS + 1];
    uint32_t index[ROWS * COLUMNS];
    float value[ROWS * COLUMNS];
    double label[ROWS], weight[ROWS];
} sample;

static sample *make_sample(uint64_t rows) {
    sample *sample = calloc(1, sizeof *sample);
    pl_stream stream = pl_stream_make(5, 9, 2);
    uint64_t used = 0;
    assert_non_null(sample);
    for (uint64_t i = 0; i < rows; i++) {
        sample->start[i] = used;
        for (uint32_t j = 0; j < COLUMNS; j++)
            if (pl_random_below(&stream, 4) == 0) {
                sample->index[used] = j;
                sample->value[used++] = (float)pl_random_normal(&stream);
            }
        sample->label[i] = pl_random_below(&stream, 3) == 0 ? 2.0 : -3.0;
        sample->weight[i] = (double)pl_random_below(&stream, 5) / 2.0;
    }
    sample->start[rows] = used;
    sample->data = (parley_data){.x = {rows, COLUMNS, used, sample->start, sample->index, sample->value},
                                 .label = sample->label,
                                 .path = "sample.svm"};
    return sample;
}

static void loads_what_was_saved(void **state) {
    (void)state;
    parley_model *model = make_model(&pl_loss_hinge, COLUMNS), *loaded;
    parley_error error;
    model->low = -0.5;
    model->high = 1.0 / 3.0;
    pl_model_set_meta(model, "lambda", "0.25", NULL);
    pl_model_set_meta(model, "loss", "auto", NULL); /* a setting of that name must not hide the loss */
    assert_int_equal(parley_model_save(model, path, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &loaded, &error), PARLEY_OK);
    uint64_t outputs, columns;
    parley_model_shape(loaded, &outputs, &columns);
    assert_int_equal(outputs, 1);
    assert_int_equal(columns, COLUMNS);
    assert_memory_equal(parley_model_coef(loaded), model->coef, COLUMNS * sizeof(double));
    assert_true(parley_model_intercept(loaded)[0] == 0.1);
    assert_true(loaded->low == -0.5 && loaded->high == 1.0 / 3.0);
    assert_ptr_equal(loaded->loss, &pl_loss_hinge);
    assert_string_equal(pl_model_meta(loaded, "format"), "parley-model-1");
    assert_string_equal(pl_model_meta(loaded, "loss"), "hinge");
    assert_string_equal(pl_model_meta(loaded, "labels"), "-0.5 0.3333333333333333");
    assert_string_equal(pl_model_meta(loaded, "lambda"), "0.25");
    assert_null(pl_model_meta(loaded, "nothing"));
    parley_model_free(model);
    parley_model_free(loaded);
}

static const uint64_t name_start[] = {0, 3, 3, 8}, class_start[] = {0, 2, 5};
static const pl_names some_names = {3, name_start, "agew=red", NULL}, two_classes = {2, class_start, "noyes", NULL};

static void names_are_kept_and_numbers_stand_in_for_missing_ones(void **state) {
    (void)state;
    parley_model *model = make_model(&pl_loss_logistic, COLUMNS), *loaded;
    const parley_data data = {.names = some_names, .classes = two_classes, .hash_bits = 2};
    pl_reading reading = {0};
    char text[24];
    uint64_t bytes;
    assert_int_equal(pl_model_name(model, &data, NULL), PARLEY_OK);
    assert_int_equal(parley_model_save(model, path, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &loaded, NULL), PARLEY_OK);
    assert_memory_equal(parley_model_column_name(loaded, 2, &bytes), "w=red", 5);
    assert_int_equal(bytes, 5);
    parley_model_column_name(loaded, 1, &bytes);
    assert_int_equal(bytes, 0);
    assert_memory_equal(pl_model_column(loaded, 0, text, sizeof text).text, "age", 3);
    assert_string_equal(pl_model_column(loaded, 1, text, sizeof text).text, "2");
    pl_model_reading(loaded, &reading);
    assert_int_equal(reading.model_columns, COLUMNS);
    assert_int_equal(reading.model_bits, 2);
    assert_int_equal(reading.names->count, 3);
    assert_int_equal(reading.classes->count, 2);
    assert_memory_equal(pl_names_at(reading.classes, 1).text, "yes", 3);
    parley_model_free(model);
    parley_model_free(loaded);
}

static void saves_the_same_bytes_after_loading(void **state) {
    (void)state;
    parley_model *model = make_model(pl_loss_find("squared"), 7), *loaded;
    uint64_t size, other_size;
    pl_model_set_meta(model, "gap", "1e-05", NULL);
    assert_int_equal(parley_model_save(model, path, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &loaded, NULL), PARLEY_OK);
    assert_int_equal(parley_model_save(loaded, other_path, NULL), PARLEY_OK);
    char *bytes = read_bytes(path, &size), *other = read_bytes(other_path, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(bytes, other, size);
    free(bytes);
    free(other);
    parley_model_free(model);
    parley_model_free(loaded);
}

static void a_loss_keeps_its_parameter(void **state) {
    (void)state;
    pl_loss huber = *pl_loss_find("huber");
    huber.parameter_value = 2.5;
    const char *const bad[] = {NULL, "", "wide", "-1", "2.5 1", "inf"};
    parley_model *model = make_model(&huber, 3), *loaded;
    parley_error error;
    assert_true(model->loss->parameter_value == 2.5);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (bad[i])
            assert_int_equal(pl_model_set_meta(model, "huber_width", bad[i], NULL), PARLEY_OK);
        assert_int_equal(parley_model_save(model, path, NULL), PARLEY_OK);
        assert_int_equal(parley_model_load(path, &loaded, &error), PARLEY_BAD_INPUT);
        assert_non_null(strstr(error.sentence, "huber_width is missing or not a number that loss huber takes"));
    }
    assert_int_equal(pl_model_set_meta(model, "huber_width", "2.5", NULL), PARLEY_OK);
    assert_int_equal(parley_model_save(model, path, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &loaded, NULL), PARLEY_OK);
    assert_true(loaded->loss->parameter_value == 2.5 && strcmp(loaded->loss->name, "huber") == 0);
    parley_model_free(model);
    parley_model_free(loaded);
}

static void a_model_without_columns_is_a_model(void **state) {
    (void)state;
    parley_model *model = make_model(pl_loss_find("squared"), 0), *loaded;
    assert_int_equal(parley_model_save(model, path, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &loaded, NULL), PARLEY_OK);
    parley_model_free(model);
    parley_model_free(loaded);
}

static void metadata_are_replaced_and_bounded(void **state) {
    (void)state;
    parley_model *model = make_model(pl_loss_find("squared"), 1);
    char key[16];
    assert_int_equal(pl_model_set_meta(model, "k", "1", NULL), PARLEY_OK);
    assert_int_equal(pl_model_set_meta(model, "k", "2", NULL), PARLEY_OK);
    assert_int_equal(model->metas, 1);
    assert_string_equal(pl_model_meta(model, "k"), "2");
    for (int i = 1; i < PL_MODEL_METAS; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(pl_model_set_meta(model, key, "v", NULL), PARLEY_OK);
    }
    assert_int_equal(pl_model_set_meta(model, "one more", "v", NULL), PARLEY_BROKEN);
    assert_int_equal(pl_model_set_meta(model, "k", "3", NULL), PARLEY_OK);
    parley_model_free(model);
}

/* Writes a container that differs from a good model in one point and expects `sentence` in the complaint. */
static void expect_refusal(const pl_tensor *tensors, unsigned count, const pl_pair *metas, unsigned meta_count,
                           const char *sentence) {
    parley_model *model = (parley_model *)folder;
    parley_error error = {0};
    assert_int_equal(pl_container_write(path, tensors, count, metas, meta_count, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &model, &error), PARLEY_BAD_INPUT);
    assert_null(model);
    assert_memory_equal(error.sentence, path, strlen(path));
    if (!strstr(error.sentence, sentence))
        fail_msg("`%s` is not in: %s", sentence, error.sentence);
}

static void refuses_bad_metadata(void **state) {
    (void)state;
    const double numbers[2] = {1.0, 2.0};
    const pl_tensor tensors[] = {{"coef", PL_F64, 2, {1, 2}, numbers}, {"intercept", PL_F64, 1, {1, 0}, numbers}};
    const char *const labels[] = {"",      "1",     "1 1",   "2 1",   "a b",    "-1 1 2",
                                  "-1  1", "nan 1", "0 inf", "-1 1 ", "1e999 2"};
    pl_pair metas[] = {{"format", "parley-model-1"}, {"labels", "-1 1"}, {"loss", "logistic"}};
    parley_model *model;
    assert_int_equal(pl_container_write(path, tensors, 2, metas, 3, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &model, NULL), PARLEY_OK);
    parley_model_free(model);
    for (unsigned i = 0; i < sizeof labels / sizeof *labels; i++) {
        metas[1].value = labels[i];
        expect_refusal(tensors, 2, metas, 3, "two rising numbers");
    }
    metas[1].value = "-1 1";
    metas[2].value = "squared";
    expect_refusal(tensors, 2, metas, 3, "loss squared has none");
    metas[2].value = "cubic";
    expect_refusal(tensors, 2, metas, 3, "unknown loss `cubic`");
    expect_refusal(tensors, 2, metas, 2, "unknown loss ``");
    metas[0].value = "parley-model-2";
    expect_refusal(tensors, 2, metas, 3, "not `parley-model-1`");
    expect_refusal(tensors, 2, metas + 1, 2, "not a Parley model");
}

static void refuses_bad_tensors(void **state) {
    (void)state;
    const double good[4] = {1.0, 2.0, 3.0, 4.0}, infinite[2] = {1.0, INFINITY}, nan[1] = {NAN};
    const float narrow[2] = {1.0f, 2.0f};
    const pl_pair metas[] = {{"format", "parley-model-1"}, {"labels", "-1 1"}, {"loss", "logistic"}};
    pl_tensor coef = {"coef", PL_F64, 2, {1, 2}, good}, intercept = {"intercept", PL_F64, 1, {1, 0}, good};
    const pl_tensor cases[][2] = {
        {{"coef", PL_F64, 1, {2, 0}, good}, intercept},     {{"coefs", PL_F64, 2, {1, 2}, good}, intercept},
        {{"coef", PL_F64, 2, {2, 2}, good}, intercept},     {coef, {"intercept", PL_F64, 2, {1, 1}, good}},
        {{"coef", PL_F64, 2, {1, 2}, infinite}, intercept}, {coef, {"intercept", PL_F64, 1, {1, 0}, nan}},
    };
    const char *const sentences[] = {
        "`coef`", "`coef`", "must agree", "`intercept`", "coefficient 2 is not a finite", "intercept 1 is not"};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(cases[i], 2, metas, 3, sentences[i]);
    const pl_tensor floats[] = {intercept, {"coef", PL_F32, 2, {1, 2}, narrow}};
    expect_refusal(floats, 2, metas, 3, "`coef`");
    expect_refusal(&coef, 1, metas, 3, "`intercept`");
    const pl_tensor two[] = {{"coef", PL_F64, 2, {2, 2}, good}, {"intercept", PL_F64, 1, {2, 0}, good}};
    expect_refusal(two, 2, metas, 3, "2 outputs");
}

static void names_a_file_that_is_not_there(void **state) {
    (void)state;
    parley_model *model;
    parley_error error;
    assert_int_equal(parley_model_load("/nowhere/m", &model, &error), PARLEY_NO_FILE);
    assert_null(model);
    assert_non_null(strstr(error.sentence, "/nowhere/m: "));
}

static void decides_as_the_formula_says(void **state) {
    (void)state;
    const uint64_t start[] = {0, 2, 2, 4};
    const uint32_t index[] = {0, 2, 1, 5};
    const float value[] = {0.5f, 2.0f, 3.0f, 100.0f};
    parley_model *model = make_model(&pl_loss_logistic, 3);
    memcpy(model->coef, (const double[]){1.0, -2.0, 4.0}, 3 * sizeof(double));
    model->intercept[0] = 0.25;
    pl_matrix x = {3, 6, 4, start, index, value};
    assert_true(pl_model_decide(model, &x, 0) == 8.75);
    assert_true(pl_model_decide(model, &x, 1) == 0.25);
    assert_true(pl_model_decide(model, &x, 2) == -5.75); /* the model has no column 5 */
    x.value = NULL;
    assert_true(pl_model_decide(model, &x, 0) == 5.25);
    assert_true(pl_model_label(model, 0.1) == 1.0 && pl_model_label(model, -0.1) == -1.0);
    parley_model_free(model);
}

static void decisions_do_not_depend_on_threads(void **state) {
    (void)state;
    sample *sample = make_sample(ROWS);
    parley_model *model = make_model(pl_loss_find("squared"), COLUMNS - 3);
    double plain[ROWS], decisions[ROWS];
    for (uint64_t i = 0; i < ROWS; i++)
        plain[i] = pl_model_decide(model, &sample->data.x, i);
    for (unsigned threads = 1; threads <= 3; threads++) {
        pl_pool *pool;
        assert_int_equal(pl_pool_open(&pool, threads, NULL), PARLEY_OK);
        pl_model_decide_all(model, &sample->data, pool, decisions);
        pl_pool_close(pool);
        assert_memory_equal(decisions, plain, sizeof plain);
    }
    assert_int_equal(parley_decide(model, &sample->data, decisions, NULL), PARLEY_OK);
    assert_memory_equal(decisions, plain, sizeof plain);
    parley_model_free(model);
    free(sample);
}

/* Measures in batches of `step` rows. */
static pl_metrics measure(const parley_model *model, const parley_data *data, const double *decisions, uint64_t step) {
    pl_meter *meter;
    pl_metrics metrics;
    assert_int_equal(pl_meter_open(model, &meter, NULL), PARLEY_OK);
    for (uint64_t i = 0; i < data->x.rows; i += step) {
        parley_data batch = *data;
        batch.x.rows = i + step < data->x.rows ? step : data->x.rows - i;
        batch.label += i;
        batch.weight = data->weight ? data->weight + i : NULL;
        assert_int_equal(pl_meter_add(meter, &batch, decisions + i, NULL), PARLEY_OK);
    }
    pl_meter_read(meter, &metrics);
    pl_meter_close(meter);
    return metrics;
}

/* Over all pairs, as the definition has it. */
static double plain_auc(const parley_data *data, const double *z, double high) {
    double right = 0.0, all = 0.0;
    for (uint64_t i = 0; i < data->x.rows; i++)
        for (uint64_t j = 0; j < data->x.rows; j++)
            if (data->label[i] == high && data->label[j] != high) {
                double pair = data->weight ? data->weight[i] * data->weight[j] : 1.0;
                right += pair * (z[i] > z[j] ? 1.0 : z[i] == z[j] ? 0.5 : 0.0);
                all += pair;
            }
    return right / all;
}

static void binary_metrics_follow_their_definitions(void **state) {
    (void)state;
    sample *sample = make_sample(ROWS);
    parley_data *data = &sample->data;
    parley_model *model = make_model(&pl_loss_logistic, COLUMNS);
    double z[ROWS];
    model->low = -3.0;
    model->high = 2.0;
    for (uint64_t i = 0; i < ROWS; i++) /* rounded, so that there are ties */
        z[i] = round(2.0 * pl_model_decide(model, &data->x, i)) / 2.0;
    for (int weighted = 0; weighted < 2; weighted++) {
        double right = 0.0, log_loss = 0.0, hinge = 0.0, total = 0.0;
        data->weight = weighted ? sample->weight : NULL;
        for (uint64_t i = 0; i < ROWS; i++) {
            double s = weighted ? sample->weight[i] : 1.0, y = data->label[i] == 2.0 ? 1.0 : -1.0;
            right += s * ((z[i] > 0.0) == (y > 0.0));
            log_loss += s * log(1.0 + exp(-y * z[i]));
            hinge += s * fmax(0.0, 1.0 - y * z[i]);
            total += s;
        }
        pl_metrics metrics = measure(model, data, z, ROWS), parts = measure(model, data, z, 37);
        assert_int_equal(metrics.rows, ROWS);
        assert_true(metrics.weight == total);
        assert_float_equal(metrics.accuracy, right / total, 1e-12);
        assert_float_equal(metrics.log_loss, log_loss / total, 1e-12);
        assert_float_equal(metrics.hinge, hinge / total, 1e-12);
        assert_float_equal(metrics.auc, plain_auc(data, z, 2.0), 1e-12);
        assert_true(isnan(metrics.rmse) && isnan(metrics.r2));
        assert_true(parts.accuracy == metrics.accuracy && parts.log_loss == metrics.log_loss &&
                    parts.auc == metrics.auc);
    }
    parley_model_free(model);
    free(sample);
}

static void auc_of_known_cases(void **state) {
    (void)state;
    const double label[] = {-1, -1, 1, 1}, one_label[] = {1, 1, 1, 1};
    const double perfect[] = {0.1, 0.2, 0.3, 0.4}, turned[] = {4, 3, 2, 1}, flat[] = {1, 1, 1, 1};
    const double zero_weights[] = {1, 0, 1, 0};
    parley_data data = {.x.rows = 4, .label = label};
    parley_model *model = make_model(&pl_loss_hinge, 1);
    assert_true(measure(model, &data, perfect, 4).auc == 1.0);
    assert_true(measure(model, &data, turned, 4).auc == 0.0);
    assert_true(measure(model, &data, flat, 4).auc == 0.5);
    assert_true(isnan(measure(model, &data, flat, 4).log_loss)); /* hinge gives no probabilities */
    data.weight = zero_weights;
    assert_true(measure(model, &data, perfect, 4).auc == 1.0);
    data.label = one_label;
    assert_true(isnan(measure(model, &data, perfect, 4).auc));
    data.x.rows = 0;
    assert_true(isnan(measure(model, &data, perfect, 4).accuracy));
    parley_model_free(model);
}

static void log_loss_does_not_overflow(void **state) {
    (void)state;
    const double label[] = {-1, 1}, z[] = {1e5, -1e5};
    parley_data data = {.x.rows = 2, .label = label};
    parley_model *model = make_model(&pl_loss_logistic, 1);
    assert_true(measure(model, &data, z, 2).log_loss == 1e5);
    parley_model_free(model);
}

static void real_metrics_follow_their_definitions(void **state) {
    (void)state;
    /* labels far from 0, where sums of squares would lose all digits */
    const double label[] = {1e9 + 1, 1e9 + 2, 1e9 + 4}, z[] = {1e9 + 1, 1e9 + 3, 1e9 + 4}, weight[] = {1, 0, 3};
    const double same[] = {5, 5, 5};
    parley_data data = {.x.rows = 3, .label = label};
    parley_model *model = make_model(pl_loss_find("squared"), 1);
    pl_metrics metrics = measure(model, &data, z, 2);
    assert_float_equal(metrics.rmse, sqrt(1.0 / 3.0), 1e-12);
    assert_float_equal(metrics.r2, 1.0 - 1.0 / (14.0 / 3.0), 1e-6);
    assert_true(isnan(metrics.auc) && isnan(metrics.accuracy));
    data.weight = weight;
    assert_true(measure(model, &data, z, 3).r2 == 1.0);
    data.label = same;
    assert_true(isnan(measure(model, &data, z, 3).r2));
    parley_model_free(model);
}

static void refuses_a_label_the_model_does_not_know(void **state) {
    (void)state;
    const double label[] = {-1, 0.5}, z[] = {1, 1};
    parley_data data = {.x.rows = 2, .label = label, .path = "x.svm"};
    parley_model *model = make_model(&pl_loss_hinge, 1);
    pl_meter *meter;
    parley_error error;
    assert_int_equal(pl_meter_open(model, &meter, NULL), PARLEY_OK);
    assert_int_equal(pl_meter_add(meter, &data, z, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, "x.svm: row 2 has label 0.5; the model knows -1 and 1 only");
    pl_meter_close(meter);
    parley_model_free(model);
}

static parley_status save_load_measure(const sample *sample, parley_error *error) {
    parley_model *model = NULL, *loaded = NULL;
    pl_meter *meter = NULL;
    double *decisions = calloc(ROWS, sizeof *decisions);
    parley_status status = pl_model_new(1, COLUMNS, &pl_loss_logistic, &model, error);
    if (status == PARLEY_OK)
        status = pl_model_set_meta(model, "gap", "1e-05", error);
    if (status == PARLEY_OK)
        status = pl_model_name(model, &(parley_data){.names = some_names, .classes = two_classes}, error);
    if (status == PARLEY_OK)
        status = parley_model_save(model, path, error);
    if (status == PARLEY_OK)
        status = parley_model_load(path, &loaded, error);
    if (status == PARLEY_OK) {
        loaded->low = -3.0;
        loaded->high = 2.0;
        status = parley_decide(loaded, &sample->data, decisions, error);
    }
    if (status == PARLEY_OK)
        status = pl_meter_open(loaded, &meter, error);
    if (status == PARLEY_OK)
        status = pl_meter_add(meter, &sample->data, decisions, error);
    pl_meter_close(meter);
    parley_model_free(loaded);
    parley_model_free(model);
    free(decisions);
    return status;
}

static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    sample *sample = make_sample(ROWS);
    parley_status status = PARLEY_NO_MEMORY;
    int64_t count = 0;
    for (; status != PARLEY_OK; count++) {
        parley_error error = {0};
        pl_memory_fail_after(count);
        status = save_load_measure(sample, &error);
        pl_memory_fail_after(-1);
        if (status != PARLEY_OK) {
            assert_int_equal(status, PARLEY_NO_MEMORY);
            assert_true(error.sentence[0] != '\0');
        }
    }
    assert_true(count > 10);
    free(sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_what_was_saved),
        cmocka_unit_test(names_are_kept_and_numbers_stand_in_for_missing_ones),
        cmocka_unit_test(saves_the_same_bytes_after_loading),
        cmocka_unit_test(a_loss_keeps_its_parameter),
        cmocka_unit_test(a_model_without_columns_is_a_model),
        cmocka_unit_test(metadata_are_replaced_and_bounded),
        cmocka_unit_test(refuses_bad_metadata),
        cmocka_unit_test(refuses_bad_tensors),
        cmocka_unit_test(names_a_file_that_is_not_there),
        cmocka_unit_test(decides_as_the_formula_says),
        cmocka_unit_test(decisions_do_not_depend_on_threads),
        cmocka_unit_test(binary_metrics_follow_their_definitions),
        cmocka_unit_test(auc_of_known_cases),
        cmocka_unit_test(log_loss_does_not_overflow),
        cmocka_unit_test(real_metrics_follow_their_definitions),
        cmocka_unit_test(refuses_a_label_the_model_does_not_know),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("model", tests, make_folder, remove_folder);
}
