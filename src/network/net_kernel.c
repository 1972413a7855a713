/* net_kernel.c: see net_kernel.h. */
#include "network/net_kernel.h"

#include <math.h>

#include "math/wide_floats.h"

typedef pl_floats floats;
typedef pl_floats_bits bits;

#define AT(pointer) (*(floats *)(pointer))
#define FROM(pointer) (*(const floats *)(pointer))
#define BLOCK 128 /* outputs of one pass over a batch's entries, for which the rows of w stay in the cache */

/* Sparse rows: `width` floats of a row at a time are kept in registers. */

#define FORWARD(name, wides)                                                                                           \
    PL_INLINE void name(const pl_net_rows *x, uint64_t r, const float *w, uint64_t stride, float *z) {                 \
        floats sum[wides] = {{0}};                                                                                     \
        for (uint32_t e = x->start[r]; e < x->start[r + 1]; e++) {                                                     \
            const float *row = w + x->index[e] * stride;                                                               \
            for (unsigned i = 0; i < (wides); i++)                                                                     \
                sum[i] += x->value[e] * FROM(row + i * PL_FLOATS);                                                     \
        }                                                                                                              \
        for (unsigned i = 0; i < (wides); i++)                                                                         \
            AT(z + r * stride + i * PL_FLOATS) = sum[i];                                                               \
    }
FORWARD(forward_four, 4)
FORWARD(forward_one, 1)

PL_INLINE void forward_body(const pl_net_rows *x, const float *w, uint64_t stride, float *z) {
    for (uint64_t begin = 0; begin < stride; begin += BLOCK) {
        uint64_t end = begin + BLOCK < stride ? begin + BLOCK : stride;
        for (uint64_t r = 0; r < x->rows; r++) {
            uint64_t o = begin;
            for (; o + 4 * PL_FLOATS <= end; o += 4 * PL_FLOATS)
                forward_four(x, r, w + o, stride, z + o);
            for (; o < end; o += PL_FLOATS)
                forward_one(x, r, w + o, stride, z + o);
        }
    }
}

#define BACKWARD(name, wides)                                                                                          \
    PL_INLINE void name(const pl_net_rows *x, uint64_t r, const float *d, uint64_t stride, float *g) {                 \
        floats slope[wides];                                                                                           \
        for (unsigned i = 0; i < (wides); i++)                                                                         \
            slope[i] = FROM(d + r * stride + i * PL_FLOATS);                                                           \
        for (uint32_t e = x->start[r]; e < x->start[r + 1]; e++) {                                                     \
            float *row = g + x->index[e] * stride;                                                                     \
            for (unsigned i = 0; i < (wides); i++)                                                                     \
                AT(row + i * PL_FLOATS) += x->value[e] * slope[i];                                                     \
        }                                                                                                              \
    }
BACKWARD(backward_four, 4)
BACKWARD(backward_one, 1)

PL_INLINE void backward_body(const pl_net_rows *x, const float *d, uint64_t stride, float *g) {
    for (uint64_t begin = 0; begin < stride; begin += BLOCK) {
        uint64_t end = begin + BLOCK < stride ? begin + BLOCK : stride;
        for (uint64_t r = 0; r < x->rows; r++) {
            uint64_t o = begin;
            for (; o + 4 * PL_FLOATS <= end; o += 4 * PL_FLOATS)
                backward_four(x, r, d + o, stride, g + o);
            for (; o < end; o += PL_FLOATS)
                backward_one(x, r, d + o, stride, g + o);
        }
    }
}

/* Activations. exp is taken of numbers that are not positive. */

PL_INLINE void relu(floats *z) { *z = PL_LARGER_FLOATS(*z, PL_ALL_FLOATS(0.0F)); }

PL_INLINE void logistic(floats *z) {
    bits negative = *z < 0.0F;
    floats e = -PL_LARGER_FLOATS(*z, -*z);
    pl_exponential_floats(&e);
    floats high = 1.0F / (1.0F + e), low = e * high;
    *z = (floats)(((bits)low & negative) | ((bits)high & ~negative));
}

/* Near 0 the quotient loses digits, and a series does not. */
PL_INLINE void hyperbolic(floats *z) {
    floats x = *z, size = PL_LARGER_FLOATS(x, -x), e = -2.0F * size, x2 = x * x;
    bits small = size < 0.1F, sign = (bits)x & (int32_t)0x80000000;
    pl_exponential_floats(&e);
    floats far = (floats)((bits)((1.0F - e) / (1.0F + e)) | sign);
    floats near = x * (1.0F - x2 * (0.33333333F - x2 * (0.13333333F - x2 * 0.053968254F)));
    *z = (floats)(((bits)near & small) | ((bits)far & ~small));
}

PL_INLINE void activate_body(pl_activation f, const float *bias, uint64_t rows, uint64_t stride, float *z) {
    for (uint64_t r = 0; r < rows; r++, z += stride)
        for (uint64_t o = 0; o < stride; o += PL_FLOATS) {
            floats x = FROM(z + o) + FROM(bias + o);
            if (f == PL_RELU)
                relu(&x);
            else if (f == PL_TANH)
                hyperbolic(&x);
            else if (f == PL_LOGISTIC)
                logistic(&x);
            AT(z + o) = x;
        }
}

PL_INLINE void slope_body(pl_activation f, const float *a, uint64_t count, float *d) {
    for (uint64_t i = 0; i < count && f != PL_IDENTITY; i += PL_FLOATS) {
        floats x = FROM(a + i), y = FROM(d + i);
        if (f == PL_RELU)
            y = (floats)((bits)y & (x > 0.0F));
        else if (f == PL_TANH)
            y *= 1.0F - x * x;
        else
            y *= x * (1.0F - x);
        AT(d + i) = y;
    }
}

PL_INLINE void sum_body(const float *d, uint64_t rows, uint64_t stride, bool add, float *sums) {
    for (uint64_t o = 0; o < stride; o += PL_FLOATS) {
        floats sum = {0};
        for (uint64_t r = 0; r < rows; r++)
            sum += FROM(d + r * stride + o);
        if (add)
            sum += FROM(sums + o);
        AT(sums + o) = sum;
    }
}

PL_INLINE void add_body(const float *from, uint64_t count, float *to) {
    for (uint64_t i = 0; i < count; i += PL_FLOATS)
        AT(to + i) += FROM(from + i);
}

/* Softmax. Sums are in double precision, by pairs of halves. */

#define NOTHING -1e30F

PL_INLINE void softmax_row(uint64_t outputs, uint64_t stride, float *z, double *log_sum) {
    float top = z[0];
    for (uint64_t o = 1; o < outputs; o++)
        top = z[o] > top ? z[o] : top;
    for (uint64_t o = outputs; o < stride; o++)
        z[o] = NOTHING;
    double sum = 0;
    for (uint64_t o = 0; o < stride; o += PL_FLOATS) {
        floats x = FROM(z + o) - top;
        pl_exponential_floats(&x);
        AT(z + o) = x;
    }
    for (uint64_t o = 0; o < outputs; o++)
        sum += (double)z[o];
    float inverse = (float)(1.0 / sum);
    for (uint64_t o = 0; o < stride; o++)
        z[o] = o < outputs ? z[o] * inverse : 0.0F;
    *log_sum = log(sum) + (double)top;
}

PL_INLINE void softmax_body(uint64_t rows, uint64_t outputs, uint64_t stride, float *z, double *log_sum) {
    for (uint64_t r = 0; r < rows; r++)
        softmax_row(outputs, stride, z + r * stride, log_sum + r);
}

/* Optimisers */

PL_INLINE void root(floats *value) {
    float *x = (float *)value;
    for (unsigned i = 0; i < PL_FLOATS; i++)
        x[i] = sqrtf(x[i]);
}

PL_INLINE void momentum_body(const pl_net_step *step, floats *g, float *first) {
    floats m = step->momentum * FROM(first) + *g;
    AT(first) = m;
    if (step->kind == PL_NESTEROV)
        m = *g + step->momentum * m;
    *g = step->rate * m;
}

PL_INLINE void adam_body(const pl_net_step *step, floats *g, float *first, float *second) {
    floats m = step->beta1 * FROM(first) + (1.0F - step->beta1) * *g;
    floats s = step->beta2 * FROM(second) + (1.0F - step->beta2) * *g * *g;
    AT(first) = m;
    AT(second) = s;
    root(&s);
    *g = step->rate * m / (s + step->epsilon);
}

PL_INLINE void adagrad_body(const pl_net_step *step, floats *g, float *second) {
    floats s = FROM(second) + *g * *g;
    AT(second) = s;
    root(&s);
    *g = step->rate * *g / (s + step->epsilon);
}

PL_INLINE void optimise_body(const pl_net_step *step, const float *gradient, uint64_t count, float *first,
                             float *second, float *change) {
    for (uint64_t i = 0; i < count; i += PL_FLOATS) {
        floats g = FROM(gradient + i) * step->factor;
        switch (step->kind) {
        case PL_MOMENTUM:
        case PL_NESTEROV: momentum_body(step, &g, first + i); break;
        case PL_ADAM: adam_body(step, &g, first + i, second + i); break;
        case PL_ADAGRAD_STEP: adagrad_body(step, &g, second + i); break;
        default: g *= step->rate;
        }
        AT(change + i) = -g;
    }
}

PL_VERSIONS(pl_net_sparse_forward, forward_body, (const pl_net_rows *x, const float *w, uint64_t stride, float *z),
            (x, w, stride, z))
PL_VERSIONS(pl_net_sparse_backward, backward_body, (const pl_net_rows *x, const float *d, uint64_t stride, float *g),
            (x, d, stride, g))
PL_VERSIONS(pl_net_activate, activate_body,
            (pl_activation f, const float *bias, uint64_t rows, uint64_t stride, float *z), (f, bias, rows, stride, z))
PL_VERSIONS(pl_net_slope, slope_body, (pl_activation f, const float *a, uint64_t count, float *d), (f, a, count, d))
PL_VERSIONS(pl_net_sum_rows, sum_body, (const float *d, uint64_t rows, uint64_t stride, bool add, float *sums),
            (d, rows, stride, add, sums))
PL_VERSIONS(pl_net_add, add_body, (const float *from, uint64_t count, float *to), (from, count, to))
PL_VERSIONS(pl_net_softmax, softmax_body, (uint64_t rows, uint64_t outputs, uint64_t stride, float *z, double *log_sum),
            (rows, outputs, stride, z, log_sum))
PL_VERSIONS(pl_net_optimise, optimise_body,
            (const pl_net_step *step, const float *gradient, uint64_t count, float *first, float *second,
             float *change),
            (step, gradient, count, first, second, change))
