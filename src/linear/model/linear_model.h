/* linear_model.h: a linear model z = coef x + intercept, with one row of `coef` per output. */
#ifndef PL_LINEAR_MODEL_H
#define PL_LINEAR_MODEL_H

#include "linear/loss/loss.h"
#include "method/model.h"

typedef struct pl_linear_model {
    parley_model base;
    double *coef;      /* outputs x columns */
    double *intercept; /* outputs */
    const pl_loss *loss;
    pl_loss own_loss;         /* the loss with its parameter, if it has one */
    unsigned fold_bits;       /* number of bits to which columns were folded (fold.h); 0 if they were not */
    double low, high;         /* binary losses: the labels that -1 and +1 stand for */
    double *labels;           /* several outputs: the label of each, increasing */
    double *standard_error;   /* of coefficients, then of the intercept if there is one; NULL: they are not known */
    uint64_t standard_errors; /* their number */
    double *products;         /* of columns, if the model was just found from them without a penalty; not saved */
} pl_linear_model;

extern const pl_model_type pl_model_linear;

/* Returns NULL for a model of another type. */
static inline const pl_linear_model *pl_linear(const parley_model *model) {
    return model->type == &pl_model_linear ? (const pl_linear_model *)model : NULL;
}

/* Makes a model with zero coefficients and intercepts and, for binary losses, labels -1 and 1. */
parley_status pl_linear_new(uint64_t outputs, uint64_t columns, const pl_loss *loss, pl_linear_model **out,
                            parley_error *error);
/* Writes the two labels of a model of one output, such as "-1 1", or an empty text. */
void pl_linear_label_text(const pl_linear_model *model, char *text, size_t size);
/* Returns the class of a label, or `outputs` if there is none. */
uint64_t pl_linear_class(const pl_linear_model *model, double label);

/* linear_metrics.c */
extern const pl_model_metric pl_linear_metrics[];
extern const pl_meter_type pl_linear_meter;

/* linear_view.c */
void pl_linear_show(const parley_model *model, pl_viewer *viewer);
parley_status pl_linear_inference(const parley_model *model, uint64_t top, pl_viewer *viewer, parley_error *error);
parley_status pl_linear_dump(const parley_model *model, uint64_t top, pl_viewer *viewer, parley_error *error);

#endif
