/* gradient_rows.c: sums over rows for the gradient solver. A row of one output is visited in a stretch of rows, so that
 * the loss is computed for several at a time. */
#include "linear/newton/gradient_rows.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "engine/collective.h"
#include "linear/rows/classes_bend.h"
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

void pl_gradient_intercepts(const pl_gradient *this, const double *v, double *b) {
    const pl_glm *glm = this->glm;
    if (glm->intercept != PL_NO_INTERCEPT)
        memcpy(b, v + glm->data->x.columns * glm->classes, glm->classes * sizeof *b);
}

double *pl_gradient_sum(const pl_gradient *this, unsigned task) {
    return this->sums + (uint64_t)task * this->width * this->glm->size;
}

/* Values of the loss on a stretch of rows. */
typedef struct stretch {
    double z[PL_STRETCH], y[PL_STRETCH], q[PL_STRETCH], loss[PL_STRETCH], slope[PL_STRETCH], curvature[PL_STRETCH];
} stretch;

static void expand_stretch(const pl_gradient *this, uint64_t begin, uint64_t count, bool slopes_only, stretch *rows) {
    const pl_loss *loss = this->glm->loss;
    for (uint64_t k = 0; k < count; k++) {
        rows->y[k] = pl_target(this->glm, begin + k);
        rows->q[k] = pl_share(this->glm, begin + k);
    }
    bool soft = this->soft.mu > 0;
    if (!soft || !slopes_only)
        pl_expand_rows(loss, rows->z, rows->y, count, slopes_only ? NULL : rows->loss, rows->slope, rows->curvature);
    if (soft)
        pl_soften(loss, &this->soft, begin, count, rows->z, rows->y, rows->slope, rows->curvature);
}

uint64_t pl_gradient_columns(const pl_gradient *this) { return this->curved || this->diagonal ? this->width : 1; }

/* Adds the curvature of a row. */
static void bend_row(pl_gradient *this, unsigned task, uint64_t i, double curvature) {
    const pl_glm *glm = this->glm;
    const pl_matrix *x = &glm->data->x;
    uint64_t begin = x->start[i], count = x->start[i + 1] - begin;
    double *sum = pl_gradient_sum(this, task) + glm->size;
    if (this->bend)
        this->bend[i] = curvature;
    if (this->diagonal) {
        pl_plain_add_squares(glm, i, curvature, sum);
        if (glm->intercept != PL_NO_INTERCEPT)
            sum[x->columns] += curvature;
    } else if (this->curved && this->width > 1 && curvature > 0)
        pl_outer_add(&this->outer[task], x->index + begin, x->value ? x->value + begin : NULL, count, &curvature, sum);
}

/* Adds rows [begin, end) with these slopes and curvatures, which are of the mean loss. */
static void add_rows(pl_gradient *this, unsigned task, uint64_t begin, uint64_t end, const double *slope,
                     const double *curvature) {
    const pl_glm *glm = this->glm;
    double *sum = pl_gradient_sum(this, task);
    pl_plain_adds_of(glm, begin, end, slope, sum); /* scaled after all rows are added */
    for (uint64_t i = begin; i < end && glm->intercept != PL_NO_INTERCEPT; i++)
        sum[glm->data->x.columns] += slope[i - begin];
    if (this->bend || this->diagonal || (this->curved && this->width > 1))
        for (uint64_t i = begin; i < end; i++)
            bend_row(this, task, i, curvature[i - begin]);
}

/* Adds the rows' part of the certificate. Only a free intercept needs the sides of t. */
static void add_sides(pl_gradient *this, unsigned task, uint64_t begin, uint64_t count, const stretch *rows) {
    const pl_glm *glm = this->glm;
    const pl_loss *loss = glm->loss;
    bool own = this->soft.mu == 0 && !this->t; /* the slope is that of the loss itself at z */
    double *sums = this->sides + (uint64_t)task * PL_ROW_SUMS, losses = 0, conjugates = 0;
    for (uint64_t k = 0; k < count; k++) {
        double slope = rows->slope[k],
               conjugate = own ? pl_loss_conjugate_at(loss, rows->z[k], rows->y[k], rows->loss[k], slope)
                               : loss->conjugate(loss, -slope, rows->y[k]);
        if (glm->intercept == PL_FREE)
            pl_add_sides(glm, begin + k, -slope, rows->z[k] - this->b[0], rows->loss[k], conjugate, sums);
        else {
            losses += rows->q[k] * rows->loss[k];
            conjugates += rows->q[k] * conjugate;
        }
    }
    sums[PL_SIDE_SUMS - 1] += conjugates;
    sums[2 * PL_SIDE_SUMS] += losses;
}

/* Adds rows [begin, end), at most PL_STRETCH of them, at their margins. */
static void add_stretch(pl_gradient *this, unsigned task, uint64_t begin, uint64_t end) {
    stretch rows;
    for (uint64_t i = begin; i < end; i++)
        rows.z[i - begin] = this->z[i] + this->b[0];
    expand_stretch(this, begin, end - begin, false, &rows);
    for (uint64_t i = begin; i < end && this->t; i++)
        rows.slope[i - begin] = -this->t[i];
    add_sides(this, task, begin, end - begin, &rows);
    for (uint64_t k = 0; k < end - begin; k++) {
        rows.slope[k] *= rows.q[k];
        rows.curvature[k] *= rows.q[k];
    }
    add_rows(this, task, begin, end, rows.slope, rows.curvature);
}

const pl_softening *pl_gradient_softening(const pl_gradient *this) { return this->soft.mu > 0 ? &this->soft : NULL; }

void pl_gradient_remember(pl_gradient *this) {
    const memory *how = this->glm->loss->together ? &memory_together : &memory_alone;
    for (uint64_t c = 0; c < this->glm->classes && this->ahead; c++) {
        double *memory = &this->memory[c];
        this->fell_short[c] = this->stepped && this->step * this->stretch[c] < SHORT;
        *memory = this->fell_short[c] ? how->share : this->stepped ? how->fading * *memory : 0.0;
        if (*memory < FORGOTTEN)
            *memory = 0;
    }
}

/* Computes the curvature of a row of several classes, for products, and adds its diagonal. */
static void bend_classes(pl_gradient *this, unsigned task, uint64_t i, const double *z, const double *slope) {
    const pl_glm *glm = this->glm;
    uint64_t classes = glm->classes, columns = glm->data->x.columns;
    double fresh[PL_MOST_CLASSES], *bend = this->bend + i * classes, *sum = pl_gradient_sum(this, task) + glm->size;
    const double *ahead = this->ahead + i * classes;
    pl_classes_bend(glm, i, z, this->b, slope, fresh);
    for (uint64_t c = 0; c < classes; c++) {
        double memory = this->memory[c],
               last = memory > 0 ? (this->fell_short[c] ? 0.5 * (bend[c] + ahead[c]) : bend[c]) : 0.0;
        bend[c] = (1.0 - memory) * fresh[c] + memory * last;
    }
    pl_classes_diagonal(glm, bend, pl_share(glm, i), fresh);
    pl_plain_adds_squares(glm, i, fresh, sum);
    for (uint64_t c = 0; c < classes && glm->intercept != PL_NO_INTERCEPT; c++)
        sum[columns * classes + c] += fresh[c];
}

/* Adds a row of several classes, at margins z without intercepts, where it has these slopes, except its gradient.
 * Multiplies the slopes by the row's share. */
static void add_classes(pl_gradient *this, unsigned task, uint64_t i, const double *z, double scale, double *slope) {
    const pl_glm *glm = this->glm;
    const pl_matrix *x = &glm->data->x;
    uint64_t classes = glm->classes, begin = x->start[i], count = x->start[i + 1] - begin;
    double q = scale * pl_share(glm, i), *sum = pl_gradient_sum(this, task);
    bool curved = this->width > 1 && this->curved && !this->diagonal;
    double *curvature = curved ? this->curvature + task * classes * classes : NULL;
    if (this->diagonal)
        bend_classes(this, task, i, z, slope);
    if (curved)
        pl_classes_curve(glm, i, z, this->b, pl_gradient_softening(this), slope, curvature);
    for (uint64_t c = 0; c < classes; c++)
        slope[c] *= q;
    for (uint64_t c = 0; c < classes && glm->intercept != PL_NO_INTERCEPT; c++)
        sum[x->columns * classes + c] += slope[c];
    if (!curved)
        return;
    const float *value = x->value ? x->value + begin : NULL;
    for (uint64_t c = 0; c < classes && this->by_class; c++)
        curvature[c] = q * curvature[c * (classes + 1)];
    if (this->by_class)
        pl_outer_add(&this->outer[task], x->index + begin, value, count, curvature, sum + glm->size);
    else
        pl_outer_blocks(&this->outer[task], x->index + begin, value, count, q, curvature, sum + glm->size);
}

/* Adds rows [begin, end) of several classes, at most PL_STRETCH of them, at their margins. */
static void add_classes_stretch(pl_gradient *this, unsigned task, uint64_t begin, uint64_t end) {
    uint64_t classes = this->glm->classes;
    double *slopes = this->slopes + task * PL_STRETCH * classes, loss[PL_CLASS_ROWS];
    for (uint64_t i = begin; i < end; i += PL_CLASS_ROWS)
        pl_classes_visit_rows(this->glm, i, end - i < PL_CLASS_ROWS ? end - i : PL_CLASS_ROWS, this->z + i * classes,
                              this->b, pl_gradient_softening(this), slopes + (i - begin) * classes, loss,
                              this->sides + task * this->sides_each);
    for (uint64_t i = begin; i < end; i++)
        add_classes(this, task, i, this->z + i * classes, 1.0, slopes + (i - begin) * classes);
    pl_plain_adds_of(this->glm, begin, end, slopes, pl_gradient_sum(this, task)); /* scaled after all rows are added */
}

/* Applies the scales of columns to the sums of a lane, which are for unscaled columns. */
static void scale_sums(const pl_gradient *this, double *sum) {
    const pl_glm *glm = this->glm;
    if (!glm->scale)
        return;
    pl_scale_columns(glm, sum);
    for (unsigned side = 0; side < 2 && this->diagonal; side++)
        pl_scale_columns(glm, sum + glm->size);
    if (pl_gradient_columns(this) > 1 && !this->diagonal)
        pl_scale_curvature(glm, sum + glm->size);
}

void pl_gradient_full_task(void *context, unsigned task) {
    pl_gradient *this = context;
    const pl_part *part = &this->team->parts[task];
    double began = pl_engine_now(this->team->engine);
    memset(pl_gradient_sum(this, task), 0, pl_gradient_columns(this) * this->glm->size * sizeof *this->sums);
    memset(this->sides + task * this->sides_each, 0, this->sides_each * sizeof *this->sides);
    bool several = this->glm->classes > 1;
    for (pl_walk rows = pl_walk_entries(this->glm->data); pl_walk_on(part, &rows);) {
        if (several)
            add_classes_stretch(this, task, rows.begin, rows.end);
        else
            add_stretch(this, task, rows.begin, rows.end);
    }
    if (this->outer)
        pl_outer_flush(&this->outer[task], pl_gradient_sum(this, task) + this->glm->size);
    scale_sums(this, pl_gradient_sum(this, task));
    this->seconds[task] += pl_engine_now(this->team->engine) - began;
}

static void sample_row(pl_gradient *this, unsigned task, uint64_t i, double scale) {
    double z[PL_MOST_CLASSES], slope[PL_MOST_CLASSES], q = scale * pl_share(this->glm, i);
    stretch row;
    if (this->glm->classes > 1) {
        pl_row_dots(this->glm, i, this->w, z);
        pl_classes_visit(this->glm, i, z, this->b, pl_gradient_softening(this), slope,
                         scale == 1.0 ? this->sides + task * this->sides_each : NULL);
        add_classes(this, task, i, z, scale, slope);
        pl_plain_adds(this->glm, i, slope, pl_gradient_sum(this, task));
        return;
    }
    row.z[0] = this->b[0] + pl_row_dot(this->glm, i, this->w);
    expand_stretch(this, i, 1, true, &row);
    row.slope[0] *= q;
    row.curvature[0] *= q;
    add_rows(this, task, i, i + 1, row.slope, row.curvature); /* a sample gives no certificate */
}

void pl_gradient_sample_task(void *context, unsigned task) {
    pl_gradient *this = context;
    const pl_team *team = this->team;
    const pl_part *part = &team->parts[task];
    unsigned worker = team->first + task / team->lanes;
    pl_stream stream = pl_stream_make(team->seed, (uint64_t)worker * team->lanes + task % team->lanes, this->round);
    double began = pl_engine_now(this->team->engine), scale = 1.0 / this->fraction, log_miss = log1p(-this->fraction),
           skip;
    memset(pl_gradient_sum(this, task), 0, this->glm->size * sizeof *this->sums);
    skip = floor(log1p(-pl_random_unit(&stream)) / log_miss);
    for (pl_walk rows = pl_walk_entries(this->glm->data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            if (skip-- > 0)
                continue;
            sample_row(this, task, i, scale);
            skip = floor(log1p(-pl_random_unit(&stream)) / log_miss);
        }
    scale_sums(this, pl_gradient_sum(this, task));
    this->seconds[task] += pl_engine_now(this->team->engine) - began;
}

void pl_gradient_recentre_task(void *context, unsigned task) {
    const pl_gradient *this = context;
    const pl_part *part = &this->team->parts[task];
    uint64_t classes = this->glm->classes;
    stretch at;
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);) {
        for (uint64_t i = rows.begin; i < rows.end && classes > 1; i++) {
            double *centre = this->centre + i * classes, slope[PL_MOST_CLASSES];
            pl_classes_visit(this->glm, i, this->z + i * classes, this->b, pl_gradient_softening(this), slope, NULL);
            for (uint64_t c = 0; c < classes; c++)
                centre[c] = -slope[c];
        }
        if (classes > 1)
            continue;
        for (uint64_t i = rows.begin; i < rows.end; i++)
            at.z[i - rows.begin] = this->z[i] + this->b[0];
        expand_stretch(this, rows.begin, rows.end - rows.begin, true, &at);
        for (uint64_t i = rows.begin; i < rows.end; i++)
            this->centre[i] = -at.slope[i - rows.begin];
    }
}

void pl_gradient_carry_task(void *context, unsigned task) {
    const pl_gradient *this = context;
    const pl_part *part = &this->team->parts[task];
    uint64_t classes = this->glm->classes;
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);)
        for (uint64_t e = rows.begin * classes; e < rows.end * classes; e++)
            this->z[e] += this->step * this->dz[e];
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
static void product_classes(pl_gradient *this, unsigned task) {
    const pl_glm *glm = this->glm;
    const pl_matrix *x = &glm->data->x;
    const pl_part *part = &this->team->parts[task];
    uint64_t classes = glm->classes, stride = pl_float_stride(classes);
    double *sum = pl_gradient_sum(this, task), b[PL_MOST_CLASSES] = {0}, total[PL_MOST_CLASSES] = {0},
           u[PL_MOST_CLASSES];
    float *sums = (float *)(void *)(sum + glm->size), a[PL_MOST_CLASSES] = {0};
    pl_gradient_intercepts(this, this->w, b);
    memset(sums, 0, x->columns * stride * sizeof *sums);
    for (pl_walk rows = pl_walk_entries(glm->data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            const double *bend = this->bend + i * classes;
            uint64_t begin = x->start[i], count = x->start[i + 1] - begin;
            const float *value = x->value ? x->value + begin : NULL;
            if (is_flat(bend, classes))
                continue;
            pl_float_table_dot(x->index + begin, value, count, this->turned, stride, a);
            for (uint64_t c = 0; c < classes; c++)
                u[c] = (double)a[c] + b[c];
            pl_classes_multiply(glm, bend, pl_share(glm, i), u);
            for (uint64_t c = 0; c < classes; c++) {
                total[c] += u[c];
                a[c] = (float)u[c];
            }
            pl_float_table_add(x->index + begin, value, count, a, stride, sums);
        }
    pl_float_table_give(sums, x->columns, classes, sum);
    if (glm->intercept != PL_NO_INTERCEPT)
        memcpy(sum + x->columns * classes, total, classes * sizeof *sum);
    pl_scale_columns(glm, sum);
}

void pl_gradient_product_task(void *context, unsigned task) {
    pl_gradient *this = context;
    if (this->glm->classes > 1) {
        product_classes(this, task);
        return;
    }
    const pl_glm *glm = this->glm;
    const pl_part *part = &this->team->parts[task];
    double *sum = pl_gradient_sum(this, task), b = 0, total = 0;
    pl_gradient_intercepts(this, this->w, &b);
    memset(sum, 0, glm->size * sizeof *sum);
    for (pl_walk rows = pl_walk_entries(glm->data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            if (this->bend[i] == 0)
                continue;
            double a = this->bend[i] * (pl_plain_dot(glm, i, this->w) + b);
            pl_plain_add(glm, i, a, sum);
            total += a;
        }
    if (glm->intercept != PL_NO_INTERCEPT)
        sum[glm->data->x.columns] += total;
    pl_scale_columns(glm, sum);
}

typedef struct trial {
    const pl_gradient *of;
    double gamma;
} trial;

static void probe_stretch(const void *context, uint64_t begin, uint64_t end, double *sums) {
    const trial *trial = context;
    const pl_gradient *this = trial->of;
    stretch rows;
    double losses = 0, along = 0;
    for (uint64_t i = begin; i < end; i++)
        rows.z[i - begin] = this->z[i] + this->b[0] + trial->gamma * (this->dz[i] + this->db[0]);
    expand_stretch(this, begin, end - begin, this->slopes_only, &rows);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t k = i - begin;
        losses += this->slopes_only ? 0.0 : rows.q[k] * rows.loss[k];
        along += rows.q[k] * rows.slope[k] * (this->dz[i] + this->db[0]);
    }
    sums[0] += losses;
    sums[1] += along;
}

/* Probes `rows` rows from row `first` on, at most PL_CLASS_ROWS. */
static void probe_rows(const trial *trial, uint64_t first, uint64_t rows, double *sums) {
    const pl_gradient *this = trial->of;
    uint64_t classes = this->glm->classes;
    double z[PL_CLASS_ROWS * PL_MOST_CLASSES], dz[PL_CLASS_ROWS * PL_MOST_CLASSES],
        slope[PL_CLASS_ROWS * PL_MOST_CLASSES], loss[PL_CLASS_ROWS];
    for (uint64_t r = 0; r < rows; r++) {
        pl_classes_ahead(this->glm, this->dz + (first + r) * classes, 1.0, this->db, dz + r * classes);
        pl_classes_ahead(this->glm, this->z + (first + r) * classes, trial->gamma, dz + r * classes, z + r * classes);
    }
    pl_classes_visit_rows(this->glm, first, rows, z, this->b, pl_gradient_softening(this), slope, loss, NULL);
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t i = first + r, at = r * classes;
        double q = pl_share(this->glm, i), along = 0;
        for (uint64_t c = 0; c < classes; c++)
            along += slope[at + c] * dz[at + c];
        if (this->ahead && this->glm->loss->together && trial->gamma == 1.0)
            pl_classes_bend_ahead(this->glm, i, this->z + i * classes, dz + at, this->b, slope + at,
                                  this->ahead + i * classes);
        sums[0] += q * loss[r];
        sums[1] += q * along;
    }
}

static void probe_classes(const void *context, uint64_t begin, uint64_t end, double *sums) {
    for (uint64_t i = begin; i < end; i += PL_CLASS_ROWS)
        probe_rows(context, i, end - i < PL_CLASS_ROWS ? end - i : PL_CLASS_ROWS, sums);
}

void pl_gradient_probe(const pl_gradient *this, double gamma, double *sums) {
    trial trial = {this, gamma};
    if (this->glm->classes > 1)
        pl_sum_stretches(this->team, probe_classes, &trial, 2, sums);
    else
        pl_sum_stretches(this->team, probe_stretch, &trial, 2, sums);
}
