/* products.h: what the local solver `products` sends to the combine `exact`. An update has the gradient, and behind it
 * the lower triangle of sum s z z' by columns, where s is the weight of a row and z its values, its label and 1. */
#ifndef PL_PRODUCTS_H
#define PL_PRODUCTS_H

#include "linear/glm.h"
#include "method/combine.h"

static inline uint64_t pl_products_side(const pl_glm *glm) { return glm->base.data->x.columns + 2; }

/* The label is taken relative to its mean if the intercept is free, so that few digits cancel. */
static inline double pl_products_level(const pl_glm *glm) { return glm->intercept == PL_FREE ? glm->mean_label : 0.0; }

/* The columns of an update. */
static inline uint64_t pl_products_width(const pl_glm *glm) {
    uint64_t side = pl_products_side(glm), size = glm->base.size > 0 ? glm->base.size : 1;
    return 1 + (side * side + size - 1) / size;
}

#endif
