/* dense_row.h: kernels on entries of adjacent columns, as in dense data, which need no column numbers. They have
 * versions for several processors (wide_floats.h), which all give the same bits, and for both types of values. */
#ifndef PL_FULL_ROW_H
#define PL_FULL_ROW_H

#include <stdint.h>

#include "math/values.h"

#define PL_FULL_ENTRIES 32 /* from which the call is worth it */

#define PL_FULL_ROWS 2
#define PL_FULL_VECTORS 2

/* Declares a kernel for both types of values, and one that calls the right one. Values must not be all 1. */
#define PL_FULL_KERNEL(name, arguments, ...)                                                                           \
    void name##_narrow(const float *value, __VA_ARGS__);                                                               \
    void name##_wide(const double *value, __VA_ARGS__);                                                                \
    static inline void name(pl_values values, __VA_ARGS__) {                                                           \
        if (values.narrow)                                                                                             \
            name##_narrow(values.narrow, PL_SPREAD arguments);                                                         \
        else                                                                                                           \
            name##_wide(values.wide, PL_SPREAD arguments);                                                             \
    }
#define PL_SPREAD(...) __VA_ARGS__

/* out = sum_e value[e] w[e] */
PL_FULL_KERNEL(pl_full_dot, (count, w, out), uint64_t count, const double *w, double *out)
/* out = sum_e value[e]^2, of entries in any columns */
PL_FULL_KERNEL(pl_full_norm2, (count, out), uint64_t count, double *out)
/* w[e] += a value[e] */
PL_FULL_KERNEL(pl_full_add, (count, a, w), uint64_t count, double a, double *w)
/* w[e] += a value[e] h[e] */
PL_FULL_KERNEL(pl_full_add_weighted, (count, a, h, w), uint64_t count, double a, const double *h, double *w)
/* w[e] += a value[e]^2 */
PL_FULL_KERNEL(pl_full_add_squares, (count, a, w), uint64_t count, double a, double *w)

/* As pl_full_dot, for several rows and vectors, in another order of addition: vector v and row r in
 * out[v PL_FULL_ROWS + r]. A value is converted to a double, which takes longer than a product, once for all vectors.
 */
void pl_full_dots_narrow(const float *const value[PL_FULL_ROWS], uint64_t count, const double *const w[PL_FULL_VECTORS],
                         double *out);
void pl_full_dots_wide(const double *const value[PL_FULL_ROWS], uint64_t count, const double *const w[PL_FULL_VECTORS],
                       double *out);
static inline void pl_full_dots(const pl_values values[PL_FULL_ROWS], uint64_t count,
                                const double *const w[PL_FULL_VECTORS], double *out) {
    if (values[0].narrow)
        pl_full_dots_narrow((const float *const[]){values[0].narrow, values[1].narrow}, count, w, out);
    else
        pl_full_dots_wide((const double *const[]){values[0].wide, values[1].wide}, count, w, out);
}

#endif
