/* class_counts.h: how often labels are predicted as which, for the metrics of models that predict labels. */
#ifndef PL_CLASS_COUNTS_H
#define PL_CLASS_COUNTS_H

#include "method/model.h"

/* For one class: the weights of its rows, of the rows predicted as this class, and of those predicted correctly; and
 * the number of its rows. */
typedef struct pl_class_count {
    double rows, predicted, right, support;
} pl_class_count;

typedef struct pl_class_counts {
    uint64_t classes;
    pl_class_count *count; /* by class; NULL: labels are real numbers */
    double *confusion;     /* by label and by predicted label; NULL: not needed */
    bool weighted;         /* some rows have weights */
} pl_class_counts;

parley_status pl_class_counts_open(pl_class_counts *counts, uint64_t classes, bool confusion, parley_error *error);
void pl_class_counts_close(pl_class_counts *counts);
void pl_class_counts_add(pl_class_counts *counts, uint64_t label, uint64_t guess, double weight);
double pl_class_f1(const pl_class_count *count);
double pl_macro_f1(const pl_class_counts *counts); /* the plain mean of the classes' F1 scores */
/* Shows precision, recall, F1 and rows of each class, and the confusion matrix. */
void pl_class_counts_show(const pl_class_counts *counts, const parley_model *model, pl_viewer *viewer);

#endif
