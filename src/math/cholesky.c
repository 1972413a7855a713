/* cholesky.c: factors eight columns of L at a time, then subtracts their outer product from all columns to the right,
 * so that the matrix passes through the caches once per eight columns. Columns from which nothing is subtracted are
 * skipped: with indicators of categories first, which meet few other columns, these are nearly all. */
#include "math/cholesky.h"

#include <math.h>

#include "math/wide.h"

#define PANEL 8

/* Factors columns [begin, end), from which all columns before `begin` have been subtracted. */
PL_INLINE bool factor_panel(double *a, uint64_t size, uint64_t begin, uint64_t end) {
    for (uint64_t j = begin; j < end; j++) {
        double *restrict column = a + j * size;
        for (uint64_t k = begin; k < j; k++) {
            const double *before = a + k * size;
            double factor = before[j];
            if (factor == 0)
                continue;
            for (uint64_t i = j; i < size; i++)
                column[i] -= factor * before[i];
        }
        if (!(column[j] > 0) || isinf(column[j]))
            return false;
        double root = sqrt(column[j]), inverse = 1.0 / root;
        column[j] = root;
        for (uint64_t i = j + 1; i < size; i++)
            column[i] *= inverse;
    }
    return true;
}

/* Subtracts the outer product of the PANEL columns before `begin` from the columns from there on. */
PL_INLINE void subtract_panel(double *a, uint64_t size, uint64_t begin) {
    const double *x0 = a + (begin - PANEL) * size, *x1 = x0 + size, *x2 = x1 + size, *x3 = x2 + size;
    const double *x4 = x3 + size, *x5 = x4 + size, *x6 = x5 + size, *x7 = x6 + size;
    for (uint64_t j = begin; j < size; j++) {
        double *restrict column = a + j * size;
        double f0 = x0[j], f1 = x1[j], f2 = x2[j], f3 = x3[j], f4 = x4[j], f5 = x5[j], f6 = x6[j], f7 = x7[j];
        if (f0 == 0 && f1 == 0 && f2 == 0 && f3 == 0 && f4 == 0 && f5 == 0 && f6 == 0 && f7 == 0)
            continue;
        for (uint64_t i = j; i < size; i++)
            column[i] -= ((f0 * x0[i] + f1 * x1[i]) + (f2 * x2[i] + f3 * x3[i])) +
                         ((f4 * x4[i] + f5 * x5[i]) + (f6 * x6[i] + f7 * x7[i]));
    }
}

PL_INLINE bool factor(double *a, uint64_t size) {
    for (uint64_t begin = 0; begin < size; begin += PANEL) {
        if (!factor_panel(a, size, begin, begin + PANEL < size ? begin + PANEL : size))
            return false;
        if (begin + PANEL < size)
            subtract_panel(a, size, begin + PANEL);
    }
    return true;
}

PL_AVX2 static bool factor_avx2(double *a, uint64_t size) { return factor(a, size); }
static bool factor_any(double *a, uint64_t size) { return factor(a, size); }

bool pl_cholesky(double *a, uint64_t size) { return PL_HAS_AVX2 ? factor_avx2(a, size) : factor_any(a, size); }

void pl_cholesky_solve(const double *l, uint64_t size, double *restrict b) {
    for (uint64_t j = 0; j < size; j++) {
        const double *column = l + j * size;
        double value = b[j] /= column[j];
        for (uint64_t i = j + 1; i < size; i++)
            b[i] -= value * column[i];
    }
    for (uint64_t j = size; j-- > 0;) {
        const double *column = l + j * size;
        double s0 = b[j], s1 = 0;
        uint64_t i = j + 1;
        for (; i + 2 <= size; i += 2) {
            s0 -= column[i] * b[i];
            s1 -= column[i + 1] * b[i + 1];
        }
        if (i < size)
            s0 -= column[i] * b[i];
        b[j] = (s0 + s1) / column[j];
    }
}
