/* student.c: P(|T| >= t) = I_x(n/2, 1/2), x = n / (n + t^2), where I is the regularised incomplete beta function. Its
 * continued fraction is evaluated by Lentz's method (DLMF 8.17.22). */
#include "math/student.h"

#include <math.h>

#define TERMS 10000 /* about the square root of n are enough */
#define SMALLEST 1e-300
#define HALVINGS 200

static double away_from_zero(double x) { return fabs(x) < SMALLEST ? SMALLEST : x; }

/* The fraction converges fast for x < (a + 1) / (a + b + 2). */
static double fraction(double a, double b, double x) {
    double c = 1.0, d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)), value = d;
    for (int k = 1; k < TERMS; k++) {
        double m = k, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        value *= c * d;
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        value *= c * d;
        if (fabs(c * d - 1.0) < 1e-15)
            break;
    }
    return value;
}

/* I_x(a, b), where y = 1 - x without rounding. */
static double beta(double a, double b, double x, double y) {
    if (x > (a + 1.0) / (a + b + 2.0))
        return 1.0 - beta(b, a, y, x);
    double front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y);
    return x > 0.0 ? exp(front) * fraction(a, b, x) / a : 0.0;
}

double pl_student_tails(double t, double degrees) {
    if (isnan(t))
        return NAN;
    if (isinf(degrees))
        return erfc(fabs(t) / sqrt(2.0));
    double square = t * t;
    return isinf(square) ? 0.0
           : square == 0 ? 1.0
                         : beta(0.5 * degrees, 0.5, degrees / (degrees + square), square / (degrees + square));
}

double pl_student_point(double tails, double degrees) {
    double low = 0.0, high = 1.0;
    while (pl_student_tails(high, degrees) > tails && high < 1e150)
        high *= 2.0;
    for (int i = 0; i < HALVINGS && high - low > 1e-15 * high; i++) {
        double middle = 0.5 * (low + high);
        *(pl_student_tails(middle, degrees) > tails ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}
