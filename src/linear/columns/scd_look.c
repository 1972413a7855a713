/* scd_look.c: evaluates v: P, a dual point and its D, and u = X'(q t), which also tells which columns belong in a
 * working set. One pass over the columns serves both, and usually a pass over a few columns is enough: |u_j| moves by
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

static void run_rows(const pl_scd *this, pl_task task, void *context) {
    pl_engine *engine = this->team->engine;
    engine->type->run(engine, task, context, (unsigned)((this->x->columns + CHUNK_ROWS - 1) / CHUNK_ROWS));
}

static uint64_t chunk_end(const pl_scd *this, unsigned task) {
    uint64_t end = ((uint64_t)task + 1) * CHUNK_ROWS;
    return end < this->x->columns ? end : this->x->columns;
}

static void expand_task(void *context, unsigned task) {
    const row_pass *pass = context;
    pl_scd *this = pass->scd;
    const pl_glm *glm = this->glm;
    double least = PL_SCD_LEAST_CURVATURE * glm->loss->curvature_bound, z[PL_STRETCH], y[PL_STRETCH];
    for (uint64_t begin = (uint64_t)task * CHUNK_ROWS, end = chunk_end(this, task); begin < end; begin += PL_STRETCH) {
        uint64_t count = end - begin < PL_STRETCH ? end - begin : PL_STRETCH;
        double *curvature = this->metric + begin;
        for (uint64_t i = 0; i < count; i++) {
            z[i] = pass->v[begin + i] + this->b;
            y[i] = pl_target(glm, begin + i);
        }
        pl_expand_rows(glm->loss, z, y, count, this->loss + begin, this->slope + begin, curvature);
        for (uint64_t i = 0; i < count; i++)
            curvature[i] =
                pl_share(glm, begin + i) * fmax(this->delayed ? glm->loss->curvature_bound : curvature[i], least);
    }
}

parley_status pl_scd_look_rows(pl_scd *this, const double *v, parley_error *error) {
    parley_status status = PARLEY_OK;
    row_pass pass = {.scd = this, .v = v};
    if (this->rows_known)
        return status;
    if (this->glm->intercept == PL_FREE)
        status = pl_centre(this->glm, this->team, v, CENTRED, &this->b, error);
    run_rows(this, expand_task, &pass);
    this->rows_known = true;
    return status;
}

static void scale_task(void *context, unsigned task) {
    const row_pass *pass = context;
    pl_scd *this = pass->scd;
    for (uint64_t i = (uint64_t)task * CHUNK_ROWS; i < chunk_end(this, task); i++) {
        double t = -this->slope[i];
        this->qt[i] = pl_share(this->glm, i) * t * pass->scale[t > 0];
    }
}

/* Where t = -slope, loss*(-t) = slope z - loss, which needs no logarithm. */
static void side_row(const void *context, uint64_t i, double *sums) {
    const row_pass *pass = context;
    const pl_scd *this = pass->scd;
    double z = pass->v[i] + this->b, slope = this->slope[i];
    pl_add_sides(this->glm, i, -slope, pass->v[i], this->loss[i], slope * z - this->loss[i], sums);
}

/* Adds loss* at the scaled t. */
static void conjugate_row(const void *context, uint64_t i, double *sums) {
    const row_pass *pass = context;
    const pl_glm *glm = pass->scd->glm;
    double t = -pass->scd->slope[i];
    sums[0] += pl_share(glm, i) * glm->loss->conjugate(glm->loss, pass->scale[t > 0] * t, pl_target(glm, i));
}

static void square_row(const void *context, uint64_t i, double *sums) {
    const row_pass *pass = context;
    const pl_scd *this = pass->scd;
    double q = pl_share(this->glm, i), curvature = this->metric[i];
    sums[0] += curvature > 0 ? q * q * this->slope[i] * this->slope[i] / curvature : 0.0;
}

enum { SUM_LARGEST, SUM_PENALTY, SUM_CONJUGATE, SUM_SUPPORT, COLUMN_SUMS };

static void positions(const pl_scd *this, unsigned task, uint64_t *begin, uint64_t *end) {
    const pl_scd_worker *worker = &this->workers[task / this->chunks];
    *begin = worker->count * (task % this->chunks) / this->chunks;
    *end = worker->count * (task % this->chunks + 1) / this->chunks;
}

/* How far u_j moves at most if t moves by 1 in the norm with weights q. With a free intercept, two feasible t differ by
 * a vector of mean 0, so the column's mean does not count. */
static double reach_of(const pl_scd *this, uint64_t j) {
    const pl_matrix *x = this->x;
    const double *weight = this->glm->data->weight;
    double mean = 0, square = 0;
    if (j == x->rows)
        return 1.0;
    for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
        double c = x->value ? (double)x->value[e] : 1.0, a = weight ? weight[x->index[e]] * c : c;
        mean += a;
        square += a * c;
    }
    mean /= this->glm->total;
    square /= this->glm->total;
    double scale = pl_column_scale(this->glm, j);
    return scale * sqrt(fmax(0.0, this->glm->intercept == PL_FREE ? square - mean * mean : square) + 1e-14 * square);
}

/* Whether |u_j| cannot have reached its l1 since the last look at all columns. */
static bool far_below(const pl_scd *this, uint64_t j, double l1) {
    double pull = pl_pull(this->glm, j, this->anchor_u[j]);
    return pull + (1.0 + 1e-9) * this->drift * this->reach[j] < pl_factor(this->glm, j) * l1;
}

static void dot_task(void *context, unsigned task) {
    pl_scd *this = context;
    const pl_scd_worker *worker = &this->workers[task / this->chunks];
    const pl_matrix *x = this->x;
    uint64_t begin, end;
    positions(this, task, &begin, &end);
    for (uint64_t n = begin; n < end && !pl_stop_due(); n++) {
        uint64_t j = worker->column[n];
        if (this->again && !far_below(this, j, this->l1_looked))
            continue;
        if (!this->all && far_below(this, j, this->glm->l1)) {
            this->u[j] = this->anchor_u[j];
        } else if (j < x->rows) {
            uint64_t first = x->start[j];
            this->u[j] =
                pl_column_scale(this->glm, j) *
                pl_sparse_dot(x->index + first, x->value ? x->value + first : NULL, x->start[j + 1] - first, this->qt);
        } else {
            this->u[j] = 0;
            for (uint64_t i = 0; i < x->columns; i++)
                this->u[j] += this->qt[i];
        }
        if (this->all && this->glm->l1 > 0) {
            this->anchor_u[j] = this->u[j];
            if (this->reach[j] < 0)
                this->reach[j] = reach_of(this, j);
        }
    }
}

/* Counts the non-zeros that a look at some columns would visit. */
static void count_task(void *context, unsigned task) {
    pl_scd *this = context;
    const pl_scd_worker *worker = &this->workers[task / this->chunks];
    uint64_t begin, end, count = 0;
    positions(this, task, &begin, &end);
    for (uint64_t n = begin; n < end; n++)
        if (!far_below(this, worker->column[n], this->glm->l1))
            count += pl_scd_entries(this, worker->column[n]);
    this->sums[(uint64_t)task * COLUMN_SUMS] = (double)count;
}

static void drift_row(const void *context, uint64_t i, double *sums) {
    const pl_scd *this = context;
    double q = pl_share(this->glm, i), difference = this->qt[i] - this->anchor_qt[i];
    sums[0] += q > 0 ? difference * difference / q : 0.0;
}

static void penalty_task(void *context, unsigned task) {
    pl_scd *this = context;
    const pl_glm *glm = this->glm;
    const pl_scd_worker *worker = &this->workers[task / this->chunks];
    double sums[COLUMN_SUMS] = {0};
    uint64_t begin, end;
    positions(this, task, &begin, &end);
    for (uint64_t n = begin; n < end; n++) {
        uint64_t j = worker->column[n];
        double factor = pl_factor(glm, j), u = pl_pull(glm, j, this->u[j]) / factor, w = fabs(this->w[j]);
        double excess = u > glm->l1 ? u - glm->l1 : 0.0;
        sums[SUM_LARGEST] = u > sums[SUM_LARGEST] ? u : sums[SUM_LARGEST];
        sums[SUM_PENALTY] += factor * w * (glm->l1 + 0.5 * glm->l2 * w);
        sums[SUM_CONJUGATE] += factor * excess * excess;
        sums[SUM_SUPPORT] += w > 0;
    }
    memcpy(this->sums + (uint64_t)task * COLUMN_SUMS, sums, sizeof sums);
}

static void run_columns(pl_scd *this, pl_task task) {
    pl_engine *engine = this->team->engine;
    engine->type->run(engine, task, this, this->team->hosted * this->chunks);
}

/* Finds the largest |u_j| of all ranks, by a sum in which each rank has its own entry. */
static parley_status agree_largest(pl_scd *this, double mine, parley_error *error) {
    pl_engine *engine = this->team->engine;
    double *slots, *sums = NULL;
    this->largest = mine;
    if (engine->ranks == 1)
        return PARLEY_OK;
    parley_status status = pl_take(&slots, 2 * (uint64_t)engine->ranks, sizeof *slots, "the dual point", error);
    if (status != PARLEY_OK)
        return status;
    sums = slots + engine->ranks;
    slots[engine->rank] = mine;
    status = pl_sum_workers(engine, PL_EACH_RANK, slots, engine->ranks, sums, error);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        this->largest = fmax(this->largest, sums[r]);
    pl_free(slots);
    return status;
}

static parley_status sum_columns(pl_scd *this, double *sums, parley_error *error) {
    const pl_team *team = this->team;
    double *all = team->worker_sums, mine = 0;
    run_columns(this, penalty_task);
    for (unsigned k = 0; k < team->hosted; k++) {
        double *of = all + k * COLUMN_SUMS;
        memset(of, 0, COLUMN_SUMS * sizeof *of);
        for (unsigned c = 0; c < this->chunks; c++) {
            const double *chunk = this->sums + ((uint64_t)k * this->chunks + c) * COLUMN_SUMS;
            mine = fmax(mine, chunk[SUM_LARGEST]);
            for (unsigned s = SUM_PENALTY; s < COLUMN_SUMS; s++)
                of[s] += chunk[s];
        }
        this->workers[k].supported = (uint64_t)of[SUM_SUPPORT];
    }
    parley_status status = pl_team_sum(team, all, COLUMN_SUMS, sums, error);
    return status == PARLEY_OK ? agree_largest(this, mine, error) : status;
}

/* Computes D at t, or at c t if that is better or the only feasible point. */
static parley_status judge(pl_scd *this, const double *sums, pl_evaluation *at, parley_error *error) {
    const pl_glm *glm = this->glm;
    parley_status status = PARLEY_OK;
    double plain = -INFINITY, scale = this->largest > glm->l1 ? glm->l1 / this->largest : 1.0;
    pl_evaluation scaled = *at;
    at->penalised = true;
    at->penalty = sums[SUM_PENALTY];
    if (glm->l2 > 0) {
        at->penalty_conjugate = 0.5 * sums[SUM_CONJUGATE] / glm->l2;
        plain = -at->conjugate - at->penalty_conjugate;
    }
    if (glm->l1 > 0 && scale < 1) {
        row_pass pass = {this, this->v, {scale, scale}};
        pass.scale[at->heavy] *= 1.0 - at->tilt;
        status = pl_total_rows(this->team, conjugate_row, &pass, 1, &scaled.conjugate, error);
    }
    if ((glm->l1 > 0 || scale == 1) && -scaled.conjugate > plain) {
        at->conjugate = scaled.conjugate;
        at->penalty_conjugate = 0;
    }
    at->tilt = 0; /* repaired before u was computed */
    return status;
}

/* Looks at all columns, or only at those whose |u_j| may have reached l1 since the last look at all. */
static parley_status decide(pl_scd *this, parley_error *error) {
    const pl_team *team = this->team;
    double visits, squares;
    this->all = this->drift < 0 || this->glm->l1 == 0;
    if (this->all)
        return PARLEY_OK;
    parley_status status = pl_total_rows(team, drift_row, this, 1, &squares, error);
    if (status != PARLEY_OK)
        return status;
    this->drift = sqrt(squares);
    run_columns(this, count_task);
    for (unsigned k = 0; k < team->hosted; k++) {
        team->worker_sums[k] = 0;
        for (unsigned c = 0; c < this->chunks; c++)
            team->worker_sums[k] += this->sums[((uint64_t)k * this->chunks + c) * COLUMN_SUMS];
    }
    status = pl_team_sum(team, team->worker_sums, 1, &visits, error);
    this->all = visits > MOST_VISITS * (double)this->x->nonzeros;
    return status;
}

/* If only the penalty changed, t stays the same, and columns that were far below the last l1 must be visited. */
static void look_again(pl_scd *this) {
    this->all = false;
    run_columns(this, dot_task);
}

/* Computes t, and u from it. */
static parley_status make_dual_point(pl_scd *this, const double *v, parley_error *error) {
    double sides[PL_ROW_SUMS];
    row_pass pass = {this, v, {1, 1}};
    parley_status status = pl_total_rows(this->team, side_row, &pass, PL_ROW_SUMS, sides, error);
    if (status == PARLEY_OK)
        status = pl_total_rows(this->team, square_row, &pass, 1, &this->curvature_squares, error);
    if (status != PARLEY_OK)
        return status;
    pl_evaluation_fill(this->glm, sides, this->b, &this->found);
    pass.scale[this->found.heavy] -= this->found.tilt;
    run_rows(this, scale_task, &pass);
    status = decide(this, error);
    if (status != PARLEY_OK)
        return status;
    run_columns(this, dot_task);
    if (this->all) {
        memcpy(this->anchor_qt, this->qt, this->x->columns * sizeof *this->qt);
        this->drift = 0;
    }
    return status;
}

static parley_status look_columns(pl_scd *this, const double *v, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (this->again && this->glm->l1 > 0 && this->l1_looked > 0)
        look_again(this);
    else {
        this->again = false;
        status = make_dual_point(this, v, error);
    }
    this->l1_looked = this->glm->l1;
    this->columns_known = status == PARLEY_OK;
    this->again = this->renewed = this->penalty_known = false;
    return status;
}

parley_status pl_scd_look(pl_scd *this, const double *v, parley_error *error) {
    double sums[COLUMN_SUMS];
    parley_status status = pl_scd_look_rows(this, v, error);
    this->v = v;
    if (status == PARLEY_OK && !this->columns_known)
        status = look_columns(this, v, error);
    if (status != PARLEY_OK || this->penalty_known)
        return status;
    pl_evaluation at = this->found;
    status = sum_columns(this, sums, error);
    if (status == PARLEY_OK)
        status = judge(this, sums, &at, error);
    double before = this->objective;
    this->objective = at.value + at.penalty;
    this->gap = fmax(0.0, this->objective + at.conjugate + at.penalty_conjugate);
    /* Below the safe sigma only quadratic losses are sure to descend, so sigma is raised if P rose. */
    if (this->objective > before * (1.0 + 1e-12))
        this->caution *= 2.0;
    this->evaluation = at;
    this->penalty_known = status == PARLEY_OK;
    return status;
}
