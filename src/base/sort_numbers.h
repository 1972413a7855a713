/* sort_numbers.h: sorts numbers. */
#ifndef PL_SORT_NUMBERS_H
#define PL_SORT_NUMBERS_H

#include <stdint.h>

/* Increasing; there must be no NaN. */
void pl_sort_numbers(double *values, uint64_t count);
void pl_sort_wholes(uint64_t *values, uint64_t count);

#endif
