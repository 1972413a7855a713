/* model.c: what models of all types share: metadata, names, files, and applying them on many threads. A file is in
 * safetensors format. It holds the type's tensors, names of columns and classes if there are any, and metadata strings,
 * of which `format` names the type. */
#include "data/format.h"
#include "data/label_sets.h"
#include "data/terms.h"
#include "method/problem.h"

#include <math.h>
#include <string.h>

#include "base/mapped_file.h"
#include "base/stop.h"
#include "math/softmax_kernel.h"

#define MOST_HASH_BITS 30
#define LABEL_SETS "label_sets"
#define ROWS_PER_TASK 1024
#define WORTH_THREADS 500000 /* multiplications; starting threads costs about a tenth of these */

static void free_pair(pl_pair pair) {
    pl_free((char *)pair.key);
    pl_free((char *)pair.value);
}

bool pl_model_sets(const parley_model *model, const char *key) {
    bool sets = strcmp(key, "format") == 0;
    for (const char *const *own = model->type->keys; *own; own++)
        sets = sets || strcmp(key, *own) == 0;
    return sets;
}

parley_status pl_model_set_meta(parley_model *model, const char *key, const char *value, parley_error *error) {
    unsigned at = 0;
    while (at < model->metas && strcmp(model->meta[at].key, key) != 0)
        at++;
    if (at == PL_MODEL_METAS)
        return pl_fail(error, PARLEY_BROKEN, "a model has at most %d metadata entries", PL_MODEL_METAS);
    pl_pair pair = {pl_strdup(key), pl_strdup(value)};
    if (!pair.key || !pair.value) {
        free_pair(pair);
        return pl_fail_memory(error, "the model's metadata", strlen(key) + strlen(value) + 2);
    }
    if (at < model->metas)
        free_pair(model->meta[at]);
    else
        model->metas++;
    model->meta[at] = pair;
    model->label_sets |= strcmp(key, LABEL_SETS) == 0 && model->outputs > 1;
    return PARLEY_OK;
}

const char *pl_model_meta(const parley_model *model, const char *key) {
    for (unsigned i = 0; i < model->metas; i++)
        if (strcmp(model->meta[i].key, key) == 0)
            return model->meta[i].value;
    return NULL;
}

parley_status pl_model_name(parley_model *model, const parley_data *data, parley_error *error) {
    char bits[16];
    snprintf(bits, sizeof bits, "%u", data->hash_bits);
    parley_status status = pl_names_copy(&data->names, &model->names, error);
    if (status == PARLEY_OK && pl_has_label_sets(data))
        status = pl_model_set_meta(model, LABEL_SETS, "true", error);
    else if (status == PARLEY_OK)
        status = pl_names_copy(&data->classes, &model->classes, error);
    if (status == PARLEY_OK && model->type->names_in_metadata)
        status = pl_names_to_metadata(model, error);
    if (status == PARLEY_OK && data->hash_bits > 0)
        status = pl_model_set_meta(model, "hash_bits", bits, error);
    if (status == PARLEY_OK && data->table)
        status = pl_model_set_meta(model, "table", data->table, error);
    if (status == PARLEY_OK && data->format == &pl_format_text)
        status = pl_model_set_meta(model, "documents_format", data->format->name, error);
    return status;
}

/* How many bits of hash the last columns have; 0 if none. */
static unsigned hash_bits(const parley_model *model) {
    const char *text = pl_model_meta(model, "hash_bits");
    unsigned bits = 0;
    for (; text && *text >= '0' && *text <= '9' && bits < MOST_HASH_BITS; text++)
        bits = bits * 10 + (unsigned)(*text - '0');
    return bits <= MOST_HASH_BITS && (uint64_t)1 << bits <= model->columns ? bits : 0;
}

void pl_model_reading(const parley_model *model, pl_reading *reading) {
    reading->model_columns = model->columns;
    reading->names = &model->names;
    reading->classes = &model->classes;
    reading->label_sets = model->label_sets;
    reading->model_bits = hash_bits(model);
    reading->table = pl_model_meta(model, "table");
    reading->offset_column = pl_model_meta(model, "offset_column");
    reading->wide = reading->unjudged = true; /* one row does not tell whether its columns are far from 0 */
    const char *format = pl_model_meta(model, "documents_format");
    if (!format && pl_terms_alone(reading->table))
        format = pl_format_text.name;
    if (format && !reading->format) /* plain text is not recognised by content */
        reading->format = pl_format_find(format);
}

pl_name pl_model_column(const parley_model *model, uint64_t column, char *text, size_t size) {
    pl_name name = pl_names_at(&model->names, column);
    if (name.bytes > 0)
        return name;
    snprintf(text, size, "%llu", (unsigned long long)column + 1);
    return (pl_name){text, strlen(text)};
}

uint64_t pl_model_labels(const parley_model *model) {
    uint64_t count = 0;
    double label;
    while (model->type->label(model, count, &label))
        count++;
    return count;
}

pl_name pl_model_label(const parley_model *model, double label, char *text, size_t size) {
    if (label >= 0 && label < (double)model->classes.count)
        return pl_names_at(&model->classes, (uint64_t)label);
    pl_number_text(label, text, size);
    return (pl_name){text, strlen(text)};
}

static parley_status copy_metas(parley_model *model, const pl_container *container, const char *path,
                                parley_error *error) {
    const pl_pair *pairs;
    unsigned count = pl_container_metas(container, &pairs);
    if (count > PL_MODEL_METAS)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %u metadata entries, but at most %d are possible", path, count,
                       PL_MODEL_METAS);
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++)
        status = pl_model_set_meta(model, pairs[i].key, pairs[i].value, error);
    return status;
}

static parley_status copy_names(parley_model *model, const pl_container *container, const char *path,
                                parley_error *error) {
    pl_names names, classes;
    if (model->type->names_in_metadata)
        return pl_names_from_metadata(model, path, error);
    if (!pl_names_get(container, "name", model->columns, &names) ||
        !pl_names_get(container, "class", PL_MOST_CLASSES, &classes))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: the tensors of names do not have the right shape", path);
    parley_status status = pl_names_copy(&names, &model->names, error);
    return status == PARLEY_OK ? pl_names_copy(&classes, &model->classes, error) : status;
}

const pl_model_metric *pl_metric_find(const pl_model_type *type, const char *name) {
    const char *wanted = strcmp(name, "auto") == 0 ? type->metric : name;
    for (const pl_model_metric *metric = type->metrics; metric->name; metric++)
        if (strcmp(metric->name, wanted) == 0)
            return metric;
    return NULL;
}

void pl_metric_names(const pl_model_type *type, const parley_model *model, char *text, size_t size) {
    *text = '\0';
    for (const pl_model_metric *metric = type->metrics; metric->name; metric++)
        if (!model || metric->reported(model) || strcmp(metric->name, type->metric) == 0)
            snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? ", " : "", metric->name);
}

void pl_meter_show(pl_meter *meter, pl_viewer *viewer) {
    for (const pl_model_metric *metric = meter->model->type->metrics; metric->name; metric++)
        if (metric->reported(meter->model))
            viewer->number(viewer, metric->key ? metric->key : metric->name, metric->value(meter));
}

/* Whether both formats agree up to the version number. */
static bool is_alike(const char *format, const char *known) {
    return strncmp(format, known, (size_t)(strrchr(known, '-') + 1 - known)) == 0;
}

bool pl_model_claimed(const pl_container *container) {
    const char *format = pl_container_meta(container, "format");
    bool claimed = format && is_alike(format, PL_PATH_FORMAT);
    for (unsigned i = 0; i < pl_problems_count && format; i++)
        claimed = claimed || is_alike(format, pl_problems[i]->model_type->format);
    return claimed;
}

static parley_status refuse_format(const char *path, const char *format, parley_error *error) {
    char known[256] = "";
    if (strcmp(format, PL_PATH_FORMAT) == 0)
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: this is a path of models written by parley path; predict, eval, dump and info use one of them with "
            "--at LAMBDA, and parley_path_load reads it in C",
            path);
    for (unsigned i = 0; i < pl_problems_count; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s`%s`", i ? " or " : "",
                 pl_problems[i]->model_type->format);
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a Parley model: format is `%.60s`, not %s", path, format, known);
}

/* Loads the model from an open container. */
static parley_status from_container(const pl_container *container, const char *path, parley_model **out,
                                    parley_error *error) {
    const char *format = pl_container_meta(container, "format");
    const pl_model_type *type = NULL;
    for (unsigned i = 0; i < pl_problems_count; i++)
        if (format && strcmp(format, pl_problems[i]->model_type->format) == 0)
            type = pl_problems[i]->model_type;
    if (!type)
        return refuse_format(path, format ? format : "", error);
    parley_status status = type->load(container, path, out, error);
    if (status == PARLEY_OK)
        status = copy_metas(*out, container, path, error);
    if (status == PARLEY_OK)
        status = copy_names(*out, container, path, error);
    if (status != PARLEY_OK) {
        parley_model_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status pl_model_parse(const void *bytes, uint64_t size, const char *path, parley_model **out,
                             parley_error *error) {
    pl_container *container;
    *out = NULL;
    parley_status status = pl_container_parse(bytes, size, path, &container, error);
    if (status == PARLEY_OK) {
        status = pl_container_keep(container, path, error);
        if (status == PARLEY_OK)
            status = from_container(container, path, out, error);
        pl_container_close(container);
    }
    return status;
}

/* The offsets of names come before the type's narrow tensors, because tensors go from wide types to narrow ones. */
static void put_names(const parley_model *model, pl_model_parts *parts) {
    pl_tensor narrow[PL_MODEL_TENSORS];
    unsigned wide = 0;
    while (wide < parts->tensor_count && (parts->tensors[wide].type == PL_F64 || parts->tensors[wide].type == PL_U64))
        wide++;
    unsigned count = parts->tensor_count - wide;
    memcpy(narrow, parts->tensors + wide, count * sizeof *narrow);
    parts->tensor_count = wide;
    pl_names_put_starts(&model->names, &model->classes, parts->tensors, &parts->tensor_count);
    memcpy(parts->tensors + parts->tensor_count, narrow, count * sizeof *narrow);
    parts->tensor_count += count;
    pl_names_put_texts(&model->names, &model->classes, parts->tensors, &parts->tensor_count);
}

void pl_model_file(const parley_model *model, pl_model_parts *parts) {
    parts->pairs[0] = (pl_pair){"format", model->type->format};
    parts->pair_count = 1;
    parts->tensor_count = 0;
    model->type->parts(model, parts);
    for (unsigned i = 0; i < model->metas; i++)
        if (!pl_model_sets(model, model->meta[i].key))
            parts->pairs[parts->pair_count++] = model->meta[i];
    if (!model->type->names_in_metadata)
        put_names(model, parts);
}

parley_status parley_model_save(const parley_model *model, const char *path, parley_error *error) {
    pl_model_parts parts;
    pl_model_file(model, &parts);
    return pl_container_write(path, parts.tensors, parts.tensor_count, parts.pairs, parts.pair_count, error);
}

/* Whether the file has a header that begins as JSON does, or cannot be read, which is another failure. */
static bool begins_as_container(const char *path) {
    pl_mapped_file map = {0};
    if (pl_mapped_open(&map, path, NULL) != PARLEY_OK)
        return true;
    bool begins = map.bytes > 8 && map.data[8] == '{';
    pl_mapped_close(&map);
    return begins;
}

parley_status parley_model_load(const char *path, parley_model **out, parley_error *error) {
    pl_container *container;
    *out = NULL;
    parley_status status = pl_container_open(path, &container, error);
    if (status == PARLEY_BAD_INPUT && !begins_as_container(path))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: this is not a model; give a file that parley train wrote", path);
    if (status == PARLEY_OK) {
        status = from_container(container, path, out, error);
        pl_container_close(container);
    }
    return status;
}

parley_status parley_model_to_bytes(const parley_model *model, void **bytes, uint64_t *count, parley_error *error) {
    pl_model_parts parts;
    pl_model_file(model, &parts);
    return pl_container_pack(parts.tensors, parts.tensor_count, parts.pairs, parts.pair_count, bytes, count, error);
}

parley_status parley_model_from_bytes(const void *bytes, uint64_t count, parley_model **out, parley_error *error) {
    return pl_model_parse(bytes, count, "bytes of a model", out, error);
}

void parley_bytes_free(void *bytes) { pl_free(bytes); }

void parley_model_shape(const parley_model *model, uint64_t *outputs, uint64_t *columns) {
    if (outputs)
        *outputs = model->outputs;
    if (columns)
        *columns = model->columns;
}

parley_status parley_data_read_for(const parley_model *model, const char *path, const parley_settings *settings,
                                   parley_message warn, void *user, parley_data **out, parley_error *error) {
    pl_pool *pool;
    pl_reading reading;
    *out = NULL;
    parley_status status = pl_reading_of(settings, &reading, error);
    if (status == PARLEY_OK)
        status = pl_pool_open(&pool, (unsigned)settings->threads, error);
    if (status != PARLEY_OK)
        return status;
    pl_model_reading(model, &reading);
    reading.unlabelled = true;
    reading.warn = warn;
    reading.user = user;
    status = pl_data_read_as(path, &reading, pool, out, error);
    pl_pool_close(pool);
    return status;
}

const char *parley_model_class_name(const parley_model *model, uint64_t label, uint64_t *bytes) {
    pl_name name = pl_names_at(&model->classes, label);
    if (bytes)
        *bytes = name.bytes;
    return name.text;
}

parley_status parley_model_set_classes(parley_model *model, const char *const *names, uint64_t count,
                                       parley_error *error) {
    uint64_t labels = pl_model_labels(model), bytes = 0;
    double label;
    pl_names classes;
    for (uint64_t i = 0; model->type->label(model, i, &label); i++)
        if (label != (double)i)
            return pl_fail(error, PARLEY_BAD_USAGE,
                           "the labels of a model with class names must be 0, 1, 2, ..., but label %llu is %.17g",
                           (unsigned long long)i, label);
    if (labels == 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "the model predicts numbers; it has no classes to name");
    if (labels != count)
        return pl_fail(error, PARLEY_BAD_USAGE, "%llu names for a model of %llu classes; give one for each",
                       (unsigned long long)count, (unsigned long long)labels);
    for (uint64_t i = 0; i < count; i++) {
        if (!*names[i])
            return pl_fail(error, PARLEY_BAD_USAGE, "the name of class %llu is empty", (unsigned long long)i);
        bytes += strlen(names[i]);
    }
    parley_status status = pl_names_make(count, bytes, &classes, error);
    if (status != PARLEY_OK)
        return status;
    uint64_t *start = (uint64_t *)classes.start;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t length = strlen(names[i]);
        memcpy((char *)classes.text + start[i], names[i], length);
        start[i + 1] = start[i] + length;
    }
    pl_names_free(&model->classes);
    model->classes = classes;
    return model->type->names_in_metadata ? pl_names_to_metadata(model, error) : PARLEY_OK;
}

const char *parley_model_column_name(const parley_model *model, uint64_t column, uint64_t *bytes) {
    pl_name name = pl_names_at(&model->names, column);
    if (bytes)
        *bytes = name.bytes;
    return name.text;
}

void parley_model_free(parley_model *model) {
    if (!model)
        return;
    for (unsigned i = 0; i < model->metas; i++)
        free_pair(model->meta[i]);
    pl_names_free(&model->names);
    pl_names_free(&model->classes);
    model->type->free(model);
    pl_free(model);
}

bool pl_model_is_finite(const parley_model *model, const double *values) {
    for (uint64_t o = 0; o < model->outputs && model->type->explain; o++)
        if (!isfinite(values[o]))
            return false;
    return true;
}

unsigned pl_apply_tasks(const pl_matrix *x) { return (unsigned)((x->rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK); }

void pl_apply_task(void *applying, unsigned task) {
    const pl_applying *work = applying;
    uint64_t begin = (uint64_t)task * ROWS_PER_TASK, end = begin + ROWS_PER_TASK;
    if (pl_stop_due())
        return;
    end = end < work->x->rows ? end : work->x->rows;
    if (work->meter && work->model->type->meter->apply)
        work->model->type->meter->apply(work->meter, work->x, begin, end,
                                        work->values + begin * work->model->type->meter->width);
    else
        work->model->type->apply(work->model, work->x, begin, end, work->values + begin * work->model->outputs);
}

uint64_t pl_meter_width(const parley_model *model) {
    const pl_meter_type *meter = model->type->meter;
    return meter->apply ? meter->width : model->outputs;
}

parley_status parley_decide(const parley_model *model, const parley_data *data, double *decisions,
                            parley_error *error) {
    pl_pool *pool;
    unsigned threads = (data->x.nonzeros + data->x.rows) * model->outputs < WORTH_THREADS ? 1 : 0;
    parley_status status = pl_pool_open(&pool, threads, error);
    if (status != PARLEY_OK)
        return status;
    pl_stop_enter();
    pl_pool_run(pool, pl_apply_task, &(pl_applying){model, &data->x, decisions, NULL}, pl_apply_tasks(&data->x));
    pl_pool_close(pool);
    return pl_stop_leave(pl_stop_check(error));
}
