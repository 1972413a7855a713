/* linear_metrics.c: how good a model's decisions z are against the labels, weighted by the rows' weights s.
 *
 * accuracy   sum of s over rows whose label is hit / sum s
 * log_loss   mean of log(1 + exp(-y z)); hinge: mean of (1 - y z)+, y the target -1 or +1
 * auc        the chance that a row of the upper label has a larger z than one of the lower, a tie counting half; by
 * sorting
 * average_precision   sum over thresholds, from the largest z down, of the growth of the recall x the precision there
 * f1         2 right / (rows + predicted) of the upper label; of several classes: macro_f1
 * several labels per row: accuracy is the share of rows whose set is hit; micro_f1 takes all labels together
 * several classes: log_loss is the mean of -log of the label's probability, hinge the mean over rows of the sum over
 * classes of (1 - y z)+, macro_f1 the plain mean of the classes' 2 right / (rows + predicted)
 * rmse, r2   sqrt(mean (p - y)^2) and 1 - sum s (p - y)^2 / sum s (y - mean y)^2, p the prediction
 * mae        mean of |p - y|
 * loss       mean of the model's own loss
 * deviance   twice the mean loss of models with a log link; d2: 1 - deviance / its value where every prediction is the
 * mean label */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/label_sets.h"
#include "linear/model/linear_model.h"
#include "math/softmax_kernel.h"
#include "method/class_counts.h"

#define FIRST_ROWS 4096

/* The sign of `weight` is that of the target. */
typedef struct score {
    double decision, weight;
} score;

typedef struct meter {
    pl_meter base;
    const pl_linear_model *model;
    bool sums_loss; /* whether to compute `losses`, which takes time */
    uint64_t room;
    score *scores; /* binary losses only */
    double weight, right, log_loss, hinge;
    pl_class_counts counts;
    double *probability;         /* several classes: one entry each */
    double mean, spread, errors; /* real labels: their mean, sum s (y - mean)^2, sum s (p - y)^2 */
    double absolute, losses;     /* sum s |p - y|, sum s loss */
    uint64_t unknown;            /* rows with labels that the model does not know, which are not counted as missed */
    double label_losses;         /* log link: sum s times the part of the loss that depends on the label only */
} meter;

/* The loss of a row with this label at its decision values. */
static double row_loss(const pl_linear_model *model, const double *decisions, double label) {
    const pl_loss *loss = model->loss;
    double slopes[PL_MOST_CLASSES], curvature, sum = 0;
    uint64_t y = model->base.outputs > 1 ? pl_linear_class(model, label) : 0;
    if (loss->together)
        return loss->together->expand(decisions, model->base.outputs, y, slopes);
    if (model->base.outputs == 1) {
        double target = loss->labels == PL_LABELS_REAL ? label : label == model->high ? 1.0 : -1.0;
        return loss->expand(loss, *decisions, target, slopes, &curvature);
    }
    for (uint64_t c = 0; c < model->base.outputs; c++)
        sum += loss->expand(loss, decisions[c], c == y ? 1.0 : -1.0, slopes, &curvature);
    return sum;
}

static parley_status grow(meter *meter, uint64_t rows, parley_error *error) {
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

/* Fails because the model does not know a label. */
static parley_status refuse_label(const meter *meter, const parley_data *batch, double label, parley_error *error) {
    const parley_model *model = &meter->model->base;
    char known[2][32], others[256];
    pl_name low = pl_model_label(model, meter->model->low, known[0], sizeof known[0]);
    pl_name high = pl_model_label(model, meter->model->high, known[1], sizeof known[1]);
    if (model->outputs > 1)
        snprintf(others, sizeof others, ", which is not one of the model's %llu classes",
                 (unsigned long long)model->outputs);
    else
        snprintf(others, sizeof others, "; the model knows only %.*s and %.*s", (int)(low.bytes < 60 ? low.bytes : 60),
                 low.text, (int)(high.bytes < 60 ? high.bytes : 60), high.text);
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: row %llu has label %.17g%s", batch->path,
                   (unsigned long long)(meter->base.rows + 1), label, others);
}

static parley_status add_binary(meter *meter, const parley_data *batch, const double *decisions, parley_error *error) {
    const pl_linear_model *model = meter->model;
    parley_status status = grow(meter, meter->base.rows + batch->x.rows, error);
    for (uint64_t i = 0; i < batch->x.rows && status == PARLEY_OK; i++) {
        double label = batch->label[i], weight = batch->weight ? batch->weight[i] : 1.0, z = decisions[i];
        if (label != model->low && label != model->high)
            return refuse_label(meter, batch, label, error);
        double y = label == model->high ? 1.0 : -1.0, slope, curvature,
               guess = pl_model_linear.predict(&model->base, &z);
        meter->right += guess == label ? weight : 0.0;
        pl_class_counts_add(&meter->counts, label == model->high, guess == model->high, weight);
        meter->log_loss += weight * pl_loss_logistic.expand(&pl_loss_logistic, z, y, &slope, &curvature);
        meter->hinge += weight * pl_loss_hinge.expand(&pl_loss_hinge, z, y, &slope, &curvature);
        meter->scores[meter->base.rows++] = (score){z, copysign(weight, y)};
        meter->losses += meter->sums_loss ? weight * row_loss(model, &z, label) : 0.0;
        meter->weight += weight;
    }
    return status;
}

/* Adds a row of which `has` says for each label whether the row has it. */
static void add_set(meter *meter, const double *z, const bool *has, double weight) {
    const pl_loss *loss = meter->model->loss;
    double slope, curvature;
    bool right = true;
    for (uint64_t c = 0; c < meter->base.model->outputs; c++) {
        pl_class_count *count = &meter->counts.count[c];
        bool guess = z[c] > 0;
        double y = has[c] ? 1.0 : -1.0;
        right &= guess == has[c];
        count->rows += has[c] ? weight : 0.0;
        count->support += has[c];
        count->predicted += guess ? weight : 0.0;
        count->right += guess && has[c] ? weight : 0.0;
        meter->hinge += weight * pl_loss_hinge.expand(&pl_loss_hinge, z[c], y, &slope, &curvature);
        meter->losses += meter->sums_loss ? weight * loss->expand(loss, z[c], y, &slope, &curvature) : 0.0;
    }
    meter->right += right ? weight : 0.0;
    meter->weight += weight;
}

/* Rows with any number of labels. */
static parley_status add_sets(meter *meter, const parley_data *batch, const double *decisions, parley_error *error) {
    const pl_linear_model *model = meter->model;
    uint64_t outputs = model->base.outputs;
    pl_label_sets sets;
    bool has[PL_MOST_CLASSES];
    if (!pl_has_label_sets(batch))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: the model gives rows any number of labels, and these rows have one; give LIBSVM text with "
                       "--format multilabel, or a cache of it",
                       batch->path);
    parley_status status = pl_label_sets_read(&batch->classes, &sets, error);
    for (uint64_t i = 0; i < batch->x.rows && status == PARLEY_OK; i++, meter->base.rows++) {
        uint64_t s = (uint64_t)batch->label[i];
        bool unknown = false;
        memset(has, 0, outputs * sizeof *has);
        for (uint64_t m = sets.start[s]; m < sets.start[s + 1]; m++) {
            uint64_t c = pl_linear_class(model, sets.label[sets.member[m]]);
            unknown |= c == outputs;
            if (c < outputs)
                has[c] = true;
        }
        meter->unknown += unknown;
        add_set(meter, decisions + i * outputs, has, batch->weight ? batch->weight[i] : 1.0);
    }
    pl_label_sets_free(&sets);
    return status;
}

static parley_status add_classes(meter *meter, const parley_data *batch, const double *decisions, parley_error *error) {
    const pl_linear_model *model = meter->model;
    uint64_t outputs = model->base.outputs;
    double slope, curvature;
    for (uint64_t i = 0; i < batch->x.rows; i++, meter->base.rows++) {
        const double *z = decisions + i * outputs;
        double weight = batch->weight ? batch->weight[i] : 1.0;
        uint64_t y = pl_linear_class(model, batch->label[i]);
        if (y == outputs)
            return refuse_label(meter, batch, batch->label[i], error);
        uint64_t guess = pl_linear_class(model, pl_model_linear.predict(&model->base, z));
        pl_class_counts_add(&meter->counts, y, guess, weight);
        meter->right += guess == y ? weight : 0.0;
        meter->weight += weight;
        meter->losses += meter->sums_loss ? weight * row_loss(model, z, batch->label[i]) : 0.0;
        for (uint64_t c = 0; c < outputs; c++)
            meter->hinge +=
                weight * pl_loss_hinge.expand(&pl_loss_hinge, z[c], c == y ? 1.0 : -1.0, &slope, &curvature);
        memcpy(meter->probability, z, outputs * sizeof *z);
        if (pl_model_linear.finish(&model->base, PL_PROBABILITY, meter->probability, NULL) == PARLEY_OK)
            meter->log_loss -= weight * log(fmax(meter->probability[y], 1e-300));
    }
    return PARLEY_OK;
}

static parley_status add_real(meter *meter, const parley_data *batch, const double *decisions, parley_error *error) {
    const pl_loss *loss = meter->model->loss;
    for (uint64_t i = 0; i < batch->x.rows; i++) {
        double label = batch->label[i], weight = batch->weight ? batch->weight[i] : 1.0;
        double off = pl_model_linear.predict(&meter->model->base, decisions + i) - label, before = label - meter->mean;
        double slope, curvature;
        meter->base.rows++;
        if (!pl_loss_takes(loss, label))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: row %llu has label %.17g; a model of loss %s needs labels %s",
                           batch->path, (unsigned long long)meter->base.rows, label, loss->name, pl_loss_range(loss));
        meter->errors += weight * off * off;
        meter->absolute += weight * fabs(off);
        meter->losses += weight * loss->expand(loss, decisions[i], label, &slope, &curvature);
        meter->label_losses += loss->log_link && weight > 0 ? weight * pl_loss_of_label(loss, label) : 0.0;
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
    double below = 0.0, upper = 0.0, area = 0.0; /* weights of lower and upper labels, and of right pairs */
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

static double precision_area(score *scores, uint64_t rows) {
    double below = 0.0, upper = 0.0, area = 0.0; /* weights of lower and upper labels from here on */
    if (rows > 0)
        qsort(scores, rows, sizeof *scores, by_decision);
    for (uint64_t end = rows; end > 0;) {
        uint64_t i = end;
        double before = upper;
        for (; i > 0 && by_decision(&scores[i - 1], &scores[end - 1]) == 0; i--)
            *(signbit(scores[i - 1].weight) ? &below : &upper) += fabs(scores[i - 1].weight);
        area += upper > before ? (upper - before) * upper / (upper + below) : 0.0;
        end = i;
    }
    return upper > 0.0 ? area / upper : NAN;
}

static const pl_loss *loss_of(const parley_model *model) { return pl_linear(model)->loss; }

/* Whether eval reports a metric. */
static bool of_labels(const parley_model *model) { return loss_of(model)->labels != PL_LABELS_REAL; }
static bool of_two(const parley_model *model) { return of_labels(model) && model->outputs == 1; }
static bool of_several(const parley_model *model) { return model->outputs > 1; }
static bool of_sets(const parley_model *model) { return model->label_sets; }
static bool of_probabilities(const parley_model *model) {
    return of_labels(model) && !model->label_sets && pl_loss_gives_probabilities(loss_of(model));
}
static bool of_margins(const parley_model *model) { return of_labels(model) && !loss_of(model)->together; }
static bool of_numbers(const parley_model *model) { return !of_labels(model); }
static bool of_parameters(const parley_model *model) { return of_numbers(model) && loss_of(model)->parameter; }
static bool of_means(const parley_model *model) { return loss_of(model)->log_link; }

/* Divides a sum over the rows by their weight. NaN if the metric does not apply to the model, or there are no rows. */
static double mean(const pl_meter *base, bool applies, double sum) {
    double weight = ((const meter *)base)->weight;
    return applies && weight > 0.0 ? sum / weight : NAN;
}

static double accuracy(pl_meter *base) { return mean(base, of_labels(base->model), ((meter *)base)->right); }

static double macro_f1(pl_meter *base) { return of_several(base->model) ? pl_macro_f1(&((meter *)base)->counts) : NAN; }

static double micro_f1(pl_meter *base) {
    const pl_class_counts *counts = &((meter *)base)->counts;
    pl_class_count sum = {0};
    for (uint64_t c = 0; c < counts->classes && of_sets(base->model); c++) {
        sum.rows += counts->count[c].rows;
        sum.predicted += counts->count[c].predicted;
        sum.right += counts->count[c].right;
    }
    return of_sets(base->model) ? pl_class_f1(&sum) : NAN;
}

static double f1(pl_meter *base) {
    return of_two(base->model) ? pl_class_f1(&((meter *)base)->counts.count[1]) : macro_f1(base);
}

static double average_precision(pl_meter *base) {
    return of_two(base->model) ? precision_area(((meter *)base)->scores, base->rows) : NAN;
}

static double auc(pl_meter *base) { return of_two(base->model) ? area(((meter *)base)->scores, base->rows) : NAN; }

static double log_loss(pl_meter *base) { return mean(base, of_probabilities(base->model), ((meter *)base)->log_loss); }

static double hinge(pl_meter *base) { return mean(base, of_labels(base->model), ((meter *)base)->hinge); }

static double rmse(pl_meter *base) { return sqrt(mean(base, of_numbers(base->model), ((meter *)base)->errors)); }

static double r2(pl_meter *base) {
    const meter *meter = (struct meter *)base;
    return of_numbers(base->model) && meter->spread > 0.0 ? 1.0 - meter->errors / meter->spread : NAN;
}

static double mae(pl_meter *base) { return mean(base, of_numbers(base->model), ((meter *)base)->absolute); }

static double mean_loss(pl_meter *base) { return mean(base, ((meter *)base)->sums_loss, ((meter *)base)->losses); }

static double deviance(pl_meter *base) { return of_numbers(base->model) ? 2.0 * mean_loss(base) : NAN; }

static double d2(pl_meter *base) {
    const meter *meter = (struct meter *)base;
    if (!of_means(base->model) || !(meter->spread > 0.0))
        return NAN;
    double null = mean(base, true, meter->label_losses) - pl_loss_of_label(meter->model->loss, meter->mean);
    return 1.0 - mean_loss(base) / null;
}

const pl_model_metric pl_linear_metrics[] = {
    {"accuracy", NULL, true, of_labels, accuracy, "share of rows whose label is predicted correctly"},
    {"micro_f1", NULL, true, of_sets, micro_f1, "several labels per row: F1 score of all labels together"},
    {"macro_f1", NULL, true, of_several, macro_f1, "several classes: the unweighted mean of their F1 scores"},
    {"f1", NULL, true, of_labels, f1, "two labels: F1 score of the second; several classes: the same as macro_f1"},
    {"average_precision", NULL, true, of_two, average_precision,
     "two labels: area under the curve of precision by recall, without interpolation"},
    {"auc", NULL, true, of_two, auc, "two labels: area under the receiver operating characteristic"},
    {"log_loss", NULL, false, of_probabilities, log_loss, "mean of -log of the probability given to the label"},
    {"hinge", NULL, false, of_margins, hinge,
     "mean of (1 - y z)+; several classes: summed over classes, each against the rest"},
    {"rmse", NULL, false, of_numbers, rmse, "real labels: root mean squared error"},
    {"r2", NULL, true, of_numbers, r2, "real labels: share of variance explained"},
    {"mae", NULL, false, of_numbers, mae, "real labels: mean absolute error"},
    {"loss", "mean_loss", false, of_parameters, mean_loss, "mean of the loss that the model was trained with"},
    {"deviance", NULL, false, of_means, deviance, "log link (poisson, gamma, tweedie): twice the mean loss"},
    {"d2", NULL, true, of_means, d2, "log link: share of the deviance explained"},
    {0},
};

static void close_meter(pl_meter *base) {
    meter *meter = (struct meter *)base;
    if (!meter)
        return;
    pl_class_counts_close(&meter->counts);
    pl_free(meter->probability);
    pl_free(meter->scores);
    pl_free(meter);
}

static parley_status open_meter(const parley_model *model, const pl_model_metric *only, pl_meter **out,
                                parley_error *error) {
    meter *meter;
    *out = NULL;
    parley_status status = pl_take(&meter, 1, sizeof *meter, "the metrics", error);
    if (status != PARLEY_OK)
        return status;
    meter->base.model = model;
    meter->model = pl_linear(model);
    meter->sums_loss = of_numbers(model) || (only && only->value == mean_loss);
    status = pl_class_counts_open(&meter->counts, pl_model_labels(model), !only && !model->label_sets, error);
    if (status == PARLEY_OK && model->outputs > 1)
        status = pl_take(&meter->probability, model->outputs, sizeof(double), "the metrics", error);
    if (status == PARLEY_OK)
        *out = &meter->base;
    else
        close_meter(&meter->base);
    return status;
}

static parley_status add(pl_meter *base, const parley_data *batch, const double *values, parley_error *error) {
    meter *meter = (struct meter *)base;
    meter->counts.weighted |= batch->weight != NULL;
    if (base->model->label_sets)
        return add_sets(meter, batch, values, error);
    if (base->model->outputs > 1)
        return add_classes(meter, batch, values, error);
    if (of_labels(base->model))
        return add_binary(meter, batch, values, error);
    return add_real(meter, batch, values, error);
}

static void show(pl_meter *base, pl_viewer *viewer) {
    const meter *meter = (struct meter *)base;
    viewer->text(viewer, "loss", meter->model->loss->name);
    viewer->count(viewer, "rows", base->rows);
    pl_meter_show(base, viewer);
    if (meter->unknown > 0)
        viewer->count(viewer, "rows_with_unknown_labels", meter->unknown);
    pl_class_counts_show(&meter->counts, base->model, viewer);
}

const pl_meter_type pl_linear_meter = {.open = open_meter, .add = add, .show = show, .close = close_meter};
