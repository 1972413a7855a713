/* sort_numbers.c: see sort_numbers.h. */
#include "base/sort_numbers.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_whole(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void pl_sort_numbers(double *values, uint64_t count) { qsort(values, count, sizeof *values, by_value); }
void pl_sort_wholes(uint64_t *values, uint64_t count) { qsort(values, count, sizeof *values, by_whole); }
