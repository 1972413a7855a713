/* linear_path_file.c: writes and reads paths of models, and finds the point of a lambda. A file holds the models one
 * after the other, the figures of each lambda, and everything that the models share as in the file of a single model.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linear/model/linear_model.h"
#include "linear/path/linear_path.h"

#define NEAR 1.05 /* a lambda may differ from the one that was asked for by this factor */

/* The figures of a point. Old files lack those that are not required. */
typedef enum figure { LAMBDA, OBJECTIVE, DUAL, EXPLAINED, RELATIVE_GAP, ROUNDS, STOP, METRIC, FIGURES } figure;
static const struct {
    const char *name;
    bool required;
} figures[FIGURES] = {[LAMBDA] = {"lambda", true},
                      [OBJECTIVE] = {"objective", true},
                      [DUAL] = {"dual", true},
                      [EXPLAINED] = {"explained", true},
                      [RELATIVE_GAP] = {"relative_gap", false},
                      [ROUNDS] = {"rounds", false},
                      [STOP] = {"stop", false},
                      [METRIC] = {"metric", false}};

/* Whether the metadata differ between the models of a path. */
static bool is_of_one_lambda(const char *key) {
    static const char *const keys[] = {"lambda", "objective", "dual", "gap"};
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* A row of the tensor of all models. */
static void copy_row(const void *context, uint64_t row, void *out) {
    const pl_path *path = context;
    uint64_t begin = row % path->outputs * path->columns;
    pl_kept_copy(&path->coef[row / path->outputs], begin, path->columns, out);
}

/* Lists the tensors of the models, of which the first is written by rows, then the figures by lambda, then names;
 * returns their number. */
static unsigned put_tensors(const pl_path *path, const double *values, pl_tensor *tensors) {
    const parley_model *model = path->model;
    unsigned count = 0;
    tensors[count++] = (pl_tensor){"coef", PL_F64, 2, {path->count * path->outputs, path->columns}, NULL};
    tensors[count++] = (pl_tensor){"intercept", PL_F64, 1, {path->count * path->outputs, 0}, path->intercept};
    for (unsigned f = 0; f < (path->metric ? FIGURES : METRIC); f++)
        tensors[count++] = (pl_tensor){figures[f].name, PL_F64, 1, {path->count, 0}, values + f * path->count};
    if (path->outputs > 1)
        tensors[count++] = (pl_tensor){"labels", PL_F64, 1, {path->outputs, 0}, parley_model_labels(model)};
    pl_names_put_starts(&model->names, &model->classes, tensors, &count);
    pl_names_put_texts(&model->names, &model->classes, tensors, &count);
    return count;
}

parley_status parley_path_save(const parley_path_result *path, const char *file, parley_error *error) {
    const parley_model *model = path->model;
    double *values;
    pl_tensor tensors[FIGURES + 7];
    pl_pair pairs[PL_MODEL_METAS + 4];
    char labels[72];
    parley_status status = pl_take(&values, FIGURES * path->count, sizeof *values, "the path's figures", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t k = 0; k < path->count; k++) {
        const pl_point *point = &path->points[k];
        const double own[FIGURES] = {[LAMBDA] = point->lambda,
                                     [OBJECTIVE] = point->objective,
                                     [DUAL] = point->dual,
                                     [EXPLAINED] = point->explained,
                                     [RELATIVE_GAP] = point->relative_gap,
                                     [ROUNDS] = (double)point->rounds,
                                     [STOP] = point->stop,
                                     [METRIC] = point->metric};
        for (unsigned f = 0; f < FIGURES; f++)
            values[f * path->count + k] = own[f];
    }
    pl_linear_label_text(pl_linear(model), labels, sizeof labels);
    unsigned count = 0;
    pairs[count++] = (pl_pair){"format", PL_PATH_FORMAT};
    pairs[count++] = (pl_pair){"loss", pl_linear(model)->loss->name};
    pairs[count++] = (pl_pair){"labels", labels};
    for (unsigned i = 0; i < model->metas; i++)
        if (!is_of_one_lambda(model->meta[i].key) && !pl_model_sets(model, model->meta[i].key))
            pairs[count++] = model->meta[i];
    unsigned listed = put_tensors(path, values, tensors);
    status = pl_container_write_rows(file, tensors, listed, pairs, count, copy_row, path, error);
    pl_free(values);
    return status;
}

static parley_status bad(const char *file, const char *what, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a valid path: %s", file, what);
}

static bool has_length(const pl_tensor *tensor, uint64_t length) {
    return tensor && tensor->type == PL_F64 && tensor->dims == 1 && tensor->shape[0] == length;
}

/* Reads the figures of all points. */
static parley_status read_points(pl_path *path, const pl_container *container, const char *file, parley_error *error) {
    const double *values[FIGURES];
    for (unsigned f = 0; f < FIGURES; f++) {
        const pl_tensor *tensor = pl_container_tensor(container, figures[f].name);
        if (tensor || figures[f].required)
            if (!has_length(tensor, path->count))
                return bad(file, "a figure is missing or does not have one value for each lambda", error);
        values[f] = tensor ? tensor->data : NULL;
    }
    for (uint64_t k = 0; k < path->count; k++) {
        double own[FIGURES];
        for (unsigned f = 0; f < FIGURES; f++)
            own[f] = values[f] ? values[f][k] : NAN;
        path->points[k] = (pl_point){.lambda = own[LAMBDA],
                                     .objective = own[OBJECTIVE],
                                     .dual = own[DUAL],
                                     .gap = own[OBJECTIVE] - own[DUAL],
                                     .relative_gap = own[RELATIVE_GAP],
                                     .explained = own[EXPLAINED],
                                     .metric = own[METRIC],
                                     .rounds = own[ROUNDS] >= 0 && own[ROUNDS] < 1e18 ? (uint64_t)own[ROUNDS] : 0};
        if (own[STOP] >= 0 && own[STOP] <= PARLEY_PASSED)
            path->points[k].stop = (parley_stop)own[STOP];
        if (!(own[LAMBDA] >= 0 && isfinite(own[LAMBDA])) || (k > 0 && own[LAMBDA] > path->points[k - 1].lambda))
            return bad(file, "its lambdas do not decrease", error);
    }
    return PARLEY_OK;
}

/* Keeps a model, whose values are copied before they are checked, because the file may change. `room` is for one. */
static parley_status read_model(pl_path *path, uint64_t k, const double *coef, double *room, const char *file,
                                parley_error *error) {
    uint64_t size = path->outputs * path->columns;
    if (size > 0)
        memcpy(room, coef + k * size, size * sizeof *room);
    for (uint64_t j = 0; j < size; j++) {
        if (!isfinite(room[j]))
            return bad(file, "a coefficient is not a finite number", error);
        path->points[k].nonzeros += room[j] != 0;
    }
    return pl_kept_open(&path->coef[k], room, size, error);
}

/* Copies the coefficients and intercepts of all models. */
static parley_status read_models(pl_path *path, const pl_tensor *coef, const pl_tensor *intercept, const char *file,
                                 parley_error *error) {
    uint64_t models = path->count * path->outputs;
    double *room = NULL;
    parley_status status = pl_take(&path->coef, path->count, sizeof *path->coef, "the path's models", error);
    if (status == PARLEY_OK)
        status = pl_take(&path->intercept, models, sizeof(double), "the path's models", error);
    if (status == PARLEY_OK)
        status = pl_take(&room, path->outputs * path->columns, sizeof *room, "a model", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(path->intercept, intercept->data, models * sizeof(double));
    for (uint64_t i = 0; i < models && status == PARLEY_OK; i++)
        if (!isfinite(path->intercept[i]))
            status = bad(file, "an intercept is not a finite number", error);
    for (uint64_t k = 0; k < path->count && status == PARLEY_OK; k++)
        status = read_model(path, k, coef->data, room, file, error);
    pl_free(room);
    return status;
}

/* Loads the last model as if it were in a file of its own, so that all checks of models apply. */
static parley_status read_last(pl_path *path, const pl_container *container, const char *file, parley_error *error) {
    const char *const shared[] = {"labels", "name_start", "class_start", "name", "class"};
    uint64_t last = (path->count - 1) * path->outputs, values = path->outputs * path->columns, size;
    double *coef;
    void *bytes = NULL;
    const pl_pair *metas;
    unsigned count = 2, pair_count = pl_container_metas(container, &metas);
    if (pair_count > PL_MODEL_METAS)
        return bad(file, "it has too many metadata entries", error);
    parley_status status = pl_take(&coef, values, sizeof *coef, "a model", error);
    if (status != PARLEY_OK)
        return status;
    pl_kept_copy(&path->coef[path->count - 1], 0, values, coef);
    pl_tensor tensors[2 + sizeof shared / sizeof *shared] = {
        {"coef", PL_F64, 2, {path->outputs, path->columns}, coef},
        {"intercept", PL_F64, 1, {path->outputs, 0}, path->intercept + last}};
    pl_pair pairs[PL_MODEL_METAS];
    for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++) {
        const pl_tensor *tensor = pl_container_tensor(container, shared[i]);
        if (tensor)
            tensors[count++] = *tensor;
    }
    for (unsigned i = 0; i < pair_count; i++)
        pairs[i] = strcmp(metas[i].key, "format") == 0 ? (pl_pair){"format", pl_model_linear.format} : metas[i];
    status = pl_container_pack(tensors, count, pairs, pair_count, &bytes, &size, error);
    pl_free(coef);
    if (status == PARLEY_OK)
        status = pl_model_parse(bytes, size, file, &path->model, error);
    pl_free(bytes);
    return status;
}

static parley_status read_path(pl_path *path, const pl_container *container, const char *file, parley_error *error) {
    const pl_tensor *lambda = pl_container_tensor(container, "lambda");
    const pl_tensor *coef = pl_container_tensor(container, "coef");
    const pl_tensor *intercept = pl_container_tensor(container, "intercept");
    if (!lambda || lambda->dims != 1 || lambda->shape[0] == 0 || !coef || coef->type != PL_F64 || coef->dims != 2)
        return bad(file, "it has no lambda or no coef", error);
    path->count = lambda->shape[0];
    path->outputs = coef->shape[0] / path->count;
    path->columns = coef->shape[1];
    if (path->outputs == 0 || coef->shape[0] % path->count != 0 || !has_length(intercept, coef->shape[0]))
        return bad(file, "coef and intercept do not have the same number of rows for each lambda", error);
    parley_status status = pl_take(&path->points, path->count, sizeof *path->points, "the path", error);
    if (status == PARLEY_OK)
        status = read_points(path, container, file, error);
    if (status == PARLEY_OK)
        status = read_models(path, coef, intercept, file, error);
    if (status == PARLEY_OK)
        status = read_last(path, container, file, error);
    if (status != PARLEY_OK || !pl_container_tensor(container, "metric"))
        return status;
    const char *metric = pl_model_meta(path->model, "metric");
    const pl_model_metric *found = metric ? pl_metric_find(&pl_model_linear, metric) : NULL;
    path->metric = found ? found->name : "metric";
    return PARLEY_OK;
}

static bool claims_path(const pl_container *container) {
    const char *format = pl_container_meta(container, "format");
    return format && strcmp(format, PL_PATH_FORMAT) == 0;
}

int parley_is_path(const char *file) {
    pl_container *container;
    if (strcmp(file, "-") == 0 || pl_container_open(file, &container, NULL) != PARLEY_OK)
        return 0;
    bool is = claims_path(container);
    pl_container_close(container);
    return is;
}

parley_status parley_path_load(const char *file, parley_path_result **out, parley_error *error) {
    pl_container *container;
    pl_path *path;
    *out = NULL;
    parley_status status = pl_container_open(file, &container, error);
    if (status != PARLEY_OK)
        return status;
    if (!claims_path(container))
        status =
            pl_fail(error, PARLEY_BAD_INPUT, "%s: this is not a path of models; parley path writes such files", file);
    else if ((status = pl_take(&path, 1, sizeof *path, "the path", error)) == PARLEY_OK) {
        status = read_path(path, container, file, error);
        if (status == PARLEY_OK)
            *out = path;
        else
            parley_path_free(path);
    }
    pl_container_close(container);
    return status;
}

parley_status parley_path_find(const parley_path_result *path, const char *at, uint64_t *point, parley_error *error) {
    const pl_point *points = path->points;
    char *end;
    double lambda = strtod(at, &end), best = INFINITY;
    bool first = strcmp(at, "first") == 0;
    *point = first ? 0 : path->count - 1;
    if (first || strcmp(at, "last") == 0)
        return PARLEY_OK;
    if (end == at || *end || !(lambda > 0) || !isfinite(lambda))
        return pl_fail(error, PARLEY_BAD_USAGE, "not a lambda; give a positive number, first or last");
    for (uint64_t k = 0; k < path->count; k++) {
        double distance = fabs(log(points[k].lambda / lambda));
        if (distance < best) {
            best = distance;
            *point = k;
        }
    }
    if (best <= log(NEAR))
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "the path has no lambda near %.10g; its %llu lambdas go from %.10g down to %.10g, and the nearest "
                   "is %.10g",
                   lambda, (unsigned long long)path->count, points[0].lambda, points[path->count - 1].lambda,
                   points[*point].lambda);
}
