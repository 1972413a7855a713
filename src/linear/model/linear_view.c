/* linear_view.c: what `info` and `dump` print about a linear model: its size and intercepts, and its weights with the
 * names of their columns, the largest first. */
#include <math.h>
#include <stdlib.h>

#include "linear/model/linear_model.h"
#include "math/student.h"

void pl_linear_show(const parley_model *model, pl_viewer *viewer) {
    const pl_linear_model *linear = pl_linear(model);
    uint64_t count = 0;
    for (uint64_t i = 0; i < model->outputs * model->columns; i++)
        count += linear->coef[i] != 0.0;
    viewer->count(viewer, "nonzeros", count);
    viewer->numbers(viewer, "intercept", linear->intercept, model->outputs);
    if (pl_model_labels(model) > 0)
        viewer->labels(viewer, "labels", model);
}

#define OUTSIDE 0.05 /* of intervals */

static double residual_degrees(const parley_model *model) {
    const char *text = pl_model_meta(model, "residual_degrees");
    double degrees = text ? strtod(text, NULL) : INFINITY;
    return degrees > 0 ? degrees : INFINITY;
}

parley_status parley_model_certainty(const parley_model *model, uint64_t column, parley_certainty *out,
                                     parley_error *error) {
    const pl_linear_model *linear = pl_linear(model);
    if (!linear || !linear->standard_error)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "--inference: the model has no standard errors; train it with parley train --inference");
    if (column >= linear->standard_errors)
        return pl_fail(error, PARLEY_BAD_USAGE, "column %llu: the model has standard errors of %llu coefficients",
                       (unsigned long long)column, (unsigned long long)linear->standard_errors);
    double coef = column == model->columns ? *linear->intercept : linear->coef[column];
    double se = linear->standard_error[column], degrees = residual_degrees(model);
    double reach = pl_student_point(OUTSIDE, degrees) * se;
    *out = (parley_certainty){.coefficient = coef,
                              .standard_error = se,
                              .statistic = coef / se,
                              .degrees = degrees,
                              .p = pl_student_tails(coef / se, degrees),
                              .low_95 = coef - reach,
                              .high_95 = coef + reach};
    return PARLEY_OK;
}

parley_status pl_linear_inference(const parley_model *model, uint64_t top, pl_viewer *viewer, parley_error *error) {
    const pl_linear_model *linear = pl_linear(model);
    parley_certainty it;
    parley_status status = parley_model_certainty(model, 0, &it, error);
    if (status != PARLEY_OK)
        return status;
    viewer->open(viewer, "inference", "name", NULL);
    for (uint64_t n = 0; n < linear->standard_errors && (top == 0 || n < top); n++) {
        bool constant = linear->standard_errors > model->columns;
        uint64_t j = !constant ? n : n == 0 ? model->columns : n - 1; /* the intercept comes first */
        char number[24];
        parley_model_certainty(model, j, &it, NULL);
        if (it.standard_error == 0 && it.coefficient == 1) /* an offset, which is not estimated */
            continue;
        const pl_view_cell cells[] = {{"coefficient", &it.coefficient, 1, 1, false, false, false, NULL},
                                      {"std_error", &it.standard_error, 1, 1, false, false, false, NULL},
                                      {isinf(it.degrees) ? "z" : "t", &it.statistic, 1, 1, false, false, false, NULL},
                                      {"p", &it.p, 1, 1, false, false, false, NULL},
                                      {"low_95", &it.low_95, 1, 1, false, false, false, NULL},
                                      {"high_95", &it.high_95, 1, 1, false, false, false, NULL}};
        pl_name name =
            j == model->columns ? (pl_name){"(intercept)", 11} : pl_model_column(model, j, number, sizeof number);
        viewer->row(viewer, name, n, cells, 6);
    }
    viewer->close(viewer);
    return PARLEY_OK;
}

typedef struct ranked {
    double size; /* the largest absolute weight of a column */
    uint64_t column;
} ranked;

static int by_size(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

/* Ranks the `*count` columns that have a non-zero weight. */
static parley_status rank(const pl_linear_model *model, ranked **out, uint64_t *count, parley_error *error) {
    uint64_t columns = model->base.columns;
    *count = 0;
    parley_status status = pl_take(out, columns, sizeof **out, "ranking the weights", error);
    for (uint64_t i = 0; i < columns && status == PARLEY_OK; i++) {
        double size = 0;
        for (uint64_t k = 0; k < model->base.outputs; k++)
            size = fmax(size, fabs(model->coef[k * columns + i]));
        if (size > 0)
            (*out)[(*count)++] = (ranked){size, i};
    }
    if (*count > 0)
        qsort(*out, *count, sizeof **out, by_size);
    return status;
}

parley_status pl_linear_dump(const parley_model *model, uint64_t top, pl_viewer *viewer, parley_error *error) {
    const pl_linear_model *linear = pl_linear(model);
    ranked *ranked;
    uint64_t count;
    parley_status status = rank(linear, &ranked, &count, error);
    if (status != PARLEY_OK)
        return status;
    if (model->outputs > 1 || model->classes.count > 0)
        viewer->labels(viewer, "labels", model);
    if (model->outputs == 1)
        viewer->number(viewer, "intercept", *linear->intercept);
    else
        viewer->numbers(viewer, "intercept", linear->intercept, model->outputs);
    viewer->open(viewer, "weights", "name", "column");
    for (uint64_t i = 0; i < count && (top == 0 || i < top); i++) {
        char number[24];
        uint64_t column = ranked[i].column;
        const pl_view_cell cell = {
            .key = "weight", .numbers = linear->coef + column, .count = model->outputs, .stride = model->columns};
        viewer->row(viewer, pl_model_column(model, column, number, sizeof number), column + 1, &cell, 1);
    }
    viewer->close(viewer);
    pl_free(ranked);
    return PARLEY_OK;
}
