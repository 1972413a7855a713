/* classes_curvature.c: second derivatives of rows of several classes, for products with the curvature:
 *
 *     softmax                 (diag(p) - p p') u = p_c (u_c - p.u)
 *     one against the rest    loss''(z_c) u_c */
#include "linear/rows/classes_curvature.h"

#include <math.h>

#include "linear/rows/classes.h"

#define NO_CHANGE 1e-6 /* margins that move less have the second derivative of their own */

void pl_classes_row_curvature(const pl_glm *glm, uint64_t i, const double *z, const double *b, const double *slope,
                              double *bend) {
    uint64_t y = glm->class_of[i];
    double unused;
    for (uint64_t c = 0; c < glm->classes; c++)
        if (glm->loss->together)
            bend[c] = fmax(0.0, slope[c] + (c == y ? 1.0 : 0.0));
        else
            glm->loss->expand(glm->loss, z[c] + b[c], pl_classes_side(glm, i, c), &unused, &bend[c]);
}

void pl_classes_mean_curvature(const pl_glm *glm, uint64_t i, const double *z, const double *dz, const double *b,
                               const double *slope, double *bend) {
    uint64_t y = glm->class_of[i];
    for (uint64_t c = 0; c < glm->classes; c++) {
        double first, curvature;
        if (glm->loss->together) {
            bend[c] = fmax(0.0, slope[c] + (c == y ? 1.0 : 0.0));
            continue;
        }
        glm->loss->expand(glm->loss, z[c] + b[c], pl_classes_side(glm, i, c), &first, &curvature);
        bend[c] = fabs(dz[c]) > NO_CHANGE ? fmax(0.0, (slope[c] - first) / dz[c]) : curvature;
    }
}

void pl_classes_diagonal(const pl_glm *glm, const double *bend, double q, double *diagonal) {
    for (uint64_t c = 0; c < glm->classes; c++)
        diagonal[c] = glm->loss->together ? q * bend[c] * (1.0 - bend[c]) : q * bend[c];
}

void pl_classes_multiply(const pl_glm *glm, const double *bend, double q, double *u) {
    double mean = 0;
    for (uint64_t c = 0; c < glm->classes && glm->loss->together; c++)
        mean += bend[c] * u[c];
    for (uint64_t c = 0; c < glm->classes; c++)
        u[c] = q * bend[c] * (u[c] - mean);
}
