/* float_table.h: the kernels of table.h in single precision, for products with the curvature. A solve by conjugate
 * gradients needs few digits of them, and half as many bytes take half the time.
 *
 * Rows of the table have `stride` floats, of which those after the last class stay 0. Every entry of a dot product is
 * the sum over even e plus the sum over odd e, each in order. */
#ifndef PL_FLOAT_TABLE_H
#define PL_FLOAT_TABLE_H

#include <stdint.h>

#include "math/values.h"

/* The floats in a row of a table of so many classes. */
static inline uint64_t pl_float_stride(uint64_t classes) { return (classes + 3) / 4 * 4; }

/* Copies `rows` rows of doubles to a table, and back. */
void pl_float_table_take(const double *from, uint64_t rows, uint64_t classes, float *table);
void pl_float_table_give(const float *table, uint64_t rows, uint64_t classes, double *to);

/* out[c] = sum_e value[e] table[index[e] stride + c] */
void pl_float_table_dot(const uint32_t *index, pl_values values, uint64_t count, const float *table, uint64_t stride,
                        float *out);
/* table[index[e] stride + c] += a[c] value[e] */
void pl_float_table_add(const uint32_t *index, pl_values values, uint64_t count, const float *a, uint64_t stride,
                        float *table);

#endif
