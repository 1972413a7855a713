/* long_rows.h: a preconditioner for truncated Newton with softmax, which knows the curvature of the longest
 * rows. */
#ifndef PL_LONG_ROWS_H
#define PL_LONG_ROWS_H

#include "linear/glm.h"
#include "method/local.h"

typedef struct pl_long_rows pl_long_rows;

/* Whether products of this problem are preconditioned. One worker must have all rows. */
bool pl_long_rows_fit(const pl_problem *problem, const pl_team *team);
uint64_t pl_long_rows_bytes(const pl_glm *glm);
parley_status pl_long_rows_open(const pl_glm *glm, pl_long_rows **out, parley_error *error);
void pl_long_rows_close(pl_long_rows *this);

/* Factors the preconditioner. `bend` is that of all rows (classes_bend.h), and `diagonal` that of the curvature of the
 * loss. */
void pl_long_rows_factor(pl_long_rows *this, const double *bend, const double *diagonal);
/* out = inverse of the preconditioner x (y + l2 v). The threads of the team share it. */
void pl_long_rows_apply(pl_long_rows *this, const pl_team *team, const double *y, const double *v, double *out);

#endif
