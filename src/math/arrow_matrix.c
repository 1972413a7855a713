/* arrow_matrix.c: the groups apart are eliminated first, which adds nothing to the zeros between them, then the core.
 */
#include "math/arrow_matrix.h"

#include <math.h>

#include "math/cholesky.h"

/* Subtracts the outer product of one entry's part in the core, most of which may be zeros, from the core. */
static void subtract_outer(double *core, const double *cross, uint64_t size) {
    for (uint64_t p = 0; p < size; p++) {
        double factor = cross[p], *restrict column = core + p * size;
        if (factor == 0)
            continue;
        for (uint64_t q = p; q < size; q++)
            column[q] -= factor * cross[q];
    }
}

/* Factors entry c of the group from which the entries before it have been factored. */
static bool factor_entry(double *group, uint64_t stride, uint64_t c) {
    double *restrict entry = group + c * stride;
    for (uint64_t b = 0; b < c; b++) {
        const double *before = group + b * stride;
        double factor = before[c];
        for (uint64_t i = c; i < stride && factor != 0; i++)
            entry[i] -= factor * before[i];
    }
    if (!(entry[c] > 0) || isinf(entry[c]))
        return false;
    double root = sqrt(entry[c]), inverse = 1.0 / root;
    entry[c] = root;
    for (uint64_t i = c + 1; i < stride; i++)
        entry[i] *= inverse;
    return true;
}

bool pl_arrow_factor(const pl_arrow *arrow, double *matrix) {
    uint64_t core = arrow->core, stride = pl_arrow_stride(arrow);
    for (uint64_t k = 0; k < arrow->apart; k++) {
        double *group = matrix + pl_arrow_begin(arrow, core + k * arrow->group);
        for (uint64_t c = 0; c < arrow->group; c++) {
            if (!factor_entry(group, stride, c))
                return false;
            subtract_outer(matrix, group + c * stride + arrow->group, core);
        }
    }
    return pl_cholesky(matrix, core);
}

/* The part of entry c's equation that the entries below it in the factor have. */
static double below(const double *entry, uint64_t c, const pl_arrow *arrow, const double *own, const double *x) {
    double sum = 0;
    for (uint64_t d = c + 1; d < arrow->group; d++)
        sum += entry[d] * own[d];
    for (uint64_t p = 0; p < arrow->core; p++)
        sum += entry[arrow->group + p] * x[p];
    return sum;
}

void pl_arrow_solve(const pl_arrow *arrow, const double *factor, double *x) {
    uint64_t core = arrow->core, group = arrow->group, stride = pl_arrow_stride(arrow);
    for (uint64_t k = 0; k < arrow->apart; k++) {
        double *own = x + core + k * group;
        const double *entry = factor + pl_arrow_begin(arrow, core + k * group);
        for (uint64_t c = 0; c < group; c++, entry += stride) {
            double value = own[c] /= entry[c];
            for (uint64_t d = c + 1; d < group; d++)
                own[d] -= value * entry[d];
            for (uint64_t p = 0; p < core && value != 0; p++)
                x[p] -= value * entry[group + p];
        }
    }
    pl_cholesky_solve(factor, core, x);
    for (uint64_t k = 0; k < arrow->apart; k++) {
        double *own = x + core + k * group;
        const double *first = factor + pl_arrow_begin(arrow, core + k * group);
        for (uint64_t c = group; c-- > 0;)
            own[c] = (own[c] - below(first + c * stride, c, arrow, own, x)) / first[c * stride + c];
    }
}
