/* linear_cv.h: cross-validation of lambda. */
#ifndef PL_LINEAR_CV_H
#define PL_LINEAR_CV_H

#include "train/linear_path.h"

typedef parley_cv_result pl_cv;

/* The fold of every row, from 0 on, and how many there are: dealt by the seed, each label evenly, or read from
 * --fold-file. */
parley_status pl_cv_folds(const parley_data *data, const parley_settings *settings, uint32_t *fold, unsigned *folds,
                          parley_error *error);
/* The mean and standard error of each lambda, and which is chosen. */
void pl_cv_judge(pl_cv *cv, bool larger);
/* Finds the lambda; parley_cv without the model. */
parley_status pl_cv_run(const parley_data *data, const parley_settings *settings, parley_callback callback, void *user,
                        pl_cv **out, parley_error *error);

#endif
