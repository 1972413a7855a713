/* json_values.h: values of JSON. */
#ifndef PL_JSON_VALUES_H
#define PL_JSON_VALUES_H

#include <jansson.h>
#include <math.h>

/* A number; null if it is not finite. */
static inline json_t *pl_json_real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

#endif
