/* row.h: putting the entries of a row in order. */
#ifndef PL_ROW_H
#define PL_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* Memory that sorting takes; zero-initialised it is empty. */
typedef struct pl_sorter {
    uint64_t *keys[2];
    float *values;
    uint64_t room;
} pl_sorter;

/* Sorts the entries of a row by column and adds up those of the same column, in the order in which they stood. Returns
 * how many are left, or UINT64_MAX: no memory. */
uint64_t pl_row_sort(pl_sorter *sorter, uint32_t *index, float *value, uint64_t count);
void pl_sorter_free(pl_sorter *sorter);

#endif
