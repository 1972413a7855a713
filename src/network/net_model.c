/* net_model.c: a network as a model. Its file has float32 tensors as PyTorch names those of an nn.Sequential of linear
 * layers with activations between them: `0.weight` (outputs x inputs), `0.bias`, `2.weight` and so on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/container.h"
#include "math/blas.h"
#include "network/net.h"

#define ROWS 256    /* that are computed at a time */
#define SPARSE 0.25 /* density of rows below which they stay sparse */
#define MOST_LABELS 64
#define LABEL_TEXT 26 /* characters of a label and a comma */

static const char *const weights[PL_NET_LAYERS] = {
    "0.weight",  "2.weight",  "4.weight",  "6.weight",  "8.weight",  "10.weight", "12.weight", "14.weight",
    "16.weight", "18.weight", "20.weight", "22.weight", "24.weight", "26.weight", "28.weight", "30.weight"};
static const char *const biases[PL_NET_LAYERS] = {"0.bias",  "2.bias",  "4.bias",  "6.bias",  "8.bias",  "10.bias",
                                                  "12.bias", "14.bias", "16.bias", "18.bias", "20.bias", "22.bias",
                                                  "24.bias", "26.bias", "28.bias", "30.bias"};

pl_net_model *pl_net_model_of(const parley_model *model) {
    return model->type == &pl_model_net ? (pl_net_model *)model : NULL;
}

static uint64_t outputs_of(const pl_net_shape *shape) { return shape->width[shape->layers]; }

/* Labels and targets as text, for the metadata. */
static parley_status write_texts(pl_net_model *model, parley_error *error) {
    uint64_t outputs = model->labels ? outputs_of(&model->shape) : 0;
    parley_status status = pl_take(&model->labels_text, (outputs + 1) * LABEL_TEXT, 1, "the labels", error);
    if (status == PARLEY_OK)
        status = pl_take(&model->targets_text, (model->targets + 1) * LABEL_TEXT, 1, "the targets", error);
    for (uint64_t c = 0; c < outputs && status == PARLEY_OK; c++) {
        char *to = model->labels_text + strlen(model->labels_text);
        if (c > 0)
            *to++ = ',';
        pl_number_text(model->labels[c], to, LABEL_TEXT);
    }
    for (uint64_t t = 0; t < model->targets && status == PARLEY_OK; t++) {
        char *to = model->targets_text + strlen(model->targets_text);
        snprintf(to, LABEL_TEXT, "%s%u", t ? "," : "", model->target[t] + 1);
    }
    return status;
}

static parley_status take_parts(pl_net_model *model, uint64_t columns, const double *labels, const uint32_t *target,
                                parley_error *error) {
    const pl_net_shape *shape = &model->shape;
    uint64_t outputs = outputs_of(shape);
    parley_status status = pl_take(&model->memory, shape->size, sizeof(float), "the network", error);
    if (status == PARLEY_OK)
        status = pl_take(&model->padded, shape->room + PL_NET_PAD, sizeof(float), "the network", error);
    if (status == PARLEY_OK && labels)
        status = pl_take(&model->labels, outputs, sizeof(double), "the network", error);
    if (status == PARLEY_OK && model->targets) {
        status = pl_take(&model->target, model->targets, sizeof *target, "the network", error);
        if (status == PARLEY_OK)
            memcpy(model->target, target, model->targets * sizeof *target);
        if (status == PARLEY_OK)
            status = pl_net_map_inputs(columns, target, model->targets, &model->input, error);
    }
    if (status != PARLEY_OK)
        return status;
    if (labels)
        memcpy(model->labels, labels, outputs * sizeof *labels);
    for (unsigned l = 0; l < shape->layers; l++) {
        model->weight[l] = model->memory + shape->weight_at[l];
        model->bias[l] = model->memory + shape->bias_at[l];
    }
    model->inputs = (pl_net_inputs){.columns = columns, .input = model->input, .factor = 1.0F};
    return write_texts(model, error);
}

parley_status pl_net_model_new(const pl_net_shape *shape, uint64_t columns, const double *labels,
                               const uint32_t *target, uint64_t targets, pl_net_model **out, parley_error *error) {
    pl_net_model *model;
    *out = NULL;
    parley_status status = pl_take(&model, 1, sizeof *model, "the network", error);
    if (status != PARLEY_OK)
        return status;
    model->base = (parley_model){.type = &pl_model_net, .outputs = outputs_of(shape), .columns = columns};
    model->shape = *shape;
    model->targets = targets;
    status = take_parts(model, columns, labels, target, error);
    if (status != PARLEY_OK) {
        parley_model_free(&model->base);
        return status;
    }
    *out = model;
    return status;
}

parley_status pl_net_model_remember(pl_net_model *model, unsigned kind, uint64_t steps, parley_error *error) {
    pl_net_memory *memory = &model->remembered;
    memory->kind = kind;
    memory->steps = steps;
    parley_status status = pl_take(&memory->first, model->shape.size, sizeof(double), "the optimiser", error);
    if (status == PARLEY_OK)
        status = pl_take(&memory->second, model->shape.size, sizeof(double), "the optimiser", error);
    return status;
}

const pl_net_memory *pl_net_model_memory(const parley_model *model, unsigned kind) {
    const pl_net_memory *memory = &pl_net_model_of(model)->remembered;
    return memory->steps > 0 && memory->kind == kind ? memory : NULL;
}

void pl_net_model_pad(pl_net_model *model) {
    const pl_net_shape *shape = &model->shape;
    for (unsigned l = 0; l < shape->layers; l++) {
        uint64_t in = shape->width[l], units = shape->width[l + 1], stride = pl_net_stride(units);
        for (uint64_t o = 0; o < units; o++) {
            for (uint64_t i = 0; i < in; i++)
                model->padded[shape->weight_in[l] + i * stride + o] = model->weight[l][o * in + i];
            model->padded[shape->bias_in[l] + o] = model->bias[l][o];
        }
    }
}

/* Loading */

static const char *const keys[] = {"activation", "loss", "labels", "targets", NULL};

/* Reads numbers separated by commas; returns how many there are, or `most` + 1. */
static uint64_t read_numbers(const char *text, uint64_t most, double *numbers) {
    uint64_t count = 0;
    while (text && *text && count <= most) {
        char *end;
        double number = strtod(text, &end);
        if (end == text || (*end && *end != ','))
            return most + 1;
        if (count < most)
            numbers[count] = number;
        count++;
        text = *end ? end + 1 : end;
    }
    return count;
}

static bool read_choice(const char *text, const char *(*name)(unsigned), unsigned count, unsigned *choice) {
    for (*choice = 0; text && *choice < count; (*choice)++)
        if (strcmp(text, name(*choice)) == 0)
            return true;
    return false;
}

static const char *activation_name(unsigned f) { return pl_activation_name((pl_activation)f); }
static const char *loss_name(unsigned loss) { return pl_net_loss_name((pl_net_loss)loss); }

/* Reads the widths of the layers from the shapes of their tensors. */
static bool read_shape(const pl_container *container, pl_net_shape *shape) {
    unsigned f, loss;
    *shape = (pl_net_shape){0};
    if (!read_choice(pl_container_meta(container, "activation"), activation_name, 4, &f) ||
        !read_choice(pl_container_meta(container, "loss"), loss_name, 2, &loss))
        return false;
    shape->activation = (pl_activation)f;
    shape->loss = (pl_net_loss)loss;
    for (const pl_tensor *w;
         shape->layers < PL_NET_LAYERS && (w = pl_container_tensor(container, weights[shape->layers])) != NULL;
         shape->layers++) {
        const pl_tensor *b = pl_container_tensor(container, biases[shape->layers]);
        if (w->type != PL_F32 || w->dims != 2 || w->shape[0] == 0 || w->shape[1] == 0 || !b || b->type != PL_F32 ||
            b->dims != 1 || b->shape[0] != w->shape[0])
            return false;
        if (shape->layers > 0 && w->shape[1] != shape->width[shape->layers])
            return false;
        shape->width[shape->layers] = w->shape[1];
        shape->width[shape->layers + 1] = w->shape[0];
    }
    pl_net_shape_place(shape);
    return shape->layers > 0;
}

static bool are_labels(const double *labels, uint64_t count) {
    for (uint64_t c = 0; c < count; c++)
        if (!isfinite(labels[c]) || (c > 0 && !(labels[c - 1] < labels[c])))
            return false;
    return true;
}

/* Reads labels of classes, or columns that are targets. */
static bool read_kinds(const pl_container *container, const pl_net_shape *shape, double *labels, uint32_t *target,
                       uint64_t *targets) {
    uint64_t outputs = outputs_of(shape);
    double numbers[MOST_LABELS];
    *targets = 0;
    if (outputs > MOST_LABELS)
        return false;
    if (shape->loss == PL_NET_SOFTMAX)
        return read_numbers(pl_container_meta(container, "labels"), outputs, labels) == outputs && outputs > 1 &&
               are_labels(labels, outputs);
    *targets = read_numbers(pl_container_meta(container, "targets"), outputs - 1, numbers);
    if (*targets != outputs - 1 || !are_labels(numbers, *targets))
        return false;
    for (uint64_t t = 0; t < *targets; t++) {
        if (!(numbers[t] >= 1 && numbers[t] <= (double)(shape->width[0] + *targets) && numbers[t] == floor(numbers[t])))
            return false;
        target[t] = (uint32_t)(numbers[t] - 1);
    }
    return true;
}

static bool copy_floats(const pl_tensor *tensor, uint64_t count, float *to) {
    memcpy(to, tensor->data, count * sizeof *to);
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(to[i]))
            return false;
    return true;
}

static parley_status load(const pl_container *container, const char *path, parley_model **out, parley_error *error) {
    pl_net_shape shape;
    double labels[MOST_LABELS];
    uint32_t target[MOST_LABELS];
    uint64_t targets;
    pl_net_model *model;
    if (!read_shape(container, &shape) || !read_kinds(container, &shape, labels, target, &targets))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: not a network: it needs float32 tensors `0.weight`, `0.bias`, `2.weight` ... that fit each "
                       "other, and activation, loss, labels and targets in its metadata",
                       path);
    parley_status status = pl_net_model_new(
        &shape, shape.width[0] + targets, shape.loss == PL_NET_SOFTMAX ? labels : NULL, target, targets, &model, error);
    if (status != PARLEY_OK)
        return status;
    bool finite = true;
    for (unsigned l = 0; l < shape.layers; l++) {
        finite = finite && copy_floats(pl_container_tensor(container, weights[l]), shape.width[l] * shape.width[l + 1],
                                       model->weight[l]);
        finite = finite && copy_floats(pl_container_tensor(container, biases[l]), shape.width[l + 1], model->bias[l]);
    }
    if (!finite) {
        parley_model_free(&model->base);
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: a weight or bias is not a finite number", path);
    }
    pl_net_model_pad(model);
    *out = &model->base;
    return status;
}

static void parts(const parley_model *base, pl_model_parts *parts) {
    const pl_net_model *model = (const pl_net_model *)base;
    const pl_net_shape *shape = &model->shape;
    for (unsigned l = 0; l < shape->layers; l++) {
        parts->tensors[parts->tensor_count++] =
            (pl_tensor){weights[l], PL_F32, 2, {shape->width[l + 1], shape->width[l]}, model->weight[l]};
        parts->tensors[parts->tensor_count++] =
            (pl_tensor){biases[l], PL_F32, 1, {shape->width[l + 1]}, model->bias[l]};
    }
    parts->pairs[parts->pair_count++] = (pl_pair){"activation", pl_activation_name(shape->activation)};
    parts->pairs[parts->pair_count++] = (pl_pair){"loss", pl_net_loss_name(shape->loss)};
    if (model->labels)
        parts->pairs[parts->pair_count++] = (pl_pair){"labels", model->labels_text};
    if (model->targets)
        parts->pairs[parts->pair_count++] = (pl_pair){"targets", model->targets_text};
}

static void free_parts(parley_model *base) {
    pl_net_model *model = (pl_net_model *)base;
    void *owned[] = {
        model->labels,      model->memory,       model->padded,           model->target,           model->input,
        model->labels_text, model->targets_text, model->remembered.first, model->remembered.second};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
}

/* Predicting */

static bool apply_some(const pl_net_model *model, pl_net_room *room, const pl_matrix *x, uint64_t begin, uint64_t rows,
                       double *values) {
    uint64_t outputs = outputs_of(&model->shape), stride = pl_net_stride(outputs);
    if (!pl_net_gather(room, x, NULL, begin, rows))
        return false;
    pl_net_forward(room, model->padded, 0, NULL);
    const float *z = room->a[model->shape.layers];
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t o = 0; o < outputs; o++)
            values[r * outputs + o] = (double)z[r * stride + o];
    return true;
}

static void apply(const parley_model *base, const pl_matrix *x, uint64_t begin, uint64_t end, double *values) {
    const pl_net_model *model = (const pl_net_model *)base;
    uint64_t outputs = outputs_of(&model->shape), most = end - begin < ROWS ? end - begin : ROWS;
    pl_net_inputs inputs = model->inputs;
    pl_net_room room = {0};
    inputs.sparse = (double)(x->start[end] - x->start[begin]) < SPARSE * (double)(end - begin) * (double)x->columns;
    bool ready = pl_blas_open(NULL) == PARLEY_OK &&
                 pl_net_room_open(&room, &model->shape, &inputs, most, false, NULL) == PARLEY_OK;
    for (uint64_t row = begin; row < end; row += most) {
        uint64_t rows = end - row < most ? end - row : most;
        ready = ready && apply_some(model, &room, x, row, rows, values + (row - begin) * outputs);
        for (uint64_t i = 0; i < rows * outputs && !ready; i++)
            values[(row - begin) * outputs + i] = NAN; /* out of memory, or without OpenBLAS */
    }
    pl_net_room_close(&room);
}

/* A value that is not finite, a pass that overflows, or what `apply` lacked. */
static parley_status explain(const parley_model *base, const parley_data *data, uint64_t i, uint64_t number,
                             parley_error *error) {
    const pl_net_model *model = (const pl_net_model *)base;
    const pl_matrix *x = &data->x;
    double largest = 0;
    pl_net_room room = {0};
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
        if (!isfinite(pl_value_at(x->values, e)))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: row %llu has a value that is not a finite number", data->path,
                           (unsigned long long)number);
        largest = fmax(largest, fabs(pl_value_at(x->values, e)));
    }
    parley_status status = pl_blas_open(error);
    if (status == PARLEY_OK)
        status = pl_net_room_open(&room, &model->shape, &model->inputs, 1, false, error);
    if (status == PARLEY_OK && !pl_net_gather(&room, x, NULL, i, 1))
        status = pl_fail_memory(error, "the outputs of a network", 0);
    if (status == PARLEY_OK) {
        bool finite = true;
        pl_net_forward(&room, model->padded, 0, NULL);
        for (uint64_t o = 0; o < base->outputs; o++)
            finite = finite && isfinite(room.a[model->shape.layers][o]);
        status = !finite ? pl_fail(error, PARLEY_BAD_INPUT,
                                   "%s: row %llu has values up to %.3g, for which the network's outputs are too "
                                   "large for single precision; scale the data as those of the training were",
                                   data->path, (unsigned long long)number, largest)
                         : pl_fail_memory(error, "the outputs of a network", 0);
    }
    pl_net_room_close(&room);
    return status;
}

static parley_status finish(const parley_model *base, pl_output kind, double *values, parley_error *error) {
    const pl_net_model *model = (const pl_net_model *)base;
    double top = -INFINITY, sum = 0;
    parley_status status = pl_blas_open(error);
    if (status != PARLEY_OK || kind != PL_PROBABILITY)
        return status;
    if (!model->labels)
        return pl_fail(error, PARLEY_BAD_USAGE, "--output probability: the network predicts numbers, not classes");
    for (uint64_t o = 0; o < base->outputs && values; o++)
        top = fmax(top, values[o]);
    for (uint64_t o = 0; o < base->outputs && values; o++)
        sum += values[o] = exp(values[o] - top);
    for (uint64_t o = 0; o < base->outputs && values; o++)
        values[o] /= sum;
    return PARLEY_OK;
}

static double predict(const parley_model *base, const double *values) {
    const pl_net_model *model = (const pl_net_model *)base;
    uint64_t largest = 0;
    if (!model->labels)
        return values[0];
    for (uint64_t o = 1; o < base->outputs; o++)
        largest = values[o] > values[largest] ? o : largest;
    return model->labels[largest];
}

static bool label(const parley_model *base, uint64_t number, double *label) {
    const pl_net_model *model = (const pl_net_model *)base;
    if (!model->labels || number >= base->outputs)
        return false;
    *label = model->labels[number];
    return true;
}

/* Showing */

static void show(const parley_model *base, pl_viewer *viewer) {
    const pl_net_model *model = (const pl_net_model *)base;
    const pl_net_shape *shape = &model->shape;
    double widths[PL_NET_LAYERS + 1];
    for (unsigned l = 0; l <= shape->layers; l++)
        widths[l] = (double)shape->width[l];
    viewer->numbers(viewer, "layers", widths, shape->layers + 1);
    viewer->count(viewer, "parameters", shape->size);
    viewer->text(viewer, "activation", pl_activation_name(shape->activation));
    viewer->text(viewer, "loss", pl_net_loss_name(shape->loss));
    if (model->labels)
        viewer->labels(viewer, "labels", base);
}

typedef struct importance {
    double size;
    uint64_t column;
} importance;

static int by_size(const void *a, const void *b) {
    const importance *left = a, *right = b;
    if (left->size != right->size)
        return left->size < right->size ? 1 : -1;
    return (left->column > right->column) - (left->column < right->column);
}

/* The norm of the first layer's weights of each column, largest first. */
static parley_status dump(const parley_model *base, uint64_t top, pl_viewer *viewer, parley_error *error) {
    const pl_net_model *model = (const pl_net_model *)base;
    uint64_t inputs = model->shape.width[0], units = model->shape.width[1], shown = 0;
    importance *all;
    char number[24];
    parley_status status = pl_take(&all, base->columns, sizeof *all, "the columns", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t j = 0; j < base->columns; j++) {
        uint64_t input = model->input ? model->input[j] : j;
        double sum = 0;
        for (uint64_t o = 0; o < units && input < inputs; o++)
            sum += pow((double)model->weight[0][o * inputs + input], 2.0);
        all[j] = (importance){sqrt(sum), j};
    }
    qsort(all, base->columns, sizeof *all, by_size);
    viewer->open(viewer, "columns", "name", "column");
    for (uint64_t i = 0; i < base->columns && all[i].size > 0 && (!top || shown < top); i++, shown++) {
        const pl_view_cell cell = {.key = "norm", .numbers = &all[i].size, .count = 1, .stride = 1};
        viewer->row(viewer, pl_model_column(base, all[i].column, number, sizeof number), all[i].column + 1, &cell, 1);
    }
    viewer->close(viewer);
    pl_free(all);
    return status;
}

const pl_model_type pl_model_net = {
    .name = "network",
    .format = "parley-network-1",
    .names_in_metadata = true,
    .keys = keys,
    .load = load,
    .parts = parts,
    .free = free_parts,
    .apply = apply,
    .explain = explain,
    .finish = finish,
    .predict = predict,
    .output = PL_LABEL,
    .label = label,
    .metrics = pl_metrics_net,
    .metric = "loss",
    .meter = &pl_meter_net,
    .show = show,
    .dump = dump,
};
