/* linear_cv.h: cross-validation of lambda. */
#ifndef PL_LINEAR_CV_H
#define PL_LINEAR_CV_H

#include "linear/path/linear_path.h"

typedef parley_cv_result pl_cv;

/* Assigns each row of all ranks to a fold, numbered from 0, and counts the folds. They are drawn by the seed with each
 * label spread evenly, or read from --fold-file. `engine` may be NULL if this process holds all rows. */
parley_status pl_cv_folds(pl_engine *engine, const parley_data *data, const parley_settings *settings, uint32_t *fold,
                          unsigned *folds, parley_error *error);
/* Checks everything that can be checked before data are read. */
parley_status pl_cv_check(const parley_settings *settings, parley_error *error);
/* Reads the folds from text in memory; `name` is for messages. */
parley_status pl_cv_parse_folds(const parley_data *data, const void *text, uint64_t bytes, const char *name,
                                uint32_t *fold, unsigned *folds, parley_error *error);
/* Computes the mean and standard error of each lambda, and chooses one. */
void pl_cv_judge(pl_cv *cv, bool larger);
/* Counts the lambdas that are as good as the best one, and takes the largest of them whose model is not constant. */
void pl_cv_settle_ties(pl_cv *cv);
/* One rank's part of a cross-validation and of the model that follows, like pl_train_rank. Several ranks train the
 * folds together, one after the other; a single one runs them in parallel. */
parley_status pl_cv_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                         parley_callback callback, void *user, pl_cv **out, parley_model **model,
                         parley_summary *summary, parley_error *error);
/* Finds the lambda and the l1_ratio. This is parley_cv without the final model. */
parley_status pl_cv_run(const parley_data *data, const parley_settings *settings, parley_callback callback, void *user,
                        pl_cv **out, parley_error *error);

#endif
