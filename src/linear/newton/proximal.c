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
 * Some losses are smoothed (hardening.h). The curvature is computed again unless the last round made good progress
 * without it; a constant one is computed once, and that of a smoothed loss in every round. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linear/newton/hardening.h"
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
    pl_hardening hard;
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

static matrices matrices_of(const proximal *this, uint64_t block) {
    const pl_l1_shape *shape = &this->shape;
    matrices m = {.core = this->model + block * model_values(shape)};
    m.apart = m.core + shape->core * shape->size;
    m.u = m.apart + (shape->size - shape->core) * (shape->group + shape->core);
    m.diagonal = m.u + shape->size * shape->loose;
    m.intercepts = m.diagonal + shape->size;
    return m;
}

/* Values of all blocks' matrices, per entry of v. */
static uint64_t model_width(const pl_glm *glm) {
    pl_l1_shape shape = shape_of(glm);
    uint64_t size = glm->size > 0 ? glm->size : 1;
    return (pl_curvature_blocks(glm) * model_values(&shape) + size - 1) / size;
}

static uint64_t bytes(const pl_setup *setup) {
    const pl_glm *glm = pl_glm_of(setup->problem);
    pl_l1_shape shape = shape_of(glm);
    return (glm->size * model_width(glm) + 3 * shape.size + shape.loose) * sizeof(double) + pl_l1_bytes(&shape);
}

static void close_proximal(pl_combine *combine) {
    proximal *this = (proximal *)combine;
    if (!this)
        return;
    pl_free(this->model);
    pl_free(this->x);
    pl_free(this->slope);
    pl_free(this->l1);
    pl_free(this->moved);
    pl_l1_close(&this->room);
    pl_free(this);
}

static parley_status open_proximal(const pl_setup *setup, pl_combine **out, parley_error *error) {
    proximal *this;
    const pl_glm *glm = pl_glm_of(setup->problem);
    parley_status status = pl_take(&this, 1, sizeof *this, "newton", error);
    if (status != PARLEY_OK)
        return status;
    pl_arrow curvature = pl_curvature_shape(glm);
    *this = (proximal){.base = {&pl_combine_proximal},
                       .glm = glm,
                       .blocks = pl_curvature_blocks(glm),
                       .rows = pl_arrow_rows(&curvature),
                       .values = pl_arrow_values(&curvature),
                       .curvature = curvature,
                       .shape = shape_of(glm),
                       .hard = pl_hardening_begin(glm, setup->target),
                       .curved = true,
                       .l2 = glm->l2,
                       .slope_last = INFINITY};
    this->model = pl_alloc(glm->size, model_width(glm) * sizeof *this->model);
    this->x = pl_alloc(this->shape.size, sizeof *this->x);
    this->slope = pl_alloc(this->shape.size, sizeof *this->slope);
    this->l1 = pl_alloc(this->shape.size, sizeof *this->l1);
    this->moved = pl_alloc(this->shape.loose, sizeof *this->moved);
    if (!this->model || !this->x || !this->slope || !this->l1 || !this->moved)
        status = pl_fail_memory(error, "newton's matrix", bytes(setup));
    if (status == PARLEY_OK)
        status = pl_l1_open(&this->room, &this->shape, error);
    if (status == PARLEY_OK)
        *out = &this->base;
    else
        close_proximal(&this->base);
    return status;
}

/* The place of variable j in the curvature: free intercepts lie between the core and the others. */
static uint64_t place(const proximal *this, uint64_t j) { return j < this->shape.core ? j : j + this->shape.loose; }

/* The entry of v that is variable j of a block. */
static uint64_t entry(const proximal *this, uint64_t block, uint64_t j) {
    return pl_curvature_entry(this->glm, block, place(this, j));
}

/* The row of the curvature that has variable j's products with the core from entry `from` on. */
static const double *products(const proximal *this, const double *curvature, uint64_t j, uint64_t from) {
    uint64_t core = this->curvature.core;
    return j < this->shape.core
               ? curvature + j * core + from
               : curvature + pl_arrow_begin(&this->curvature, place(this, j)) + this->curvature.group + from;
}

/* Factors H_bb. A class without curvature keeps its intercept. */
static void factor_intercepts(const proximal *this, const double *curvature, double *l) {
    uint64_t count = this->shape.loose, core = this->curvature.core, begin = this->shape.core;
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
static void copy_products(const proximal *this, const double *curvature, uint64_t j, matrices *m) {
    uint64_t size = this->shape.size, core = this->shape.core, group = this->shape.group;
    const double *from = products(this, curvature, j, 0);
    for (uint64_t p = j < core ? j : 0; p < core; p++) {
        m->core[p * size + j] = from[p];
        if (j < core)
            m->core[j * size + p] = from[p];
    }
    if (j >= core)
        memcpy(m->apart + (j - core) * (group + core), curvature + pl_arrow_begin(&this->curvature, place(this, j)),
               (group + core) * sizeof *m->apart);
}

/* The diagonal entry of H at variable j. */
static double *diagonal_of(const proximal *this, uint64_t j, const matrices *m) {
    uint64_t core = this->shape.core, group = this->shape.group;
    return j < core ? &m->core[j * (this->shape.size + 1)] : &m->apart[(j - core) * (group + core) + j % group];
}

/* Makes the matrices of a block from H. */
static void make_model(const proximal *this, uint64_t block, const double *curvature) {
    matrices m = matrices_of(this, block);
    uint64_t loose = this->shape.loose;
    factor_intercepts(this, curvature, m.intercepts);
    for (uint64_t j = 0; j < this->shape.size; j++) {
        double *u = m.u + j * loose, sum = 0, l2 = pl_l2_at(&this->glm->base, entry(this, block, j));
        copy_products(this, curvature, j, &m);
        memcpy(u, products(this, curvature, j, this->shape.core), loose * sizeof *u);
        solve_below(m.intercepts, loose, u);
        for (uint64_t c = 0; c < loose; c++)
            sum += u[c] * u[c];
        double *whole = diagonal_of(this, j, &m);
        m.diagonal[j] = fmax(*whole - sum, LEAST * *whole) + l2;
        *whole += l2;
    }
}

/* On a path of penalties the last matrix is a good model of the loss at first. */
static void renew(pl_combine *combine) {
    proximal *this = (proximal *)combine;
    for (uint64_t c = 0; c < this->blocks; c++) {
        matrices m = matrices_of(this, c);
        for (uint64_t j = 0; j < this->shape.size; j++) {
            uint64_t e = entry(this, c, j);
            double factor = e < this->glm->base.penalised ? pl_factor(this->glm, e) : 0.0;
            *diagonal_of(this, j, &m) += factor * (this->glm->l2 - this->l2);
            m.diagonal[j] += factor * (this->glm->l2 - this->l2);
        }
    }
    this->l2 = this->glm->l2;
    this->hard = pl_hardening_begin(this->glm, this->hard.target);
    this->curved = this->glm->loss->soften || !(this->first > 0);
    this->first = 0;
    this->slope_last = INFINITY;
}

/* How far the sub-problem is solved: a part of its violation. */
static double forcing(const proximal *this) {
    if (this->glm->loss->quadratic && !(this->hard.softness > 0))
        return EXACT;
    return this->first > 0 ? fmax(EXACT, fmin(FORCING, this->slope_last / this->first)) : FORCING;
}

static void solve_block(const proximal *this, const pl_slice *slice, uint64_t block) {
    const pl_problem *problem = &this->glm->base;
    uint64_t loose = this->shape.loose;
    double part = forcing(this), *b = this->moved;
    if (this->curved)
        make_model(this, block, slice->change + this->glm->size + block * this->values);
    for (uint64_t j = 0; j < this->shape.size; j++) {
        uint64_t e = entry(this, block, j);
        this->x[j] = slice->v[e];
        this->slope[j] = slice->change[e] + pl_l2_at(problem, e) * slice->v[e];
        this->l1[j] = pl_l1_at(problem, e);
    }
    memset(this->moved, 0, loose * sizeof *this->moved);
    matrices m = matrices_of(this, block);
    pl_l1_quadratic model = {this->shape, m.core,  m.apart,     m.u,        m.diagonal,
                             this->l1,    this->x, this->slope, this->moved};
    pl_l1_solve(&model, &this->room, part * part * pl_l1_violation(&model));
    for (uint64_t j = 0; j < this->shape.size; j++) {
        uint64_t e = entry(this, block, j);
        slice->direction[e] = this->x[j] - slice->v[e];
    }
    solve_above(m.intercepts, loose, b);
    for (uint64_t c = 0; c < loose; c++)
        slice->direction[pl_curvature_entry(this->glm, block, this->shape.core + c)] = -b[c];
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    proximal *this = (proximal *)combine;
    (void)round, (void)error;
    this->searching = false;
    this->here = slice->gap;
    for (uint64_t c = 0; c < this->blocks && slice->begin < slice->end; c++)
        solve_block(this, slice, c);
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

static void want_curvature(proximal *this, double slope) {
    const pl_loss *loss = this->glm->loss;
    bool good = slope <= GOOD * this->slope_last;
    this->curved = loss->soften || (!loss->quadratic && !good);
    this->first = fmax(this->first, slope);
    this->slope_last = slope;
}

static bool judge(pl_combine *combine, const double *workers, const double *owners, double *gamma) {
    proximal *this = (proximal *)combine;
    double first = -owners[PL_OWN_SLOPE], slope = workers[PL_SUM_SLOPE] + owners[PL_OWN_PENALTY];
    if (!this->searching)
        this->search = pl_search_begin(0.0, -first);
    this->searching = true;
    if (first > 0 && !pl_search_flat(&this->search, ENOUGH, fmax(0.0, slope), gamma))
        return false;
    pl_softened_round round = {first, this->slope_last, owners[PL_OWN_NORM], this->here};
    pl_harden(&this->hard, this->glm, &round);
    want_curvature(this, first);
    return true;
}

static void ask(const pl_combine *combine, pl_round *round) {
    const proximal *this = (const proximal *)combine;
    round->curved = this->curved;
    round->softness = this->hard.softness;
    round->recentre = this->hard.recentre;
}

/* Without an L2 penalty, losses with kinks are smoothed together with the penalty. */
static parley_status check(const parley_settings *settings, const pl_problem *problem, parley_error *error) {
    const pl_glm *glm = problem ? pl_glm_of(problem) : NULL;
    pl_arrow shape = glm ? pl_curvature_shape(glm) : (pl_arrow){0};
    if (glm && !glm->loss->smooth && (settings->lambda == 0 || settings->l1_ratio == 1))
        return pl_fail(error, PARLEY_BAD_USAGE, "combine proximal needs an L2 penalty with loss %s; use combine newton",
                       glm->loss->name);
    if (shape.core <= MOST_ENTRIES)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE, "combine proximal would need a matrix of %llu x %llu, but its limit is %d",
                   (unsigned long long)shape.core, (unsigned long long)shape.core, MOST_ENTRIES);
}

/* One owner has all of v, and with it the model. */
static void state(pl_combine *combine, pl_state *state) {
    proximal *this = (proximal *)combine;
    PL_STATE_VALUES(state, "newton", PL_HARDENING_VALUES(this->hard, this->glm->loss), PL_VALUE(this->curved),
                    PL_VALUE(this->l2), PL_UNSURE(this->first), PL_UNSURE(this->slope_last),
                    PL_VALUE(this->hard.recentre));
    pl_state_slice(state, "quadratic", this->model, model_width(this->glm));
}

static const pl_combine_trial trial = {measure, judge};
static const pl_combine_search search = {.slopes_only = true};
static const pl_combine_curvature curvature = {.width = width};

const pl_combine_type pl_combine_proximal = {
    .name = "proximal",
    .help = "Newton's method for an L1 penalty and few columns: by coordinate descent on the quadratic model",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_SMOOTH | PL_FACT_SIGNED,
    .takes = PL_GIVES_GRADIENTS,
    .all_rows = true,
    .softens = true,
    .whole = true,
    .trial = &trial,
    .search = &search,
    .curvature = &curvature,
    .check = check,
    .bytes = bytes,
    .open = open_proximal,
    .renew = renew,
    .ask = ask,
    .propose = propose,
    .state = state,
    .close = close_proximal,
};
