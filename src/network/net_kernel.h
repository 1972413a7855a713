/* net_kernel.h: what networks compute besides products of dense matrices, in single precision. Rows of all tables are
 * multiples of PL_NET_PAD floats, with zeros after the last entry where a function says so. */
#ifndef PL_NET_KERNEL_H
#define PL_NET_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#define PL_NET_PAD 16

static inline uint64_t pl_net_stride(uint64_t width) { return (width + PL_NET_PAD - 1) / PL_NET_PAD * PL_NET_PAD; }

/* Rows of a batch in sparse form: row r has entries start[r] to start[r + 1] - 1. */
typedef struct pl_net_rows {
    uint64_t rows;
    const uint32_t *start, *index;
    const float *value;
} pl_net_rows;

/* z = x w: w has a row of `stride` floats for each column of x, z one for each row. */
void pl_net_sparse_forward(const pl_net_rows *x, const float *w, uint64_t stride, float *z);
/* g += x' d: d has a row of `stride` floats for each row of x, g one for each column. */
void pl_net_sparse_backward(const pl_net_rows *x, const float *d, uint64_t stride, float *g);

/* By rows of `stride` floats: z = f(z + bias). */
typedef enum pl_activation { PL_RELU, PL_TANH, PL_LOGISTIC, PL_IDENTITY } pl_activation;
void pl_net_activate(pl_activation f, const float *bias, uint64_t rows, uint64_t stride, float *z);
/* d = d f'(z), where a = f(z). */
void pl_net_slope(pl_activation f, const float *a, uint64_t count, float *d);
/* sums = the sum of the rows of d, or sums += it. */
void pl_net_sum_rows(const float *d, uint64_t rows, uint64_t stride, bool add, float *sums);
/* to += from. */
void pl_net_add(const float *from, uint64_t count, float *to);

/* Replaces z, `outputs` of each row, by its softmax, and what follows in the row by zeros. `log_sum` is
 * ln sum exp(z). `rows` 1 is a single row. */
void pl_net_softmax(uint64_t rows, uint64_t outputs, uint64_t stride, float *z, double *log_sum);

/* One step of an optimiser on `count` parameters: reads the gradient, moves its state and gives the change. */
typedef enum pl_optimiser_kind { PL_SGD, PL_MOMENTUM, PL_NESTEROV, PL_ADAM, PL_ADAGRAD_STEP } pl_optimiser_kind;
typedef struct pl_net_step {
    pl_optimiser_kind kind;
    float rate; /* of this step; for Adam with the correction of its bias */
    float momentum, beta1, beta2, epsilon;
    float factor; /* of the gradient, for clipping */
} pl_net_step;
/* `first` and `second` are the state, which kinds that do not have it do not touch. w changes by what is returned in
 * `change`. */
void pl_net_optimise(const pl_net_step *step, const float *gradient, uint64_t count, float *first, float *second,
                     float *change);

#endif
