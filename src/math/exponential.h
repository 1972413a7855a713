/* exponential.h: the exponential function of four numbers at a time. */
#ifndef PL_EXPONENTIAL_H
#define PL_EXPONENTIAL_H

#include "math/wide.h"

/* exp(x) for x <= 0, to 2 units in the last place. Results below exp(-700) become exp(-700). */
PL_INLINE void pl_exponential(pl_wide *value) {
    pl_wide x = *value;
    x = PL_LARGER(x, PL_ALL(-700.0));
    pl_wide shifted = x * 1.4426950408889634 + 0x1.8p52, n = shifted - 0x1.8p52;
    pl_wide r = x - n * 0x1.62e42fefa38p-1 - n * 0x1.ef35793c7673p-45;
    /* the series is summed in pairs of terms and pairs of pairs, because a chain of terms would add their latencies */
    pl_wide r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    pl_wide t0 = 1.0 + r, t2 = 0.5 + r * (1.0 / 6.0), t4 = 1.0 / 24.0 + r * (1.0 / 120.0);
    pl_wide t6 = 1.0 / 720.0 + r * (1.0 / 5040.0), t8 = 1.0 / 40320.0 + r * (1.0 / 362880.0);
    pl_wide t10 = 1.0 / 3628800.0 + r * (1.0 / 39916800.0), t12 = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0);
    t0 += t2 * r2;
    t4 += t6 * r2;
    t8 += t10 * r2;
    pl_wide sum = (t0 + t4 * r4) + (t8 + t12 * r4) * r8;
    pl_wide_bits bits, power;
    memcpy(&bits, &sum, sizeof bits);
    memcpy(&power, &shifted, sizeof power);
    bits += power << 52;
    memcpy(value, &bits, sizeof bits);
}

#endif
