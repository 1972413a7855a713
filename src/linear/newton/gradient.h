/* gradient.h: the gradient solver, for other solvers that evaluate their models with it. */
#ifndef PL_GRADIENT_H
#define PL_GRADIENT_H

#include "linear/glm.h"
#include "method/local.h"

/* Makes evaluations use this feasible dual point, one entry per row, instead of minus the slopes, and return -X'(q t)
 * as the gradient. NULL restores the slopes. */
void pl_gradient_at(pl_local *local, const double *t);

#endif
