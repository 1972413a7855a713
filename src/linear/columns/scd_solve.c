/* scd_solve.c: a worker's round. With A its columns, D the change of its w and z = v + b, its sub-problem is
 *
 *     min over D, b   (1/sigma) sum_i q_i loss(z_i + sigma (A D)_i + b, y_i) + l1 |w + D|_1 + l2/2 |w + D|^2
 *
 * over its working set. Steps are made on a quadratic model of the loss: with g_j = sum_i c_ij s_i, s_i = q_i (loss'_i
 * + sigma loss''_i (A D)_i), and h_j = sigma sum_i q_i loss''_i c_ij^2,
 *
 *     w_j <- soft(h_j w_j - g_j, l1) / (h_j + l2)
 *
 * A free b is eliminated: after every step it satisfies sum s = 0. This shifts all s_i by q_i loss''_i times a number
 * that is stored separately, and subtracts (sum_i q_i loss''_i c_ij)^2 / sum q loss'' from h_j / sigma. If the loss is
 * not quadratic, the step from one model to the next is found by a line search (proximal Newton). */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/stop.h"
#include "linear/columns/scd.h"

#define MODEL_PROGRESS 0.5 /* a model is solved until its gap falls by this factor */
#define MODEL_EPOCHS 20    /* and for at most this many epochs */
#define GRAM_PROGRESS 0.1  /* the same for steps by the table, which cost little compared with a model */
#define GRAM_EPOCHS 200
#define ORDER_EPOCHS (3 * PL_SCD_PAST)
#define HALVINGS 40
#define GUESSES 2      /* tries of a prediction, which may fail to decrease the model */
#define LONE 64        /* a single worker's round may be this many times longer, since no other worker waits */
#define ENOUGH 0.01    /* least part of the decrease that the model promises */
#define ROUNDING 1e-13 /* relative to a sum over rows: a smaller increase is rounding */
#define LEAST_H 1e-10  /* least part of a column's curvature after eliminating b */
#define MOST_REST 3    /* levels of rest, of 2^level - 1 epochs */

static double column_dot(const pl_scd_solver *solver, uint64_t j, const double *a) {
    const pl_matrix *x = solver->x;
    if (j < x->rows) {
        uint64_t begin = x->start[j];
        return pl_column_scale(solver->scd->glm, j) *
               pl_sparse_dot(x->index + begin, pl_values_from(x->values, begin), x->start[j + 1] - begin, a);
    }
    double sum = 0;
    for (uint64_t i = 0; i < x->columns; i++)
        sum += a[i];
    return sum;
}

static void column_add(const pl_scd_solver *solver, uint64_t j, double a, double *to) {
    const pl_matrix *x = solver->x;
    if (j < x->rows) {
        uint64_t begin = x->start[j];
        pl_sparse_add(x->index + begin, pl_values_from(x->values, begin), x->start[j + 1] - begin,
                      a * pl_column_scale(solver->scd->glm, j), to);
    } else {
        for (uint64_t i = 0; i < x->columns; i++)
            to[i] += a;
    }
}

/* slope += a x curvature x column j. */
static void move_slopes(const pl_scd_solver *solver, uint64_t j, double a, double *slope) {
    const pl_matrix *x = solver->x;
    const double *curvature = solver->worker->curvature;
    if (solver->scd->even > 0) {
        column_add(solver, j, a * solver->scd->even, slope);
    } else if (j < x->rows) {
        uint64_t begin = x->start[j];
        pl_sparse_add_weighted(x->index + begin, pl_values_from(x->values, begin), x->start[j + 1] - begin,
                               a * pl_column_scale(solver->scd->glm, j), curvature, slope);
    } else {
        for (uint64_t i = 0; i < x->columns; i++)
            slope[i] += a * curvature[i];
    }
}

/* Computes curvature and mass of column j in the current model. */
static void measure_column(const pl_scd_solver *solver, uint64_t j) {
    pl_scd *self = solver->scd;
    const pl_matrix *x = solver->x;
    if (j < x->rows) {
        uint64_t begin = x->start[j];
        self->norm2[j] = pl_sparse_moments(x->index + begin, pl_values_from(x->values, begin), x->start[j + 1] - begin,
                                           solver->worker->curvature, &self->mass[j]);
        double scale = pl_column_scale(self->glm, j);
        self->norm2[j] *= scale * scale;
        self->mass[j] *= scale;
    } else {
        self->norm2[j] = self->mass[j] = column_dot(solver, j, solver->worker->curvature);
    }
}

static double penalty_of(const pl_scd_solver *solver, uint64_t j, double w) {
    return pl_factor(solver->scd->glm, j) * fabs(w) * (solver->l1 + 0.5 * solver->l2 * fabs(w));
}

static void see(pl_scd_gap *gap, const pl_scd_solver *solver, uint64_t j, double u, double w) {
    double factor = pl_factor(solver->scd->glm, j), size = pl_pull(solver->scd->glm, j, u) / factor;
    double excess = size > solver->l1 ? size - solver->l1 : 0.0;
    gap->largest = size > gap->largest ? size : gap->largest;
    gap->penalty += penalty_of(solver, j, w);
    gap->pull += u * w;
    gap->excess += factor * excess * excess;
}

/* The gap over the set, at t or at c t, where sum q loss* grows only in second order. */
static double estimate(const pl_scd_solver *solver, const pl_scd_gap *gap) {
    const pl_scd *self = solver->scd;
    double plain = INFINITY, scaled = INFINITY, c = gap->largest > solver->l1 ? solver->l1 / gap->largest : 1.0;
    if (solver->l2 > 0)
        plain = gap->penalty - gap->pull + 0.5 * gap->excess / solver->l2;
    if (solver->l1 > 0)
        scaled = gap->penalty - c * gap->pull +
                 0.5 * (1 - c) * (1 - c) * self->curvature_squares / (double)self->team->workers;
    return fmax(0.0, fmin(plain, scaled));
}

/* Makes a step on member m. Members that stay at 0 rest for a while. */
static void step(pl_scd_solver *solver, uint64_t m, bool measure) {
    pl_scd *self = solver->scd;
    pl_scd_worker *worker = solver->worker;
    uint64_t j = worker->set[m];
    if (measure && !solver->gram)
        measure_column(solver, j);
    uint64_t slot = solver->gram ? self->gram.slot[j] : 0;
    double mass = !solver->free ? 0.0 : solver->gram ? self->gram.mass[slot] : self->mass[j], w = self->w[j];
    double norm2 = solver->gram ? self->gram.norm2[slot] : self->norm2[j];
    double h = solver->sigma * fmax(norm2 - mass * mass / solver->mass, LEAST_H * norm2);
    double g = solver->gram ? self->gram.slope[slot] : column_dot(solver, j, worker->slope);
    g += solver->shift * mass;
    worker->credit += (double)pl_scd_entries(self, j);
    worker->visited += solver->gram ? 1.0 : (double)pl_scd_entries(self, j);
    see(&solver->gap, solver, j, -g, w);
    if (!(h > 0))
        return; /* an empty column */
    double factor = pl_factor(self->glm, j), l2 = factor * solver->l2;
    double next = pl_soft(h * w - g, factor * solver->l1) / (h + l2);
    if (next < 0 && self->glm->non_negative && j < self->x->rows)
        next = 0;
    if (next == 0 && w == 0) {
        unsigned level = worker->rest[m] >> 4;
        level += level < MOST_REST;
        worker->rest[m] = (uint8_t)(level << 4 | ((1u << level) - 1));
        return;
    }
    worker->rest[m] = 0;
    if (next == w)
        return;
    double a = solver->sigma * (next - w);
    self->w[j] = next;
    solver->spread += h / solver->sigma * (next - w) * (next - w);
    if (self->delayed)
        return;
    solver->decrease += 0.5 * (h + l2) * (next - w) * (next - w);
    if (solver->gram)
        pl_scd_covariance_move(&self->gram, slot, a, self->gram.slope);
    else
        move_slopes(solver, j, a, worker->slope);
    solver->shift -= a * mass / solver->mass;
}

/* Visits each member that does not rest. Returns false if H was used up before the end. */
static bool run_epoch(pl_scd_solver *solver, bool fresh) {
    pl_scd *self = solver->scd;
    pl_scd_worker *worker = solver->worker;
    const pl_matrix *x = solver->x;
    solver->gap = (pl_scd_gap){0};
    for (uint64_t n = 0; n < worker->members; n++) {
        if (!(solver->left > 0) || pl_stop_due())
            return false;
        uint64_t m = worker->order[n], j = worker->set[m];
        uint64_t next = n + 1 < worker->members ? worker->set[worker->order[n + 1]] : x->rows;
        if (next < x->rows)
            pl_sparse_prefetch(x->index, x->values, x->start[next], x->start[next + 1]);
        if (!fresh && worker->rest[m] & 15) {
            worker->rest[m]--;
            continue;
        }
        step(solver, m, self->quadratic ? self->norm2[j] < 0 : fresh);
        solver->left--;
    }
    return true;
}

/* The model's value, up to a constant, at slopes s and a common shift. */
static double model_value(const pl_scd_solver *solver, const double *slope, double shift, double penalty) {
    const double *curvature = solver->worker->curvature;
    double sum = 0;
    for (uint64_t i = 0; i < solver->x->columns; i++)
        if (curvature[i] > 0) {
            double s = slope[i] + curvature[i] * shift;
            sum += s * s / curvature[i];
        }
    return 0.5 * sum / solver->sigma + penalty;
}

/* Moves to the extrapolated w if the model is smaller there. */
static void jump(pl_scd_solver *solver, const double *ahead) {
    pl_scd *self = solver->scd;
    pl_scd_worker *worker = solver->worker;
    double *slope = worker->step, shift = solver->shift, before = 0, after = 0;
    memcpy(slope, worker->slope, solver->x->columns * sizeof *slope);
    for (uint64_t m = 0; m < worker->members; m++) {
        uint64_t j = worker->set[m];
        double w = self->w[j], a = solver->sigma * (ahead[m] - w);
        before += penalty_of(solver, j, w);
        after += penalty_of(solver, j, ahead[m]);
        if (a == 0)
            continue;
        move_slopes(solver, j, a, slope);
        worker->visited += 0.5 * (double)pl_scd_entries(self, j);
        shift -= solver->free ? a * self->mass[j] / solver->mass : 0.0;
    }
    before = model_value(solver, worker->slope, solver->shift, before);
    after = model_value(solver, slope, shift, after);
    if (!(after < before))
        return;
    for (uint64_t m = 0; m < worker->members; m++)
        self->w[worker->set[m]] = ahead[m];
    solver->decrease += before - after;
    solver->shift = shift;
    worker->step = worker->slope;
    worker->slope = slope;
}

/* The same by the table. Along a line the model is a parabola, so its change follows from the mean of the slopes at
 * both ends. */
static bool jump_by_gram(pl_scd_solver *solver, const double *ahead) {
    pl_scd *self = solver->scd;
    pl_scd_worker *worker = solver->worker;
    pl_scd_covariance *gram = &self->gram;
    double *slope = gram->ahead, shift = solver->shift, change = 0;
    memcpy(slope, gram->slope, gram->slots * sizeof *slope);
    for (uint64_t m = 0; m < worker->members; m++) {
        uint64_t j = worker->set[m], slot = gram->slot[j];
        double a = solver->sigma * (ahead[m] - self->w[j]);
        if (a == 0)
            continue;
        pl_scd_covariance_move(gram, slot, a, slope);
        worker->visited++;
        shift -= solver->free ? a * gram->mass[slot] / solver->mass : 0.0;
    }
    for (uint64_t m = 0; m < worker->members; m++) {
        uint64_t j = worker->set[m], slot = gram->slot[j];
        double w = self->w[j], mass = solver->free ? gram->mass[slot] : 0.0;
        double mean = 0.5 * (slope[slot] + shift * mass + gram->slope[slot] + solver->shift * mass);
        change += mean * (ahead[m] - w) + penalty_of(solver, j, ahead[m]) - penalty_of(solver, j, w);
    }
    if (!(change < 0))
        return false;
    for (uint64_t m = 0; m < worker->members; m++)
        self->w[worker->set[m]] = ahead[m];
    solver->decrease -= change;
    solver->shift = shift;
    gram->ahead = gram->slope;
    gram->slope = slope;
    return true;
}

/* Moves to the minimum for the signs of w, or up to the first change of a sign. Returns false if there is no
 * such step, and leaves `ahead` alone then. */
static bool jump_on_support(pl_scd_solver *solver, double *ahead) {
    const pl_scd_worker *worker = solver->worker;
    const double *w = solver->scd->w;
    double shorter = 1.0;
    if (!pl_scd_support_step(solver, ahead))
        return false;
    for (uint64_t m = 0; m < worker->members; m++) {
        double here = w[worker->set[m]], next = ahead[m];
        if (here * next < 0)
            shorter = fmin(shorter, here / (here - next));
    }
    double *whole = ahead + worker->members;
    memcpy(whole, ahead, worker->members * sizeof *whole);
    for (uint64_t m = 0; m < worker->members; m++)
        if (w[worker->set[m]] * ahead[m] < 0)
            ahead[m] = 0;
    if (jump_by_gram(solver, ahead))
        return true;
    for (uint64_t m = 0; m < worker->members; m++) {
        double here = w[worker->set[m]], next = here + shorter * (whole[m] - here);
        ahead[m] = here * next > 0 ? next : 0.0;
    }
    if (shorter < 1.0)
        jump_by_gram(solver, ahead);
    return true;
}

/* Stores w after epoch e of a model, and extrapolates when there are enough. */
static void remember(pl_scd_solver *solver, unsigned e) {
    pl_scd_worker *worker = solver->worker;
    double *last = worker->past + (e % PL_SCD_PAST) * worker->members;
    for (uint64_t m = 0; m < worker->members; m++)
        last[m] = solver->scd->w[worker->set[m]];
    if (e % PL_SCD_PAST != PL_SCD_PAST - 1)
        return;
    if (solver->gram && solver->scd->quadratic && e > PL_SCD_PAST && jump_on_support(solver, worker->past))
        return;
    if (!pl_scd_extrapolate(worker->past, worker->members, worker->past))
        return;
    for (uint64_t m = 0; m < worker->members && solver->scd->glm->non_negative; m++)
        if (worker->set[m] < solver->x->rows)
            worker->past[m] = fmax(0.0, worker->past[m]);
    if (solver->gram)
        jump_by_gram(solver, worker->past);
    else
        jump(solver, worker->past);
}

static double penalty_at(const pl_scd_solver *solver, double gamma) {
    const pl_scd_worker *worker = solver->worker;
    double sum = 0;
    for (uint64_t m = 0; m < worker->members; m++) {
        uint64_t j = worker->set[m];
        double base = worker->base[m];
        sum += penalty_of(solver, j, base + gamma * (solver->scd->w[j] - base));
    }
    return sum;
}

/* Finds how far to go along the line that the model gave, and leaves slopes and curvatures there. */
static double search(pl_scd_solver *solver, int tries) {
    double before = solver->loss / solver->sigma + penalty_at(solver, 0.0), gamma = 1.0;
    for (int i = 0; i < tries; i++, gamma *= 0.5) {
        double loss = pl_scd_expand(solver, gamma, solver->shift);
        double after = loss / solver->sigma + penalty_at(solver, gamma);
        if (after <= before - ENOUGH * gamma * solver->decrease + ROUNDING * fabs(before)) {
            solver->loss = loss;
            return gamma;
        }
    }
    solver->loss = pl_scd_expand(solver, 0.0, 0.0);
    return 0.0;
}

static double sum_of(const double *a, uint64_t count) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += a[i];
    return sum;
}

/* The table gives all slopes before the first step, which tell whether one is needed. */
static bool seen_solved(pl_scd_solver *solver) {
    pl_scd *self = solver->scd;
    pl_scd_worker *worker = solver->worker;
    pl_scd_gap gap = {0};
    for (uint64_t m = 0; m < worker->members; m++) {
        uint64_t j = worker->set[m], slot = self->gram.slot[j];
        double mass = solver->free ? self->gram.mass[slot] : 0.0;
        see(&gap, solver, j, -(self->gram.slope[slot] + solver->shift * mass), self->w[j]);
    }
    worker->estimate = estimate(solver, &gap);
    return worker->solved = worker->estimate <= self->tolerance;
}

/* Makes a model, solves it, and moves there. Returns whether it was the last. */
static bool run_model(pl_scd_solver *solver, unsigned number) {
    pl_scd *self = solver->scd;
    pl_scd_worker *worker = solver->worker;
    double first = 0, enough = self->tolerance;
    unsigned epochs = MODEL_EPOCHS;
    solver->decrease = 0;
    solver->gram = pl_scd_covariance_prepare(self, worker);
    if (solver->gram) {
        solver->mass = self->gram.total;
        epochs = GRAM_EPOCHS;
    }
    double sum = solver->free ? sum_of(worker->slope, solver->x->columns) : 0.0;
    if (solver->gram && !self->quadratic) {
        pl_scd_covariance_follow(self, worker, sum);
        solver->mass = self->gram.total;
    }
    solver->shift = solver->free ? -sum / solver->mass : 0.0;
    if (solver->gram && seen_solved(solver))
        return true;
    for (unsigned e = 0; (self->quadratic || e < epochs) && solver->left > 0; e++) {
        if (e % ORDER_EPOCHS == 0) { /* extrapolation needs a fixed order, descent a new one from time to time */
            pl_stream stream = pl_stream_make(self->team->seed, number, worker->epoch++);
            pl_shuffle(&stream, worker->order, worker->members);
        }
        if (!run_epoch(solver, e == 0))
            break;
        double gap = estimate(solver, &solver->gap);
        if (e == 0) {
            worker->estimate = first = gap;
            worker->solved = gap <= enough;
            if (!self->quadratic)
                enough = fmax(enough, (solver->gram ? GRAM_PROGRESS : MODEL_PROGRESS) * first);
        }
        if (self->quadratic)
            worker->estimate = gap;
        if (gap <= enough) {
            worker->solved = worker->solved || self->quadratic;
            break;
        }
        remember(solver, e);
    }
    if (!pl_scd_add_up(solver))
        return true;
    double gamma = self->quadratic ? 1.0 : search(solver, HALVINGS);
    pl_scd_take(solver, gamma, solver->shift);
    worker->moved = gamma * solver->shift;
    if (gamma == 0 && solver->gram && !worker->solved) { /* the table is misleading */
        pl_scd_covariance_empty(self, worker);
        return false;
    }
    return self->quadratic || worker->solved || gamma == 0;
}

/* Extrapolates the path of solutions in a straight line, if that decreases the objective. */
static void predict(pl_scd_solver *solver) {
    pl_scd *self = solver->scd;
    pl_scd_worker *worker = solver->worker;
    for (uint64_t n = 0; n < worker->count; n++) {
        uint64_t j = worker->column[n];
        double w = self->w[j], next = w + self->pace * (w - self->last[j]);
        self->last[j] = w;
        if (w != 0)
            self->w[j] = next * w > 0 ? next : 0.0;
    }
    solver->decrease = 0;
    if (self->pace != 0 && pl_scd_add_up(solver))
        pl_scd_take(solver, search(solver, GUESSES), 0.0);
}

/* Makes steps that do not see each other, on a random part of the columns. */
static void run_batch(pl_scd_solver *solver, unsigned number) {
    pl_scd *self = solver->scd;
    pl_scd_worker *worker = solver->worker;
    pl_stream stream = pl_stream_make(self->team->seed, number, worker->epoch++);
    pl_shuffle(&stream, worker->order, worker->members);
    solver->shift = solver->free ? -sum_of(worker->slope, solver->x->columns) / solver->mass : 0.0;
    for (uint64_t n = 0; n < worker->members && solver->left > 0 && !pl_stop_due(); n++, solver->left--)
        step(solver, worker->order[n], true);
    if (pl_scd_add_up(solver))
        pl_scd_take(solver, 1.0, 0.0);
}

void pl_scd_solve(pl_scd *self, pl_scd_worker *worker, unsigned number) {
    pl_scd_solver solver = {.scd = self,
                            .worker = worker,
                            .x = self->x,
                            .l1 = self->glm->base.l1,
                            .l2 = self->glm->base.l2,
                            .sigma = self->sigma,
                            .free = self->glm->intercept == PL_FREE,
                            .left = pl_round_steps(self->round, (double)worker->count) *
                                    (self->team->workers == 1 && !self->delayed ? LONE : 1)};
    worker->known = 0;
    worker->visited = 0;
    worker->solved = worker->members == 0;
    pl_scd_begin(&solver);
    if (self->predicting)
        predict(&solver);
    if (self->delayed)
        run_batch(&solver, number);
    else
        while (solver.left > 0 && worker->members && !pl_stop_due())
            if (run_model(&solver, number))
                break;
    pl_scd_finish(&solver);
    if (self->delayed)
        worker->spread = self->batch * solver.spread;
}
