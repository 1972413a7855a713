/* linear_metrics.c: how good a model's decisions z are against the labels, weighted by the rows' weights s.
 *
 * accuracy   sum of s over rows whose label is hit / sum s
 * log_loss   mean of log(1 + exp(-y z)); hinge: mean of (1 - y z)+, y the target -1 or +1
 * auc        the chance that a row of the upper label has a larger z than one of the lower, a tie counting half; by
 * sorting
 * several classes: log_loss is the mean of -log of the label's probability, hinge the mean over rows of the sum over
 * classes of (1 - y z)+, macro_f1 the plain mean of the classes' 2 right / (rows + predicted)
 * rmse, r2   sqrt(mean (p - y)^2) and 1 - sum s (p - y)^2 / sum s (y - mean y)^2, p the prediction
 * mae        mean of |p - y|
 * mean_loss  of losses with a parameter
 * deviance   counts: twice the mean loss; d2: 1 - deviance / its value where every prediction is the mean label */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

#define FIRST_ROWS 4096

/* The sign of `weight` is the target's. */
typedef struct score {
    double decision, weight;
} score;

struct pl_meter {
    const parley_model *model;
    uint64_t rows, room;
    score *scores; /* binary losses only */
    double weight, right, log_loss, hinge;
    pl_class_count *classes;     /* several: one for each */
    double *probability;         /* likewise */
    double mean, spread, errors; /* real labels: their mean, sum s (y - mean)^2, sum s (p - y)^2 */
    double absolute, losses;     /* sum s |p - y|, sum s loss */
    double entropy;              /* counts: sum s y ln y */
};

static parley_status grow(pl_meter *meter, uint64_t rows, parley_error *error) {
    if (rows <= meter->room)
        return PARLEY_OK;
    uint64_t room = rows > 2 * meter->room ? rows : 2 * meter->room;
    room = room < FIRST_ROWS ? FIRST_ROWS : room;
    score *scores = pl_realloc(meter->scores, room, sizeof *scores);
    if (!scores)
        return pl_fail_memory(error, "the decision values", room * sizeof *scores);
    meter->scores = scores;
    meter->room = room;
    return PARLEY_OK;
}

static parley_status add_binary(pl_meter *meter, const parley_data *batch, const double *decisions,
                                parley_error *error) {
    const parley_model *model = meter->model;
    parley_status status = grow(meter, meter->rows + batch->x.rows, error);
    for (uint64_t i = 0; i < batch->x.rows && status == PARLEY_OK; i++) {
        double label = batch->label[i], weight = batch->weight ? batch->weight[i] : 1.0, z = decisions[i];
        if (label != model->low && label != model->high)
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "%s: row %llu has label %.17g; the model knows %.17g and %.17g only", batch->path,
                           (unsigned long long)(meter->rows + 1), label, model->low, model->high);
        double y = label == model->high ? 1.0 : -1.0, slope, curvature;
        meter->right += pl_model_label(model, z) == label ? weight : 0.0;
        meter->log_loss += weight * pl_loss_logistic.expand(&pl_loss_logistic, z, y, &slope, &curvature);
        meter->hinge += weight * pl_loss_hinge.expand(&pl_loss_hinge, z, y, &slope, &curvature);
        meter->scores[meter->rows++] = (score){z, copysign(weight, y)};
        meter->weight += weight;
    }
    return status;
}

static parley_status add_classes(pl_meter *meter, const parley_data *batch, const double *decisions,
                                 parley_error *error) {
    const parley_model *model = meter->model;
    uint64_t outputs = model->outputs;
    double slope, curvature;
    for (uint64_t i = 0; i < batch->x.rows; i++, meter->rows++) {
        const double *z = decisions + i * outputs;
        double weight = batch->weight ? batch->weight[i] : 1.0;
        uint64_t y = pl_model_class(model, batch->label[i]);
        if (y == outputs)
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "%s: row %llu has label %.17g, which is none of the model's %llu classes", batch->path,
                           (unsigned long long)(meter->rows + 1), batch->label[i], (unsigned long long)outputs);
        uint64_t guess = pl_model_class(model, pl_model_predict(model, z));
        meter->classes[y].rows += weight;
        meter->classes[guess].predicted += weight;
        meter->classes[y].right += guess == y ? weight : 0.0;
        meter->right += guess == y ? weight : 0.0;
        meter->weight += weight;
        for (uint64_t c = 0; c < outputs; c++)
            meter->hinge +=
                weight * pl_loss_hinge.expand(&pl_loss_hinge, z[c], c == y ? 1.0 : -1.0, &slope, &curvature);
        memcpy(meter->probability, z, outputs * sizeof *z);
        if (pl_model_probabilities(model, meter->probability))
            meter->log_loss -= weight * log(fmax(meter->probability[y], 1e-300));
    }
    return PARLEY_OK;
}

static double macro_f1(const pl_class_count *classes, uint64_t count) {
    double sum = 0;
    for (uint64_t c = 0; c < count; c++) {
        double all = classes[c].rows + classes[c].predicted;
        sum += all > 0 ? 2.0 * classes[c].right / all : 0.0;
    }
    return sum / (double)count;
}

static parley_status add_real(pl_meter *meter, const parley_data *batch, const double *decisions, parley_error *error) {
    const pl_loss *loss = meter->model->loss;
    for (uint64_t i = 0; i < batch->x.rows; i++) {
        double label = batch->label[i], weight = batch->weight ? batch->weight[i] : 1.0;
        double off = pl_model_label(meter->model, decisions[i]) - label, before = label - meter->mean;
        double slope, curvature;
        meter->rows++;
        if (!pl_loss_takes(loss, label))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: row %llu has label %.17g; a model of %s loss needs 0 or more",
                           batch->path, (unsigned long long)meter->rows, label, loss->name);
        meter->errors += weight * off * off;
        meter->absolute += weight * fabs(off);
        meter->losses += weight * loss->expand(loss, decisions[i], label, &slope, &curvature);
        meter->entropy += loss->counts && label > 0 ? weight * label * log(label) : 0.0;
        meter->weight += weight;
        if (weight > 0.0)
            meter->mean += before * (weight / meter->weight);
        meter->spread += weight * before * (label - meter->mean);
    }
    return PARLEY_OK;
}

/* NaN comes first, so that the order is total. */
static int by_decision(const void *left, const void *right) {
    double a = ((const score *)left)->decision, b = ((const score *)right)->decision;
    if (isnan(a) || isnan(b))
        return isnan(b) - isnan(a);
    return (a > b) - (a < b);
}

static double area(score *scores, uint64_t rows) {
    double below = 0.0, upper = 0.0, area = 0.0; /* weight of lower labels so far, of upper ones, and of right pairs */
    if (rows > 0)
        qsort(scores, rows, sizeof *scores, by_decision);
    for (uint64_t i = 0; i < rows;) {
        double lower_ties = 0.0, upper_ties = 0.0;
        uint64_t end = i;
        for (; end < rows && by_decision(&scores[i], &scores[end]) == 0; end++)
            *(signbit(scores[end].weight) ? &lower_ties : &upper_ties) += fabs(scores[end].weight);
        area += upper_ties * (below + 0.5 * lower_ties);
        below += lower_ties;
        upper += upper_ties;
        i = end;
    }
    return below > 0.0 && upper > 0.0 ? area / upper / below : NAN;
}

parley_status pl_meter_open(const parley_model *model, pl_meter **out, parley_error *error) {
    parley_status status = pl_take(out, 1, sizeof **out, "the metrics", error);
    if (status != PARLEY_OK)
        return status;
    (*out)->model = model;
    if (model->outputs > 1)
        status = pl_take(&(*out)->classes, model->outputs, sizeof *(*out)->classes, "the metrics", error);
    if (status == PARLEY_OK && model->outputs > 1)
        status = pl_take(&(*out)->probability, model->outputs, sizeof(double), "the metrics", error);
    if (status != PARLEY_OK) {
        pl_meter_close(*out);
        *out = NULL;
    }
    return status;
}

parley_status pl_meter_add(pl_meter *meter, const parley_data *batch, const double *decisions, parley_error *error) {
    if (meter->model->outputs > 1)
        return add_classes(meter, batch, decisions, error);
    if (meter->model->loss->labels == PL_LABELS_BINARY)
        return add_binary(meter, batch, decisions, error);
    return add_real(meter, batch, decisions, error);
}

void pl_meter_read(pl_meter *meter, pl_metrics *out) {
    double weight = meter->weight > 0.0 ? meter->weight : NAN;
    const pl_loss *loss = meter->model->loss;
    *out = (pl_metrics){meter->rows, meter->weight, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (loss->labels != PL_LABELS_REAL) {
        out->accuracy = meter->right / weight;
        out->auc = meter->model->outputs > 1 ? NAN : area(meter->scores, meter->rows);
        out->log_loss = pl_loss_gives_probabilities(loss) ? meter->log_loss / weight : NAN;
        out->hinge = meter->hinge / weight;
        out->macro_f1 = meter->model->outputs > 1 ? macro_f1(meter->classes, meter->model->outputs) : NAN;
    } else {
        out->rmse = sqrt(meter->errors / weight);
        out->r2 = meter->spread > 0.0 ? 1.0 - meter->errors / meter->spread : NAN;
        out->mae = meter->absolute / weight;
        out->mean_loss = meter->losses / weight;
        out->deviance = 2.0 * out->mean_loss;
        double null = meter->entropy / weight - (meter->mean > 0.0 ? meter->mean * log(meter->mean) : 0.0);
        out->d2 = meter->spread > 0.0 ? 1.0 - out->mean_loss / null : NAN;
    }
}

const pl_class_count *pl_meter_classes(const pl_meter *meter) { return meter->classes; }

void pl_meter_close(pl_meter *meter) {
    if (!meter)
        return;
    pl_free(meter->classes);
    pl_free(meter->probability);
    pl_free(meter->scores);
    pl_free(meter);
}
