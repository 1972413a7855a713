/* classes.h: problems of several classes, and the passes over rows that differ for them.
 *
 * A row has C margins z_c = x_i.w_c + b_c, and t_i has C entries. Either one loss takes all of them together (softmax),
 * or each class against the rest is a binary problem of its own, and P and D are the sums over classes: then class c's
 * target is +1 in its own rows, else -1. Tables of rows (margins, dual variables) have C entries for each row. */
#ifndef PL_CLASSES_H
#define PL_CLASSES_H

#include "math/softmax_kernel.h"
#include "model/glm.h"

#define PL_CENTRE_CLASSES 64 /* up to so many, softmax intercepts are centred by Newton's method */

/* How the dual point of the latest evaluation was made to satisfy sum q t = 0 for every class, where intercepts are
 * free; and room for sums over rows. */
typedef struct pl_repair {
    double *side;  /* one against the rest: by class, the factors of t < 0 and of t > 0 */
    double *blend; /* softmax: p became (1 - tilt) p + tilt blend */
    double tilt;
    uint64_t most; /* sums at a time */
    double *lane_sums, *worker_sums, *sums;
} pl_repair;

/* Class frequencies, and the room; refuses a class without weight. */
parley_status pl_classes_measure(pl_glm *glm, const pl_team *team, parley_error *error);
void pl_classes_close(pl_glm *glm);
/* P at w = 0 with the best intercepts, which are left in b; NULL: with none. */
double pl_classes_null(const pl_glm *glm, double *b);
/* Gives them mean 0: softmax intercepts are unique up to a common constant. */
void pl_classes_level(uint64_t classes, double *b);
/* A mean of d^2 P / db_c^2 there. */
double pl_classes_curvature(const pl_glm *glm);

/* out = z + a b, of a row. */
static inline void pl_classes_ahead(const pl_glm *glm, const double *z, double a, const double *b, double *out) {
    uint64_t c = 0;
    do
        out[c] = z[c] + a * b[c];
    while (++c < glm->classes);
}

/* Sums over all rows of all ranks, `count` of them. */
parley_status pl_classes_total(const pl_glm *glm, const pl_team *team, pl_row_sum f, const void *context,
                               uint64_t count, double *sums, parley_error *error);

/* Row i at margins z + b (z, b: C entries): returns its loss, and its slopes. Adds to `sums` what an evaluation at t =
 * -slope needs, pl_classes_sums of them; NULL: does not. */
uint64_t pl_classes_sums(const pl_glm *glm);
double pl_classes_visit(const pl_glm *glm, uint64_t i, const double *z, const double *b, double *slope, double *sums);
void pl_classes_fill(const pl_glm *glm, const double *sums, pl_evaluation *out);
/* The curvature of row i's loss by its margins at z + b: C x C entries. */
void pl_classes_curve(const pl_glm *glm, uint64_t i, const double *z, const double *b, double *curvature);
/* The dual step of row i: moves t; returns the row's share of the gap before it, approximately. */
double pl_classes_step(const pl_glm *glm, uint64_t i, const double *z, double h, double *t);

/* t = -slope of row i, and t of a row repaired as the latest evaluation said; tables z and t, and one row's t. */
void pl_classes_slopes(const pl_glm *glm, uint64_t i, const double *z, const double *b, double *t);
void pl_classes_repair(const pl_glm *glm, uint64_t i, double *t);

/* As pl_centre, pl_evaluate_rows and pl_conjugate_rows (glm.h). */
parley_status pl_classes_centre(const pl_glm *glm, const pl_team *team, const double *z, double tolerance, double *b,
                                parley_error *error);
parley_status pl_classes_evaluate(const pl_glm *glm, const pl_team *team, const double *z, const double *b,
                                  const double *t, pl_evaluation *out, parley_error *error);
parley_status pl_classes_conjugate(const pl_glm *glm, const pl_team *team, const double *z, const double *b,
                                   const double *t, double scale, pl_evaluation *at, parley_error *error);

#endif
