/* linear_path.h: models for decreasing lambdas, each starting from the one before. */
#ifndef PL_LINEAR_PATH_H
#define PL_LINEAR_PATH_H

#include "linear/linear_settings.h"
#include "linear/path/kept_model.h"
#include "train/train.h"

typedef parley_point pl_point;

/* Every array has one row per lambda. */
typedef struct parley_path_result {
    uint64_t count; /* number of lambdas that were reached */
    uint64_t outputs, columns;
    pl_point *points;
    pl_kept_model *coef; /* outputs x columns each; NULL if only the points are kept */
    double *intercept;   /* count x outputs */
    bool ended;          /* ended early, because the deviance explained stopped growing or it was stuck */
    bool stuck;          /* several lambdas in a row stalled */
    bool interrupted;
    bool uneven;            /* columns differ very much in scale */
    parley_summary summary; /* of the last lambda */
    const char *metric;     /* NULL if there is none */
    parley_model *model;    /* of the last lambda; its labels, names and metadata are those of all. NULL as `coef` */
} pl_path;

/* The lambdas to use, in decreasing order, or NULL to derive them from the settings and the data. */
typedef struct pl_path_plan {
    const double *lambdas;
    uint64_t count;
    bool all;                 /* continue to the last lambda, even if the deviance explained stops growing */
    bool points_only;         /* keep no models */
    const parley_data *score; /* rows to measure the metric on, instead of validation rows */
} pl_path_plan;

/* Checks everything that can be checked before data are read. */
parley_status pl_path_check(const parley_settings *settings, parley_error *error);
/* Parses the list of numbers of an option, each from `least` to `most`. `*count` is 0 if it is empty. */
parley_status pl_path_numbers(const char *option, const char *words, double least, double most, double **numbers,
                              uint64_t *count, parley_error *error);
/* Parses --lambda-list in decreasing order. `*count` is 0 if it is not given. */
parley_status pl_path_list(const parley_settings *settings, double **lambdas, uint64_t *count, parley_error *error);
/* One rank's part of a path, like pl_train_rank. */
parley_status pl_path_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                           const pl_path_plan *plan, parley_callback callback, void *user, pl_path **out,
                           parley_error *error);
/* Computes a path on all ranks of the engine that the settings `machine` name. */
parley_status pl_path_run(const parley_settings *machine, const parley_data *data, const parley_settings *settings,
                          const pl_path_plan *plan, parley_callback callback, void *user, pl_path **out,
                          parley_error *error);

#endif
