/* scan.h: checks long arrays at the speed of memory. */
#ifndef PL_SCAN_H
#define PL_SCAN_H

#include <stdbool.h>
#include <stdint.h>

/* Properties of an array of column numbers. */
typedef struct pl_ids {
    uint32_t largest;
    uint64_t falls; /* number of e with id[e] >= id[e + 1] */
} pl_ids;

pl_ids pl_scan_ids(const uint32_t *id, uint64_t count);
bool pl_scan_finite(const float *value, uint64_t count);
bool pl_scan_finite_double(const double *value, uint64_t count);

#endif
