/* newton.c: Newton's method for few columns. The update brings the gradient g and the curvature H of the mean loss; the
 * owner solves
 *
 *     (H + l2 I) d = -(g + l2 v)            by Cholesky; a free intercept has no l2
 *
 * and a step gamma along d is searched: with phi(gamma) = P(v + gamma d), convex, a step is taken where phi' is small
 * against phi'(0).
 *
 * Losses with kinks, or with little curvature among the rows (Huber's, narrow), are made smooth by mu, which starts at
 * the spread of the labels and falls whenever a whole step is taken: the dual points are feasible for the loss itself,
 * so that the certificate closes as mu goes to 0.
 *
 * The curvature is the dear part, so it is not always made of all rows. Far from the end, where a step is not exact
 * anyway, a sample of them has to do; when the next look is expected to be the last, and where the curvature is the
 * same everywhere, there is none at all, and a step that is made nevertheless takes the factor that is there. */
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "combine/combine.h"

#define ENOUGH 0.3 /* of the first slope */
#define TRIALS 30
#define FALL 0.5               /* of the softness, after a whole step */
#define SMOOTH_ENOUGH 0.1      /* softness of a loss that is smooth itself which may as well be 0 */
#define SOLVED 1e-6            /* of the first slope */
#define MOST_STEPS 100         /* at one softness */
#define JITTERS 12             /* tries to make a singular curvature definite */
#define FEW_COLUMNS 200        /* up to here the matrix pays; docs/auto.md */
#define ONE_MATRIX_COLUMNS 500 /* and up to here on filled data whose curvature is the same everywhere */
#define SOFTENED_COLUMNS 2000  /* and up to here where the loss is softened, which the truncated form does not */
#define FILLED 0.1

#define NEAR 10.0 /* times the target that the next gap is expected to have, at most */

typedef struct newton {
    pl_combine base;
    const pl_glm *glm;
    double *matrix; /* size x size */
    unsigned trials;
    double softness, first_slope; /* the largest at this softness */
    unsigned steps;               /* at this softness */
    bool curved;                  /* this round's update has the curvature */
    double slope, gap;            /* of the last round */
    double target;                /* gap that ends the run */
} newton;

bool pl_is_filled(const pl_glm *glm) {
    const parley_data *data = glm->data;
    return (double)pl_all_nonzeros(data) >= FILLED * (double)pl_all_rows(data) * (double)data->x.columns;
}

bool pl_few_columns(const pl_glm *glm) {
    uint64_t columns = glm->data->x.columns;
    uint64_t most = glm->loss->soften ? SOFTENED_COLUMNS : glm->loss == &pl_loss_squared ? ONE_MATRIX_COLUMNS : 0;
    return columns <= FEW_COLUMNS || (columns <= most && pl_is_filled(glm));
}

static const pl_combine_type *variant(const pl_glm *glm) {
    return pl_few_columns(glm) || !glm->loss->smooth || glm->classes > 1 ? &pl_combine_newton : &pl_combine_truncated;
}

static uint64_t width(const pl_glm *glm) { return 1 + glm->size; }

static uint64_t bytes(const pl_setup *setup) { return setup->glm->size * setup->glm->size * sizeof(double); }

static void close_newton(pl_combine *combine) {
    newton *this = (newton *)combine;
    if (this)
        pl_free(this->matrix);
    pl_free(this);
}

/* So that most labels are where the best constant has curvature. */
static double first_softness(const pl_glm *glm) {
    const pl_loss *loss = glm->loss;
    if (!loss->soften)
        return 0.0;
    double spread = glm->label_deviation + fabs(glm->intercept == PL_FREE ? 0.0 : glm->mean_label);
    double softness = loss->smooth ? spread / loss->width - 1.0 : fmax(spread, DBL_MIN);
    return loss->smooth && softness < SMOOTH_ENOUGH ? 0.0 : softness;
}

static parley_status open_newton(const pl_setup *setup, pl_combine **out, parley_error *error) {
    newton *this;
    parley_status status = pl_take(&this, 1, sizeof *this, "newton", error);
    if (status != PARLEY_OK)
        return status;
    this->base.type = &pl_combine_newton;
    this->glm = setup->glm;
    this->softness = first_softness(setup->glm);
    this->target = setup->target;
    this->curved = true;
    this->slope = INFINITY;
    status =
        pl_take(&this->matrix, setup->glm->size, setup->glm->size * sizeof *this->matrix, "newton's matrix", error);
    if (status != PARLEY_OK)
        close_newton(&this->base);
    else
        *out = &this->base;
    return status;
}

/* Copies H + l2 I, adding `jitter` times its own diagonal, and factors it. */
static bool factor(newton *this, const double *curvature, double jitter) {
    lapack_int n = (lapack_int)this->glm->size;
    memcpy(this->matrix, curvature, (uint64_t)n * (uint64_t)n * sizeof *this->matrix);
    for (uint64_t j = 0; j < this->glm->size; j++) {
        double *diagonal = &this->matrix[j * this->glm->size + j];
        *diagonal += pl_penalised(this->glm, j) ? this->glm->l2 : 0.0;
        *diagonal += jitter * (*diagonal > 0 ? *diagonal : 1.0);
    }
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, this->matrix, n) == 0;
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    newton *this = (newton *)combine;
    uint64_t size = this->glm->size;
    (void)round;
    this->trials = 0;
    if (slice->begin == slice->end)
        return PARLEY_OK;
    double jitter = 0;
    for (unsigned i = 0; this->curved && !factor(this, slice->change + size, jitter); i++) {
        if (i == JITTERS)
            return pl_fail(error, PARLEY_BROKEN, "Newton's matrix cannot be factored; use --preset gd");
        jitter = jitter > 0 ? 10 * jitter : 1e-14;
    }
    for (uint64_t j = 0; j < size; j++)
        slice->direction[j] = -(slice->change[j] + (pl_penalised(this->glm, j) ? this->glm->l2 * slice->v[j] : 0.0));
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', (lapack_int)size, 1, this->matrix, (lapack_int)size, slice->direction,
                        (lapack_int)size);
    return PARLEY_OK;
}

/* Slopes by gamma: of the penalty there, and of P at 0. */
static void measure(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars) {
    const pl_glm *glm = ((newton *)combine)->glm;
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        double l2 = pl_penalised(glm, j) ? glm->l2 : 0.0, d = slice->direction[j];
        double g = slice->change[j] + l2 * slice->v[j];
        scalars[PL_OWN_NORM] += g * g;
        scalars[PL_OWN_PENALTY] += l2 * (slice->v[j] + gamma * d) * d;
        scalars[PL_OWN_SLOPE] += g * d;
    }
}

/* Lowers the softness mu once the softened problem is solved as well as it stands for the loss itself, from which it is
 * off by mu / 2 x the mean of t^2 at most: its own gap is |g + l2 v|^2 / (2 l2). Without a penalty the slope along a
 * Newton step, twice what is left to gain, has to fall far enough. */
static void harden(newton *this, double slope, double norm2) {
    const pl_loss *loss = this->glm->loss;
    double bound = loss->smooth ? loss->width : 1.0, l2 = this->glm->l2;
    bool solved = l2 > 0 ? norm2 / l2 <= this->softness * bound * bound : slope <= SOLVED * this->first_slope;
    this->first_slope = fmax(this->first_slope, slope);
    if (this->softness == 0 || (!solved && ++this->steps < MOST_STEPS))
        return;
    this->first_slope = 0.0;
    this->steps = 0;
    this->softness *= FALL;
    if (loss->smooth && this->softness < SMOOTH_ENOUGH)
        this->softness = 0.0;
}

/* Is the curvature wanted in the next round? `slope` is the first one along the step just taken, about twice what was
 * left to gain, and with a penalty norm2 / (2 l2) is the gap where it began: both fall quadratically. */
static void want_curvature(newton *this, double slope, double norm2) {
    const pl_glm *glm = this->glm;
    double gap = glm->l2 > 0 ? norm2 / (2 * glm->l2) : INFINITY, fall = gap / this->gap;
    bool near = this->curved && gap * fall * fall <= NEAR * this->target;
    bool good = !this->curved && slope <= 0.1 * this->slope; /* the old factor still is */
    this->curved = glm->loss->soften || !(glm->loss == &pl_loss_squared || near || good);
    this->slope = slope;
    this->gap = gap;
}

static bool judge(pl_combine *combine, const double *workers, const double *owners, double *gamma) {
    newton *this = (newton *)combine;
    double first = -owners[PL_OWN_SLOPE], slope = workers[PL_SUM_SLOPE] + owners[PL_OWN_PENALTY];
    if (slope <= ENOUGH * first || !(first > 0) || ++this->trials >= TRIALS) {
        harden(this, first, owners[PL_OWN_NORM]);
        want_curvature(this, first, owners[PL_OWN_NORM]);
        return true;
    }
    *gamma *= fmax(0.1, first / (first + slope)); /* where the chord of phi' crosses 0 */
    return false;
}

static bool curved(const pl_combine *combine) { return ((const newton *)combine)->curved; }

static double softness(const pl_combine *combine) { return ((const newton *)combine)->softness; }

const pl_combine_type pl_combine_newton = {
    .name = "newton",
    .help = "Newton's method for a smooth loss: by Cholesky for few columns, else truncated",
    .needs = PL_NEEDS_GRADIENT | PL_NEEDS_FULL | PL_NEEDS_SMOOTH | PL_NEEDS_NO_L1,
    .most_entries = 2000,
    .whole = true,
    .searches = true,
    .width = width,
    .variant = variant,
    .bytes = bytes,
    .open = open_newton,
    .curved = curved,
    .softness = softness,
    .propose = propose,
    .measure = measure,
    .judge = judge,
    .close = close_newton,
};
