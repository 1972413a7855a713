/* softmax_preconditioner.h: a preconditioner for truncated Newton with softmax, which knows the curvature of the
 * longest rows. */
#ifndef PL_LONG_ROWS_H
#define PL_LONG_ROWS_H

#include "linear/glm.h"
#include "method/local.h"

typedef struct pl_softmax_preconditioner pl_softmax_preconditioner;

/* Whether products of this problem are preconditioned. One worker must have all rows. */
bool pl_softmax_preconditioner_fit(const pl_problem *problem, const pl_team *team);
uint64_t pl_softmax_preconditioner_bytes(const pl_glm *glm);
parley_status pl_softmax_preconditioner_open(const pl_glm *glm, pl_softmax_preconditioner **out, parley_error *error);
void pl_softmax_preconditioner_close(pl_softmax_preconditioner *self);

/* Factors the preconditioner. `bend` is that of all rows (classes_curvature.h), and `diagonal` that of the curvature of
 * the loss. */
void pl_softmax_preconditioner_factor(pl_softmax_preconditioner *self, const double *bend, const double *diagonal);
/* out = inverse of the preconditioner x (y + l2 v). The threads of the team share it. */
void pl_softmax_preconditioner_apply(pl_softmax_preconditioner *self, const pl_team *team, const double *y,
                                     const double *v, double *out);

#endif
