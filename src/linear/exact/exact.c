/* exact.c: least squares, ridge, lasso and elastic net from the products of columns that `products` sums. With means
 * over rows, and columns and labels less their means if the intercept is free, the owner minimises
 *
 *     1/2 w' A w - c.w + l1 |w|_1        A = mean of x x' + l2 I,   c = mean of x y
 *
 * by Cholesky, or by l1_quadratic.h if there is an L1 penalty. It starts from v, so that a further round refines the
 * last digits. The free intercept follows from the means. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linear/exact/products.h"
#include "linear/model/linear_model.h"
#include "math/cholesky.h"
#include "math/l1_quadratic.h"

#define MOST_COLUMNS 2048 /* of which the products are kept */
#define JITTERS 12        /* tries to make a singular matrix positive definite */
#define REFINEMENTS 2     /* solutions of the equations, each for what the last one left */
#define CLOSER 0.1        /* part of the last round's tolerance, and of the target at first */
#define ROUNDING 1e-12    /* of the objective at 0: a tolerance that can be reached */

typedef struct exact {
    pl_combine base;
    const pl_glm *glm;
    uint64_t size;      /* of A: columns, and the intercept if it is penalised */
    double *matrix;     /* A by columns, both halves */
    double *factor;     /* of A, without an L1 penalty */
    double *mean;       /* of each column, if the intercept is free */
    double *square;     /* the diagonal of A without its penalty */
    double *diagonal;   /* that of A */
    double *l1, *slope; /* slope: of the function without its L1 penalty at v */
    double *x, *rest;
    pl_l1_room room;  /* with an L1 penalty */
    bool known;       /* the products of columns are known */
    bool penalised;   /* A has the current penalty */
    double null;      /* half the mean square of the label */
    double target;    /* the gap that ends the run */
    double tolerance; /* of the last round; 0: there was none */
} exact;

static bool has_l1(const exact *self) { return self->glm->lambda != 0 && self->glm->l1_ratio > 0; }

static uint64_t size_of(const pl_glm *glm) {
    return glm->base.data->x.columns + (glm->intercept == PL_PENALISED ? 1 : 0);
}

/* The place of entry j of the model in (values, label, 1). */
static uint64_t place(const exact *self, uint64_t j) {
    uint64_t columns = self->glm->base.data->x.columns;
    return j < columns ? j : columns + 1;
}

/* Reads the products and the means. */
static void read_products(exact *self, const double *sums) {
    uint64_t side = pl_products_side(self->glm), columns = self->glm->base.data->x.columns, size = self->size;
    double total = self->glm->base.total, level;
    bool free = self->glm->intercept == PL_FREE;
    for (uint64_t j = 0; j < columns; j++)
        self->mean[j] = free ? sums[j * side + columns + 1] / total : 0.0;
    level = free ? sums[columns * side + columns + 1] / total : 0.0;
    self->null = 0.5 * fmax(0.0, sums[columns * side + columns] / total - level * level);
    for (uint64_t j = 0; j < size; j++)
        for (uint64_t i = j; i < size; i++) {
            double mean = sums[place(self, j) * side + place(self, i)] / total;
            mean -= free ? self->mean[j] * self->mean[i] : 0.0;
            self->matrix[j * size + i] = self->matrix[i * size + j] = mean;
            self->square[j] = i == j ? mean : self->square[j];
        }
}

static bool factor(exact *self, double jitter) {
    uint64_t size = self->size;
    memcpy(self->factor, self->matrix, size * size * sizeof *self->factor);
    for (uint64_t j = 0; j < size; j++)
        self->factor[j * size + j] += jitter * (self->diagonal[j] > 0 ? self->diagonal[j] : 1.0);
    return pl_cholesky(self->factor, size);
}

/* Adds the penalty to A, and factors it unless there is an L1 penalty. Dependent columns make A singular; a little is
 * then added to its diagonal. */
static parley_status penalise(exact *self, parley_error *error) {
    double jitter = 0;
    for (uint64_t j = 0; j < self->size; j++) {
        self->l1[j] = pl_l1_at(&self->glm->base, j);
        self->matrix[j * self->size + j] = self->diagonal[j] = self->square[j] + pl_l2_at(&self->glm->base, j);
    }
    for (unsigned i = 0; !has_l1(self) && !factor(self, jitter); i++) {
        if (i == JITTERS)
            return pl_fail(error, PARLEY_BROKEN, "the products of columns cannot be factored; use --preset gd");
        jitter = jitter > 0 ? 10 * jitter : 1e-14;
    }
    self->penalised = true;
    return PARLEY_OK;
}

/* Moves x by -A^-1 slope. Refinements correct for rounding, and for what was added to a singular A. */
static void solve_equations(const exact *self, double *slope, double *x) {
    uint64_t size = self->size;
    for (unsigned k = 0; k < REFINEMENTS; k++) {
        memcpy(self->rest, slope, size * sizeof *slope);
        pl_cholesky_solve(self->factor, size, self->rest);
        for (uint64_t j = 0; j < size; j++) {
            x[j] -= self->rest[j];
            for (uint64_t i = 0; i < size && k + 1 < REFINEMENTS; i++)
                slope[i] -= self->rest[j] * self->matrix[j * size + i];
        }
    }
}

/* Moves x to the minimum. Each round is more exact than the last one. A column of zeros has no coefficient. */
static void solve_l1(exact *self, double *slope, double *x) {
    uint64_t size = self->size;
    pl_l1_quadratic problem = {.shape = {.size = size, .core = size, .group = 1},
                               .core = self->matrix,
                               .u = self->matrix, /* there are no eliminated variables */
                               .diagonal = self->diagonal,
                               .l1 = self->l1,
                               .x = x,
                               .slope = slope,
                               .moved = x};
    double least = ROUNDING * self->null;
    for (uint64_t j = 0; j < size; j++)
        x[j] = self->diagonal[j] > 0 ? x[j] : 0.0;
    self->tolerance = CLOSER * (self->tolerance > 0 ? self->tolerance : self->target > least ? self->target : least);
    pl_l1_solve(&problem, &self->room, self->tolerance);
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    exact *self = (exact *)combine;
    const pl_problem *problem = &self->glm->base;
    uint64_t size = self->size;
    parley_status status = PARLEY_OK;
    bool known = self->known;
    (void)round;
    self->known = true; /* on all ranks */
    if (slice->begin == slice->end)
        return status;
    if (!known)
        read_products(self, slice->change + self->glm->base.size);
    if (!self->penalised)
        status = penalise(self, error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t j = 0; j < size; j++) {
        self->x[j] = slice->v[j];
        self->slope[j] = slice->change[j] + pl_l2_at(problem, j) * slice->v[j];
    }
    if (has_l1(self))
        solve_l1(self, self->slope, self->x);
    else
        solve_equations(self, self->slope, self->x);
    double intercept = 0;
    for (uint64_t j = 0; j < size; j++) {
        slice->direction[j] = self->x[j] - slice->v[j];
        intercept -= self->mean[j] * slice->direction[j];
    }
    if (self->glm->intercept == PL_FREE)
        slice->direction[size] = intercept;
    return status;
}

/* The products are needed once. */
static void ask(const pl_combine *combine, pl_round *round) {
    round->columns = ((const exact *)combine)->known ? 1 : round->columns;
}

static void renew(pl_combine *combine) {
    exact *self = (exact *)combine;
    self->penalised = false;
    self->tolerance = 0;
}

static uint64_t width(const pl_problem *problem) { return pl_products_width(pl_glm_of(problem)); }

static uint64_t bytes(const pl_setup *setup) {
    uint64_t size = size_of(pl_glm_of(setup->problem));
    pl_l1_shape shape = {.size = size, .core = size, .group = 1};
    return 2 * size * size * sizeof(double) + (setup->problem->l1 > 0 ? pl_l1_bytes(&shape) : 0);
}

static void close_exact(pl_combine *combine) {
    exact *self = (exact *)combine;
    if (!self)
        return;
    pl_l1_close(&self->room);
    pl_free(self->matrix);
    pl_free(self->factor);
    pl_free(self->mean);
    pl_free(self);
}

static parley_status open_exact(const pl_setup *setup, pl_combine **out, parley_error *error) {
    exact *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "exact", error);
    if (status != PARLEY_OK)
        return status;
    self->base.type = &pl_combine_exact;
    self->glm = pl_glm_of(setup->problem);
    self->target = setup->target;
    uint64_t size = self->size = size_of(self->glm);
    pl_l1_shape shape = {.size = size, .core = size, .group = 1};
    status = pl_take(&self->matrix, size, size * sizeof *self->matrix, "the products of columns", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->mean, 7 * (size + 1), sizeof *self->mean, "the products of columns", error);
    if (status == PARLEY_OK && has_l1(self))
        status = pl_l1_open(&self->room, &shape, error);
    else if (status == PARLEY_OK)
        status = pl_take(&self->factor, size, size * sizeof *self->factor, "the products of columns", error);
    if (status != PARLEY_OK) {
        close_exact(&self->base);
        return status;
    }
    double **const vectors[] = {&self->square, &self->diagonal, &self->l1, &self->slope, &self->x, &self->rest};
    for (unsigned i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = self->mean + (i + 1) * (size + 1);
    *out = &self->base;
    return status;
}

static parley_status check(const parley_settings *settings, const pl_problem *problem, parley_error *error) {
    (void)settings;
    uint64_t columns = problem ? problem->data->x.columns : 0;
    if (columns <= MOST_COLUMNS)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "combine exact would need the products of %llu columns with each other, but its limit is %d",
                   (unsigned long long)columns, MOST_COLUMNS);
}

/* Gives products to a model without a penalty. */
static parley_status add(const void *combine, parley_model *model, parley_error *error) {
    const exact *self = combine;
    pl_linear_model *linear = (pl_linear_model *)model;
    uint64_t columns = self->glm->base.data->x.columns;
    if (self->glm->lambda != 0 || !self->penalised || self->glm->scale || self->glm->intercept == PL_PENALISED)
        return PARLEY_OK;
    parley_status status =
        pl_take(&linear->products, columns, columns * sizeof *linear->products, "the products of columns", error);
    for (uint64_t c = 0; c < columns * columns && status == PARLEY_OK; c++)
        linear->products[c] = self->glm->base.total * self->matrix[c];
    return status;
}

/* After a restart, the products are asked for again. */
static void state(pl_combine *combine, pl_state *state) {
    exact *self = (exact *)combine;
    PL_STATE_VALUES(state, "exact", PL_WITHIN(self->tolerance, 0, DBL_MAX));
}

static const pl_addition addition = {.add = add, .for_runs = true};

const pl_combine_type pl_combine_exact = {
    .name = "exact",
    .help = "solves least squares, with any penalty, from the products of columns",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_QUADRATIC | PL_FACT_SIGNED,
    .takes = PL_GIVES_PRODUCTS,
    .all_rows = true,
    .whole = true,
    .addition = &addition,
    .check = check,
    .bytes = bytes,
    .open = open_exact,
    .renew = renew,
    .width = width,
    .ask = ask,
    .propose = propose,
    .state = state,
    .close = close_exact,
};
