/* table.h: kernels on one sparse row (index, values, count) and a table with rows of `width` entries, one per
 * class. A row of the data is read once for all classes. Every entry of a dot product is the sum over even e plus the
 * sum over odd e, each in order, so that every build and machine gives the same bits. */
#ifndef PL_TABLE_H
#define PL_TABLE_H

#include "math/values.h"

/* `scale`: factors of the columns' values; NULL: none. */

/* out[c] = sum_e value[e] table[index[e] width + c] */
void pl_table_dot(const uint32_t *index, pl_values values, uint64_t count, const double *scale, const double *table,
                  uint64_t width, double *out);
/* The same with soft(table, threshold), summed over all e in order. */
void pl_table_dot_soft(const uint32_t *index, pl_values values, uint64_t count, const double *scale,
                       const double *table, uint64_t width, double threshold, double *out);
/* table[index[e] width + c] += a[c] value[e] */
void pl_table_add(const uint32_t *index, pl_values values, uint64_t count, const double *scale, const double *a,
                  uint64_t width, double *table);
/* table[index[e] width + c] += a[c] value[e]^2 */
void pl_table_add_squares(const uint32_t *index, pl_values values, uint64_t count, const double *a, uint64_t width,
                          double *table);

#endif
