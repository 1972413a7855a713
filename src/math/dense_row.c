/* dense_row.c: products of eight entries at a time are added to eight lanes, of long rows to four groups of them.
 * Accumulators are added in a fixed order. */
#include "math/dense_row.h"

#include "math/wide_floats.h"

#define LANES 8
#define GROUPS 4
#define STRIDE (GROUPS * LANES)

#define WIDTH 8
#define BODY(name) name##_eight
#include "math/dense_row_body.h"

#define WIDTH 4
#define BODY(name) name##_four
#include "math/dense_row_body.h"

/* With the widest vectors that the processor has. */
#define VERSIONS(name, body, parameters, arguments)                                                                    \
    PL_VERSIONS_OF(name, body##_eight, body##_four, parameters, arguments)

VERSIONS(pl_full_dot, dot, (const float *value, uint64_t count, const double *w, double *out), (value, count, w, out))
VERSIONS(pl_full_dots, dots,
         (const float *const value[PL_FULL_ROWS], uint64_t count, const double *const w[PL_FULL_VECTORS], double *out),
         (value, count, w, out))
VERSIONS(pl_full_norm2, norm2, (const float *value, uint64_t count, double *out), (value, count, out))
VERSIONS(pl_full_add, add, (const float *value, uint64_t count, double a, double *w), (value, count, a, w))
VERSIONS(pl_full_add_weighted, add_weighted, (const float *value, uint64_t count, double a, const double *h, double *w),
         (value, count, a, h, w))
VERSIONS(pl_full_add_squares, add_squares, (const float *value, uint64_t count, double a, double *w),
         (value, count, a, w))
