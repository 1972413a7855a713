/* arrays.h: helpers for data in the caller's arrays, sparse or dense. */
#ifndef PL_ARRAYS_H
#define PL_ARRAYS_H

#include "data/data.h"

enum {
    PL_SPAN_START,
    PL_SPAN_LABEL,
    PL_SPAN_WEIGHT,
    PL_SPAN_INDEX,
    PL_SPAN_VALUE
}; /* indices of parley_data's spans */

/* Makes data without entries. Labels and weights, which may be NULL, are checked and still belong to the caller. */
parley_status pl_arrays_open(uint64_t rows, uint64_t columns, const double *label, const double *weight,
                             parley_data **out, parley_error *error);
/* Reserves memory for exactly `count` elements, because small data should not take huge pages. */
parley_status pl_arrays_reserve(pl_span *span, uint64_t count, uint64_t size, parley_error *error);
/* The number of threads that is worth starting for this many entries. */
unsigned pl_arrays_threads(uint64_t entries, unsigned threads);

#endif
