/* sparse.h: kernels on one sparse row (index, value, count) and a dense vector. `value` NULL: all values are 1. Four
 * accumulators are added in a fixed order and without contraction, so that every build gives the same bits. Long rows
 * without gaps have their own kernels. */
#ifndef PL_SPARSE_H
#define PL_SPARSE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/dense_row.h"

static inline double pl_soft(double x, double threshold) {
    return x > threshold ? x - threshold : x < -threshold ? x + threshold : 0.0;
}

/* Whether the entries are in adjacent columns, and so many that the kernels of dense_row.h are faster. */
static inline bool pl_sparse_is_full(const uint32_t *index, const float *value, uint64_t count) {
    return count >= PL_FULL_ENTRIES && value && index[count - 1] - index[0] == count - 1;
}

/* sum_e value[e] w[index[e]] */
static inline double pl_sparse_dot(const uint32_t *index, const float *value, uint64_t count, const double *w) {
    if (pl_sparse_is_full(index, value, count)) {
        double sum;
        pl_full_dot(value, count, w + index[0], &sum);
        return sum;
    }
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    uint64_t e = 0;
    if (value) {
        for (; e + 4 <= count; e += 4) {
            s0 += (double)value[e] * w[index[e]];
            s1 += (double)value[e + 1] * w[index[e + 1]];
            s2 += (double)value[e + 2] * w[index[e + 2]];
            s3 += (double)value[e + 3] * w[index[e + 3]];
        }
        for (; e < count; e++)
            s0 += (double)value[e] * w[index[e]];
    } else {
        for (; e + 4 <= count; e += 4) {
            s0 += w[index[e]];
            s1 += w[index[e + 1]];
            s2 += w[index[e + 2]];
            s3 += w[index[e + 3]];
        }
        for (; e < count; e++)
            s0 += w[index[e]];
    }
    return (s0 + s1) + (s2 + s3);
}

/* The same with soft(w, threshold). */
static inline double pl_sparse_dot_soft(const uint32_t *index, const float *value, uint64_t count, const double *w,
                                        double threshold) {
    double sum = 0;
    for (uint64_t e = 0; e < count; e++)
        sum += (value ? (double)value[e] : 1.0) * pl_soft(w[index[e]], threshold);
    return sum;
}

/* Both with columns multiplied by `scale`. */
static inline double pl_sparse_dot_scaled(const uint32_t *index, const float *value, uint64_t count, const double *w,
                                          const double *scale, double threshold) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    uint64_t e = 0;
    for (; e + 4 <= count && value && threshold == 0; e += 4) {
        s0 += (double)value[e] * scale[index[e]] * w[index[e]];
        s1 += (double)value[e + 1] * scale[index[e + 1]] * w[index[e + 1]];
        s2 += (double)value[e + 2] * scale[index[e + 2]] * w[index[e + 2]];
        s3 += (double)value[e + 3] * scale[index[e + 3]] * w[index[e + 3]];
    }
    for (; e < count; e++)
        s0 += (value ? (double)value[e] : 1.0) * scale[index[e]] * pl_soft(w[index[e]], threshold);
    return (s0 + s1) + (s2 + s3);
}

/* w[index[e]] += a value[e] */
static inline void pl_sparse_add(const uint32_t *index, const float *value, uint64_t count, double a, double *w) {
    if (pl_sparse_is_full(index, value, count))
        pl_full_add(value, count, a, w + index[0]);
    else if (value)
        for (uint64_t e = 0; e < count; e++)
            w[index[e]] += a * (double)value[e];
    else
        for (uint64_t e = 0; e < count; e++)
            w[index[e]] += a;
}

/* w[index[e]] += a value[e] h[index[e]] */
static inline void pl_sparse_add_weighted(const uint32_t *index, const float *value, uint64_t count, double a,
                                          const double *h, double *w) {
    if (pl_sparse_is_full(index, value, count))
        pl_full_add_weighted(value, count, a, h + index[0], w + index[0]);
    else if (value)
        for (uint64_t e = 0; e < count; e++)
            w[index[e]] += a * (double)value[e] * h[index[e]];
    else
        for (uint64_t e = 0; e < count; e++)
            w[index[e]] += a * h[index[e]];
}

/* w[index[e]] += a value[e]^2 */
static inline void pl_sparse_add_squares(const uint32_t *index, const float *value, uint64_t count, double a,
                                         double *w) {
    if (pl_sparse_is_full(index, value, count))
        pl_full_add_squares(value, count, a, w + index[0]);
    else
        for (uint64_t e = 0; e < count; e++) {
            double c = value ? (double)value[e] : 1.0;
            w[index[e]] += a * c * c;
        }
}

/* Returns sum_e value[e]^2 h[index[e]], and stores sum_e value[e] h[index[e]] in `first`. */
static inline double pl_sparse_moments(const uint32_t *index, const float *value, uint64_t count, const double *h,
                                       double *first) {
    double s0 = 0, s1 = 0, m0 = 0, m1 = 0;
    uint64_t e = 0;
    for (; value && e + 2 <= count; e += 2) {
        double a = (double)value[e] * h[index[e]], b = (double)value[e + 1] * h[index[e + 1]];
        m0 += a;
        m1 += b;
        s0 += (double)value[e] * a;
        s1 += (double)value[e + 1] * b;
    }
    for (; e < count; e++) {
        double c = value ? (double)value[e] : 1.0, a = c * h[index[e]];
        m0 += a;
        s0 += c * a;
    }
    *first = m0 + m1;
    return s0 + s1;
}

/* The same with columns multiplied by `scale`. */
static inline void pl_sparse_add_scaled(const uint32_t *index, const float *value, uint64_t count, double a, double *w,
                                        const double *scale) {
    for (uint64_t e = 0; e < count; e++)
        w[index[e]] += a * (value ? (double)value[e] : 1.0) * scale[index[e]];
}

/* Returns the first position in index[low .. high), which increases, with an index of at least `at`, or `high`. */
static inline uint64_t pl_sparse_first(const uint32_t *index, uint64_t low, uint64_t high, uint64_t at) {
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (index[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same for `count` increasing 64-bit numbers such as row offsets: how many are below `at`. */
static inline uint64_t pl_rising_first(const uint64_t *rising, uint64_t count, uint64_t at) {
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (rising[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static inline void pl_prefetch(const void *at) { __builtin_prefetch(at); }

/* Prefetches the first half kilobyte of the row of the entries from `begin` to `end`. The hardware prefetches the rest.
 */
static inline void pl_sparse_prefetch(const uint32_t *index, const float *value, uint64_t begin, uint64_t end) {
    uint64_t most = end < begin + 128 ? end : begin + 128;
    for (uint64_t e = begin; e < most; e += 16) {
        __builtin_prefetch(index + e);
        if (value)
            __builtin_prefetch(value + e);
    }
}

static inline double pl_sparse_norm2(const float *value, uint64_t count) {
    if (!value)
        return (double)count;
    double sum = 0;
    if (count >= PL_FULL_ENTRIES) {
        pl_full_norm2(value, count, &sum);
        return sum;
    }
    for (uint64_t e = 0; e < count; e++)
        sum += (double)value[e] * (double)value[e];
    return sum;
}

#endif
