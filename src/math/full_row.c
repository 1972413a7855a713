/* full_row.c: eight entries at a time. Accumulators are added in a fixed
 * order. */
#include "math/full_row.h"

#include "math/wide_floats.h"

#define EIGHT 8
#define GROUPS 4
#define STRIDE (GROUPS * EIGHT)

typedef double doubles __attribute__((vector_size(64), aligned(8), may_alias));
typedef float floats __attribute__((vector_size(32), aligned(4), may_alias));

#define DOUBLES(from) (*(const doubles *)(from))
#define FLOATS(from) __builtin_convertvector(*(const floats *)(from), doubles)

/* The sum of the accumulators, and of the products from entry `e` on. */
PL_INLINE void finish(const doubles *sum, const float *value, uint64_t e, uint64_t count, const double *w,
                      double *out) {
    doubles s = *sum;
    double rest = 0;
    for (; e < count; e++)
        rest += (double)value[e] * w[e];
    *out = (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))) + rest;
}

PL_INLINE void dot(const float *value, uint64_t count, const double *w, double *out) {
    doubles sum[GROUPS] = {{0}};
    uint64_t e = 0;
    for (; e + STRIDE <= count; e += STRIDE)
        for (unsigned k = 0; k < GROUPS; k++)
            sum[k] += FLOATS(value + e + k * EIGHT) * DOUBLES(w + e + k * EIGHT);
    for (; e + EIGHT <= count; e += EIGHT)
        sum[0] += FLOATS(value + e) * DOUBLES(w + e);
    sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    finish(sum, value, e, count, w, out);
}

PL_INLINE void dots(const float *const value[PL_FULL_ROWS], uint64_t count, const double *const w[PL_FULL_VECTORS],
                    double *out) {
    doubles sum[PL_FULL_VECTORS][PL_FULL_ROWS] = {{{0}}};
    uint64_t e = 0;
    for (; e + EIGHT <= count; e += EIGHT)
        for (unsigned r = 0; r < PL_FULL_ROWS; r++) {
            doubles x = FLOATS(value[r] + e);
            for (unsigned v = 0; v < PL_FULL_VECTORS; v++)
                sum[v][r] += x * DOUBLES(w[v] + e);
        }
    for (unsigned v = 0; v < PL_FULL_VECTORS; v++)
        for (unsigned r = 0; r < PL_FULL_ROWS; r++)
            finish(&sum[v][r], value[r], e, count, w[v], out + v * PL_FULL_ROWS + r);
}

PL_INLINE void norm2(const float *value, uint64_t count, double *out) {
    doubles sum[GROUPS] = {{0}};
    double rest = 0;
    uint64_t e = 0;
    for (; e + STRIDE <= count; e += STRIDE)
        for (unsigned k = 0; k < GROUPS; k++) {
            doubles x = FLOATS(value + e + k * EIGHT);
            sum[k] += x * x;
        }
    for (; e < count; e++)
        rest += (double)value[e] * (double)value[e];
    doubles s = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    *out = (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))) + rest;
}

PL_INLINE void add(const float *value, uint64_t count, double a, double *w) {
    uint64_t e = 0;
    for (; e + EIGHT <= count; e += EIGHT)
        *(doubles *)(w + e) += a * FLOATS(value + e);
    for (; e < count; e++)
        w[e] += a * (double)value[e];
}

PL_INLINE void add_weighted(const float *value, uint64_t count, double a, const double *h, double *w) {
    uint64_t e = 0;
    for (; e + EIGHT <= count; e += EIGHT)
        *(doubles *)(w + e) += a * FLOATS(value + e) * DOUBLES(h + e);
    for (; e < count; e++)
        w[e] += a * (double)value[e] * h[e];
}

PL_INLINE void add_squares(const float *value, uint64_t count, double a, double *w) {
    uint64_t e = 0;
    for (; e + EIGHT <= count; e += EIGHT)
        *(doubles *)(w + e) += a * FLOATS(value + e) * FLOATS(value + e);
    for (; e < count; e++)
        w[e] += a * (double)value[e] * (double)value[e];
}

PL_VERSIONS(pl_full_dot, dot, (const float *value, uint64_t count, const double *w, double *out),
            (value, count, w, out))
PL_VERSIONS(pl_full_dots, dots,
            (const float *const value[PL_FULL_ROWS], uint64_t count, const double *const w[PL_FULL_VECTORS],
             double *out),
            (value, count, w, out))
PL_VERSIONS(pl_full_norm2, norm2, (const float *value, uint64_t count, double *out), (value, count, out))
PL_VERSIONS(pl_full_add, add, (const float *value, uint64_t count, double a, double *w), (value, count, a, w))
PL_VERSIONS(pl_full_add_weighted, add_weighted,
            (const float *value, uint64_t count, double a, const double *h, double *w), (value, count, a, h, w))
PL_VERSIONS(pl_full_add_squares, add_squares, (const float *value, uint64_t count, double a, double *w),
            (value, count, a, w))
