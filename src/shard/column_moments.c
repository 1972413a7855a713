/* column_moments.c: the mean and the standard deviation of every column.
 *
 *     m_j = sum_i q_i x_ij,   sd_j^2 = sum_i q_i (x_ij - m_j)^2,   scale_j = 1 / sd_j, 0 where a column is constant
 *
 * It takes two passes, because the difference of two large sums of squares would lose the variance of a column with a
 * large mean. Zeros that are not stored add (m_j)^2 each, which is (1 - sum of their rows' q) m_j^2 in total. */
#include "shard/column_moments.h"

#include <float.h>
#include <math.h>

#include "shard/row_sums.h"

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
                double value = pl_value_at(x->values, e);
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
