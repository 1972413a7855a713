/* dense_block.c: four rows at a time, so that four columns of the vector are read, or read and written, once for all of
 * them. A sum of products has four lanes, and the columns behind the last four are added at the end. */
#include "math/dense_block.h"

#include "math/wide_floats.h"

#define LANES 4
#define ROWS 4

typedef float narrow __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

#define WIDEN(from) __builtin_convertvector(*(const narrow *)(from), pl_wide)

PL_INLINE void dot_rows(const float *value, unsigned rows, uint64_t columns, const double *w, double *z) {
    pl_wide sum[ROWS] = {{0}}, by;
    double rest[ROWS] = {0};
    uint64_t j = 0;
    for (; j + LANES <= columns; j += LANES) {
        PL_LOAD(by, w + j);
        for (unsigned r = 0; r < rows; r++)
            sum[r] += WIDEN(value + r * columns + j) * by;
    }
    for (; j < columns; j++)
        for (unsigned r = 0; r < rows; r++)
            rest[r] += (double)value[r * columns + j] * w[j];
    for (unsigned r = 0; r < rows; r++)
        z[r] = ((sum[r][0] + sum[r][2]) + (sum[r][1] + sum[r][3])) + rest[r];
}

PL_INLINE void dot(const float *value, uint64_t rows, uint64_t columns, const double *w, double *z) {
    uint64_t row = 0;
    for (; row + ROWS <= rows; row += ROWS)
        dot_rows(value + row * columns, ROWS, columns, w, z + row);
    for (; row < rows; row++)
        dot_rows(value + row * columns, 1, columns, w, z + row);
}

PL_INLINE void add_rows(const float *value, unsigned rows, uint64_t columns, const double *a, double *w) {
    uint64_t j = 0;
    pl_wide sum;
    for (; j + LANES <= columns; j += LANES) {
        PL_LOAD(sum, w + j);
        for (unsigned r = 0; r < rows; r++)
            sum += a[r] * WIDEN(value + r * columns + j);
        PL_STORE(w + j, sum);
    }
    for (; j < columns; j++)
        for (unsigned r = 0; r < rows; r++)
            w[j] += a[r] * (double)value[r * columns + j];
}

PL_INLINE void add(const float *value, uint64_t rows, uint64_t columns, const double *a, double *w) {
    uint64_t row = 0;
    for (; row + ROWS <= rows; row += ROWS)
        add_rows(value + row * columns, ROWS, columns, a + row, w);
    for (; row < rows; row++)
        add_rows(value + row * columns, 1, columns, a + row, w);
}

PL_VERSIONS(pl_dense_block_dot, dot, (const float *value, uint64_t rows, uint64_t columns, const double *w, double *z),
            (value, rows, columns, w, z))
PL_VERSIONS(pl_dense_block_add, add, (const float *value, uint64_t rows, uint64_t columns, const double *a, double *w),
            (value, rows, columns, a, w))
