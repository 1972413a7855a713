/* linear_path.h: models for a falling row of lambdas, each begun where the last one ended. */
#ifndef PL_LINEAR_PATH_H
#define PL_LINEAR_PATH_H

#include "train/train.h"

typedef parley_point pl_point;

/* Every array has a row per lambda. */
typedef struct parley_path_result {
    uint64_t count; /* of lambdas that were reached */
    uint64_t outputs, columns;
    pl_point *points;
    double *coef;      /* count x outputs x columns; NULL where only the points were asked for */
    double *intercept; /* count x outputs */
    bool ended;        /* before the last lambda, because the deviance explained stopped growing */
    bool interrupted;
    parley_summary summary; /* of the last lambda */
    const char *metric;     /* NULL: none */
    parley_model *model;    /* of the last lambda: its labels, names and metadata are those of all; NULL as `coef` */
} pl_path;

/* What to do: lambdas, falling, or NULL: made from the settings and the data. */
typedef struct pl_path_plan {
    const double *lambdas;
    uint64_t count;
    bool all;                 /* to the last lambda, even where the deviance explained stops growing */
    bool points_only;         /* keep no models */
    const parley_data *score; /* rows on which to measure the metric, in place of validation rows */
} pl_path_plan;

/* Everything that can be checked before data are read. */
parley_status pl_path_check(const parley_settings *settings, parley_error *error);
/* The lambdas of --lambda-list, falling, or none: `*count` is 0. */
parley_status pl_path_list(const parley_settings *settings, double **lambdas, uint64_t *count, parley_error *error);
/* One rank's part, like pl_train_rank. */
parley_status pl_path_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                           const pl_path_plan *plan, parley_callback callback, void *user, pl_path **out,
                           parley_error *error);
/* On all ranks of the engine that the settings `machine` name. */
parley_status pl_path_run(const parley_settings *machine, const parley_data *data, const parley_settings *settings,
                          const pl_path_plan *plan, parley_callback callback, void *user, pl_path **out,
                          parley_error *error);

#endif
