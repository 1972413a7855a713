/* float_table.c: handles eight classes at a time, up to MOST_EIGHTS groups in one pass over the row, with their sums in
 * registers, and then four. */
#include "math/float_table.h"

#include <stdbool.h>
#include <string.h>

#include "math/wide.h"

#define MOST_EIGHTS 3
#define AHEAD 8 /* entries by which the table is prefetched */
#define LINE 16 /* floats in a cache line */
#define MOST_FETCHED 64

typedef float eight __attribute__((vector_size(32), may_alias));
typedef float four __attribute__((vector_size(16), may_alias));

typedef struct row {
    const uint32_t *index;
    pl_values values;
    uint64_t count, stride;
} row;

void pl_float_table_take(const double *from, uint64_t rows, uint64_t classes, float *table) {
    uint64_t stride = pl_float_stride(classes);
    for (uint64_t j = 0; j < rows; j++) {
        for (uint64_t c = 0; c < classes; c++)
            table[j * stride + c] = (float)from[j * classes + c];
        for (uint64_t c = classes; c < stride; c++)
            table[j * stride + c] = 0;
    }
}

void pl_float_table_give(const float *table, uint64_t rows, uint64_t classes, double *to) {
    uint64_t stride = pl_float_stride(classes);
    for (uint64_t j = 0; j < rows; j++)
        for (uint64_t c = 0; c < classes; c++)
            to[j * classes + c] = (double)table[j * stride + c];
}

PL_INLINE void fetch(const row row, uint64_t e, const float *table) {
    if (e + AHEAD >= row.count)
        return;
    const float *next = table + row.index[e + AHEAD] * row.stride;
    for (uint64_t c = 0; c < row.stride && c < MOST_FETCHED; c += LINE)
        __builtin_prefetch(next + c);
    __builtin_prefetch(next + row.stride - 1);
}

PL_INLINE void dot_groups(const row row, const float *table, uint64_t from, unsigned eights, bool half, float *out) {
    eight sum[2][MOST_EIGHTS] = {{{0}}}, w;
    four rest[2] = {{0}}, v;
    for (uint64_t e = 0; e < row.count; e++) {
        const float *at = table + row.index[e] * row.stride + from;
        float x = (float)pl_value_at(row.values, e);
        unsigned odd = e & 1;
        if (from == 0)
            fetch(row, e, table);
        for (unsigned k = 0; k < eights; k++) {
            memcpy(&w, at + 8 * k, sizeof w);
            if (odd)
                sum[1][k] += x * w;
            else
                sum[0][k] += x * w;
        }
        if (half) {
            memcpy(&v, at + 8 * eights, sizeof v);
            if (odd)
                rest[1] += x * v;
            else
                rest[0] += x * v;
        }
    }
    for (unsigned k = 0; k < eights; k++) {
        w = sum[0][k] + sum[1][k];
        memcpy(out + from + 8 * k, &w, sizeof w);
    }
    if (half) {
        v = rest[0] + rest[1];
        memcpy(out + from + 8 * eights, &v, sizeof v);
    }
}

PL_INLINE void add_groups(const row row, const float *a, uint64_t from, unsigned eights, bool half, float *table) {
    eight by[MOST_EIGHTS] = {{0}}, w;
    four rest = {0}, v;
    for (unsigned k = 0; k < eights; k++)
        memcpy(&by[k], a + from + 8 * k, sizeof w);
    if (half)
        memcpy(&rest, a + from + 8 * eights, sizeof v);
    for (uint64_t e = 0; e < row.count; e++) {
        float *at = table + row.index[e] * row.stride + from, x = (float)pl_value_at(row.values, e);
        if (from == 0)
            fetch(row, e, table);
        for (unsigned k = 0; k < eights; k++) {
            memcpy(&w, at + 8 * k, sizeof w);
            w += x * by[k];
            memcpy(at + 8 * k, &w, sizeof w);
        }
        if (half) {
            memcpy(&v, at + 8 * eights, sizeof v);
            v += x * rest;
            memcpy(at + 8 * eights, &v, sizeof v);
        }
    }
}

/* Calls with a constant number of groups, so that the compiler keeps them in registers. */
PL_INLINE void dot(const row row, const float *table, float *out) {
    uint64_t from = 0;
    for (; row.stride - from >= 8 * MOST_EIGHTS; from += 8 * MOST_EIGHTS)
        dot_groups(row, table, from, MOST_EIGHTS, false, out);
    switch ((row.stride - from) / 4) {
    case 1: dot_groups(row, table, from, 0, true, out); break;
    case 2: dot_groups(row, table, from, 1, false, out); break;
    case 3: dot_groups(row, table, from, 1, true, out); break;
    case 4: dot_groups(row, table, from, 2, false, out); break;
    case 5: dot_groups(row, table, from, 2, true, out); break;
    default: break;
    }
}

PL_INLINE void add(const row row, const float *a, float *table) {
    uint64_t from = 0;
    for (; row.stride - from >= 8 * MOST_EIGHTS; from += 8 * MOST_EIGHTS)
        add_groups(row, a, from, MOST_EIGHTS, false, table);
    switch ((row.stride - from) / 4) {
    case 1: add_groups(row, a, from, 0, true, table); break;
    case 2: add_groups(row, a, from, 1, false, table); break;
    case 3: add_groups(row, a, from, 1, true, table); break;
    case 4: add_groups(row, a, from, 2, false, table); break;
    case 5: add_groups(row, a, from, 2, true, table); break;
    default: break;
    }
}

PL_AVX2 static void dot_avx2(const row row, const float *table, float *out) { dot(row, table, out); }
static void dot_any(const row row, const float *table, float *out) { dot(row, table, out); }
PL_AVX2 static void add_avx2(const row row, const float *a, float *table) { add(row, a, table); }
static void add_any(const row row, const float *a, float *table) { add(row, a, table); }

void pl_float_table_dot(const uint32_t *index, pl_values values, uint64_t count, const float *table, uint64_t stride,
                        float *out) {
    row row = {index, values, count, stride};
    if (PL_HAS_AVX2)
        dot_avx2(row, table, out);
    else
        dot_any(row, table, out);
}

void pl_float_table_add(const uint32_t *index, pl_values values, uint64_t count, const float *a, uint64_t stride,
                        float *table) {
    row row = {index, values, count, stride};
    if (PL_HAS_AVX2)
        add_avx2(row, a, table);
    else
        add_any(row, a, table);
}
