/* dense_table.h: the kernels of table.h for several rows at a time that have an entry in every column, as in dense
 * data. They need no column numbers, and give the same bits as those of table.h row by row.
 *
 * Row r has the values from value + r columns on. The table has `columns` rows of `width` entries, one per class. */
#ifndef PL_FULL_TABLE_H
#define PL_FULL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "math/values.h"

#define PL_FULL_WIDTH 4 /* the fewest classes */

/* out[r width + c] = sum_j value[r columns + j] table[j width + c] */
void pl_dense_table_dot(pl_values values, uint64_t rows, uint64_t columns, const double *table, uint64_t width,
                        double *out);
/* table[j width + c] += sum_r a[r width + c] value[r columns + j] */
void pl_dense_table_add(pl_values values, uint64_t rows, uint64_t columns, const double *a, uint64_t width,
                        double *table);
/* Whether they are faster than those of table.h here. */
bool pl_dense_table_pays(uint64_t width);

#endif
