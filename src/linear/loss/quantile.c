/* quantile.c: loss(z, y) = q (y - z)+ + (1 - q) (z - y)+, where q is the parameter; conjugate loss*(-t) = -t y for t in
 * [q - 1, q]. Quantile regression (Koenker and Bassett 1978) with the pinball loss, which is smallest where a share q
 * of the labels is below z. */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    double r = z - y, q = loss->parameter_value;
    *slope = r > 0 ? 1.0 - q : r < 0 ? -q : 0.0;
    *curvature = 0.0;
    return r > 0 ? (1.0 - q) * r : -q * r; /* NaN propagates */
}

static double conjugate(const pl_loss *loss, double t, double y) {
    double q = loss->parameter_value;
    return t <= q * PL_ROUNDED && t >= (q - 1.0) * PL_ROUNDED ? -t * y : INFINITY;
}

static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    double q = loss->parameter_value;
    return fmin(q, fmax(q - 1.0, t0 + (y - z) / h));
}

static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    double slope, curvature;
    (void)t, (void)h;
    return fmax(0.0, expand(loss, z, y, &slope, &curvature) + t0 * (z - y));
}

static void soften(const pl_loss *loss, double mu, const double *z, const double *y, uint64_t count,
                   double *restrict slope, double *restrict curvature) {
    double inverse = 1.0 / mu, most = 1.0 - loss->parameter_value, least = -loss->parameter_value;
    for (uint64_t i = 0; i < count; i++) {
        double r = (z[i] - y[i]) * inverse;
        double t = r < least ? least : r;
        t = t > most ? most : t;
        slope[i] = t;
        curvature[i] = t == r ? inverse : 0.0;
    }
}

static double depth(const pl_loss *loss, double z, double y, double t) {
    double q = loss->parameter_value;
    return t >= q ? y - z : t <= q - 1.0 ? z - y : -fabs(z - y);
}

const pl_loss pl_loss_quantile = {
    .name = "quantile",
    .help = "q (y - z)+ + (1 - q) (z - y)+, q of --quantile, real labels: quantile regression",
    .labels = PL_LABELS_REAL,
    .smooth = false,
    .curvature_bound = INFINITY,
    .parameter = "quantile",
    .parameter_noun = "level",
    .expand = expand,
    .conjugate = conjugate,
    .dual_step = dual_step,
    .residual = residual,
    .soften = soften,
    .depth = depth,
};
