/* model.c: z = coef x + intercept, one row of `coef` per output. The file is safetensors: F64 tensors `coef` (outputs x
 * columns) and `intercept` (outputs), with several outputs `labels` (outputs), names of columns and classes where there
 * are some, and metadata strings of which `format`, `loss` and `labels` decide how it is read. */
#include "model/model.h"

#include <math.h>
#include <string.h>

#include "data/numeral.h"
#include "math/softmax_kernel.h"
#include "model/fold.h"

#define FORMAT "parley-model-1"
#define PATH_FORMAT "parley-path-1"
#define MOST_COLUMNS ((uint64_t)1 << 32) /* column ids have 32 bits */
#define MOST_OUTPUTS ((uint64_t)PL_MOST_CLASSES)
#define MOST_HASH_BITS 30
#define ROWS_PER_TASK 1024
#define WORTH_THREADS 500000 /* multiplications; starting threads takes as long as about a tenth of these */

static void free_pair(pl_pair pair) {
    pl_free((char *)pair.key);
    pl_free((char *)pair.value);
}

bool pl_model_sets(const char *key) {
    return strcmp(key, "format") == 0 || strcmp(key, "loss") == 0 || strcmp(key, "labels") == 0;
}

static double decide(const parley_model *model, const pl_matrix *x, uint64_t row, uint64_t output) {
    uint64_t first = x->start[row], end = x->start[row + 1];
    const double *coef = model->coef + output * model->columns;
    const uint32_t *index = x->index;
    double sum = 0.0;
    if (model->fold_bits) {
        for (uint64_t i = first; i < end; i++)
            sum += coef[pl_fold(index[i], model->fold_bits)] * (x->value ? (double)x->value[i] : 1.0);
        return sum + model->intercept[output];
    }
    while (end > first && index[end - 1] >= model->columns)
        end--;
    if (x->value)
        for (uint64_t i = first; i < end; i++)
            sum += coef[index[i]] * (double)x->value[i];
    else
        for (uint64_t i = first; i < end; i++)
            sum += coef[index[i]];
    return sum + model->intercept[output];
}

typedef struct decision_task {
    const parley_model *model;
    const pl_matrix *x;
    double *decisions;
} decision_task;

void pl_model_decide_rows(const parley_model *model, const pl_matrix *x, uint64_t begin, uint64_t end,
                          double *decisions) {
    for (uint64_t row = begin; row < end; row++)
        for (uint64_t output = 0; output < model->outputs; output++)
            decisions[row * model->outputs + output] = decide(model, x, row, output);
}

static void decide_rows(void *context, unsigned task) {
    const decision_task *work = context;
    uint64_t row = (uint64_t)task * ROWS_PER_TASK;
    uint64_t end = row + ROWS_PER_TASK < work->x->rows ? row + ROWS_PER_TASK : work->x->rows;
    pl_model_decide_rows(work->model, work->x, row, end, work->decisions);
}

/* The tensor of labels that a model of several outputs has. */
static parley_status copy_labels(parley_model *model, const pl_tensor *labels, const char *path, parley_error *error) {
    if (model->outputs == 1)
        return PARLEY_OK;
    if (!labels || labels->type != PL_F64 || labels->dims != 1 || labels->shape[0] != model->outputs)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: no float64 tensor `labels` with a label for each of %llu outputs",
                       path, (unsigned long long)model->outputs);
    memcpy(model->labels, labels->data, model->outputs * sizeof *model->labels);
    for (uint64_t c = 0; c < model->outputs; c++)
        if (!isfinite(model->labels[c]) || (c > 0 && !(model->labels[c - 1] < model->labels[c])))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: label %llu of `labels` is not above the one before", path,
                           (unsigned long long)c + 1);
    return PARLEY_OK;
}

static unsigned tasks_for(uint64_t rows) { return (unsigned)((rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK); }

/* One finite number at `*text`, which moves behind it. */
static bool read_label(const char **text, double *label) {
    pl_numeral numeral;
    if (!pl_numeral_scan(*text, &numeral))
        return false;
    *text = numeral.end;
    *label = pl_numeral_double(&numeral);
    return isfinite(*label);
}

static parley_status read_labels(parley_model *model, const char *text, const char *path, parley_error *error) {
    if (model->loss->labels != PL_LABELS_BINARY || model->outputs > 1) {
        if (text && *text)
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: labels `%.60s`, but loss %s has none", path, text,
                           model->loss->name);
        return PARLEY_OK;
    }
    const char *rest = text;
    if (!text || !read_label(&rest, &model->low) || *rest++ != ' ' || !read_label(&rest, &model->high) || *rest ||
        !(model->low < model->high))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: labels `%.60s`; two rising numbers are needed, such as `-1 1`",
                       path, text ? text : "");
    return PARLEY_OK;
}

static parley_status check_shapes(const pl_tensor *coef, const pl_tensor *intercept, const pl_loss *loss,
                                  const char *path, parley_error *error) {
    if (!coef || coef->type != PL_F64 || coef->dims != 2)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: no two-dimensional float64 tensor `coef`; not a Parley model",
                       path);
    if (!intercept || intercept->type != PL_F64 || intercept->dims != 1)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: no one-dimensional float64 tensor `intercept`; not a Parley model",
                       path);
    if (coef->shape[0] != intercept->shape[0])
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: coef has %llu rows and intercept %llu; they must agree", path,
                       (unsigned long long)coef->shape[0], (unsigned long long)intercept->shape[0]);
    if (coef->shape[0] != 1 && loss->labels == PL_LABELS_REAL)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu outputs; a model of loss %s has one", path,
                       (unsigned long long)coef->shape[0], loss->name);
    if (coef->shape[0] < 2 && loss->labels == PL_LABELS_CLASSES)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu outputs; a model of loss %s has one for each class", path,
                       (unsigned long long)coef->shape[0], loss->name);
    if (coef->shape[1] > MOST_COLUMNS)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu columns; the most is %llu", path,
                       (unsigned long long)coef->shape[1], (unsigned long long)MOST_COLUMNS);
    return PARLEY_OK;
}

static parley_status check_finite(const parley_model *model, const char *path, parley_error *error) {
    for (uint64_t i = 0; i < model->outputs * model->columns; i++)
        if (!isfinite(model->coef[i]))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: coefficient %llu is not a finite number", path,
                           (unsigned long long)i + 1);
    for (uint64_t i = 0; i < model->outputs; i++)
        if (!isfinite(model->intercept[i]))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: intercept %llu is not a finite number", path,
                           (unsigned long long)i + 1);
    return PARLEY_OK;
}

/* Models of folded columns say so by their number of bits. */
static parley_status read_fold(parley_model *model, const char *text, const char *path, parley_error *error) {
    double bits = 0;
    if (!text)
        return PARLEY_OK;
    if (!read_label(&text, &bits) || *text || !(bits >= 1 && bits <= 31) ||
        model->columns != (uint64_t)1 << (unsigned)bits)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: fold_bits and the number of columns do not agree", path);
    model->fold_bits = (unsigned)bits;
    return PARLEY_OK;
}

static parley_status copy_metas(parley_model *model, const pl_container *container, const char *path,
                                parley_error *error) {
    const pl_pair *pairs;
    unsigned count = pl_container_metas(container, &pairs);
    if (count > PL_MODEL_METAS)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %u metadata entries; the most is %d", path, count, PL_MODEL_METAS);
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++)
        status = pl_model_set_meta(model, pairs[i].key, pairs[i].value, error);
    return status;
}

/* The loss's parameter, where it has one. */
static parley_status read_parameter(parley_model *model, const pl_container *container, const char *path,
                                    parley_error *error) {
    const char *key = model->loss->parameter, *text = key ? pl_container_meta(container, key) : NULL;
    double width;
    if (!key)
        return PARLEY_OK;
    const pl_setting *row = pl_setting_find(key);
    if (!text || !read_label(&text, &width) || *text || !(width >= row->min && width <= row->max))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %s is missing or not a number that loss %s takes", path, key,
                       model->loss->name);
    model->own_loss.parameter_value = width;
    return PARLEY_OK;
}

/* How many bits of hash its last columns have; 0: none. */
static unsigned hash_bits(const parley_model *model) {
    const char *text = pl_model_meta(model, "hash_bits");
    unsigned bits = 0;
    for (; text && *text >= '0' && *text <= '9' && bits < MOST_HASH_BITS; text++)
        bits = bits * 10 + (unsigned)(*text - '0');
    return bits <= MOST_HASH_BITS && (uint64_t)1 << bits <= model->columns ? bits : 0;
}

static parley_status copy_names(parley_model *model, const pl_container *container, const char *path,
                                parley_error *error) {
    pl_names names, classes;
    if (!pl_names_get(container, "name", model->columns, &names) ||
        !pl_names_get(container, "class", MOST_OUTPUTS, &classes))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: the tensors of names are not of the right shape", path);
    parley_status status = pl_names_copy(&names, &model->names, error);
    return status == PARLEY_OK ? pl_names_copy(&classes, &model->classes, error) : status;
}

/* The model in an open container. Copied, so that the file may change or go afterwards. */
static parley_status from_container(const pl_container *container, const char *path, parley_model **out,
                                    parley_error *error) {
    const pl_tensor *coef = pl_container_tensor(container, "coef");
    const pl_tensor *intercept = pl_container_tensor(container, "intercept");
    const char *format = pl_container_meta(container, "format"), *name = pl_container_meta(container, "loss");
    if (format && strcmp(format, PATH_FORMAT) == 0)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: a whole path of models, as parley path writes it; train one with parley train --lambda, or "
                       "have parley cv choose",
                       path);
    if (!format || strcmp(format, FORMAT) != 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: format is `%.60s`, not `%s`; not a Parley model", path,
                       format ? format : "", FORMAT);
    const pl_loss *loss = name ? pl_loss_find(name) : NULL;
    if (!loss)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: unknown loss `%.60s`; a newer Parley may have written this model",
                       path, name ? name : "");
    parley_model *model = NULL;
    parley_status status = check_shapes(coef, intercept, loss, path, error);
    if (status == PARLEY_OK)
        status = pl_model_new(coef->shape[0], coef->shape[1], loss, &model, error);
    if (status == PARLEY_OK) {
        memcpy(model->coef, coef->data, model->outputs * model->columns * sizeof *model->coef);
        memcpy(model->intercept, intercept->data, model->outputs * sizeof *model->intercept);
        status = check_finite(model, path, error);
    }
    if (status == PARLEY_OK)
        status = copy_labels(model, pl_container_tensor(container, "labels"), path, error);
    if (status == PARLEY_OK)
        status = read_labels(model, pl_container_meta(container, "labels"), path, error);
    if (status == PARLEY_OK)
        status = read_parameter(model, container, path, error);
    if (status == PARLEY_OK)
        status = read_fold(model, pl_container_meta(container, "fold_bits"), path, error);
    if (status == PARLEY_OK)
        status = copy_metas(model, container, path, error);
    if (status == PARLEY_OK)
        status = copy_names(model, container, path, error);
    if (status != PARLEY_OK) {
        parley_model_free(model);
        model = NULL;
    }
    *out = model;
    return status;
}

parley_status pl_model_new(uint64_t outputs, uint64_t columns, const pl_loss *loss, parley_model **out,
                           parley_error *error) {
    *out = NULL;
    if (outputs < 1 || outputs > MOST_OUTPUTS || columns > MOST_COLUMNS)
        return pl_fail(error, PARLEY_BAD_INPUT, "a model of %llu outputs and %llu columns; the most is %llu and %llu",
                       (unsigned long long)outputs, (unsigned long long)columns, (unsigned long long)MOST_OUTPUTS,
                       (unsigned long long)MOST_COLUMNS);
    parley_model *model;
    parley_status status = pl_take(&model, 1, sizeof *model, "the model", error);
    if (status == PARLEY_OK)
        status = pl_take(&model->coef, outputs * columns, sizeof *model->coef, "the model's coefficients", error);
    if (status == PARLEY_OK)
        status = pl_take(&model->intercept, outputs, sizeof *model->intercept, "the model's intercepts", error);
    if (status == PARLEY_OK && outputs > 1)
        status = pl_take(&model->labels, outputs, sizeof *model->labels, "the model's labels", error);
    if (status != PARLEY_OK) {
        parley_model_free(model);
        return status;
    }
    model->outputs = outputs;
    model->columns = columns;
    model->own_loss = *loss;
    model->loss = loss->parameter ? &model->own_loss : loss;
    model->low = -1.0;
    model->high = 1.0;
    *out = model;
    return PARLEY_OK;
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
    if (status == PARLEY_OK)
        status = pl_names_copy(&data->classes, &model->classes, error);
    if (status == PARLEY_OK && data->hash_bits > 0)
        status = pl_model_set_meta(model, "hash_bits", bits, error);
    return status;
}

void pl_model_reading(const parley_model *model, pl_reading *reading) {
    reading->model_columns = model->columns;
    reading->names = &model->names;
    reading->classes = &model->classes;
    reading->model_bits = hash_bits(model);
}

pl_name pl_model_column(const parley_model *model, uint64_t column, char *text, size_t size) {
    pl_name name = pl_names_at(&model->names, column);
    if (name.bytes > 0)
        return name;
    snprintf(text, size, "%llu", (unsigned long long)column + 1);
    return (pl_name){text, strlen(text)};
}

parley_status pl_model_parse(const void *bytes, uint64_t size, const char *path, parley_model **out,
                             parley_error *error) {
    pl_container *container;
    *out = NULL;
    parley_status status = pl_container_parse(bytes, size, path, &container, error);
    if (status == PARLEY_OK) {
        status = from_container(container, path, out, error);
        pl_container_close(container);
    }
    return status;
}

double pl_model_decide(const parley_model *model, const pl_matrix *x, uint64_t row) { return decide(model, x, row, 0); }

void pl_model_decide_row(const parley_model *model, const pl_matrix *x, uint64_t row, double *decisions) {
    for (uint64_t output = 0; output < model->outputs; output++)
        decisions[output] = decide(model, x, row, output);
}

void pl_model_decide_all(const parley_model *model, const parley_data *data, pl_pool *pool, double *decisions) {
    pl_pool_run(pool, decide_rows, &(decision_task){model, &data->x, decisions}, tasks_for(data->x.rows));
}

static uint64_t largest(const double *decisions, uint64_t outputs) {
    uint64_t at = 0;
    for (uint64_t output = 1; output < outputs; output++)
        at = decisions[output] > decisions[at] ? output : at;
    return at;
}

double pl_model_label(const parley_model *model, double decision) {
    if (model->loss->labels != PL_LABELS_BINARY)
        return model->loss->counts ? exp(decision) : decision;
    return decision > 0.0 ? model->high : model->low;
}

double pl_model_predict(const parley_model *model, const double *decisions) {
    return model->outputs > 1 ? model->labels[largest(decisions, model->outputs)] : pl_model_label(model, *decisions);
}

bool pl_model_probabilities(const parley_model *model, double *decisions) {
    double total = 0;
    if (model->loss->together) {
        pl_softmax(decisions, model->outputs, decisions);
        return true;
    }
    if (!model->loss->probability)
        return false;
    for (uint64_t output = 0; output < model->outputs; output++)
        total += decisions[output] = model->loss->probability(decisions[output]);
    for (uint64_t output = 0; output < model->outputs && model->outputs > 1; output++)
        decisions[output] = total > 0 ? decisions[output] / total : 1.0 / (double)model->outputs;
    return true;
}

uint64_t pl_model_class(const parley_model *model, double label) {
    uint64_t low = 0, high = model->outputs;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (model->labels[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->outputs && model->labels[low] == label ? low : model->outputs;
}

double pl_model_loss(const parley_model *model, const double *decisions, double label) {
    const pl_loss *loss = model->loss;
    double slopes[PL_MOST_CLASSES], curvature, sum = 0;
    uint64_t y = model->outputs > 1 ? pl_model_class(model, label) : 0;
    if (loss->together)
        return loss->together->expand(decisions, model->outputs, y, slopes);
    if (model->outputs == 1) {
        double target = pl_loss_target(loss, label, model->high);
        return loss->expand(loss, *decisions, target, slopes, &curvature);
    }
    for (uint64_t c = 0; c < model->outputs; c++)
        sum += loss->expand(loss, decisions[c], c == y ? 1.0 : -1.0, slopes, &curvature);
    return sum;
}

void pl_model_label_text(const parley_model *model, char *text, size_t size) {
    char low[32], high[32];
    *text = '\0';
    if (model->loss->labels != PL_LABELS_BINARY || model->outputs > 1)
        return;
    pl_number_text(model->low, low, sizeof low);
    pl_number_text(model->high, high, sizeof high);
    snprintf(text, size, "%s %s", low, high);
}

void pl_model_file(const parley_model *model, pl_model_parts *parts) {
    pl_model_label_text(model, parts->labels, sizeof parts->labels);
    parts->pairs[0] = (pl_pair){"format", FORMAT};
    parts->pairs[1] = (pl_pair){"loss", model->loss->name};
    parts->pairs[2] = (pl_pair){"labels", parts->labels};
    parts->pair_count = 3;
    for (unsigned i = 0; i < model->metas; i++)
        if (!pl_model_sets(model->meta[i].key))
            parts->pairs[parts->pair_count++] = model->meta[i];
    parts->tensors[0] = (pl_tensor){"coef", PL_F64, 2, {model->outputs, model->columns}, model->coef};
    parts->tensors[1] = (pl_tensor){"intercept", PL_F64, 1, {model->outputs, 0}, model->intercept};
    parts->tensors[2] = (pl_tensor){"labels", PL_F64, 1, {model->outputs, 0}, model->labels};
    parts->tensor_count = model->outputs > 1 ? 3 : 2;
    pl_names_put_starts(&model->names, &model->classes, parts->tensors, &parts->tensor_count);
    pl_names_put_texts(&model->names, &model->classes, parts->tensors, &parts->tensor_count);
}

parley_status parley_model_save(const parley_model *model, const char *path, parley_error *error) {
    pl_model_parts parts;
    pl_model_file(model, &parts);
    return pl_container_write(path, parts.tensors, parts.tensor_count, parts.pairs, parts.pair_count, error);
}

parley_status parley_model_load(const char *path, parley_model **out, parley_error *error) {
    pl_container *container;
    *out = NULL;
    parley_status status = pl_container_open(path, &container, error);
    if (status == PARLEY_OK) {
        status = from_container(container, path, out, error);
        pl_container_close(container);
    }
    return status;
}

void parley_model_shape(const parley_model *model, uint64_t *outputs, uint64_t *columns) {
    if (outputs)
        *outputs = model->outputs;
    if (columns)
        *columns = model->columns;
}

const double *parley_model_coef(const parley_model *model) { return model->coef; }

const double *parley_model_intercept(const parley_model *model) { return model->intercept; }

const double *parley_model_labels(const parley_model *model) { return model->labels; }

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
    pl_free(model->coef);
    pl_free(model->intercept);
    pl_free(model->labels);
    pl_free(model);
}

parley_status parley_decide(const parley_model *model, const parley_data *data, double *decisions,
                            parley_error *error) {
    pl_pool *pool;
    unsigned threads = (data->x.nonzeros + data->x.rows) * model->outputs < WORTH_THREADS ? 1 : 0;
    parley_status status = pl_pool_open(&pool, threads, error);
    if (status != PARLEY_OK)
        return status;
    pl_model_decide_all(model, data, pool, decisions);
    pl_pool_close(pool);
    return PARLEY_OK;
}
