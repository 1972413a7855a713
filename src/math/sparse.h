/* sparse.h: kernels on one sparse row (index, values, count) and a dense vector, for each type of values. Four
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

#define VALUES const float *
#define VALUED true
#define AT(e) ((double)value[e])
#define BODY(name) pl_narrow_##name
#include "math/sparse_body.h"

#define VALUES const double *
#define VALUED true
#define AT(e) (value[e])
#define BODY(name) pl_wide_##name
#include "math/sparse_body.h"

#define VALUES const void *
#define VALUED false
#define AT(e) 1.0
#define BODY(name) pl_ones_##name
#include "math/sparse_body.h"

/* Calls the kernel for the type of the values. */
#define PL_BY_TYPE(name, index, values, ...)                                                                           \
    ((values).narrow ? pl_narrow_##name(index, (values).narrow, __VA_ARGS__)                                           \
     : (values).wide ? pl_wide_##name(index, (values).wide, __VA_ARGS__)                                               \
                     : pl_ones_##name(index, NULL, __VA_ARGS__))

/* Whether the entries are in adjacent columns, and so many that the kernels of dense_row.h are faster. */
static inline bool pl_sparse_is_full(const uint32_t *index, pl_values values, uint64_t count) {
    return count >= PL_FULL_ENTRIES && !pl_are_ones(values) && index[count - 1] - index[0] == count - 1;
}

/* sum_e value[e] w[index[e]] */
static inline double pl_sparse_dot(const uint32_t *index, pl_values values, uint64_t count, const double *w) {
    double sum;
    if (!pl_sparse_is_full(index, values, count))
        return PL_BY_TYPE(dot, index, values, count, w);
    pl_full_dot(values, count, w + index[0], &sum);
    return sum;
}

/* The same with soft(w, threshold). */
static inline double pl_sparse_dot_soft(const uint32_t *index, pl_values values, uint64_t count, const double *w,
                                        double threshold) {
    return PL_BY_TYPE(dot_soft, index, values, count, w, threshold);
}

/* Both with columns multiplied by `scale`. */
static inline double pl_sparse_dot_scaled(const uint32_t *index, pl_values values, uint64_t count, const double *w,
                                          const double *scale, double threshold) {
    return PL_BY_TYPE(dot_scaled, index, values, count, w, scale, threshold);
}

/* w[index[e]] += a value[e] */
static inline void pl_sparse_add(const uint32_t *index, pl_values values, uint64_t count, double a, double *w) {
    if (pl_sparse_is_full(index, values, count))
        pl_full_add(values, count, a, w + index[0]);
    else
        PL_BY_TYPE(add, index, values, count, a, w);
}

/* w[index[e]] += a value[e] h[index[e]] */
static inline void pl_sparse_add_weighted(const uint32_t *index, pl_values values, uint64_t count, double a,
                                          const double *h, double *w) {
    if (pl_sparse_is_full(index, values, count))
        pl_full_add_weighted(values, count, a, h + index[0], w + index[0]);
    else
        PL_BY_TYPE(add_weighted, index, values, count, a, h, w);
}

/* w[index[e]] += a value[e]^2 */
static inline void pl_sparse_add_squares(const uint32_t *index, pl_values values, uint64_t count, double a, double *w) {
    if (pl_sparse_is_full(index, values, count))
        pl_full_add_squares(values, count, a, w + index[0]);
    else
        PL_BY_TYPE(add_squares, index, values, count, a, w);
}

/* Returns sum_e value[e]^2 h[index[e]], and stores sum_e value[e] h[index[e]] in `first`. */
static inline double pl_sparse_moments(const uint32_t *index, pl_values values, uint64_t count, const double *h,
                                       double *first) {
    return PL_BY_TYPE(moments, index, values, count, h, first);
}

/* w[index[e]] += a value[e] scale[index[e]] */
static inline void pl_sparse_add_scaled(const uint32_t *index, pl_values values, uint64_t count, double a, double *w,
                                        const double *scale) {
    PL_BY_TYPE(add_scaled, index, values, count, a, w, scale);
}

/* sum_e value[e]^2 */
static inline double pl_sparse_norm2(pl_values values, uint64_t count) {
    double sum;
    if (pl_are_ones(values))
        return (double)count;
    if (count < PL_FULL_ENTRIES)
        return values.narrow ? pl_narrow_norm2(values.narrow, count) : pl_wide_norm2(values.wide, count);
    pl_full_norm2(values, count, &sum);
    return sum;
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
static inline void pl_sparse_prefetch(const uint32_t *index, pl_values values, uint64_t begin, uint64_t end) {
    uint64_t most = end < begin + 128 ? end : begin + 128;
    for (uint64_t e = begin; e < most; e += 16) {
        __builtin_prefetch(index + e);
        if (values.narrow)
            __builtin_prefetch(values.narrow + e);
    }
    for (uint64_t e = begin; values.wide && e < most; e += 8)
        __builtin_prefetch(values.wide + e);
}

#endif
