/* hinge.c: loss(z, y) = (1 - y z)+, y in {-1, +1}; conjugate loss*(-t) = -y t for y t in [0, 1]. The linear SVM. */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    (void)loss;
    double slack = 1.0 - y * z;
    *slope = slack > 0 ? -y : 0.0;
    *curvature = 0.0;
    return slack < 0 ? 0.0 : slack; /* fmax would hide a NaN */
}

static double conjugate(const pl_loss *loss, double t, double y) {
    (void)loss;
    return y * t >= 0.0 && y * t <= 1.0 ? -y * t : INFINITY;
}

static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    (void)loss;
    return y * fmin(1.0, fmax(0.0, y * t0 + (1.0 - y * z) / h));
}

static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    (void)loss, (void)t, (void)h;
    double slack = 1.0 - y * z;
    return fmax(0.0, slack) - y * t0 * slack;
}

/* The same for rows, in a form that compilers can do several of at a time. */
static void expand_rows(const double *z, const double *y, uint64_t count, double *restrict value,
                        double *restrict slope, double *restrict curvature) {
    for (uint64_t i = 0; i < count; i++) {
        double slack = 1.0 - y[i] * z[i];
        slope[i] = slack > 0 ? -y[i] : 0.0;
        curvature[i] = 0.0;
    }
    for (uint64_t i = 0; i < count && value; i++) {
        double slack = 1.0 - y[i] * z[i];
        value[i] = slack < 0 ? 0.0 : slack;
    }
}

static void soften(const pl_loss *loss, double mu, const double *z, const double *y, uint64_t count,
                   double *restrict slope, double *restrict curvature) {
    double inverse = 1.0 / mu;
    (void)loss;
    for (uint64_t i = 0; i < count; i++) {
        double slack = (1.0 - y[i] * z[i]) * inverse, t = slack < 0 ? 0.0 : slack;
        t = t > 1.0 ? 1.0 : t;
        slope[i] = -y[i] * t;
        curvature[i] = t == slack ? inverse : 0.0;
    }
}

static double depth(const pl_loss *loss, double z, double y, double t) {
    (void)loss;
    double beyond = y * z - 1.0, a = y * t;
    return a <= 0 ? beyond : a >= 1 ? -beyond : -fabs(beyond);
}

const pl_loss pl_loss_hinge = {
    .name = "hinge",
    .help = "(1 - y z)+, two labels, or more, each against the rest: linear support vector machine",
    .labels = PL_LABELS_BINARY,
    .smooth = false,
    .curvature_bound = INFINITY,
    .expand = expand,
    .expand_rows = expand_rows,
    .conjugate = conjugate,
    .dual_step = dual_step,
    .residual = residual,
    .soften = soften,
    .depth = depth,
};
