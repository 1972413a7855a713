/* net_pass.c: back-propagation. With a_0 the inputs, z_l = a_l W_l + b_l and a_{l+1} = f(z_l), derivatives d_l of the
 * loss by z_{l-1} and gradients are
 *
 *     g W_l = a_l' d_{l+1}    g b_l = sum of the rows of d_{l+1}    d_l = (d_{l+1} W_l') f'(z_{l-1})
 */
#include "network/net_pass.h"

#include <math.h>
#include <string.h>

#include "math/blas.h"

static uint64_t stride_at(const pl_net_shape *shape, unsigned l) { return pl_net_stride(shape->width[l]); }

uint64_t pl_net_room_bytes(const pl_net_shape *shape, uint64_t most) {
    uint64_t floats = 0;
    for (unsigned l = 0; l <= shape->layers; l++)
        floats += 2 * most * stride_at(shape, l);
    return floats * sizeof(float);
}

/* Inputs that are 0 become -scale x shift, which dense rows are filled with first. */
static void fill_base(pl_net_room *room) {
    const pl_net_inputs *inputs = room->inputs;
    for (uint64_t j = 0; j < inputs->columns; j++) {
        uint32_t to = inputs->input ? inputs->input[j] : (uint32_t)j;
        if (to != UINT32_MAX)
            room->base[to] = -(inputs->scale ? inputs->scale[j] : inputs->factor) * inputs->shift[j];
    }
}

parley_status pl_net_room_open(pl_net_room *room, const pl_net_shape *shape, const pl_net_inputs *inputs, uint64_t most,
                               bool backwards, parley_error *error) {
    *room = (pl_net_room){.shape = shape, .inputs = inputs, .most = most};
    uint64_t floats = 0, first = inputs->sparse ? 1 : 0;
    for (unsigned l = (unsigned)first; l <= shape->layers; l++)
        floats += (backwards && l > 0 ? 2 : 1) * most * stride_at(shape, l);
    parley_status status = pl_take(&room->memory, floats + PL_NET_PAD, sizeof(float), "a batch", error);
    if (status == PARLEY_OK)
        status = pl_take(&room->log_sum, most, sizeof(double), "a batch", error);
    if (status == PARLEY_OK && inputs->sparse)
        status = pl_take(&room->start, most + 1, sizeof(uint32_t), "a batch", error);
    if (status == PARLEY_OK && inputs->shift)
        status = pl_take(&room->base, stride_at(shape, 0), sizeof(float), "a batch", error);
    if (status == PARLEY_OK && inputs->shift)
        fill_base(room);
    float *at = room->memory;
    for (unsigned l = (unsigned)first; l <= shape->layers && status == PARLEY_OK; l++) {
        room->a[l] = at;
        at += most * stride_at(shape, l);
        if (!backwards || l == 0)
            continue;
        room->d[l] = at;
        at += most * stride_at(shape, l);
    }
    return status;
}

void pl_net_room_close(pl_net_room *room) {
    pl_free(room->memory);
    pl_free(room->log_sum);
    pl_free(room->start);
    pl_free(room->base);
    pl_span_free(&room->index);
    pl_span_free(&room->value);
    *room = (pl_net_room){0};
}

static uint32_t number_of(const pl_net_inputs *inputs, uint32_t column) {
    if (column >= inputs->columns)
        return UINT32_MAX;
    return inputs->input ? inputs->input[column] : column;
}

static float input_of(const pl_net_inputs *inputs, const pl_matrix *x, uint64_t e) {
    uint32_t column = x->index[e];
    double whole = pl_value_at(x->values, e);
    float value = (float)(inputs->shift ? whole - (double)inputs->shift[column] : whole);
    return value * (inputs->scale ? inputs->scale[column] : inputs->factor);
}

static bool gather_sparse(pl_net_room *room, const pl_matrix *x, const uint64_t *rows, uint64_t first) {
    const pl_net_inputs *inputs = room->inputs;
    uint64_t entries = 0;
    for (uint64_t r = 0; r < room->rows; r++) {
        uint64_t i = rows ? rows[r] : first + r;
        entries += x->start[i + 1] - x->start[i];
    }
    if (entries >= UINT32_MAX || !pl_span_reserve(&room->index, (entries + 1) * sizeof(uint32_t)) ||
        !pl_span_reserve(&room->value, (entries + 1) * sizeof(float)))
        return false;
    uint32_t *index = room->index.data, at = 0;
    float *value = room->value.data;
    for (uint64_t r = 0; r < room->rows; r++) {
        uint64_t i = rows ? rows[r] : first + r;
        room->start[r] = at;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            uint32_t to = number_of(inputs, x->index[e]);
            if (to == UINT32_MAX)
                continue;
            index[at] = to;
            value[at++] = input_of(inputs, x, e);
        }
    }
    room->start[room->rows] = at;
    return true;
}

static void gather_dense(pl_net_room *room, const pl_matrix *x, const uint64_t *rows, uint64_t first) {
    const pl_net_inputs *inputs = room->inputs;
    uint64_t stride = stride_at(room->shape, 0);
    for (uint64_t r = 0; r < room->rows; r++) {
        uint64_t i = rows ? rows[r] : first + r;
        float *to = room->a[0] + r * stride;
        if (room->base)
            memcpy(to, room->base, stride * sizeof *to);
        else
            memset(to, 0, stride * sizeof *to);
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            uint32_t input = number_of(inputs, x->index[e]);
            if (input != UINT32_MAX)
                to[input] = input_of(inputs, x, e);
        }
    }
}

bool pl_net_gather(pl_net_room *room, const pl_matrix *x, const uint64_t *rows, uint64_t first, uint64_t count) {
    room->rows = count;
    if (room->inputs->sparse)
        return gather_sparse(room, x, rows, first);
    gather_dense(room, x, rows, first);
    return true;
}

static pl_net_rows sparse_rows(const pl_net_room *room) {
    return (pl_net_rows){room->rows, room->start, room->index.data, room->value.data};
}

/* Four units are decided by one random number, each by sixteen bits. Kept units are multiplied by `kept`. */
static void drop_units(float *a, uint64_t count, uint32_t limit, float kept, pl_stream stream) {
    for (uint64_t i = 0; i < count; i += 4) {
        uint64_t bits = pl_random_inline(&stream);
        for (unsigned j = 0; j < 4; j++, bits >>= 16)
            a[i + j] = (bits & 0xffff) < limit ? 0.0F : a[i + j] * kept;
    }
}

static uint32_t drop_limit(float drop) { return (uint32_t)(drop * 65536.0F); }

static float drop_factor(float drop) { return 65536.0F / (65536.0F - (float)drop_limit(drop)); }

static void drop_forward(pl_net_room *room, unsigned l, pl_stream *stream) {
    uint64_t seed = pl_random(stream);
    room->drawn[l] = pl_stream_make(seed, l, 0);
    drop_units(room->a[l], room->rows * stride_at(room->shape, l), drop_limit(room->drop), drop_factor(room->drop),
               room->drawn[l]);
}

void pl_net_forward(pl_net_room *room, const float *w, float drop, pl_stream *stream) {
    const pl_net_shape *shape = room->shape;
    room->drop = drop;
    for (unsigned l = 0; l < shape->layers; l++) {
        uint64_t stride = pl_net_stride_of(shape, l), in = stride_at(shape, l);
        const float *weight = w + shape->weight_in[l];
        bool last = l + 1 == shape->layers;
        if (l == 0 && room->inputs->sparse) {
            pl_net_rows x = sparse_rows(room);
            pl_net_sparse_forward(&x, weight, stride, room->a[1]);
        } else
            pl_multiply((pl_floats_of){room->a[l], in, false}, (pl_floats_of){weight, stride, false}, room->rows,
                        shape->width[l], shape->width[l + 1], false, room->a[l + 1], stride);
        pl_net_activate(last ? PL_IDENTITY : shape->activation, w + shape->bias_in[l], room->rows, stride,
                        room->a[l + 1]);
        if (!last && drop > 0)
            drop_forward(room, l + 1, stream);
    }
}

static float weight_of(const pl_net_targets *targets, uint64_t r) {
    return targets->weight ? targets->weight[r] : 1.0F;
}

/* -ln p of the label; its derivative is p, less 1 at the label. */
static double softmax_losses(pl_net_room *room, const pl_net_targets *targets, float factor) {
    uint64_t outputs = room->shape->width[room->shape->layers], stride = stride_at(room->shape, room->shape->layers);
    const float *z = room->a[room->shape->layers];
    float *d = room->d[room->shape->layers];
    double sum = 0;
    memcpy(d, z, room->rows * stride * sizeof *d);
    pl_net_softmax(room->rows, outputs, stride, d, room->log_sum);
    for (uint64_t r = 0; r < room->rows; r++, d += stride, z += stride) {
        float weight = weight_of(targets, r), each = weight * factor;
        sum += (double)weight * (room->log_sum[r] - (double)z[targets->kind[r]]);
        d[targets->kind[r]] -= 1.0F;
        for (uint64_t o = 0; o < outputs; o++)
            d[o] *= each;
    }
    return sum;
}

/* Half the squared error, summed over outputs. */
static double squared_losses(pl_net_room *room, const pl_net_targets *targets, float factor) {
    uint64_t outputs = room->shape->width[room->shape->layers], stride = stride_at(room->shape, room->shape->layers);
    const float *z = room->a[room->shape->layers];
    float *d = room->d[room->shape->layers];
    double sum = 0;
    for (uint64_t r = 0; r < room->rows; r++, d += stride, z += stride)
        for (uint64_t o = 0; o < outputs; o++) {
            float off = z[o] - targets->real[r * outputs + o], weight = weight_of(targets, r);
            sum += 0.5 * (double)weight * (double)off * (double)off;
            d[o] = off * weight * factor;
        }
    return sum;
}

double pl_net_losses(pl_net_room *room, const pl_net_targets *targets, float factor) {
    return room->shape->loss == PL_NET_SOFTMAX ? softmax_losses(room, targets, factor)
                                               : squared_losses(room, targets, factor);
}

/* Slopes are computed from the outputs as they were before units were dropped. */
static void through_activation(pl_net_room *room, unsigned l) {
    const pl_net_shape *shape = room->shape;
    uint64_t count = room->rows * stride_at(shape, l);
    if (room->drop > 0) {
        float kept = drop_factor(room->drop);
        drop_units(room->d[l], count, drop_limit(room->drop), kept, room->drawn[l]);
        drop_units(room->a[l], count, drop_limit(room->drop), 1.0F / kept, room->drawn[l]);
    }
    pl_net_slope(shape->activation, room->a[l], count, room->d[l]);
}

void pl_net_backward(pl_net_room *room, const float *w, bool add, float *g) {
    const pl_net_shape *shape = room->shape;
    for (unsigned l = shape->layers; l-- > 0;) {
        uint64_t stride = pl_net_stride_of(shape, l), in = stride_at(shape, l);
        float *weight = g + shape->weight_in[l];
        const float *d = room->d[l + 1];
        if (l == 0 && room->inputs->sparse) {
            pl_net_rows x = sparse_rows(room);
            if (!add)
                memset(weight, 0, shape->width[0] * stride * sizeof *weight);
            pl_net_sparse_backward(&x, d, stride, weight);
        } else
            pl_multiply((pl_floats_of){room->a[l], in, true}, (pl_floats_of){d, stride, false}, shape->width[l],
                        room->rows, shape->width[l + 1], add, weight, stride);
        pl_net_sum_rows(d, room->rows, stride, add, g + shape->bias_in[l]);
        if (l == 0)
            break;
        pl_multiply((pl_floats_of){d, stride, false}, (pl_floats_of){w + shape->weight_in[l], stride, true}, room->rows,
                    shape->width[l + 1], shape->width[l], false, room->d[l], in);
        through_activation(room, l);
    }
}
