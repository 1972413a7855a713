/* arrays.h: what data from the caller's arrays have in common, sparse or dense. */
#ifndef PL_ARRAYS_H
#define PL_ARRAYS_H

#include "data/data.h"

enum { PL_SPAN_START, PL_SPAN_LABEL, PL_SPAN_WEIGHT, PL_SPAN_INDEX, PL_SPAN_VALUE }; /* of parley_data's spans */

/* Data without entries yet; labels and weights, which may be NULL, are checked and stay the caller's. */
parley_status pl_arrays_open(uint64_t rows, uint64_t columns, const double *label, const double *weight,
                             parley_data **out, parley_error *error);
/* Room for `count` elements, and none to spare: small data must not take huge pages. */
parley_status pl_arrays_reserve(pl_span *span, uint64_t count, uint64_t size, parley_error *error);
/* How many threads are worth starting for this many entries. */
unsigned pl_arrays_threads(uint64_t entries, unsigned threads);

#endif
