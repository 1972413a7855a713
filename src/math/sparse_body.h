/* sparse_body.h: the kernels of sparse.h for one type of values, with names by BODY and the value of entry e by AT(e).
 * VALUED is false if all values are 1. Included once for each type. */

static inline double BODY(dot)(const uint32_t *index, VALUES value, uint64_t count, const double *w) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    uint64_t e = 0;
    (void)value;
    for (; e + 4 <= count; e += 4) {
        s0 += AT(e) * w[index[e]];
        s1 += AT(e + 1) * w[index[e + 1]];
        s2 += AT(e + 2) * w[index[e + 2]];
        s3 += AT(e + 3) * w[index[e + 3]];
    }
    for (; e < count; e++)
        s0 += AT(e) * w[index[e]];
    return (s0 + s1) + (s2 + s3);
}

static inline double BODY(dot_soft)(const uint32_t *index, VALUES value, uint64_t count, const double *w,
                                    double threshold) {
    double sum = 0;
    (void)value;
    for (uint64_t e = 0; e < count; e++)
        sum += AT(e) * pl_soft(w[index[e]], threshold);
    return sum;
}

static inline double BODY(dot_scaled)(const uint32_t *index, VALUES value, uint64_t count, const double *w,
                                      const double *scale, double threshold) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    uint64_t e = 0;
    (void)value;
    for (; e + 4 <= count && VALUED && threshold == 0; e += 4) {
        s0 += AT(e) * scale[index[e]] * w[index[e]];
        s1 += AT(e + 1) * scale[index[e + 1]] * w[index[e + 1]];
        s2 += AT(e + 2) * scale[index[e + 2]] * w[index[e + 2]];
        s3 += AT(e + 3) * scale[index[e + 3]] * w[index[e + 3]];
    }
    for (; e < count; e++)
        s0 += AT(e) * scale[index[e]] * pl_soft(w[index[e]], threshold);
    return (s0 + s1) + (s2 + s3);
}

static inline void BODY(add)(const uint32_t *index, VALUES value, uint64_t count, double a, double *w) {
    (void)value;
    for (uint64_t e = 0; e < count; e++)
        w[index[e]] += a * AT(e);
}

static inline void BODY(add_weighted)(const uint32_t *index, VALUES value, uint64_t count, double a, const double *h,
                                      double *w) {
    (void)value;
    for (uint64_t e = 0; e < count; e++)
        w[index[e]] += a * AT(e) * h[index[e]];
}

static inline void BODY(add_squares)(const uint32_t *index, VALUES value, uint64_t count, double a, double *w) {
    (void)value;
    for (uint64_t e = 0; e < count; e++)
        w[index[e]] += a * AT(e) * AT(e);
}

static inline double BODY(moments)(const uint32_t *index, VALUES value, uint64_t count, const double *h,
                                   double *first) {
    double s0 = 0, s1 = 0, m0 = 0, m1 = 0;
    uint64_t e = 0;
    (void)value;
    for (; VALUED && e + 2 <= count; e += 2) {
        double a = AT(e) * h[index[e]], b = AT(e + 1) * h[index[e + 1]];
        m0 += a;
        m1 += b;
        s0 += AT(e) * a;
        s1 += AT(e + 1) * b;
    }
    for (; e < count; e++) {
        double a = AT(e) * h[index[e]];
        m0 += a;
        s0 += AT(e) * a;
    }
    *first = m0 + m1;
    return s0 + s1;
}

static inline void BODY(add_scaled)(const uint32_t *index, VALUES value, uint64_t count, double a, double *w,
                                    const double *scale) {
    (void)value;
    for (uint64_t e = 0; e < count; e++)
        w[index[e]] += a * AT(e) * scale[index[e]];
}

static inline double BODY(norm2)(VALUES value, uint64_t count) {
    double sum = 0;
    (void)value;
    for (uint64_t e = 0; e < count; e++)
        sum += AT(e) * AT(e);
    return sum;
}

#undef VALUES
#undef VALUED
#undef AT
#undef BODY
