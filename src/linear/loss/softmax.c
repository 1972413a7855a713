/* softmax.c: loss(z, y) = log sum_c exp(z_c) - z_y, with one margin per class: multinomial logistic regression. With t
 * = e_y - p, loss*(-t) = sum_c p_c ln p_c for p in the simplex, and infinite otherwise. */
#include <math.h>
#include <stddef.h>

#include "linear/loss/loss.h"
#include "math/softmax_kernel.h"

#define ROUNDING 1e-9 /* by which p may be outside the simplex */

static double expand(const double *z, uint64_t classes, uint64_t y, double *slope) {
    double total = pl_softmax(z, classes, slope);
    slope[y] -= 1.0;
    return total - z[y];
}

static void expand_rows(const double *z, uint64_t rows, uint64_t classes, const uint16_t *y, double *slope,
                        double *value) {
    pl_softmax_rows(z, rows, classes, slope, value);
    for (uint64_t r = 0; r < rows; r++) {
        slope[r * classes + y[r]] -= 1.0;
        value[r] -= z[r * classes + y[r]];
    }
}

static double conjugate(const double *t, uint64_t classes, uint64_t y) {
    double sum = 0, total = 0;
    for (uint64_t c = 0; c < classes; c++) {
        double p = (c == y ? 1.0 : 0.0) - t[c];
        total += p;
        if (p < -ROUNDING)
            return INFINITY;
        sum += p > 0.0 ? p * log(p) : 0.0;
    }
    return fabs(total - 1.0) <= ROUNDING ? sum : INFINITY;
}

static double dual_step(const double *z, uint64_t classes, uint64_t y, double h, double *t) {
    for (uint64_t c = 0; c < classes; c++)
        t[c] = -t[c];
    t[y] += 1.0;
    double residual = pl_softmax_step(z, classes, h, t);
    for (uint64_t c = 0; c < classes; c++)
        t[c] = -t[c];
    t[y] += 1.0;
    return residual;
}

static const pl_class_loss together = {expand, expand_rows, conjugate, dual_step};

const pl_loss pl_loss_softmax = {
    .name = "softmax",
    .help = "-log p_y, p = softmax(z), any number of classes together: multinomial logistic regression",
    .labels = PL_LABELS_CLASSES,
    .smooth = true,
    .curvature_bound = 0.5,
    .together = &together,
};
