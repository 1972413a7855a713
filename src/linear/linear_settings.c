/* linear_settings.c: the settings of linear models. */
#include "linear/linear_settings.h"

#include <stddef.h>

#define AT(field) .offset = offsetof(pl_linear_settings, field)
#define MANY 1e18

const pl_settings_wing pl_linear_wing = {sizeof(pl_linear_settings)};

static const pl_setting problem[] = {
    {"loss", PL_WORD, PL_FOR_LINEAR, "auto", .list = "losses", .value_name = "NAME", .may_be_auto = true,
     .in_model = true, .heading = "The problem",
     .help = "loss function; auto: logistic for two labels, softmax for 3 to 64 whole-number labels that "
             "repeat, otherwise squared",
     AT(loss)},
    {"huber_width", PL_REAL, PL_FOR_LINEAR, "1.35", 1e-100, 1e100, .value_name = "X", .optional = true,
     .in_model = true,
     .help = "loss huber: absolute error, in units of the label, up to which the loss is quadratic; beyond it, linear",
     AT(huber_width)},
    {"epsilon", PL_REAL, PL_FOR_LINEAR, "0.1", 0, 1e100, .value_name = "X", .optional = true, .in_model = true,
     .help = "losses epsilon-insensitive and squared-epsilon-insensitive: absolute error that costs nothing, in units "
             "of the label",
     AT(epsilon)},
    {"quantile", PL_REAL, PL_FOR_LINEAR, "0.5", 1e-6, 1 - 1e-6, .value_name = "X", .optional = true, .in_model = true,
     .help = "loss quantile: share of the labels that should lie below the prediction; 0.5: the median", AT(quantile)},
    {"power", PL_REAL, PL_FOR_LINEAR, "1.5", 1.001, 1.999, .value_name = "X", .optional = true, .in_model = true,
     .help = "loss tweedie: the variance of labels is proportional to this power of their mean; 1 is --loss poisson, 2 "
             "is --loss gamma",
     AT(power)},
    {"lambda", PL_REAL, PL_FOR_LINEAR_ONE | PL_FOR_PLAN, "auto", 0, 1e300, .value_name = "X", .may_be_auto = true,
     .in_model = true,
     .help =
         "strength of the penalty, relative to the mean loss; auto: 1 / sum of weights, which is C = 1 in LIBLINEAR",
     AT(lambda)},
    {"C", PL_REAL, PL_FOR_LINEAR_ONE | PL_FOR_PLAN, "auto", 1e-300, 1e300, .value_name = "X", .may_be_auto = true,
     .help = "the strength as in LIBLINEAR and scikit-learn's classifiers: lambda = 1 / (C x sum of weights)", AT(c)},
    {"alpha", PL_REAL, PL_FOR_LINEAR_ONE | PL_FOR_PLAN, "auto", 0, 1e300, .value_name = "X", .may_be_auto = true,
     .help = "the strength as in scikit-learn's regressions: lambda = alpha, or alpha / sum of weights for squared "
             "loss without L1, as in Ridge",
     AT(alpha)},
    {"l1_ratio", PL_REAL, PL_FOR_LINEAR, "0", 0, 1, .value_name = "X", .in_model = true,
     .help = "share of the penalty that is L1: 0 is ridge, 1 is lasso, between them is elastic net", AT(l1_ratio)},
    {"intercept", PL_CHOICE, PL_FOR_LINEAR, "free", .choices = "free|penalised|none", .value_name = "KIND",
     .in_model = true, .help = "free: not penalised; penalised: treated as a column of ones; none: no intercept",
     AT(intercept)},
    {"penalty_factors", PL_WORD, PL_FOR_LINEAR, "", .value_name = "WORD", .in_model = true,
     .help =
         "NAME=F,NAME=F: factors of the penalty by column (0: no penalty), where NAME is a column's name or number; "
         "or a file with one factor per column",
     AT(penalty_factors)},
    {"non_negative", PL_FLAG, PL_FOR_LINEAR, "false", .in_model = true,
     .help = "keep the coefficients of columns at 0 or more", AT(non_negative)},
    {"scale_indicators", PL_FLAG, PL_FOR_LINEAR, "false", .in_model = true,
     .help =
         "with --standardise: scale columns of 0 and 1, such as those of categories, as well, as glmnet and Spark do",
     AT(scale_indicators)},
    {"class_weights", PL_WORD, PL_FOR_LINEAR, "", .value_name = "WORD", .in_model = true,
     .help =
         "balanced: all classes have the same total weight; LABEL=W,LABEL=W: factors for the weights of rows, by label",
     AT(class_weights)},
    {"positive", PL_WORD, PL_FOR_LINEAR, "", .value_name = "LABEL", .in_model = true,
     .help = "which of two labels is the positive class, as a number or a name; the larger one unless given. With "
             "preset online the two labels may then have any values",
     AT(positive)},
};

const pl_settings_table pl_linear_settings_problem = {problem, sizeof problem / sizeof *problem, &pl_linear_wing};

static const pl_setting method[] = {
    {"average_iterates", PL_FLAG, PL_FOR_LINEAR, "false", .optional = true, .in_model = true,
     .help = "a worker offers the mean of its iterates in the round instead of the last one", AT(average_iterates)},
    {"reweight", PL_FLAG, PL_FOR_LINEAR, "false", .optional = true, .in_model = true,
     .help = "count a worker's rows K times, as if its shard were the whole data", AT(reweight)},
    {"history", PL_WHOLE, PL_FOR_LINEAR, "10", 1, 1000, .value_name = "N", .optional = true, .in_model = true,
     .help = "pairs of steps and gradient changes that lbfgs keeps", AT(history)},
};

const pl_settings_table pl_linear_settings_method = {method, sizeof method / sizeof *method, &pl_linear_wing};

static const pl_setting path[] = {
    {"lambdas", PL_WHOLE, PL_FOR_PATH | PL_FOR_CV, "100", 1, 10000, .value_name = "N", .heading = "The path",
     .help = "number of lambdas, decreasing evenly on a log scale from the smallest at which all coefficients are 0",
     AT(lambdas)},
    {"lambda_ratio", PL_REAL, PL_FOR_PATH | PL_FOR_CV, "auto", 1e-12, 1, .value_name = "X", .may_be_auto = true,
     .help = "ratio of the last lambda to the first; auto: 1e-2 if there are more columns than rows, otherwise 1e-4",
     AT(lambda_ratio)},
    {"lambda_list", PL_WORD, PL_FOR_PATH | PL_FOR_CV, "", .value_name = "X,X,...", .help = "use these lambdas instead",
     AT(lambda_list)},
    {"full_path", PL_FLAG, PL_FOR_PATH | PL_FOR_CV, "false",
     .help = "continue to the last lambda; by default a path ends, as in glmnet, when the share of deviance explained "
             "exceeds 0.999 or grows by less than 1e-5 of itself, unless columns differ much in scale",
     AT(full_path)},
    {"folds", PL_WHOLE, PL_FOR_CV, "5", 2, 1000, .value_name = "N", .heading = "Cross-validation",
     .help = "number of folds, drawn by --seed with each label spread evenly", AT(folds)},
    {"fold_file", PL_WORD, PL_FOR_CV, "", .value_name = "FILE",
     .help = "file with one whole number per row, the row's fold, instead of random folds", AT(fold_file)},
    {"choose", PL_CHOICE, PL_FOR_CV, "best", .choices = "best|1se", .value_name = "RULE",
     .help = "best: the lambda with the best mean metric; 1se: the largest lambda within one standard error of it",
     AT(choose)},
    {"l1_ratios", PL_WORD, PL_FOR_CV, "", .value_name = "X,X,...",
     .help = "cross-validate each of these values of --l1-ratio, and choose the best pair of it and lambda",
     AT(l1_ratios)},
};

const pl_settings_table pl_linear_settings_path = {path, sizeof path / sizeof *path, &pl_linear_wing};
