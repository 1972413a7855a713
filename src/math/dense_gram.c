/* dense_gram.c: the Gram kernel for Newton's method and for least squares on tables. The sums of a tile of S stay in
 * registers while the rows pass. */
#include "math/dense_gram.h"

#include <stdbool.h>
#include <string.h>

#include "math/wide.h"

#define LINE 64 /* bytes: a row of a panel must not cross a cache line */
#define WIDTH 2 /* panels at a time, so that the sums and operands fit in 16 registers */

parley_status pl_dense_gram_open(pl_dense_gram *panels, uint64_t size, parley_error *error) {
    uint64_t count = (size + PL_PANEL_COLUMNS - 1) / PL_PANEL_COLUMNS;
    *panels = (pl_dense_gram){.size = size, .count = count};
    parley_status status =
        pl_take(&panels->memory, count * PL_PANEL_CELLS + LINE / sizeof(double), sizeof(double), "products", error);
    if (status == PARLEY_OK)
        panels->cells = (double *)(((uintptr_t)panels->memory + LINE - 1) / LINE * LINE);
    return status;
}

void pl_dense_gram_close(pl_dense_gram *panels) { pl_free(panels->memory); }

typedef double pair __attribute__((vector_size(2 * sizeof(double)))); /* available on every processor */
typedef float narrow __attribute__((vector_size(PL_PANEL_COLUMNS * sizeof(float))));

/* Loads whole panels of rows whose columns are adjacent, then single columns. */
#define LOAD(name, type, vector)                                                                                       \
    PL_INLINE void name(double *cells, const type *from, uint64_t rows, uint64_t columns, int64_t row_stride,          \
                        int64_t column_stride, const double *shift) {                                                  \
        uint64_t whole = column_stride == 1 ? columns / PL_PANEL_COLUMNS * PL_PANEL_COLUMNS : 0;                       \
        for (uint64_t r = 0; r < rows; r++) {                                                                          \
            const type *row = from + (int64_t)r * row_stride;                                                          \
            double *to = cells + r * PL_PANEL_COLUMNS;                                                                 \
            for (uint64_t j = 0; j < whole; j += PL_PANEL_COLUMNS, to += PL_PANEL_CELLS) {                             \
                vector value;                                                                                          \
                pl_wide less, x;                                                                                       \
                memcpy(&value, row + j, sizeof value);                                                                 \
                PL_LOAD(less, shift + j);                                                                              \
                x = __builtin_convertvector(value, pl_wide) - less;                                                    \
                PL_STORE(to, x);                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        for (uint64_t j = whole; j < columns; j++) {                                                                   \
            const type *column = from + (int64_t)j * column_stride;                                                    \
            double *to = cells + j / PL_PANEL_COLUMNS * PL_PANEL_CELLS + j % PL_PANEL_COLUMNS, less = shift[j];        \
            for (uint64_t r = 0; r < rows; r++)                                                                        \
                to[r * PL_PANEL_COLUMNS] = (double)column[(int64_t)r * row_stride] - less;                             \
        }                                                                                                              \
    }

LOAD(load_narrow, float, narrow)
LOAD(load_wide, double, pl_wide)

PL_INLINE void load(const pl_dense_gram *panels, const pl_table *table, uint64_t first, uint64_t rows,
                    const double *shift) {
    int64_t offset = (int64_t)first * table->row_stride;
    if (table->narrow)
        load_narrow(panels->cells, table->narrow + offset, rows, table->columns, table->row_stride,
                    table->column_stride, shift);
    else
        load_wide(panels->cells, table->wide + offset, rows, table->columns, table->row_stride, table->column_stride,
                  shift);
}

#define PUT(name, type, vector)                                                                                        \
    PL_INLINE void name(double *cells, const type *from, uint64_t count) {                                             \
        uint64_t j = 0;                                                                                                \
        for (; j + PL_PANEL_COLUMNS <= count; j += PL_PANEL_COLUMNS, cells += PL_PANEL_CELLS) {                        \
            vector value;                                                                                              \
            memcpy(&value, from + j, sizeof value);                                                                    \
            pl_wide x = __builtin_convertvector(value, pl_wide);                                                       \
            PL_STORE(cells, x);                                                                                        \
        }                                                                                                              \
        for (; j < count; j++)                                                                                         \
            cells[j % PL_PANEL_COLUMNS] = (double)from[j];                                                             \
    }

PUT(put_narrow, float, narrow)
PUT(put_wide, double, pl_wide)

PL_INLINE void put(double *cells, pl_values from, uint64_t count) {
    if (from.narrow)
        put_narrow(cells, from.narrow, count);
    else
        put_wide(cells, from.wide, count);
}

/* Adds the products of the columns of the left panel with those of `width` panels to rows of `out`, which are `step`
 * apart. */
#define MULTIPLY(name, vector)                                                                                         \
    PL_INLINE void name(const double *left, const double *right, uint64_t rows, unsigned width, double *out,           \
                        uint64_t step) {                                                                               \
        const unsigned lanes = sizeof(vector) / sizeof(double), count = width * PL_PANEL_COLUMNS / lanes;              \
        vector sum[PL_PANEL_COLUMNS][WIDTH * PL_PANEL_COLUMNS * sizeof(double) / sizeof(vector)], x;                   \
        for (unsigned k = 0; k < PL_PANEL_COLUMNS; k++)                                                                \
            for (unsigned c = 0; c < count; c++)                                                                       \
                sum[k][c] = (vector){0};                                                                               \
        for (uint64_t r = 0; r < rows * PL_PANEL_COLUMNS; r += PL_PANEL_COLUMNS)                                       \
            for (unsigned c = 0; c < count; c++) {                                                                     \
                unsigned column = c * lanes;                                                                           \
                memcpy(&x, right + column / PL_PANEL_COLUMNS * PL_PANEL_CELLS + r + column % PL_PANEL_COLUMNS,         \
                       sizeof x);                                                                                      \
                for (unsigned k = 0; k < PL_PANEL_COLUMNS; k++)                                                        \
                    sum[k][c] += x * left[r + k];                                                                      \
            }                                                                                                          \
        for (unsigned k = 0; k < PL_PANEL_COLUMNS; k++)                                                                \
            for (unsigned c = 0; c < count; c++) {                                                                     \
                memcpy(&x, out + k * step + c * lanes, sizeof x);                                                      \
                x += sum[k][c];                                                                                        \
                memcpy(out + k * step + c * lanes, &x, sizeof x);                                                      \
            }                                                                                                          \
    }

MULTIPLY(multiply_wide, pl_wide)
MULTIPLY(multiply_pair, pair)

/* Adds the products of panel p, weighted in `left`, with `width` panels from q on to the lower triangle. */
PL_INLINE void add_tile(const pl_dense_gram *panels, const double *left, uint64_t p, uint64_t q, uint64_t rows,
                        unsigned width, bool wide, double *sum) {
    uint64_t size = panels->size, j = p * PL_PANEL_COLUMNS, i = q * PL_PANEL_COLUMNS;
    const double *right = panels->cells + q * PL_PANEL_CELLS;
    double tile[PL_PANEL_COLUMNS][WIDTH * PL_PANEL_COLUMNS];
    bool whole = j < i && i + width * PL_PANEL_COLUMNS <= size;
    if (!whole)
        memset(tile, 0, sizeof tile);
    double *out = whole ? sum + j * size + i : tile[0];
    uint64_t step = whole ? size : WIDTH * PL_PANEL_COLUMNS;
    if (wide)
        multiply_wide(left, right, rows, width, out, step);
    else
        multiply_pair(left, right, rows, width, out, step);
    for (unsigned k = 0; !whole && k < PL_PANEL_COLUMNS && j + k < size; k++)
        for (unsigned c = j < i ? 0 : k; c < width * PL_PANEL_COLUMNS && i + c < size; c++)
            sum[(j + k) * size + i + c] += tile[k][c];
}

PL_INLINE void weigh(const double *left, const double *weight, uint64_t rows, double *weighted) {
    for (uint64_t r = 0; r < rows; r++) {
        pl_wide x;
        PL_LOAD(x, left + r * PL_PANEL_COLUMNS);
        x *= PL_ALL(weight[r]);
        PL_STORE(weighted + r * PL_PANEL_COLUMNS, x);
    }
}

PL_INLINE void add(const pl_dense_gram *panels, uint64_t rows, const double *weight, bool wide, double *sum) {
    const unsigned width = wide ? WIDTH : 1; /* so that the sums fit in 16 registers */
    double weighted[PL_PANEL_ROWS * PL_PANEL_COLUMNS];
    for (uint64_t p = 0; p < panels->count; p++) {
        const double *left = panels->cells + p * PL_PANEL_CELLS;
        if (weight)
            weigh(left, weight, rows, weighted);
        left = weight ? weighted : left;
        uint64_t q = p;
        for (; q + width <= panels->count; q += width)
            add_tile(panels, left, p, q, rows, width, wide, sum);
        if (q < panels->count)
            add_tile(panels, left, p, q, rows, 1, wide, sum);
    }
}

PL_AVX2 static void load_avx2(const pl_dense_gram *panels, const pl_table *table, uint64_t first, uint64_t rows,
                              const double *shift) {
    load(panels, table, first, rows, shift);
}
static void load_any(const pl_dense_gram *panels, const pl_table *table, uint64_t first, uint64_t rows,
                     const double *shift) {
    load(panels, table, first, rows, shift);
}
PL_AVX2 static void put_avx2(double *cells, pl_values from, uint64_t count) { put(cells, from, count); }
static void put_any(double *cells, pl_values from, uint64_t count) { put(cells, from, count); }
PL_AVX2 static void add_avx2(const pl_dense_gram *panels, uint64_t rows, const double *weight, double *sum) {
    add(panels, rows, weight, true, sum);
}
static void add_any(const pl_dense_gram *panels, uint64_t rows, const double *weight, double *sum) {
    add(panels, rows, weight, false, sum);
}

void pl_dense_gram_load(const pl_dense_gram *panels, const pl_table *table, uint64_t first, uint64_t rows,
                        const double *shift) {
    (PL_HAS_AVX2 ? load_avx2 : load_any)(panels, table, first, rows, shift);
}
void pl_dense_gram_put(const pl_dense_gram *panels, uint64_t r, pl_values values, uint64_t count) {
    (PL_HAS_AVX2 ? put_avx2 : put_any)(pl_dense_gram_cell(panels, r, 0), values, count);
}
void pl_dense_gram_add(const pl_dense_gram *panels, uint64_t rows, const double *weight, double *sum) {
    (PL_HAS_AVX2 ? add_avx2 : add_any)(panels, rows, weight, sum);
}
