/* exact_sum.h: sums of doubles without rounding, so that the result does not depend on the order of the terms. */
#ifndef PL_EXACT_SUM_H
#define PL_EXACT_SUM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define PL_EXACT_LIMBS 67
#define PL_EXACT_TERMS ((uint64_t)1 << 30) /* most terms between two calls of pl_exact_carry */

/* The sum of limb[i] x 2^(32 i - 1074). */
typedef struct pl_exact_sum {
    int64_t limb[PL_EXACT_LIMBS];
} pl_exact_sum;

/* `value` must be finite. */
static inline void pl_exact_add(pl_exact_sum *sum, double value) {
    const uint64_t hidden = (uint64_t)1 << 52, low = UINT32_MAX;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t exponent = (bits >> 52) & 0x7ff, shift = exponent ? exponent - 1 : 0;
    uint64_t digits = (bits & (hidden - 1)) | (exponent ? hidden : 0), above = shift % 32;
    uint64_t part[] = {digits << above & low, digits >> (32 - above) & low, above ? digits >> (64 - above) : 0};
    for (unsigned i = 0; i < 3; i++)
        sum->limb[shift / 32 + i] += bits >> 63 ? -(int64_t)part[i] : (int64_t)part[i];
}

/* Brings every limb but the last into [0, 2^32). */
static inline void pl_exact_carry(pl_exact_sum *sum) {
    for (unsigned i = 0; i + 1 < PL_EXACT_LIMBS; i++) {
        int64_t carry = sum->limb[i] >> 32;
        sum->limb[i] -= carry * ((int64_t)1 << 32);
        sum->limb[i + 1] += carry;
    }
}

/* Both sums must have been carried. */
static inline void pl_exact_join(pl_exact_sum *sum, const pl_exact_sum *other) {
    for (unsigned i = 0; i < PL_EXACT_LIMBS; i++)
        sum->limb[i] += other->limb[i];
    pl_exact_carry(sum);
}

/* The sum x 2^-down. */
static inline double pl_exact_scaled(pl_exact_sum sum, int down) {
    double value = 0, sign = 1;
    pl_exact_carry(&sum);
    if (sum.limb[PL_EXACT_LIMBS - 1] < 0) { /* the limbs of the opposite have no borrow beyond the range of doubles */
        for (unsigned i = 0; i < PL_EXACT_LIMBS; i++)
            sum.limb[i] = -sum.limb[i];
        pl_exact_carry(&sum);
        sign = -1;
    }
    for (unsigned i = PL_EXACT_LIMBS; i-- > 0;)
        if (sum.limb[i])
            value += ldexp((double)sum.limb[i], 32 * (int)i - 1074 - down);
    return sign * value;
}

static inline double pl_exact_value(pl_exact_sum sum) { return pl_exact_scaled(sum, 0); }

/* The mean of `count` terms, which is finite even if their sum is not. */
static inline double pl_exact_mean(pl_exact_sum sum, uint64_t count) {
    double value = pl_exact_scaled(sum, 0);
    return isfinite(value) ? value / (double)count : ldexp(pl_exact_scaled(sum, 64) / (double)count, 64);
}

#endif
