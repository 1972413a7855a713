/* epsilon_insensitive.c: loss(z, y) = (|z - y| - e)+, where e is the parameter; conjugate loss*(-t) = e |t| - t y for
 * |t| <= 1. Linear support vector regression. */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    double r = z - y, beyond = fabs(r) - loss->parameter_value;
    *slope = beyond > 0 ? copysign(1.0, r) : 0.0;
    *curvature = 0.0;
    return beyond < 0 ? 0.0 : beyond; /* fmax would hide a NaN */
}

static double conjugate(const pl_loss *loss, double t, double y) {
    return fabs(t) <= PL_ROUNDED ? loss->parameter_value * fabs(t) - t * y : INFINITY;
}

/* Without e the minimum is at pull / h; e moves it towards 0, but not beyond. */
static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    double r = y - z, pull = h * t0 + r, size = fabs(pull) - loss->parameter_value;
    return size > 0 ? copysign(fmin(1.0, size / h), pull) : 0.0;
}

static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    double slope, curvature;
    (void)t, (void)h;
    return fmax(0.0, expand(loss, z, y, &slope, &curvature) + loss->parameter_value * fabs(t0) + t0 * (z - y));
}

static void soften(const pl_loss *loss, double mu, const double *z, const double *y, uint64_t count,
                   double *restrict slope, double *restrict curvature) {
    double inverse = 1.0 / mu, width = loss->parameter_value;
    for (uint64_t i = 0; i < count; i++) {
        double r = z[i] - y[i], beyond = (fabs(r) - width) * inverse, t = beyond < 0 ? 0.0 : beyond;
        t = t > 1.0 ? 1.0 : t;
        slope[i] = copysign(t, r);
        curvature[i] = t == beyond ? inverse : 0.0;
    }
}

static double depth(const pl_loss *loss, double z, double y, double t) {
    double size = fabs(t), beyond = (t < 0 ? z - y : y - z) - loss->parameter_value;
    return size == 0 ? loss->parameter_value - fabs(z - y) : size >= 1 ? beyond : -fabs(beyond);
}

const pl_loss pl_loss_epsilon_insensitive = {
    .name = "epsilon-insensitive",
    .help = "(|z - y| - --epsilon)+, real labels: linear support vector regression",
    .labels = PL_LABELS_REAL,
    .smooth = false,
    .curvature_bound = INFINITY,
    .parameter = "epsilon",
    .parameter_noun = "width",
    .expand = expand,
    .conjugate = conjugate,
    .dual_step = dual_step,
    .residual = residual,
    .soften = soften,
    .depth = depth,
};
