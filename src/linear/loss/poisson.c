/* poisson.c: loss(z, y) = exp(z) - y z - y + y ln y, y >= 0: half the deviance of a Poisson variable of mean exp(z), so
 * that its minimum is 0; conjugate loss*(-t) = m ln m - m + y - y ln y, m = y - t >= 0.
 *
 * With d = z - ln y the loss is y (exp(d) - 1 - d), which is accurate for large counts; below 1 the first form is. The
 * curvature exp(z) has no bound: beyond z = 709 it is infinite, and methods step back from there.
 *
 * The m of the dual step is the root of ln m = z + h (m0 - m), m0 = y - t0: h m = omega(z + h m0 + ln h), with the
 * Wright function omega of math/wright.h. */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"
#include "math/wright.h"

#define MOST_MARGIN 600.0 /* beyond it the loss continues as its tangent, so that nothing overflows */

static double entropy(double m) { return m > 0.0 ? m * log(m) : 0.0; }

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    double at = z > MOST_MARGIN ? MOST_MARGIN : z, value; /* fmin would hide a NaN */
    (void)loss;
    if (y < 1.0) {
        *curvature = exp(at);
        *slope = *curvature - y;
        value = *slope - y * at + entropy(y);
    } else {
        double d = at - log(y), rise = expm1(d);
        *slope = y * rise;
        *curvature = *slope + y;
        value = y * (rise - d);
    }
    value += *slope * (z - at);
    return value < 0.0 ? 0.0 : value;
}

static double conjugate(const pl_loss *loss, double t, double y) {
    (void)loss;
    double m = y - t;
    if (m <= 0.0)
        return m >= (1.0 - PL_ROUNDED) * y ? y - entropy(y) : INFINITY;
    return y < 1.0 ? entropy(m) - entropy(y) + t : m * log1p(-t / y) + t * (1.0 - log(y));
}

static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    (void)loss;
    double x = z + h * (y - t0);
    return y - (h > 0.0 ? pl_wright_omega(x + log(h)) / h : exp(fmin(x, MOST_MARGIN)));
}

static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    double m0 = fmax(0.0, y - t0);
    (void)loss, (void)t, (void)h;
    return fmax(0.0, exp(fmin(z, MOST_MARGIN)) - m0 + (m0 > 0.0 ? m0 * (log(m0) - z) : 0.0));
}

const pl_loss pl_loss_poisson = {
    .name = "poisson",
    .help = "exp(z) - y z + constant, labels of 0 or more: Poisson regression of counts",
    .labels = PL_LABELS_REAL,
    .log_link = true,
    .power = 1.0,
    .smooth = true,
    .curvature_bound = INFINITY,
    .expand = expand,
    .conjugate = conjugate,
    .dual_step = dual_step,
    .residual = residual,
};
