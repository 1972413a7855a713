/* linear_settings.h: the settings of linear models. */
#ifndef PL_LINEAR_SETTINGS_H
#define PL_LINEAR_SETTINGS_H

#include "base/settings.h"

typedef enum pl_intercept { PL_FREE, PL_PENALISED, PL_NO_INTERCEPT } pl_intercept;
typedef enum pl_choose { PL_CHOOSE_BEST, PL_CHOOSE_1SE } pl_choose;

/* As in parley_settings, `auto` is NaN, 0 or "auto". */
typedef struct pl_linear_settings {
    const char *loss;
    double huber_width, epsilon, quantile, power;
    double lambda, c, alpha, l1_ratio; /* the first three say one thing */
    uint64_t intercept;                /* pl_intercept */
    bool non_negative, scale_indicators;
    const char *penalty_factors, *class_weights, *positive;
    bool average_iterates, reweight;
    uint64_t history;
    /* path and cv */
    uint64_t lambdas;
    double lambda_ratio;
    const char *lambda_list;
    bool full_path;
    uint64_t folds;
    const char *fold_file;
    uint64_t choose; /* pl_choose */
    const char *l1_ratios;
} pl_linear_settings;

extern const pl_settings_wing pl_linear_wing;
extern const pl_settings_table pl_linear_settings_problem, pl_linear_settings_method, pl_linear_settings_path;

static inline const pl_linear_settings *pl_linear_settings_of(const parley_settings *settings) {
    return pl_settings_room((parley_settings *)settings, &pl_linear_wing);
}

static inline pl_linear_settings *pl_linear_settings_in(parley_settings *settings) {
    return pl_settings_room(settings, &pl_linear_wing);
}

#endif
