/* classes.h: problems of several classes, and their passes over rows.
 *
 * A row has C margins z_c = x_i.w_c + b_c, and t_i has C entries. Either one loss takes all of them together (softmax),
 * or each class against the rest is a binary problem of its own. In the latter case P and D are the sums over classes,
 * and the target of class c is +1 in its own rows and -1 in the others. Tables of rows (margins, dual variables) have C
 * entries per row. */
#ifndef PL_CLASSES_H
#define PL_CLASSES_H

#include "linear/glm.h"
#include "math/softmax_kernel.h"

#define PL_CENTRE_CLASSES 64 /* the most classes for which Newton's method centres softmax intercepts */

/* How the dual point of the latest evaluation was repaired so that sum q t = 0 for every class, which free intercepts
 * require; and buffers for sums over rows. */
typedef struct pl_repair {
    double *side;  /* one against the rest: by class, the factors for t < 0 and for t > 0 */
    double *blend; /* softmax: p was replaced by (1 - tilt) p + tilt blend */
    double tilt;
    uint64_t most; /* the most sums in one pass */
    double *lane_sums, *worker_sums, *sums;
} pl_repair;

/* Computes class frequencies and allocates buffers. Fails if a class has no weight. */
parley_status pl_classes_measure(pl_glm *glm, const pl_team *team, parley_error *error);
void pl_classes_close(pl_glm *glm);
/* Returns P at w = 0 with the best intercepts, which are written to b, or with none if b is NULL. */
double pl_classes_null(const pl_glm *glm, double *b);
/* Shifts intercepts to mean 0, since softmax intercepts are unique only up to a common constant. */
void pl_classes_level(uint64_t classes, double *b);
/* The mean over classes of d^2 P / db_c^2 at that point. */
double pl_classes_curvature(const pl_glm *glm);

/* The target of class c against the rest in row i: +1 or -1. */
static inline double pl_classes_side(const pl_glm *glm, uint64_t i, uint64_t c) {
    if (glm->member)
        return glm->member[glm->class_of[i] * glm->classes + c] ? 1.0 : -1.0;
    return glm->class_of[i] == c ? 1.0 : -1.0;
}

/* out = z + a b for one row. */
static inline void pl_classes_ahead(const pl_glm *glm, const double *z, double a, const double *b, double *out) {
    uint64_t c = 0;
    do
        out[c] = z[c] + a * b[c];
    while (++c < glm->classes);
}

/* z_c *= a_c */
static inline void pl_classes_times(const pl_glm *glm, const double *a, double *z) {
    for (uint64_t c = 0; c < glm->classes; c++)
        z[c] *= a[c];
}

/* Computes `count` sums over all rows of all ranks. */
parley_status pl_classes_total(const pl_glm *glm, const pl_team *team, pl_row_sum f, const void *context,
                               uint64_t count, double *sums, parley_error *error);

/* Returns the loss of row i at margins z + b (C entries each) and writes its slopes. Unless `sums` is NULL, also adds
 * the pl_classes_sums sums that an evaluation at t = -slope needs. With `soft` the slopes are those of the smoothed
 * loss, of one against the rest only, whose centres are a table; NULL: the loss itself. */
uint64_t pl_classes_sums(const pl_glm *glm);
double pl_classes_visit(const pl_glm *glm, uint64_t i, const double *z, const double *b, const pl_softening *soft,
                        double *slope, double *sums);
/* The same for `rows` rows from row `first` on, at most PL_CLASS_ROWS, with entries for each of them in z, `slope` and
 * `loss`. */
void pl_classes_visit_rows(const pl_glm *glm, uint64_t first, uint64_t rows, const double *z, const double *b,
                           const pl_softening *soft, double *slope, double *loss, double *sums);
void pl_classes_fill(const pl_glm *glm, const double *sums, pl_linear_evaluation *out);
/* The C x C second derivatives of row i's loss by its margins, at z + b. `slope` is what pl_classes_visit computed
 * there. */
void pl_classes_curve(const pl_glm *glm, uint64_t i, const double *z, const double *b, const pl_softening *soft,
                      const double *slope, double *curvature);
/* Makes the dual step of row i, which changes t. Returns the row's approximate share of the gap before the step. */
double pl_classes_step(const pl_glm *glm, uint64_t i, const double *z, double h, double *t);
/* The least depth of the row's classes, for losses of each class that have it. */
double pl_classes_depth(const pl_glm *glm, uint64_t i, const double *z, const double *t);

/* pl_classes_slopes computes t = -slope of row i, and the other repairs t as the latest evaluation did. z and t are
 * tables. */
void pl_classes_slopes(const pl_glm *glm, uint64_t i, const double *z, const double *b, double *t);
void pl_classes_repair(const pl_glm *glm, uint64_t i, double *t);

/* These correspond to pl_centre_soft, pl_evaluate_rows and pl_conjugate_rows in glm.h. */
parley_status pl_classes_centre(const pl_glm *glm, const pl_team *team, const double *z, const pl_softening *soft,
                                double tolerance, double *b, parley_error *error);
parley_status pl_classes_evaluate(const pl_glm *glm, const pl_team *team, const double *z, const double *b,
                                  const double *t, pl_linear_evaluation *out, parley_error *error);
parley_status pl_classes_conjugate(const pl_glm *glm, const pl_team *team, const double *z, const double *b,
                                   const double *t, const pl_softening *soft, double scale, pl_linear_evaluation *at,
                                   parley_error *error);

#endif
