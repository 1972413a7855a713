/* gradient_steps.c: every class of one against the rest is a problem of its own, so each finds its own step along its
 * part of the direction. With phi_c the objective of class c,
 *
 *     phi_c'(gamma) = sum_i q_i loss'(z_ic + gamma dz_ic) dz_ic + l2 d_c.(w_c + gamma d_c)
 *
 * is increasing, and a step is taken where it is at most half of |phi_c'(0)|. All classes search in common passes over
 * the margins. */
#include <math.h>
#include <string.h>

#include "linear/newton/gradient_rows.h"
#include "linear/rows/classes_curvature.h"

#define FLAT 0.5
#define PASSES 12 /* the most in one search */
#define LONGEST 4.0
#define MARGIN 0.1 /* part of a bracket to stay away from its ends */

/* The state of all searches. */
typedef struct steps {
    const pl_gradient *of;
    bool ahead; /* this pass is at the whole step, whose curvature is kept */
    double gamma[PL_MOST_CLASSES], low[PL_MOST_CLASSES], high[PL_MOST_CLASSES];
    double first[PL_MOST_CLASSES], low_slope[PL_MOST_CLASSES], high_slope[PL_MOST_CLASSES];
    double pull[PL_MOST_CLASSES], square[PL_MOST_CLASSES]; /* w.d and d.d of each class */
    bool done[PL_MOST_CLASSES];
} steps;

static void slopes_of_row(const void *context, uint64_t i, double *sums) {
    const steps *steps = context;
    const pl_gradient *self = steps->of;
    const pl_glm *glm = self->glm;
    uint64_t classes = glm->classes;
    const double *z = self->z + i * classes;
    double dz[PL_MOST_CLASSES], at[PL_MOST_CLASSES], slope[PL_MOST_CLASSES], q = pl_share(glm, i);
    pl_classes_ahead(glm, self->dz + i * classes, 1.0, self->db, dz);
    uint64_t k = 0;
    do
        at[k] = z[k] + steps->gamma[k] * dz[k];
    while (++k < classes);
    pl_classes_visit(glm, i, at, self->b, NULL, slope, NULL);
    for (uint64_t c = 0; c < classes; c++)
        sums[c] += q * slope[c] * dz[c];
    if (steps->ahead)
        pl_classes_mean_curvature(glm, i, z, dz, self->b, slope, self->ahead + i * classes);
}

/* Slopes of all classes at their trial steps. */
static parley_status find_slopes(steps *steps, double *slopes, parley_error *error) {
    const pl_gradient *self = steps->of;
    const pl_glm *glm = self->glm;
    parley_status status =
        pl_classes_total(glm, self->team, slopes_of_row, steps, glm->classes, glm->repair->sums, error);
    for (uint64_t c = 0; c < glm->classes && status == PARLEY_OK; c++)
        slopes[c] = glm->repair->sums[c] + glm->base.l2 * (steps->pull[c] + steps->gamma[c] * steps->square[c]);
    return status;
}

/* Narrows the bracket of a class by the slope at its trial step, and chooses the next one. */
static void narrow(steps *steps, uint64_t c, double slope) {
    double *gamma = &steps->gamma[c];
    steps->done[c] = fabs(slope) <= FLAT * fabs(steps->first[c]) || !(steps->first[c] < 0);
    if (steps->done[c])
        return;
    bool shorter = slope < 0;
    *(shorter ? &steps->low[c] : &steps->high[c]) = *gamma;
    *(shorter ? &steps->low_slope[c] : &steps->high_slope[c]) = slope;
    if (isinf(steps->high[c])) {
        *gamma = 2.0 * *gamma;
        steps->done[c] = *gamma > LONGEST;
        *gamma = fmin(*gamma, LONGEST);
        return;
    }
    double width = steps->high[c] - steps->low[c],
           chord = -steps->low_slope[c] / (steps->high_slope[c] - steps->low_slope[c]);
    *gamma = steps->low[c] + fmin(fmax(chord, MARGIN), 1.0 - MARGIN) * width;
}

static void begin(steps *steps, const double *v, const double *direction) {
    const pl_glm *glm = steps->of->glm;
    uint64_t classes = glm->classes, penalised = glm->base.penalised;
    for (uint64_t c = 0; c < classes; c++)
        steps->high[c] = INFINITY;
    for (uint64_t j = 0; j < penalised; j += classes)
        for (uint64_t c = 0; c < classes; c++) {
            steps->pull[c] += v[j + c] * direction[j + c];
            steps->square[c] += direction[j + c] * direction[j + c];
        }
}

/* Applies the steps to the direction and to the margins along it. */
static void stretch(pl_gradient *self, double *direction) {
    const pl_glm *glm = self->glm;
    uint64_t classes = glm->classes;
    for (uint64_t j = 0; j < glm->base.size; j += classes)
        pl_classes_times(glm, self->stretch, direction + j);
    for (uint64_t i = 0; i < glm->base.data->x.rows; i++)
        pl_classes_times(glm, self->stretch, self->dz + i * classes);
    pl_classes_times(glm, self->stretch, self->db);
}

parley_status pl_gradient_steps(pl_gradient *self, const double *v, double *direction, parley_error *error) {
    steps steps = {.of = self};
    double slopes[PL_MOST_CLASSES];
    uint64_t classes = self->glm->classes;
    bool all = false;
    begin(&steps, v, direction);
    parley_status status = find_slopes(&steps, steps.first, error);
    for (uint64_t c = 0; c < classes; c++) {
        steps.gamma[c] = 1.0;
        steps.low_slope[c] = steps.first[c];
    }
    for (unsigned pass = 0; pass < PASSES && status == PARLEY_OK && !all; pass++) {
        steps.ahead = pass == 0;
        status = find_slopes(&steps, slopes, error);
        all = true;
        for (uint64_t c = 0; c < classes && status == PARLEY_OK; c++) {
            if (!steps.done[c])
                narrow(&steps, c, slopes[c]);
            all = all && steps.done[c];
        }
    }
    for (uint64_t c = 0; c < classes; c++)
        self->stretch[c] = steps.done[c] || !(steps.low[c] > 0) ? steps.gamma[c] : steps.low[c];
    if (status == PARLEY_OK)
        stretch(self, direction);
    return status;
}
