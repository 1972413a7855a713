/* scd.c: primal coordinate descent on columns, the local solver of CoCoA and CoCoA+ by columns (Smith et al. 2018), for
 * smooth losses of bounded curvature and any penalty.
 *
 * v is X w, one entry per row. If the intercept b is free, v is defined only up to a constant, because b is solved on
 * v. A worker owns the w_j of its columns. The joint effect of the workers' changes A_k D_k is bounded by the effect
 * that each would have alone if it were sigma times as large: the mean loss is convex, so for sigma = K
 *
 *     f(v + sum_k A_k D_k) <= (1/K) sum_k f(v + K A_k D_k)
 *
 * and each worker minimises its term on the right plus its penalty (scd_solve.c). For quadratic losses the same holds
 * for any sigma >= |sum A_k D_k|^2 / sum |A_k D_k|^2, which `add` watches; for others P is watched too.
 *
 * Every look at v (scd_certificate.c) gives the certificate and the next working sets (scd_set.c). The loop asks for
 * one when the working sets are solved, or when it costs little compared with the steps made since. */
#include "linear/columns/scd.h"

#include <math.h>
#include <string.h>

#include "engine/collective.h"

#define MOST_PROGRESS 0.01 /* working sets are solved to a part of the gap equal to their share of the non-zeros, */
#define LEAST_PROGRESS 0.1 /* within these limits, since small sets cost less than the next look */
#define GRAM_PROGRESS 1e-6 /* with steps by inner products that costs almost nothing */
#define TARGET_SHARE 0.75  /* but not beyond this part of the run's target, */
#define SMALL_SET 5.0      /* or this multiple of their share of the non-zeros, since small sets cost little */
#define MOST_PACE 2.0      /* extrapolate at most this multiple of the last change of the penalty */
#define READING 0.4        /* cost of a pass that only reads, relative to one that steps */
#define START_ROWS 4096    /* rows of all workers that are added up at a time */

static void choose_task(void *context, unsigned k) {
    pl_scd *self = context;
    double began = pl_engine_now(self->team->engine);
    pl_scd_choose(self, &self->workers[k]);
    self->workers[k].seconds = pl_engine_now(self->team->engine) - began;
}

static void solve_task(void *context, unsigned k) {
    pl_scd *self = context;
    pl_scd_worker *worker = &self->workers[k];
    double began = pl_engine_now(self->team->engine);
    if (self->columns_known && self->gap <= self->target)
        worker->members = 0; /* there is nothing left to do */
    pl_scd_solve(self, worker, self->team->first + k);
    worker->seconds += pl_engine_now(self->team->engine) - began;
}

static void report(const pl_scd *self, double looked, pl_update *update) {
    for (unsigned k = 0; k < self->team->hosted; k++) {
        const pl_scd_worker *worker = &self->workers[k];
        uint64_t nonzeros = self->columns->nonzeros[k];
        update[k] = (pl_update){.shrink = 1.0,
                                .weight = self->columns->weight[k],
                                .count = self->x->columns,
                                .value = worker->change,
                                .seconds = worker->seconds + looked,
                                .passes = nonzeros ? worker->visited / (double)nonzeros : 1.0};
        update[k].scalars[PL_SUM_SPREAD] = update[k].scalars[PL_SUM_CHANGE] = worker->spread;
    }
}

/* Agrees on the size of the working sets of all workers, and whether all are solved. */
static parley_status agree(pl_scd *self, parley_error *error) {
    const pl_team *team = self->team;
    double sums[2];
    for (unsigned k = 0; k < team->hosted; k++) {
        team->worker_sums[2 * k] = (double)self->workers[k].nonzeros;
        team->worker_sums[2 * k + 1] = !self->workers[k].solved;
    }
    parley_status status = pl_team_sum(team, team->worker_sums, 2, sums, error);
    self->share = self->x->nonzeros ? fmin(1.0, sums[0] / (double)self->x->nonzeros) : 1.0;
    self->solved = sums[1] == 0;
    return status;
}

/* How far the next solution lies on the line through the last two. */
static void pace(pl_scd *self) {
    double change = self->l1_then - self->l1_last;
    if (!self->predicting)
        return;
    self->pace = self->l1_last > 0 && change < 0 ? fmin(MOST_PACE, (self->glm->base.l1 - self->l1_then) / change) : 0.0;
    self->l1_last = self->l1_then;
}

/* If sets are solved and the gap is still too large, their estimate is wrong, so they are solved further. */
static double strictness(pl_scd *self) {
    if (self->l1_then != fmax(self->glm->base.l1, 1e-300))
        self->strict = 1.0; /* the penalty changed */
    else if (self->columns_known && self->solved && self->gap > self->target)
        self->strict *= 0.25;
    return self->strict;
}

/* The part of the gap to which sets are solved. */
static double progress_of(const pl_scd *self) {
    if (pl_scd_is_full(self->x))
        return LEAST_PROGRESS; /* a look is cheap there */
    if (self->gram.slots && pl_scd_covariance_pays(self, self->workers))
        return GRAM_PROGRESS;
    return self->l1_then > 0 ? fmin(LEAST_PROGRESS, fmax(MOST_PROGRESS, self->share))
                             : LEAST_PROGRESS; /* the first set is a guess */
}

static void set_tolerance(pl_scd *self) {
    double workers = self->team->workers, progress = progress_of(self);
    double least = strictness(self) * fmin(TARGET_SHARE, SMALL_SET * self->share) * self->target;
    if (self->columns_known)
        self->tolerance = fmax(progress * self->gap, least) / workers;
    else if (self->renewed) /* v stays: the strong rule is seldom wrong, so the set may well be the last */
        self->tolerance = fmax(progress * progress * self->gap, least) / workers;
    else
        self->tolerance *= LEAST_PROGRESS; /* there was no look: continue with the same sets */
}

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    pl_scd *self = (pl_scd *)local;
    pl_engine *engine = self->team->engine;
    double began = pl_engine_now(engine), workers = self->team->workers;
    bool look = !self->renewed && (self->columns_known || self->l1_then == 0);
    (void)evaluation;
    parley_status status = look ? pl_scd_certify(self, v, error) : pl_scd_certify_rows(self, v, error);
    if (status != PARLEY_OK)
        return status;
    self->v = v;
    self->round = round;
    self->choosing = self->columns_known || self->renewed;
    self->batch = self->delayed ? pl_round_steps(round, (double)self->x->rows / workers) + 1 : 1.0;
    self->sigma = fmin(workers, round->sigma * self->caution) * self->batch;
    double looked = pl_engine_now(engine) - began;
    for (unsigned k = 0; k < self->team->hosted; k++)
        self->workers[k].seconds = 0;
    if (self->choosing)
        engine->type->run(engine, choose_task, self, self->team->hosted);
    set_tolerance(self);
    pace(self);
    if (self->team->hosted == 1)
        solve_task(self, 0); /* run it here, so that it has the threads */
    else
        engine->type->run(engine, solve_task, self, self->team->hosted);
    report(self, looked, update);
    if (self->choosing)
        self->l1_then = fmax(self->glm->base.l1, 1e-300);
    self->rows_known = self->columns_known = self->penalty_known = self->renewed = self->predicting = false;
    return agree(self, error);
}

static void commit(pl_local *local, unsigned k, double gamma) {
    pl_scd *self = (pl_scd *)local;
    pl_scd_worker *worker = &self->workers[k];
    for (uint64_t m = 0; m < worker->members && gamma != 1.0; m++) {
        double *w = &self->w[worker->set[m]];
        *w = worker->begun[m] + gamma * (*w - worker->begun[m]);
    }
    worker->offset += gamma * worker->pending;
}

/* Gathers the non-zero w_j of all ranks, as pairs of index and value. */
static parley_status gather(const pl_scd *self, double *w, parley_error *error) {
    pl_engine *engine = self->team->engine;
    unsigned ranks = engine->ranks, rank = engine->rank;
    double *counts, *table = NULL;
    uint64_t *bounds = NULL, mine = 0;
    parley_status status = pl_take(&counts, 2 * (uint64_t)ranks, sizeof *counts, "the model's parts", error);
    if (status == PARLEY_OK)
        status = pl_take(&bounds, (uint64_t)ranks + 1, sizeof *bounds, "the model's parts", error);
    for (uint64_t j = 0; j <= self->x->rows && status == PARLEY_OK; j++)
        mine += self->w[j] != 0;
    if (status == PARLEY_OK) {
        counts[rank] = (double)mine;
        status = pl_sum_workers(engine, PL_EACH_RANK, counts, ranks, counts + ranks, error);
    }
    for (unsigned r = 0; r < ranks && status == PARLEY_OK; r++)
        bounds[r + 1] = bounds[r] + 2 * (uint64_t)counts[ranks + r];
    if (status == PARLEY_OK)
        status = pl_take(&table, bounds[ranks], sizeof *table, "the model's parts", error);
    if (status == PARLEY_OK) {
        double *next = table + bounds[rank];
        for (uint64_t j = 0; j <= self->x->rows; j++)
            if (self->w[j] != 0) {
                *next++ = (double)j;
                *next++ = self->w[j];
            }
        status = pl_all_gather(engine, table, bounds, error);
    }
    for (uint64_t e = 0; status == PARLEY_OK && e < bounds[ranks]; e += 2)
        w[(uint64_t)table[e]] = table[e + 1];
    pl_free(table);
    pl_free(bounds);
    pl_free(counts);
    return status;
}

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    const pl_scd *self = (const pl_scd *)local;
    const pl_glm *glm = self->glm;
    double offset = 0;
    parley_status status = PARLEY_OK;
    (void)v;
    memset(w, 0, glm->base.size * sizeof *w);
    if (self->team->engine->ranks == 1)
        memcpy(w, self->w, glm->base.size * sizeof *w);
    else
        status = gather(self, w, error);
    for (unsigned k = 0; k < self->team->hosted; k++)
        self->team->worker_sums[k] = self->workers[k].offset;
    if (status == PARLEY_OK && glm->intercept == PL_FREE) {
        status = pl_team_sum(self->team, self->team->worker_sums, 1, &offset, error);
        w[self->x->rows] = self->b - offset;
    }
    return status;
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    pl_scd *self = (pl_scd *)local;
    (void)update;
    parley_status status = pl_scd_certify(self, v, error);
    *evaluation = pl_evaluation_of(&self->evaluation);
    return status == PARLEY_OK ? primal(local, v, w, error) : status;
}

static double evaluate_passes(const pl_local *local) {
    const pl_scd *self = (const pl_scd *)local;
    return self->solved ? 0.0 : READING * self->share;
}

/* worker->change = A_k w_k. */
static void multiply_task(void *context, unsigned k) {
    pl_scd *self = context;
    pl_scd_worker *worker = &self->workers[k];
    const pl_matrix *x = self->x;
    memset(worker->change, 0, x->columns * sizeof *worker->change);
    for (uint64_t n = 0; n < worker->count && !pl_stop_due(); n++) {
        uint64_t j = worker->column[n], begin = x->start[j];
        if (j == x->rows || self->w[j] == 0)
            continue;
        pl_sparse_add(x->index + begin, pl_values_from(x->values, begin), x->start[j + 1] - begin,
                      self->w[j] * pl_column_scale(self->glm, j), worker->change);
    }
}

/* v = sum_k worker->change, in the order of the canonical tree. */
static parley_status add_changes(const pl_scd *self, double *v, parley_error *error) {
    uint64_t rows = self->x->columns, hosted = self->team->hosted;
    double *part;
    if (self->team->workers == 1 && self->team->engine->ranks == 1) {
        memcpy(v, self->workers[0].change, rows * sizeof *v);
        return pl_stop_check(error);
    }
    parley_status status = pl_take(&part, hosted * START_ROWS, sizeof *part, "the start", error);
    for (uint64_t i = 0; i < rows && status == PARLEY_OK; i += START_ROWS) {
        uint64_t count = rows - i < START_ROWS ? rows - i : START_ROWS;
        for (uint64_t k = 0; k < hosted; k++)
            memcpy(part + k * count, self->workers[k].change + i, count * sizeof *part);
        status = pl_team_sum(self->team, part, (unsigned)count, v + i, error);
    }
    pl_free(part);
    return status;
}

static parley_status start(pl_local *local, const double *w, const double *rows, double *v, parley_error *error) {
    (void)rows;
    pl_scd *self = (pl_scd *)local;
    const pl_matrix *x = self->x;
    pl_engine *engine = self->team->engine;
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_scd_worker *worker = &self->workers[k];
        worker->offset = 0;
        for (uint64_t n = 0; n < worker->count; n++)
            self->w[worker->column[n]] = w[worker->column[n]];
    }
    engine->type->run(engine, multiply_task, self, self->team->hosted);
    parley_status status = add_changes(self, v, error);
    if (self->glm->intercept == PL_PENALISED)
        for (uint64_t i = 0; i < x->columns; i++)
            v[i] += w[x->rows];
    self->b = self->glm->intercept == PL_FREE ? w[x->rows] : 0.0;
    self->objective = INFINITY;
    self->l1_then = self->l1_before = self->l1_last = 0;
    self->rows_known = self->columns_known = self->penalty_known = self->renewed = self->predicting = false;
    return status;
}

/* u does not depend on the penalty, so no pass over the data is needed before the next round. */
static parley_status renew(pl_local *local, double *v, parley_error *error) {
    pl_scd *self = (pl_scd *)local;
    (void)v, (void)error;
    self->renewed = self->l1_then > 0;
    self->predicting = self->renewed && !self->quadratic;
    self->l1_before = self->l1_then;
    self->again = self->columns_known;
    self->columns_known = self->penalty_known = false;
    self->objective = INFINITY;
    return PARLEY_OK;
}

const double *pl_scd_metric(const pl_local *local) {
    return local->type == &pl_local_scd ? ((const pl_scd *)local)->metric : NULL;
}

static const char *const reads[] = {"local_epochs", "local_steps", "updates", "lanes", NULL};

static const pl_local_restart restart = {.start = start, .renew = renew};

const pl_local_type pl_local_scd = {
    .name = "scd",
    .help = "primal coordinate descent on columns; needs a smooth loss of bounded curvature",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_PENALTY | PL_FACT_DUAL | PL_FACT_BOUNDED | PL_FACT_ONE_OUTPUT,
    .traits = PL_GIVES_CHANGES | PL_KNOWS_SIGMA | PL_OWNS_COLUMNS,
    .settings = reads,
    .restart = &restart,
    .bytes = pl_scd_bytes,
    .open = pl_scd_open,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = evaluate_passes,
    .commit = commit,
    .primal = primal,
    .state = pl_scd_state,
    .close = pl_scd_close,
};
