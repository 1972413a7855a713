/* outer.c: adds curvatures for Newton's method, row by row. */
#include "math/outer.h"

#include <string.h>

#define DENSE_SHARE 4 /* a row with over size/DENSE_SHARE entries is treated as dense */

parley_status pl_outer_open(pl_outer *outer, uint64_t size, bool intercept, uint64_t sums, parley_error *error) {
    *outer = (pl_outer){.size = size, .intercept = intercept, .sums = sums};
    parley_status status = pl_take(&outer->weight, sums * PL_PANEL_ROWS, sizeof *outer->weight, "products", error);
    return status == PARLEY_OK ? pl_panels_open(&outer->panels, size, error) : status;
}

void pl_outer_close(pl_outer *outer) {
    pl_free(outer->weight);
    pl_panels_close(&outer->panels);
}

static double entry(const float *value, uint64_t e) { return value ? (double)value[e] : 1.0; }

/* Adds four columns at a time, so that each index is read once for all four. */
static inline void add_entries(uint64_t size, const uint32_t *index, const float *value, uint64_t count, double weight,
                               double *sum) {
    uint64_t e = 0;
    for (; e + 4 <= count; e += 4) {
        double *c0 = sum + index[e] * size, a0 = weight * entry(value, e);
        double *c1 = sum + index[e + 1] * size, a1 = weight * entry(value, e + 1);
        double *c2 = sum + index[e + 2] * size, a2 = weight * entry(value, e + 2);
        double *c3 = sum + index[e + 3] * size, a3 = weight * entry(value, e + 3);
        c0[index[e]] += a0 * entry(value, e);
        c0[index[e + 1]] += a0 * entry(value, e + 1);
        c1[index[e + 1]] += a1 * entry(value, e + 1);
        c0[index[e + 2]] += a0 * entry(value, e + 2);
        c1[index[e + 2]] += a1 * entry(value, e + 2);
        c2[index[e + 2]] += a2 * entry(value, e + 2);
        for (uint64_t f = e + 3; f < count; f++) {
            uint64_t i = index[f];
            c0[i] += a0 * entry(value, f);
            c1[i] += a1 * entry(value, f);
            c2[i] += a2 * entry(value, f);
            c3[i] += a3 * entry(value, f);
        }
    }
    for (; e < count; e++) {
        double *column = sum + index[e] * size, a = weight * entry(value, e);
        for (uint64_t f = e; f < count; f++)
            column[index[f]] += a * entry(value, f);
    }
}

static void add_sparse(const pl_outer *outer, const uint32_t *index, const float *value, uint64_t count, double weight,
                       double *sum) {
    uint64_t size = outer->size;
    if (value)
        add_entries(size, index, value, count, weight, sum);
    else
        add_entries(size, index, NULL, count, weight, sum);
    if (!outer->intercept)
        return;
    for (uint64_t e = 0; e < count; e++)
        sum[(index[e] + (uint64_t)1) * size - 1] += weight * entry(value, e);
    sum[size * size - 1] += weight;
}

/* Adds the block of columns i >= j, stored by columns of S. */
static void add_block(const pl_outer *outer, uint64_t j, uint64_t i, double weight, const double *curvature,
                      uint64_t classes, double *sum) {
    uint64_t size = outer->size * classes;
    for (uint64_t c = 0; c < classes; c++) {
        double *restrict column = sum + (j * classes + c) * size + i * classes;
        for (uint64_t d = 0; d < classes; d++)
            column[d] += weight * curvature[c * classes + d];
    }
}

void pl_outer_blocks(const pl_outer *outer, const uint32_t *index, const float *value, uint64_t count, double weight,
                     const double *curvature, uint64_t classes, double *sum) {
    uint64_t last = outer->size - 1;
    for (uint64_t e = 0; e < count; e++) {
        double a = weight * entry(value, e);
        for (uint64_t f = e; f < count; f++)
            add_block(outer, index[e], index[f], a * entry(value, f), curvature, classes, sum);
        if (outer->intercept)
            add_block(outer, index[e], last, a, curvature, classes, sum);
    }
    if (outer->intercept)
        add_block(outer, last, last, weight, curvature, classes, sum);
}

void pl_outer_flush(pl_outer *outer, double *sum) {
    for (uint64_t c = 0; c < outer->sums && outer->waiting > 0; c++)
        pl_panels_add(&outer->panels, outer->waiting, outer->weight + c * PL_PANEL_ROWS,
                      sum + c * outer->size * outer->size);
    outer->waiting = 0;
}

void pl_outer_add(pl_outer *outer, const uint32_t *index, const float *value, uint64_t count, const double *weight,
                  double *sum) {
    bool sparse = count * DENSE_SHARE < outer->size;
    for (uint64_t c = 0; c < outer->sums && sparse; c++)
        if (weight[c] > 0)
            add_sparse(outer, index, value, count, weight[c], sum + c * outer->size * outer->size);
    if (sparse)
        return;
    const pl_panels *panels = &outer->panels;
    unsigned row = outer->waiting++;
    for (uint64_t c = 0; c < outer->sums; c++)
        outer->weight[c * PL_PANEL_ROWS + row] = weight[c];
    for (uint64_t j = 0; j < outer->size; j += PL_PANEL_COLUMNS)
        memset(pl_panels_cell(panels, row, j), 0, PL_PANEL_COLUMNS * sizeof *panels->cells);
    for (uint64_t e = 0; e < count; e++)
        *pl_panels_cell(panels, row, index[e]) = entry(value, e);
    if (outer->intercept)
        *pl_panels_cell(panels, row, outer->size - 1) = 1.0;
    if (outer->waiting == PL_PANEL_ROWS)
        pl_outer_flush(outer, sum);
}
