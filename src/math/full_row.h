/* full_row.h: kernels on entries of adjacent columns, as in dense data, which need no column numbers. They have
 * versions for several processors (wide_floats.h), which all give the same bits. */
#ifndef PL_FULL_ROW_H
#define PL_FULL_ROW_H

#include <stdint.h>

#define PL_FULL_ENTRIES 32 /* from which the call is worth it */

#define PL_FULL_ROWS 4

/* out = sum_e value[e] w[e] */
void pl_full_dot(const float *value, uint64_t count, const double *w, double *out);
/* The same for several rows, in another order of addition. */
void pl_full_dots(const float *const value[PL_FULL_ROWS], uint64_t count, const double *w, double *out);
/* w[e] += a value[e] */
void pl_full_add(const float *value, uint64_t count, double a, double *w);
/* w[e] += a value[e] h[e] */
void pl_full_add_weighted(const float *value, uint64_t count, double a, const double *h, double *w);
/* w[e] += a value[e]^2 */
void pl_full_add_squares(const float *value, uint64_t count, double a, double *w);

#endif
