/* blas.h: products of matrices in single precision, by OpenBLAS. The library is loaded when it is first needed, so that
 * programs which do not need it start without it. It uses one thread per call, so that results do not depend on the
 * number of threads; callers run several calls at a time. */
#ifndef PL_BLAS_H
#define PL_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Loads the library, once; fails with a message that says what to install. */
parley_status pl_blas_open(parley_error *error);

/* A matrix by rows, `stride` floats apart; `turned` stands for its transpose. */
typedef struct pl_floats_of {
    const float *at;
    uint64_t stride;
    bool turned;
} pl_floats_of;

/* c = a b, or c += a b: a has rows x inner entries, b inner x columns, c rows x columns. After pl_blas_open only. */
void pl_multiply(pl_floats_of a, pl_floats_of b, uint64_t rows, uint64_t inner, uint64_t columns, bool add, float *c,
                 uint64_t stride);

#endif
