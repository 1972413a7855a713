/* newton.c: Newton's method for few columns. The update has the gradient g and the curvature H of the mean loss. The
 * owner solves
 *
 *     (H + l2 I) d = -(g + l2 v)            by Cholesky; a free intercept has no l2
 *
 * and searches a step gamma along d. With phi(gamma) = P(v + gamma d), which is convex, a step is accepted if phi' is
 * small compared with phi'(0).
 *
 * Some losses are smoothed (smoothing_schedule.h). If the penalty is pure L1, that is smoothed as well: |w| is
 * quadratic where |w| <= l1 mu / s, s being the mean square of the column. With any other L1 penalty this is the
 * combine `proximal`.
 *
 * The curvature is expensive, so it is not computed in every round. In between, the last factor is corrected by the
 * gradients since then, as in BFGS: by the two-loop recursion on the pairs s = step, y = change of the gradient. It is
 * recomputed after some rounds, unless they make good progress. A constant curvature is computed once; if the loss is
 * smoothed, it is computed in every round. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linear/glm.h"
#include "linear/newton/oracle.h"
#include "linear/newton/search.h"

#define ENOUGH 0.1        /* part of the first slope that a step may leave */
#define DAMPING 1e-12     /* of kinks without an L2 penalty, where rows with curvature may be too few */
#define MOST_ENTRIES 2000 /* of a model of several classes */
#define ORDERED 200       /* entries of a block from which their order matters */
#define JITTERS 12        /* tries to make a singular curvature positive definite */

#define NEAR 10.0     /* the expected next gap is at most this multiple of the target */
#define AGE 2         /* rounds for which a factor is used without a check */
#define GOOD 0.01     /* part of the last first slope: a round that leaves no more made good progress */
#define DEAR 32       /* entries per row from which the curvature is much more expensive than a gradient; */
#define DEAR_GOOD 0.1 /* rounds without it may then make less progress */
#define HISTORY 12    /* most pairs, and so most rounds of a factor */
#define CURVED 1e-14  /* least s.y relative to |s| |y| */

typedef struct newton {
    pl_combine base;
    const pl_glm *glm;
    uint64_t blocks, rows, values; /* of the curvature (glm.h); entries of one, and values of its matrix */
    pl_arrow shape;                /* of a block */
    double *matrix;                /* of each block: the factor */
    double *entries;               /* room for those of a block */
    uint64_t *order;               /* of each place of the factor in the core, that of the matrix; behind it, room */
    double *steps, *bends;         /* HISTORY pairs s and y since the factor was computed */
    double *v, *g;                 /* of the last round: the point, and the gradient of P there */
    unsigned pairs;
    bool searching;
    pl_search search;
    pl_smoothing hard;
    double here;       /* distance of the bounds at v */
    double *squares;   /* of each column, the mean square where the first mu has curvature */
    bool damps;        /* there are kinks and no L2 penalty */
    bool curved;       /* this round's update has the curvature */
    unsigned age;      /* of the factor, in rounds */
    double slope, gap; /* of the last round */
    double target;     /* the gap that ends the run */
} newton;

static const pl_combine_type *variant(const pl_problem *problem) {
    static const pl_combine_type *const forms[] = {&pl_combine_newton, &pl_combine_truncated, &pl_combine_proximal};
    unsigned i = 0;
    while (!pl_linear_takes(PL_AUTO_COMBINE, forms[i]->name, problem, NULL))
        i++;
    return forms[i];
}

static uint64_t width(const pl_problem *problem) { return pl_curvature_width(pl_glm_of(problem)); }

static uint64_t bytes(const pl_setup *setup) {
    return setup->problem->size * (width(setup->problem) + 2 * HISTORY + 3) * sizeof(double);
}

static void close_newton(pl_combine *combine) {
    newton *self = (newton *)combine;
    if (!self)
        return;
    pl_free(self->matrix);
    pl_free(self->entries);
    pl_free(self->order);
    pl_free(self->steps);
    pl_free(self->bends);
    pl_free(self->v);
    pl_free(self->g);
    pl_free(self->squares);
    pl_free(self);
}

static parley_status open_newton(const pl_setup *setup, pl_combine **out, parley_error *error) {
    newton *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "newton", error);
    if (status != PARLEY_OK)
        return status;
    self->base.type = &pl_combine_newton;
    self->glm = pl_glm_of(setup->problem);
    self->hard = pl_smoothing_begin(self->glm, setup->target);
    self->base.reserve = pl_smoothing_reserve(self->glm);
    self->target = setup->target;
    self->damps = pl_smooths_penalty(self->glm);
    self->curved = true;
    self->slope = INFINITY;
    uint64_t size = setup->problem->size;
    self->shape = pl_curvature_shape(self->glm);
    self->rows = pl_arrow_rows(&self->shape);
    self->values = pl_arrow_values(&self->shape);
    self->blocks = pl_curvature_blocks(self->glm);
    uint64_t core = self->shape.core;
    self->matrix = pl_alloc(size, (width(setup->problem) - 1) * sizeof *self->matrix);
    self->entries = pl_alloc(self->rows, sizeof *self->entries);
    self->order = pl_alloc(3 * core + 1, sizeof *self->order);
    for (uint64_t p = 0; self->order && p < core; p++)
        self->order[p] = p;
    self->steps = pl_alloc(HISTORY, size * sizeof *self->steps);
    self->bends = pl_alloc(HISTORY, size * sizeof *self->bends);
    self->v = pl_alloc(size, sizeof *self->v);
    self->g = pl_alloc(size, sizeof *self->g);
    self->squares = pl_alloc(size, sizeof *self->squares);
    if (self->matrix && self->entries && self->order && self->steps && self->bends && self->v && self->g &&
        self->squares) {
        *out = &self->base;
        return PARLEY_OK;
    }
    close_newton(&self->base);
    return pl_fail_memory(error, "newton's matrix", bytes(setup));
}

/* The mu of the L1 penalty of entry j, so that the penalty is about as curved as the loss in this direction. */
static double penalty_softness(const newton *self, uint64_t j) {
    return self->squares[j] > 0 ? self->hard.softness / self->squares[j] : 0.0;
}

/* Slope of the penalty of entry j at w, with |w| smoothed as the loss is. */
static double penalty_slope(const newton *self, uint64_t j, double w) {
    double l1 = pl_l1_at(&self->glm->base, j), l2 = pl_l2_at(&self->glm->base, j);
    return l1 > 0 ? l2 * w + fmin(l1, fmax(-l1, w / penalty_softness(self, j))) : l2 * w;
}

static double penalty_curvature(const newton *self, uint64_t j, double w) {
    double l1 = pl_l1_at(&self->glm->base, j), l2 = pl_l2_at(&self->glm->base, j);
    double mu = l1 > 0 ? penalty_softness(self, j) : 0.0;
    return fabs(w) < l1 * mu ? l2 + 1.0 / mu : l2;
}

/* Learns the columns' scales in the first round. An empty column is as good as one of the average scale. */
static void learn_squares(newton *self, const double *curvature) {
    uint64_t size = self->glm->base.size;
    double sum = 0;
    if (!self->damps || self->squares[0] > 0)
        return;
    for (uint64_t c = 0; c < self->blocks; c++)
        for (uint64_t p = 0; p < self->rows; p++)
            sum += self->squares[pl_curvature_entry(self->glm, c, p)] =
                self->hard.softness * curvature[c * self->values + pl_arrow_diagonal(&self->shape, p)];
    for (uint64_t j = 0; j < size; j++)
        if (!(self->squares[j] > 0))
            self->squares[j] = sum > 0 ? sum / (double)size : 1.0;
}

/* Orders the core by how many others its entries meet in a row of the data, once, so that the factor is nearly as
 * sparse as the matrix. */
static void find_order(newton *self, const double *curvature) {
    uint64_t core = self->shape.core, *met = self->order + core, *starts = met + core;
    if (core <= ORDERED || self->age > 0)
        return;
    memset(met, 0, (2 * core + 1) * sizeof *met);
    for (uint64_t j = 0; j < core; j++)
        for (uint64_t i = j + 1; i < core; i++)
            if (curvature[j * core + i] != 0) {
                met[i]++;
                met[j]++;
            }
    for (uint64_t j = 0; j < core; j++)
        starts[met[j] + 1]++;
    for (uint64_t m = 0; m < core; m++)
        starts[m + 1] += starts[m];
    for (uint64_t j = 0; j < core; j++)
        self->order[starts[met[j]]++] = j;
}

/* The entry of v at a place of the factor. */
static uint64_t entry(const newton *self, uint64_t block, uint64_t p) {
    return pl_curvature_entry(self->glm, block, p < self->shape.core ? self->order[p] : p);
}

/* Copies the curvature of a block, with the core in its order. */
static void copy(const newton *self, const double *curvature, double *matrix) {
    uint64_t core = self->shape.core, group = self->shape.group, stride = pl_arrow_stride(&self->shape);
    for (uint64_t j = 0; j < core; j++)
        for (uint64_t i = j; i < core; i++) {
            uint64_t own = self->order[j], other = self->order[i], first = own < other ? own : other;
            matrix[j * core + i] = curvature[first * core + (own ^ other ^ first)];
        }
    for (uint64_t at = core * core; at < self->values; at += stride) {
        memcpy(matrix + at, curvature + at, group * sizeof *matrix);
        for (uint64_t i = 0; i < core; i++)
            matrix[at + group + i] = curvature[at + group + self->order[i]];
    }
}

/* Copies H + the curvature of the penalty, adds `jitter` times its diagonal, and factors it. */
static bool factor(newton *self, const double *curvature, const double *v, double jitter) {
    bool factored = true;
    for (uint64_t c = 0; c < self->blocks && factored; c++) {
        double *matrix = self->matrix + c * self->values;
        copy(self, curvature + c * self->values, matrix);
        for (uint64_t p = 0; p < self->rows; p++) {
            uint64_t e = entry(self, c, p);
            double *diagonal = &matrix[pl_arrow_diagonal(&self->shape, p)];
            *diagonal += penalty_curvature(self, e, v[e]);
            if (self->damps)
                *diagonal += DAMPING * self->squares[e] / self->hard.softness;
            *diagonal += jitter * (*diagonal > 0 ? *diagonal : 1.0);
        }
        factored = pl_arrow_factor(&self->shape, matrix);
    }
    return factored;
}

/* x <- the inverse of the factored matrix x */
static void solve(const newton *self, double *x) {
    for (uint64_t c = 0; c < self->blocks; c++) {
        for (uint64_t p = 0; p < self->rows; p++)
            self->entries[p] = x[entry(self, c, p)];
        pl_arrow_solve(&self->shape, self->matrix + c * self->values, self->entries);
        for (uint64_t p = 0; p < self->rows; p++)
            x[entry(self, c, p)] = self->entries[p];
    }
}

static double dot(const double *x, const double *y, uint64_t size) {
    double sum = 0;
    for (uint64_t j = 0; j < size; j++)
        sum += x[j] * y[j];
    return sum;
}

static void add(double a, const double *x, uint64_t size, double *y) {
    for (uint64_t j = 0; j < size; j++)
        y[j] += a * x[j];
}

/* Stores v and the gradient of P there. If the factor is an old one, also stores a pair. */
static void remember(newton *self, const pl_slice *slice) {
    uint64_t size = self->glm->base.size;
    double *s = self->steps + self->pairs * size, *y = self->bends + self->pairs * size;
    bool old = !self->curved && !self->glm->loss->quadratic;
    for (uint64_t j = 0; j < size; j++) {
        double g = slice->change[j] + penalty_slope(self, j, slice->v[j]);
        if (old) {
            s[j] = slice->v[j] - self->v[j];
            y[j] = g - self->g[j];
        }
        self->v[j] = slice->v[j];
        self->g[j] = g;
    }
    if (!old)
        self->pairs = 0;
    else if (dot(s, y, size) > CURVED * sqrt(dot(s, s, size) * dot(y, y, size)))
        self->pairs++;
}

/* d = -(approximate curvature)^-1 g */
static void find_direction(const newton *self, double *d) {
    uint64_t size = self->glm->base.size;
    double alpha[HISTORY], rho[HISTORY];
    for (uint64_t j = 0; j < size; j++)
        d[j] = -self->g[j];
    for (unsigned k = self->pairs; k-- > 0;) {
        const double *s = self->steps + k * size, *y = self->bends + k * size;
        rho[k] = 1.0 / dot(s, y, size);
        alpha[k] = rho[k] * dot(s, d, size);
        add(-alpha[k], y, size, d);
    }
    solve(self, d);
    for (unsigned k = 0; k < self->pairs; k++) {
        const double *s = self->steps + k * size, *y = self->bends + k * size;
        add(alpha[k] - rho[k] * dot(y, d, size), s, size, d);
    }
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    newton *self = (newton *)combine;
    (void)round;
    self->searching = false;
    self->here = slice->gap;
    if (slice->begin == slice->end)
        return PARLEY_OK;
    double jitter = 0;
    if (self->curved) {
        learn_squares(self, slice->change + self->glm->base.size);
        find_order(self, slice->change + self->glm->base.size);
    }
    for (unsigned i = 0; self->curved && !factor(self, slice->change + self->glm->base.size, slice->v, jitter); i++) {
        if (i == JITTERS)
            return pl_fail(error, PARLEY_BROKEN, "the matrix of Newton's method cannot be factored; use --preset gd");
        jitter = jitter > 0 ? 10 * jitter : 1e-14;
    }
    remember(self, slice);
    find_direction(self, slice->direction);
    return PARLEY_OK;
}

/* Slopes by gamma: of the penalty there, and of P at 0. */
static void measure(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars) {
    const newton *self = (const newton *)combine;
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        double d = slice->direction[j], g = slice->change[j] + penalty_slope(self, j, slice->v[j]);
        scalars[PL_OWN_NORM] += g * g;
        scalars[PL_OWN_PENALTY] += penalty_slope(self, j, slice->v[j] + gamma * d) * d;
        scalars[PL_OWN_SLOPE] += g * d;
    }
}

/* The part of the first slope that a round with good progress may leave. */
static double good_enough(const pl_glm *glm) {
    double entries = (double)pl_all_nonzeros(glm->base.data) * (double)glm->classes;
    return entries > DEAR * (double)pl_all_rows(glm->base.data) ? DEAR_GOOD : GOOD;
}

/* Decides whether the next round needs the curvature. `slope` is the first slope along the step just taken, about twice
 * the remaining decrease, and with a penalty norm2 / (2 l2) is the gap where it began. Both fall faster and faster. */
static void want_curvature(newton *self, double slope, double norm2) {
    const pl_glm *glm = self->glm;
    double l2 = glm->base.l2 * glm->least_factor, gap = l2 > 0 ? norm2 / (2 * l2) : INFINITY;
    bool near = gap * (gap / self->gap) <= NEAR * self->target;
    bool good = slope <= good_enough(glm) * self->slope;
    self->age = self->curved ? 1 : self->age + 1;
    self->curved =
        glm->loss->soften || (!glm->loss->quadratic && (self->age >= HISTORY || (self->age >= AGE && !near && !good)));
    self->slope = slope;
    self->gap = gap;
}

static bool judge(pl_combine *combine, const double *workers, const double *owners, double *gamma) {
    newton *self = (newton *)combine;
    double first = -owners[PL_OWN_SLOPE], slope = workers[PL_SUM_SLOPE] + owners[PL_OWN_PENALTY];
    if (!self->searching)
        self->search = pl_search_begin(0.0, -first);
    self->searching = true;
    if (first > 0 && !pl_search_flat(&self->search, ENOUGH, slope, gamma))
        return false;
    pl_softened_round round = {first, self->slope, owners[PL_OWN_NORM], self->here};
    pl_smoothing_next(&self->hard, self->glm, &round);
    want_curvature(self, first, owners[PL_OWN_NORM]);
    return true;
}

static bool polish(const pl_combine *combine, double gap, double *w) {
    return pl_drop_small(((const newton *)combine)->glm, gap, w);
}

static void ask(const pl_combine *combine, pl_round *round) {
    const newton *self = (const newton *)combine;
    round->columns = self->curved ? round->columns : 1;
    round->own = &self->hard;
}

static parley_status check(const parley_settings *settings, const pl_problem *problem, parley_error *error) {
    (void)settings;
    if (!problem || problem->row == 1)
        return PARLEY_OK;
    const pl_glm *glm = pl_glm_of(problem);
    pl_arrow shape = pl_curvature_shape(glm);
    uint64_t core = shape.core;
    if (core <= MOST_ENTRIES)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "combine newton would need a matrix of %llu x %llu for %s, but its limit is %d",
                   (unsigned long long)core, (unsigned long long)core,
                   glm->loss->together ? "all classes" : "each class", MOST_ENTRIES);
}

/* One owner has all of v, and with it the factor and the pairs. */
static void state(pl_combine *combine, pl_state *state) {
    newton *self = (newton *)combine;
    uint64_t pairs = self->pairs;
    PL_STATE_VALUES(state, "newton", PL_HARDENING_VALUES(self->hard, self->glm->loss), PL_VALUE(self->curved),
                    PL_WITHIN(self->age, 0, self->glm->loss->quadratic ? UINT_MAX : HISTORY), PL_UNSURE(self->slope),
                    PL_UNSURE(self->gap));
    if (!self->glm->loss->smooth)
        PL_STATE_VALUES(state, "multipliers", PL_VALUE(self->hard.recentre));
    pl_state_length(state, "pairs", &pairs, self->age < HISTORY ? self->age : HISTORY - 1);
    self->pairs = (unsigned)pairs;
    uint64_t core = self->shape.core;
    if (core > ORDERED) {
        pl_state_array(state, "order", self->order, PL_U64, core);
        pl_state_check_order(state, "order", self->order, core);
    }
    pl_state_slice(state, self->shape.apart ? "arrow" : "matrix", self->matrix, pl_curvature_width(self->glm) - 1);
    pl_state_slice(state, "steps", self->steps, pairs);
    pl_state_slice(state, "bends", self->bends, pairs);
    pl_state_slice(state, "v", self->v, 1);
    pl_state_slice(state, "g", self->g, 1);
    if (self->damps)
        pl_state_slice(state, "squares", self->squares, 1);
}

static const pl_combine_trial trial = {measure, judge};

static parley_status next(pl_combine *combine, const pl_slice *slice, const double *scalars, pl_question *question,
                          parley_error *error) {
    return scalars ? pl_search_next(combine, &trial, slice, scalars, question, error) : PARLEY_OK;
}

static const pl_oracle oracle = {.slopes_only = true};
static const pl_combine_dialogue dialogue = {next, &oracle};

const pl_combine_type pl_combine_newton = {
    .name = "newton",
    .help = "Newton's method for a smooth loss: by Cholesky for few columns, otherwise truncated",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_SMOOTH | PL_FACT_SIGNED,
    .takes = PL_GIVES_GRADIENTS,
    .all_rows = true,
    .softens = true,
    .whole = true,
    .dialogue = &dialogue,
    .width = width,
    .variant = variant,
    .check = check,
    .bytes = bytes,
    .open = open_newton,
    .ask = ask,
    .propose = propose,
    .polish = polish,
    .state = state,
    .close = close_newton,
};
