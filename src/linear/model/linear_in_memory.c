/* linear_in_memory.c: linear models made from the caller's coefficients, and access to their parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linear/model/linear_model.h"

static parley_status check_shape(const pl_loss *loss, uint64_t outputs, parley_error *error) {
    if (outputs > 1 && loss->labels == PL_LABELS_REAL)
        return pl_fail(error, PARLEY_BAD_USAGE, "a model of loss %s must have one output, not %llu", loss->name,
                       (unsigned long long)outputs);
    if (outputs == 1 && loss->labels == PL_LABELS_CLASSES)
        return pl_fail(error, PARLEY_BAD_USAGE, "a model of loss %s must have one output per class, and at least two",
                       loss->name);
    return PARLEY_OK;
}

static parley_status set_labels(pl_linear_model *model, const double *labels, parley_error *error) {
    uint64_t count = model->base.outputs > 1 ? model->base.outputs : model->loss->labels == PL_LABELS_BINARY ? 2 : 0;
    if (count == 0 && labels)
        return pl_fail(error, PARLEY_BAD_USAGE, "a model of loss %s takes no labels; give none", model->loss->name);
    if (count > 0 && !labels)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "a model of loss %s and %llu output%s needs %llu labels, but none were given", model->loss->name,
                       (unsigned long long)model->base.outputs, model->base.outputs == 1 ? "" : "s",
                       (unsigned long long)count);
    for (uint64_t c = 0; c < count; c++)
        if (!isfinite(labels[c]) || (c > 0 && !(labels[c - 1] < labels[c])))
            return pl_fail(error, PARLEY_BAD_USAGE, "the labels of a model must increase, but label %llu does not",
                           (unsigned long long)c);
    if (model->base.outputs > 1)
        memcpy(model->labels, labels, count * sizeof *labels);
    else if (count > 0) {
        model->low = labels[0];
        model->high = labels[1];
    }
    return PARLEY_OK;
}

static parley_status set_numbers(pl_linear_model *model, const double *coef, const double *intercept,
                                 parley_error *error) {
    uint64_t count = model->base.outputs * model->base.columns;
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(coef[i]))
            return pl_fail(error, PARLEY_BAD_INPUT, "coefficient %llu of the model is not finite",
                           (unsigned long long)i);
    for (uint64_t c = 0; intercept && c < model->base.outputs; c++)
        if (!isfinite(intercept[c]))
            return pl_fail(error, PARLEY_BAD_INPUT, "intercept %llu of the model is not finite", (unsigned long long)c);
    if (count > 0)
        memcpy(model->coef, coef, count * sizeof *coef);
    if (intercept)
        memcpy(model->intercept, intercept, model->base.outputs * sizeof *intercept);
    return PARLEY_OK;
}

/* Sets the parameter of the loss to its default. */
static parley_status set_parameter(pl_linear_model *model, parley_error *error) {
    const char *key = model->loss->parameter;
    if (!key)
        return PARLEY_OK;
    const char *initial = pl_setting_find(key)->initial;
    model->own_loss.parameter_value = strtod(initial, NULL);
    return pl_model_set_meta(&model->base, key, initial, error);
}

parley_status parley_model_new(const char *loss_name, uint64_t outputs, uint64_t columns, const double *coef,
                               const double *intercept, const double *labels, parley_model **out, parley_error *error) {
    const pl_loss *loss = pl_loss_find(loss_name);
    *out = NULL;
    if (!loss)
        return pl_fail(error, PARLEY_BAD_USAGE, "there is no loss %.60s", loss_name);
    pl_linear_model *model;
    parley_status status = check_shape(loss, outputs, error);
    if (status == PARLEY_OK)
        status = pl_linear_new(outputs, columns, loss, &model, error);
    if (status != PARLEY_OK)
        return status;
    status = set_numbers(model, coef, intercept, error);
    if (status == PARLEY_OK)
        status = set_labels(model, labels, error);
    if (status == PARLEY_OK)
        status = set_parameter(model, error);
    if (status == PARLEY_OK)
        *out = &model->base;
    else
        parley_model_free(&model->base);
    return status;
}

const double *parley_model_coef(const parley_model *model) { return pl_linear(model) ? pl_linear(model)->coef : NULL; }

const double *parley_model_intercept(const parley_model *model) {
    return pl_linear(model) ? pl_linear(model)->intercept : NULL;
}

const double *parley_model_products(const parley_model *model) {
    return pl_linear(model) ? pl_linear(model)->products : NULL;
}

const double *parley_model_labels(const parley_model *model) {
    return pl_linear(model) ? pl_linear(model)->labels : NULL;
}

int parley_model_two_labels(const parley_model *model, double labels[2]) {
    const pl_linear_model *linear = pl_linear(model);
    labels[0] = linear ? linear->low : 0.0;
    labels[1] = linear ? linear->high : 0.0;
    return linear && model->outputs == 1 && linear->loss->labels == PL_LABELS_BINARY;
}

const char *parley_model_meta(const parley_model *model, unsigned number, const char **value) {
    const pl_linear_model *linear = pl_linear(model);
    pl_pair pair = {NULL, NULL};
    if (linear && number == 0)
        pair = (pl_pair){"loss", linear->loss->name};
    unsigned left = number + (linear ? 0 : 1);
    for (unsigned i = 0; i < model->metas && left > 0; i++)
        if (!pl_model_sets(model, model->meta[i].key) && --left == 0)
            pair = model->meta[i];
    if (value)
        *value = pair.value;
    return pair.key;
}
