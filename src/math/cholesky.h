/* cholesky.h: A = L L' for a symmetric positive definite A, and A x = b by it. Matrices by columns of `size` entries,
 * of which the lower triangle counts. */
#ifndef PL_CHOLESKY_H
#define PL_CHOLESKY_H

#include <stdbool.h>
#include <stdint.h>

/* Puts L in the place of A; false: A is not definite, and what is left is of no use. */
bool pl_cholesky(double *a, uint64_t size);
/* Puts the solution in the place of b. */
void pl_cholesky_solve(const double *l, uint64_t size, double *b);

#endif
