/* softmax_kernel.h: probabilities p_c = exp(z_c) / sum exp(z) of a few classes, and the dual step of the softmax loss.
 */
#ifndef PL_SOFTMAX_KERNEL_H
#define PL_SOFTMAX_KERNEL_H

#include <stdint.h>

#define PL_MOST_CLASSES 1024

/* Fills p; returns log sum exp(z). */
double pl_softmax(const double *z, uint64_t classes, double *p);

/* The same for several rows; `sums` gets log sum exp(z) of each. */
#define PL_SOFTMAX_ROWS 4 /* at most */
void pl_softmax_rows(const double *z, uint64_t rows, uint64_t classes, double *p, double *sums);

/* Moves p towards the minimum of sum p ln p - p.z + h |p - p_in|^2 / 2 over the simplex, and never increases it.
 * Returns an estimate of the distance from p_in to softmax(z), sum p ln(p / softmax(z)). */
double pl_softmax_step(const double *z, uint64_t classes, double h, double *p);

#endif
