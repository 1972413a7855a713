/* gamma.c: loss(z, y) = exp(-d) + d - 1, d = z - ln y, y > 0: half the deviance of a gamma variable of mean exp(z), so
 * that its minimum is 0; conjugate loss*(-t) = m ln m - t - t ln y, m = 1 + t >= 0.
 *
 * The curvature exp(-d) has no bound. The m of the dual step is the root of ln m = ln y - z + h (m0 - m), m0 = 1 + t0:
 * h m = omega(ln y - z + h m0 + ln h), with the Wright function omega of math/wright.h. */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"
#include "math/wright.h"

#define LEAST_DISTANCE -600.0 /* below it the loss continues as its tangent, so that nothing overflows */

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    double d = z - log(y), at = d < LEAST_DISTANCE ? LEAST_DISTANCE : d, rise = expm1(-at); /* fmax would hide a NaN */
    (void)loss;
    *slope = -rise;
    *curvature = 1.0 + rise;
    double value = rise + at + *slope * (d - at);
    return value < 0.0 ? 0.0 : value;
}

static double conjugate(const pl_loss *loss, double t, double y) {
    (void)loss;
    double m = 1.0 + t;
    if (m <= 0.0)
        return m >= 1.0 - PL_ROUNDED ? 1.0 + log(y) : INFINITY;
    return m * log1p(t) - t * (1.0 + log(y));
}

static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    (void)loss;
    double x = log(y) - z + h * (1.0 + t0);
    return (h > 0.0 ? pl_wright_omega(x + log(h)) / h : exp(fmin(x, -LEAST_DISTANCE))) - 1.0;
}

static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    double m0 = fmax(0.0, 1.0 + t0), d = z - log(y);
    (void)loss, (void)t, (void)h;
    return fmax(0.0, exp(fmin(-d, -LEAST_DISTANCE)) - m0 + (m0 > 0.0 ? m0 * (log(m0) + d) : 0.0));
}

const pl_loss pl_loss_gamma = {
    .name = "gamma",
    .help = "y exp(-z) + z + constant, labels above 0: gamma regression of sizes",
    .labels = PL_LABELS_REAL,
    .log_link = true,
    .power = 2.0,
    .smooth = true,
    .curvature_bound = INFINITY,
    .expand = expand,
    .conjugate = conjugate,
    .dual_step = dual_step,
    .residual = residual,
};
