/* sort_numbers.c: see sort_numbers.h. */
#include "base/sort_numbers.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void pl_sort_numbers(double *values, uint64_t count) { qsort(values, count, sizeof *values, by_value); }
