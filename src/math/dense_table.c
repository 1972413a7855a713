/* dense_table.c: products of a block of rows with a table, by tiles whose sums stay in registers: of a dot product,
 * four rows x eight classes while the columns pass, and of an addition, four columns x eight classes while the rows
 * pass. Values are converted to doubles before a tile needs them, because it then loads each one into all lanes at
 * once.
 *
 * If the width is not a multiple of four, the last group of classes overlaps the one before it, and some classes are
 * computed twice. In an addition both must be in one pass, since the second would otherwise add to the result of the
 * first. */
#include "math/dense_table.h"

#include "math/wide_floats.h"

#define LANES 4
#define TILE 4       /* rows of a dot product, columns of an addition */
#define MOST_WIDES 2 /* groups of four classes, so that the sums and operands fit in 16 registers */
#define CHUNK 256    /* columns converted at a time for a dot product; even, so that even columns stay even */
#define SPAN 16      /* columns converted at a time for an addition: a cache line */
#define MOST_ROWS 64 /* rows of a block of an addition */

typedef float narrow __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* Copies `count` values as doubles. */
PL_INLINE void widen(pl_values from, uint64_t count, double *to) {
    uint64_t j = 0;
    if (from.wide)
        memcpy(to, from.wide, count * sizeof *to);
    for (; from.narrow && j + LANES <= count; j += LANES) {
        pl_wide x = __builtin_convertvector(*(const narrow *)(from.narrow + j), pl_wide);
        PL_STORE(to + j, x);
    }
    for (; from.narrow && j < count; j++)
        to[j] = (double)from.narrow[j];
}

/* The first class of group k, counted from class `from`. */
PL_INLINE uint64_t place(uint64_t width, uint64_t from, unsigned k) {
    uint64_t c = from + LANES * k;
    return c + LANES <= width ? c : width - LANES;
}

/* How many groups to handle in one pass from class `from` on, so that what is left is nothing or a group at least. */
PL_INLINE unsigned groups(uint64_t width, uint64_t from) {
    uint64_t left = width - from;
    return left <= LANES || (left > 2 * LANES && left < 3 * LANES) ? 1 : MOST_WIDES;
}

typedef struct block {
    pl_values values;
    uint64_t rows, columns, width;
} block;

/* Adds the products of every other one of `count` columns. */
PL_INLINE void dot_half(double x[TILE][CHUNK], uint64_t odd, uint64_t count, const double *table, uint64_t width,
                        unsigned rows, unsigned wides, const uint64_t *at, pl_wide sum[TILE][MOST_WIDES]) {
    pl_wide s[TILE][MOST_WIDES], w[MOST_WIDES];
    for (unsigned r = 0; r < rows; r++)
        for (unsigned k = 0; k < wides; k++)
            s[r][k] = sum[r][k];
    for (uint64_t j = odd; j < count; j += 2) {
        for (unsigned k = 0; k < wides; k++)
            PL_LOAD(w[k], table + j * width + at[k]);
        for (unsigned r = 0; r < rows; r++)
            for (unsigned k = 0; k < wides; k++)
                s[r][k] += PL_ALL(x[r][j]) * w[k];
    }
    for (unsigned r = 0; r < rows; r++)
        for (unsigned k = 0; k < wides; k++)
            sum[r][k] = s[r][k];
}

PL_INLINE void dot_tile(const block block, uint64_t row, unsigned rows, const double *table, uint64_t from,
                        unsigned wides, double *out) {
    double x[TILE][CHUNK];
    pl_wide even[TILE][MOST_WIDES] = {{{0}}}, odd[TILE][MOST_WIDES] = {{{0}}};
    uint64_t at[MOST_WIDES] = {0};
    for (unsigned k = 0; k < wides; k++)
        at[k] = place(block.width, from, k);
    for (uint64_t first = 0; first < block.columns; first += CHUNK) {
        uint64_t count = block.columns - first < CHUNK ? block.columns - first : CHUNK;
        for (unsigned r = 0; r < rows; r++)
            widen(pl_values_from(block.values, (row + r) * block.columns + first), count, x[r]);
        dot_half(x, 0, count, table + first * block.width, block.width, rows, wides, at, even);
        dot_half(x, 1, count, table + first * block.width, block.width, rows, wides, at, odd);
    }
    for (unsigned r = 0; r < rows; r++)
        for (unsigned k = 0; k < wides; k++) {
            pl_wide sum = even[r][k] + odd[r][k];
            PL_STORE(out + (row + r) * block.width + at[k], sum);
        }
}

/* The sums of the classes of one pass, for all rows. */
PL_INLINE void dot_rows(const block block, const double *table, uint64_t from, unsigned wides, double *out) {
    uint64_t row = 0;
    for (; row + TILE <= block.rows; row += TILE)
        dot_tile(block, row, TILE, table, from, wides, out);
    for (; row < block.rows; row++)
        dot_tile(block, row, 1, table, from, wides, out);
}

/* Adds to `columns` columns of the table from `table` on, whose values are x[r][0], x[r][1], ... */
PL_INLINE void add_tile(const double *x, const block block, unsigned columns, const double *a, uint64_t from,
                        unsigned wides, double *table) {
    pl_wide sum[TILE][MOST_WIDES], by[MOST_WIDES];
    uint64_t at[MOST_WIDES] = {0};
    for (unsigned k = 0; k < wides; k++)
        at[k] = place(block.width, from, k);
    for (unsigned j = 0; j < columns; j++)
        for (unsigned k = 0; k < wides; k++)
            PL_LOAD(sum[j][k], table + j * block.width + at[k]);
    for (uint64_t r = 0; r < block.rows; r++, x += SPAN, a += block.width) {
        for (unsigned k = 0; k < wides; k++)
            PL_LOAD(by[k], a + at[k]);
        for (unsigned j = 0; j < columns; j++)
            for (unsigned k = 0; k < wides; k++)
                sum[j][k] += PL_ALL(x[j]) * by[k];
    }
    for (unsigned j = 0; j < columns; j++)
        for (unsigned k = 0; k < wides; k++)
            PL_STORE(table + j * block.width + at[k], sum[j][k]);
}

PL_INLINE void add_span(const double *x, const block block, uint64_t columns, const double *a, uint64_t from,
                        unsigned wides, double *table) {
    uint64_t j = 0;
    for (; j + TILE <= columns; j += TILE)
        add_tile(x + j, block, TILE, a, from, wides, table + j * block.width);
    for (; j < columns; j++)
        add_tile(x + j, block, 1, a, from, wides, table + j * block.width);
}

/* Calls with a constant number of groups, so that the compiler keeps them in registers. */
PL_INLINE void dot(pl_values values, uint64_t rows, uint64_t columns, const double *table, uint64_t width,
                   double *out) {
    block block = {values, rows, columns, width};
    for (uint64_t from = 0, wides; from < width; from += LANES * wides) {
        wides = groups(width, from);
        if (wides == 1)
            dot_rows(block, table, from, 1, out);
        else
            dot_rows(block, table, from, MOST_WIDES, out);
    }
}

PL_INLINE void add_columns(const double *x, const block block, uint64_t columns, const double *a, double *table) {
    for (uint64_t from = 0, wides; from < block.width; from += LANES * wides) {
        wides = groups(block.width, from);
        if (wides == 1)
            add_span(x, block, columns, a, from, 1, table);
        else
            add_span(x, block, columns, a, from, MOST_WIDES, table);
    }
}

PL_INLINE void add_block(const block block, const double *a, double *table) {
    double x[MOST_ROWS * SPAN];
    for (uint64_t first = 0; first < block.columns; first += SPAN) {
        uint64_t columns = block.columns - first < SPAN ? block.columns - first : SPAN;
        for (uint64_t r = 0; r < block.rows; r++)
            widen(pl_values_from(block.values, r * block.columns + first), columns, x + r * SPAN);
        add_columns(x, block, columns, a, table + first * block.width);
    }
}

PL_INLINE void add(pl_values values, uint64_t rows, uint64_t columns, const double *a, uint64_t width, double *table) {
    for (uint64_t row = 0; row < rows; row += MOST_ROWS) {
        uint64_t count = rows - row < MOST_ROWS ? rows - row : MOST_ROWS;
        add_block((block){pl_values_from(values, row * columns), count, columns, width}, a + row * width, table);
    }
}

PL_AVX2 static void dot_avx2(pl_values values, uint64_t rows, uint64_t columns, const double *table, uint64_t width,
                             double *out) {
    dot(values, rows, columns, table, width, out);
}
static void dot_any(pl_values values, uint64_t rows, uint64_t columns, const double *table, uint64_t width,
                    double *out) {
    dot(values, rows, columns, table, width, out);
}

/* There is no version for AVX-512: gcc 12 makes a slower one of it. */
void pl_dense_table_dot(pl_values values, uint64_t rows, uint64_t columns, const double *table, uint64_t width,
                        double *out) {
    (PL_HAS_AVX2 ? dot_avx2 : dot_any)(values, rows, columns, table, width, out);
}

PL_VERSIONS(pl_dense_table_add, add,
            (pl_values values, uint64_t rows, uint64_t columns, const double *a, uint64_t width, double *table),
            (values, rows, columns, a, width, table))

bool pl_dense_table_pays(uint64_t width) { return width >= PL_FULL_WIDTH && PL_HAS_AVX2; }
