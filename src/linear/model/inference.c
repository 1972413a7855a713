/* inference.c: standard errors of the coefficients, from the curvature of the objective at the model.
 *
 *     H = sum_i q_i loss''(z_i) x_i x_i',   A = H + diag(l2),   C = A^-1 H A^-1 / sum s,   x_i with a 1 for the
 * intercept
 *
 * C is the covariance of maximum likelihood if there is no penalty, and with an L2 penalty that of the estimate, whose
 * bias it does not contain. Squared loss multiplies it by sum_i s_i (y_i - z_i)^2 / d, where d = sum s - trace(A^-1 H)
 * are the degrees of freedom that are left. With A x = a, a' A^-1 H A^-1 a = a' x - sum_j l2_j x_j^2. */
#include <math.h>
#include <stdio.h>

#include "linear/glm.h"
#include "linear/model/linear_model.h"
#include "math/cholesky.h"

#define MOST_COLUMNS 2000
#define DEPENDENT 1e-12 /* part of its square that a column keeps beside the others */

typedef struct curvature {
    const pl_glm *glm;
    const double *w;
} curvature;

static double value_at(const pl_glm *glm, uint64_t e) {
    const pl_matrix *x = &glm->base.data->x;
    return pl_value_at(x->values, e) * pl_column_scale(glm, x->index[e]);
}

/* Adds c x x' to the lower triangle, stored by columns. Indices of a row increase, and the intercept comes last. */
static void add_row(const pl_glm *glm, uint64_t i, double c, double *sums) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t size = glm->base.size, end = x->start[i + 1];
    bool constant = glm->intercept != PL_NO_INTERCEPT;
    for (uint64_t e = x->start[i]; e < end; e++) {
        double *column = sums + x->index[e] * size, weighted = c * value_at(glm, e);
        for (uint64_t f = e; f < end; f++)
            column[x->index[f]] += weighted * value_at(glm, f);
        if (constant)
            column[size - 1] += weighted;
    }
    if (constant)
        sums[size * size - 1] += c;
}

/* The last entry is sum q (y - z)^2. */
static void add_part(const void *context, const pl_part *part, double *sums) {
    const curvature *pass = context;
    const pl_glm *glm = pass->glm;
    double b = glm->intercept == PL_NO_INTERCEPT ? 0.0 : pass->w[glm->base.size - 1], slope, bend;
    for (pl_walk rows = pl_walk_entries(glm->base.data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            double y = pl_target(glm, i), z = pl_row_dot(glm, i, pass->w) + b + pl_offset(glm, i), q = pl_share(glm, i);
            glm->loss->expand(glm->loss, z, y, &slope, &bend);
            add_row(glm, i, q * bend, sums);
            sums[glm->base.size * glm->base.size] += q * (y - z) * (y - z);
        }
}

/* Replaces a by A^-1 a, and returns a' A^-1 H A^-1 a. */
static double spread_of(const pl_glm *glm, const double *root, double *a, double *solution) {
    double sum = 0;
    for (uint64_t j = 0; j < glm->base.size; j++)
        solution[j] = a[j];
    pl_cholesky_solve(root, glm->base.size, solution);
    for (uint64_t j = 0; j < glm->base.size; j++)
        sum += a[j] * solution[j] - pl_l2_at(&glm->base, j) * solution[j] * solution[j];
    return fmax(0.0, sum);
}

/* Fills in the variances of coefficients and of the intercept of the original columns, up to the common factor, and
 * returns the trace of A^-1 H. */
static double fill_variances(const pl_glm *glm, const double *root, double *room, double *out) {
    uint64_t columns = glm->base.data->x.columns, size = glm->base.size;
    double trace = 0, *a = room, *solution = room + size;
    for (uint64_t j = 0; j < size; j++) {
        for (uint64_t k = 0; k < size; k++)
            a[k] = k == j;
        if (j == glm->offset_column) { /* it is known */
            out[j] = 0;
            continue;
        }
        double variance = spread_of(glm, root, a, solution), scale = pl_column_scale(glm, j);
        trace += 1.0 - pl_l2_at(&glm->base, j) * solution[j];
        out[j] = scale * scale * variance;
    }
    if (size > columns && glm->centred.shift) { /* the intercept of the original columns is b - sum_j shift_j w_j */
        for (uint64_t j = 0; j < columns; j++)
            a[j] = -glm->centred.shift[j] * pl_column_scale(glm, j);
        a[columns] = 1.0;
        out[columns] = spread_of(glm, root, a, solution);
    }
    return trace;
}

/* Adds the penalty and factors the matrix. Returns false if columns are linearly dependent up to rounding, which shows
 * in a pivot that nearly vanishes. `diagonal` is room. */
static bool factor(const pl_glm *glm, double *matrix, double *diagonal) {
    uint64_t size = glm->base.size;
    if (glm->offset_column < size) /* it is hidden */
        matrix[glm->offset_column * size + glm->offset_column] = 1.0;
    for (uint64_t j = 0; j < size; j++)
        diagonal[j] = matrix[j * size + j] += pl_l2_at(&glm->base, j);
    if (!pl_cholesky(matrix, size))
        return false;
    for (uint64_t j = 0; j < size; j++)
        if (!(matrix[j * size + j] * matrix[j * size + j] > DEPENDENT * diagonal[j]))
            return false;
    return true;
}

/* Turns the sums into standard errors. */
static parley_status finish(const pl_glm *glm, double *sums, double *out, double *degrees, parley_error *error) {
    uint64_t size = glm->base.size;
    double *room, noise = 1.0;
    if (!factor(glm, sums, out))
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "--inference: the columns of %s are linearly dependent, so coefficients have no standard errors; "
            "leave columns out, or use a small --lambda",
            glm->base.data->path);
    parley_status status = pl_take(&room, 2 * size, sizeof *room, "standard errors", error);
    if (status != PARLEY_OK)
        return status;
    double trace = fill_variances(glm, sums, room, out);
    *degrees = glm->loss->quadratic ? glm->base.total - trace : INFINITY;
    if (glm->loss->quadratic)
        noise = glm->base.total * sums[size * size] / *degrees;
    for (uint64_t j = 0; j < size; j++)
        out[j] = sqrt(out[j] * noise / glm->base.total);
    pl_free(room);
    return *degrees > 0
               ? PARLEY_OK
               : pl_fail(error, PARLEY_BAD_INPUT,
                         "--inference: %s has as many coefficients as rows, so nothing is left to estimate the "
                         "noise; use more rows, or a larger --lambda",
                         glm->base.data->path);
}

static parley_status check_problem(const pl_glm *glm, parley_error *error) {
    if (glm->classes > 1 || !(glm->loss->quadratic || glm->loss->probability || glm->loss->power == 1.0))
        return pl_fail(
            error, PARLEY_BAD_USAGE,
            "--inference knows standard errors of losses squared, poisson and logistic with two classes, not "
            "of %s with %llu outputs",
            glm->loss->name, (unsigned long long)glm->classes);
    if (glm->base.data->x.columns > MOST_COLUMNS)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--inference: %s has %llu columns, and standard errors are computed for at most %d",
                       glm->base.data->path, (unsigned long long)glm->base.data->x.columns, MOST_COLUMNS);
    return PARLEY_OK;
}

parley_status pl_linear_refuse_inference(const char *option, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_USAGE, "--inference knows no standard errors with %s; leave one of them out",
                   option);
}

parley_status pl_linear_can_infer(const pl_problem *problem, parley_error *error) {
    return check_problem(pl_glm_of(problem), error);
}

parley_status pl_linear_infer(const pl_problem *problem, const pl_team *team, const double *w, parley_model *model,
                              parley_error *error) {
    const pl_glm *glm = pl_glm_of(problem);
    pl_linear_model *linear = (pl_linear_model *)model;
    double *sums, degrees = INFINITY;
    char text[32];
    parley_status status = pl_take(&sums, glm->base.size * glm->base.size + 1, sizeof *sums, "the curvature", error);
    if (status != PARLEY_OK)
        return status;
    status = pl_take(&linear->standard_error, glm->base.size, sizeof *linear->standard_error, "standard errors", error);
    linear->standard_errors = glm->base.size;
    if (status == PARLEY_OK)
        status = pl_sum_tables(team, glm->base.size * glm->base.size + 1, add_part, &(curvature){glm, w}, sums, error);
    if (status == PARLEY_OK)
        status = finish(glm, sums, linear->standard_error, &degrees, error);
    pl_free(sums);
    if (status != PARLEY_OK || isinf(degrees))
        return status;
    pl_number_text(degrees, text, sizeof text);
    return pl_model_set_meta(model, "residual_degrees", text, error);
}
