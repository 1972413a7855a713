/* adaptive.h: steps with a separate learning rate for every entry of the model.
 *
 *   AdaGrad:     rate_j = eta / sqrt(sum of (slope x_j)^2 so far)
 *   normalised:  rate_j = eta sqrt(rows / sum of (x_j / scale_j)^2) / (scale_j sqrt(sum ...)),  scale_j the largest
 *                |x_j| so far, so that the unit of a column does not matter (Ross, Mineiro & Langford 2013; Vowpal
 *                Wabbit)
 *
 * Let h be the change of the margin by a step of slope -1. The step of a row ends where many small steps would, dz/dh =
 * -loss'(z), so that no rate overshoots and a row of weight 2 counts as two rows (Karampatziakis & Langford 2011). If
 * that has no closed form, the slope is that at the end of the step:  t = -loss'(z + h t). */
#ifndef PL_ADAPTIVE_H
#define PL_ADAPTIVE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "linear/loss/loss.h"
#include "math/values.h"

/* The state of an entry, in a quarter of a cache line. */
typedef struct pl_cell {
    float w, sum, scale;
    union {
        float rare;    /* steps per step that touches it, which its penalty counts for; 0 if there is no penalty */
        uint32_t last; /* the last step that touched it */
    };
} pl_cell;

typedef struct pl_cell_row {
    const uint32_t *index;
    pl_values values;
    uint64_t count;
    float *rate; /* room for `count` */
} pl_cell_row;

static inline float pl_cell_value(const pl_cell_row *row, uint64_t e) { return (float)pl_value_at(row->values, e); }

/* The t that replaces minus the slope in a step of h from z. */
static inline double pl_adaptive_slope(const pl_loss *loss, double z, double y, double slope, double h) {
    if (h < 1e-7)
        return -slope;
    return loss->flow ? (loss->flow(z, y, h) - z) / h : loss->dual_step(loss, z, y, 0.0, h);
}

static inline double pl_cells_dot(const pl_cell *cells, const pl_cell_row *row) {
    double s0 = 0, s1 = 0;
    uint64_t e = 0;
    for (; e + 2 <= row->count; e += 2) {
        s0 += (double)(pl_cell_value(row, e) * cells[row->index[e]].w);
        s1 += (double)(pl_cell_value(row, e + 1) * cells[row->index[e + 1]].w);
    }
    if (e < row->count)
        s0 += (double)(pl_cell_value(row, e) * cells[row->index[e]].w);
    return s0 + s1;
}

/* Takes a row with this squared slope into account. It computes the rates of its entries, adds its squared norm in
 * units of the scales to `norm`, and returns sum rate x^2. */
static inline double pl_cells_rates(pl_cell *cells, const pl_cell_row *row, float slope2, bool normalised,
                                    double *norm) {
    double reach = 0, squares = 0;
    for (uint64_t e = 0; e < row->count; e++) {
        pl_cell *cell = &cells[row->index[e]];
        float x = pl_cell_value(row, e), size = fabsf(x), scale = 1.0F;
        if (normalised) {
            if (size > cell->scale) {
                if (cell->scale > 0)
                    cell->w *= cell->scale / size; /* the value that it would have if the scale had been known */
                cell->scale = size;
            }
            scale = cell->scale > 0 ? cell->scale : 1.0F;
            squares += (double)(x / scale * (x / scale));
        }
        cell->sum += slope2 * x * x;
        row->rate[e] = cell->sum > 0 ? 1.0F / (scale * sqrtf(cell->sum)) : 0.0F;
        reach += (double)(row->rate[e] * x * x);
    }
    *norm += squares;
    return reach;
}

#endif
