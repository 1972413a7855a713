/* sdca_classes.c: sdca on several classes. The C dual variables of a row make one step together. One pass over its
 * non-zeros gives their margins, and another adds their changes to the C columns of u. */
#include <string.h>

#include "linear/dual/sdca.h"
#include "linear/rows/classes.h"

void pl_sdca_step_classes(pl_sdca *self, pl_stepper *stepper, uint64_t i) {
    const pl_glm *glm = stepper->glm;
    const pl_matrix *x = &glm->base.data->x;
    uint64_t classes = glm->classes, begin = x->start[i], count = x->start[i + 1] - begin;
    pl_values values = pl_values_from(x->values, begin);
    double z[PL_MOST_CLASSES], t[PL_MOST_CLASSES], *t0 = self->t + i * classes, q = pl_share(glm, i);
    double h = stepper->sigma * q * (glm->norm2[i] * stepper->inverse + stepper->intercept_metric);
    stepper->stepped += count;
    if (self->t_piece)
        memcpy(self->t_piece + i * classes, t0, classes * sizeof *t0);
    if (q == 0)
        return;
    if (glm->base.l1 > 0)
        pl_table_dot_soft(x->index + begin, values, count, glm->scale, stepper->seen, classes, glm->base.l1, z);
    else
        pl_table_dot(x->index + begin, values, count, glm->scale, stepper->seen, classes, z);
    for (uint64_t c = 0; c < classes; c++) {
        z[c] *= stepper->inverse;
        t[c] = t0[c];
    }
    for (uint64_t c = 0; c < classes && glm->intercept != PL_NO_INTERCEPT; c++)
        z[c] += pl_sdca_intercept(self, stepper->seen, c);
    stepper->residual += q * pl_classes_step(glm, i, z, h, t);
    bool moved = memcmp(t, t0, classes * sizeof *t) != 0;
    if (self->rest)
        pl_sdca_rest(self, stepper, i, pl_classes_depth(glm, i, z, t0), moved);
    if (!moved)
        return;
    for (uint64_t c = 0; c < classes; c++) {
        double change = stepper->sigma * q * (t[c] - t0[c]);
        stepper->spread += q * (t[c] - t0[c]) * (t[c] - t0[c]) * h / stepper->sigma;
        t0[c] = t[c];
        t[c] = change;
    }
    pl_table_add(x->index + begin, values, count, glm->scale, t, classes, stepper->u);
    for (uint64_t c = 0; c < classes && glm->intercept != PL_NO_INTERCEPT; c++)
        stepper->u[x->columns * classes + c] += t[c];
}

parley_status pl_sdca_evaluate_classes(pl_sdca *self, double *w, parley_error *error) {
    const pl_glm *glm = self->glm;
    double none[PL_MOST_CLASSES] = {0}, *b = none;
    parley_status status = PARLEY_OK;
    if (glm->intercept != PL_NO_INTERCEPT)
        b = w + glm->base.data->x.columns * glm->classes;
    if (pl_centres(glm))
        status = pl_classes_centre(glm, self->team, self->z, NULL, PL_SDCA_CENTRED, b, error);
    memcpy(self->b, b, glm->classes * sizeof *b);
    return status == PARLEY_OK ? pl_classes_evaluate(glm, self->team, self->z, b, self->t, &self->at, error) : status;
}
