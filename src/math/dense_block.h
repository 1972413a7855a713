/* dense_block.h: kernels on a block of rows that have an entry in every column, one row behind the other. They have
 * versions for several processors (wide.h), which all give the same bits. */
#ifndef PL_FULL_BLOCK_H
#define PL_FULL_BLOCK_H

#include "math/dense_row.h"

/* z[r] = sum_j value[r columns + j] w[j] */
PL_FULL_KERNEL(pl_dense_block_dot, (rows, columns, w, z), uint64_t rows, uint64_t columns, const double *w, double *z)
/* w[j] += sum_r a[r] value[r columns + j], row by row */
PL_FULL_KERNEL(pl_dense_block_add, (rows, columns, a, w), uint64_t rows, uint64_t columns, const double *a, double *w)

#endif
