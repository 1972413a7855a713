/* linear_path_at.c: the model of any lambda of a path. Between two lambdas a > s > b of the path the coefficients are
 * interpolated linearly, as glmnet's predict(s =) does, with weight (s - b) / (a - b) on those of a. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linear/model/linear_model.h"
#include "linear/path/linear_path.h"

#define PRINTED 1e-5 /* relative difference from a lambda of the path that comes from printing it with six digits */

static parley_status read_lambda(const pl_path *path, const char *at, double *lambda, parley_error *error) {
    char *end;
    if (strcmp(at, "first") == 0 || strcmp(at, "last") == 0) {
        *lambda = path->points[*at == 'f' ? 0 : path->count - 1].lambda;
        return PARLEY_OK;
    }
    *lambda = strtod(at, &end);
    if (end == at || *end || !(*lambda > 0) || !isfinite(*lambda))
        return pl_fail(error, PARLEY_BAD_USAGE, "not a lambda; give a positive number, first or last");
    return PARLEY_OK;
}

/* The first point at or below the lambda, or the last one. */
static uint64_t find_below(const pl_path *path, double lambda) {
    uint64_t k = 0;
    while (k + 1 < path->count && path->points[k].lambda > lambda * (1.0 + PRINTED))
        k++;
    return k;
}

/* Adds a share of the model of a point to one that has the rest. */
static void blend(const pl_path *path, uint64_t point, double share, const double *other, pl_linear_model *model) {
    uint64_t size = path->outputs * path->columns;
    for (uint64_t j = 0; j < size; j++)
        model->coef[j] = share * model->coef[j] + (1.0 - share) * other[j];
    for (uint64_t c = 0; c < path->outputs; c++)
        model->intercept[c] = share * model->intercept[c] + (1.0 - share) * path->intercept[point * path->outputs + c];
}

/* The objective of a model between two others is not known. */
static parley_status describe(parley_model *model, double lambda, parley_error *error) {
    static const char *const unknown[] = {"objective", "dual", "gap"};
    char text[40];
    pl_number_text(lambda, text, sizeof text);
    parley_status status = pl_model_set_meta(model, "lambda", text, error);
    for (unsigned i = 0; i < sizeof unknown / sizeof *unknown && status == PARLEY_OK; i++)
        status = pl_model_set_meta(model, unknown[i], "none", error);
    return status;
}

/* The model between points k - 1 and k. */
static parley_status interpolate(const pl_path *path, uint64_t k, double lambda, parley_model **out,
                                 parley_error *error) {
    double above = path->points[k - 1].lambda, below = path->points[k].lambda, *other = NULL;
    uint64_t size = path->outputs * path->columns;
    parley_status status = parley_path_model(path, k - 1, out, error);
    if (status == PARLEY_OK)
        status = pl_take(&other, size, sizeof *other, "a model of the path", error);
    if (status == PARLEY_OK) {
        pl_kept_copy(&path->coef[k], 0, size, other);
        blend(path, k, (lambda - below) / (above - below), other, (pl_linear_model *)*out);
        status = describe(*out, lambda, error);
    }
    pl_free(other);
    if (status != PARLEY_OK) {
        parley_model_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status parley_path_at(const parley_path_result *path, const char *at, parley_message tell, void *user,
                             parley_model **out, parley_error *error) {
    double lambda;
    char sentence[200] = "";
    *out = NULL;
    parley_status status = read_lambda(path, at, &lambda, error);
    if (status != PARLEY_OK)
        return status;
    uint64_t k = find_below(path, lambda);
    double nearest = path->points[k].lambda, ratio = lambda / nearest;
    bool between = k > 0 && ratio > 1.0 + PRINTED;
    if (between)
        snprintf(sentence, sizeof sentence,
                 "it is between the lambdas %.6g and %.6g of the path; coefficients are interpolated",
                 path->points[k - 1].lambda, nearest);
    else if (ratio > 1.0 + PRINTED || ratio < 1.0 - PRINTED)
        snprintf(sentence, sizeof sentence, "the path ends at lambda %.6g, whose model is used", nearest);
    if (*sentence && tell)
        tell(user, sentence);
    return between ? interpolate(path, k, lambda, out, error) : parley_path_model(path, k, out, error);
}
