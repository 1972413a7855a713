/* tweedie.c: loss(z, y) = y^c (expm1(-a d) / a + expm1(c d) / c), d = z - ln y, a = p - 1 and c = 2 - p, where p
 * between 1 and 2 is the parameter; for y = 0 it is exp(c z) / c. This is half the deviance of a compound Poisson-gamma
 * variable of mean exp(z), whose variance is proportional to the p-th power of its mean (Tweedie 1984).
 *
 * The slope y^c (exp(c d) - exp(-a d)) has no inverse in closed form. With the d at which the slope is -t, the
 * conjugate is loss*(-t) = -t z - loss(z, y). The dual step is t = -slope at the root of z' + h slope(z') = z - h t0.
 * Newton's method with a bracket finds both. For y = 0 both have a closed form. */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"
#include "math/wright.h"

#define MOST_EXPONENT 600.0 /* beyond it the loss continues as its tangent, so that nothing overflows */
#define ROOT_STEPS 100      /* halving the bracket alone takes about 60 */

/* The margin nearest to z at which no exponential overflows; a comparison keeps a NaN. */
static double within(double z, double low, double high) { return z > high ? high : z < low ? low : z; }

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    double a = loss->parameter_value - 1.0, c = 1.0 - a, from, at, value;
    if (y > 0.0) {
        double d = z - log(y), scale = pow(y, c);
        from = d, at = within(d, -MOST_EXPONENT / a, MOST_EXPONENT / c);
        double down = expm1(-a * at), up = expm1(c * at);
        value = scale * (down / a + up / c);
        *slope = scale * (up - down);
        *curvature = scale * (c * up + a * down + 1.0); /* a + c = 1 */
    } else {
        from = z, at = within(z, -INFINITY, MOST_EXPONENT / c);
        *slope = exp(c * at);
        *curvature = c * *slope;
        value = *slope / c;
    }
    value += *slope * (from - at);
    return value < 0.0 ? 0.0 : value;
}

/* The root of linear x d + bend x (exp(c d) - exp(-a d)) = right, which has the sign of `right`. */
static double root(double a, double c, double linear, double bend, double right) {
    double exponent = right > 0.0 ? c : a, far = log1p(fabs(right) / bend) / exponent;
    far = copysign(linear > 0.0 ? fmin(far, fabs(right) / linear) : far, right);
    double low = fmin(0.0, far), high = fmax(0.0, far), d = far;
    for (int i = 0; i < ROOT_STEPS && high > low; i++) {
        double down = exp(-a * d), up = exp(c * d), off = linear * d + bend * (up - down) - right;
        *(off > 0.0 ? &high : &low) = d;
        double next = d - off / (linear + bend * (c * up + a * down));
        if (!(next >= low && next <= high))
            next = 0.5 * (low + high);
        if (fabs(next - d) <= 1e-16 * fabs(d))
            break;
        d = next;
    }
    return d;
}

static double conjugate(const pl_loss *loss, double t, double y) {
    double a = loss->parameter_value - 1.0, c = 1.0 - a, slope, curvature;
    if (t == 0.0)
        return 0.0;
    if (y <= 0.0)
        return t > 0.0 ? INFINITY : -t * (log(-t) - 1.0) / c;
    double z = root(a, c, 0.0, 1.0, -t / pow(y, c)) + log(y);
    return -t * z - expand(loss, z, y, &slope, &curvature);
}

static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    double a = loss->parameter_value - 1.0, c = 1.0 - a, x = z - h * t0, slope, curvature;
    if (y <= 0.0)
        return -(h > 0.0 ? pl_wright_omega(c * x + log(c * h)) / (c * h) : exp(fmin(c * x, MOST_EXPONENT)));
    double best = h > 0.0 ? root(a, c, 1.0, h * pow(y, c), x - log(y)) + log(y) : x;
    expand(loss, best, y, &slope, &curvature);
    return -slope;
}

static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    double slope, curvature;
    (void)t, (void)h;
    return fmax(0.0, expand(loss, z, y, &slope, &curvature) + conjugate(loss, t0, y) + t0 * z);
}

const pl_loss pl_loss_tweedie = {
    .name = "tweedie",
    .help = "half the deviance of variance power --power, labels of 0 or more: Tweedie regression",
    .labels = PL_LABELS_REAL,
    .log_link = true,
    .smooth = true,
    .curvature_bound = INFINITY,
    .parameter = "power",
    .parameter_noun = "power",
    .expand = expand,
    .conjugate = conjugate,
    .dual_step = dual_step,
    .residual = residual,
};
