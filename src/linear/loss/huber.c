/* huber.c: loss(z, y) = r^2 / 2 for |r| <= e, otherwise e (|r| - e/2), where r = z - y and e is the parameter;
 * conjugate loss*(-t) = t^2/2 - t y for |t| <= e. Linear regression on which outliers have a bounded effect. */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    double r = z - y, e = loss->parameter_value, size = fabs(r);
    if (size > e) { /* false for NaN, which then propagates */
        *slope = copysign(e, r);
        *curvature = 0.0;
        return e * (size - 0.5 * e);
    }
    *slope = r;
    *curvature = 1.0;
    return 0.5 * r * r;
}

static double conjugate(const pl_loss *loss, double t, double y) {
    return fabs(t) <= loss->parameter_value * PL_ROUNDED ? t * (0.5 * t - y) : INFINITY;
}

static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    return fmin(loss->parameter_value, fmax(-loss->parameter_value, (y - z + h * t0) / (1.0 + h)));
}

static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    double slope, curvature;
    (void)t, (void)h;
    return fmax(0.0, expand(loss, z, y, &slope, &curvature) + t0 * (0.5 * t0 + (z - y)));
}

static void soften(const pl_loss *loss, double mu, const double *z, const double *y, uint64_t count,
                   double *restrict slope, double *restrict curvature) {
    double inverse = 1.0 / (1.0 + mu), most = loss->parameter_value;
    for (uint64_t i = 0; i < count; i++) {
        double r = (z[i] - y[i]) * inverse;
        double t = r < -most ? -most : r;
        t = t > most ? most : t;
        slope[i] = t;
        curvature[i] = t == r ? inverse : 0.0;
    }
}

static double depth(const pl_loss *loss, double z, double y, double t) {
    double e = loss->parameter_value, beyond = (t < 0 ? z - y : y - z) - fabs(t);
    return fabs(t) >= e ? beyond : -fabs(beyond);
}

const pl_loss pl_loss_huber = {
    .name = "huber",
    .help = "(z - y)^2 / 2, linear beyond --huber-width, real labels: robust regression",
    .labels = PL_LABELS_REAL,
    .smooth = true,
    .curvature_bound = 1.0,
    .parameter = "huber_width",
    .parameter_noun = "width",
    .expand = expand,
    .conjugate = conjugate,
    .dual_step = dual_step,
    .residual = residual,
    .soften = soften,
    .depth = depth,
};
