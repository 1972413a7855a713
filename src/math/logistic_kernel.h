/* logistic_kernel.h: the logistic loss of many rows. */
#ifndef PL_LOGISTIC_KERNEL_H
#define PL_LOGISTIC_KERNEL_H

#include <stdint.h>

/* Computes value, slope and curvature of log(1 + exp(-y z)) in z for each of `count` rows; y is -1 or +1. `value` may
 * be NULL. */
void pl_logistic_rows(const double *z, const double *y, uint64_t count, double *value, double *slope,
                      double *curvature);
/* Computes p log p + (1 - p) log(1 - p) at p = y t for each row; infinite outside [0, 1]. */
void pl_logistic_conjugates(const double *t, const double *y, uint64_t count, double *value);

#endif
