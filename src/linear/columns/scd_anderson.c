/* scd_anderson.c: Anderson's extrapolation of coordinate descent (Bertrand and Massias 2021). Near their limit, epochs
 * in a fixed order are an affine map. Among all combinations sum_k c_k w^k of the last iterates with sum c = 1, the one
 * with the shortest last step sum_k c_k (w^k - w^(k-1)) is much nearer to the limit. */
#include <math.h>

#include "linear/columns/scd.h"

#define STEPS (PL_SCD_PAST - 1)
#define RIDGE 1e-13 /* relative to the trace, since products are nearly singular at the limit */

/* Solves a c = 1 by elimination, where a is symmetric positive definite. */
static bool solve(double a[STEPS][STEPS], double *c) {
    double trace = 0;
    for (unsigned i = 0; i < STEPS; i++)
        trace += a[i][i];
    for (unsigned i = 0; i < STEPS; i++) {
        c[i] = 1.0;
        a[i][i] += RIDGE * trace;
    }
    for (unsigned i = 0; i < STEPS; i++) {
        if (!(a[i][i] > 0))
            return false;
        for (unsigned k = i + 1; k < STEPS; k++) {
            double factor = a[k][i] / a[i][i];
            for (unsigned l = i; l < STEPS; l++)
                a[k][l] -= factor * a[i][l];
            c[k] -= factor * c[i];
        }
    }
    for (unsigned i = STEPS; i-- > 0;) {
        for (unsigned l = i + 1; l < STEPS; l++)
            c[i] -= a[i][l] * c[l];
        c[i] /= a[i][i];
    }
    return true;
}

bool pl_scd_extrapolate(const double *past, uint64_t members, double *ahead) {
    double products[STEPS][STEPS] = {{0}}, c[STEPS], sum = 0;
    for (uint64_t m = 0; m < members; m++) {
        double difference[STEPS];
        for (unsigned k = 0; k < STEPS; k++)
            difference[k] = past[(k + 1) * members + m] - past[k * members + m];
        for (unsigned k = 0; k < STEPS; k++)
            for (unsigned l = 0; l <= k; l++)
                products[k][l] += difference[k] * difference[l];
    }
    for (unsigned k = 0; k < STEPS; k++)
        for (unsigned l = 0; l < k; l++)
            products[l][k] = products[k][l];
    if (!solve(products, c))
        return false;
    for (unsigned k = 0; k < STEPS; k++)
        sum += c[k];
    if (!(fabs(sum) > 0) || !isfinite(1.0 / sum))
        return false;
    for (uint64_t m = 0; m < members; m++) {
        ahead[m] = 0;
        for (unsigned k = 0; k < STEPS; k++)
            ahead[m] += c[k] / sum * past[(k + 1) * members + m];
    }
    return true;
}
