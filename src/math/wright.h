/* wright.h: the Wright function omega(x), the root of w + ln w = x, found by two steps of fourth order (Fritsch, Shafer
 * and Crowley 1973), which is exact to rounding. */
#ifndef PL_WRIGHT_H
#define PL_WRIGHT_H

#include <math.h>

#define PL_FAR_BELOW -40.0 /* below it omega(x) is exp(x) to the last bit */

static inline double pl_wright_omega(double x) {
    if (x < PL_FAR_BELOW)
        return exp(x);
    double w = x < -2.0 ? exp(x) : x < 4.0 ? exp((x - 1.0) * (2.0 / 3.0)) : x - log(x);
    for (int i = 0; i < 2; i++) {
        double r = x - w - log(w), a = 2.0 * (1.0 + w) * (1.0 + w + 2.0 / 3.0 * r);
        w *= 1.0 + r / (1.0 + w) * (a - r) / (a - 2.0 * r);
    }
    return w;
}

#endif
