/* net_shape.c: see net_shape.h. */
#include "network/net_shape.h"

#include <stdlib.h>
#include <string.h>

static const char *const activations[] = {"relu", "tanh", "logistic", "identity"};
static const char *const losses[] = {"softmax", "squared"};

const char *pl_activation_name(pl_activation f) { return activations[f]; }
const char *pl_net_loss_name(pl_net_loss loss) { return losses[loss]; }

void pl_net_shape_place(pl_net_shape *shape) {
    uint64_t at = 0, in = 0;
    for (unsigned l = 0; l < shape->layers; l++) {
        shape->weight_at[l] = at;
        shape->weight_in[l] = in;
        at += shape->width[l] * shape->width[l + 1];
        in += shape->width[l] * pl_net_stride_of(shape, l);
    }
    shape->penalised = at;
    for (unsigned l = 0; l < shape->layers; l++) {
        shape->bias_at[l] = at;
        shape->bias_in[l] = in;
        at += shape->width[l + 1];
        in += pl_net_stride_of(shape, l);
    }
    shape->size = at;
    shape->room = in;
}

static parley_status refuse(const char *hidden, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "--hidden %.60s: give the units of at most %d layers, separated by commas, such as 128,64; 0: no "
                   "hidden layer",
                   hidden, PL_NET_LAYERS - 1);
}

parley_status pl_net_shape_make(pl_net_shape *shape, uint64_t inputs, const char *hidden, uint64_t outputs,
                                pl_activation activation, pl_net_loss loss, parley_error *error) {
    *shape = (pl_net_shape){.width = {inputs}, .activation = activation, .loss = loss};
    const char *at = hidden;
    while (*at && strcmp(hidden, "0") != 0) {
        char *end;
        unsigned long long units = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (units == 0 || units > 1000000 || shape->layers == PL_NET_LAYERS - 1 || (*end && (*end != ',' || !end[1])))
            return refuse(hidden, error);
        shape->width[++shape->layers] = units;
        at = *end ? end + 1 : end;
    }
    shape->width[++shape->layers] = outputs;
    double size = 0;
    for (unsigned l = 0; l < shape->layers; l++)
        size += (double)(shape->width[l] + 1) * (double)(shape->width[l + 1] + PL_NET_PAD);
    if (size > 4e9) /* entries have 32-bit numbers in messages */
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--hidden %.60s: %.3g parameters or more, and a network has at most 4e+09; give fewer units",
                       hidden, size);
    pl_net_shape_place(shape);
    return PARLEY_OK;
}

/* Copies between a row of v and a padded row. */
typedef void (*copy_row)(void *padded, void *v, uint64_t count);

static void to_floats(void *padded, void *v, uint64_t count) {
    float *to = padded;
    const double *from = v;
    for (uint64_t i = 0; i < count; i++)
        to[i] = (float)from[i];
}

static void to_doubles(void *padded, void *v, uint64_t count) {
    const float *from = padded;
    double *to = v;
    for (uint64_t i = 0; i < count; i++)
        to[i] = (double)from[i];
}

/* Walks over the rows of a table of `rows` x `width` entries at `at` in v and `in` in the padded layout. */
static void copy_table(uint64_t at, uint64_t in, uint64_t rows, uint64_t width, uint64_t begin, uint64_t end,
                       copy_row copy, float *padded, double *v) {
    uint64_t stride = pl_net_stride(width), last = at + rows * width;
    begin = begin > at ? begin : at;
    end = end < last ? end : last;
    while (begin < end) {
        uint64_t row = (begin - at) / width, from = (begin - at) % width;
        uint64_t count = width - from < end - begin ? width - from : end - begin;
        copy(padded + in + row * stride + from, v + begin, count);
        begin += count;
    }
}

static void copy_all(const pl_net_shape *shape, uint64_t begin, uint64_t end, copy_row copy, float *padded, double *v) {
    for (unsigned l = 0; l < shape->layers; l++) {
        copy_table(shape->weight_at[l], shape->weight_in[l], shape->width[l], shape->width[l + 1], begin, end, copy,
                   padded, v);
        copy_table(shape->bias_at[l], shape->bias_in[l], 1, shape->width[l + 1], begin, end, copy, padded, v);
    }
}

void pl_net_pad(const pl_net_shape *shape, const double *v, uint64_t begin, uint64_t end, float *padded) {
    copy_all(shape, begin, end, to_floats, padded, (double *)v);
}

void pl_net_unpad(const pl_net_shape *shape, const float *padded, uint64_t begin, uint64_t end, double *v) {
    copy_all(shape, begin, end, to_doubles, (float *)padded, v);
}
