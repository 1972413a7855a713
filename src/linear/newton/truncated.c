/* truncated.c: Newton's method for many columns. The owners solve
 *
 *     (H + l2 I) d = -g           g = gradient of P, H = sum_i q_i loss''(z_i) x_i x_i'
 *
 * by conjugate gradients with the diagonal as preconditioner. The workers compute products with H, and a step along d
 * is searched. With more columns than rows, H is 0 in most directions, for which the diagonal is far too large. Then l2
 * + diagonal / 10 needs fewer products (Hsia, Chiang and Lin 2018 take a hundredth). If the solver has a preconditioner
 * of its own (long_rows.c), it sends preconditioned gradients and products instead of the diagonal. The solve ends when
 * its residual r is small enough (Dembo, Eisenstat and Steihaug 1982), in the norm of the preconditioner:
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

#include "linear/glm.h"
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
    truncated *this = (truncated *)combine;
    if (!this)
        return;
    pl_free(this->g);
    pl_free(this->scale);
    pl_free(this->x);
    pl_free(this->r);
    pl_free(this->p);
    pl_free(this->h);
    pl_free(this);
}

static double share_of(const pl_glm *glm) {
    return glm && glm->data->x.columns > pl_all_rows(glm->data) ? WIDE_SHARE : 1.0;
}

static parley_status open_truncated(const pl_setup *setup, pl_combine **out, parley_error *error) {
    uint64_t count = setup->end - setup->begin;
    const pl_glm *glm = pl_glm_of(setup->problem);
    truncated *this;
    parley_status status = pl_take(&this, 1, sizeof *this, "newton", error);
    if (status != PARLEY_OK)
        return status;
    *this = (truncated){.base = {&pl_combine_truncated},
                        .problem = setup->problem,
                        .quadratic = glm && glm->loss->quadratic,
                        .jumps = glm && glm->loss->depth && !glm->loss->together,
                        .sent = setup->preconditions,
                        .gap = setup->settings->gap,
                        .target = setup->target,
                        .share = share_of(glm),
                        .eliminates = setup->problem->penalised + 1 == setup->problem->size,
                        .begin = setup->begin,
                        .count = count};
    this->g = pl_alloc(count, sizeof *this->g);
    this->scale = pl_alloc(count, sizeof *this->scale);
    this->x = pl_alloc(count, sizeof *this->x);
    this->r = pl_alloc(count, sizeof *this->r);
    this->p = pl_alloc(count, sizeof *this->p);
    this->h = pl_alloc(count, sizeof *this->h);
    if (!this->g || !this->scale || !this->x || !this->r || !this->p || !this->h) {
        close_truncated(&this->base);
        return pl_fail_memory(error, "newton's vectors", bytes(setup));
    }
    *out = &this->base;
    return PARLEY_OK;
}

typedef struct pass {
    truncated *of;
    const pl_slice *slice;
    double alpha, y_b; /* step of the solve; the intercept's entry of the product, divided by h_b */
} pass;

static double l2_of(const truncated *this, uint64_t j) {
    return j < this->problem->penalised ? this->problem->l2 : 0.0;
}

static bool eliminated(const truncated *this, uint64_t j) { return this->eliminates && j + 1 == this->problem->size; }

/* Stores the gradient, and the curvature of the intercept. */
static void keep_gradient(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    truncated *this = pass->of;
    const double *diagonal = pass->slice->change + this->problem->size;
    for (uint64_t j = begin; j < end; j++) {
        uint64_t i = j - this->begin;
        double v = pass->slice->v[j], l2 = l2_of(this, j);
        this->g[i] = pass->slice->change[j] + l2 * v;
        this->scale[i] = diagonal[j] + l2;
        this->h[i] = this->sent ? -diagonal[j] : 0.0;
        pass->slice->direction[j] = eliminated(this, j) ? 1.0 : 0.0;
        sums[0] += 0.5 * l2 * v * v;
        sums[1] += eliminated(this, j) ? diagonal[j] : 0.0;
    }
}

enum { SUM_RZ, SUM_RR };

/* The preconditioner of an entry whose second derivative is `whole`. */
static double damp(const truncated *this, double whole, double l2) {
    return l2 > 0 ? this->share * whole + (1.0 - this->share) * l2 : whole;
}

/* An entry of the preconditioned residual. */
static double preconditioned(const truncated *this, uint64_t i) {
    return this->sent ? this->scale[i] : this->scale[i] * this->r[i];
}

static void begin_entry(truncated *this, uint64_t j, double *sums) {
    uint64_t i = j - this->begin;
    this->x[i] = 0;
    this->r[i] = eliminated(this, j) ? 0.0 : -this->g[i];
    this->scale[i] = this->sent ? this->h[i] : this->scale[i];
    sums[SUM_RZ] += this->r[i] * preconditioned(this, i);
    sums[SUM_RR] += this->r[i] * this->r[i];
}

/* Computes the residual at x = 0, and the preconditioner. */
static void begin_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    truncated *this = pass->of;
    for (uint64_t j = begin; j < end; j++) {
        uint64_t i = j - this->begin;
        if (this->sent) {
            begin_entry(this, j, sums);
            continue;
        }
        if (this->centred)
            this->h[i] = pass->slice->change[j];
        double whole = this->scale[i], left = whole - (this->h_b > 0 ? this->h[i] * this->h[i] / this->h_b : 0.0);
        bool still = eliminated(this, j) || !(left > VARIES * whole); /* nothing else depends on it */
        this->scale[i] = still ? 0.0 : 1.0 / damp(this, left, l2_of(this, j));
        begin_entry(this, j, sums);
    }
}

static void begin_again(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    for (uint64_t j = begin; j < end; j++)
        begin_entry(pass->of, j, sums);
}

/* The |r|^2, in the Euclidean norm, that is enough for the run's target. */
static double reserve2(const truncated *this) {
    double relative = this->gap * this->first_plain;
    return SAFETY * SAFETY *
           (this->problem->facts & PL_FACT_DUAL ? 2.0 * this->problem->l2 * this->target : relative * relative);
}

static void slope_of(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    const truncated *this = pass->of;
    for (uint64_t j = begin; j < end; j++)
        sums[0] += this->g[j - this->begin] * pass->slice->direction[j];
}

/* Computes the next direction of the solve and asks for its product. */
static void ask(truncated *this, const pl_slice *slice, double beta) {
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        uint64_t i = j - this->begin;
        this->p[i] = preconditioned(this, i) + beta * this->p[i];
        slice->direction[j] = this->p[i];
    }
    this->asks = true;
}

/* Repeats a solve from x = 0. */
static parley_status solve_again(truncated *this, const pl_slice *slice, parley_error *error) {
    pass pass = {.of = this, .slice = slice};
    double sums[PL_OWN_SCALARS] = {0};
    parley_status status = pl_slice_sum(slice, begin_again, &pass, sums, error);
    this->rz = sums[SUM_RZ];
    this->x_b = 0;
    this->products = 0;
    this->from_guess = false;
    ask(this, slice, 0.0);
    return status;
}

/* Ends the solve: the direction is x. */
static parley_status finish(truncated *this, const pl_slice *slice, parley_error *error) {
    double sums[PL_OWN_SCALARS] = {0};
    pass pass = {.of = this, .slice = slice};
    this->asks = false;
    for (uint64_t j = slice->begin; j < slice->end; j++)
        slice->direction[j] = eliminated(this, j) ? this->x_b : this->x[j - this->begin];
    parley_status status = pl_slice_sum(slice, slope_of, &pass, sums, error);
    if (status == PARLEY_OK && this->from_guess && !(sums[0] < 0))
        return solve_again(this, slice, error);
    this->search = pl_search_begin(this->value, sums[0]);
    return status;
}

static void ask_guess(truncated *this, const pl_slice *slice) {
    memcpy(slice->direction + slice->begin, this->p, (slice->end - slice->begin) * sizeof *this->p);
    this->asks = true;
}

static parley_status begin_solve(truncated *this, const pl_slice *slice, parley_error *error) {
    pass pass = {.of = this, .slice = slice};
    double sums[PL_OWN_SCALARS] = {0};
    parley_status status = pl_slice_sum(slice, begin_entries, &pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    double size = sqrt(sums[SUM_RZ]), beta = this->unfinished ? sums[SUM_RZ] / this->rz : 0.0;
    if (!(this->first > 0)) {
        this->first = size;
        this->first_plain = sqrt(sums[SUM_RR]);
    }
    bool several = this->problem->row > 1;
    double forcing = this->quadratic ? 0.0 : several ? LOOSEST : fmin(LOOSEST, sqrt(size / this->first));
    this->rz = sums[SUM_RZ];
    this->enough = forcing * forcing * this->rz;
    this->reserve2 = reserve2(this);
    this->products = 0;
    this->x_b = 0;
    this->unfinished = false;
    this->asks_guess = this->has_guess;
    this->has_guess = this->from_guess = false;
    if (!(this->rz > 0))
        return finish(this, slice, error);
    if (this->asks_guess)
        ask_guess(this, slice);
    else
        ask(this, slice, beta);
    return PARLEY_OK;
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    truncated *this = (truncated *)combine;
    pass pass = {.of = this, .slice = slice};
    double sums[PL_OWN_SCALARS] = {0};
    (void)round;
    parley_status status = pl_slice_sum(slice, keep_gradient, &pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    this->value = slice->value + sums[0];
    this->h_b = sums[1];
    this->centred = false;
    this->asks = this->h_b > 0; /* asks for h */
    return this->asks ? PARLEY_OK : begin_solve(this, slice, error);
}

static bool asks(const pl_combine *combine) { return ((const truncated *)combine)->asks; }

/* Sums p.(H + l2 I) p, and the intercept's entry of the product. */
static void curve(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    const truncated *this = pass->of;
    for (uint64_t j = begin; j < end; j++) {
        double p = this->p[j - this->begin];
        sums[0] += p * (pass->slice->change[j] + l2_of(this, j) * p);
        sums[1] += eliminated(this, j) ? pass->slice->change[j] : 0.0;
    }
}

static void advance(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    truncated *this = pass->of;
    for (uint64_t j = begin; j < end; j++) {
        uint64_t i = j - this->begin;
        double p = this->p[i];
        if (eliminated(this, j))
            continue;
        this->x[i] += pass->alpha * p;
        this->r[i] -= pass->alpha * (pass->slice->change[j] + l2_of(this, j) * p - pass->y_b * this->h[i]);
        if (this->sent)
            this->scale[i] -= pass->alpha * pass->slice->change[this->problem->size + j];
        sums[SUM_RZ] += this->r[i] * preconditioned(this, i);
        sums[SUM_RR] += this->r[i] * this->r[i];
    }
}

/* Moves x from 0 to the guess, whose product is known. */
static parley_status solve_from_guess(truncated *this, pass *pass, parley_error *error) {
    double sums[PL_OWN_SCALARS] = {0};
    pass->alpha = 1.0;
    parley_status status = pl_slice_sum(pass->slice, advance, pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    this->asks_guess = false;
    this->from_guess = true;
    this->products++;
    this->x_b = -pass->y_b;
    this->rz = sums[SUM_RZ];
    if (sums[SUM_RZ] <= this->enough || sums[SUM_RR] <= this->reserve2)
        return finish(this, pass->slice, error);
    ask(this, pass->slice, 0.0);
    return PARLEY_OK;
}

static parley_status next(pl_combine *combine, const pl_slice *slice, parley_error *error) {
    truncated *this = (truncated *)combine;
    pass pass = {.of = this, .slice = slice};
    double sums[PL_OWN_SCALARS] = {0};
    this->asks = false;
    if (this->h_b > 0 && !this->centred) {
        this->centred = true;
        return begin_solve(this, slice, error);
    }
    parley_status status = pl_slice_sum(slice, curve, &pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    pass.y_b = this->h_b > 0 ? sums[1] / this->h_b : 0.0;
    if (this->asks_guess)
        return solve_from_guess(this, &pass, error);
    double curvature = sums[0] - pass.y_b * sums[1];
    bool curved = curvature > 0;
    if (!curved && this->products > 0)
        return finish(this, slice, error);
    pass.alpha = curved ? this->rz / curvature : 1.0; /* without curvature: a plain step, and the search decides */
    this->x_b -= pass.alpha * pass.y_b;
    memset(sums, 0, sizeof sums);
    status = pl_slice_sum(slice, advance, &pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    this->products++;
    bool small = sums[SUM_RZ] <= this->enough || sums[SUM_RR] <= this->reserve2;
    this->unfinished = this->quadratic && curved && !small && this->products >= PRODUCTS;
    if (!curved || small || this->products >= PRODUCTS)
        return finish(this, slice, error);
    double beta = sums[SUM_RZ] / this->rz;
    this->rz = sums[SUM_RZ];
    ask(this, slice, beta);
    return PARLEY_OK;
}

/* Stores what a step gamma leaves of the solution, of which classes may have taken more than all. */
static void keep_guess(truncated *this, const pl_slice *slice, double gamma) {
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        double x = this->x[j - this->begin], left = x - gamma * slice->direction[j];
        this->p[j - this->begin] = !eliminated(this, j) && left * x > 0 ? left : 0.0;
    }
}

/* Also sums the slope at 0: with several classes the solver may have changed the direction. */
static void measure(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars) {
    truncated *this = (truncated *)combine;
    bool several = this->problem->row > 1;
    if (this->jumps)
        keep_guess(this, slice, gamma);
    pl_search_measure(this->problem, slice, gamma, scalars);
    for (uint64_t j = slice->begin; several && j < slice->end; j++)
        scalars[PL_OWN_NORM] += this->g[j - this->begin] * slice->direction[j];
}

static bool judge(pl_combine *combine, const double *workers, const double *owners, double *gamma) {
    truncated *this = (truncated *)combine;
    double value = workers[PL_SUM_LOSS] + owners[PL_OWN_PENALTY];
    double slope = workers[PL_SUM_SLOPE] + owners[PL_OWN_SLOPE];
    if (this->problem->row > 1 && this->search.trials == 0)
        this->search = pl_search_begin(this->value, owners[PL_OWN_NORM]);
    bool accepted = !(this->search.slope < 0) || pl_search_judge(&this->search, value, slope, gamma);
    this->has_guess = this->jumps && (*gamma < CUT || this->problem->row > 1);
    this->unfinished = this->unfinished && *gamma == 1.0; /* only then is the gradient equal to the residual */
    return accepted;
}

/* A solve that continues in the next round starts from its last direction, and another one perhaps from a guess. */
static void state(pl_combine *combine, pl_state *state) {
    truncated *this = (truncated *)combine;
    PL_STATE_VALUES(state, "newton", PL_UNSURE(this->first), PL_UNSURE(this->first_plain), PL_UNSURE(this->rz),
                    PL_VALUE(this->unfinished));
    pl_state_slice(state, "p", this->p, 1);
    if (pl_state_has(state, "guess"))
        PL_STATE_VALUES(state, "guess", PL_VALUE(this->has_guess));
}

static const pl_combine_trial trial = {measure, judge};
static const pl_combine_search search = {0};
static const pl_combine_curvature curvature = {.width = width, .diagonal = true, .asks = asks, .next = next};

const pl_combine_type pl_combine_truncated = {
    .name = "truncated",
    .help = "Newton's method by preconditioned conjugate gradients, for many columns and a smooth loss",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_SMOOTH | PL_FACT_NO_L1 | PL_FACT_EVEN | PL_FACT_SIGNED,
    .takes = PL_GIVES_GRADIENTS,
    .all_rows = true,
    .trial = &trial,
    .search = &search,
    .curvature = &curvature,
    .bytes = bytes,
    .open = open_truncated,
    .propose = propose,
    .state = state,
    .close = close_truncated,
};
