/* fast_decimal.h: a fast path for common numbers such as 0.012345 or 17. It branches on the number of digits. */
#ifndef PL_FAST_DECIMAL_H
#define PL_FAST_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PL_EXACT_FLOAT ((uint64_t)1 << 24)  /* integers up to this are exact as floats */
#define PL_EXACT_DOUBLE ((uint64_t)1 << 53) /* and as doubles */

static inline unsigned pl_digit(char c) { return (unsigned)(unsigned char)c - '0'; }

/* Loads eight bytes, the first one lowest. Compilers turn this into one load. */
static inline uint64_t pl_load_eight(const char *p) {
    const unsigned char *b = (const unsigned char *)p;
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 |
           (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

/* Converts eight digits 0..9, one per byte with the first one lowest, to a number. */
static inline uint32_t pl_join_eight(uint64_t digits) {
    digits = digits * 10 + (digits >> 8);
    uint64_t high = (digits & 0x000000ff000000ff) * 0x000f424000000064;
    uint64_t low = ((digits >> 16) & 0x000000ff000000ff) * 0x0000271000000001;
    return (uint32_t)((high + low) >> 32);
}

#define PL_DECIMALS(n)                                                                                                 \
    if (stop == (uint64_t)0x80 << (8 * (n)))                                                                           \
    return *fraction = pl_join_eight(digits << (64 - 8 * (n))), (n)

/* Reads 1 to 7 decimals at `p` and returns how many. Returns 0 if there are none or more. */
static inline unsigned pl_fast_fraction(const char *p, uint32_t *fraction) {
    uint64_t digits = pl_load_eight(p) ^ 0x3030303030303030;
    uint64_t others = ((digits + 0x7676767676767676) | digits) & 0x8080808080808080;
    uint64_t stop = others & (0 - others); /* the first byte that is not a digit */
    PL_DECIMALS(6);
    PL_DECIMALS(4);
    PL_DECIMALS(5);
    PL_DECIMALS(2);
    PL_DECIMALS(1);
    PL_DECIMALS(3);
    PL_DECIMALS(7);
    return 0;
}

static const float pl_ten_to[8] = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 1e7F};
static const uint32_t pl_whole_ten_to[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};

/* Reads the digits of a common number below `most` and how many of them are decimals, or returns NULL if it is written
 * differently. */
static inline const char *pl_fast_digits(const char *p, uint64_t most, uint64_t *digits, unsigned *decimals) {
    uint64_t whole = pl_digit(*p);
    *decimals = 0;
    if (whole > 9)
        return NULL;
    for (p++; pl_digit(*p) <= 9; p++) {
        whole = whole * 10 + pl_digit(*p);
        if (whole >= most)
            return NULL;
    }
    if (*p == '.') {
        uint32_t fraction = 0;
        uint64_t before = whole;
        *decimals = pl_fast_fraction(p + 1, &fraction);
        whole = whole * pl_whole_ten_to[*decimals] + fraction;
        if (*decimals == 0 || whole > most || (most > PL_EXACT_FLOAT && before >> 40))
            return NULL; /* with more bits before the point, the product may have overflowed */
        p += 1 + *decimals;
    }
    *digits = whole;
    return p;
}

/* Reads a common number as a float, or returns NULL. Both operands of the division are exact floats, so the quotient is
 * correctly rounded. */
static inline const char *pl_fast_decimal(const char *p, float *value) {
    bool negative = *p == '-';
    uint64_t digits;
    unsigned decimals;
    p = pl_fast_digits(p + negative, PL_EXACT_FLOAT, &digits, &decimals);
    if (!p)
        return NULL;
    float result = (float)(uint32_t)digits;
    if (decimals)
        result /= pl_ten_to[decimals];
    *value = negative ? -result : result;
    return p;
}

/* The same as a float, or as a double if `wide`. */
static inline const char *pl_fast_value(const char *p, bool wide, double *value) {
    float narrow;
    if (!wide) {
        p = pl_fast_decimal(p, &narrow);
        if (p)
            *value = (double)narrow;
        return p;
    }
    bool negative = *p == '-';
    uint64_t digits;
    unsigned decimals;
    p = pl_fast_digits(p + negative, PL_EXACT_DOUBLE, &digits, &decimals);
    if (!p)
        return NULL;
    double result = (double)digits / (double)pl_ten_to[decimals];
    *value = negative ? -result : result;
    return p;
}

#endif
