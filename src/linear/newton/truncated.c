/* truncated.c: Newton's method for many columns. The owners solve
 *
 *     (H + l2 I) d = -g           g = gradient of P, H = sum_i q_i loss''(z_i) x_i x_i'
 *
 * by conjugate gradients with the diagonal as preconditioner. The workers compute products with H, and a step along d
 * is searched. With more columns than rows, H is 0 in most directions, for which the diagonal is far too large. Then l2
 * + diagonal / 10 needs fewer products (Hsia, Chiang and Lin 2018 take a hundredth). If the solver has a preconditioner
 * of its own (softmax_preconditioner.c), it sends preconditioned gradients and products instead of the diagonal. The
 * solve ends when its residual r is small enough (Dembo, Eisenstat and Steihaug 1982), in the norm of the
 * preconditioner:
 *
 *     |r| <= max(forcing |g|, reserve)      forcing = min(1/4, sqrt(|g| / first |g|))
 *
 * r is the gradient after the step, up to the change of H. At a gradient g the duality gap is |g|^2 / (2 l2), so there
 * is no use in an r below that of the target, which is the reserve. If H is constant (squared loss), only the reserve
 * ends the solve. A solve that does not fit in a round continues in the next one. With several classes the forcing is
 * 1/4: the first gradient on raw counts is so large that the other term would ask for far too many products.
 *
 * Where the curvature of rows jumps (squared hinge, Huber), the search often cuts a step, because it met rows that had
 * no curvature. What it left of the step is then the first guess of the next solve. If a solve from a guess does not
 * end in a direction of descent, it is repeated from 0.
 *
 * A free intercept b, whose slope is 0 because the solver has moved it to its optimum, is eliminated. With h = H e_b,
 * which is asked for first, the system for w has H - h h' / h_b instead of H, and d_b = -h.d / h_b. That is the system
 * of centred columns, which is often far better conditioned. */
#include <math.h>
#include <string.h>

#include "linear/newton/oracle.h"
#include "linear/newton/search.h"

#define LOOSEST 0.25
#define SAFETY 0.7     /* factor of the target's residual */
#define PRODUCTS 100   /* in one round, so that the run can be observed and stopped */
#define WIDE_SHARE 0.1 /* of the diagonal in the preconditioner, if there are more columns than rows */
#define CUT 0.9        /* shorter steps were cut */
#define VARIES 1e-12   /* least part of a column's curvature that must remain without its mean */

typedef struct truncated {
    pl_combine base;
    const pl_problem *problem;
    bool quadratic; /* H is constant */
    bool jumps;     /* the curvature of rows jumps to 0 */
    bool sent;      /* the workers precondition */
    double gap, target;
    double share;          /* of the diagonal of H in the preconditioner */
    uint64_t begin, count; /* the owner's slice */
    double *g, *scale;     /* gradient; inverse of the preconditioner or, if it is sent, its product with r */
    double *x, *r, *p;     /* solution so far, residual, direction of the solve */
    double value, first;   /* P(v); |g| of the first round, in the preconditioner's norm */
    double first_plain;    /* the same in the Euclidean norm */
    double rz, enough, reserve2;
    double *h, h_b, x_b; /* the intercept's column of H, its last entry, and x there; if it is sent, `scale` at x = 0 */
    unsigned products;
    bool eliminates, centred; /* there is a free intercept; h is known */
    bool asks, unfinished;
    bool has_guess, asks_guess, from_guess; /* p is a guess; its product was asked for; the solve began there */
    pl_search search;
} truncated;

static uint64_t width(const pl_problem *problem) {
    (void)problem;
    return 2;
}

static uint64_t bytes(const pl_setup *setup) { return (setup->end - setup->begin) * 6 * sizeof(double); }

static void close_truncated(pl_combine *combine) {
    truncated *self = (truncated *)combine;
    if (!self)
        return;
    pl_free(self->g);
    pl_free(self->scale);
    pl_free(self->x);
    pl_free(self->r);
    pl_free(self->p);
    pl_free(self->h);
    pl_free(self);
}

static double share_of(const pl_glm *glm) {
    return glm && glm->base.data->x.columns > pl_all_rows(glm->base.data) ? WIDE_SHARE : 1.0;
}

static parley_status open_truncated(const pl_setup *setup, pl_combine **out, parley_error *error) {
    uint64_t count = setup->end - setup->begin;
    const pl_glm *glm = pl_glm_of(setup->problem);
    truncated *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "newton", error);
    if (status != PARLEY_OK)
        return status;
    *self = (truncated){.base = {.type = &pl_combine_truncated},
                        .problem = setup->problem,
                        .quadratic = glm && glm->loss->quadratic,
                        .jumps = glm && glm->loss->depth && !glm->loss->together,
                        .sent = pl_oracle_preconditions(setup),
                        .gap = setup->settings->gap,
                        .target = setup->target,
                        .share = share_of(glm),
                        .eliminates = setup->problem->penalised + 1 == setup->problem->size,
                        .begin = setup->begin,
                        .count = count};
    self->g = pl_alloc(count, sizeof *self->g);
    self->scale = pl_alloc(count, sizeof *self->scale);
    self->x = pl_alloc(count, sizeof *self->x);
    self->r = pl_alloc(count, sizeof *self->r);
    self->p = pl_alloc(count, sizeof *self->p);
    self->h = pl_alloc(count, sizeof *self->h);
    if (!self->g || !self->scale || !self->x || !self->r || !self->p || !self->h) {
        close_truncated(&self->base);
        return pl_fail_memory(error, "newton's vectors", bytes(setup));
    }
    *out = &self->base;
    return PARLEY_OK;
}

typedef struct pass {
    truncated *of;
    const pl_slice *slice;
    double alpha, y_b; /* step of the solve; the intercept's entry of the product, divided by h_b */
} pass;

static double l2_of(const truncated *self, uint64_t j) {
    return j < self->problem->penalised ? self->problem->l2 : 0.0;
}

static bool eliminated(const truncated *self, uint64_t j) { return self->eliminates && j + 1 == self->problem->size; }

/* Stores the gradient, and the curvature of the intercept. */
static void keep_gradient(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    truncated *self = pass->of;
    const double *diagonal = pass->slice->change + self->problem->size;
    for (uint64_t j = begin; j < end; j++) {
        uint64_t i = j - self->begin;
        double v = pass->slice->v[j], l2 = l2_of(self, j);
        self->g[i] = pass->slice->change[j] + l2 * v;
        self->scale[i] = diagonal[j] + l2;
        self->h[i] = self->sent ? -diagonal[j] : 0.0;
        pass->slice->direction[j] = eliminated(self, j) ? 1.0 : 0.0;
        sums[0] += 0.5 * l2 * v * v;
        sums[1] += eliminated(self, j) ? diagonal[j] : 0.0;
    }
}

enum { SUM_RZ, SUM_RR };

/* The preconditioner of an entry whose second derivative is `whole`. */
static double damp(const truncated *self, double whole, double l2) {
    return l2 > 0 ? self->share * whole + (1.0 - self->share) * l2 : whole;
}

/* An entry of the preconditioned residual. */
static double preconditioned(const truncated *self, uint64_t i) {
    return self->sent ? self->scale[i] : self->scale[i] * self->r[i];
}

static void begin_entry(truncated *self, uint64_t j, double *sums) {
    uint64_t i = j - self->begin;
    self->x[i] = 0;
    self->r[i] = eliminated(self, j) ? 0.0 : -self->g[i];
    self->scale[i] = self->sent ? self->h[i] : self->scale[i];
    sums[SUM_RZ] += self->r[i] * preconditioned(self, i);
    sums[SUM_RR] += self->r[i] * self->r[i];
}

/* Computes the residual at x = 0, and the preconditioner. */
static void begin_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    truncated *self = pass->of;
    for (uint64_t j = begin; j < end; j++) {
        uint64_t i = j - self->begin;
        if (self->sent) {
            begin_entry(self, j, sums);
            continue;
        }
        if (self->centred)
            self->h[i] = pass->slice->change[j];
        double whole = self->scale[i], left = whole - (self->h_b > 0 ? self->h[i] * self->h[i] / self->h_b : 0.0);
        bool still = eliminated(self, j) || !(left > VARIES * whole); /* nothing else depends on it */
        self->scale[i] = still ? 0.0 : 1.0 / damp(self, left, l2_of(self, j));
        begin_entry(self, j, sums);
    }
}

static void begin_again(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    for (uint64_t j = begin; j < end; j++)
        begin_entry(pass->of, j, sums);
}

/* The |r|^2, in the Euclidean norm, that is enough for the run's target. */
static double reserve2(const truncated *self) {
    double relative = self->gap * self->first_plain;
    return SAFETY * SAFETY *
           (self->problem->facts & PL_FACT_DUAL ? 2.0 * self->problem->l2 * self->target : relative * relative);
}

static void slope_of(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    const truncated *self = pass->of;
    for (uint64_t j = begin; j < end; j++)
        sums[0] += self->g[j - self->begin] * pass->slice->direction[j];
}

/* Computes the next direction of the solve and asks for its product. */
static void ask(truncated *self, const pl_slice *slice, double beta) {
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        uint64_t i = j - self->begin;
        self->p[i] = preconditioned(self, i) + beta * self->p[i];
        slice->direction[j] = self->p[i];
    }
    self->asks = true;
}

/* Repeats a solve from x = 0. */
static parley_status solve_again(truncated *self, const pl_slice *slice, parley_error *error) {
    pass pass = {.of = self, .slice = slice};
    double sums[PL_OWN_SCALARS] = {0};
    parley_status status = pl_slice_sum(slice, begin_again, &pass, sums, error);
    self->rz = sums[SUM_RZ];
    self->x_b = 0;
    self->products = 0;
    self->from_guess = false;
    ask(self, slice, 0.0);
    return status;
}

/* Ends the solve: the direction is x. */
static parley_status finish(truncated *self, const pl_slice *slice, parley_error *error) {
    double sums[PL_OWN_SCALARS] = {0};
    pass pass = {.of = self, .slice = slice};
    self->asks = false;
    for (uint64_t j = slice->begin; j < slice->end; j++)
        slice->direction[j] = eliminated(self, j) ? self->x_b : self->x[j - self->begin];
    parley_status status = pl_slice_sum(slice, slope_of, &pass, sums, error);
    if (status == PARLEY_OK && self->from_guess && !(sums[0] < 0))
        return solve_again(self, slice, error);
    self->search = pl_search_begin(self->value, sums[0]);
    return status;
}

static void ask_guess(truncated *self, const pl_slice *slice) {
    memcpy(slice->direction + slice->begin, self->p, (slice->end - slice->begin) * sizeof *self->p);
    self->asks = true;
}

static parley_status begin_solve(truncated *self, const pl_slice *slice, parley_error *error) {
    pass pass = {.of = self, .slice = slice};
    double sums[PL_OWN_SCALARS] = {0};
    parley_status status = pl_slice_sum(slice, begin_entries, &pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    double size = sqrt(sums[SUM_RZ]), beta = self->unfinished ? sums[SUM_RZ] / self->rz : 0.0;
    if (!(self->first > 0)) {
        self->first = size;
        self->first_plain = sqrt(sums[SUM_RR]);
    }
    bool several = self->problem->row > 1;
    double forcing = self->quadratic ? 0.0 : several ? LOOSEST : fmin(LOOSEST, sqrt(size / self->first));
    self->rz = sums[SUM_RZ];
    self->enough = forcing * forcing * self->rz;
    self->reserve2 = reserve2(self);
    self->products = 0;
    self->x_b = 0;
    self->unfinished = false;
    self->asks_guess = self->has_guess;
    self->has_guess = self->from_guess = false;
    if (!(self->rz > 0))
        return finish(self, slice, error);
    if (self->asks_guess)
        ask_guess(self, slice);
    else
        ask(self, slice, beta);
    return PARLEY_OK;
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    truncated *self = (truncated *)combine;
    pass pass = {.of = self, .slice = slice};
    double sums[PL_OWN_SCALARS] = {0};
    (void)round;
    parley_status status = pl_slice_sum(slice, keep_gradient, &pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    self->value = slice->value + sums[0];
    self->h_b = sums[1];
    self->centred = false;
    self->asks = self->h_b > 0; /* asks for h */
    return self->asks ? PARLEY_OK : begin_solve(self, slice, error);
}

/* Sums p.(H + l2 I) p, and the intercept's entry of the product. */
static void curve(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    const truncated *self = pass->of;
    for (uint64_t j = begin; j < end; j++) {
        double p = self->p[j - self->begin];
        sums[0] += p * (pass->slice->change[j] + l2_of(self, j) * p);
        sums[1] += eliminated(self, j) ? pass->slice->change[j] : 0.0;
    }
}

static void advance(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    truncated *self = pass->of;
    for (uint64_t j = begin; j < end; j++) {
        uint64_t i = j - self->begin;
        double p = self->p[i];
        if (eliminated(self, j))
            continue;
        self->x[i] += pass->alpha * p;
        self->r[i] -= pass->alpha * (pass->slice->change[j] + l2_of(self, j) * p - pass->y_b * self->h[i]);
        if (self->sent)
            self->scale[i] -= pass->alpha * pass->slice->change[self->problem->size + j];
        sums[SUM_RZ] += self->r[i] * preconditioned(self, i);
        sums[SUM_RR] += self->r[i] * self->r[i];
    }
}

/* Moves x from 0 to the guess, whose product is known. */
static parley_status solve_from_guess(truncated *self, pass *pass, parley_error *error) {
    double sums[PL_OWN_SCALARS] = {0};
    pass->alpha = 1.0;
    parley_status status = pl_slice_sum(pass->slice, advance, pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    self->asks_guess = false;
    self->from_guess = true;
    self->products++;
    self->x_b = -pass->y_b;
    self->rz = sums[SUM_RZ];
    if (sums[SUM_RZ] <= self->enough || sums[SUM_RR] <= self->reserve2)
        return finish(self, pass->slice, error);
    ask(self, pass->slice, 0.0);
    return PARLEY_OK;
}

/* Goes on with the solve when the product with its direction is known. */
static parley_status go_on(truncated *self, const pl_slice *slice, parley_error *error) {
    pass pass = {.of = self, .slice = slice};
    double sums[PL_OWN_SCALARS] = {0};
    self->asks = false;
    if (self->h_b > 0 && !self->centred) {
        self->centred = true;
        return begin_solve(self, slice, error);
    }
    parley_status status = pl_slice_sum(slice, curve, &pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    pass.y_b = self->h_b > 0 ? sums[1] / self->h_b : 0.0;
    if (self->asks_guess)
        return solve_from_guess(self, &pass, error);
    double curvature = sums[0] - pass.y_b * sums[1];
    bool curved = curvature > 0;
    if (!curved && self->products > 0)
        return finish(self, slice, error);
    pass.alpha = curved ? self->rz / curvature : 1.0; /* without curvature: a plain step, and the search decides */
    self->x_b -= pass.alpha * pass.y_b;
    memset(sums, 0, sizeof sums);
    status = pl_slice_sum(slice, advance, &pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    self->products++;
    bool small = sums[SUM_RZ] <= self->enough || sums[SUM_RR] <= self->reserve2;
    self->unfinished = self->quadratic && curved && !small && self->products >= PRODUCTS;
    if (!curved || small || self->products >= PRODUCTS)
        return finish(self, slice, error);
    double beta = sums[SUM_RZ] / self->rz;
    self->rz = sums[SUM_RZ];
    ask(self, slice, beta);
    return PARLEY_OK;
}

/* Stores what a step gamma leaves of the solution, of which classes may have taken more than all. */
static void keep_guess(truncated *self, const pl_slice *slice, double gamma) {
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        double x = self->x[j - self->begin], left = x - gamma * slice->direction[j];
        self->p[j - self->begin] = !eliminated(self, j) && left * x > 0 ? left : 0.0;
    }
}

/* Also sums the slope at 0: with several classes the solver may have changed the direction. */
static void measure(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars) {
    truncated *self = (truncated *)combine;
    bool several = self->problem->row > 1;
    if (self->jumps)
        keep_guess(self, slice, gamma);
    pl_search_measure(self->problem, slice, gamma, scalars);
    for (uint64_t j = slice->begin; several && j < slice->end; j++)
        scalars[PL_OWN_NORM] += self->g[j - self->begin] * slice->direction[j];
}

static bool judge(pl_combine *combine, const double *workers, const double *owners, double *gamma) {
    truncated *self = (truncated *)combine;
    double value = workers[PL_SUM_LOSS] + owners[PL_OWN_PENALTY];
    double slope = workers[PL_SUM_SLOPE] + owners[PL_OWN_SLOPE];
    if (self->problem->row > 1 && self->search.trials == 0)
        self->search = pl_search_begin(self->value, owners[PL_OWN_NORM]);
    bool accepted = !(self->search.slope < 0) || pl_search_judge(&self->search, value, slope, gamma);
    self->has_guess = self->jumps && (*gamma < CUT || self->problem->row > 1);
    self->unfinished = self->unfinished && *gamma == 1.0; /* only then is the gradient equal to the residual */
    return accepted;
}

/* A solve that continues in the next round starts from its last direction, and another one perhaps from a guess. */
static void state(pl_combine *combine, pl_state *state) {
    truncated *self = (truncated *)combine;
    PL_STATE_VALUES(state, "newton", PL_UNSURE(self->first), PL_UNSURE(self->first_plain), PL_UNSURE(self->rz),
                    PL_VALUE(self->unfinished));
    pl_state_slice(state, "p", self->p, 1);
    if (pl_state_has(state, "guess"))
        PL_STATE_VALUES(state, "guess", PL_VALUE(self->has_guess));
}

static const pl_combine_trial trial = {measure, judge};

/* Asks for products until the solve has ended, and then for trial steps. */
static parley_status next(pl_combine *combine, const pl_slice *slice, const double *scalars, pl_question *question,
                          parley_error *error) {
    truncated *self = (truncated *)combine;
    bool solving = !scalars || question->columns > 0;
    if (!solving)
        return pl_search_next(combine, &trial, slice, scalars, question, error);
    parley_status status = scalars ? go_on(self, slice, error) : PARLEY_OK;
    question->columns = !self->asks ? 0 : self->sent ? 2 : 1;
    question->moved = true;
    return status;
}

static const pl_oracle oracle = {.products = true};
static const pl_combine_dialogue dialogue = {next, &oracle};

const pl_combine_type pl_combine_truncated = {
    .name = "truncated",
    .help = "Newton's method by preconditioned conjugate gradients, for many columns and a smooth loss",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_SMOOTH | PL_FACT_NO_L1 | PL_FACT_EVEN | PL_FACT_SIGNED,
    .takes = PL_GIVES_GRADIENTS,
    .all_rows = true,
    .dialogue = &dialogue,
    .width = width,
    .bytes = bytes,
    .open = open_truncated,
    .propose = propose,
    .state = state,
    .close = close_truncated,
};
