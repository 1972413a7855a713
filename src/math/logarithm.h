/* logarithm.h: the logarithm of four numbers at a time. */
#ifndef PL_LOGARITHM_H
#define PL_LOGARITHM_H

#include "math/wide.h"

/* log(x) for normal x > 0, to 2 units in the last place. For 0 and subnormal x it is finite, so that x log(x) is about
 * 0. With x = 2^n m and m from sqrt(1/2) to sqrt(2), log(m) = 2 artanh(s), s = (m - 1) / (m + 1), a series in s^2 <=
 * 0.03. */
PL_INLINE void pl_logarithm(pl_wide *value) {
    const int64_t least = 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
    pl_wide_bits bits, all = {0};
    memcpy(&bits, value, sizeof bits);
    pl_wide_bits shifted = bits - least, whole = shifted & (all + ~0xfffffffffffff), low = (shifted ^ whole) + least;
    pl_wide_bits biased = (pl_wide_bits)(((shifted >> 52) + 2048) | (all + 0x4330000000000000)); /* 2^52 + n + 2048 */
    pl_wide m = (pl_wide)low, n = (pl_wide)biased - (0x1p52 + 2048.0);
    pl_wide s = (m - 1.0) / (m + 1.0), x = s * s, x2 = x * x, x4 = x2 * x2;
    pl_wide t0 = 1.0 / 3.0 + x * (1.0 / 5.0), t2 = 1.0 / 7.0 + x * (1.0 / 9.0);
    pl_wide t4 = 1.0 / 11.0 + x * (1.0 / 13.0), t6 = 1.0 / 15.0 + x * (1.0 / 17.0);
    t0 += t2 * x2;
    t4 += t6 * x2;
    pl_wide tail = 2.0 * s * x * (t0 + (t4 + x4 * (1.0 / 19.0)) * x4);
    *value = n * 0x1.62e42fefa38p-1 + (2.0 * s + (tail + n * 0x1.ef35793c7673p-45));
}

#endif
