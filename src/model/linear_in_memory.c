/* linear_in_memory.c: models that come from memory and go there: coefficients of the caller, or the bytes of a file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

static parley_status check_shape(const pl_loss *loss, uint64_t outputs, parley_error *error) {
    if (outputs > 1 && loss->labels == PL_LABELS_REAL)
        return pl_fail(error, PARLEY_BAD_USAGE, "a model of loss %s has one output, not %llu", loss->name,
                       (unsigned long long)outputs);
    if (outputs == 1 && loss->labels == PL_LABELS_CLASSES)
        return pl_fail(error, PARLEY_BAD_USAGE, "a model of loss %s has an output for each class, at least two",
                       loss->name);
    return PARLEY_OK;
}

static parley_status set_labels(parley_model *model, const double *labels, parley_error *error) {
    uint64_t count = model->outputs > 1 ? model->outputs : model->loss->labels == PL_LABELS_BINARY ? 2 : 0;
    if (count == 0 && labels)
        return pl_fail(error, PARLEY_BAD_USAGE, "a model of loss %s has no labels", model->loss->name);
    if (count > 0 && !labels)
        return pl_fail(error, PARLEY_BAD_USAGE, "a model of loss %s and %llu output%s has %llu labels; give them",
                       model->loss->name, (unsigned long long)model->outputs, model->outputs == 1 ? "" : "s",
                       (unsigned long long)count);
    for (uint64_t c = 0; c < count; c++)
        if (!isfinite(labels[c]) || (c > 0 && !(labels[c - 1] < labels[c])))
            return pl_fail(error, PARLEY_BAD_USAGE, "the labels of a model rise, and label %llu does not",
                           (unsigned long long)c);
    if (model->outputs > 1)
        memcpy(model->labels, labels, count * sizeof *labels);
    else if (count > 0) {
        model->low = labels[0];
        model->high = labels[1];
    }
    return PARLEY_OK;
}

static parley_status set_numbers(parley_model *model, const double *coef, const double *intercept,
                                 parley_error *error) {
    uint64_t count = model->outputs * model->columns;
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(coef[i]))
            return pl_fail(error, PARLEY_BAD_INPUT, "coefficient %llu of the model is not finite",
                           (unsigned long long)i);
    for (uint64_t c = 0; intercept && c < model->outputs; c++)
        if (!isfinite(intercept[c]))
            return pl_fail(error, PARLEY_BAD_INPUT, "intercept %llu of the model is not finite", (unsigned long long)c);
    if (count > 0)
        memcpy(model->coef, coef, count * sizeof *coef);
    if (intercept)
        memcpy(model->intercept, intercept, model->outputs * sizeof *intercept);
    return PARLEY_OK;
}

/* The loss's parameter has its default. */
static parley_status set_parameter(parley_model *model, parley_error *error) {
    const char *key = model->loss->parameter;
    if (!key)
        return PARLEY_OK;
    const char *initial = pl_setting_find(key)->initial;
    model->own_loss.parameter_value = strtod(initial, NULL);
    return pl_model_set_meta(model, key, initial, error);
}

parley_status parley_model_new(const char *loss_name, uint64_t outputs, uint64_t columns, const double *coef,
                               const double *intercept, const double *labels, parley_model **out, parley_error *error) {
    const pl_loss *loss = pl_loss_find(loss_name);
    *out = NULL;
    if (!loss)
        return pl_fail(error, PARLEY_BAD_USAGE, "there is no loss %.60s", loss_name);
    parley_model *model;
    parley_status status = check_shape(loss, outputs, error);
    if (status == PARLEY_OK)
        status = pl_model_new(outputs, columns, loss, &model, error);
    if (status != PARLEY_OK)
        return status;
    status = set_numbers(model, coef, intercept, error);
    if (status == PARLEY_OK)
        status = set_labels(model, labels, error);
    if (status == PARLEY_OK)
        status = set_parameter(model, error);
    if (status == PARLEY_OK)
        *out = model;
    else
        parley_model_free(model);
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

int parley_model_two_labels(const parley_model *model, double labels[2]) {
    labels[0] = model->low;
    labels[1] = model->high;
    return model->outputs == 1 && model->loss->labels == PL_LABELS_BINARY;
}

const char *parley_model_meta(const parley_model *model, unsigned number, const char **value) {
    pl_pair pair = {NULL, NULL};
    if (number == 0)
        pair = (pl_pair){"loss", model->loss->name};
    for (unsigned i = 0; i < model->metas && number > 0; i++)
        if (!pl_model_sets(model->meta[i].key) && --number == 0)
            pair = model->meta[i];
    if (value)
        *value = pair.value;
    return pair.key;
}
