/* squared_hinge.c: loss(z, y) = (1 - y z)+^2, without a half, as in LIBLINEAR; loss*(-t) = -y t + t^2/4 for y t >= 0.
 */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    (void)loss;
    double slack = 1.0 - y * z;
    slack = slack < 0 ? 0.0 : slack; /* fmax would hide a NaN */
    *slope = -2.0 * y * slack;
    *curvature = slack > 0 ? 2.0 : 0.0;
    return slack * slack;
}

static double conjugate(const pl_loss *loss, double t, double y) {
    (void)loss;
    return y * t >= 0.0 ? -y * t + 0.25 * t * t : INFINITY;
}

static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    (void)loss;
    return y * fmax(0.0, y * t0 + (1.0 - y * z - 0.5 * y * t0) / (h + 0.5));
}

static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    (void)loss, (void)t, (void)h;
    double m = y * z, a = y * t0, slack = fmax(0.0, 1.0 - m);
    return slack * slack + a * (0.25 * a - 1.0 + m);
}

static double flow(double z, double y, double h) {
    double slack = 1.0 - y * z;
    return slack > 0 ? y * (1.0 - slack * exp(-2.0 * h)) : z;
}

static double depth(const pl_loss *loss, double z, double y, double t) {
    (void)loss;
    double a = y * t, beyond = y * z - 1.0 + 0.5 * a;
    return a <= 0 ? beyond : -fabs(beyond);
}

const pl_loss pl_loss_squared_hinge = {
    .name = "squared-hinge",
    .help = "(1 - y z)+^2, two labels, or more, each against the rest: smooth support vector machine",
    .labels = PL_LABELS_BINARY,
    .smooth = true,
    .curvature_bound = 2.0,
    .expand = expand,
    .conjugate = conjugate,
    .dual_step = dual_step,
    .flow = flow,
    .residual = residual,
    .depth = depth,
};
