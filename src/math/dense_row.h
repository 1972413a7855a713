/* dense_row.h: kernels on entries of adjacent columns, as in dense data, which need no column numbers. They have
 * versions for several processors (wide_floats.h), which all give the same bits. */
#ifndef PL_FULL_ROW_H
#define PL_FULL_ROW_H

#include <stdint.h>

#define PL_FULL_ENTRIES 32 /* from which the call is worth it */

#define PL_FULL_ROWS 2
#define PL_FULL_VECTORS 2

/* out = sum_e value[e] w[e] */
void pl_full_dot(const float *value, uint64_t count, const double *w, double *out);
/* The same for several rows and vectors, in another order of addition: vector v and row r in out[v PL_FULL_ROWS + r].
 * A value is converted to a double, which takes longer than a product, once for all vectors. */
void pl_full_dots(const float *const value[PL_FULL_ROWS], uint64_t count, const double *const w[PL_FULL_VECTORS],
                  double *out);
/* out = sum_e value[e]^2, of entries in any columns */
void pl_full_norm2(const float *value, uint64_t count, double *out);
/* w[e] += a value[e] */
void pl_full_add(const float *value, uint64_t count, double a, double *w);
/* w[e] += a value[e] h[e] */
void pl_full_add_weighted(const float *value, uint64_t count, double a, const double *h, double *w);
/* w[e] += a value[e]^2 */
void pl_full_add_squares(const float *value, uint64_t count, double a, double *w);

#endif
