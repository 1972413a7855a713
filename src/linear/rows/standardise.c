/* standardise.c: columns of unit variance, without changing the data (shard/column_moments.h). Indicators, whose values
 * are 0 and 1, keep their scale unless that is asked for: the deviation of a rare category is so small that the penalty
 * would hardly act on its coefficient. */
#include <math.h>
#include <string.h>

#include "linear/glm.h"

#define ROUNDED 1e-6 /* of a value of 0 or 1 from which a shift was subtracted */

/* Counts the entries of every column that are neither 0 nor 1 in the original data. */
static void add_others(const void *context, const pl_part *part, double *sums) {
    const pl_glm *glm = context;
    const parley_data *data = glm->base.data;
    const pl_matrix *x = &data->x;
    for (pl_walk rows = pl_walk_entries(data); pl_walk_on(part, &rows);)
        for (uint64_t e = x->start[rows.begin]; e < x->start[rows.end]; e++) {
            uint32_t j = x->index[e];
            double shift = pl_column_shift(glm, j), value = pl_value_at(x->values, e) + shift;
            double off = fmin(fabs(value), fabs(value - 1.0));
            sums[j] += off > (shift != 0 ? ROUNDED : 0.0);
        }
}

static parley_status keep_indicators(pl_glm *glm, const pl_team *team, parley_error *error) {
    double *others;
    uint64_t columns = glm->base.data->x.columns;
    parley_status status = pl_take(&others, columns, sizeof *others, "the columns' scales", error);
    if (status == PARLEY_OK)
        status = pl_sum_tables(team, columns, add_others, glm, others, error);
    for (uint64_t j = 0; j < columns && status == PARLEY_OK; j++)
        if (others[j] == 0 && glm->scale[j] > 0)
            glm->scale[j] = 1.0;
    pl_free(others);
    return status;
}

parley_status pl_standardise(pl_glm *glm, const pl_team *team, parley_error *error) {
    uint64_t columns = glm->base.data->x.columns;
    double *mean = NULL;
    pl_free(glm->scale); /* the workers may have changed */
    pl_free(glm->scaled);
    glm->scale = glm->scaled = NULL;
    parley_status status = pl_take(&glm->scale, columns, sizeof *glm->scale, "the columns' scales", error);
    if (status == PARLEY_OK)
        status = pl_take(&glm->scaled, glm->base.size, sizeof *glm->scaled, "the columns' scales", error);
    if (status == PARLEY_OK)
        status = pl_take(&mean, 2 * columns, sizeof *mean, "the columns' means", error);
    if (status == PARLEY_OK)
        status = pl_column_moments(glm->base.data, team, mean, glm->scale, error);
    pl_free(mean);
    return status == PARLEY_OK && !glm->scale_indicators ? keep_indicators(glm, team, error) : status;
}

void pl_scale_columns(const pl_glm *glm, double *w) {
    for (uint64_t j = 0; glm->scale && j < glm->base.data->x.columns; j++)
        for (uint64_t c = 0; c < glm->classes; c++)
            w[j * glm->classes + c] *= glm->scale[j];
}

const double *pl_scaled(const pl_glm *glm, const double *w) {
    if (!glm->scale)
        return w;
    memcpy(glm->scaled, w, glm->base.size * sizeof *w);
    pl_scale_columns(glm, glm->scaled);
    return glm->scaled;
}

/* Scales entry p of a block: its products with those from it on in the core or in its group, and with the core. */
static void scale_entry(const pl_glm *glm, const pl_arrow *shape, uint64_t p, double *block) {
    uint64_t core = shape->core, group = shape->group;
    double own = pl_column_scale(glm, pl_exclusive_column(&glm->apart, p / group));
    double *column = block + (p < core ? p * core : pl_arrow_begin(shape, p));
    for (uint64_t i = 0; p >= core && i < group; i++)
        column[i] *= own * own;
    for (uint64_t i = p < core ? p : 0; i < core; i++)
        column[p < core ? i : group + i] *= own * pl_column_scale(glm, pl_exclusive_column(&glm->apart, i / group));
}

void pl_scale_curvature(const pl_glm *glm, double *curvature) {
    pl_arrow shape = pl_curvature_shape(glm);
    for (uint64_t c = 0; c < pl_curvature_blocks(glm); c++)
        for (uint64_t p = 0; p < pl_arrow_rows(&shape); p++)
            scale_entry(glm, &shape, p, curvature + c * pl_arrow_values(&shape));
}

void pl_unscale_columns(const pl_glm *glm, double *w) {
    for (uint64_t j = 0; glm->scale && j < glm->base.data->x.columns; j++)
        for (uint64_t c = 0; c < glm->classes; c++)
            w[j * glm->classes + c] = glm->scale[j] > 0 ? w[j * glm->classes + c] / glm->scale[j] : 0.0;
}

typedef struct weighted {
    const pl_glm *glm;
    const double *a;
} weighted;

static void add_classes(const pl_glm *glm, uint64_t begin, uint64_t end, const double *a, double *sums) {
    uint64_t classes = glm->classes;
    pl_plain_adds_of(glm, begin, end, a + begin * classes, sums);
    for (uint64_t i = begin; i < end && glm->intercept != PL_NO_INTERCEPT; i++)
        for (uint64_t c = 0; c < classes; c++)
            sums[glm->base.data->x.columns * classes + c] += a[i * classes + c];
}

static void add_weighted(const void *context, const pl_part *part, double *sums) {
    const weighted *weighted = context;
    const pl_glm *glm = weighted->glm;
    for (pl_walk rows = pl_walk_entries(glm->base.data); pl_walk_on(part, &rows);) {
        if (glm->classes > 1)
            add_classes(glm, rows.begin, rows.end, weighted->a, sums);
        for (uint64_t i = rows.begin; i < rows.end && glm->classes == 1; i++) {
            double a = weighted->a[i];
            if (a == 0)
                continue;
            pl_plain_add(glm, i, a, sums);
            if (glm->intercept != PL_NO_INTERCEPT)
                sums[glm->base.data->x.columns] += a;
        }
    }
}

parley_status pl_weighted_rows(const pl_glm *glm, const pl_team *team, const double *a, double *out,
                               parley_error *error) {
    parley_status status = pl_sum_tables(team, glm->base.size, add_weighted, &(weighted){glm, a}, out, error);
    if (status == PARLEY_OK)
        pl_scale_columns(glm, out);
    return status;
}

static void add_squares(const void *context, const pl_part *part, double *sums) {
    const pl_glm *glm = context;
    for (pl_walk rows = pl_walk_entries(glm->base.data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++)
            pl_plain_add_squares(glm, i, pl_share(glm, i), sums);
}

parley_status pl_column_squares(const pl_glm *glm, const pl_team *team, double *squares, parley_error *error) {
    return pl_sum_tables(team, glm->base.data->x.columns, add_squares, glm, squares, error);
}
