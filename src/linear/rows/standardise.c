/* standardise.c: columns of unit variance, without changing the data.
 *
 *     m_j = sum_i q_i x_ij,   sd_j^2 = sum_i q_i (x_ij - m_j)^2,   scale_j = 1 / sd_j, 0 where a column is constant
 *
 * It takes two passes, because the difference of two large sums of squares would lose the variance of a column with a
 * large mean. Zeros that are not stored add (m_j)^2 each, which is (1 - sum of their rows' q) m_j^2 in total. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linear/glm.h"

typedef struct moments {
    const parley_data *data;
    const double *mean; /* NULL: the first pass */
} moments;

static double weight_of(const parley_data *data, uint64_t i) { return data->weight ? data->weight[i] : 1.0; }

/* The first pass adds sum s x, then sum s where there is an entry. The second adds sum s (x - m)^2. */
static void add_moments(const void *context, const pl_part *part, double *sums) {
    const moments *moments = context;
    const parley_data *data = moments->data;
    const pl_matrix *x = &data->x;
    for (pl_walk rows = pl_walk_entries(data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            double s = weight_of(data, i);
            for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                uint64_t j = x->index[e];
                double value = x->value ? (double)x->value[e] : 1.0;
                if (moments->mean) {
                    double apart = value - moments->mean[j];
                    sums[j] += s * apart * apart;
                } else {
                    sums[j] += s * value;
                    sums[x->columns + j] += s;
                }
            }
        }
}

static void weigh_part(const void *context, const pl_part *part, double *sums) {
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++)
            sums[0] += weight_of(context, i);
}

/* A variance below this is rounding error. The bound is that of scikit-learn. */
static double rounding(double mean, double rows) { return pow(rows * fabs(mean) * DBL_EPSILON, 2.0); }

static void fill_scales(const parley_data *data, const double *mean, const double *present, double total,
                        double *scale) {
    double rows = (double)pl_all_rows(data);
    for (uint64_t j = 0; j < data->x.columns; j++) {
        double absent = fmax(0.0, total - present[j]);
        double variance = (scale[j] + absent * mean[j] * mean[j]) / total;
        scale[j] = variance > rounding(mean[j], rows) ? 1.0 / sqrt(variance) : 0.0;
    }
}

parley_status pl_column_moments(const parley_data *data, const pl_team *team, double *mean, double *scale,
                                parley_error *error) {
    uint64_t columns = data->x.columns;
    double total;
    parley_status status = pl_sum_tables(team, 1, weigh_part, data, &total, error);
    if (status == PARLEY_OK)
        status = pl_sum_tables(team, 2 * columns, add_moments, &(moments){data, NULL}, mean, error);
    if (status == PARLEY_OK) {
        for (uint64_t j = 0; j < columns; j++)
            mean[j] /= total;
        status = pl_sum_tables(team, columns, add_moments, &(moments){data, mean}, scale, error);
    }
    if (status == PARLEY_OK)
        fill_scales(data, mean, mean + columns, total, scale);
    return status;
}

parley_status pl_standardise(pl_glm *glm, const pl_team *team, parley_error *error) {
    uint64_t columns = glm->data->x.columns;
    double *mean = NULL;
    pl_free(glm->scale); /* the workers may have changed */
    pl_free(glm->scaled);
    glm->scale = glm->scaled = NULL;
    parley_status status = pl_take(&glm->scale, columns, sizeof *glm->scale, "the columns' scales", error);
    if (status == PARLEY_OK)
        status = pl_take(&glm->scaled, glm->size, sizeof *glm->scaled, "the columns' scales", error);
    if (status == PARLEY_OK)
        status = pl_take(&mean, 2 * columns, sizeof *mean, "the columns' means", error);
    if (status == PARLEY_OK)
        status = pl_column_moments(glm->data, team, mean, glm->scale, error);
    pl_free(mean);
    return status;
}

void pl_scale_columns(const pl_glm *glm, double *w) {
    for (uint64_t j = 0; glm->scale && j < glm->data->x.columns; j++)
        for (uint64_t c = 0; c < glm->classes; c++)
            w[j * glm->classes + c] *= glm->scale[j];
}

const double *pl_scaled(const pl_glm *glm, const double *w) {
    if (!glm->scale)
        return w;
    memcpy(glm->scaled, w, glm->size * sizeof *w);
    pl_scale_columns(glm, glm->scaled);
    return glm->scaled;
}

/* Scales entry p of a block: its products with those from it on in the core or in its group, and with the core. */
static void scale_entry(const pl_glm *glm, const pl_arrow *shape, uint64_t p, double *block) {
    uint64_t core = shape->core, group = shape->group;
    double own = pl_column_scale(glm, pl_apart_column(&glm->apart, p / group));
    double *column = block + (p < core ? p * core : pl_arrow_begin(shape, p));
    for (uint64_t i = 0; p >= core && i < group; i++)
        column[i] *= own * own;
    for (uint64_t i = p < core ? p : 0; i < core; i++)
        column[p < core ? i : group + i] *= own * pl_column_scale(glm, pl_apart_column(&glm->apart, i / group));
}

void pl_scale_curvature(const pl_glm *glm, double *curvature) {
    pl_arrow shape = pl_curvature_shape(glm);
    for (uint64_t c = 0; c < pl_curvature_blocks(glm); c++)
        for (uint64_t p = 0; p < pl_arrow_rows(&shape); p++)
            scale_entry(glm, &shape, p, curvature + c * pl_arrow_values(&shape));
}

void pl_unscale_columns(const pl_glm *glm, double *w) {
    for (uint64_t j = 0; glm->scale && j < glm->data->x.columns; j++)
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
            sums[glm->data->x.columns * classes + c] += a[i * classes + c];
}

static void add_weighted(const void *context, const pl_part *part, double *sums) {
    const weighted *weighted = context;
    const pl_glm *glm = weighted->glm;
    for (pl_walk rows = pl_walk_entries(glm->data); pl_walk_on(part, &rows);) {
        if (glm->classes > 1)
            add_classes(glm, rows.begin, rows.end, weighted->a, sums);
        for (uint64_t i = rows.begin; i < rows.end && glm->classes == 1; i++) {
            double a = weighted->a[i];
            if (a == 0)
                continue;
            pl_plain_add(glm, i, a, sums);
            if (glm->intercept != PL_NO_INTERCEPT)
                sums[glm->data->x.columns] += a;
        }
    }
}

parley_status pl_weighted_rows(const pl_glm *glm, const pl_team *team, const double *a, double *out,
                               parley_error *error) {
    parley_status status = pl_sum_tables(team, glm->size, add_weighted, &(weighted){glm, a}, out, error);
    if (status == PARLEY_OK)
        pl_scale_columns(glm, out);
    return status;
}

static void add_squares(const void *context, const pl_part *part, double *sums) {
    const pl_glm *glm = context;
    for (pl_walk rows = pl_walk_entries(glm->data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++)
            pl_plain_add_squares(glm, i, pl_share(glm, i), sums);
}

parley_status pl_column_squares(const pl_glm *glm, const pl_team *team, double *squares, parley_error *error) {
    return pl_sum_tables(team, glm->data->x.columns, add_squares, glm, squares, error);
}
