/* squared.c: loss(z, y) = (z - y)^2 / 2; conjugate loss*(-t) = t^2/2 - t y. Linear regression. */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    (void)loss;
    *slope = z - y;
    *curvature = 1.0;
    return 0.5 * (z - y) * (z - y);
}

static double conjugate(const pl_loss *loss, double t, double y) {
    (void)loss;
    return t * (0.5 * t - y);
}

static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    (void)loss;
    return (y - z + h * t0) / (1.0 + h);
}

static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    (void)loss, (void)t, (void)h;
    return 0.5 * (z - y + t0) * (z - y + t0);
}

static double flow(double z, double y, double h) { return z - (y - z) * expm1(-h); }

const pl_loss pl_loss_squared = {
    .name = "squared",
    .help = "(z - y)^2 / 2, real labels: linear regression",
    .labels = PL_LABELS_REAL,
    .smooth = true,
    .quadratic = true,
    .curvature_bound = 1.0,
    .expand = expand,
    .conjugate = conjugate,
    .dual_step = dual_step,
    .flow = flow,
    .residual = residual,
};
