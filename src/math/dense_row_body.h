/* dense_row_body.h: the kernels of dense_row.c, by vectors of WIDTH entries whose values are of type VALUE, with names
 * by BODY. Included once for each type and width: gcc makes slow code of vectors that are wider than those of the
 * processor. Every width gives the same bits. */

typedef double BODY(doubles) __attribute__((vector_size(WIDTH * sizeof(double)), aligned(8), may_alias));
typedef VALUE BODY(values) __attribute__((vector_size(WIDTH * sizeof(VALUE)), aligned(sizeof(VALUE)), may_alias));

#define PARTS (LANES / WIDTH) /* vectors of all lanes */
#define DOUBLES(from) (*(const BODY(doubles) *)(from))
#define VALUES(from) __builtin_convertvector(*(const BODY(values) *)(from), BODY(doubles))
#define LANE(i) sum[(i) / WIDTH][(i) % WIDTH]

/* The sum of the lanes. */
PL_INLINE double BODY(total)(const BODY(doubles) sum[PARTS]) {
    return ((LANE(0) + LANE(4)) + (LANE(2) + LANE(6))) + ((LANE(1) + LANE(5)) + (LANE(3) + LANE(7)));
}

/* The products from entry `e` on. */
PL_INLINE double BODY(rest)(const VALUE *value, uint64_t e, uint64_t count, const double *w) {
    double sum = 0;
    for (; e < count; e++)
        sum += (double)value[e] * w[e];
    return sum;
}

/* Adds the groups of a long row to the first one. */
PL_INLINE void BODY(fold)(BODY(doubles) sum[GROUPS * PARTS]) {
    for (unsigned k = 0; k < PARTS; k++)
        sum[k] = (sum[k] + sum[PARTS + k]) + (sum[2 * PARTS + k] + sum[3 * PARTS + k]);
}

PL_INLINE void BODY(dot)(const VALUE *value, uint64_t count, const double *w, double *out) {
    BODY(doubles) sum[GROUPS * PARTS] = {{0}};
    uint64_t e = 0;
    for (; e + STRIDE <= count; e += STRIDE)
        for (unsigned k = 0; k < GROUPS * PARTS; k++)
            sum[k] += VALUES(value + e + k * WIDTH) * DOUBLES(w + e + k * WIDTH);
    for (; e + LANES <= count; e += LANES)
        for (unsigned k = 0; k < PARTS; k++)
            sum[k] += VALUES(value + e + k * WIDTH) * DOUBLES(w + e + k * WIDTH);
    BODY(fold)(sum);
    *out = BODY(total)(sum) + BODY(rest)(value, e, count, w);
}

PL_INLINE void BODY(dots)(const VALUE *const value[PL_FULL_ROWS], uint64_t count,
                          const double *const w[PL_FULL_VECTORS], double *out) {
    BODY(doubles) sum[PL_FULL_VECTORS][PL_FULL_ROWS][PARTS] = {{{{0}}}};
    uint64_t e = 0;
    for (; e + LANES <= count; e += LANES)
        for (unsigned k = 0; k < PARTS; k++)
            for (unsigned r = 0; r < PL_FULL_ROWS; r++) {
                BODY(doubles) x = VALUES(value[r] + e + k * WIDTH);
                for (unsigned v = 0; v < PL_FULL_VECTORS; v++)
                    sum[v][r][k] += x * DOUBLES(w[v] + e + k * WIDTH);
            }
    for (unsigned v = 0; v < PL_FULL_VECTORS; v++)
        for (unsigned r = 0; r < PL_FULL_ROWS; r++)
            out[v * PL_FULL_ROWS + r] = BODY(total)(sum[v][r]) + BODY(rest)(value[r], e, count, w[v]);
}

PL_INLINE void BODY(norm2)(const VALUE *value, uint64_t count, double *out) {
    BODY(doubles) sum[GROUPS * PARTS] = {{0}};
    double rest = 0;
    uint64_t e = 0;
    for (; e + STRIDE <= count; e += STRIDE)
        for (unsigned k = 0; k < GROUPS * PARTS; k++) {
            BODY(doubles) x = VALUES(value + e + k * WIDTH);
            sum[k] += x * x;
        }
    for (; e < count; e++)
        rest += (double)value[e] * (double)value[e];
    BODY(fold)(sum);
    *out = BODY(total)(sum) + rest;
}

PL_INLINE void BODY(add)(const VALUE *value, uint64_t count, double a, double *w) {
    uint64_t e = 0;
    for (; e + WIDTH <= count; e += WIDTH)
        *(BODY(doubles) *)(w + e) += a * VALUES(value + e);
    for (; e < count; e++)
        w[e] += a * (double)value[e];
}

PL_INLINE void BODY(add_weighted)(const VALUE *value, uint64_t count, double a, const double *h, double *w) {
    uint64_t e = 0;
    for (; e + WIDTH <= count; e += WIDTH)
        *(BODY(doubles) *)(w + e) += a * VALUES(value + e) * DOUBLES(h + e);
    for (; e < count; e++)
        w[e] += a * (double)value[e] * h[e];
}

PL_INLINE void BODY(add_squares)(const VALUE *value, uint64_t count, double a, double *w) {
    uint64_t e = 0;
    for (; e + WIDTH <= count; e += WIDTH)
        *(BODY(doubles) *)(w + e) += a * VALUES(value + e) * VALUES(value + e);
    for (; e < count; e++)
        w[e] += a * (double)value[e] * (double)value[e];
}

#undef PARTS
#undef DOUBLES
#undef VALUES
#undef LANE
#undef BODY
#undef VALUE
#undef WIDTH
