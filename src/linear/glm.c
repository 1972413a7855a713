/* glm.c: setting up the problem, and passes over its rows. */
#include "linear/glm.h"

#include <math.h>

#include "engine/collective.h"
#include "linear/rows/classes.h"
#include "math/dense_block.h"
#include "math/dense_table.h"

#define CENTRE_STEPS 100
#define INTERCEPT_STIFFNESS 10.0 /* measured: 1 triples the rounds on text, 100 doubles them on a9a */
#define INTERCEPT_PACE 0.1       /* of the curvature of P in b: moving b0 leaves at most a tenth of the error */
#define SHARED_STIFFNESS 4.0     /* with several workers, times their number */
#define SHARED_PACE 0.01         /* the smallest pace with several workers */

/* Sets the parameter of the loss. */
static parley_status set_parameter(pl_glm *glm, const parley_settings *settings, parley_error *error) {
    if (!glm->loss->parameter)
        return PARLEY_OK;
    parley_status status = pl_take(&glm->own_loss, 1, sizeof *glm->own_loss, "the loss", error);
    if (status != PARLEY_OK)
        return status;
    glm->loss = pl_loss_tuned(glm->loss, settings, glm->own_loss);
    return PARLEY_OK;
}

/* Finds by bisection the b at which the slope of share x loss(b, 1) + (1 - share) x loss(b, -1) changes sign, which
 * works for any loss. */
double pl_best_constant(const pl_loss *loss, double share) {
    double low = -64, high = 64, upper, lower, curvature;
    for (int i = 0; i < CENTRE_STEPS; i++) {
        double b = 0.5 * (low + high);
        loss->expand(loss, b, 1, &upper, &curvature);
        loss->expand(loss, b, -1, &lower, &curvature);
        *(share * upper + (1 - share) * lower > 0 ? &high : &low) = b;
    }
    return 0.5 * (low + high);
}

/* d^2 P / db^2 at w = 0. For a loss without curvature, the range of its slopes over the spread of labels. */
static double constant_curvature(const pl_glm *glm) {
    const pl_loss *loss = glm->loss;
    double slope, upper, lower, b;
    if (glm->classes > 1)
        return pl_classes_curvature(glm);
    if (loss->log_link)
        return glm->mean_label > 0 ? pl_loss_mean_curvature(loss, glm->mean_label) : 1.0;
    if (loss->labels == PL_LABELS_REAL)
        return fmin(loss->curvature_bound, pl_loss_steepest(loss) / glm->label_deviation);
    if (!loss->smooth)
        return 0.25;
    b = pl_best_constant(loss, glm->upper);
    loss->expand(loss, b, 1, &slope, &upper);
    loss->expand(loss, b, -1, &slope, &lower);
    return glm->upper * upper + (1 - glm->upper) * lower;
}

/* Sets the shape of the model: a row for each column of the data, then one for an intercept. */
static void lay_out(pl_glm *glm) {
    uint64_t columns = glm->base.data->x.columns, classes = glm->classes;
    glm->base.row = classes;
    glm->base.size = (columns + (glm->intercept == PL_NO_INTERCEPT ? 0 : 1)) * classes;
    glm->base.penalised = (columns + (glm->intercept == PL_PENALISED ? 1 : 0)) * classes;
    glm->base.non_negative = glm->non_negative ? columns * classes : 0;
    glm->base.step_nonzeros = classes == 1 ? glm->loss->step_nonzeros : 0;
}

parley_status pl_glm_open(pl_glm *glm, pl_engine *engine, const parley_data *data, const parley_settings *settings,
                          parley_error *error) {
    *glm = (pl_glm){.base = {.type = &pl_problem_linear, .data = data, .begins_at_zero = true},
                    .intercept = (pl_intercept)pl_linear_settings_of(settings)->intercept,
                    .lambda = pl_linear_settings_of(settings)->lambda,
                    .c = pl_linear_settings_of(settings)->c,
                    .alpha = pl_linear_settings_of(settings)->alpha,
                    .standardise = settings->standardise,
                    .scale_indicators = pl_linear_settings_of(settings)->scale_indicators,
                    .non_negative = pl_linear_settings_of(settings)->non_negative,
                    .l1_ratio = pl_linear_settings_of(settings)->l1_ratio,
                    .offset_column = PL_NO_OFFSET};
    glm->classes = 1;
    parley_status status = pl_glm_read_labels(glm, engine, settings, error);
    if (status != PARLEY_OK)
        return status;
    lay_out(glm);
    status = pl_penalty_factors(glm, pl_linear_settings_of(settings)->penalty_factors, error);
    if (status == PARLEY_OK)
        status = set_parameter(glm, settings, error);
    glm->base.facts = pl_glm_all_facts(glm);
    return status;
}

void pl_glm_close(pl_glm *glm) {
    pl_free(glm->norm2);
    pl_free(glm->own_loss);
    pl_free(glm->scale);
    pl_free(glm->scaled);
    pl_free(glm->base.factor);
    glm->norm2 = glm->scale = glm->scaled = glm->base.factor = NULL;
    glm->own_loss = NULL;
    pl_offset_close(glm);
    pl_classes_close(glm);
}

/* The end of the penalised part of [begin, end). Only free intercepts, which come last, are not penalised. */
static uint64_t penalised_end(const pl_glm *glm, uint64_t begin, uint64_t end) {
    uint64_t free = glm->intercept == PL_FREE ? glm->base.data->x.columns * glm->classes : end;
    return end <= free ? end : begin > free ? begin : free;
}

static double sum_squares(const double *x, uint64_t begin, uint64_t end) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0; /* four sums, so that additions do not wait for each other */
    uint64_t j = begin;
    for (; j + 4 <= end; j += 4) {
        s0 += x[j] * x[j];
        s1 += x[j + 1] * x[j + 1];
        s2 += x[j + 2] * x[j + 2];
        s3 += x[j + 3] * x[j + 3];
    }
    for (; j < end; j++)
        s0 += x[j] * x[j];
    return (s0 + s1) + (s2 + s3);
}

static double factored_penalty(const pl_glm *glm, const double *w, uint64_t begin, uint64_t end) {
    double sum = 0;
    for (uint64_t j = begin; j < end; j++)
        sum += glm->base.factor[j] * fabs(w[j]) * (glm->base.l1 + 0.5 * glm->base.l2 * fabs(w[j]));
    return sum;
}

double pl_penalty(const pl_glm *glm, const double *w, uint64_t begin, uint64_t end) {
    double absolute = 0;
    end = penalised_end(glm, begin, end);
    if (glm->base.factor)
        return factored_penalty(glm, w, begin, end);
    for (uint64_t j = begin; j < end && glm->base.l1 > 0; j++)
        absolute += fabs(w[j]);
    return glm->base.l1 * absolute + 0.5 * glm->base.l2 * sum_squares(w, begin, end);
}

double pl_penalty_conjugate(const pl_glm *glm, const double *u, double scale, uint64_t begin, uint64_t end) {
    double sum = 0;
    end = penalised_end(glm, begin, end);
    if (glm->base.l2 == 0)
        return pl_largest(glm, u, scale, begin, end) <= glm->base.l1 * (1.0 + 1e-12) ? 0.0 : INFINITY;
    if (glm->base.l1 == 0 && !glm->base.factor && !glm->non_negative)
        return 0.5 * scale * scale * sum_squares(u, begin, end) / glm->base.l2;
    for (uint64_t j = begin; j < end; j++) {
        double factor = pl_factor(glm, j), excess = fmax(0.0, pl_pull(glm, j, scale * u[j]) - factor * glm->base.l1);
        sum += excess > 0 ? excess * excess / factor : 0.0;
    }
    return 0.5 * sum / glm->base.l2;
}

double pl_largest(const pl_glm *glm, const double *u, double scale, uint64_t begin, uint64_t end) {
    double largest = 0;
    for (uint64_t j = begin; j < end; j++)
        if (pl_penalised(glm, j))
            largest = fmax(largest, pl_factor(glm, j) > 0 ? pl_pull(glm, j, scale * u[j]) / pl_factor(glm, j) : 0.0);
    return largest;
}

/* Whether the rows have an entry in every column. */
static bool are_full(const pl_glm *glm, uint64_t begin, uint64_t end) {
    const pl_matrix *x = &glm->base.data->x;
    return !pl_are_ones(x->values) && x->start[end] - x->start[begin] == (end - begin) * x->columns;
}

void pl_plain_dots_of(const pl_glm *glm, uint64_t begin, uint64_t end, const double *w, double *z) {
    const pl_matrix *x = &glm->base.data->x;
    bool full = are_full(glm, begin, end);
    if (full && glm->classes == 1)
        pl_dense_block_dot(pl_values_from(x->values, x->start[begin]), end - begin, x->columns, w, z);
    else if (full && pl_dense_table_pays(glm->classes))
        pl_dense_table_dot(pl_values_from(x->values, x->start[begin]), end - begin, x->columns, w, glm->classes, z);
    else if (glm->classes == 1)
        for (uint64_t i = begin; i < end; i++)
            z[i - begin] = pl_plain_dot(glm, i, w);
    else
        for (uint64_t i = begin; i < end; i++)
            pl_plain_dots(glm, i, w, z + (i - begin) * glm->classes);
}

void pl_plain_adds_of(const pl_glm *glm, uint64_t begin, uint64_t end, const double *a, double *w) {
    const pl_matrix *x = &glm->base.data->x;
    bool full = are_full(glm, begin, end);
    if (full && glm->classes == 1)
        pl_dense_block_add(pl_values_from(x->values, x->start[begin]), end - begin, x->columns, a, w);
    else if (full && pl_dense_table_pays(glm->classes))
        pl_dense_table_add(pl_values_from(x->values, x->start[begin]), end - begin, x->columns, a, glm->classes, w);
    else if (glm->classes == 1) {
        for (uint64_t i = begin; i < end; i++)
            if (a[i - begin] != 0)
                pl_plain_add(glm, i, a[i - begin], w);
    } else
        for (uint64_t i = begin; i < end; i++)
            pl_plain_adds(glm, i, a + (i - begin) * glm->classes, w);
}

typedef struct margin_pass {
    const pl_glm *glm;
    const pl_team *team;
    const double *w;
    double *z;
} margin_pass;

static void margin_task(void *context, unsigned task) {
    const margin_pass *pass = context;
    const pl_part *part = &pass->team->parts[task];
    for (pl_walk rows = pl_walk_entries(pass->glm->base.data); pl_walk_on(part, &rows);)
        pl_plain_dots_of(pass->glm, rows.begin, rows.end, pass->w, pass->z + rows.begin * pass->glm->classes);
}

void pl_margins(const pl_glm *glm, const pl_team *team, const double *w, double *z) {
    margin_pass pass = {glm, team, pl_scaled(glm, w), z};
    pl_team_run(team, margin_task, &pass);
}

typedef struct rows {
    const pl_glm *glm;
    const double *z, *t;
    double b, scale[2]; /* factors of t on its negative and positive side */
    pl_softening soft;
} rows;

void pl_soften(const pl_loss *loss, const pl_softening *how, uint64_t begin, uint64_t count, const double *z,
               const double *y, double *slope, double *curvature) {
    double shifted[PL_ROW_CHUNK];
    for (uint64_t k = 0; k < count && how->centre; k++)
        shifted[k] = z[k] - how->mu * how->centre[begin + k];
    loss->soften(loss, how->mu, how->centre ? shifted : z, y, count, slope, curvature);
}

/* Adds slope, curvature and absolute slope of sum q loss(z + b) by b. */
static void centre_chunk(const void *context, uint64_t begin, uint64_t end, double *sums) {
    const rows *rows = context;
    const pl_loss *loss = rows->glm->loss;
    double z[PL_ROW_CHUNK], y[PL_ROW_CHUNK], slope[PL_ROW_CHUNK], curvature[PL_ROW_CHUNK];
    double first = 0, second = 0, absolute = 0;
    for (uint64_t i = begin; i < end; i++) {
        z[i - begin] = (rows->z ? rows->z[i] : 0.0) + rows->b + pl_offset(rows->glm, i);
        y[i - begin] = pl_target(rows->glm, i);
    }
    if (rows->soft.mu == 0)
        pl_expand_rows(loss, z, y, end - begin, NULL, slope, curvature);
    else
        pl_soften(loss, &rows->soft, begin, end - begin, z, y, slope, curvature);
    for (uint64_t k = 0; k < end - begin; k++) {
        double q = pl_share(rows->glm, begin + k);
        first += q * slope[k];
        second += q * curvature[k];
        absolute += q * fabs(slope[k]);
    }
    sums[0] += first;
    sums[1] += second;
    sums[2] += absolute;
}

parley_status pl_centre(const pl_glm *glm, const pl_team *team, const double *z, double tolerance, double *b,
                        parley_error *error) {
    return pl_centre_soft(glm, team, z, &(pl_softening){0}, tolerance, b, error);
}

parley_status pl_centre_soft(const pl_glm *glm, const pl_team *team, const double *z, const pl_softening *how,
                             double tolerance, double *b, parley_error *error) {
    double low = -INFINITY, high = INFINITY, stride = 1.0, sums[3];
    rows rows = {.glm = glm, .z = z, .b = *b, .soft = *how};
    for (int i = 0; i < CENTRE_STEPS; i++) {
        pl_sum_chunks(team, centre_chunk, &rows, 3, team->worker_sums);
        parley_status status = pl_team_sum(team, team->worker_sums, 3, sums, error);
        if (status != PARLEY_OK)
            return status;
        *b = rows.b;
        if ((isfinite(sums[0]) && fabs(sums[0]) <= tolerance * sums[2]) || high - low <= 1e-15 * (1.0 + fabs(*b)))
            break;
        *(sums[0] > 0 ? &high : &low) = rows.b;
        double next = rows.b + pl_loss_centring_step(glm->loss, sums[0] / sums[1]);
        if (!(next > low && next < high) || fabs(next - rows.b) > 1e3 * stride) /* also if the curvature is 0 */
            next = isfinite(low) && isfinite(high) ? 0.5 * (low + high) : rows.b + (sums[0] > 0 ? -stride : stride);
        stride *= 2.0;
        rows.b = next;
    }
    return PARLEY_OK;
}

void pl_add_sides(const pl_glm *glm, uint64_t i, double t, double z, double loss, double conjugate, double *sums) {
    double q = pl_share(glm, i), *side = sums + (t > 0 ? PL_SIDE_SUMS : 0);
    side[0] += q * fabs(t);
    side[1] += q * t * z;
    side[2] += q * fabs(t) * sqrt(glm->norm2[i]);
    side[3] += q * conjugate;
    sums[2 * PL_SIDE_SUMS] += q * loss;
}

static void side_row(const void *context, uint64_t i, double *sums) {
    const rows *rows = context;
    const pl_glm *glm = rows->glm;
    double y = pl_target(glm, i), t = rows->t[i], offset = pl_offset(glm, i), slope, curvature;
    double loss = glm->loss->expand(glm->loss, rows->z[i] + rows->b + offset, y, &slope, &curvature);
    pl_add_sides(glm, i, t, rows->z[i], loss, glm->loss->conjugate(glm->loss, t, y) + t * offset, sums);
}

/* Adds q loss*(-t), where t is given, or minus the slope, and scaled. */
static void conjugate_chunk(const void *context, uint64_t begin, uint64_t end, double *sums) {
    const rows *rows = context;
    const pl_loss *loss = rows->glm->loss;
    uint64_t count = end - begin;
    double z[PL_ROW_CHUNK], y[PL_ROW_CHUNK], t[PL_ROW_CHUNK], value[PL_ROW_CHUNK], curvature[PL_ROW_CHUNK];
    for (uint64_t k = 0; k < count; k++) {
        y[k] = pl_target(rows->glm, begin + k);
        z[k] = rows->z[begin + k] + rows->b + pl_offset(rows->glm, begin + k);
        t[k] = rows->t ? -rows->t[begin + k] : 0.0;
    }
    if (!rows->t && rows->soft.mu > 0)
        pl_soften(loss, &rows->soft, begin, count, z, y, t, curvature);
    else if (!rows->t)
        pl_expand_rows(loss, z, y, count, NULL, t, curvature);
    for (uint64_t k = 0; k < count; k++)
        t[k] *= -rows->scale[t[k] < 0];
    pl_loss_conjugates(loss, t, y, count, value);
    for (uint64_t k = 0; k < count; k++)
        sums[0] += pl_share(rows->glm, begin + k) * (value[k] + t[k] * pl_offset(rows->glm, begin + k));
}

void pl_evaluation_fill(const pl_glm *glm, const double *sums, double b, pl_linear_evaluation *out) {
    *out =
        (pl_linear_evaluation){.b = b, .value = sums[2 * PL_SIDE_SUMS], .conjugate = sums[3] + sums[PL_SIDE_SUMS + 3]};
    if (glm->intercept != PL_FREE)
        return;
    unsigned heavy = sums[PL_SIDE_SUMS] > sums[0];
    const double *side = sums + PL_SIDE_SUMS * heavy, *other = sums + PL_SIDE_SUMS * !heavy;
    out->heavy = heavy;
    out->tilt = side[0] > 0 ? (side[0] - other[0]) / side[0] : 0.0;
    out->pull = side[1];
    out->reach = side[2];
    out->conjugate = other[3] + (1.0 - out->tilt) * side[3]; /* an upper bound, since loss* is convex and 0 at 0 */
}

parley_status pl_conjugate_rows(const pl_glm *glm, const pl_team *team, const double *z, const double *t,
                                const pl_softening *soft, double scale, pl_linear_evaluation *at, parley_error *error) {
    rows rows = {.glm = glm, .z = z, .t = t, .b = at->b, .scale = {scale, scale}, .soft = *soft};
    rows.scale[at->heavy] *= 1.0 - at->tilt;
    pl_sum_chunks(team, conjugate_chunk, &rows, 1, team->worker_sums);
    return pl_team_sum(team, team->worker_sums, 1, &at->conjugate, error);
}

parley_status pl_evaluate_rows(const pl_glm *glm, const pl_team *team, const double *z, double b, const double *t,
                               pl_linear_evaluation *out, parley_error *error) {
    rows rows = {.glm = glm, .z = z, .t = t, .b = b};
    double sums[PL_ROW_SUMS];
    parley_status status = pl_total_rows(team, side_row, &rows, PL_ROW_SUMS, sums, error);
    if (status != PARLEY_OK)
        return status;
    pl_evaluation_fill(glm, sums, b, out);
    return out->tilt > 0 ? pl_conjugate_rows(glm, team, z, t, &(pl_softening){0}, 1.0, out, error) : PARLEY_OK;
}

static void constant_row(const void *context, uint64_t i, double *sums) {
    const rows *rows = context;
    double slope, curvature;
    sums[0] += pl_share(rows->glm, i) * rows->glm->loss->expand(rows->glm->loss, rows->b + pl_offset(rows->glm, i),
                                                                pl_target(rows->glm, i), &slope, &curvature);
}

static void label_row(const void *context, uint64_t i, double *sums) {
    const rows *rows = context;
    sums[0] += pl_share(rows->glm, i) * pl_target(rows->glm, i);
}

double pl_safe_rate(const pl_glm *glm) {
    double norm2 = glm->mean_norm2 + (glm->intercept == PL_NO_INTERCEPT ? 0.0 : 1.0);
    double curvature =
        glm->loss->log_link ? pl_loss_mean_curvature(glm->loss, glm->mean_label) : pl_loss_step_curvature(glm->loss);
    return 1.0 / (curvature * norm2 + glm->base.l2 * glm->most_factor);
}

/* Finds the b at which sum q loss(b, y) is smallest for real labels, starting from the b that predicts their mean. */
static parley_status centre_labels(const pl_glm *glm, const pl_team *team, double *b, parley_error *error) {
    rows rows = {.glm = glm};
    parley_status status = pl_total_rows(team, label_row, &rows, 1, b, error);
    if (glm->loss->log_link)
        *b = log(*b);
    bool known = (glm->loss->quadratic || glm->loss->log_link) && !glm->offset;
    return status == PARLEY_OK && !known ? pl_centre(glm, team, NULL, 1e-14, b, error) : status;
}

parley_status pl_null_objective(const pl_glm *glm, const pl_team *team, double *objective, double *b,
                                parley_error *error) {
    rows rows = {.glm = glm};
    double slope, curvature;
    parley_status status = PARLEY_OK;
    bool binary = glm->loss->labels == PL_LABELS_BINARY;
    if (glm->intercept == PL_FREE && binary)
        rows.b = pl_best_constant(glm->loss, glm->upper);
    else if (glm->intercept == PL_FREE)
        status = centre_labels(glm, team, &rows.b, error);
    if (glm->intercept == PL_FREE && binary && glm->offset)
        status = pl_centre(glm, team, NULL, 1e-14, &rows.b, error);
    *b = rows.b;
    if (status == PARLEY_OK && (!binary || glm->offset))
        return pl_total_rows(team, constant_row, &rows, 1, objective, error);
    *objective = glm->upper * glm->loss->expand(glm->loss, rows.b, 1, &slope, &curvature) +
                 (1 - glm->upper) * glm->loss->expand(glm->loss, rows.b, -1, &slope, &curvature);
    return status;
}

static double scaled_norm2(const pl_glm *glm, uint64_t i) {
    const pl_matrix *x = &glm->base.data->x;
    double sum = 0;
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
        double value = pl_value_at(x->values, e) * glm->scale[x->index[e]];
        sum += value * value;
    }
    return sum;
}

enum { ROW_WEIGHT, ROW_NORM, ROW_UPPER, ROW_LABEL, ROW_SQUARE, ROW_MEASURES };

static void measure_row(const void *context, uint64_t i, double *sums) {
    const pl_glm *glm = context;
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[i];
    double weight = glm->base.data->weight ? glm->base.data->weight[i] : 1.0, y = pl_target(glm, i);
    glm->norm2[i] =
        glm->scale ? scaled_norm2(glm, i) : pl_sparse_norm2(pl_values_from(x->values, begin), x->start[i + 1] - begin);
    pl_offset_take(glm, i);
    sums[ROW_WEIGHT] += weight;
    sums[ROW_NORM] += weight * glm->norm2[i];
    sums[ROW_UPPER] += y > 0 ? weight : 0.0;
    sums[ROW_LABEL] += weight * y;
    sums[ROW_SQUARE] += weight * y * y;
}

/* Labels of a table, relative to the first one. The norms of its rows are not needed. */
static void measure_labels(const void *context, const pl_part *part, double *sums) {
    const parley_data *data = context;
    double first = data->label[0], total = 0, sum = 0, squares = 0;
    for (uint64_t r = 0; r < part->count; r++)
        for (uint64_t i = part->ranges[r].begin; i < part->ranges[r].end; i++) {
            double weight = data->weight ? data->weight[i] : 1.0, y = data->label[i] - first;
            total += weight;
            sum += weight * y;
            squares += weight * y * y;
        }
    sums[ROW_WEIGHT] += total;
    sums[ROW_LABEL] += sum;
    sums[ROW_SQUARE] += squares;
}

static parley_status sum_measures(pl_glm *glm, const pl_team *team, double *sums, parley_error *error) {
    if (glm->base.data->cells)
        return pl_sum_tables(team, ROW_MEASURES, measure_labels, glm->base.data, sums, error);
    pl_free(glm->norm2); /* the workers may have changed */
    glm->norm2 = NULL;
    parley_status status = pl_take(&glm->norm2, glm->base.data->x.rows, sizeof *glm->norm2, "row norms", error);
    return status == PARLEY_OK ? pl_total_entries(team, glm->base.data, measure_row, glm, ROW_MEASURES, sums, error)
                               : status;
}

static parley_status measure_rows(pl_glm *glm, const pl_team *team, parley_error *error) {
    double sums[ROW_MEASURES];
    parley_status status = sum_measures(glm, team, sums, error);
    if (status != PARLEY_OK)
        return status;
    glm->base.total = sums[ROW_WEIGHT];
    if (!(glm->base.total > 0))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: all weights are 0; at least one row needs a positive weight",
                       glm->base.data->path);
    if (!isfinite(glm->base.total) || !isfinite(1.0 / glm->base.total))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: the sum of weights is %g, which is out of range; scale the weights", glm->base.data->path,
                       glm->base.total);
    if (!isfinite(sums[ROW_NORM] / glm->base.total))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: values are too large to square; scale them down",
                       glm->base.data->path);
    glm->upper = sums[ROW_UPPER] / glm->base.total;
    if (glm->classes == 1 && glm->loss->labels == PL_LABELS_BINARY && (glm->upper <= 0 || glm->upper >= 1))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: all rows of positive weight have label %.17g; there is nothing to learn",
                       glm->base.data->path, glm->upper > 0 ? glm->high : glm->low);
    glm->mean_label = sums[ROW_LABEL] / glm->base.total;
    glm->label_deviation = sqrt(fmax(0.0, sums[ROW_SQUARE] / glm->base.total - glm->mean_label * glm->mean_label));
    glm->mean_label += glm->base.data->cells ? glm->base.data->label[0] : 0.0;
    if (glm->loss->log_link && glm->intercept == PL_FREE && !(glm->mean_label > 0))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: all rows of positive weight have label 0; there is nothing to learn", glm->base.data->path);
    glm->mean_norm2 = sums[ROW_NORM] > 0 ? sums[ROW_NORM] / glm->base.total : 1.0;
    return PARLEY_OK;
}

parley_status pl_glm_penalise(pl_glm *glm, double lambda, parley_error *error) {
    glm->lambda = lambda;
    glm->base.l1 = lambda * glm->l1_ratio;
    glm->base.l2 = lambda * (1.0 - glm->l1_ratio);
    glm->base.facts = pl_glm_all_facts(glm);
    if (glm->base.l2 > 0 && !isfinite(1.0 / glm->base.l2))
        return pl_fail(error, PARLEY_BAD_USAGE, "--lambda %g is too small to divide by; give 0 or a value above 1e-300",
                       lambda);
    double curvature = constant_curvature(glm);
    glm->mu = fmin(INTERCEPT_STIFFNESS * glm->base.l2 / glm->mean_norm2, INTERCEPT_PACE * curvature);
    if (glm->workers > 1)
        glm->mu = fmax(glm->mu, fmin(SHARED_STIFFNESS * glm->workers * glm->mu, SHARED_PACE * curvature));
    return PARLEY_OK;
}

/* Converts lambda, C or alpha, whichever was given, to lambda. alpha is relative to the sum of losses in Ridge, and to
 * their mean in scikit-learn's other models. */
static double chosen_lambda(const pl_glm *glm) {
    if (!isnan(glm->lambda))
        return glm->lambda;
    if (!isnan(glm->c))
        return 1.0 / (glm->c * glm->base.total);
    if (!isnan(glm->alpha))
        return glm->loss->quadratic && glm->l1_ratio == 0 ? glm->alpha / glm->base.total : glm->alpha;
    return 1.0 / glm->base.total;
}

parley_status pl_glm_measure(pl_glm *glm, const pl_team *team, parley_error *error) {
    glm->workers = team->workers;
    parley_status status = glm->standardise ? pl_standardise(glm, team, error) : PARLEY_OK;
    if (status == PARLEY_OK)
        status = pl_offset_measure(glm, error);
    if (status == PARLEY_OK)
        status = measure_rows(glm, team, error);
    if (status == PARLEY_OK && glm->classes > 1)
        status = pl_classes_measure(glm, team, error);
    return status == PARLEY_OK ? pl_glm_penalise(glm, chosen_lambda(glm), error) : status;
}
