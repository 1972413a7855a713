/* scd_certificate.c: evaluates v: P, a dual point and its D, and u = X'(q t), which also tells which columns belong in
 * a working set. One pass over the columns serves both, and usually a pass over a few columns is enough: |u_j| moves by
 * at most the distance that t has moved times the norm of the column, so that columns far below l1 can be skipped.
 *
 * t = -loss'(z) at z = v + b, where a free b is solved first. The heavier side of t is shrunk until sum q t = 0. D is
 * computed at c t, c = min(1, l1 / |u|_inf), or, with an L2 penalty, at t itself, whichever is better. */
#include <math.h>
#include <string.h>

#include "engine/collective.h"
#include "linear/columns/scd.h"

#define CENTRED 1e-13   /* remaining slope of the intercept; t depends on it */
#define MOST_VISITS 0.4 /* share of non-zeros above which all columns are visited */
#define CHUNK_ROWS 2048 /* rows of a task */

typedef struct row_pass {
    pl_scd *scd;
    const double *v;
    double scale[2]; /* factors of t = -slope on its negative and positive side */
} row_pass;

static void run_rows(const pl_scd *self, pl_task task, void *context) {
    pl_engine *engine = self->team->engine;
    engine->type->run(engine, task, context, (unsigned)((self->x->columns + CHUNK_ROWS - 1) / CHUNK_ROWS));
}

static uint64_t chunk_end(const pl_scd *self, unsigned task) {
    uint64_t end = ((uint64_t)task + 1) * CHUNK_ROWS;
    return end < self->x->columns ? end : self->x->columns;
}

static void expand_task(void *context, unsigned task) {
    const row_pass *pass = context;
    pl_scd *self = pass->scd;
    const pl_glm *glm = self->glm;
    double least = PL_SCD_LEAST_CURVATURE * glm->loss->curvature_bound, z[PL_ROW_CHUNK], y[PL_ROW_CHUNK];
    for (uint64_t begin = (uint64_t)task * CHUNK_ROWS, end = chunk_end(self, task); begin < end;
         begin += PL_ROW_CHUNK) {
        uint64_t count = end - begin < PL_ROW_CHUNK ? end - begin : PL_ROW_CHUNK;
        double *curvature = self->metric + begin;
        for (uint64_t i = 0; i < count; i++) {
            z[i] = pass->v[begin + i] + self->b + pl_offset(glm, begin + i);
            y[i] = pl_target(glm, begin + i);
        }
        pl_expand_rows(glm->loss, z, y, count, self->loss + begin, self->slope + begin, curvature);
        for (uint64_t i = 0; i < count; i++)
            curvature[i] =
                pl_share(glm, begin + i) * fmax(self->delayed ? glm->loss->curvature_bound : curvature[i], least);
    }
}

parley_status pl_scd_certify_rows(pl_scd *self, const double *v, parley_error *error) {
    parley_status status = PARLEY_OK;
    row_pass pass = {.scd = self, .v = v};
    if (self->rows_known)
        return status;
    if (self->glm->intercept == PL_FREE)
        status = pl_centre(self->glm, self->team, v, CENTRED, &self->b, error);
    run_rows(self, expand_task, &pass);
    self->rows_known = true;
    return status;
}

static void scale_task(void *context, unsigned task) {
    const row_pass *pass = context;
    pl_scd *self = pass->scd;
    for (uint64_t i = (uint64_t)task * CHUNK_ROWS; i < chunk_end(self, task); i++) {
        double t = -self->slope[i];
        self->qt[i] = pl_share(self->glm, i) * t * pass->scale[t > 0];
    }
}

/* Where t = -slope, loss*(-t) = slope z - loss, which needs no logarithm. */
static void side_row(const void *context, uint64_t i, double *sums) {
    const row_pass *pass = context;
    const pl_scd *self = pass->scd;
    double z = pass->v[i] + self->b, slope = self->slope[i]; /* the offset cancels */
    pl_add_sides(self->glm, i, -slope, pass->v[i], self->loss[i], slope * z - self->loss[i], sums);
}

/* Adds loss* at the scaled t. */
static void conjugate_row(const void *context, uint64_t i, double *sums) {
    const row_pass *pass = context;
    const pl_glm *glm = pass->scd->glm;
    double t = -pass->scd->slope[i] * pass->scale[pass->scd->slope[i] < 0];
    sums[0] += pl_share(glm, i) * (glm->loss->conjugate(glm->loss, t, pl_target(glm, i)) + t * pl_offset(glm, i));
}

static void square_row(const void *context, uint64_t i, double *sums) {
    const row_pass *pass = context;
    const pl_scd *self = pass->scd;
    double q = pl_share(self->glm, i), curvature = self->metric[i];
    sums[0] += curvature > 0 ? q * q * self->slope[i] * self->slope[i] / curvature : 0.0;
}

enum { SUM_LARGEST, SUM_PENALTY, SUM_CONJUGATE, SUM_SUPPORT, COLUMN_SUMS };

static void positions(const pl_scd *self, unsigned task, uint64_t *begin, uint64_t *end) {
    const pl_scd_worker *worker = &self->workers[task / self->chunks];
    *begin = worker->count * (task % self->chunks) / self->chunks;
    *end = worker->count * (task % self->chunks + 1) / self->chunks;
}

/* How far u_j moves at most if t moves by 1 in the norm with weights q. With a free intercept, two feasible t differ by
 * a vector of mean 0, so the column's mean does not count. */
static double reach_of(const pl_scd *self, uint64_t j) {
    const pl_matrix *x = self->x;
    const double *weight = self->glm->base.data->weight;
    double mean = 0, square = 0;
    if (j == x->rows)
        return 1.0;
    for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
        double c = pl_value_at(x->values, e), a = weight ? weight[x->index[e]] * c : c;
        mean += a;
        square += a * c;
    }
    mean /= self->glm->base.total;
    square /= self->glm->base.total;
    double scale = pl_column_scale(self->glm, j);
    return scale * sqrt(fmax(0.0, self->glm->intercept == PL_FREE ? square - mean * mean : square) + 1e-14 * square);
}

/* Whether |u_j| cannot have reached its l1 since the last look at all columns. */
static bool far_below(const pl_scd *self, uint64_t j, double l1) {
    double pull = pl_pull(self->glm, j, self->anchor_u[j]);
    return pull + (1.0 + 1e-9) * self->drift * self->reach[j] < pl_factor(self->glm, j) * l1;
}

static void dot_task(void *context, unsigned task) {
    pl_scd *self = context;
    const pl_scd_worker *worker = &self->workers[task / self->chunks];
    const pl_matrix *x = self->x;
    uint64_t begin, end;
    positions(self, task, &begin, &end);
    for (uint64_t n = begin; n < end && !pl_stop_due(); n++) {
        uint64_t j = worker->column[n];
        if (self->again && !far_below(self, j, self->l1_looked))
            continue;
        if (!self->all && far_below(self, j, self->glm->base.l1)) {
            self->u[j] = self->anchor_u[j];
        } else if (j < x->rows) {
            uint64_t first = x->start[j];
            self->u[j] =
                pl_column_scale(self->glm, j) *
                pl_sparse_dot(x->index + first, pl_values_from(x->values, first), x->start[j + 1] - first, self->qt);
        } else {
            self->u[j] = 0;
            for (uint64_t i = 0; i < x->columns; i++)
                self->u[j] += self->qt[i];
        }
        if (self->all && self->glm->base.l1 > 0) {
            self->anchor_u[j] = self->u[j];
            if (self->reach[j] < 0)
                self->reach[j] = reach_of(self, j);
        }
    }
}

/* Counts the non-zeros that a look at some columns would visit. */
static void count_task(void *context, unsigned task) {
    pl_scd *self = context;
    const pl_scd_worker *worker = &self->workers[task / self->chunks];
    uint64_t begin, end, count = 0;
    positions(self, task, &begin, &end);
    for (uint64_t n = begin; n < end; n++)
        if (!far_below(self, worker->column[n], self->glm->base.l1))
            count += pl_scd_entries(self, worker->column[n]);
    self->sums[(uint64_t)task * COLUMN_SUMS] = (double)count;
}

static void drift_row(const void *context, uint64_t i, double *sums) {
    const pl_scd *self = context;
    double q = pl_share(self->glm, i), difference = self->qt[i] - self->anchor_qt[i];
    sums[0] += q > 0 ? difference * difference / q : 0.0;
}

static void penalty_task(void *context, unsigned task) {
    pl_scd *self = context;
    const pl_glm *glm = self->glm;
    const pl_scd_worker *worker = &self->workers[task / self->chunks];
    double sums[COLUMN_SUMS] = {0};
    uint64_t begin, end;
    positions(self, task, &begin, &end);
    for (uint64_t n = begin; n < end; n++) {
        uint64_t j = worker->column[n];
        double factor = pl_factor(glm, j), u = pl_pull(glm, j, self->u[j]) / factor, w = fabs(self->w[j]);
        double excess = u > glm->base.l1 ? u - glm->base.l1 : 0.0;
        sums[SUM_LARGEST] = u > sums[SUM_LARGEST] ? u : sums[SUM_LARGEST];
        sums[SUM_PENALTY] += factor * w * (glm->base.l1 + 0.5 * glm->base.l2 * w);
        sums[SUM_CONJUGATE] += factor * excess * excess;
        sums[SUM_SUPPORT] += w > 0;
    }
    memcpy(self->sums + (uint64_t)task * COLUMN_SUMS, sums, sizeof sums);
}

static void run_columns(pl_scd *self, pl_task task) {
    pl_engine *engine = self->team->engine;
    engine->type->run(engine, task, self, self->team->hosted * self->chunks);
}

/* Finds the largest |u_j| of all ranks, by a sum in which each rank has its own entry. */
static parley_status agree_largest(pl_scd *self, double mine, parley_error *error) {
    pl_engine *engine = self->team->engine;
    double *slots, *sums = NULL;
    self->largest = mine;
    if (engine->ranks == 1)
        return PARLEY_OK;
    parley_status status = pl_take(&slots, 2 * (uint64_t)engine->ranks, sizeof *slots, "the dual point", error);
    if (status != PARLEY_OK)
        return status;
    sums = slots + engine->ranks;
    slots[engine->rank] = mine;
    status = pl_sum_workers(engine, PL_EACH_RANK, slots, engine->ranks, sums, error);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        self->largest = fmax(self->largest, sums[r]);
    pl_free(slots);
    return status;
}

static parley_status sum_columns(pl_scd *self, double *sums, parley_error *error) {
    const pl_team *team = self->team;
    double *all = team->worker_sums, mine = 0;
    run_columns(self, penalty_task);
    for (unsigned k = 0; k < team->hosted; k++) {
        double *of = all + k * COLUMN_SUMS;
        memset(of, 0, COLUMN_SUMS * sizeof *of);
        for (unsigned c = 0; c < self->chunks; c++) {
            const double *chunk = self->sums + ((uint64_t)k * self->chunks + c) * COLUMN_SUMS;
            mine = fmax(mine, chunk[SUM_LARGEST]);
            for (unsigned s = SUM_PENALTY; s < COLUMN_SUMS; s++)
                of[s] += chunk[s];
        }
        self->workers[k].supported = (uint64_t)of[SUM_SUPPORT];
    }
    parley_status status = pl_team_sum(team, all, COLUMN_SUMS, sums, error);
    return status == PARLEY_OK ? agree_largest(self, mine, error) : status;
}

/* Computes D at t, or at c t if that is better or the only feasible point. */
static parley_status judge(pl_scd *self, const double *sums, pl_linear_evaluation *at, parley_error *error) {
    const pl_glm *glm = self->glm;
    parley_status status = PARLEY_OK;
    double plain = -INFINITY, scale = self->largest > glm->base.l1 ? glm->base.l1 / self->largest : 1.0;
    pl_linear_evaluation scaled = *at;
    at->penalised = true;
    at->penalty = sums[SUM_PENALTY];
    if (glm->base.l2 > 0) {
        at->penalty_conjugate = 0.5 * sums[SUM_CONJUGATE] / glm->base.l2;
        plain = -at->conjugate - at->penalty_conjugate;
    }
    if (glm->base.l1 > 0 && scale < 1) {
        row_pass pass = {self, self->v, {scale, scale}};
        pass.scale[at->heavy] *= 1.0 - at->tilt;
        status = pl_total_rows(self->team, conjugate_row, &pass, 1, &scaled.conjugate, error);
    }
    if ((glm->base.l1 > 0 || scale == 1) && -scaled.conjugate > plain) {
        at->conjugate = scaled.conjugate;
        at->penalty_conjugate = 0;
    }
    at->tilt = 0; /* repaired before u was computed */
    return status;
}

/* Looks at all columns, or only at those whose |u_j| may have reached l1 since the last look at all. */
static parley_status decide(pl_scd *self, parley_error *error) {
    const pl_team *team = self->team;
    double visits, squares;
    self->all = self->drift < 0 || self->glm->base.l1 == 0;
    if (self->all)
        return PARLEY_OK;
    parley_status status = pl_total_rows(team, drift_row, self, 1, &squares, error);
    if (status != PARLEY_OK)
        return status;
    self->drift = sqrt(squares);
    run_columns(self, count_task);
    for (unsigned k = 0; k < team->hosted; k++) {
        team->worker_sums[k] = 0;
        for (unsigned c = 0; c < self->chunks; c++)
            team->worker_sums[k] += self->sums[((uint64_t)k * self->chunks + c) * COLUMN_SUMS];
    }
    status = pl_team_sum(team, team->worker_sums, 1, &visits, error);
    self->all = visits > MOST_VISITS * (double)self->x->nonzeros;
    return status;
}

/* If only the penalty changed, t stays the same, and columns that were far below the last l1 must be visited. */
static void look_again(pl_scd *self) {
    self->all = false;
    run_columns(self, dot_task);
}

/* Computes t, and u from it. */
static parley_status make_dual_point(pl_scd *self, const double *v, parley_error *error) {
    double sides[PL_ROW_SUMS];
    row_pass pass = {self, v, {1, 1}};
    parley_status status = pl_total_rows(self->team, side_row, &pass, PL_ROW_SUMS, sides, error);
    if (status == PARLEY_OK)
        status = pl_total_rows(self->team, square_row, &pass, 1, &self->curvature_squares, error);
    if (status != PARLEY_OK)
        return status;
    pl_evaluation_fill(self->glm, sides, self->b, &self->found);
    pass.scale[self->found.heavy] -= self->found.tilt;
    run_rows(self, scale_task, &pass);
    status = decide(self, error);
    if (status != PARLEY_OK)
        return status;
    run_columns(self, dot_task);
    if (self->all) {
        memcpy(self->anchor_qt, self->qt, self->x->columns * sizeof *self->qt);
        self->drift = 0;
    }
    return status;
}

static parley_status look_columns(pl_scd *self, const double *v, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (self->again && self->glm->base.l1 > 0 && self->l1_looked > 0)
        look_again(self);
    else {
        self->again = false;
        status = make_dual_point(self, v, error);
    }
    self->l1_looked = self->glm->base.l1;
    self->columns_known = status == PARLEY_OK;
    self->again = self->renewed = self->penalty_known = false;
    return status;
}

parley_status pl_scd_certify(pl_scd *self, const double *v, parley_error *error) {
    double sums[COLUMN_SUMS];
    parley_status status = pl_scd_certify_rows(self, v, error);
    self->v = v;
    if (status == PARLEY_OK && !self->columns_known)
        status = look_columns(self, v, error);
    if (status != PARLEY_OK || self->penalty_known)
        return status;
    pl_linear_evaluation at = self->found;
    status = sum_columns(self, sums, error);
    if (status == PARLEY_OK)
        status = judge(self, sums, &at, error);
    double before = self->objective;
    self->objective = at.value + at.penalty;
    self->gap = fmax(0.0, self->objective + at.conjugate + at.penalty_conjugate);
    /* Below the safe sigma only quadratic losses are sure to descend, so sigma is raised if P rose. */
    if (self->objective > before * (1.0 + 1e-12))
        self->caution *= 2.0;
    self->evaluation = at;
    self->penalty_known = status == PARLEY_OK;
    return status;
}
