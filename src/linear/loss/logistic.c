/* logistic.c: loss(z, y) = log(1 + exp(-y z)), y in {-1, +1}; conjugate loss*(-t) = p ln p + (1-p) ln(1-p), p = y t in
 * [0, 1].
 *
 * The dual step is the root of f(a) = a + y z + h (p(a) - p0), with a = logit p. f is monotone, and logit p0 and -y z
 * bracket its root, so Newton's method from logit p0, kept inside the bracket, needs two or three exponentials. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "linear/loss/loss.h"
#include "math/logistic_kernel.h"

#define LEAST_P 1e-300 /* a logit of -690: below any margin that matters */
#define STEPS 60       /* two or three are usual */
#define FLOW_STEPS 4   /* from the first guess to all the digits that a step needs */
#define ROUGH 1e-4     /* more than the error of rough_log */
#define ENOUGH 0.1     /* relative to the first residual; the next visit to the row does the rest */
#define FAR 3.0        /* cap on the first residual, since a tenth of a larger one may be worse than no step */

static double expand(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    (void)loss;
    double m = y * z, e = exp(-fabs(m)), near = 1.0 / (1.0 + e), far = e * near; /* e never overflows */
    *slope = -y * (m > 0 ? far : near);
    *curvature = near * far;
    return log1p(e) + (m > 0 ? 0.0 : -m);
}

static double entropy(double p) { return p > 0.0 ? p * log(p) : 0.0; }

static double conjugate(const pl_loss *loss, double t, double y) {
    (void)loss;
    double p = y * t;
    return p >= 0.0 && p <= 1.0 ? entropy(p) + entropy(1.0 - p) : INFINITY;
}

static double sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }

/* log(x) to 5e-5 for positive normal x, enough for a starting point: the exponent plus a rational function of the
 * mantissa. */
static double rough_log(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    double exponent = (double)((int64_t)(bits >> 52) - 1023);
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&x, &bits, sizeof x);
    double r = (x - 1.4142135623730951) / (x + 1.4142135623730951), s = r * r;
    return (exponent + 0.5) * 0.6931471805599453 + 2.0 * r * (1.0 + s * (1.0 / 3.0 + s * 0.2));
}

static double rough_logit(double p) { return p < LEAST_P ? -690.0 : p > 1.0 - 1e-15 ? 34.0 : rough_log(p / (1.0 - p)); }

static double dual_step(const pl_loss *loss, double z, double y, double t0, double h) {
    (void)loss;
    double m = y * z, p0 = y * t0;
    double a = rough_logit(p0), first = a + m;
    double low = (first > 0.0 ? -m : a) - ROUGH, high = (first > 0.0 ? a : -m) + ROUGH;
    double p = p0, f = first, before = INFINITY;
    if (fabs(first) > FAR && h > 1.0) { /* beyond log h on either side, h (p - p0) is within 1 of its limit */
        double reach = rough_log(h) + 1.0;
        low = fmax(low, fmin(-m - 1.0, -reach));
        high = fmin(high, fmax(-m + 1.0, reach));
    }
    if (p0 <= 0.0 || p0 >= 1.0) { /* at the edge the logit is not finite: start at the other end */
        a = -m;
        p = sigmoid(a);
        f = h * (p - p0);
    }
    double enough = ENOUGH * fmin(fabs(f), FAR);
    for (int i = 0; i < STEPS && fabs(f) > enough; i++) {
        a -= f / (1.0 + h * p * (1.0 - p));
        if (a < low || a > high || fabs(f) > 0.5 * before) /* also if Newton's method oscillates */
            a = 0.5 * (low + high);
        before = fabs(f);
        p = sigmoid(a);
        f = a + m + h * (p - p0);
        *(f > 0.0 ? &high : &low) = a;
    }
    return y * p;
}

/* With m = y z, m + exp(m) grows by h. Its root is found by Newton's method from the right, where it is monotone. */
static double flow(double z, double y, double h) {
    double m = y * z;
    if (m > 30.0) /* nothing is left to learn, and the sum would lose m */
        return z;
    double c = m + exp(m) + h;
    m = c > 1.0 ? log(c) : c;
    for (int i = 0; i < FLOW_STEPS; i++) {
        double e = exp(m);
        m -= (m + e - c) / (1.0 + e);
    }
    return y * m;
}

/* The gap is the Bregman distance from logit p to -m, which is r^2 c / 2 to second order, c = p (1 - p). Newton's
 * formula gives r from the step: dp (1/c + h) = -r. This is accurate enough for planning, without an exponential. */
static double residual(const pl_loss *loss, double z, double y, double t0, double t, double h) {
    (void)loss, (void)z;
    double p = 0.5 * y * (t0 + t), c = fmax(p * (1.0 - p), 1e-300), step = (t - t0) * (1.0 / c + h);
    return 0.5 * step * step * c;
}

const pl_loss pl_loss_logistic = {
    .name = "logistic",
    .help = "log(1 + exp(-y z)), two labels, or more, each against the rest: logistic regression",
    .labels = PL_LABELS_BINARY,
    .smooth = true,
    .curvature_bound = 0.25,
    .step_nonzeros = 30,
    .expand = expand,
    .expand_rows = pl_logistic_rows,
    .conjugate = conjugate,
    .conjugate_rows = pl_logistic_conjugates,
    .dual_step = dual_step,
    .flow = flow,
    .residual = residual,
    .probability = sigmoid,
};
