/* table.c: handles four classes at a time, up to MOST_WIDES groups of four in one pass over the row, with their sums in
 * registers. If the width is not a multiple of four, the last group of a dot product overlaps the one before it, and
 * some classes are computed twice. */
#include "math/table.h"

#include <stdbool.h>

#include "math/sparse.h"
#include "math/wide.h"

#define MOST_WIDES 6
#define AHEAD 8      /* entries by which the table is prefetched */
#define NEAR 64      /* columns; the hardware prefetches nearer rows of the table */
#define LINE 8       /* doubles in a cache line */
#define MOST_LINES 8 /* prefetched per row of the table */

/* Passed by value, so that the compiler knows that no store changes it. */
typedef struct row {
    const uint32_t *index;
    pl_values values;
    const double *scale;
    uint64_t count, width;
    bool squares; /* of the values are meant */
} row;

PL_INLINE double entry(const row row, uint64_t e) {
    double value = pl_value_at(row.values, e);
    if (row.squares)
        return value * value;
    return row.scale ? value * row.scale[row.index[e]] : value;
}

PL_INLINE void fetch(const row row, uint64_t e, const double *table) {
    if (e + AHEAD >= row.count || row.index[e + AHEAD] - row.index[e] < NEAR)
        return;
    const double *next = table + row.index[e + AHEAD] * row.width;
    for (uint64_t c = 0; c < row.width && c < MOST_LINES * LINE; c += LINE)
        __builtin_prefetch(next + c);
    __builtin_prefetch(next + row.width - 1);
}

/* The first class of group k, counted from class `from`. */
PL_INLINE uint64_t place(const row row, uint64_t from, unsigned k) {
    uint64_t c = from + 4 * k;
    return c + 4 <= row.width ? c : row.width - 4;
}

PL_INLINE void dot_wides(const row row, const double *table, uint64_t from, unsigned wides, double *out) {
    pl_wide even[MOST_WIDES], odd[MOST_WIDES], w;
    uint64_t at[MOST_WIDES], e = 0;
    for (unsigned k = 0; k < wides; k++) {
        even[k] = odd[k] = PL_ALL(0.0);
        at[k] = place(row, from, k);
    }
    for (; e + 2 <= row.count; e += 2) {
        const double *first = table + row.index[e] * row.width, *second = table + row.index[e + 1] * row.width;
        pl_wide x = PL_ALL(entry(row, e)), y = PL_ALL(entry(row, e + 1));
        if (from == 0) {
            fetch(row, e, table);
            fetch(row, e + 1, table);
        }
        for (unsigned k = 0; k < wides; k++) {
            PL_LOAD(w, first + at[k]);
            even[k] += x * w;
            PL_LOAD(w, second + at[k]);
            odd[k] += y * w;
        }
    }
    for (unsigned k = 0; k < wides; k++) {
        if (e < row.count) {
            PL_LOAD(w, table + row.index[e] * row.width + at[k]);
            even[k] += PL_ALL(entry(row, e)) * w;
        }
        even[k] += odd[k];
        PL_STORE(out + at[k], even[k]);
    }
}

/* Adds groups of four from `from` on, then single classes up to `end`. */
PL_INLINE void add_wides(const row row, const double *a, uint64_t from, unsigned wides, uint64_t end, double *table) {
    pl_wide by[MOST_WIDES] = {{0}}, w;
    for (unsigned k = 0; k < wides; k++)
        PL_LOAD(by[k], a + from + 4 * k);
    for (uint64_t e = 0; e < row.count; e++) {
        double *first = table + row.index[e] * row.width, value = entry(row, e);
        pl_wide x = PL_ALL(value);
        if (from == 0)
            fetch(row, e, table);
        for (unsigned k = 0; k < wides; k++) {
            PL_LOAD(w, first + from + 4 * k);
            w += x * by[k];
            PL_STORE(first + from + 4 * k, w);
        }
        for (uint64_t c = from + 4 * wides; c < end; c++)
            first[c] += value * a[c];
    }
}

/* For fewer than four classes. */
PL_INLINE void dot_few(const row row, const double *table, double *out) {
    double even[4] = {0}, odd[4] = {0};
    for (uint64_t e = 0; e < row.count; e++)
        for (uint64_t c = 0; c < row.width; c++)
            (e % 2 ? odd : even)[c] += entry(row, e) * table[row.index[e] * row.width + c];
    for (uint64_t c = 0; c < row.width; c++)
        out[c] = even[c] + odd[c];
}

PL_INLINE void add_few(const row row, const double *a, double *table) {
    for (uint64_t e = 0; e < row.count; e++)
        for (uint64_t c = 0; c < row.width; c++)
            table[row.index[e] * row.width + c] += entry(row, e) * a[c];
}

/* Calls with a constant number of groups, so that the compiler keeps them in registers. */
PL_INLINE void dot_pass(const row row, const double *table, uint64_t from, double *out) {
    switch ((row.width - from + 3) / 4) {
    case 1: dot_wides(row, table, from, 1, out); break;
    case 2: dot_wides(row, table, from, 2, out); break;
    case 3: dot_wides(row, table, from, 3, out); break;
    case 4: dot_wides(row, table, from, 4, out); break;
    case 5: dot_wides(row, table, from, 5, out); break;
    default: dot_wides(row, table, from, MOST_WIDES, out);
    }
}

PL_INLINE void add_pass(const row row, const double *a, uint64_t from, double *table) {
    switch ((row.width - from) / 4) {
    case 0: add_wides(row, a, from, 0, row.width, table); break;
    case 1: add_wides(row, a, from, 1, row.width, table); break;
    case 2: add_wides(row, a, from, 2, row.width, table); break;
    case 3: add_wides(row, a, from, 3, row.width, table); break;
    case 4: add_wides(row, a, from, 4, row.width, table); break;
    case 5: add_wides(row, a, from, 5, row.width, table); break;
    default: add_wides(row, a, from, MOST_WIDES, 0, table);
    }
}

PL_INLINE void dot_row(const row row, const double *table, double *out) {
    if (row.width < 4)
        dot_few(row, table, out);
    for (uint64_t from = 0; from < row.width && row.width >= 4; from += 4 * MOST_WIDES)
        dot_pass(row, table, from, out);
}

PL_INLINE void add_row(const row row, const double *a, double *table) {
    if (row.width < 4)
        add_few(row, a, table);
    for (uint64_t from = 0; from < row.width && row.width >= 4; from += 4 * MOST_WIDES)
        add_pass(row, a, from, table);
}

/* A version for wide values, and one for the others. */
PL_INLINE void dot(row row, const double *table, double *out) {
    if (row.values.wide) {
        row.values.narrow = NULL;
        dot_row(row, table, out);
    } else {
        row.values.wide = NULL;
        dot_row(row, table, out);
    }
}

PL_INLINE void add(row row, const double *a, double *table) {
    if (row.values.wide) {
        row.values.narrow = NULL;
        add_row(row, a, table);
    } else {
        row.values.wide = NULL;
        add_row(row, a, table);
    }
}

PL_AVX2 static void dot_avx2(const row row, const double *table, double *out) { dot(row, table, out); }
static void dot_any(const row row, const double *table, double *out) { dot(row, table, out); }
PL_AVX2 static void add_avx2(const row row, const double *a, double *table) { add(row, a, table); }
static void add_any(const row row, const double *a, double *table) { add(row, a, table); }

void pl_table_dot(const uint32_t *index, pl_values values, uint64_t count, const double *scale, const double *table,
                  uint64_t width, double *out) {
    row row = {index, values, scale, count, width, false};
    if (PL_HAS_AVX2)
        dot_avx2(row, table, out);
    else
        dot_any(row, table, out);
}

void pl_table_dot_soft(const uint32_t *index, pl_values values, uint64_t count, const double *scale,
                       const double *table, uint64_t width, double threshold, double *out) {
    row row = {index, values, scale, count, width, false};
    memset(out, 0, width * sizeof *out);
    for (uint64_t e = 0; e < count; e++) {
        const double *at = table + index[e] * width;
        double x = entry(row, e);
        for (uint64_t c = 0; c < width; c++)
            out[c] += x * pl_soft(at[c], threshold);
    }
}

void pl_table_add(const uint32_t *index, pl_values values, uint64_t count, const double *scale, const double *a,
                  uint64_t width, double *table) {
    row row = {index, values, scale, count, width, false};
    if (PL_HAS_AVX2)
        add_avx2(row, a, table);
    else
        add_any(row, a, table);
}

void pl_table_add_squares(const uint32_t *index, pl_values values, uint64_t count, const double *a, uint64_t width,
                          double *table) {
    row row = {index, values, NULL, count, width, true};
    if (PL_HAS_AVX2)
        add_avx2(row, a, table);
    else
        add_any(row, a, table);
}
