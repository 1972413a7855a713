/* dense_row.c: products of eight entries at a time are added to eight lanes, of long rows to four groups of them.
 * Accumulators are added in a fixed order. */
#include "math/dense_row.h"

#include "math/wide_floats.h"

#define LANES 8
#define GROUPS 4
#define STRIDE (GROUPS * LANES)

#define VALUE float
#define WIDTH 8
#define BODY(name) narrow_##name##_eight
#include "math/dense_row_body.h"

#define VALUE float
#define WIDTH 4
#define BODY(name) narrow_##name##_four
#include "math/dense_row_body.h"

#define VALUE double
#define WIDTH 8
#define BODY(name) wide_##name##_eight
#include "math/dense_row_body.h"

#define VALUE double
#define WIDTH 4
#define BODY(name) wide_##name##_four
#include "math/dense_row_body.h"

/* With the widest vectors that the processor has. */
#define VERSIONS(name, body, parameters, arguments)                                                                    \
    PL_VERSIONS_OF(name, body##_eight, body##_four, parameters, arguments)
/* For values of both types. */
#define BOTH(name, body, arguments, ...)                                                                               \
    VERSIONS(name##_narrow, narrow_##body, (const float *value, __VA_ARGS__), arguments)                               \
    VERSIONS(name##_wide, wide_##body, (const double *value, __VA_ARGS__), arguments)

BOTH(pl_full_dot, dot, (value, count, w, out), uint64_t count, const double *w, double *out)
BOTH(pl_full_norm2, norm2, (value, count, out), uint64_t count, double *out)
BOTH(pl_full_add, add, (value, count, a, w), uint64_t count, double a, double *w)
BOTH(pl_full_add_weighted, add_weighted, (value, count, a, h, w), uint64_t count, double a, const double *h, double *w)
BOTH(pl_full_add_squares, add_squares, (value, count, a, w), uint64_t count, double a, double *w)

VERSIONS(pl_full_dots_narrow, narrow_dots,
         (const float *const value[PL_FULL_ROWS], uint64_t count, const double *const w[PL_FULL_VECTORS], double *out),
         (value, count, w, out))
VERSIONS(pl_full_dots_wide, wide_dots,
         (const double *const value[PL_FULL_ROWS], uint64_t count, const double *const w[PL_FULL_VECTORS], double *out),
         (value, count, w, out))
