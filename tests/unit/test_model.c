/* test_model.c: models to files and back, and decisions against plain references. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs these first */
#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "linear/model/linear_model.h"

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

static pl_linear_model *make_model(const pl_loss *loss, uint64_t columns) {
    pl_linear_model *model;
    pl_stream stream = pl_stream_make(3, 1, 4);
    assert_int_equal(pl_linear_new(1, columns, loss, &model, NULL), PARLEY_OK);
    for (uint64_t i = 0; i < columns; i++)
        model->coef[i] = pl_random_normal(&stream);
    model->intercept[0] = 0.1;
    return model;
}

static double decide(const pl_linear_model *model, const pl_matrix *x, uint64_t row) {
    double z;
    pl_model_linear.apply(&model->base, x, row, row + 1, &z);
    return z;
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
    sample->data = (parley_data){.x = {rows, COLUMNS, used, sample->start, sample->index, {.narrow = sample->value}},
                                 .label = sample->label,
                                 .path = "sample.svm"};
    return sample;
}

static void loads_what_was_saved(void **state) {
    (void)state;
    pl_linear_model *model = make_model(&pl_loss_hinge, COLUMNS);
    parley_model *loaded;
    parley_error error;
    model->low = -0.5;
    model->high = 1.0 / 3.0;
    pl_model_set_meta(&model->base, "lambda", "0.25", NULL);
    pl_model_set_meta(&model->base, "loss", "auto", NULL); /* a setting of the same name must not hide the loss */
    assert_int_equal(parley_model_save(&model->base, path, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &loaded, &error), PARLEY_OK);
    uint64_t outputs, columns;
    parley_model_shape(loaded, &outputs, &columns);
    assert_int_equal(outputs, 1);
    assert_int_equal(columns, COLUMNS);
    assert_memory_equal(parley_model_coef(loaded), model->coef, COLUMNS * sizeof(double));
    assert_true(parley_model_intercept(loaded)[0] == 0.1);
    assert_true(pl_linear(loaded)->low == -0.5 && pl_linear(loaded)->high == 1.0 / 3.0);
    assert_ptr_equal(pl_linear(loaded)->loss, &pl_loss_hinge);
    assert_string_equal(pl_model_meta(loaded, "format"), "parley-model-1");
    assert_string_equal(pl_model_meta(loaded, "loss"), "hinge");
    assert_string_equal(pl_model_meta(loaded, "labels"), "-0.5 0.3333333333333333");
    assert_string_equal(pl_model_meta(loaded, "lambda"), "0.25");
    assert_null(pl_model_meta(loaded, "nothing"));
    parley_model_free(&model->base);
    parley_model_free(loaded);
}

static const uint64_t name_start[] = {0, 3, 3, 8}, class_start[] = {0, 2, 5};
static const pl_names some_names = {3, name_start, "agew=red", NULL}, two_classes = {2, class_start, "noyes", NULL};

static void names_are_kept_and_numbers_stand_in_for_missing_ones(void **state) {
    (void)state;
    pl_linear_model *model = make_model(&pl_loss_logistic, COLUMNS);
    parley_model *loaded;
    const parley_data data = {.names = some_names, .classes = two_classes, .hash_bits = 2};
    pl_reading reading = {0};
    char text[24];
    uint64_t bytes;
    assert_int_equal(pl_model_name(&model->base, &data, NULL), PARLEY_OK);
    assert_int_equal(parley_model_save(&model->base, path, NULL), PARLEY_OK);
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
    parley_model_free(&model->base);
    parley_model_free(loaded);
}

static void saves_the_same_bytes_after_loading(void **state) {
    (void)state;
    pl_linear_model *model = make_model(pl_loss_find("squared"), 7);
    parley_model *loaded;
    uint64_t size, other_size;
    pl_model_set_meta(&model->base, "gap", "1e-05", NULL);
    assert_int_equal(parley_model_save(&model->base, path, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &loaded, NULL), PARLEY_OK);
    assert_int_equal(parley_model_save(loaded, other_path, NULL), PARLEY_OK);
    char *bytes = read_bytes(path, &size), *other = read_bytes(other_path, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(bytes, other, size);
    free(bytes);
    free(other);
    parley_model_free(&model->base);
    parley_model_free(loaded);
}

static void a_loss_keeps_its_parameter(void **state) {
    (void)state;
    pl_loss huber = *pl_loss_find("huber");
    huber.parameter_value = 2.5;
    const char *const bad[] = {NULL, "", "wide", "-1", "2.5 1", "inf"};
    pl_linear_model *model = make_model(&huber, 3);
    parley_model *loaded;
    parley_error error;
    assert_true(model->loss->parameter_value == 2.5);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (bad[i])
            assert_int_equal(pl_model_set_meta(&model->base, "huber_width", bad[i], NULL), PARLEY_OK);
        assert_int_equal(parley_model_save(&model->base, path, NULL), PARLEY_OK);
        assert_int_equal(parley_model_load(path, &loaded, &error), PARLEY_BAD_INPUT);
        assert_non_null(strstr(error.sentence, "huber_width is missing or not a number that loss huber takes"));
    }
    assert_int_equal(pl_model_set_meta(&model->base, "huber_width", "2.5", NULL), PARLEY_OK);
    assert_int_equal(parley_model_save(&model->base, path, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &loaded, NULL), PARLEY_OK);
    assert_true(pl_linear(loaded)->loss->parameter_value == 2.5 && strcmp(pl_linear(loaded)->loss->name, "huber") == 0);
    parley_model_free(&model->base);
    parley_model_free(loaded);
}

static void a_model_without_columns_is_a_model(void **state) {
    (void)state;
    pl_linear_model *model = make_model(pl_loss_find("squared"), 0);
    parley_model *loaded;
    assert_int_equal(parley_model_save(&model->base, path, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &loaded, NULL), PARLEY_OK);
    parley_model_free(&model->base);
    parley_model_free(loaded);
}

static void metadata_are_replaced_and_bounded(void **state) {
    (void)state;
    pl_linear_model *model = make_model(pl_loss_find("squared"), 1);
    char key[16];
    assert_int_equal(pl_model_set_meta(&model->base, "k", "1", NULL), PARLEY_OK);
    assert_int_equal(pl_model_set_meta(&model->base, "k", "2", NULL), PARLEY_OK);
    assert_int_equal(model->base.metas, 1);
    assert_string_equal(pl_model_meta(&model->base, "k"), "2");
    for (int i = 1; i < PL_MODEL_METAS; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(pl_model_set_meta(&model->base, key, "v", NULL), PARLEY_OK);
    }
    assert_int_equal(pl_model_set_meta(&model->base, "one more", "v", NULL), PARLEY_BROKEN);
    assert_int_equal(pl_model_set_meta(&model->base, "k", "3", NULL), PARLEY_OK);
    parley_model_free(&model->base);
}

static void decides_as_the_formula_says(void **state) {
    (void)state;
    const uint64_t start[] = {0, 2, 2, 4};
    const uint32_t index[] = {0, 2, 1, 5};
    const float value[] = {0.5f, 2.0f, 3.0f, 100.0f};
    pl_linear_model *model = make_model(&pl_loss_logistic, 3);
    memcpy(model->coef, (const double[]){1.0, -2.0, 4.0}, 3 * sizeof(double));
    model->intercept[0] = 0.25;
    pl_matrix x = {3, 6, 4, start, index, {.narrow = value}};
    assert_true(decide(model, &x, 0) == 8.75);
    assert_true(decide(model, &x, 1) == 0.25);
    assert_true(decide(model, &x, 2) == -5.75); /* the model has no column 5 */
    x.values.narrow = NULL;
    assert_true(decide(model, &x, 0) == 5.25);
    assert_true(pl_model_linear.predict(&model->base, &(double){0.1}) == 1.0 &&
                pl_model_linear.predict(&model->base, &(double){-0.1}) == -1.0);
    parley_model_free(&model->base);
}

static void decisions_do_not_depend_on_threads(void **state) {
    (void)state;
    sample *sample = make_sample(ROWS);
    pl_linear_model *model = make_model(pl_loss_find("squared"), COLUMNS - 3);
    double plain[ROWS], decisions[ROWS];
    for (uint64_t i = 0; i < ROWS; i++)
        plain[i] = decide(model, &sample->data.x, i);
    for (unsigned threads = 1; threads <= 3; threads++) {
        pl_pool *pool;
        assert_int_equal(pl_pool_open(&pool, threads, NULL), PARLEY_OK);
        pl_pool_run(pool, pl_apply_task, &(pl_applying){&model->base, &sample->data.x, decisions, NULL},
                    pl_apply_tasks(&sample->data.x));
        pl_pool_close(pool);
        assert_memory_equal(decisions, plain, sizeof plain);
    }
    assert_int_equal(parley_decide(&model->base, &sample->data, decisions, NULL), PARLEY_OK);
    assert_memory_equal(decisions, plain, sizeof plain);
    parley_model_free(&model->base);
    free(sample);
}

/* A viewer that records what it is shown. */
typedef struct notes {
    pl_viewer base;
    char text[512];
} notes;

static void note(pl_viewer *viewer, const char *format, ...) {
    notes *notes = (struct notes *)viewer;
    size_t used = strlen(notes->text);
    va_list values;
    va_start(values, format);
    vsnprintf(notes->text + used, sizeof notes->text - used, format, values);
    va_end(values);
}

static void note_text(pl_viewer *viewer, const char *key, const char *value) { note(viewer, "%s=%s ", key, value); }

static void note_count(pl_viewer *viewer, const char *key, uint64_t count) { note(viewer, "%s=%d ", key, (int)count); }

static void note_number(pl_viewer *viewer, const char *key, double value) { note(viewer, "%s=%g ", key, value); }

static void note_numbers(pl_viewer *viewer, const char *key, const double *values, uint64_t count) {
    note(viewer, "%s=[", key);
    for (uint64_t i = 0; i < count; i++)
        note(viewer, "%g ", values[i]);
    note(viewer, "] ");
}

static void note_labels(pl_viewer *viewer, const char *key, const parley_model *model) {
    double label;
    char text[32];
    note(viewer, "%s=[", key);
    for (uint64_t i = 0; model->type->label(model, i, &label); i++) {
        pl_name name = pl_model_label(model, label, text, sizeof text);
        note(viewer, "%.*s ", (int)name.bytes, name.text);
    }
    note(viewer, "] ");
}

static void note_matrix(pl_viewer *viewer, const char *key, const parley_model *model, const double *values) {
    note_numbers(viewer, key, values, pl_model_labels(model) * pl_model_labels(model));
}

static void note_open(pl_viewer *viewer, const char *key, const char *name_key, const char *number_key) {
    note(viewer, "%s(%s %s): ", key, name_key, number_key ? number_key : "none");
}

static void note_row(pl_viewer *viewer, pl_name name, uint64_t number, const pl_view_cell *cells, unsigned count) {
    note(viewer, "%.*s %d", (int)name.bytes, name.text, (int)number);
    for (unsigned i = 0; i < count; i++)
        for (uint64_t k = 0; k < cells[i].count; k++)
            note(viewer, " %s=%g", cells[i].key, cells[i].numbers[k * cells[i].stride]);
    note(viewer, "; ");
}

static void note_close(pl_viewer *viewer) { note(viewer, "end"); }

static notes open_notes(void) {
    return (notes){.base = {note_text, note_count, note_number, note_numbers, note_labels, note_matrix, note_open,
                            note_row, note_close}};
}

static void a_viewer_is_shown_the_largest_weights_first(void **state) {
    (void)state;
    static const double coef[] = {0.5, 0, -1, 0, 0, 2}, intercept[] = {0.25, -0.25}, labels[] = {0, 1};
    parley_model *model;
    notes info = open_notes(), dump = info;
    assert_int_equal(parley_model_new("softmax", 2, 3, coef, intercept, labels, &model, NULL), PARLEY_OK);
    assert_int_equal(pl_model_name(model, &(parley_data){.names = some_names}, NULL), PARLEY_OK);
    model->type->show(model, &info.base);
    assert_string_equal(info.text, "nonzeros=3 intercept=[0.25 -0.25 ] labels=[0 1 ] ");
    assert_int_equal(model->type->dump(model, 0, &dump.base, NULL), PARLEY_OK);
    assert_string_equal(dump.text,
                        "labels=[0 1 ] intercept=[0.25 -0.25 ] weights(name column): w=red 3 weight=-1 weight=2; "
                        "age 1 weight=0.5 weight=0; end");
    dump = open_notes();
    assert_int_equal(model->type->dump(model, 1, &dump.base, NULL), PARLEY_OK);
    assert_null(strstr(dump.text, "age"));
    parley_model_free(model);
}

static void classes_get_names_if_labels_count_from_0(void **state) {
    (void)state;
    static const double coef[] = {1, 2}, labels[] = {0, 1}, others[] = {-1, 1};
    const char *const words[] = {"no", "yes", "maybe"}, *const empty[] = {"no", ""};
    parley_model *model, *loaded;
    parley_error error;
    void *bytes;
    uint64_t count;
    assert_int_equal(parley_model_new("logistic", 1, 2, coef, NULL, labels, &model, NULL), PARLEY_OK);
    assert_int_equal(parley_model_set_classes(model, words, 3, &error), PARLEY_BAD_USAGE);
    assert_string_equal(error.sentence, "3 names for a model of 2 classes; give one for each");
    assert_int_equal(parley_model_set_classes(model, empty, 2, &error), PARLEY_BAD_USAGE);
    assert_int_equal(parley_model_set_classes(model, words + 1, 2, NULL), PARLEY_OK);
    assert_int_equal(parley_model_set_classes(model, words, 2, NULL), PARLEY_OK);
    assert_int_equal(parley_model_to_bytes(model, &bytes, &count, NULL), PARLEY_OK);
    assert_int_equal(parley_model_from_bytes(bytes, count, &loaded, NULL), PARLEY_OK);
    assert_memory_equal(parley_model_class_name(loaded, 1, &count), "yes", 3);
    assert_int_equal(count, 3);
    parley_bytes_free(bytes);
    parley_model_free(loaded);
    parley_model_free(model);
    assert_int_equal(parley_model_new("logistic", 1, 2, coef, NULL, others, &model, NULL), PARLEY_OK);
    assert_int_equal(parley_model_set_classes(model, words, 2, &error), PARLEY_BAD_USAGE);
    assert_non_null(strstr(error.sentence, "label 0 is -1"));
    parley_model_free(model);
    assert_int_equal(parley_model_new("squared", 1, 2, coef, NULL, NULL, &model, NULL), PARLEY_OK);
    assert_int_equal(parley_model_set_classes(model, words, 2, &error), PARLEY_BAD_USAGE);
    parley_model_free(model);
}

static void a_meter_shows_its_metrics_and_then_the_classes(void **state) {
    (void)state;
    static const double coef[] = {1, -1}, labels[] = {0, 1}, z[] = {2, -2, 3, -3, -1, 1}, label[] = {0, 0, 1};
    const parley_data batch = {.x.rows = 3, .label = label, .path = "x.svm"};
    parley_model *model;
    pl_meter *meter;
    notes notes = open_notes();
    assert_int_equal(parley_model_new("hinge", 2, 1, coef, NULL, labels, &model, NULL), PARLEY_OK);
    assert_int_equal(pl_model_name(model, &(parley_data){.classes = two_classes}, NULL), PARLEY_OK);
    assert_int_equal(pl_linear_meter.open(model, NULL, &meter, NULL), PARLEY_OK);
    assert_int_equal(pl_linear_meter.add(meter, &batch, z, NULL), PARLEY_OK);
    pl_linear_meter.show(meter, &notes.base);
    assert_string_equal(notes.text, "loss=hinge rows=3 accuracy=1 macro_f1=1 f1=1 hinge=0 classes(label none): "
                                    "no 0 weight=2 precision=1 recall=1 f1=1 support=2; "
                                    "yes 0 weight=1 precision=1 recall=1 f1=1 support=1; end"
                                    "confusion=[2 0 0 1 ] ");
    pl_linear_meter.close(meter);
    parley_model_free(model);
}

static parley_status fail_to_load(const pl_container *container, const char *name, parley_model **out,
                                  parley_error *error) {
    (void)container;
    *out = NULL;
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: no such models are kept", name);
}

static const float narrow[] = {1.0f, 2.0f};
static const double wide[] = {3.0};

static void add_parts(const parley_model *model, pl_model_parts *parts) {
    (void)model;
    parts->pairs[parts->pair_count++] = (pl_pair){"topics", "2"};
    parts->tensors[parts->tensor_count++] = (pl_tensor){"wide", PL_F64, 1, {1, 0}, wide};
    parts->tensors[parts->tensor_count++] = (pl_tensor){"narrow", PL_F32, 1, {2, 0}, narrow};
}

static void free_nothing(parley_model *model) { (void)model; }

static const char *const other_keys[] = {"topics", NULL};
static const pl_model_type other_type = {.name = "other",
                                         .format = "parley-other-1",
                                         .keys = other_keys,
                                         .load = fail_to_load,
                                         .parts = add_parts,
                                         .free = free_nothing};

static void a_model_of_another_type_is_saved_and_has_no_coefficients(void **state) {
    (void)state;
    parley_model *model = pl_alloc(1, sizeof *model), *loaded;
    const parley_data data = {.names = some_names, .classes = two_classes};
    const char *value;
    double labels[2];
    parley_error error;
    assert_non_null(model);
    *model = (parley_model){.type = &other_type, .outputs = 1, .columns = 3};
    assert_int_equal(pl_model_set_meta(model, "topics", "9", NULL), PARLEY_OK); /* the type sets this key itself */
    assert_int_equal(pl_model_set_meta(model, "seed", "4", NULL), PARLEY_OK);
    assert_int_equal(pl_model_name(model, &data, NULL), PARLEY_OK);
    assert_null(pl_linear(model));
    assert_null(parley_model_coef(model));
    assert_null(parley_model_intercept(model));
    assert_null(parley_model_labels(model));
    assert_int_equal(parley_model_two_labels(model, labels), 0);
    assert_string_equal(parley_model_meta(model, 0, &value), "seed");
    assert_null(parley_model_meta(model, 1, &value));
    assert_int_equal(parley_model_save(model, path, NULL), PARLEY_OK); /* saving checks the order of tensors */
    pl_container *container;
    assert_int_equal(pl_container_open(path, &container, NULL), PARLEY_OK);
    assert_string_equal(pl_container_meta(container, "format"), "parley-other-1");
    assert_string_equal(pl_container_meta(container, "topics"), "2");
    assert_memory_equal(pl_container_tensor(container, "narrow")->data, narrow, sizeof narrow);
    assert_non_null(pl_container_tensor(container, "name_start"));
    assert_false(pl_model_claimed(container)); /* no registered type has this format */
    pl_container_close(container);
    assert_int_equal(parley_model_load(path, &loaded, &error), PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "format is `parley-other-1`, not `parley-model-1`"));
    parley_model_free(model);
}

static parley_status save_load_measure(const sample *sample, parley_error *error) {
    pl_linear_model *model = NULL;
    parley_model *loaded = NULL;
    pl_meter *meter = NULL;
    notes notes = open_notes();
    double *decisions = calloc(ROWS, sizeof *decisions);
    parley_status status = pl_linear_new(1, COLUMNS, &pl_loss_logistic, &model, error);
    if (status == PARLEY_OK)
        status = pl_model_set_meta(&model->base, "gap", "1e-05", error);
    if (status == PARLEY_OK)
        status = pl_model_name(&model->base, &(parley_data){.names = some_names, .classes = two_classes}, error);
    if (status == PARLEY_OK)
        status = parley_model_save(&model->base, path, error);
    if (status == PARLEY_OK)
        status = parley_model_load(path, &loaded, error);
    if (status == PARLEY_OK) {
        ((pl_linear_model *)loaded)->low = -3.0;
        ((pl_linear_model *)loaded)->high = 2.0;
        status = parley_decide(loaded, &sample->data, decisions, error);
    }
    if (status == PARLEY_OK)
        status = pl_linear_meter.open(loaded, NULL, &meter, error);
    if (status == PARLEY_OK)
        status = pl_linear_meter.add(meter, &sample->data, decisions, error);
    if (status == PARLEY_OK)
        status = loaded->type->dump(loaded, 0, &notes.base, error);
    pl_linear_meter.close(meter);
    parley_model_free(loaded);
    parley_model_free((parley_model *)model);
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
        cmocka_unit_test(decides_as_the_formula_says),
        cmocka_unit_test(decisions_do_not_depend_on_threads),
        cmocka_unit_test(a_viewer_is_shown_the_largest_weights_first),
        cmocka_unit_test(classes_get_names_if_labels_count_from_0),
        cmocka_unit_test(a_meter_shows_its_metrics_and_then_the_classes),
        cmocka_unit_test(a_model_of_another_type_is_saved_and_has_no_coefficients),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("model", tests, make_folder, remove_folder);
}
