/* proximal.c: Newton's method for an L1 penalty and few columns (proximal Newton). The update has the gradient g and
 * the curvature H of the mean loss at v. The owner minimises the quadratic model of the loss with the penalty itself,
 *
 *     x = argmin g.(x - v) + 1/2 (x - v)' H (x - v) + l1 |x|_1 + l2/2 |x|_2^2          by l1_quadratic.c
 *
 * only as far as pays off: the violation of its optimality conditions must fall to a tenth, and further the closer v is
 * to the optimum. Then a step gamma along d = x - v is searched. phi(gamma) = P(v + gamma d) is convex, and a step is
 * accepted if phi', taken from below, is not much larger than 0. Most steps are 1, so that zeros of x are zeros of v.
 *
 * Free intercepts b, whose slope is 0 because the solver has moved them to their optimum, are eliminated:
 *
 *     A = H_ww - H_wb H_bb^-1 H_bw + l2 I          d_b = -H_bb^-1 H_bw d_w
 *
 * Entries of v fall into blocks between which H is 0: the classes of one against the rest, otherwise one block.
 *
 * Some losses are smoothed (smoothing_schedule.h). The curvature is computed again unless the last round made good
 * progress without it; a constant one is computed once, and that of a smoothed loss in every round. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linear/newton/oracle.h"
#include "linear/newton/search.h"
#include "math/cholesky.h"
#include "math/l1_quadratic.h"

#define ENOUGH 0.1  /* part of the first slope that a step may leave */
#define FORCING 0.1 /* largest part of the violation that a sub-problem may leave */
#define EXACT 1e-12 /* the same where the model is the loss itself */
#define GOOD 0.05   /* part of the last slope: a round that leaves no more made good progress */
#define RIDGE 1e-12 /* relative addition to the diagonal of H_bb, which is singular for softmax */
#define LEAST 1e-13 /* least part of a column's curvature that remains without the intercept */
#define MOST_ENTRIES 2000

typedef struct proximal {
    pl_combine base;
    const pl_glm *glm;
    uint64_t blocks, rows, values;  /* of the curvature (glm.h); entries of one, and values of its matrix */
    pl_arrow curvature;             /* of a block; free intercepts are the last of its core */
    pl_l1_shape shape;              /* of a sub-problem */
    double *model;                  /* of each block: l1_quadratic.h's matrices, and L, where H_bb = L L' */
    double *x, *slope, *l1, *moved; /* of a block, for the sub-problem */
    pl_l1_room room;
    pl_smoothing hard;
    double here; /* distance of the bounds at v */
    bool searching;
    pl_search search;
    bool curved;              /* this round's update has the curvature */
    double l2;                /* in the matrix */
    double first, slope_last; /* slope along the step of the first round, and of the last */
} proximal;

static uint64_t width(const pl_problem *problem) { return pl_curvature_width(pl_glm_of(problem)); }

static pl_l1_shape shape_of(const pl_glm *glm) {
    pl_arrow curvature = pl_curvature_shape(glm);
    uint64_t loose = glm->intercept == PL_FREE ? curvature.group : 0;
    return (pl_l1_shape){pl_arrow_rows(&curvature) - loose, curvature.core - loose, curvature.group, loose};
}

/* The matrices of a block, one behind the other. */
typedef struct matrices {
    double *core, *apart, *u, *diagonal, *intercepts;
} matrices;

static uint64_t model_values(const pl_l1_shape *shape) {
    return shape->size * (shape->core + shape->loose + 1) + (shape->size - shape->core) * (shape->group + shape->core) +
           shape->loose * shape->loose;
}

static matrices matrices_of(const proximal *self, uint64_t block) {
    const pl_l1_shape *shape = &self->shape;
    matrices m = {.core = self->model + block * model_values(shape)};
    m.apart = m.core + shape->core * shape->size;
    m.u = m.apart + (shape->size - shape->core) * (shape->group + shape->core);
    m.diagonal = m.u + shape->size * shape->loose;
    m.intercepts = m.diagonal + shape->size;
    return m;
}

/* Values of all blocks' matrices, per entry of v. */
static uint64_t model_width(const pl_glm *glm) {
    pl_l1_shape shape = shape_of(glm);
    uint64_t size = glm->base.size > 0 ? glm->base.size : 1;
    return (pl_curvature_blocks(glm) * model_values(&shape) + size - 1) / size;
}

static uint64_t bytes(const pl_setup *setup) {
    const pl_glm *glm = pl_glm_of(setup->problem);
    pl_l1_shape shape = shape_of(glm);
    return (glm->base.size * model_width(glm) + 3 * shape.size + shape.loose) * sizeof(double) + pl_l1_bytes(&shape);
}

static void close_proximal(pl_combine *combine) {
    proximal *self = (proximal *)combine;
    if (!self)
        return;
    pl_free(self->model);
    pl_free(self->x);
    pl_free(self->slope);
    pl_free(self->l1);
    pl_free(self->moved);
    pl_l1_close(&self->room);
    pl_free(self);
}

static parley_status open_proximal(const pl_setup *setup, pl_combine **out, parley_error *error) {
    proximal *self;
    const pl_glm *glm = pl_glm_of(setup->problem);
    parley_status status = pl_take(&self, 1, sizeof *self, "newton", error);
    if (status != PARLEY_OK)
        return status;
    pl_arrow curvature = pl_curvature_shape(glm);
    *self = (proximal){.base = {&pl_combine_proximal, pl_smoothing_reserve(glm)},
                       .glm = glm,
                       .blocks = pl_curvature_blocks(glm),
                       .rows = pl_arrow_rows(&curvature),
                       .values = pl_arrow_values(&curvature),
                       .curvature = curvature,
                       .shape = shape_of(glm),
                       .hard = pl_smoothing_begin(glm, setup->target),
                       .curved = true,
                       .l2 = glm->base.l2,
                       .slope_last = INFINITY};
    self->model = pl_alloc(glm->base.size, model_width(glm) * sizeof *self->model);
    self->x = pl_alloc(self->shape.size, sizeof *self->x);
    self->slope = pl_alloc(self->shape.size, sizeof *self->slope);
    self->l1 = pl_alloc(self->shape.size, sizeof *self->l1);
    self->moved = pl_alloc(self->shape.loose, sizeof *self->moved);
    if (!self->model || !self->x || !self->slope || !self->l1 || !self->moved)
        status = pl_fail_memory(error, "newton's matrix", bytes(setup));
    if (status == PARLEY_OK)
        status = pl_l1_open(&self->room, &self->shape, error);
    if (status == PARLEY_OK)
        *out = &self->base;
    else
        close_proximal(&self->base);
    return status;
}

/* The place of variable j in the curvature: free intercepts lie between the core and the others. */
static uint64_t place(const proximal *self, uint64_t j) { return j < self->shape.core ? j : j + self->shape.loose; }

/* The entry of v that is variable j of a block. */
static uint64_t entry(const proximal *self, uint64_t block, uint64_t j) {
    return pl_curvature_entry(self->glm, block, place(self, j));
}

/* The row of the curvature that has variable j's products with the core from entry `from` on. */
static const double *products(const proximal *self, const double *curvature, uint64_t j, uint64_t from) {
    uint64_t core = self->curvature.core;
    return j < self->shape.core
               ? curvature + j * core + from
               : curvature + pl_arrow_begin(&self->curvature, place(self, j)) + self->curvature.group + from;
}

/* Factors H_bb. A class without curvature keeps its intercept. */
static void factor_intercepts(const proximal *self, const double *curvature, double *l) {
    uint64_t count = self->shape.loose, core = self->curvature.core, begin = self->shape.core;
    for (uint64_t c = 0; c < count; c++) {
        const double *column = curvature + (begin + c) * core + begin;
        for (uint64_t d = c; d < count; d++)
            l[c * count + d] = column[d];
        l[c * count + c] += column[c] > 0 ? RIDGE * column[c] : 1.0;
    }
    if (pl_cholesky(l, count))
        return;
    memset(l, 0, count * count * sizeof *l); /* rounding: the diagonal is a bound of it, up to a factor */
    for (uint64_t c = 0; c < count; c++) {
        double a = curvature[(begin + c) * (core + 1)];
        l[c * count + c] = sqrt(a > 0 ? 2.0 * a : 1.0);
    }
}

/* b <- L^-1 b */
static void solve_below(const double *l, uint64_t count, double *b) {
    for (uint64_t c = 0; c < count; c++) {
        b[c] /= l[c * count + c];
        for (uint64_t d = c + 1; d < count; d++)
            b[d] -= l[c * count + d] * b[c];
    }
}

/* b <- L'^-1 b */
static void solve_above(const double *l, uint64_t count, double *b) {
    for (uint64_t c = count; c-- > 0;) {
        for (uint64_t d = c + 1; d < count; d++)
            b[c] -= l[c * count + d] * b[d];
        b[c] /= l[c * count + c];
    }
}

/* Copies the products of variable j with the core to both triangles, and those within its group if it is apart. */
static void copy_products(const proximal *self, const double *curvature, uint64_t j, matrices *m) {
    uint64_t size = self->shape.size, core = self->shape.core, group = self->shape.group;
    const double *from = products(self, curvature, j, 0);
    for (uint64_t p = j < core ? j : 0; p < core; p++) {
        m->core[p * size + j] = from[p];
        if (j < core)
            m->core[j * size + p] = from[p];
    }
    if (j >= core)
        memcpy(m->apart + (j - core) * (group + core), curvature + pl_arrow_begin(&self->curvature, place(self, j)),
               (group + core) * sizeof *m->apart);
}

/* The diagonal entry of H at variable j. */
static double *diagonal_of(const proximal *self, uint64_t j, const matrices *m) {
    uint64_t core = self->shape.core, group = self->shape.group;
    return j < core ? &m->core[j * (self->shape.size + 1)] : &m->apart[(j - core) * (group + core) + j % group];
}

/* Makes the matrices of a block from H. */
static void make_model(const proximal *self, uint64_t block, const double *curvature) {
    matrices m = matrices_of(self, block);
    uint64_t loose = self->shape.loose;
    factor_intercepts(self, curvature, m.intercepts);
    for (uint64_t j = 0; j < self->shape.size; j++) {
        double *u = m.u + j * loose, sum = 0, l2 = pl_l2_at(&self->glm->base, entry(self, block, j));
        copy_products(self, curvature, j, &m);
        memcpy(u, products(self, curvature, j, self->shape.core), loose * sizeof *u);
        solve_below(m.intercepts, loose, u);
        for (uint64_t c = 0; c < loose; c++)
            sum += u[c] * u[c];
        double *whole = diagonal_of(self, j, &m);
        m.diagonal[j] = fmax(*whole - sum, LEAST * *whole) + l2;
        *whole += l2;
    }
}

/* On a path of penalties the last matrix is a good model of the loss at first. */
static void renew(pl_combine *combine) {
    proximal *self = (proximal *)combine;
    for (uint64_t c = 0; c < self->blocks; c++) {
        matrices m = matrices_of(self, c);
        for (uint64_t j = 0; j < self->shape.size; j++) {
            uint64_t e = entry(self, c, j);
            double factor = e < self->glm->base.penalised ? pl_factor(self->glm, e) : 0.0;
            *diagonal_of(self, j, &m) += factor * (self->glm->base.l2 - self->l2);
            m.diagonal[j] += factor * (self->glm->base.l2 - self->l2);
        }
    }
    self->l2 = self->glm->base.l2;
    self->base.reserve = pl_smoothing_reserve(self->glm);
    self->hard = pl_smoothing_begin(self->glm, self->hard.target);
    self->curved = self->glm->loss->soften || !(self->first > 0);
    self->first = 0;
    self->slope_last = INFINITY;
}

/* How far the sub-problem is solved: a part of its violation. */
static double forcing(const proximal *self) {
    if (self->glm->loss->quadratic && !(self->hard.softness > 0))
        return EXACT;
    return self->first > 0 ? fmax(EXACT, fmin(FORCING, self->slope_last / self->first)) : FORCING;
}

static void solve_block(const proximal *self, const pl_slice *slice, uint64_t block) {
    const pl_problem *problem = &self->glm->base;
    uint64_t loose = self->shape.loose;
    double part = forcing(self), *b = self->moved;
    if (self->curved)
        make_model(self, block, slice->change + self->glm->base.size + block * self->values);
    for (uint64_t j = 0; j < self->shape.size; j++) {
        uint64_t e = entry(self, block, j);
        self->x[j] = slice->v[e];
        self->slope[j] = slice->change[e] + pl_l2_at(problem, e) * slice->v[e];
        self->l1[j] = pl_l1_at(problem, e);
    }
    memset(self->moved, 0, loose * sizeof *self->moved);
    matrices m = matrices_of(self, block);
    pl_l1_quadratic model = {self->shape, m.core,  m.apart,     m.u,        m.diagonal,
                             self->l1,    self->x, self->slope, self->moved};
    pl_l1_solve(&model, &self->room, part * part * pl_l1_violation(&model));
    for (uint64_t j = 0; j < self->shape.size; j++) {
        uint64_t e = entry(self, block, j);
        slice->direction[e] = self->x[j] - slice->v[e];
    }
    solve_above(m.intercepts, loose, b);
    for (uint64_t c = 0; c < loose; c++)
        slice->direction[pl_curvature_entry(self->glm, block, self->shape.core + c)] = -b[c];
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    proximal *self = (proximal *)combine;
    (void)round, (void)error;
    self->searching = false;
    self->here = slice->gap;
    for (uint64_t c = 0; c < self->blocks && slice->begin < slice->end; c++)
        solve_block(self, slice, c);
    return PARLEY_OK;
}

/* The derivative of |w| by gamma where w = v + gamma d, on the side of larger gamma or of smaller. */
static double absolute_slope(double w, double d, bool ahead) {
    return w > 0 ? d : w < 0 ? -d : ahead ? fabs(d) : -fabs(d);
}

/* The least slope of P at v, and slopes by gamma: of the penalty there, and of P at 0. */
static void measure(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars) {
    const pl_problem *problem = &((const proximal *)combine)->glm->base;
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        double d = slice->direction[j], v = slice->v[j], w = v + gamma * d, l1 = pl_l1_at(problem, j),
               l2 = pl_l2_at(problem, j), g = slice->change[j] + l2 * v, least = pl_l1_least_slope(v, g, l1);
        scalars[PL_OWN_NORM] += least * least;
        scalars[PL_OWN_PENALTY] += l2 * w * d + l1 * absolute_slope(w, d, false);
        scalars[PL_OWN_SLOPE] += g * d + l1 * absolute_slope(v, d, true);
    }
}

static void want_curvature(proximal *self, double slope) {
    const pl_loss *loss = self->glm->loss;
    bool good = slope <= GOOD * self->slope_last;
    self->curved = loss->soften || (!loss->quadratic && !good);
    self->first = fmax(self->first, slope);
    self->slope_last = slope;
}

static bool judge(pl_combine *combine, const double *workers, const double *owners, double *gamma) {
    proximal *self = (proximal *)combine;
    double first = -owners[PL_OWN_SLOPE], slope = workers[PL_SUM_SLOPE] + owners[PL_OWN_PENALTY];
    if (!self->searching)
        self->search = pl_search_begin(0.0, -first);
    self->searching = true;
    if (first > 0 && !pl_search_flat(&self->search, ENOUGH, fmax(0.0, slope), gamma))
        return false;
    pl_softened_round round = {first, self->slope_last, owners[PL_OWN_NORM], self->here};
    pl_smoothing_next(&self->hard, self->glm, &round);
    want_curvature(self, first);
    return true;
}

static bool polish(const pl_combine *combine, double gap, double *w) {
    return pl_drop_small(((const proximal *)combine)->glm, gap, w);
}

static void ask(const pl_combine *combine, pl_round *round) {
    const proximal *self = (const proximal *)combine;
    round->columns = self->curved ? round->columns : 1;
    round->own = &self->hard;
}

/* Without an L2 penalty, losses with kinks are smoothed together with the penalty. */
static parley_status check(const parley_settings *settings, const pl_problem *problem, parley_error *error) {
    const pl_glm *glm = problem ? pl_glm_of(problem) : NULL;
    pl_arrow shape = glm ? pl_curvature_shape(glm) : (pl_arrow){0};
    if (glm && !glm->loss->smooth &&
        (pl_linear_settings_of(settings)->lambda == 0 || pl_linear_settings_of(settings)->l1_ratio == 1))
        return pl_fail(error, PARLEY_BAD_USAGE, "combine proximal needs an L2 penalty with loss %s; use combine newton",
                       glm->loss->name);
    if (shape.core <= MOST_ENTRIES)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE, "combine proximal would need a matrix of %llu x %llu, but its limit is %d",
                   (unsigned long long)shape.core, (unsigned long long)shape.core, MOST_ENTRIES);
}

/* One owner has all of v, and with it the model. */
static void state(pl_combine *combine, pl_state *state) {
    proximal *self = (proximal *)combine;
    PL_STATE_VALUES(state, "newton", PL_HARDENING_VALUES(self->hard, self->glm->loss), PL_VALUE(self->curved),
                    PL_VALUE(self->l2), PL_UNSURE(self->first), PL_UNSURE(self->slope_last),
                    PL_VALUE(self->hard.recentre));
    pl_state_slice(state, "quadratic", self->model, model_width(self->glm));
}

static const pl_combine_trial trial = {measure, judge};

static parley_status next(pl_combine *combine, const pl_slice *slice, const double *scalars, pl_question *question,
                          parley_error *error) {
    return scalars ? pl_search_next(combine, &trial, slice, scalars, question, error) : PARLEY_OK;
}

static const pl_oracle oracle = {.slopes_only = true};
static const pl_combine_dialogue dialogue = {next, &oracle};

const pl_combine_type pl_combine_proximal = {
    .name = "proximal",
    .help = "Newton's method for an L1 penalty and few columns: by coordinate descent on the quadratic model",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_SMOOTH | PL_FACT_SIGNED,
    .takes = PL_GIVES_GRADIENTS,
    .all_rows = true,
    .softens = true,
    .whole = true,
    .dialogue = &dialogue,
    .width = width,
    .check = check,
    .bytes = bytes,
    .open = open_proximal,
    .renew = renew,
    .ask = ask,
    .propose = propose,
    .polish = polish,
    .state = state,
    .close = close_proximal,
};
