/* gradient.h: the gradient solver, as other solvers use it to evaluate their models. */
#ifndef PL_GRADIENT_H
#define PL_GRADIENT_H

#include "local/local.h"
#include "model/glm.h"

/* Evaluations take this dual point, feasible and of an entry for each row, in place of minus the slopes, and leave
 * -X'(q t) for the gradient. NULL: the slopes again. */
void pl_gradient_at(pl_local *local, const double *t);

#endif
