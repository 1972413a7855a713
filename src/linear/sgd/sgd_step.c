/* sgd_step.c: single steps. With r the weight of row i (1 on average), z = x_i.w + b and t = -loss'(z):
 *
 *     w <- soft(w + eta r t x_i, eta l1) / (1 + eta l2)
 *
 * A free intercept's 1 in every row would make b jump by eta, which is large where a row's norm is spread over many
 * entries: its steps are multiplied by sum m_j^2 / sum m_j, m_j the mean square of column j.
 *
 * Only the entries of the row are touched, in one of three ways.
 *
 * Lazy: w = s u. The row adds eta r t x_i / s to u, then s shrinks by 1 + eta l2, and a clock advances by eta l1 / s;
 * an entry that is touched again first catches up: u_j <- soft(u_j, clock - clock_j). Sum of iterates = tau u + mean,
 * where a change du takes tau du from mean, and every step adds s to tau. All of it gives the steps above, exactly.
 *
 * Adaptive (adaptive.h) and shared (one v for all workers): no scale can stand for all entries, so that each step
 * penalises the entries that it touches for all steps that do not, of which there are 1 / p_j, p_j the share of rows
 * that hold j. */
#include <math.h>
#include <string.h>

#include "linear/sgd/sgd.h"
#include "math/shared.h"
#include "math/sparse.h"

#define LEAST_SCALE 1e-30 /* of u; below, it is folded into u */
#define LEAST_MEAN_SCALE                                                                                               \
    1e-3 /* the same with averaged iterates, where tau u and mean cancel the more, the smaller s is */

static double value_at(const pl_glm *glm, uint64_t e) {
    const pl_matrix *x = &glm->base.data->x;
    return pl_column_scale(glm, x->index[e]) * pl_value_at(x->values, e);
}

static uint64_t entry_of(const pl_sgd_worker *worker, uint64_t s) { return worker->support ? worker->support[s] : s; }

static double weight_of(const pl_sgd *sgd, const pl_sgd_worker *worker, uint64_t i) {
    return worker->row_weight * (sgd->glm->base.data->weight ? sgd->glm->base.data->weight[i] : 1.0);
}

/* The step's t, and the books on dual variables. `h`: the change of z by a step of t = 1. */
static double slope_at(pl_sgd *sgd, pl_sgd_worker *worker, uint64_t i, double z, double h) {
    const pl_loss *loss = sgd->glm->loss;
    double slope, curvature, y = pl_target(sgd->glm, i);
    loss->expand(loss, z, y, &slope, &curvature);
    worker->steps++;
    if (sgd->t) /* later visits count for more, by their number */
        sgd->t[i] += (-slope - sgd->t[i]) * fmin(1.0, 2.0 / (double)(worker->age + 1));
    bool implicit = sgd->importance > 1 && h > 0;
    return implicit ? loss->dual_step(loss, z, y, 0.0, h) : -slope;
}

static void catch_up(pl_sgd_worker *worker, uint64_t j) {
    worker->u[j] = pl_soft(worker->u[j], worker->elapsed - worker->clock[j]);
    worker->clock[j] = worker->elapsed;
}

/* Makes u the model itself again. */
static void fold(pl_sgd_worker *worker) {
    for (uint64_t e = 0; e < worker->supported; e++) {
        uint64_t j = entry_of(worker, e);
        if (worker->clock) {
            catch_up(worker, j);
            worker->clock[j] = 0;
        }
        if (worker->mean)
            worker->mean[j] += worker->tau * worker->u[j];
        worker->u[j] *= worker->s;
    }
    worker->elapsed = worker->tau = 0;
    worker->folded *= worker->s;
    worker->s = 1.0;
}

static void lazy_row(pl_sgd *sgd, pl_sgd_worker *worker, uint64_t i, double eta) {
    const pl_glm *glm = sgd->glm;
    const pl_matrix *x = &glm->base.data->x;
    uint64_t b = x->columns;
    for (uint64_t e = x->start[i]; worker->clock && e < x->start[i + 1]; e++)
        catch_up(worker, x->index[e]);
    if (worker->clock && glm->intercept == PL_PENALISED)
        catch_up(worker, b);
    double weight = eta * weight_of(sgd, worker, i), z = pl_sgd_margin(sgd, worker, i);
    double h = weight * (glm->norm2[i] + sgd->ease);
    double step = weight * slope_at(sgd, worker, i, z, h), du = step / worker->s;
    if (step != 0) {
        pl_row_add(glm, i, du, worker->u);
        if (worker->mean)
            pl_row_add(glm, i, -worker->tau * du, worker->mean);
        if (glm->intercept == PL_FREE)
            worker->b += sgd->ease * step;
        if (glm->intercept == PL_PENALISED)
            worker->u[b] += du;
        if (glm->intercept == PL_PENALISED && worker->mean)
            worker->mean[b] -= worker->tau * du;
    }
    worker->elapsed += eta * glm->base.l1 / worker->s;
    worker->s /= 1.0 + eta * glm->base.l2;
    worker->tau += worker->s;
    worker->shrunk += worker->folded * worker->s;
    worker->b_sum += worker->b;
    if (worker->s < (worker->mean ? LEAST_MEAN_SCALE : LEAST_SCALE))
        fold(worker);
}

static void step_cells(pl_cell *cells, const pl_cell_row *row, float step, float l1, float l2) {
    for (uint64_t e = 0; e < row->count; e++) {
        pl_cell *cell = &cells[row->index[e]];
        float rate = row->rate[e], w = cell->w + step * rate * pl_cell_value(row, e), cut = l1 * rate * cell->rare;
        w = w > cut ? w - cut : w < -cut ? w + cut : 0.0F;
        cell->w = w / (1.0F + l2 * rate * cell->rare);
    }
}

static pl_cell_row cell_row(const pl_glm *glm, pl_sgd_worker *worker, uint64_t i) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[i];
    pl_cell_row row = {x->index + begin, pl_values_from(x->values, begin), x->start[i + 1] - begin, worker->row_rates};
    if (!glm->scale)
        return row;
    for (uint64_t e = 0; e < row.count; e++)
        worker->scaled[e] = (float)value_at(glm, begin + e);
    row.values = (pl_values){.narrow = worker->scaled};
    return row;
}

static double cells_margin(const pl_glm *glm, const pl_sgd_worker *worker, const pl_cell_row *row) {
    double b = glm->intercept == PL_NO_INTERCEPT ? 0.0 : (double)worker->cells[glm->base.data->x.columns].w;
    return pl_cells_dot(worker->cells, row) + b;
}

static void adaptive_row(pl_sgd *sgd, pl_sgd_worker *worker, uint64_t i, double eta) {
    const pl_glm *glm = sgd->glm;
    uint32_t b = (uint32_t)glm->base.data->x.columns;
    float rate_b = 0;
    pl_cell_row row = cell_row(glm, worker, i);
    pl_cell_row constant = {&b, {NULL, NULL}, glm->intercept == PL_NO_INTERCEPT ? 0 : 1, &rate_b};
    double z = cells_margin(glm, worker, &row) + pl_offset(glm, i), weight = weight_of(sgd, worker, i),
           y = pl_target(glm, i);
    double slope = -slope_at(sgd, worker, i, z, 0.0);
    float slope2 = (float)(slope * slope * weight);
    bool normalised = sgd->schedule == PL_NORMALISED;
    double reach = pl_cells_rates(worker->cells, &row, slope2, normalised, &worker->norms);
    reach += pl_cells_rates(worker->cells, &constant, slope2, normalised, &worker->norms);
    worker->rows_seen += 1;
    if (normalised && worker->norms > 0)
        eta *= sqrt(worker->rows_seen / worker->norms);
    double h = eta * weight * reach, t = slope != 0 ? pl_adaptive_slope(glm->loss, z, y, slope, h) : 0.0;
    float step = (float)(eta * weight * t), l1 = (float)(eta * glm->base.l1), l2 = (float)(eta * glm->base.l2);
    step_cells(worker->cells, &row, step, l1, l2);
    step_cells(worker->cells, &constant, step, l1, l2);
}

static void shared_entry(pl_sgd *sgd, uint64_t j, double step, double eta) {
    double rare = eta * (double)sgd->rare[j], w = pl_shared_get(&sgd->v[j]) + step;
    pl_shared_put(&sgd->v[j], pl_soft(w, rare * sgd->glm->base.l1) / (1.0 + rare * sgd->glm->base.l2));
}

static void shared_row(pl_sgd *sgd, pl_sgd_worker *worker, uint64_t i, double eta) {
    const pl_glm *glm = sgd->glm;
    const pl_matrix *x = &glm->base.data->x;
    double step = eta * weight_of(sgd, worker, i) * slope_at(sgd, worker, i, pl_sgd_margin(sgd, worker, i), 0.0);
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
        shared_entry(sgd, x->index[e], step * value_at(glm, e), eta);
    if (glm->intercept != PL_NO_INTERCEPT)
        shared_entry(sgd, x->columns, sgd->ease * step, eta);
}

static double shared_margin(const pl_sgd *sgd, uint64_t i) {
    const pl_matrix *x = &sgd->glm->base.data->x;
    double z = sgd->glm->intercept == PL_NO_INTERCEPT ? 0.0 : pl_shared_get(&sgd->v[x->columns]);
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
        z += value_at(sgd->glm, e) * pl_shared_get(&sgd->v[x->index[e]]);
    return z;
}

double pl_sgd_margin(const pl_sgd *sgd, pl_sgd_worker *worker, uint64_t i) {
    const pl_glm *glm = sgd->glm;
    if (sgd->in_place)
        return shared_margin(sgd, i) + pl_offset(glm, i);
    if (worker->cells) {
        pl_cell_row row = cell_row(glm, worker, i);
        return cells_margin(glm, worker, &row) + pl_offset(glm, i);
    }
    double z = pl_row_dot(glm, i, worker->u);
    if (glm->intercept == PL_PENALISED)
        z += worker->u[glm->base.data->x.columns];
    return worker->s * z + worker->b + pl_offset(glm, i);
}

void pl_sgd_begin(pl_sgd *sgd, pl_sgd_worker *worker) {
    const pl_glm *glm = sgd->glm;
    worker->steps = 0;
    worker->touched = 0;
    worker->s = worker->folded = 1.0;
    worker->elapsed = worker->tau = worker->shrunk = worker->b_sum = 0;
    worker->b = glm->intercept == PL_FREE && !sgd->in_place ? worker->v[glm->base.data->x.columns] : 0.0;
    for (uint64_t e = 0; e < worker->supported && !sgd->in_place; e++) {
        uint64_t j = entry_of(worker, e);
        if (worker->cells)
            worker->cells[j].w = (float)worker->v[j];
        else
            worker->u[j] = worker->v[j];
        if (worker->clock)
            worker->clock[j] = 0;
        if (worker->mean)
            worker->mean[j] = 0;
    }
}

void pl_sgd_visit(pl_sgd *sgd, pl_sgd_worker *worker, uint64_t bucket, double rate) {
    const pl_matrix *x = &sgd->glm->base.data->x;
    for (uint64_t i = pl_bucket_row(bucket); i < pl_bucket_end(bucket); i++) {
        if (sgd->in_place)
            shared_row(sgd, worker, i, rate);
        else if (worker->cells)
            adaptive_row(sgd, worker, i, rate);
        else
            lazy_row(sgd, worker, i, rate * sgd->importance);
    }
    worker->touched += (double)(x->start[pl_bucket_end(bucket)] - x->start[pl_bucket_row(bucket)]);
}

double pl_sgd_entry(const pl_sgd *sgd, const pl_sgd_worker *worker, uint64_t j) {
    const pl_glm *glm = sgd->glm;
    if (sgd->in_place)
        return sgd->v[j];
    if (worker->cells)
        return (double)worker->cells[j].w;
    if (glm->intercept == PL_FREE && j == glm->base.data->x.columns)
        return worker->b;
    return worker->s * (worker->clock ? pl_soft(worker->u[j], worker->elapsed - worker->clock[j]) : worker->u[j]);
}

/* The mean of the iterates, as shrink v + change. */
static double end_mean(pl_sgd *sgd, pl_sgd_worker *worker) {
    const pl_glm *glm = sgd->glm;
    double steps = (double)worker->steps, shrink = worker->shrunk / steps;
    for (uint64_t e = 0; e < worker->supported; e++) {
        uint64_t j = entry_of(worker, e);
        bool free = glm->intercept == PL_FREE && j == glm->base.data->x.columns;
        double sum = free ? worker->b_sum : worker->tau * worker->u[j] + worker->mean[j];
        worker->change[e] = sum / steps - shrink * worker->v[j];
    }
    return shrink;
}

double pl_sgd_end(pl_sgd *sgd, pl_sgd_worker *worker) {
    if (worker->mean && worker->steps > 0)
        return end_mean(sgd, worker);
    double shrink = worker->cells || worker->clock ? 1.0 : worker->folded * worker->s;
    for (uint64_t e = 0; e < worker->supported; e++) {
        uint64_t j = entry_of(worker, e);
        worker->change[e] = pl_sgd_entry(sgd, worker, j) - shrink * worker->v[j];
    }
    return shrink;
}
