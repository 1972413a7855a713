/* dense_block.c: four rows at a time, so that four columns of the vector are read, or read and written, once for all of
 * them. A sum of products has four lanes, and the columns behind the last four are added at the end. */
#include "math/dense_block.h"

#include "math/wide_floats.h"

#define LANES 4
#define ROWS 4

#define VALUE float
#define BODY(name) narrow_##name
#include "math/dense_block_body.h"

#define VALUE double
#define BODY(name) wide_##name
#include "math/dense_block_body.h"

/* For values of both types. */
#define BOTH(name, body, arguments, ...)                                                                               \
    PL_VERSIONS(name##_narrow, narrow_##body, (const float *value, __VA_ARGS__), arguments)                            \
    PL_VERSIONS(name##_wide, wide_##body, (const double *value, __VA_ARGS__), arguments)

BOTH(pl_dense_block_dot, dot, (value, rows, columns, w, z), uint64_t rows, uint64_t columns, const double *w, double *z)
BOTH(pl_dense_block_add, add, (value, rows, columns, a, w), uint64_t rows, uint64_t columns, const double *a, double *w)
