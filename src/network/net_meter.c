/* net_meter.c: how good a network's outputs are against labels and targets, weighted by the rows' weights:
 *
 *   accuracy, macro_f1, log_loss   as for linear models with several classes
 *   rmse, mae     sqrt(mean (p - y)^2) and mean |p - y|; of several targets, means over them
 *   r2            1 - sum (p - y)^2 / sum (y - mean y)^2; of several targets, the mean
 *   loss          mean of the loss that the network was trained with */
#include <math.h>
#include <string.h>

#include "method/class_counts.h"
#include "network/net.h"

/* Of one target: its mean, sum s (y - mean)^2, sum s (p - y)^2 and sum s |p - y|. */
typedef struct target_sums {
    double mean, spread, errors, absolute;
} target_sums;

typedef struct net_meter {
    pl_meter base;
    const pl_net_model *model;
    pl_class_counts counts;
    double weight, right, log_loss;
    target_sums *targets; /* by output of squared loss */
    double *row;          /* the targets of a row */
} net_meter;

static void close_meter(pl_meter *base) {
    net_meter *meter = (net_meter *)base;
    if (!meter)
        return;
    pl_class_counts_close(&meter->counts);
    pl_free(meter->targets);
    pl_free(meter->row);
    pl_free(meter);
}

static parley_status open_meter(const parley_model *model, const pl_model_metric *only, pl_meter **out,
                                parley_error *error) {
    net_meter *meter;
    *out = NULL;
    parley_status status = pl_take(&meter, 1, sizeof *meter, "the metrics", error);
    if (status != PARLEY_OK)
        return status;
    meter->base.model = model;
    meter->model = pl_net_model_of(model);
    status = pl_class_counts_open(&meter->counts, pl_model_labels(model), !only, error);
    if (status == PARLEY_OK)
        status = pl_take(&meter->targets, model->outputs, sizeof *meter->targets, "the metrics", error);
    if (status == PARLEY_OK)
        status = pl_take(&meter->row, model->outputs, sizeof *meter->row, "the metrics", error);
    if (status == PARLEY_OK)
        *out = &meter->base;
    else
        close_meter(&meter->base);
    return status;
}

static uint64_t class_of(const net_meter *meter, double label) {
    uint64_t c = 0;
    while (c < meter->base.model->outputs && meter->model->labels[c] != label)
        c++;
    return c;
}

static parley_status add_class(net_meter *meter, const parley_data *batch, uint64_t i, const double *z, double weight,
                               parley_error *error) {
    const parley_model *model = meter->base.model;
    uint64_t y = class_of(meter, batch->label[i]);
    double top = z[0], sum = 0;
    if (y == model->outputs)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: row %llu has label %.17g, which is not one of the model's %llu classes", batch->path,
                       (unsigned long long)(meter->base.rows + 1), batch->label[i], (unsigned long long)model->outputs);
    uint64_t guess = class_of(meter, model->type->predict(model, z));
    pl_class_counts_add(&meter->counts, y, guess, weight);
    meter->right += guess == y ? weight : 0.0;
    for (uint64_t o = 1; o < model->outputs; o++)
        top = fmax(top, z[o]);
    for (uint64_t o = 0; o < model->outputs; o++)
        sum += exp(z[o] - top);
    meter->log_loss += weight * (log(sum) + top - z[y]);
    return PARLEY_OK;
}

/* The label, and the columns that are targets. */
static void read_targets(const net_meter *meter, const parley_data *batch, uint64_t i) {
    const pl_matrix *x = &batch->x;
    const pl_net_model *model = meter->model;
    uint64_t t = 0;
    memset(meter->row, 0, meter->base.model->outputs * sizeof *meter->row);
    meter->row[0] = batch->label[i];
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
        while (t < model->targets && model->target[t] < x->index[e])
            t++;
        if (t < model->targets && model->target[t] == x->index[e])
            meter->row[1 + t] = pl_value_at(x->values, e);
    }
}

static void add_reals(net_meter *meter, const parley_data *batch, uint64_t i, const double *z, double weight) {
    double before = meter->weight - weight;
    read_targets(meter, batch, i);
    for (uint64_t o = 0; o < meter->base.model->outputs && weight > 0; o++) {
        target_sums *sums = &meter->targets[o];
        double y = meter->row[o], off = z[o] - y, apart = y - sums->mean;
        sums->mean += apart * weight / (before + weight);
        sums->spread += weight * apart * (y - sums->mean);
        sums->errors += weight * off * off;
        sums->absolute += weight * fabs(off);
    }
}

static parley_status add(pl_meter *base, const parley_data *batch, const double *values, parley_error *error) {
    net_meter *meter = (net_meter *)base;
    uint64_t outputs = base->model->outputs;
    parley_status status = PARLEY_OK;
    meter->counts.weighted |= batch->weight != NULL;
    for (uint64_t i = 0; i < batch->x.rows && status == PARLEY_OK; i++, base->rows++) {
        double weight = batch->weight ? batch->weight[i] : 1.0;
        if (!pl_model_is_finite(base->model, values + i * outputs))
            return base->model->type->explain(base->model, batch, i, base->rows + 1, error);
        meter->weight += weight;
        if (meter->model->labels)
            status = add_class(meter, batch, i, values + i * outputs, weight, error);
        else
            add_reals(meter, batch, i, values + i * outputs, weight);
    }
    return status;
}

static bool of_labels(const parley_model *model) { return pl_net_model_of(model)->labels != NULL; }
static bool of_numbers(const parley_model *model) { return !of_labels(model); }
static bool of_none(const parley_model *model) {
    (void)model;
    return false;
}

static double mean(const pl_meter *base, bool applies, double sum) {
    double weight = ((const net_meter *)base)->weight;
    return applies && weight > 0 ? sum / weight : NAN;
}

static double accuracy(pl_meter *base) { return mean(base, of_labels(base->model), ((net_meter *)base)->right); }

static double macro_f1(pl_meter *base) {
    return of_labels(base->model) ? pl_macro_f1(&((net_meter *)base)->counts) : NAN;
}

static double log_loss(pl_meter *base) { return mean(base, of_labels(base->model), ((net_meter *)base)->log_loss); }

/* The mean over outputs of sums of squared or absolute errors. */
static double mean_errors(const pl_meter *base, bool absolute) {
    const net_meter *meter = (const net_meter *)base;
    double sum = 0;
    for (uint64_t o = 0; o < base->model->outputs; o++)
        sum += absolute ? meter->targets[o].absolute : meter->targets[o].errors;
    return mean(base, of_numbers(base->model), sum / (double)base->model->outputs);
}

static double rmse(pl_meter *base) { return sqrt(mean_errors(base, false)); }
static double mae(pl_meter *base) { return mean_errors(base, true); }

static double r2(pl_meter *base) {
    const net_meter *meter = (const net_meter *)base;
    double sum = 0;
    for (uint64_t o = 0; o < base->model->outputs; o++)
        sum += meter->targets[o].spread > 0 ? 1.0 - meter->targets[o].errors / meter->targets[o].spread : NAN;
    return of_numbers(base->model) ? sum / (double)base->model->outputs : NAN;
}

static double loss(pl_meter *base) {
    return of_labels(base->model) ? log_loss(base) : 0.5 * (double)base->model->outputs * mean_errors(base, false);
}

static void show(pl_meter *base, pl_viewer *viewer) {
    const net_meter *meter = (net_meter *)base;
    viewer->text(viewer, "loss", pl_net_loss_name(meter->model->shape.loss));
    viewer->count(viewer, "rows", base->rows);
    pl_meter_show(base, viewer);
    pl_class_counts_show(&meter->counts, base->model, viewer);
}

const pl_model_metric pl_metrics_net[] = {
    {"accuracy", NULL, true, of_labels, accuracy, "share of rows whose label is predicted correctly"},
    {"macro_f1", NULL, true, of_labels, macro_f1, "several classes: the unweighted mean of their F1 scores"},
    {"log_loss", NULL, false, of_labels, log_loss, "mean of -log of the probability given to the label"},
    {"rmse", NULL, false, of_numbers, rmse, "real labels: root mean squared error"},
    {"r2", NULL, true, of_numbers, r2, "real labels: share of variance explained"},
    {"mae", NULL, false, of_numbers, mae, "real labels: mean absolute error"},
    {"loss", NULL, false, of_none, loss, "mean of the loss that the model was trained with"},
    {0}};

const pl_meter_type pl_meter_net = {.open = open_meter, .add = add, .show = show, .close = close_meter};
