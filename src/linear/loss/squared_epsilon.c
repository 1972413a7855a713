/* squared_epsilon.c: loss(z, y) = (|z - y| - e)+^2, where e is the parameter, without a half as in LIBLINEAR; conjugate
 * loss*(-t) = e |t| + t^2/4 - t y. Smooth support vector regression. */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    double r = z - y, beyond = fabs(r) - loss->parameter_value;
    beyond = beyond < 0 ? 0.0 : beyond; /* fmax would hide a NaN */
    *slope = copysign(2.0 * beyond, r);
    *curvature = beyond > 0 ? 2.0 : 0.0;
    return beyond * beyond;
}

static double conjugate(const pl_loss *loss, double t, double y) {
    return loss->parameter_value * fabs(t) + t * (0.25 * t - y);
}

/* e moves the pull towards 0, but not beyond. */
static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    double pull = h * t0 + y - z, size = fabs(pull) - loss->parameter_value;
    return size > 0 ? copysign(size / (h + 0.5), pull) : 0.0;
}

static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    double slope, curvature;
    (void)t, (void)h;
    return fmax(0.0,
                expand(loss, z, y, &slope, &curvature) + loss->parameter_value * fabs(t0) + t0 * (0.25 * t0 + z - y));
}

static double depth(const pl_loss *loss, double z, double y, double t) {
    double e = loss->parameter_value, beyond = (t < 0 ? z - y : y - z) - e - 0.5 * fabs(t);
    return t == 0 ? e - fabs(z - y) : -fabs(beyond);
}

const pl_loss pl_loss_squared_epsilon = {
    .name = "squared-epsilon-insensitive",
    .help = "(|z - y| - --epsilon)+^2, real labels: smooth support vector regression",
    .labels = PL_LABELS_REAL,
    .smooth = true,
    .curvature_bound = 2.0,
    .parameter = "epsilon",
    .parameter_noun = "width",
    .expand = expand,
    .conjugate = conjugate,
    .dual_step = dual_step,
    .residual = residual,
    .depth = depth,
};
