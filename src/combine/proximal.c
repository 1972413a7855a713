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

#include "combine/hardening.h"
#include "combine/search.h"
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
    uint64_t blocks, rows, loose; /* blocks; entries of one; free intercepts among them, which are the last */
    uint64_t group;               /* classes, if scores that change alike change nothing */
    double *matrix; /* of each block: A, behind each of its columns that of L^-1 H_bw, and L, where H_bb = L L' */
    double *x, *slope, *l1; /* of a block, for the sub-problem */
    pl_l1_room room;
    pl_hardening hard;
    double here; /* distance of the bounds at v */
    bool searching;
    pl_search search;
    bool curved;              /* this round's update has the curvature */
    double l2;                /* in the matrix */
    double first, slope_last; /* slope along the step of the first round, and of the last */
} proximal;

static uint64_t width(const pl_problem *problem) { return 1 + problem->size / pl_curvature_blocks(pl_glm_of(problem)); }

static uint64_t bytes(const pl_setup *setup) {
    uint64_t size = setup->problem->size, rows = size / pl_curvature_blocks(pl_glm_of(setup->problem));
    return (size + 3) * rows * sizeof(double) + pl_l1_bytes(rows);
}

static void close_proximal(pl_combine *combine) {
    proximal *this = (proximal *)combine;
    if (!this)
        return;
    pl_free(this->matrix);
    pl_free(this->x);
    pl_free(this->slope);
    pl_free(this->l1);
    pl_l1_close(&this->room);
    pl_free(this);
}

static parley_status open_proximal(const pl_setup *setup, pl_combine **out, parley_error *error) {
    proximal *this;
    const pl_glm *glm = pl_glm_of(setup->problem);
    parley_status status = pl_take(&this, 1, sizeof *this, "newton", error);
    if (status != PARLEY_OK)
        return status;
    uint64_t blocks = pl_curvature_blocks(glm), rows = glm->size / blocks;
    *this = (proximal){.base = {&pl_combine_proximal},
                       .glm = glm,
                       .blocks = blocks,
                       .rows = rows,
                       .loose = glm->intercept == PL_FREE ? glm->classes / blocks : 0,
                       .group = glm->loss->together ? glm->classes : 1,
                       .hard = pl_hardening_begin(glm, setup->target),
                       .curved = true,
                       .l2 = glm->l2,
                       .slope_last = INFINITY};
    this->matrix = pl_alloc(glm->size, rows * sizeof *this->matrix);
    this->x = pl_alloc(rows, sizeof *this->x);
    this->slope = pl_alloc(rows, sizeof *this->slope);
    this->l1 = pl_alloc(rows, sizeof *this->l1);
    if (!this->matrix || !this->x || !this->slope || !this->l1)
        status = pl_fail_memory(error, "newton's matrix", bytes(setup));
    if (status == PARLEY_OK)
        status = pl_l1_open(&this->room, rows, error);
    if (status == PARLEY_OK)
        *out = &this->base;
    else
        close_proximal(&this->base);
    return status;
}

/* The entry of v that is entry j of a block. */
static uint64_t entry(const proximal *this, uint64_t block, uint64_t j) { return j * this->blocks + block; }

static uint64_t kept(const proximal *this) { return this->rows - this->loose; }

/* Factors H_bb in place, in the last columns of the matrix. A class without curvature keeps its intercept. */
static void factor_intercepts(const proximal *this, double *m) {
    uint64_t rows = this->rows, begin = kept(this), count = this->loose;
    double *packed = this->room.factor;
    for (uint64_t c = 0; c < count; c++) {
        double *column = m + (begin + c) * rows + begin;
        for (uint64_t d = c; d < count; d++)
            packed[c * count + d] = column[d];
        packed[c * count + c] += column[c] > 0 ? RIDGE * column[c] : 1.0;
    }
    if (!pl_cholesky(packed, count)) { /* rounding: the diagonal is a bound of it, up to a factor */
        memset(packed, 0, count * count * sizeof *packed);
        for (uint64_t c = 0; c < count; c++) {
            double a = m[(begin + c) * rows + begin + c];
            packed[c * count + c] = sqrt(a > 0 ? 2.0 * a : 1.0);
        }
    }
    for (uint64_t c = 0; c < count; c++)
        memcpy(m + (begin + c) * rows + begin + c, packed + c * count + c, (count - c) * sizeof *m);
}

/* b <- L^-1 b */
static void solve_below(const proximal *this, const double *m, double *b) {
    uint64_t rows = this->rows, begin = kept(this);
    for (uint64_t c = 0; c < this->loose; c++) {
        const double *column = m + (begin + c) * rows + begin;
        b[c] /= column[c];
        for (uint64_t d = c + 1; d < this->loose; d++)
            b[d] -= column[d] * b[c];
    }
}

/* b <- L'^-1 b */
static void solve_above(const proximal *this, const double *m, double *b) {
    uint64_t rows = this->rows, begin = kept(this);
    for (uint64_t c = this->loose; c-- > 0;) {
        const double *column = m + (begin + c) * rows + begin;
        for (uint64_t d = c + 1; d < this->loose; d++)
            b[c] -= column[d] * b[d];
        b[c] /= column[c];
    }
}

/* Makes the matrix of a block from the lower triangle of H. */
static void make_matrix(const proximal *this, uint64_t block, const double *curvature, double *m) {
    uint64_t rows = this->rows, count = kept(this);
    memcpy(m, curvature, rows * rows * sizeof *m);
    factor_intercepts(this, m);
    for (uint64_t j = 0; j<count &&this->loose> 0; j++)
        solve_below(this, m, m + j * rows + count);
    for (uint64_t j = 0; j < count; j++) {
        const double *tail = m + j * rows + count;
        for (uint64_t i = j; i < count; i++) {
            const double *other = m + i * rows + count;
            double sum = m[j * rows + i];
            for (uint64_t c = 0; c < this->loose; c++)
                sum -= tail[c] * other[c];
            m[j * rows + i] = m[i * rows + j] = sum;
        }
        double *diagonal = &m[j * rows + j], whole = curvature[j * rows + j];
        *diagonal = fmax(*diagonal, LEAST * whole) + pl_l2_at(&this->glm->base, entry(this, block, j));
    }
}

/* On a path of penalties the last matrix is a good model of the loss at first. */
static void renew(pl_combine *combine) {
    proximal *this = (proximal *)combine;
    uint64_t rows = this->rows;
    for (uint64_t c = 0; c < this->blocks; c++)
        for (uint64_t j = 0; j < kept(this); j++) {
            uint64_t e = entry(this, c, j);
            double factor = e < this->glm->base.penalised ? pl_factor(this->glm, e) : 0.0;
            this->matrix[(c * rows + j) * rows + j] += factor * (this->glm->l2 - this->l2);
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
    uint64_t rows = this->rows, count = kept(this);
    double *m = this->matrix + block * rows * rows, *b = this->x + count, part = forcing(this);
    if (this->curved)
        make_matrix(this, block, slice->change + this->glm->size + block * rows * rows, m);
    for (uint64_t j = 0; j < count; j++) {
        uint64_t e = entry(this, block, j);
        this->x[j] = slice->v[e];
        this->slope[j] = slice->change[e] + pl_l2_at(problem, e) * slice->v[e];
        this->l1[j] = pl_l1_at(problem, e);
    }
    pl_l1_quadratic model = {count, rows, this->group, m, this->l1, this->x, this->slope};
    pl_l1_solve(&model, &this->room, part * part * pl_l1_violation(&model));
    for (uint64_t c = 0; c < this->loose; c++)
        b[c] = 0;
    for (uint64_t j = 0; j < count; j++) {
        uint64_t e = entry(this, block, j);
        double d = slice->direction[e] = this->x[j] - slice->v[e];
        for (uint64_t c = 0; c < this->loose && d != 0; c++)
            b[c] -= m[j * rows + count + c] * d;
    }
    solve_above(this, m, b);
    for (uint64_t c = 0; c < this->loose; c++)
        slice->direction[entry(this, block, count + c)] = b[c];
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
    uint64_t rows = glm ? glm->size / pl_curvature_blocks(glm) : 0;
    if (glm && !glm->loss->smooth && (settings->lambda == 0 || settings->l1_ratio == 1))
        return pl_fail(error, PARLEY_BAD_USAGE, "combine proximal needs an L2 penalty with loss %s; use combine newton",
                       glm->loss->name);
    if (rows <= MOST_ENTRIES)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE, "combine proximal would need a matrix of %llu x %llu, but its limit is %d",
                   (unsigned long long)rows, (unsigned long long)rows, MOST_ENTRIES);
}

/* One owner has all of v, and with it the matrix. */
static void state(pl_combine *combine, pl_state *state) {
    proximal *this = (proximal *)combine;
    PL_STATE_VALUES(state, "newton", PL_HARDENING_VALUES(this->hard, this->glm->loss), PL_VALUE(this->curved),
                    PL_VALUE(this->l2), PL_UNSURE(this->first), PL_UNSURE(this->slope_last),
                    PL_VALUE(this->hard.recentre));
    pl_state_slice(state, "matrix", this->matrix, this->rows);
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
