/* lasso_products.c: least squares with an L1 penalty, from the products of columns that parley_moments gives. */
#include <math.h>
#include <string.h>

#include "data/arrays.h"
#include "math/l1_quadratic.h"

static bool is_finite(const double *values, uint64_t count) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += 0 * values[i];
    return sum == 0;
}

/* slope = A x - b. */
static void set_slope(uint64_t size, const double *products, const double *target, const double *x, double *slope) {
    for (uint64_t j = 0; j < size; j++)
        slope[j] = -target[j];
    for (uint64_t j = 0; j < size; j++)
        for (uint64_t i = 0; i < size && x[j] != 0; i++)
            slope[i] += x[j] * products[j * size + i];
}

parley_status parley_lasso_products(uint64_t size, const double *products, const double *target, double l1,
                                    double tolerance, double *x, parley_error *error) {
    pl_l1_shape shape = {.size = size, .core = size, .group = 1};
    pl_l1_room room;
    double *arrays;
    if (!is_finite(products, size * size) || !is_finite(target, size) || !is_finite(x, size) || !(l1 >= 0) ||
        !isfinite(l1))
        return pl_fail(error, PARLEY_BAD_INPUT, "products: a number is not finite, or l1 is negative");
    parley_status status = pl_take(&arrays, 3 * size, sizeof *arrays, "products", error);
    if (status != PARLEY_OK)
        return status;
    double *slope = arrays, *penalty = arrays + size, *diagonal = arrays + 2 * size;
    for (uint64_t j = 0; j < size; j++) {
        penalty[j] = l1;
        diagonal[j] = products[j * size + j];
        x[j] = diagonal[j] > 0 ? x[j] : 0.0; /* a column of zeros */
    }
    set_slope(size, products, target, x, slope);
    status = pl_l1_open(&room, &shape, error);
    if (status == PARLEY_OK) {
        pl_l1_quadratic problem = {.shape = shape,
                                   .core = products,
                                   .u = products, /* there are no eliminated variables */
                                   .diagonal = diagonal,
                                   .l1 = penalty,
                                   .x = x,
                                   .slope = slope,
                                   .moved = arrays};
        pl_l1_solve(&problem, &room, tolerance);
        pl_l1_close(&room);
    }
    pl_free(arrays);
    return status;
}
