/* linear_model.c: z = coef x + intercept, with one row of `coef` per output. The file has F64 tensors `coef` (outputs x
 * columns) and `intercept` (outputs), and with several outputs `labels` (outputs). The metadata `loss` and `labels`
 * decide how it is read. */
#include "linear/model/linear_model.h"

#include <math.h>
#include <string.h>

#include "data/numeral.h"
#include "linear/model/fold.h"
#include "math/softmax_kernel.h"

#define MOST_COLUMNS ((uint64_t)1 << 32) /* column ids have 32 bits */
#define MOST_OUTPUTS ((uint64_t)PL_MOST_CLASSES)

static double decide(const pl_linear_model *model, const pl_matrix *x, uint64_t row, uint64_t output) {
    uint64_t first = x->start[row], end = x->start[row + 1];
    const double *coef = model->coef + output * model->base.columns;
    const uint32_t *index = x->index;
    double sum = 0.0;
    if (model->fold_bits) {
        for (uint64_t i = first; i < end; i++)
            sum += coef[pl_fold(index[i], model->fold_bits)] * pl_value_at(x->values, i);
        return sum + model->intercept[output];
    }
    while (end > first && index[end - 1] >= model->base.columns)
        end--;
    if (x->values.narrow)
        for (uint64_t i = first; i < end; i++)
            sum += coef[index[i]] * (double)x->values.narrow[i];
    else if (x->values.wide)
        for (uint64_t i = first; i < end; i++)
            sum += coef[index[i]] * x->values.wide[i];
    else
        for (uint64_t i = first; i < end; i++)
            sum += coef[index[i]];
    return sum + model->intercept[output];
}

static void apply(const parley_model *model, const pl_matrix *x, uint64_t begin, uint64_t end, double *values) {
    const pl_linear_model *linear = pl_linear(model);
    for (uint64_t row = begin; row < end; row++)
        for (uint64_t output = 0; output < model->outputs; output++)
            *values++ = decide(linear, x, row, output);
}

/* Reads the tensor of labels of a model of several outputs. */
static parley_status copy_labels(pl_linear_model *model, const pl_tensor *labels, const char *path,
                                 parley_error *error) {
    if (model->base.outputs == 1)
        return PARLEY_OK;
    if (!labels || labels->type != PL_F64 || labels->dims != 1 || labels->shape[0] != model->base.outputs)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: there is no float64 tensor `labels` with one label for each of %llu outputs", path,
                       (unsigned long long)model->base.outputs);
    memcpy(model->labels, labels->data, model->base.outputs * sizeof *model->labels);
    for (uint64_t c = 0; c < model->base.outputs; c++)
        if (!isfinite(model->labels[c]) || (c > 0 && !(model->labels[c - 1] < model->labels[c])))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: label %llu of `labels` is not above the one before", path,
                           (unsigned long long)c + 1);
    return PARLEY_OK;
}

/* Reads one finite number and moves `*text` past it. */
static bool read_label(const char **text, double *label) {
    pl_numeral numeral;
    if (!pl_numeral_scan(*text, &numeral))
        return false;
    *text = numeral.end;
    *label = pl_numeral_double(&numeral);
    return isfinite(*label);
}

static parley_status read_labels(pl_linear_model *model, const char *text, const char *path, parley_error *error) {
    if (model->loss->labels != PL_LABELS_BINARY || model->base.outputs > 1) {
        if (text && *text)
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: labels `%.60s`, but a model of loss %s has no labels", path,
                           text, model->loss->name);
        return PARLEY_OK;
    }
    const char *rest = text;
    if (!text || !read_label(&rest, &model->low) || *rest++ != ' ' || !read_label(&rest, &model->high) || *rest ||
        !(model->low != model->high))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: labels `%.60s` must be two different numbers, such as `-1 1`",
                       path, text ? text : "");
    return PARLEY_OK;
}

static parley_status check_shapes(const pl_tensor *coef, const pl_tensor *intercept, const pl_loss *loss,
                                  const char *path, parley_error *error) {
    if (!coef || coef->type != PL_F64 || coef->dims != 2)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: not a Parley model: there is no two-dimensional float64 tensor `coef`", path);
    if (!intercept || intercept->type != PL_F64 || intercept->dims != 1)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: not a Parley model: there is no one-dimensional float64 tensor `intercept`", path);
    if (coef->shape[0] != intercept->shape[0])
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: coef has %llu rows and intercept has %llu; they must be equal",
                       path, (unsigned long long)coef->shape[0], (unsigned long long)intercept->shape[0]);
    if (coef->shape[0] != 1 && loss->labels == PL_LABELS_REAL)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu outputs, but a model of loss %s has one", path,
                       (unsigned long long)coef->shape[0], loss->name);
    if (coef->shape[0] < 2 && loss->labels == PL_LABELS_CLASSES)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu outputs, but a model of loss %s has one for each class", path,
                       (unsigned long long)coef->shape[0], loss->name);
    if (coef->shape[1] > MOST_COLUMNS)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu columns, but at most %llu are possible", path,
                       (unsigned long long)coef->shape[1], (unsigned long long)MOST_COLUMNS);
    return PARLEY_OK;
}

static parley_status check_finite(const pl_linear_model *model, const char *path, parley_error *error) {
    for (uint64_t i = 0; i < model->base.outputs * model->base.columns; i++)
        if (!isfinite(model->coef[i]))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: coefficient %llu is not a finite number", path,
                           (unsigned long long)i + 1);
    for (uint64_t i = 0; i < model->base.outputs; i++)
        if (!isfinite(model->intercept[i]))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: intercept %llu is not a finite number", path,
                           (unsigned long long)i + 1);
    return PARLEY_OK;
}

/* Reads the number of bits to which columns were folded. */
static parley_status read_fold(pl_linear_model *model, const char *text, const char *path, parley_error *error) {
    double bits = 0;
    if (!text)
        return PARLEY_OK;
    if (!read_label(&text, &bits) || *text || !(bits >= 1 && bits <= 31) ||
        model->base.columns != (uint64_t)1 << (unsigned)bits)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: the number of columns is not 2 to the power of fold_bits", path);
    model->fold_bits = (unsigned)bits;
    return PARLEY_OK;
}

/* Reads the parameter of the loss, if it has one. */
static parley_status read_parameter(pl_linear_model *model, const pl_container *container, const char *path,
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

/* Reads the standard errors, if there are any. */
static parley_status read_errors(pl_linear_model *model, const pl_tensor *errors, const char *path,
                                 parley_error *error) {
    if (!errors)
        return PARLEY_OK;
    uint64_t count = errors->shape[0], columns = model->base.columns;
    if (errors->type != PL_F64 || errors->dims != 1 || model->base.outputs != 1 ||
        (count != columns && count != columns + 1))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: the tensor `standard_error` must have one float64 per column, and one for the intercept",
                       path);
    parley_status status =
        pl_take(&model->standard_error, count, sizeof *model->standard_error, "standard errors", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(model->standard_error, errors->data, count * sizeof *model->standard_error);
    model->standard_errors = count;
    for (uint64_t j = 0; j < count; j++)
        if (!(model->standard_error[j] >= 0) || isinf(model->standard_error[j]))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: standard error %llu is not a non-negative number", path,
                           (unsigned long long)j + 1);
    return PARLEY_OK;
}

/* Reads everything besides coefficients and intercepts. */
static parley_status read_rest(pl_linear_model *model, const pl_container *container, const char *path,
                               parley_error *error) {
    parley_status status = copy_labels(model, pl_container_tensor(container, "labels"), path, error);
    if (status == PARLEY_OK)
        status = read_labels(model, pl_container_meta(container, "labels"), path, error);
    if (status == PARLEY_OK)
        status = read_parameter(model, container, path, error);
    if (status == PARLEY_OK)
        status = read_fold(model, pl_container_meta(container, "fold_bits"), path, error);
    if (status == PARLEY_OK)
        status = read_errors(model, pl_container_tensor(container, "standard_error"), path, error);
    return status;
}

static parley_status load(const pl_container *container, const char *path, parley_model **out, parley_error *error) {
    const pl_tensor *coef = pl_container_tensor(container, "coef");
    const pl_tensor *intercept = pl_container_tensor(container, "intercept");
    const char *name = pl_container_meta(container, "loss");
    const pl_loss *loss = name ? pl_loss_find(name) : NULL;
    *out = NULL;
    if (!loss)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: unknown loss `%.60s`; a newer Parley may have written this model",
                       path, name ? name : "");
    pl_linear_model *model;
    parley_status status = check_shapes(coef, intercept, loss, path, error);
    if (status == PARLEY_OK)
        status = pl_linear_new(coef->shape[0], coef->shape[1], loss, &model, error);
    if (status != PARLEY_OK)
        return status;
    memcpy(model->coef, coef->data, model->base.outputs * model->base.columns * sizeof *model->coef);
    memcpy(model->intercept, intercept->data, model->base.outputs * sizeof *model->intercept);
    status = check_finite(model, path, error);
    if (status == PARLEY_OK)
        status = read_rest(model, container, path, error);
    if (status == PARLEY_OK)
        *out = &model->base;
    else
        parley_model_free(&model->base);
    return status;
}

parley_status pl_linear_new(uint64_t outputs, uint64_t columns, const pl_loss *loss, pl_linear_model **out,
                            parley_error *error) {
    *out = NULL;
    if (outputs < 1 || outputs > MOST_OUTPUTS || columns > MOST_COLUMNS)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "a model of %llu outputs and %llu columns is too large; at most %llu and %llu are possible",
                       (unsigned long long)outputs, (unsigned long long)columns, (unsigned long long)MOST_OUTPUTS,
                       (unsigned long long)MOST_COLUMNS);
    pl_linear_model *model;
    parley_status status = pl_take(&model, 1, sizeof *model, "the model", error);
    if (status != PARLEY_OK)
        return status;
    model->base = (parley_model){.type = &pl_model_linear, .outputs = outputs, .columns = columns};
    status = pl_take(&model->coef, outputs * columns, sizeof *model->coef, "the model's coefficients", error);
    if (status == PARLEY_OK)
        status = pl_take(&model->intercept, outputs, sizeof *model->intercept, "the model's intercepts", error);
    if (status == PARLEY_OK && outputs > 1)
        status = pl_take(&model->labels, outputs, sizeof *model->labels, "the model's labels", error);
    if (status != PARLEY_OK) {
        parley_model_free(&model->base);
        return status;
    }
    model->own_loss = *loss;
    model->loss = loss->parameter ? &model->own_loss : loss;
    model->low = -1.0;
    model->high = 1.0;
    *out = model;
    return PARLEY_OK;
}

void pl_linear_label_text(const pl_linear_model *model, char *text, size_t size) {
    char low[32], high[32];
    *text = '\0';
    if (model->loss->labels != PL_LABELS_BINARY || model->base.outputs > 1)
        return;
    pl_number_text(model->low, low, sizeof low);
    pl_number_text(model->high, high, sizeof high);
    snprintf(text, size, "%s %s", low, high);
}

static void parts(const parley_model *model, pl_model_parts *parts) {
    const pl_linear_model *linear = pl_linear(model);
    pl_tensor *tensors = parts->tensors;
    pl_linear_label_text(linear, parts->text, sizeof parts->text);
    parts->pairs[parts->pair_count++] = (pl_pair){"loss", linear->loss->name};
    parts->pairs[parts->pair_count++] = (pl_pair){"labels", parts->text};
    tensors[parts->tensor_count++] = (pl_tensor){"coef", PL_F64, 2, {model->outputs, model->columns}, linear->coef};
    tensors[parts->tensor_count++] = (pl_tensor){"intercept", PL_F64, 1, {model->outputs, 0}, linear->intercept};
    if (model->outputs > 1)
        tensors[parts->tensor_count++] = (pl_tensor){"labels", PL_F64, 1, {model->outputs, 0}, linear->labels};
    if (linear->standard_error)
        tensors[parts->tensor_count++] =
            (pl_tensor){"standard_error", PL_F64, 1, {linear->standard_errors, 0}, linear->standard_error};
}

static void free_parts(parley_model *model) {
    pl_linear_model *linear = (pl_linear_model *)model;
    pl_free(linear->coef);
    pl_free(linear->intercept);
    pl_free(linear->labels);
    pl_free(linear->standard_error);
    pl_free(linear->products);
}

static uint64_t largest(const double *decisions, uint64_t outputs) {
    uint64_t at = 0;
    for (uint64_t output = 1; output < outputs; output++)
        at = decisions[output] > decisions[at] ? output : at;
    return at;
}

/* For several outputs, returns the label of the largest. For real labels, returns the value itself or its exponential.
 */
static double predict(const parley_model *model, const double *values) {
    const pl_linear_model *linear = pl_linear(model);
    if (model->outputs > 1)
        return linear->labels[largest(values, model->outputs)];
    if (linear->loss->labels != PL_LABELS_BINARY)
        return linear->loss->log_link ? exp(*values) : *values;
    return *values > 0.0 ? linear->high : linear->low;
}

static bool label(const parley_model *model, uint64_t number, double *label) {
    const pl_linear_model *linear = pl_linear(model);
    if (number >= (model->outputs > 1 ? model->outputs : linear->loss->labels == PL_LABELS_BINARY ? 2 : 0))
        return false;
    *label = model->outputs > 1 ? linear->labels[number] : number ? linear->high : linear->low;
    return true;
}

uint64_t pl_linear_class(const pl_linear_model *model, double label) {
    uint64_t low = 0, high = model->base.outputs;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (model->labels[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->base.outputs && model->labels[low] == label ? low : model->base.outputs;
}

/* Probabilities of classes against the rest are scaled to add up to 1, unless a row may have several. */
static parley_status finish(const parley_model *model, pl_output kind, double *values, parley_error *error) {
    const pl_loss *loss = pl_linear(model)->loss;
    double total = 0;
    if (kind != PL_PROBABILITY)
        return PARLEY_OK;
    if (!loss->probability && !loss->together)
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "a model of loss %s gives no probabilities; use --output decision, or train with --loss logistic",
            loss->name);
    if (values && loss->together)
        pl_softmax(values, model->outputs, values);
    if (!values || loss->together)
        return PARLEY_OK;
    for (uint64_t output = 0; output < model->outputs; output++)
        total += values[output] = loss->probability(values[output]);
    for (uint64_t output = 0; output < model->outputs && model->outputs > 1 && !model->label_sets; output++)
        values[output] = total > 0 ? values[output] / total : 1.0 / (double)model->outputs;
    return PARLEY_OK;
}

static const char *const keys[] = {"loss", "labels", NULL};

const pl_model_type pl_model_linear = {
    .name = "linear",
    .format = "parley-model-1",
    .keys = keys,
    .load = load,
    .parts = parts,
    .free = free_parts,
    .apply = apply,
    .finish = finish,
    .predict = predict,
    .label = label,
    .metrics = pl_linear_metrics,
    .metric = "loss",
    .meter = &pl_linear_meter,
    .show = pl_linear_show,
    .inference = pl_linear_inference,
    .dump = pl_linear_dump,
};
