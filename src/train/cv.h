/* cv.h: cross-validation of lambda. */
#ifndef PL_CV_H
#define PL_CV_H

#include "train/path.h"

typedef struct pl_cv {
    uint64_t count; /* of lambdas */
    unsigned folds;
    double *lambdas;       /* falling */
    double *value;         /* folds x count: the metric */
    double *mean, *error;  /* over folds, by lambda: mean and its standard error */
    uint64_t best, one_se; /* lambdas: of the best mean; the largest within one standard error of that */
    const char *metric;
} pl_cv;

/* The fold of every row, from 0 on, and how many there are: dealt by the seed, each label evenly, or read from
 * --fold-file. */
parley_status pl_cv_folds(const parley_data *data, const parley_settings *settings, uint32_t *fold, unsigned *folds,
                          parley_error *error);
/* The mean and standard error of each lambda, and which is chosen. */
void pl_cv_judge(pl_cv *cv, bool larger);
parley_status pl_cv_run(const parley_data *data, const parley_settings *settings, parley_callback callback, void *user,
                        pl_cv **out, parley_error *error);
void pl_cv_free(pl_cv *cv);

#endif
