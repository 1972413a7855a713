/* model.h: a trained linear model: coefficients, intercepts and the metadata that say where they came from. */
#ifndef PL_MODEL_H
#define PL_MODEL_H

#include "data/container.h"
#include "data/data.h"
#include "loss/loss.h"

#define PL_MODEL_METAS 64

struct parley_model {
    uint64_t outputs, columns;
    double *coef;      /* outputs x columns */
    double *intercept; /* outputs */
    const pl_loss *loss;
    pl_loss own_loss;   /* what it points to where the loss has a parameter */
    pl_names names;     /* of columns, as in the data; perhaps none */
    pl_names classes;   /* of labels 0, 1, ..., where they were words */
    unsigned fold_bits; /* columns were folded (fold.h); 0: not */
    double low, high;   /* binary losses: the labels that -1 and +1 stand for */
    double *labels;     /* more outputs than one: the label of each, rising */
    unsigned metas;
    pl_pair meta[PL_MODEL_METAS]; /* both strings of a pair belong to the model */
};

parley_status pl_model_new(uint64_t outputs, uint64_t columns, const pl_loss *loss, parley_model **out,
                           parley_error *error);
parley_status pl_model_set_meta(parley_model *model, const char *key, const char *value, parley_error *error);
const char *pl_model_meta(const parley_model *model, const char *key); /* or NULL */
/* Copies the names of columns and classes from the data that the model was trained on, and how they were hashed. */
parley_status pl_model_name(parley_model *model, const parley_data *data, parley_error *error);
/* "-1 1": the labels that a model of one output tells apart; else empty. */
void pl_model_label_text(const parley_model *model, char *text, size_t size);
bool pl_model_sets(const char *key); /* in its file, by what it is: no meta says it */
/* How data for this model are to be read: their columns are matched with its names. */
void pl_model_reading(const parley_model *model, pl_reading *reading);
/* The name of a column, or its number from 1 where it has none; in `text` if need be. */
pl_name pl_model_column(const parley_model *model, uint64_t column, char *text, size_t size);
/* A model from safetensors bytes in memory; for the fuzzer. */
parley_status pl_model_parse(const void *bytes, uint64_t size, const char *path, parley_model **out,
                             parley_error *error);

/* What its file holds. */
typedef struct pl_model_parts {
    pl_tensor tensors[7];
    pl_pair pairs[PL_MODEL_METAS + 3];
    unsigned tensor_count, pair_count;
    char labels[72];
} pl_model_parts;
void pl_model_file(const parley_model *model, pl_model_parts *parts);

/* x.w + b for row i, of the first output and of each; columns beyond the model's count for nothing. */
double pl_model_decide(const parley_model *model, const pl_matrix *x, uint64_t row);
void pl_model_decide_row(const parley_model *model, const pl_matrix *x, uint64_t row, double *decisions);
/* Decision values of rows [begin, end), at decisions[row x outputs]. */
void pl_model_decide_rows(const parley_model *model, const pl_matrix *x, uint64_t begin, uint64_t end,
                          double *decisions);
/* The decision values of each row of `data`, on the pool's threads. */
void pl_model_decide_all(const parley_model *model, const parley_data *data, pl_pool *pool, double *decisions);
/* The label that a decision value stands for (real labels: the value itself, or what it is the logarithm of). */
double pl_model_label(const parley_model *model, double decision);
/* The same of a row's values; of several, the largest one's label. */
double pl_model_predict(const parley_model *model, const double *decisions);
/* The probability of the upper label, or of each of several classes, in place of a row's decision values: softmax, or
 * those of one against the rest, made to add up to 1. False: the loss gives none. */
bool pl_model_probabilities(const parley_model *model, double *decisions);
/* What a row of this label costs at its decision values. */
double pl_model_loss(const parley_model *model, const double *decisions, double label);
/* Which of several classes a label is; outputs: none. */
uint64_t pl_model_class(const parley_model *model, double label);

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
