/* linear_model.h: a linear model: z = coef x + intercept, one row of `coef` per output. */
#ifndef PL_LINEAR_MODEL_H
#define PL_LINEAR_MODEL_H

#include "loss/loss.h"
#include "model/model.h"

typedef struct pl_linear_model {
    parley_model base;
    double *coef;      /* outputs x columns */
    double *intercept; /* outputs */
    const pl_loss *loss;
    pl_loss own_loss;   /* what it points to where the loss has a parameter */
    unsigned fold_bits; /* columns were folded (fold.h); 0: not */
    double low, high;   /* binary losses: the labels that -1 and +1 stand for */
    double *labels;     /* more outputs than one: the label of each, rising */
} pl_linear_model;

extern const pl_model_type pl_model_linear;

/* NULL: it is of another type. */
static inline const pl_linear_model *pl_linear(const parley_model *model) {
    return model->type == &pl_model_linear ? (const pl_linear_model *)model : NULL;
}

/* Coefficients and intercepts are 0, the labels of binary losses -1 and 1. */
parley_status pl_linear_new(uint64_t outputs, uint64_t columns, const pl_loss *loss, pl_linear_model **out,
                            parley_error *error);
/* "-1 1": the labels that a model of one output tells apart; else empty. */
void pl_linear_label_text(const pl_linear_model *model, char *text, size_t size);
/* Which of several classes a label is; outputs: none. */
uint64_t pl_linear_class(const pl_linear_model *model, double label);

/* What a row of this label costs at its decision values. */
double pl_linear_loss(const pl_linear_model *model, const double *decisions, double label);

/* What eval reports, gathered batch by batch. NaN: does not apply. Weighted by the rows' weights. */
typedef struct pl_metrics {
    uint64_t rows;
    double weight;                         /* sum of weights */
    double accuracy, auc, log_loss, hinge; /* binary losses; log_loss where there are probabilities */
    double macro_f1;                       /* several classes: accuracy, log_loss, hinge (one against the rest) too */
    double rmse, r2, mae;                  /* real labels */
    double mean_loss;                      /* losses with a parameter */
    double deviance, d2;                   /* counts: twice the mean loss, and its share explained */
} pl_metrics;

/* One of several classes: weights of its rows, of those predicted to be it, and of those rightly so. */
typedef struct pl_class_count {
    double rows, predicted, right;
} pl_class_count;

typedef struct pl_meter pl_meter;
parley_status pl_meter_open(const parley_model *model, pl_meter **out, parley_error *error);
/* Fails on a label that the model does not know. */
parley_status pl_meter_add(pl_meter *meter, const parley_data *batch, const double *decisions, parley_error *error);
void pl_meter_read(pl_meter *meter, pl_metrics *out);
/* By class, the model's outputs of them; NULL: it has but one. */
const pl_class_count *pl_meter_classes(const pl_meter *meter);
void pl_meter_close(pl_meter *meter);

#endif
