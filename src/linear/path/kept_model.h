/* kept_model.h: the values of a model among many that are kept, as a list of those that are not 0 where that is
 * shorter.
 */
#ifndef PL_KEPT_MODEL_H
#define PL_KEPT_MODEL_H

#include "base/status.h"

typedef struct pl_kept_model {
    uint64_t count;  /* values that are not 0 */
    uint64_t *index; /* their places in order; NULL: all values are there */
    double *value;
} pl_kept_model;

parley_status pl_kept_open(pl_kept_model *kept, const double *values, uint64_t size, parley_error *error);
/* Copies the values from `begin` on. */
void pl_kept_copy(const pl_kept_model *kept, uint64_t begin, uint64_t count, double *out);
void pl_kept_close(pl_kept_model *kept);

#endif
