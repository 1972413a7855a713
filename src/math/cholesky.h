/* cholesky.h: factors a symmetric positive definite A = L L' and solves A x = b. Matrices are stored by columns of
 * `size` entries; only the lower triangle is used. */
#ifndef PL_CHOLESKY_H
#define PL_CHOLESKY_H

#include <stdbool.h>
#include <stdint.h>

/* Overwrites A with L. Returns false if A is not positive definite; its content is then undefined. */
bool pl_cholesky(double *a, uint64_t size);
/* Overwrites b with the solution. */
void pl_cholesky_solve(const double *l, uint64_t size, double *b);

#endif
