/* sdca.c: dual coordinate ascent on rows, the local solver of CoCoA and CoCoA+ (Smith et al. 2016; Ma et al. 2015).
 *
 * v is u = sum_i q_i t_i x_i, and w = soft(u, l1) / l2. A worker owns the dual variables t_i of its rows. With D the
 * change that it has made to u so far this round, a step on row i is
 *
 *     z = x_i . soft(u + sigma D, l1) / l2 + b,   h = sigma q_i |x_i|^2 / l2,   t_i <- loss.dual_step(z, y_i, t_i, h)
 *
 * where sigma bounds how much the changes of workers that step at the same time may add up.
 *
 * Lanes. A worker's rows are redistributed to its lanes every epoch, and each lane works on a copy of u. Up to twice in
 * an epoch the lanes' changes D_l are added. With r = |sum D_l|^2 / sum |D_l|^2, the sum is safe at step min(1,
 * sigma/r), because the quadratic bound of the sub-problems then holds for it; and sigma follows r. Where few rows stay
 * active, lanes that share them hinder each other, and the first lane works alone.
 *
 * A free intercept has no step of its own on sum q t = 0. The method of multipliers gives it one, b = b0 + (1/mu) sum q
 * t, as one more entry of u, and moves b0 to b every few rounds. A penalised intercept gets the same proximal term,
 * because it would be as stiff otherwise. mu is in glm.h.
 *
 * Order. Rows are visited in buckets of neighbours, shuffled every epoch: random access is expensive, and a fixed order
 * never converges. Rows whose t stays at a bound rest (sdca_active.c). */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/stop.h"
#include "engine/collective.h"
#include "linear/dual/sdca.h"
#include "math/sparse.h"

#define MULTIPLIER_ROUNDS 2 /* rounds between two moves of b0 */
#define AHEAD 4             /* buckets that facts of a row are prefetched ahead */
#define NEXT 2              /* buckets that the entries of a row are prefetched ahead */

static inline double intercept(const pl_sdca *self, const double *u, uint64_t c) {
    const pl_glm *glm = self->glm;
    uint64_t at = glm->base.data->x.columns * glm->classes + c;
    if (glm->intercept == PL_NO_INTERCEPT)
        return 0.0;
    double pull = u[at] + glm->mu * self->b0[c];
    return (glm->intercept == PL_PENALISED ? pl_soft(pull, glm->base.l1) : pull) * pl_metric(glm, at);
}

double pl_sdca_intercept(const pl_sdca *self, const double *u, uint64_t c) { return intercept(self, u, c); }

/* Makes a step on one row of a lane. */
static void step_row(pl_sdca *self, pl_stepper *stepper, uint64_t i) {
    const pl_glm *glm = stepper->glm;
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[i], count = x->start[i + 1] - begin;
    const uint32_t *index = x->index + begin;
    pl_values values = pl_values_from(x->values, begin);
    double q = pl_share(glm, i), y = pl_target(glm, i), t0 = self->t[i], u_sum;
    if (glm->scale)
        u_sum = pl_sparse_dot_scaled(index, values, count, stepper->seen, glm->scale, glm->base.l1);
    else
        u_sum = glm->base.l1 > 0 ? pl_sparse_dot_soft(index, values, count, stepper->seen, glm->base.l1)
                                 : pl_sparse_dot(index, values, count, stepper->seen);
    double z = u_sum * stepper->inverse + intercept(self, stepper->seen, 0) + pl_offset(glm, i);
    double h = stepper->sigma * q * (glm->norm2[i] * stepper->inverse + stepper->intercept_metric);
    double t = stepper->loss->dual_step(stepper->loss, z, y, t0, h);
    stepper->stepped += count;
    stepper->residual += q * stepper->loss->residual(stepper->loss, z, y, t0, t, h);
    if (self->t_piece)
        self->t_piece[i] = t0;
    if (self->rest)
        pl_sdca_rest(self, stepper, i, stepper->loss->depth(stepper->loss, z, y, t0), t != t0);
    if (t == t0)
        return;
    self->t[i] = t;
    double a = stepper->sigma * q * (t - t0);
    stepper->spread += q * (t - t0) * (t - t0) * h / stepper->sigma;
    if (glm->scale)
        pl_sparse_add_scaled(index, values, count, a, stepper->u, glm->scale);
    else
        pl_sparse_add(index, values, count, a, stepper->u);
    if (glm->intercept != PL_NO_INTERCEPT)
        stepper->u[x->columns] += a;
}

/* Copies the dual variables of a row that rests for a while, which do not change in this piece. */
static void keep_resting(pl_sdca *self, uint64_t i) {
    uint64_t classes = self->glm->classes;
    if (self->rest[i] == PL_SDCA_LEFT)
        return;
    self->rest[i]--;
    if (self->t_piece)
        memcpy(self->t_piece + i * classes, self->t + i * classes, classes * sizeof *self->t);
}

/* Prefetches what a step on a row reads beside its entries. */
static inline void prefetch_row(const pl_sdca *self, uint64_t i) {
    const pl_glm *glm = self->glm;
    pl_prefetch(glm->base.data->x.start + i);
    pl_prefetch(glm->base.data->label + i);
    pl_prefetch(glm->norm2 + i);
    pl_prefetch(self->t + i * glm->classes);
}

static void visit(pl_sdca *self, pl_stepper *stepper, const uint64_t *buckets, uint64_t count) {
    const pl_matrix *x = &stepper->glm->base.data->x;
    bool several = stepper->glm->classes > 1;
    for (uint64_t n = 0; n < count && !pl_stop_due(); n++) {
        if (n + AHEAD < count)
            prefetch_row(self, pl_bucket_row(buckets[n + AHEAD]));
        if (n + NEXT < count) {
            uint64_t next = pl_bucket_row(buckets[n + NEXT]);
            pl_sparse_prefetch(x->index, x->values, x->start[next], x->start[next + 1]);
        }
        for (uint64_t i = pl_bucket_row(buckets[n]); i < pl_bucket_end(buckets[n]); i++)
            if (self->rest && (self->rest[i] & 15))
                keep_resting(self, i);
            else if (several)
                pl_sdca_step_classes(self, stepper, i);
            else
                step_row(self, stepper, i);
    }
}

static void lane_task(void *context, unsigned task) {
    pl_sdca *self = context;
    const pl_glm *glm = self->glm;
    unsigned lanes = self->team->lanes, l = task % lanes;
    pl_sdca_worker *worker = &self->workers[task / lanes];
    pl_sdca_lane *lane = &self->lanes[task];
    double began = pl_engine_now(self->team->engine);
    uint64_t begin = pl_lane_begin(worker, l, lanes), end = pl_lane_begin(worker, l + 1, lanes);
    pl_stepper stepper = {.glm = glm,
                          .loss = glm->loss,
                          .u = lane->u,
                          .seen = self->delayed ? self->v : lane->u,
                          .sigma = self->sigma * worker->lane_sigma,
                          .bound = worker->activity.bound,
                          .inverse = 1.0 / glm->base.l2};
    if (glm->intercept != PL_NO_INTERCEPT)
        stepper.intercept_metric = pl_metric(glm, glm->base.data->x.columns * glm->classes);
    visit(self, &stepper, worker->buckets + begin, end - begin);
    lane->residual += worker->repeats ? 0.0 : stepper.residual;
    lane->piece_residual = stepper.residual;
    lane->worst = stepper.worst;
    lane->step_spread += stepper.spread;
    lane->stepped += stepper.stepped;
    lane->seconds += pl_engine_now(self->team->engine) - began;
}

/* Sets up the next piece of every worker. Returns false when the round is complete. */
static bool next_pieces(pl_sdca *self) {
    bool more = false;
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_sdca_worker *worker = &self->workers[k];
        worker->cursor += worker->piece;
        if (worker->cursor >= worker->active && worker->piece) {
            worker->cursor = 0;
            if (worker->left)
                pl_sdca_begin_epoch(self, k);
        }
        uint64_t syncs = worker->turns || worker->one_lane ? 1 : worker->syncs,
                 piece = (worker->active + syncs - 1) / syncs;
        uint64_t most = worker->active - worker->cursor;
        piece = piece < most ? piece : most;
        worker->piece = piece < worker->left ? piece : worker->left;
        worker->left -= worker->piece;
        worker->fresh += worker->repeats ? 0.0 : (double)worker->piece;
        more = more || worker->piece;
    }
    return more;
}

/* Entry j of v, at place e, as the worker sees it at the start of the round. With momentum m the round starts at t + m
 * (t - last t): u is ahead for all workers, and the worker's own part of that counts sigma times in its sub-problem. */
static double first_u(const pl_sdca *self, const pl_sdca_worker *worker, uint64_t e, uint64_t j) {
    if (self->momentum == 0)
        return self->v[j];
    return self->v[j] + self->momentum * ((self->v[j] - self->v_previous[j]) - self->sigma * worker->previous[e]);
}

/* Copies u and the dual variables of a lane's rows at the start of the round. In place, a round is never undone, and a
 * single lane needs no copy of u. One of several workers keeps the initial u where its change will be, and does not
 * read v again. */
static void begin_task(void *context, unsigned task) {
    pl_sdca *self = context;
    const pl_part *part = &self->team->parts[task];
    const pl_sdca_worker *worker = &self->workers[task / self->team->lanes];
    pl_sdca_lane *lane = &self->lanes[task];
    bool first = task % self->team->lanes == 0, keeps = first && worker->previous;
    double began = pl_engine_now(self->team->engine);
    uint64_t classes = self->glm->classes;
    *lane = (pl_sdca_lane){.u = lane->u};
    for (uint64_t r = 0; r < part->count && !self->in_place; r++) {
        uint64_t begin = part->ranges[r].begin, rows = part->ranges[r].end - begin;
        memcpy(self->t_round + begin * classes, self->t + begin * classes, rows * classes * sizeof *self->t);
    }
    if (lane->u == self->v || self->in_step)
        return;
    if (!worker->support && self->momentum == 0) {
        memcpy(lane->u, self->v, self->glm->base.size * sizeof *lane->u);
        if (keeps)
            memcpy(worker->change, self->v, self->glm->base.size * sizeof *lane->u);
    } else
        for (uint64_t s = 0, number = 0; s < worker->supported; s++)
            for (uint64_t c = 0; c < classes; c++, number++) {
                uint64_t j = (worker->support ? worker->support[s] : s) * classes + c, e = worker->wide ? j : number;
                lane->u[j] = first_u(self, worker, e, j);
                if (keeps)
                    worker->change[e] = lane->u[j];
            }
    if (first && lane->u != worker->current && !self->in_place)
        memcpy(worker->current, lane->u, self->glm->base.size * sizeof *lane->u);
    lane->seconds = lane->fixed = pl_engine_now(self->team->engine) - began;
}

/* Turns entries [begin, end) of u, rows of `classes` entries with the same metric, into the worker's change, and
 * compares it with the others' and with the last round's. */
static void end_rows(const pl_sdca *self, pl_sdca_worker *worker, uint64_t begin, uint64_t end, double metric) {
    double inverse = 1.0 / self->sigma, spread = worker->spread, squared = worker->squared, turn = worker->turn;
    uint64_t classes = self->glm->classes;
    for (uint64_t s = begin, number = begin * classes; s < end; s++)
        for (uint64_t c = 0; c < classes; c++, number++) {
            uint64_t j = (worker->support ? worker->support[s] : s) * classes + c, e = worker->wide ? j : number;
            double change = (worker->current[j] - worker->change[e]) * inverse, last = worker->previous[e];
            double ahead = change - self->momentum * last;
            worker->change[e] = change;
            spread += metric * ahead * ahead;
            squared += metric * change * change;
            turn += metric * change * last;
        }
    worker->spread = spread;
    worker->squared = squared;
    worker->turn = turn;
}

/* Turns u as the worker sees it into its change of u. */
static void end_task(void *context, unsigned k) {
    pl_sdca *self = context;
    const pl_glm *glm = self->glm;
    pl_sdca_worker *worker = &self->workers[k];
    double began = pl_engine_now(self->team->engine), inverse = 1.0 / self->sigma;
    uint64_t all = worker->supported, columns = all - (glm->intercept != PL_NO_INTERCEPT);
    worker->spread = worker->squared = worker->turn = 0;
    if (self->in_place)
        return;
    if (!worker->previous) /* a single worker: not needed */
        for (uint64_t j = 0; j < all * glm->classes; j++)
            worker->change[j] = (worker->current[j] - self->v[j]) * inverse;
    else {
        end_rows(self, worker, 0, columns, pl_metric(glm, 0));
        end_rows(self, worker, columns, all, pl_metric(glm, glm->base.data->x.columns * glm->classes));
    }
    double ended = pl_engine_now(self->team->engine);
    self->lanes[k * self->team->lanes].seconds += ended - began;
    self->lanes[k * self->team->lanes].fixed += ended - began;
}

static void set_steps(pl_sdca *self, const pl_round *round) {
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_sdca_worker *worker = &self->workers[k];
        double rows = (double)self->team->rows[k];
        if (worker->cursor == 0 && rows > 0)
            pl_sdca_begin_epoch(self, k);
        double whole = (double)(worker->turns ? worker->count : worker->active);
        double buckets = rows > 0 ? ceil(pl_round_steps(round, rows) / rows * whole - 1e-9) : 0;
        worker->left = buckets < 1 && rows > 0 ? 1 : (uint64_t)buckets;
        worker->piece = 0;
        worker->fresh = 0;
        worker->share = whole > 0 ? (double)worker->left / whole : 0;
    }
}

static void report(pl_sdca *self, pl_update *update) {
    const pl_team *team = self->team;
    for (unsigned k = 0; k < team->hosted; k++) {
        pl_sdca_worker *worker = &self->workers[k];
        pl_sdca_lane *first = &self->lanes[k * team->lanes];
        double residual = 0, seconds = 0, stepped = 0, spread = 0;
        double seen = worker->turns && worker->count ? worker->fresh / (double)worker->count : worker->share;
        for (unsigned l = 0; l < team->lanes; l++) {
            residual += first[l].residual;
            stepped += (double)first[l].stepped;
            spread += first[l].step_spread;
            seconds = fmax(seconds, first[l].seconds);
        }
        worker->syncs = worker->share > 0 ? pl_lane_syncs(self, stepped / worker->share) : worker->syncs;
        update[k].shrink = 1.0;
        update[k].weight = team->weight[k];
        update[k].count = worker->supported * self->glm->classes;
        update[k].row = self->glm->classes;
        update[k].index = worker->support;
        update[k].wide = worker->wide;
        update[k].value = worker->change;
        update[k].seconds = seconds;
        update[k].fixed = first->fixed;
        update[k].passes = team->nonzeros[k] ? stepped / (double)team->nonzeros[k] : worker->share;
        update[k].residual = seen > 0 ? residual / seen : 0;
        update[k].scalars[PL_SUM_SPREAD] = self->delayed ? self->batch * spread : worker->spread;
        update[k].scalars[PL_SUM_CHANGE] = worker->squared;
        update[k].scalars[PL_SUM_TURN] = worker->turn;
    }
}

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    pl_sdca *self = (pl_sdca *)local;
    const pl_team *team = self->team;
    pl_engine *engine = team->engine;
    (void)evaluation, (void)error;
    self->v = v;
    self->batch = self->delayed ? pl_round_steps(round, (double)team->all_rows / team->workers) + PL_BUCKET_MOST : 1.0;
    self->sigma = round->sigma * self->batch;
    self->momentum = self->v_previous && !self->delayed ? round->momentum : 0.0;
    if (self->glm->intercept != PL_NO_INTERCEPT && round->number % MULTIPLIER_ROUNDS == 0)
        for (uint64_t c = 0; c < self->glm->classes; c++)
            self->b0[c] = intercept(self, v, c);
    if (self->in_place) {
        self->workers->current = self->workers->change = v;
        self->lanes->u = team->lanes == 1 ? v : self->lanes->u;
    }
    pl_team_run(team, begin_task, self);
    if (self->v_previous)
        memcpy(self->v_previous, v, self->glm->base.size * sizeof *v);
    set_steps(self, round);
    while (next_pieces(self) && !pl_stop_due()) {
        pl_team_run(team, lane_task, self);
        for (unsigned k = 0; k < team->hosted; k++)
            pl_sdca_note_piece(self, k);
        if (team->lanes > 1)
            pl_lanes_sync(self);
    }
    self->in_step = self->in_place; /* only `start` changes v otherwise */
    engine->type->run(engine, end_task, self, team->hosted);
    report(self, update);
    return PARLEY_OK;
}

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    const pl_sdca *self = (const pl_sdca *)local;
    const pl_glm *glm = self->glm;
    double inverse = 1.0 / glm->base.l2;
    uint64_t penalised = glm->base.data->x.columns * glm->classes;
    for (uint64_t j = 0; j < penalised; j++)
        w[j] = (glm->base.l1 > 0 ? pl_soft(v[j], glm->base.l1) : v[j]) * inverse;
    for (uint64_t c = 0; c < glm->classes && glm->intercept != PL_NO_INTERCEPT; c++)
        w[penalised + c] = intercept(self, v, c);
    return PARLEY_OK;
}

/* Evaluates one output, whose margins at w are known, and writes the best intercept to w. */
static parley_status evaluate_rows(pl_sdca *self, const double *v, double *w, parley_error *error) {
    const pl_glm *glm = self->glm;
    double b = intercept(self, v, 0);
    parley_status status = PARLEY_OK;
    if (pl_centres(glm))
        status = pl_centre(glm, self->team, self->z, PL_SDCA_CENTRED, &b, error);
    if (glm->intercept != PL_NO_INTERCEPT)
        w[glm->base.data->x.columns] = self->b[0] = b;
    if (status == PARLEY_OK)
        status = pl_evaluate_rows(glm, self->team, self->z, b, self->t, &self->at, error);
    if (status == PARLEY_OK && !self->plain)
        status = pl_rescale_hinge(glm, self->team, self->z, w, &self->at, error);
    return status;
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    pl_sdca *self = (pl_sdca *)local;
    parley_status status = primal(local, v, w, error);
    (void)update;
    pl_margins(self->glm, self->team, w, self->z);
    if (status == PARLEY_OK)
        status = self->glm->classes > 1 ? pl_sdca_evaluate_classes(self, w, error) : evaluate_rows(self, v, w, error);
    *evaluation = pl_evaluation_of(&self->at);
    return status;
}

/* A pass that only reads, in order, costs two fifths of one that steps. */
static double evaluate_passes(const pl_local *local) {
    (void)local;
    return 0.4;
}

static void commit(pl_local *local, unsigned k, double gamma) {
    pl_sdca *self = (pl_sdca *)local;
    pl_sdca_worker *worker = &self->workers[k];
    uint64_t classes = self->glm->classes;
    if (gamma == 1.0 && worker->previous) { /* the next change is written where the last one was */
        double *last = worker->previous;
        worker->previous = worker->change;
        worker->change = last;
    } else
        for (uint64_t e = 0; worker->previous && e < pl_sdca_places(self, worker); e++)
            worker->previous[e] = gamma * worker->change[e];
    if (gamma == 1.0)
        return;
    for (unsigned l = 0; l < self->team->lanes; l++) {
        const pl_part *part = &self->team->parts[k * self->team->lanes + l];
        for (uint64_t r = 0; r < part->count; r++)
            for (uint64_t e = part->ranges[r].begin * classes; e < part->ranges[r].end * classes; e++) {
                worker->activity.wake |= self->rest && self->rest[e / classes] && self->t[e] != self->t_round[e];
                self->t[e] = self->t_round[e] + gamma * (self->t[e] - self->t_round[e]);
            }
    }
}

/* Wakes resting rows, which may have become active unnoticed. */
static bool stalled(pl_local *local) { return pl_sdca_wake((pl_sdca *)local); }

static const char *const reads[] = {"local_epochs", "local_steps", "updates", "lanes", "block", NULL};

static const pl_local_restart restart = {pl_sdca_start, pl_sdca_renew, pl_sdca_by_row};

const pl_local_type pl_local_sdca = {
    .name = "sdca",
    .help = "dual coordinate ascent on rows; needs an L2 penalty",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_L2 | PL_FACT_EVEN | PL_FACT_SIGNED,
    .traits = PL_GIVES_CHANGES | PL_KNOWS_SIGMA | PL_KNOWS_MOMENTUM | PL_ESTIMATES_GAP | PL_ONLY_READS_V,
    .settings = reads,
    .restart = &restart,
    .bytes = pl_sdca_bytes,
    .open = pl_sdca_open,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = evaluate_passes,
    .commit = commit,
    .primal = primal,
    .stalled = stalled,
    .state = pl_sdca_state,
    .close = pl_sdca_close,
};
