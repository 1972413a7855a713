/* non_negative.h: least squares with coefficients of at least 0, for small dense problems. */
#ifndef PL_NON_NEGATIVE_H
#define PL_NON_NEGATIVE_H

#include <stdbool.h>

#define PL_NON_NEGATIVE_MOST 16 /* columns */

/* Minimises sum_i weight_i (x_i . theta - y_i)^2 over theta >= 0 by the active sets of Lawson and Hanson. `x` has
 * `rows` rows of `columns` numbers, and `weight` may be NULL. Columns may depend on each other. Returns false if there
 * are too many columns or a number is not finite. */
bool pl_non_negative(const double *x, const double *y, const double *weight, unsigned rows, unsigned columns,
                     double *theta);

#endif
