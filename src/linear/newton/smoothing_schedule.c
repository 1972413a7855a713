/* smoothing_schedule.c: decreases mu when the smoothed problem is solved as accurately as it represents the loss
 * itself. */
#include "linear/newton/smoothing_schedule.h"

#include <float.h>
#include <math.h>

#define FALL 0.35           /* factor of mu when the smoothed problem is solved */
#define RISE 4.0            /* factor of mu if that takes too many steps */
#define SOLVED_PART 0.75    /* largest part of the gap that the smoothed problem may have when it counts as solved */
#define BINARY_SOFTNESS 2.0 /* the first mu for two labels, at which all rows at margin 0 have curvature */
#define SMOOTH_ENOUGH 0.1   /* below this, mu of a loss that is smooth itself becomes 0 */
#define SOLVED 1e-6         /* relative to the first slope, or to the error of smoothing */
#define STEPS 25            /* most steps at one mu; */
#define LINEAR_STEPS 50     /* without an L2 penalty; with several classes, each of which has its own kinks, more */
#define RESERVE 0.5         /* part of the target, if small entries will be dropped at the end */
#define NEAR 10.0           /* multiple of the target below which smoothed kinks are solved until rounding */

/* So large that most labels are where the best constant has curvature. */
static double first_softness(const pl_glm *glm) {
    const pl_loss *loss = glm->loss;
    if (!loss->soften)
        return 0.0;
    if (loss->labels == PL_LABELS_BINARY)
        return BINARY_SOFTNESS;
    double softness = pl_label_spread(glm) / pl_loss_steepest(loss) - 1.0 / loss->curvature_bound;
    if (pl_smooths_penalty(glm))
        return fmax(softness, loss->smooth ? SMOOTH_ENOUGH : DBL_MIN);
    return !loss->smooth ? fmax(softness, DBL_MIN) : softness < SMOOTH_ENOUGH ? 0.0 : softness;
}

pl_smoothing pl_smoothing_begin(const pl_glm *glm, double target) {
    return (pl_smoothing){.softness = first_softness(glm), .target = target};
}

static unsigned most_steps(const pl_glm *glm) {
    return glm->classes > 1 ? PL_MOST_STEPS : glm->base.l2 == 0 ? LINEAR_STEPS : STEPS;
}

/* For kinks. The smoothed problem's own gap is |g|^2 / (2 l2), g being the gradient of P, which is a part of the gap at
 * v. The smoothing then moves to the dual point, so that its error soon becomes much smaller than mu: this is the
 * method of multipliers. If a mu takes too many steps, it was too small. */
static void harden_kinks(pl_smoothing *self, const pl_glm *glm, const pl_softened_round *round) {
    double l2 = glm->base.l2 * glm->least_factor;
    self->recentre = 0.5 * round->norm2 / l2 <= SOLVED_PART * round->gap;
    if (self->recentre)
        self->softness *= FALL;
    else if (self->rounds + 1 >= STEPS)
        self->softness *= RISE;
    else {
        self->rounds++;
        return;
    }
    self->rounds = 0;
}

/* The same for a smooth loss with curvature in few rows, for which mu ends at 0, and without an L2 penalty. The
 * smoothed problem differs from the problem by at most mu / 2 x the mean of t^2. Without an L2 penalty, the slope along
 * a Newton step, which is twice the remaining decrease, must fall far enough. With kinks, near the end, it must fall
 * until it no longer does: only at the solution of the smoothed problem is t feasible, and the certificate good. */
static void harden_narrow(pl_smoothing *self, const pl_glm *glm, const pl_softened_round *round) {
    const pl_loss *loss = glm->loss;
    double bound = pl_loss_steepest(loss), l2 = glm->base.l2 * glm->least_factor, slope = round->slope;
    double error = self->softness * bound * bound;
    bool solved = l2 > 0 ? round->norm2 / l2 <= error
                  : !pl_smooths_penalty(glm)
                      ? slope <= SOLVED * self->first_slope
                      : slope <= SOLVED * error && (error > NEAR * self->target || !(slope < 0.1 * round->last_slope));
    self->first_slope = fmax(self->first_slope, slope);
    if (!solved && ++self->rounds < most_steps(glm))
        return;
    self->first_slope = 0.0;
    self->rounds = 0;
    self->softness *= FALL;
    if (!pl_smooths_penalty(glm) && self->softness < SMOOTH_ENOUGH)
        self->softness = 0.0;
}

void pl_smoothing_next(pl_smoothing *self, const pl_glm *glm, const pl_softened_round *round) {
    if (!glm->loss->smooth && glm->base.l2 > 0)
        harden_kinks(self, glm, round);
    else if (self->softness > 0)
        harden_narrow(self, glm, round);
}

double pl_smoothing_reserve(const pl_glm *glm) { return pl_smooths_penalty(glm) && glm->base.l1 > 0 ? RESERVE : 0.0; }

bool pl_drop_small(const pl_glm *glm, double gap, double *w) {
    bool found = false;
    for (uint64_t j = 0; j < glm->base.size; j++) {
        double cost = pl_l1_at(&glm->base, j) * fabs(w[j]);
        bool small = cost > 0 && cost <= gap;
        w[j] = small ? 0.0 : w[j];
        found = found || small;
    }
    return found;
}
