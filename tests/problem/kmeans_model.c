/* kmeans_model.c: centres as a model: a row's numbers are its squared distances from them, and its label is the number
 * of the nearest one. The file has an F64 tensor `centres`, columns x centres. */
#include <math.h>
#include <string.h>

#include "kmeans.h"

typedef struct centres {
    parley_model base;
    double *c;
    double norm2[KMEANS_CENTRES];
} centres;

typedef struct inertia_meter {
    pl_meter base;
    double sum, weight;
} inertia_meter;

void kmeans_norms(uint64_t columns, const double *c, double *norm2) {
    for (unsigned k = 0; k < KMEANS_CENTRES; k++) {
        norm2[k] = 0;
        for (uint64_t j = 0; j < columns; j++)
            norm2[k] += c[j * KMEANS_CENTRES + k] * c[j * KMEANS_CENTRES + k];
    }
}

void kmeans_distances(const pl_matrix *x, uint64_t row, uint64_t columns, const double *c, const double *norm2,
                      double *distance) {
    double square = 0, dot[KMEANS_CENTRES] = {0};
    for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++) {
        double value = pl_value_at(x->values, e);
        square += value * value;
        for (unsigned k = 0; k < KMEANS_CENTRES && x->index[e] < columns; k++)
            dot[k] += value * c[(uint64_t)x->index[e] * KMEANS_CENTRES + k];
    }
    for (unsigned k = 0; k < KMEANS_CENTRES; k++)
        distance[k] = fmax(0.0, square - 2.0 * dot[k] + norm2[k]);
}

unsigned kmeans_nearest(const double *distance) {
    unsigned nearest = 0;
    for (unsigned k = 1; k < KMEANS_CENTRES; k++)
        nearest = distance[k] < distance[nearest] ? k : nearest;
    return nearest;
}

parley_status kmeans_model_new(uint64_t columns, const double *c, parley_model **out, parley_error *error) {
    centres *model;
    *out = NULL;
    parley_status status = pl_take(&model, 1, sizeof *model, "the centres", error);
    if (status != PARLEY_OK)
        return status;
    model->base.type = &kmeans_model;
    status = pl_take(&model->c, columns * KMEANS_CENTRES, sizeof *model->c, "the centres", error);
    if (status != PARLEY_OK) {
        parley_model_free(&model->base);
        return status;
    }
    model->base.outputs = KMEANS_CENTRES;
    model->base.columns = columns;
    memcpy(model->c, c, columns * KMEANS_CENTRES * sizeof *c);
    kmeans_norms(columns, c, model->norm2);
    *out = &model->base;
    return status;
}

const double *kmeans_centres(const parley_model *model) {
    return model->type == &kmeans_model ? ((const centres *)model)->c : NULL;
}

static parley_status load(const pl_container *container, const char *path, parley_model **out, parley_error *error) {
    const pl_tensor *tensor = pl_container_tensor(container, "centres");
    if (!tensor || tensor->type != PL_F64 || tensor->dims != 2 || tensor->shape[1] != KMEANS_CENTRES)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: no float64 tensor `centres` of %d columns", path, KMEANS_CENTRES);
    return kmeans_model_new(tensor->shape[0], tensor->data, out, error);
}

static void parts(const parley_model *model, pl_model_parts *parts) {
    parts->tensors[parts->tensor_count++] =
        (pl_tensor){"centres", PL_F64, 2, {model->columns, KMEANS_CENTRES}, ((const centres *)model)->c};
}

static void free_parts(parley_model *model) { pl_free(((centres *)model)->c); }

static void apply(const parley_model *model, const pl_matrix *x, uint64_t begin, uint64_t end, double *values) {
    const centres *of = (const centres *)model;
    for (uint64_t row = begin; row < end; row++, values += KMEANS_CENTRES)
        kmeans_distances(x, row, model->columns, of->c, of->norm2, values);
}

static parley_status finish(const parley_model *model, pl_output kind, double *values, parley_error *error) {
    (void)model, (void)values;
    return kind == PL_PROBABILITY ? pl_fail(error, PARLEY_BAD_INPUT, "centres give no probabilities") : PARLEY_OK;
}

static double predict(const parley_model *model, const double *values) {
    (void)model;
    return (double)kmeans_nearest(values);
}

static bool label(const parley_model *model, uint64_t number, double *label) {
    (void)model;
    *label = (double)number;
    return number < KMEANS_CENTRES;
}

static parley_status open_meter(const parley_model *model, const pl_model_metric *only, pl_meter **out,
                                parley_error *error) {
    inertia_meter *meter;
    (void)only;
    *out = NULL;
    parley_status status = pl_take(&meter, 1, sizeof *meter, "the metrics", error);
    if (status != PARLEY_OK)
        return status;
    meter->base.model = model;
    *out = &meter->base;
    return status;
}

static parley_status add(pl_meter *base, const parley_data *batch, const double *values, parley_error *error) {
    inertia_meter *meter = (inertia_meter *)base;
    (void)error;
    for (uint64_t i = 0; i < batch->x.rows; i++, base->rows++) {
        double weight = batch->weight ? batch->weight[i] : 1.0;
        meter->sum += weight * values[i * KMEANS_CENTRES + kmeans_nearest(values + i * KMEANS_CENTRES)];
        meter->weight += weight;
    }
    return PARLEY_OK;
}

static void show_meter(pl_meter *meter, pl_viewer *viewer) {
    viewer->count(viewer, "rows", meter->rows);
    pl_meter_show(meter, viewer);
}

static void close_meter(pl_meter *meter) { pl_free(meter); }

static bool always(const parley_model *model) {
    (void)model;
    return true;
}

static double inertia(pl_meter *base) {
    const inertia_meter *meter = (inertia_meter *)base;
    return meter->weight > 0 ? 0.5 * meter->sum / meter->weight : NAN;
}

static void show(const parley_model *model, pl_viewer *viewer) {
    viewer->numbers(viewer, "squared_norms", ((const centres *)model)->norm2, KMEANS_CENTRES);
}

static parley_status dump(const parley_model *model, uint64_t top, pl_viewer *viewer, parley_error *error) {
    const centres *of = (const centres *)model;
    (void)error;
    viewer->open(viewer, "centres", "name", "column");
    for (uint64_t j = 0; j < model->columns && (top == 0 || j < top); j++) {
        char number[24];
        const pl_view_cell cell = {
            .key = "centre", .numbers = of->c + j * KMEANS_CENTRES, .count = KMEANS_CENTRES, .stride = 1};
        viewer->row(viewer, pl_model_column(model, j, number, sizeof number), j + 1, &cell, 1);
    }
    viewer->close(viewer);
    return PARLEY_OK;
}

static const char *const keys[] = {NULL};
static const pl_model_metric metrics[] = {
    {"inertia", NULL, false, always, inertia, "mean of half the squared distance from the nearest centre"}, {0}};
static const pl_meter_type meter = {.open = open_meter, .add = add, .show = show_meter, .close = close_meter};

const pl_model_type kmeans_model = {
    .name = "kmeans",
    .format = "parley-kmeans-1",
    .keys = keys,
    .load = load,
    .parts = parts,
    .free = free_parts,
    .apply = apply,
    .finish = finish,
    .predict = predict,
    .label = label,
    .metrics = metrics,
    .metric = "inertia",
    .meter = &meter,
    .show = show,
    .dump = dump,
};
