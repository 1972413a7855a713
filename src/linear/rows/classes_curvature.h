/* classes_curvature.h: the second derivatives of a row's loss by its C margins, as C numbers.
 *
 * For softmax they are the probabilities p of diag(p) - p p'. One against the rest has one second derivative for each
 * class. */
#ifndef PL_CLASSES_BEND_H
#define PL_CLASSES_BEND_H

#include "linear/glm.h"

/* At margins z + b. `slope` is what pl_classes_visit computed there. */
void pl_classes_row_curvature(const pl_glm *glm, uint64_t i, const double *z, const double *b, const double *slope,
                              double *bend);
/* At z + dz + b, where the slopes are `slope`: the probabilities there or, for each class, the mean second derivative
 * between z and z + dz. */
void pl_classes_mean_curvature(const pl_glm *glm, uint64_t i, const double *z, const double *dz, const double *b,
                               const double *slope, double *bend);
/* Their diagonal, times q. */
void pl_classes_diagonal(const pl_glm *glm, const double *bend, double q, double *diagonal);
/* u becomes q x the second derivatives x u. */
void pl_classes_multiply(const pl_glm *glm, const double *bend, double q, double *u);

#endif
