/* outer_products.c: adds curvatures for Newton's method, row by row. */
#include "math/outer_products.h"

#include <string.h>

#include "math/wide.h"

#define NONE UINT64_MAX
#define DENSE_SHARE 4     /* a row with over size/DENSE_SHARE entries is treated as dense */
#define LEAST_COLLECTED 8 /* groups from which collecting dense rows of them pays */

parley_status pl_outer_open(pl_outer_products *outer, const pl_arrow *shape, const uint32_t *place, bool intercept,
                            uint64_t sums, parley_error *error) {
    uint64_t size = shape->core / shape->group, entries = place ? size : 0;
    *outer = (pl_outer_products){.shape = *shape, .size = size, .place = place, .intercept = intercept, .sums = sums};
    uint64_t pairs = shape->group * (shape->group - 1) / 2, weights = sums > pairs ? sums : pairs;
    parley_status status = pl_take(&outer->weight, weights * PL_PANEL_ROWS, sizeof *outer->weight, "products", error);
    if (status == PARLEY_OK && shape->group > 1)
        status = pl_take(&outer->pairs, pairs * size * size, sizeof *outer->pairs, "products", error);
    if (status == PARLEY_OK)
        status = pl_take(&outer->index, entries, sizeof *outer->index, "products", error);
    if (status == PARLEY_OK)
        status = pl_take(&outer->value, entries, sizeof *outer->value, "products", error);
    return status == PARLEY_OK ? pl_dense_gram_open(&outer->panels, outer->size, error) : status;
}

void pl_outer_close(pl_outer_products *outer) {
    pl_free(outer->weight);
    pl_free(outer->pairs);
    pl_free(outer->index);
    pl_free(outer->value);
    pl_dense_gram_close(&outer->panels);
}

/* A row's entries in the core, and the one that is apart. */
typedef struct split {
    const uint32_t *index;
    pl_values values;
    uint64_t count;
    uint64_t apart; /* its place; NONE if there is none */
    double x;
} split;

static split split_row(const pl_outer_products *outer, const uint32_t *index, pl_values values, uint64_t count) {
    split row = {index, values, count, NONE, 0};
    if (!outer->place)
        return row;
    row.index = outer->index;
    row.values = pl_are_ones(values) ? values : (pl_values){.wide = outer->value};
    row.count = 0;
    for (uint64_t e = 0; e < count; e++) {
        uint32_t place = outer->place[index[e]];
        if (place >= outer->size) {
            row.apart = place;
            row.x = pl_value_at(values, e);
            continue;
        }
        outer->index[row.count] = place;
        outer->value[row.count] = pl_value_at(values, e);
        row.count++;
    }
    return row;
}

/* Adds four columns at a time, so that each index is read once for all four. */
PL_INLINE void add_entries(uint64_t size, const uint32_t *index, pl_values values, uint64_t count, double weight,
                           double *sum) {
    uint64_t e = 0;
    for (; e + 4 <= count; e += 4) {
        double *c0 = sum + index[e] * size, a0 = weight * pl_value_at(values, e);
        double *c1 = sum + index[e + 1] * size, a1 = weight * pl_value_at(values, e + 1);
        double *c2 = sum + index[e + 2] * size, a2 = weight * pl_value_at(values, e + 2);
        double *c3 = sum + index[e + 3] * size, a3 = weight * pl_value_at(values, e + 3);
        c0[index[e]] += a0 * pl_value_at(values, e);
        c0[index[e + 1]] += a0 * pl_value_at(values, e + 1);
        c1[index[e + 1]] += a1 * pl_value_at(values, e + 1);
        c0[index[e + 2]] += a0 * pl_value_at(values, e + 2);
        c1[index[e + 2]] += a1 * pl_value_at(values, e + 2);
        c2[index[e + 2]] += a2 * pl_value_at(values, e + 2);
        for (uint64_t f = e + 3; f < count; f++) {
            uint64_t i = index[f];
            c0[i] += a0 * pl_value_at(values, f);
            c1[i] += a1 * pl_value_at(values, f);
            c2[i] += a2 * pl_value_at(values, f);
            c3[i] += a3 * pl_value_at(values, f);
        }
    }
    for (; e < count; e++) {
        double *column = sum + index[e] * size, a = weight * pl_value_at(values, e);
        for (uint64_t f = e; f < count; f++)
            column[index[f]] += a * pl_value_at(values, f);
    }
}

static void add_sparse(const pl_outer_products *outer, const uint32_t *index, pl_values values, uint64_t count,
                       double weight, double *sum) {
    uint64_t size = outer->size;
    if (values.narrow)
        add_entries(size, index, (pl_values){.narrow = values.narrow}, count, weight, sum);
    else if (values.wide)
        add_entries(size, index, (pl_values){.wide = values.wide}, count, weight, sum);
    else
        add_entries(size, index, (pl_values){NULL, NULL}, count, weight, sum);
    if (!outer->intercept)
        return;
    for (uint64_t e = 0; e < count; e++)
        sum[(index[e] + (uint64_t)1) * size - 1] += weight * pl_value_at(values, e);
    sum[size * size - 1] += weight;
}

/* Adds a square of curvatures to one of S, whose columns are `stride` apart. */
static void add_square(double weight, const double *curvature, uint64_t group, uint64_t stride, double *sum) {
    for (uint64_t c = 0; c < group; c++) {
        double *restrict column = sum + c * stride;
        for (uint64_t d = 0; d < group; d++)
            column[d] += weight * curvature[c * group + d];
    }
}

/* Adds the products of the entry that is apart with itself and with the core. */
static void add_apart(const pl_outer_products *outer, const split *row, double weight, const double *curvature,
                      double *sum) {
    uint64_t group = outer->shape.group, stride = pl_arrow_stride(&outer->shape);
    if (row->apart == NONE)
        return;
    double *own = sum + pl_arrow_begin(&outer->shape, row->apart * group), a = weight * row->x;
    add_square(a * row->x, curvature, group, stride, own);
    for (uint64_t e = 0; e < row->count; e++)
        add_square(a * pl_value_at(row->values, e), curvature, group, stride, own + group + row->index[e] * group);
    if (outer->intercept)
        add_square(a, curvature, group, stride, own + group + (outer->size - 1) * group);
}

static void add_sparse_blocks(const pl_outer_products *outer, const split *row, double weight, const double *curvature,
                              double *sum) {
    uint64_t last = outer->size - 1, group = outer->shape.group, size = outer->size * group;
    for (uint64_t e = 0; e < row->count; e++) {
        double a = weight * pl_value_at(row->values, e), *column = sum + row->index[e] * group * size;
        for (uint64_t f = e; f < row->count; f++)
            add_square(a * pl_value_at(row->values, f), curvature, group, size, column + row->index[f] * group);
        if (outer->intercept)
            add_square(a, curvature, group, size, column + last * group);
    }
    if (outer->intercept)
        add_square(weight, curvature, group, size, sum + last * group * (size + 1));
}

/* Adds the sum of a pair, times `sign`, to entries c and d of all pairs of groups of S. */
static void spread_pair(const pl_outer_products *outer, const double *pair, double sign, uint64_t c, uint64_t d,
                        double *sum) {
    uint64_t group = outer->shape.group, size = outer->size * group;
    for (uint64_t e = 0; e < outer->size; e++) {
        const double *restrict from = pair + e * outer->size;
        double *restrict to = sum + (e * group + c) * size + d;
        for (uint64_t f = e; f < outer->size; f++)
            to[f * group] += sign * from[f];
    }
}

/* The curvature of a class with itself is minus the sum of those with the other classes. */
static void spread_pairs(const pl_outer_products *outer, double *sum) {
    uint64_t group = outer->shape.group;
    const double *pair = outer->pairs;
    for (uint64_t c = 0; c < group; c++)
        for (uint64_t d = 0; d < c; d++, pair += outer->size * outer->size) {
            spread_pair(outer, pair, 1.0, c, d, sum);
            spread_pair(outer, pair, 1.0, d, c, sum);
            spread_pair(outer, pair, -1.0, c, c, sum);
            spread_pair(outer, pair, -1.0, d, d, sum);
        }
}

static uint64_t pairs_of(const pl_outer_products *outer) { return outer->shape.group * (outer->shape.group - 1) / 2; }

/* Adds the waiting rows, to S or to the sums of pairs. */
static void add_waiting(pl_outer_products *outer, double *sum) {
    bool grouped = outer->shape.group > 1;
    uint64_t count = grouped ? pairs_of(outer) : outer->sums;
    uint64_t apart = grouped ? outer->size * outer->size : pl_arrow_values(&outer->shape);
    for (uint64_t c = 0; c < count; c++)
        pl_dense_gram_add(&outer->panels, outer->waiting, outer->weight + c * PL_PANEL_ROWS,
                          (grouped ? outer->pairs : sum) + c * apart);
    outer->paired = grouped;
    outer->waiting = 0;
}

void pl_outer_flush(pl_outer_products *outer, double *sum) {
    if (outer->waiting > 0)
        add_waiting(outer, sum);
    if (outer->paired) {
        spread_pairs(outer, sum);
        memset(outer->pairs, 0, pairs_of(outer) * outer->size * outer->size * sizeof *outer->pairs);
    }
    outer->paired = false;
}

/* Puts a row with gaps into a panel. */
static void put_row(const pl_dense_gram *panels, unsigned r, const split *row) {
    for (uint64_t j = 0; j < panels->size; j += PL_PANEL_COLUMNS)
        memset(pl_dense_gram_cell(panels, r, j), 0, PL_PANEL_COLUMNS * sizeof *panels->cells);
    for (uint64_t e = 0; e < row->count; e++)
        *pl_dense_gram_cell(panels, r, row->index[e]) = pl_value_at(row->values, e);
}

/* Collects a dense row, whose weights are in their place. */
static void collect(pl_outer_products *outer, const split *row, double *sum) {
    const pl_dense_gram *panels = &outer->panels;
    unsigned last = outer->waiting++;
    if (!pl_are_ones(row->values) && !outer->place && row->count + outer->intercept == outer->size)
        pl_dense_gram_put(panels, last, row->values, row->count);
    else
        put_row(panels, last, row);
    if (outer->intercept)
        *pl_dense_gram_cell(panels, last, outer->size - 1) = 1.0;
    if (outer->waiting == PL_PANEL_ROWS)
        add_waiting(outer, sum);
}

static bool is_sparse(const pl_outer_products *outer, const split *row) {
    return row->count * DENSE_SHARE < outer->size;
}

void pl_outer_blocks(pl_outer_products *outer, const uint32_t *index, pl_values values, uint64_t count, double weight,
                     const double *curvature, double *sum) {
    uint64_t group = outer->shape.group;
    split row = split_row(outer, index, values, count);
    add_apart(outer, &row, weight, curvature, sum);
    if (is_sparse(outer, &row) || outer->size < LEAST_COLLECTED || group == 1) {
        add_sparse_blocks(outer, &row, weight, curvature, sum);
        return;
    }
    double *to = outer->weight + outer->waiting;
    for (uint64_t c = 0; c < group; c++)
        for (uint64_t d = 0; d < c; d++, to += PL_PANEL_ROWS)
            *to = weight * curvature[c * group + d];
    collect(outer, &row, sum);
}

void pl_outer_add(pl_outer_products *outer, const uint32_t *index, pl_values values, uint64_t count,
                  const double *weight, double *sum) {
    static const double one = 1.0;
    split row = split_row(outer, index, values, count);
    bool sparse = is_sparse(outer, &row);
    for (uint64_t c = 0; c < outer->sums; c++)
        if (weight[c] > 0) {
            double *own = sum + c * pl_arrow_values(&outer->shape);
            if (sparse)
                add_sparse(outer, row.index, row.values, row.count, weight[c], own);
            add_apart(outer, &row, weight[c], &one, own);
        }
    for (uint64_t c = 0; c < outer->sums && !sparse; c++)
        outer->weight[c * PL_PANEL_ROWS + outer->waiting] = weight[c];
    if (!sparse)
        collect(outer, &row, sum);
}
