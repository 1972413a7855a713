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
    unsigned metas;
    pl_pair meta[PL_MODEL_METAS]; /* both strings of a pair belong to the model */
};

parley_status pl_model_new(uint64_t outputs, uint64_t columns, const pl_loss *loss, parley_model **out,
                           parley_error *error);
parley_status pl_model_set_meta(parley_model *model, const char *key, const char *value, parley_error *error);
const char *pl_model_meta(const parley_model *model, const char *key); /* or NULL */
/* Copies the names of columns and classes from the data that the model was trained on, and how they were hashed. */
parley_status pl_model_name(parley_model *model, const parley_data *data, parley_error *error);
/* How data for this model are to be read: their columns are matched with its names. */
void pl_model_reading(const parley_model *model, pl_reading *reading);
/* The name of a column, or its number from 1 where it has none; in `text` if need be. */
pl_name pl_model_column(const parley_model *model, uint64_t column, char *text, size_t size);
/* A model from safetensors bytes in memory; for the fuzzer. */
parley_status pl_model_parse(const void *bytes, uint64_t size, const char *path, parley_model **out,
                             parley_error *error);

/* x.w + b for row i; columns beyond the model's count for nothing. */
double pl_model_decide(const parley_model *model, const pl_matrix *x, uint64_t row);
/* Decision values of rows [begin, end), at decisions[row x outputs]. */
void pl_model_decide_rows(const parley_model *model, const pl_matrix *x, uint64_t begin, uint64_t end,
                          double *decisions);
/* One decision value for each row of `data`, on the pool's threads. */
void pl_model_decide_all(const parley_model *model, const parley_data *data, pl_pool *pool, double *decisions);
/* The label that a decision value stands for (real labels: the value itself, or what it is the logarithm of). */
double pl_model_label(const parley_model *model, double decision);

/* What eval reports, gathered batch by batch. NaN: does not apply. Weighted by the rows' weights. */
typedef struct pl_metrics {
    uint64_t rows;
    double weight;                         /* sum of weights */
    double accuracy, auc, log_loss, hinge; /* binary losses; log_loss for logistic only */
    double rmse, r2, mae;                  /* real labels */
    double mean_loss;                      /* losses with a parameter */
    double deviance, d2;                   /* counts: twice the mean loss, and its share explained */
} pl_metrics;

typedef struct pl_meter pl_meter;
parley_status pl_meter_open(const parley_model *model, pl_meter **out, parley_error *error);
/* Fails on a label that the model does not know. */
parley_status pl_meter_add(pl_meter *meter, const parley_data *batch, const double *decisions, parley_error *error);
void pl_meter_read(pl_meter *meter, pl_metrics *out);
void pl_meter_close(pl_meter *meter);

#endif
