/* dense_block_body.h: the kernels of dense_block.c for values of type VALUE, with names by BODY. Included once for each
 * type. */

typedef VALUE BODY(values) __attribute__((vector_size(LANES * sizeof(VALUE)), aligned(sizeof(VALUE)), may_alias));

#define WIDEN(from) __builtin_convertvector(*(const BODY(values) *)(from), pl_wide)

PL_INLINE void BODY(dot_rows)(const VALUE *value, unsigned rows, uint64_t columns, const double *w, double *z) {
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

PL_INLINE void BODY(dot)(const VALUE *value, uint64_t rows, uint64_t columns, const double *w, double *z) {
    uint64_t row = 0;
    for (; row + ROWS <= rows; row += ROWS)
        BODY(dot_rows)(value + row * columns, ROWS, columns, w, z + row);
    for (; row < rows; row++)
        BODY(dot_rows)(value + row * columns, 1, columns, w, z + row);
}

PL_INLINE void BODY(add_rows)(const VALUE *value, unsigned rows, uint64_t columns, const double *a, double *w) {
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

PL_INLINE void BODY(add)(const VALUE *value, uint64_t rows, uint64_t columns, const double *a, double *w) {
    uint64_t row = 0;
    for (; row + ROWS <= rows; row += ROWS)
        BODY(add_rows)(value + row * columns, ROWS, columns, a + row, w);
    for (; row < rows; row++)
        BODY(add_rows)(value + row * columns, 1, columns, a + row, w);
}

#undef WIDEN
#undef BODY
#undef VALUE
