/* gradient_rows.c: sums over rows for the gradient solver. A row of one output is visited in a chunk of rows, so that
 * the loss is computed for several at a time. */
#include "linear/newton/gradient_rows.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "engine/collective.h"
#include "linear/rows/classes_curvature.h"
#include "linear/rows/order.h"
#include "math/float_table.h"
#include "math/sparse.h"

#define SHORT 0.7      /* shorter steps have met rows whose curvature was not in the model */
#define FORGOTTEN 1e-3 /* smaller shares of the last curvature are 0 */

/* The share of the last curvature in the next one after a short step, and by which it changes with every longer one.
 * Losses of single margins forget more slowly, since some have no curvature at all beyond a margin. */
typedef struct memory {
    double share, fading;
} memory;

static const memory memory_alone = {0.9, 0.7}, memory_together = {0.5, 0.25};

void pl_gradient_intercepts(const pl_gradient *self, const double *v, double *b) {
    const pl_glm *glm = self->glm;
    if (glm->intercept != PL_NO_INTERCEPT)
        memcpy(b, v + glm->base.data->x.columns * glm->classes, glm->classes * sizeof *b);
}

double *pl_gradient_sum(const pl_gradient *self, unsigned task) {
    return self->sums + (uint64_t)task * self->width * self->glm->base.size;
}

/* Values of the loss on a chunk of rows. */
typedef struct chunk_values {
    double z[PL_ROW_CHUNK], y[PL_ROW_CHUNK], q[PL_ROW_CHUNK], loss[PL_ROW_CHUNK], slope[PL_ROW_CHUNK],
        curvature[PL_ROW_CHUNK];
} chunk_values;

static void expand_chunk(const pl_gradient *self, uint64_t begin, uint64_t count, bool slopes_only,
                         chunk_values *rows) {
    const pl_loss *loss = self->glm->loss;
    for (uint64_t k = 0; k < count; k++) {
        rows->y[k] = pl_target(self->glm, begin + k);
        rows->q[k] = pl_share(self->glm, begin + k);
    }
    bool soft = self->soft.mu > 0;
    if (!soft || !slopes_only)
        pl_expand_rows(loss, rows->z, rows->y, count, slopes_only ? NULL : rows->loss, rows->slope, rows->curvature);
    if (soft)
        pl_soften(loss, &self->soft, begin, count, rows->z, rows->y, rows->slope, rows->curvature);
}

uint64_t pl_gradient_columns(const pl_gradient *self) { return self->curved || self->diagonal ? self->width : 1; }

/* Adds the curvature of a row. */
static void bend_row(pl_gradient *self, unsigned task, uint64_t i, double curvature) {
    const pl_glm *glm = self->glm;
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[i], count = x->start[i + 1] - begin;
    double *sum = pl_gradient_sum(self, task) + glm->base.size;
    if (self->bend)
        self->bend[i] = curvature;
    if (self->diagonal) {
        pl_plain_add_squares(glm, i, curvature, sum);
        if (glm->intercept != PL_NO_INTERCEPT)
            sum[x->columns] += curvature;
    } else if (self->curved && self->width > 1 && curvature > 0)
        pl_outer_add(&self->outer[task], x->index + begin, pl_values_from(x->values, begin), count, &curvature, sum);
}

/* Adds rows [begin, end) with these slopes and curvatures, which are of the mean loss. */
static void add_rows(pl_gradient *self, unsigned task, uint64_t begin, uint64_t end, const double *slope,
                     const double *curvature) {
    const pl_glm *glm = self->glm;
    double *sum = pl_gradient_sum(self, task);
    pl_plain_adds_of(glm, begin, end, slope, sum); /* scaled after all rows are added */
    for (uint64_t i = begin; i < end && glm->intercept != PL_NO_INTERCEPT; i++)
        sum[glm->base.data->x.columns] += slope[i - begin];
    if (self->bend || self->diagonal || (self->curved && self->width > 1))
        for (uint64_t i = begin; i < end; i++)
            bend_row(self, task, i, curvature[i - begin]);
}

/* Adds the rows' part of the certificate. Only a free intercept needs the sides of t. */
static void add_sides(pl_gradient *self, unsigned task, uint64_t begin, uint64_t count, const chunk_values *rows) {
    const pl_glm *glm = self->glm;
    const pl_loss *loss = glm->loss;
    bool own = self->soft.mu == 0 && !self->t; /* the slope is that of the loss itself at z */
    double *sums = self->sides + (uint64_t)task * PL_ROW_SUMS, losses = 0, conjugates = 0;
    for (uint64_t k = 0; k < count; k++) {
        double slope = rows->slope[k], offset = pl_offset(glm, begin + k),
               conjugate = own ? pl_loss_conjugate_at(loss, rows->z[k], rows->y[k], rows->loss[k], slope)
                               : loss->conjugate(loss, -slope, rows->y[k]);
        conjugate -= slope * offset;
        if (glm->intercept == PL_FREE)
            pl_add_sides(glm, begin + k, -slope, rows->z[k] - self->b[0] - offset, rows->loss[k], conjugate, sums);
        else {
            losses += rows->q[k] * rows->loss[k];
            conjugates += rows->q[k] * conjugate;
        }
    }
    sums[PL_SIDE_SUMS - 1] += conjugates;
    sums[2 * PL_SIDE_SUMS] += losses;
}

/* Adds rows [begin, end), at most PL_ROW_CHUNK of them, at their margins. */
static void add_chunk(pl_gradient *self, unsigned task, uint64_t begin, uint64_t end) {
    chunk_values rows;
    for (uint64_t i = begin; i < end; i++)
        rows.z[i - begin] = self->z[i] + self->b[0] + pl_offset(self->glm, i);
    expand_chunk(self, begin, end - begin, false, &rows);
    for (uint64_t i = begin; i < end && self->t; i++)
        rows.slope[i - begin] = -self->t[i];
    add_sides(self, task, begin, end - begin, &rows);
    for (uint64_t k = 0; k < end - begin; k++) {
        rows.slope[k] *= rows.q[k];
        rows.curvature[k] *= rows.q[k];
    }
    add_rows(self, task, begin, end, rows.slope, rows.curvature);
}

const pl_softening *pl_gradient_softening(const pl_gradient *self) { return self->soft.mu > 0 ? &self->soft : NULL; }

void pl_gradient_remember(pl_gradient *self) {
    const memory *how = self->glm->loss->together ? &memory_together : &memory_alone;
    self->fell_short = self->stepped && self->step < SHORT;
    self->memory = self->fell_short ? how->share : self->stepped ? how->fading * self->memory : 0.0;
    if (self->memory < FORGOTTEN)
        self->memory = 0;
}

/* Computes the curvature of a row of several classes, for products, and adds its diagonal. */
static void bend_classes(pl_gradient *self, unsigned task, uint64_t i, const double *z, const double *slope) {
    const pl_glm *glm = self->glm;
    uint64_t classes = glm->classes, columns = glm->base.data->x.columns;
    double fresh[PL_MOST_CLASSES], *bend = self->bend + i * classes,
                                   *sum = pl_gradient_sum(self, task) + glm->base.size;
    const double *ahead = self->ahead + i * classes;
    pl_classes_row_curvature(glm, i, z, self->b, slope, fresh);
    double memory = self->memory;
    for (uint64_t c = 0; c < classes; c++) {
        double last = memory > 0 ? (self->fell_short ? 0.5 * (bend[c] + ahead[c]) : bend[c]) : 0.0;
        bend[c] = (1.0 - memory) * fresh[c] + memory * last;
    }
    pl_classes_diagonal(glm, bend, pl_share(glm, i), fresh);
    pl_plain_adds_squares(glm, i, fresh, sum);
    for (uint64_t c = 0; c < classes && glm->intercept != PL_NO_INTERCEPT; c++)
        sum[columns * classes + c] += fresh[c];
}

/* Adds a row of several classes, at margins z without intercepts, where it has these slopes, except its gradient.
 * Multiplies the slopes by the row's share. */
static void add_classes(pl_gradient *self, unsigned task, uint64_t i, const double *z, double scale, double *slope) {
    const pl_glm *glm = self->glm;
    const pl_matrix *x = &glm->base.data->x;
    uint64_t classes = glm->classes, begin = x->start[i], count = x->start[i + 1] - begin;
    double q = scale * pl_share(glm, i), *sum = pl_gradient_sum(self, task);
    bool curved = self->width > 1 && self->curved && !self->diagonal;
    double *curvature = curved ? self->curvature + task * classes * classes : NULL;
    if (self->diagonal)
        bend_classes(self, task, i, z, slope);
    if (curved)
        pl_classes_curve(glm, i, z, self->b, pl_gradient_softening(self), slope, curvature);
    for (uint64_t c = 0; c < classes; c++)
        slope[c] *= q;
    for (uint64_t c = 0; c < classes && glm->intercept != PL_NO_INTERCEPT; c++)
        sum[x->columns * classes + c] += slope[c];
    if (!curved)
        return;
    pl_values values = pl_values_from(x->values, begin);
    for (uint64_t c = 0; c < classes && self->by_class; c++)
        curvature[c] = q * curvature[c * (classes + 1)];
    if (self->by_class)
        pl_outer_add(&self->outer[task], x->index + begin, values, count, curvature, sum + glm->base.size);
    else
        pl_outer_blocks(&self->outer[task], x->index + begin, values, count, q, curvature, sum + glm->base.size);
}

/* Adds rows [begin, end) of several classes, at most PL_ROW_CHUNK of them, at their margins. */
static void add_classes_chunk(pl_gradient *self, unsigned task, uint64_t begin, uint64_t end) {
    uint64_t classes = self->glm->classes;
    double *slopes = self->slopes + task * PL_ROW_CHUNK * classes, loss[PL_CLASS_ROWS];
    for (uint64_t i = begin; i < end; i += PL_CLASS_ROWS)
        pl_classes_visit_rows(self->glm, i, end - i < PL_CLASS_ROWS ? end - i : PL_CLASS_ROWS, self->z + i * classes,
                              self->b, pl_gradient_softening(self), slopes + (i - begin) * classes, loss,
                              self->sides + task * self->sides_each);
    for (uint64_t i = begin; i < end; i++)
        add_classes(self, task, i, self->z + i * classes, 1.0, slopes + (i - begin) * classes);
    pl_plain_adds_of(self->glm, begin, end, slopes, pl_gradient_sum(self, task)); /* scaled after all rows are added */
}

/* Applies the scales of columns to the sums of a lane, which are for unscaled columns. */
static void scale_sums(const pl_gradient *self, double *sum) {
    const pl_glm *glm = self->glm;
    if (!glm->scale)
        return;
    pl_scale_columns(glm, sum);
    for (unsigned side = 0; side < 2 && self->diagonal; side++)
        pl_scale_columns(glm, sum + glm->base.size);
    if (pl_gradient_columns(self) > 1 && !self->diagonal)
        pl_scale_curvature(glm, sum + glm->base.size);
}

void pl_gradient_full_task(void *context, unsigned task) {
    pl_gradient *self = context;
    const pl_part *part = &self->team->parts[task];
    double began = pl_engine_now(self->team->engine);
    memset(pl_gradient_sum(self, task), 0, pl_gradient_columns(self) * self->glm->base.size * sizeof *self->sums);
    memset(self->sides + task * self->sides_each, 0, self->sides_each * sizeof *self->sides);
    bool several = self->glm->classes > 1;
    for (pl_walk rows = pl_walk_entries(self->glm->base.data); pl_walk_on(part, &rows);) {
        if (several)
            add_classes_chunk(self, task, rows.begin, rows.end);
        else
            add_chunk(self, task, rows.begin, rows.end);
    }
    if (self->outer)
        pl_outer_flush(&self->outer[task], pl_gradient_sum(self, task) + self->glm->base.size);
    scale_sums(self, pl_gradient_sum(self, task));
    self->seconds[task] += pl_engine_now(self->team->engine) - began;
}

static void sample_row(pl_gradient *self, unsigned task, uint64_t i, double scale) {
    double z[PL_MOST_CLASSES], slope[PL_MOST_CLASSES], q = scale * pl_share(self->glm, i);
    chunk_values row;
    if (self->glm->classes > 1) {
        pl_row_dots(self->glm, i, self->w, z);
        pl_classes_visit(self->glm, i, z, self->b, pl_gradient_softening(self), slope,
                         scale == 1.0 ? self->sides + task * self->sides_each : NULL);
        add_classes(self, task, i, z, scale, slope);
        pl_plain_adds(self->glm, i, slope, pl_gradient_sum(self, task));
        return;
    }
    row.z[0] = self->b[0] + pl_row_dot(self->glm, i, self->w) + pl_offset(self->glm, i);
    expand_chunk(self, i, 1, true, &row);
    row.slope[0] *= q;
    row.curvature[0] *= q;
    add_rows(self, task, i, i + 1, row.slope, row.curvature); /* a sample gives no certificate */
}

void pl_gradient_sample_task(void *context, unsigned task) {
    pl_gradient *self = context;
    const pl_team *team = self->team;
    const pl_part *part = &team->parts[task];
    unsigned worker = team->first + task / team->lanes;
    pl_stream stream = pl_stream_make(team->seed, (uint64_t)worker * team->lanes + task % team->lanes, self->round);
    double began = pl_engine_now(self->team->engine), scale = 1.0 / self->fraction, log_miss = log1p(-self->fraction),
           skip;
    memset(pl_gradient_sum(self, task), 0, self->glm->base.size * sizeof *self->sums);
    skip = floor(log1p(-pl_random_unit(&stream)) / log_miss);
    for (pl_walk rows = pl_walk_entries(self->glm->base.data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            if (skip-- > 0)
                continue;
            sample_row(self, task, i, scale);
            skip = floor(log1p(-pl_random_unit(&stream)) / log_miss);
        }
    scale_sums(self, pl_gradient_sum(self, task));
    self->seconds[task] += pl_engine_now(self->team->engine) - began;
}

void pl_gradient_recentre_task(void *context, unsigned task) {
    const pl_gradient *self = context;
    const pl_part *part = &self->team->parts[task];
    uint64_t classes = self->glm->classes;
    chunk_values at;
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);) {
        for (uint64_t i = rows.begin; i < rows.end && classes > 1; i++) {
            double *centre = self->centre + i * classes, slope[PL_MOST_CLASSES];
            pl_classes_visit(self->glm, i, self->z + i * classes, self->b, pl_gradient_softening(self), slope, NULL);
            for (uint64_t c = 0; c < classes; c++)
                centre[c] = -slope[c];
        }
        if (classes > 1)
            continue;
        for (uint64_t i = rows.begin; i < rows.end; i++)
            at.z[i - rows.begin] = self->z[i] + self->b[0] + pl_offset(self->glm, i);
        expand_chunk(self, rows.begin, rows.end - rows.begin, true, &at);
        for (uint64_t i = rows.begin; i < rows.end; i++)
            self->centre[i] = -at.slope[i - rows.begin];
    }
}

void pl_gradient_carry_task(void *context, unsigned task) {
    const pl_gradient *self = context;
    const pl_part *part = &self->team->parts[task];
    uint64_t classes = self->glm->classes;
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);)
        for (uint64_t e = rows.begin * classes; e < rows.end * classes; e++)
            self->z[e] += self->step * self->dz[e];
}

/* Whether the row has curvature in any class. */
static bool is_flat(const double *bend, uint64_t classes) {
    uint64_t c = 0;
    while (c < classes && bend[c] == 0)
        c++;
    return c == classes;
}

/* The same for several classes, in single precision. The lane's diagonal is not needed any more and makes room for the
 * sums. */
static void product_classes(pl_gradient *self, unsigned task) {
    const pl_glm *glm = self->glm;
    const pl_matrix *x = &glm->base.data->x;
    const pl_part *part = &self->team->parts[task];
    uint64_t classes = glm->classes, stride = pl_float_stride(classes);
    double *sum = pl_gradient_sum(self, task), b[PL_MOST_CLASSES] = {0}, total[PL_MOST_CLASSES] = {0},
           u[PL_MOST_CLASSES];
    float *sums = (float *)(void *)(sum + glm->base.size), a[PL_MOST_CLASSES] = {0};
    pl_gradient_intercepts(self, self->w, b);
    memset(sums, 0, x->columns * stride * sizeof *sums);
    for (pl_walk rows = pl_walk_entries(glm->base.data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            const double *bend = self->bend + i * classes;
            uint64_t begin = x->start[i], count = x->start[i + 1] - begin;
            pl_values values = pl_values_from(x->values, begin);
            if (is_flat(bend, classes))
                continue;
            pl_float_table_dot(x->index + begin, values, count, self->turned, stride, a);
            for (uint64_t c = 0; c < classes; c++)
                u[c] = (double)a[c] + b[c];
            pl_classes_multiply(glm, bend, pl_share(glm, i), u);
            for (uint64_t c = 0; c < classes; c++) {
                total[c] += u[c];
                a[c] = (float)u[c];
            }
            pl_float_table_add(x->index + begin, values, count, a, stride, sums);
        }
    pl_float_table_give(sums, x->columns, classes, sum);
    if (glm->intercept != PL_NO_INTERCEPT)
        memcpy(sum + x->columns * classes, total, classes * sizeof *sum);
    pl_scale_columns(glm, sum);
}

void pl_gradient_product_task(void *context, unsigned task) {
    pl_gradient *self = context;
    if (self->glm->classes > 1) {
        product_classes(self, task);
        return;
    }
    const pl_glm *glm = self->glm;
    const pl_part *part = &self->team->parts[task];
    double *sum = pl_gradient_sum(self, task), b = 0, total = 0;
    pl_gradient_intercepts(self, self->w, &b);
    memset(sum, 0, glm->base.size * sizeof *sum);
    for (pl_walk rows = pl_walk_entries(glm->base.data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            if (self->bend[i] == 0)
                continue;
            double a = self->bend[i] * (pl_plain_dot(glm, i, self->w) + b);
            pl_plain_add(glm, i, a, sum);
            total += a;
        }
    if (glm->intercept != PL_NO_INTERCEPT)
        sum[glm->base.data->x.columns] += total;
    pl_scale_columns(glm, sum);
}

typedef struct trial {
    const pl_gradient *of;
    double gamma;
} trial;

static void probe_chunk(const void *context, uint64_t begin, uint64_t end, double *sums) {
    const trial *trial = context;
    const pl_gradient *self = trial->of;
    chunk_values rows;
    double losses = 0, along = 0;
    for (uint64_t i = begin; i < end; i++)
        rows.z[i - begin] =
            self->z[i] + self->b[0] + trial->gamma * (self->dz[i] + self->db[0]) + pl_offset(self->glm, i);
    expand_chunk(self, begin, end - begin, self->slopes_only, &rows);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t k = i - begin;
        losses += self->slopes_only ? 0.0 : rows.q[k] * rows.loss[k];
        along += rows.q[k] * rows.slope[k] * (self->dz[i] + self->db[0]);
    }
    sums[0] += losses;
    sums[1] += along;
}

/* Probes `rows` rows from row `first` on, at most PL_CLASS_ROWS. */
static void probe_rows(const trial *trial, uint64_t first, uint64_t rows, double *sums) {
    const pl_gradient *self = trial->of;
    uint64_t classes = self->glm->classes;
    double z[PL_CLASS_ROWS * PL_MOST_CLASSES], dz[PL_CLASS_ROWS * PL_MOST_CLASSES],
        slope[PL_CLASS_ROWS * PL_MOST_CLASSES], loss[PL_CLASS_ROWS];
    for (uint64_t r = 0; r < rows; r++) {
        pl_classes_ahead(self->glm, self->dz + (first + r) * classes, 1.0, self->db, dz + r * classes);
        pl_classes_ahead(self->glm, self->z + (first + r) * classes, trial->gamma, dz + r * classes, z + r * classes);
    }
    pl_classes_visit_rows(self->glm, first, rows, z, self->b, pl_gradient_softening(self), slope, loss, NULL);
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t i = first + r, at = r * classes;
        double q = pl_share(self->glm, i), along = 0;
        for (uint64_t c = 0; c < classes; c++)
            along += slope[at + c] * dz[at + c];
        if (self->ahead && trial->gamma == 1.0)
            pl_classes_mean_curvature(self->glm, i, self->z + i * classes, dz + at, self->b, slope + at,
                                      self->ahead + i * classes);
        sums[0] += q * loss[r];
        sums[1] += q * along;
    }
}

static void probe_classes(const void *context, uint64_t begin, uint64_t end, double *sums) {
    for (uint64_t i = begin; i < end; i += PL_CLASS_ROWS)
        probe_rows(context, i, end - i < PL_CLASS_ROWS ? end - i : PL_CLASS_ROWS, sums);
}

void pl_gradient_probe(const pl_gradient *self, double gamma, double *sums) {
    trial trial = {self, gamma};
    if (self->glm->classes > 1)
        pl_sum_chunks(self->team, probe_classes, &trial, 2, sums);
    else
        pl_sum_chunks(self->team, probe_chunk, &trial, 2, sums);
}
