/* logistic_kernel.c: with m = y z and e = exp(-|m|), log(1 + exp(-m)) = log(1 + e) + max(-m, 0). log(1 + e) = 2
 * artanh(s) with s = e / (2 + e) <= 1/3, a series in s^2 that stays accurate if e is small. */
#include "math/logistic_kernel.h"

#include <math.h>

#include "math/exponential.h"
#include "math/logarithm.h"

/* The sum of x^k / (2 k + 3) over k < 16, for x <= 1/9. Summed in pairs of terms like the exponential. */
PL_INLINE void artanh_series(const pl_wide *at, pl_wide *series) {
    pl_wide x = *at, x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
    pl_wide t0 = 1.0 / 3.0 + x * (1.0 / 5.0), t2 = 1.0 / 7.0 + x * (1.0 / 9.0);
    pl_wide t4 = 1.0 / 11.0 + x * (1.0 / 13.0), t6 = 1.0 / 15.0 + x * (1.0 / 17.0);
    pl_wide t8 = 1.0 / 19.0 + x * (1.0 / 21.0), t10 = 1.0 / 23.0 + x * (1.0 / 25.0);
    pl_wide t12 = 1.0 / 27.0 + x * (1.0 / 29.0), t14 = 1.0 / 31.0 + x * (1.0 / 33.0);
    t0 += t2 * x2;
    t4 += t6 * x2;
    t8 += t10 * x2;
    t12 += t14 * x2;
    *series = (t0 + t4 * x4) + (t8 + t12 * x4) * x8;
}

PL_INLINE void four(const double *z, const double *y, double *value, double *slope, double *curvature) {
    pl_wide z4, y4, zero = PL_ALL(0.0);
    PL_LOAD(z4, z);
    PL_LOAD(y4, y);
    pl_wide m = y4 * z4, e = PL_LARGER(m, -m);
    pl_wide_bits right = m > zero;
    e = -e;
    pl_exponential(&e);
    pl_wide near = 1.0 / (1.0 + e), far = e * near, bend = near * far;
    pl_wide wrong = (pl_wide)(((pl_wide_bits)far & right) | ((pl_wide_bits)near & ~right));
    wrong = -y4 * wrong;
    PL_STORE(slope, wrong);
    PL_STORE(curvature, bend);
    if (!value)
        return;
    pl_wide s = e / (2.0 + e), x = s * s, series, sum = PL_LARGER(zero, -m); /* this order of operands keeps a NaN */
    artanh_series(&x, &series);
    sum += 2.0 * s + 2.0 * s * x * series;
    PL_STORE(value, sum);
}

PL_INLINE void rows(const double *z, const double *y, uint64_t count, double *value, double *slope, double *curvature) {
    uint64_t whole = count - count % 4, left = (count - whole) * sizeof *z;
    for (uint64_t i = 0; i < whole; i += 4)
        four(z + i, y + i, value ? value + i : NULL, slope + i, curvature + i);
    if (left == 0)
        return;
    double last[5][4] = {{0}}; /* padded to four rows */
    memcpy(last[0], z + whole, left);
    memcpy(last[1], y + whole, left);
    four(last[0], last[1], last[2], last[3], last[4]);
    if (value)
        memcpy(value + whole, last[2], left);
    memcpy(slope + whole, last[3], left);
    memcpy(curvature + whole, last[4], left);
}

PL_AVX2 static void rows_avx2(const double *z, const double *y, uint64_t count, double *value, double *slope,
                              double *curvature) {
    rows(z, y, count, value, slope, curvature);
}
static void rows_any(const double *z, const double *y, uint64_t count, double *value, double *slope,
                     double *curvature) {
    rows(z, y, count, value, slope, curvature);
}

void pl_logistic_rows(const double *z, const double *y, uint64_t count, double *value, double *slope,
                      double *curvature) {
    (PL_HAS_AVX2 ? rows_avx2 : rows_any)(z, y, count, value, slope, curvature);
}

/* p log p + (1 - p) log(1 - p) at p = y t; 0 log 0 is 0. */
PL_INLINE void conjugate_four(const double *t, const double *y, double *value) {
    pl_wide p, y4, zero = PL_ALL(0.0), one = PL_ALL(1.0);
    PL_LOAD(p, t);
    PL_LOAD(y4, y);
    p *= y4;
    pl_wide rest = one - p, own = p, other = rest;
    pl_logarithm(&own);
    pl_logarithm(&other);
    pl_wide sum = p * own + rest * other;
    pl_wide_bits inside = (p >= zero) & (p <= one);
    sum = (pl_wide)(((pl_wide_bits)sum & inside) | ((pl_wide_bits)PL_ALL((double)INFINITY) & ~inside));
    PL_STORE(value, sum);
}

PL_INLINE void conjugates(const double *t, const double *y, uint64_t count, double *value) {
    uint64_t whole = count - count % 4, left = (count - whole) * sizeof *t;
    for (uint64_t i = 0; i < whole; i += 4)
        conjugate_four(t + i, y + i, value + i);
    if (left == 0)
        return;
    double last[3][4] = {{0}}; /* padded to four rows */
    memcpy(last[0], t + whole, left);
    memcpy(last[1], y + whole, left);
    conjugate_four(last[0], last[1], last[2]);
    memcpy(value + whole, last[2], left);
}

PL_AVX2 static void conjugates_avx2(const double *t, const double *y, uint64_t count, double *value) {
    conjugates(t, y, count, value);
}
static void conjugates_any(const double *t, const double *y, uint64_t count, double *value) {
    conjugates(t, y, count, value);
}

void pl_logistic_conjugates(const double *t, const double *y, uint64_t count, double *value) {
    (PL_HAS_AVX2 ? conjugates_avx2 : conjugates_any)(t, y, count, value);
}
