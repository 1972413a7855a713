/* exact_sum.h: sums of 32-bit floats without rounding, so that the result does not depend on the order of the terms. */
#ifndef PL_EXACT_SUM_H
#define PL_EXACT_SUM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define PL_EXACT_LIMBS 11
#define PL_EXACT_TERMS ((uint64_t)1 << 30) /* most terms between two calls of pl_exact_carry */

/* The sum of limb[i] x 2^(32 i - 149). */
typedef struct pl_exact_sum {
    int64_t limb[PL_EXACT_LIMBS];
} pl_exact_sum;

/* `value` must be finite. */
static inline void pl_exact_add(pl_exact_sum *sum, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t exponent = (bits >> 23) & 0xff, shift = exponent ? exponent - 1 : 0;
    uint64_t wide = (uint64_t)((bits & 0x7fffff) | (exponent ? 0x800000 : 0)) << (shift % 32);
    int64_t low = (int64_t)(wide & 0xffffffff), high = (int64_t)(wide >> 32);
    sum->limb[shift / 32] += bits >> 31 ? -low : low;
    sum->limb[shift / 32 + 1] += bits >> 31 ? -high : high;
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

static inline double pl_exact_value(pl_exact_sum sum) {
    double value = 0;
    pl_exact_carry(&sum);
    for (unsigned i = PL_EXACT_LIMBS; i-- > 0;)
        value += ldexp((double)sum.limb[i], 32 * (int)i - 149);
    return value;
}

#endif
