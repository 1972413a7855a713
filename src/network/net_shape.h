/* net_shape.h: the layers of a network, and where their parameters are.
 *
 * Layer l computes a_{l+1} = f(a_l W_l + b_l) for rows a_l; the last one has no activation. W_l is inputs x outputs.
 * Parameters have two layouts. The table v holds, without gaps, all W_l by rows and then all b_l, so that the entries
 * with a penalty come first. Arithmetic uses single precision, in the same order with rows that are padded to a
 * multiple of PL_NET_PAD with zeros. */
#ifndef PL_NET_SHAPE_H
#define PL_NET_SHAPE_H

#include "base/status.h"
#include "network/net_kernel.h"

#define PL_NET_LAYERS 16 /* at most */

typedef enum pl_net_loss { PL_NET_SOFTMAX, PL_NET_SQUARED } pl_net_loss;

typedef struct pl_net_shape {
    unsigned layers;
    uint64_t width[PL_NET_LAYERS + 1]; /* width[0] are the inputs, width[layers] the outputs */
    pl_activation activation;
    pl_net_loss loss;
    uint64_t weight_at[PL_NET_LAYERS], bias_at[PL_NET_LAYERS]; /* in v */
    uint64_t weight_in[PL_NET_LAYERS], bias_in[PL_NET_LAYERS]; /* in the padded layout */
    uint64_t size, penalised, room; /* entries of v, those with a penalty, and floats of the padded layout */
} pl_net_shape;

/* Parses "128,64" into hidden layers between `inputs` and `outputs`. "" or "0": none. */
parley_status pl_net_shape_make(pl_net_shape *shape, uint64_t inputs, const char *hidden, uint64_t outputs,
                                pl_activation activation, pl_net_loss loss, parley_error *error);
/* Computes the positions from layers and widths. */
void pl_net_shape_place(pl_net_shape *shape);
/* The stride of layer l's output. */
static inline uint64_t pl_net_stride_of(const pl_net_shape *shape, unsigned l) {
    return pl_net_stride(shape->width[l + 1]);
}
/* Between the two layouts, entries [begin, end) of v, which begin and end anywhere. Padding is not written. */
void pl_net_pad(const pl_net_shape *shape, const double *v, uint64_t begin, uint64_t end, float *padded);
void pl_net_unpad(const pl_net_shape *shape, const float *padded, uint64_t begin, uint64_t end, double *v);
const char *pl_activation_name(pl_activation f);
const char *pl_net_loss_name(pl_net_loss loss);

#endif
