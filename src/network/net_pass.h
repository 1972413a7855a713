/* net_pass.h: a batch of rows through a network, forwards and backwards. */
#ifndef PL_NET_PASS_H
#define PL_NET_PASS_H

#include "base/random.h"
#include "data/data.h"
#include "network/net_shape.h"

/* How rows of the data become inputs: input = scale (x - shift). */
typedef struct pl_net_inputs {
    uint64_t columns; /* of the data; further ones are ignored */
    const uint32_t
        *input;         /* by column: the number of the input; UINT32_MAX: the column is not an input. NULL: all are */
    const float *scale; /* by column; NULL: `factor` for all */
    const float *shift; /* by column; NULL: 0 */
    float factor;
    bool sparse; /* rows stay sparse; then there is no shift */
} pl_net_inputs;

/* Room of one thread for batches of up to `most` rows. */
typedef struct pl_net_room {
    const pl_net_shape *shape;
    const pl_net_inputs *inputs;
    uint64_t most, rows;         /* rows: of the current batch */
    float *a[PL_NET_LAYERS + 1]; /* rows x stride: outputs of the layers; a[0]: dense inputs */
    float *d[PL_NET_LAYERS + 1]; /* the same: derivatives by them */
    float *memory;               /* of all of these */
    float *base;                 /* by input: -scale x shift, for entries that are 0; NULL: 0 */
    uint32_t *start;             /* sparse inputs */
    pl_span index, value;
    double *log_sum;                    /* by row */
    float drop;                         /* of the last pass forwards */
    pl_stream drawn[PL_NET_LAYERS + 1]; /* the stream before the units of a layer were drawn */
} pl_net_room;

/* `backwards`: there is also room for derivatives. */
parley_status pl_net_room_open(pl_net_room *room, const pl_net_shape *shape, const pl_net_inputs *inputs, uint64_t most,
                               bool backwards, parley_error *error);
void pl_net_room_close(pl_net_room *room);
uint64_t pl_net_room_bytes(const pl_net_shape *shape, uint64_t most);

/* Takes the rows as inputs: rows[0..count), or first.. first + count if `rows` is NULL. False: out of memory. */
bool pl_net_gather(pl_net_room *room, const pl_matrix *x, const uint64_t *rows, uint64_t first, uint64_t count);
/* Computes the outputs a[layers] with parameters w (padded). With `drop` > 0, hidden units are dropped with that
 * probability, by `stream`. */
void pl_net_forward(pl_net_room *room, const float *w, float drop, pl_stream *stream);
/* The targets of the batch: classes, or real numbers in columns; weights by row, which may be NULL. */
typedef struct pl_net_targets {
    const uint32_t *kind;
    const float *real; /* rows x outputs */
    const float *weight;
} pl_net_targets;
/* The sum of the losses of the batch's rows after pl_net_forward. Leaves the derivatives by the outputs, each times the
 * weight of its row and `factor`, in d[layers]. */
double pl_net_losses(pl_net_room *room, const pl_net_targets *targets, float factor);
/* Computes the gradient g (padded) from d[layers], or adds it to what is there. */
void pl_net_backward(pl_net_room *room, const float *w, bool add, float *g);

#endif
