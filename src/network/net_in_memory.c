/* net_in_memory.c: networks for programs that use the library. */
#include <math.h>
#include <string.h>

#include "network/net.h"

int parley_model_network(const parley_model *base, parley_network *out) {
    const pl_net_model *model = pl_net_model_of(base);
    *out = (parley_network){0};
    if (!model)
        return 0;
    *out = (parley_network){.layers = model->shape.layers,
                            .activation = pl_activation_name(model->shape.activation),
                            .labels = model->labels,
                            .targets = model->targets,
                            .steps = model->remembered.steps,
                            .first = model->remembered.first,
                            .second = model->remembered.second,
                            .optimiser = model->remembered.kind};
    memcpy(out->width, model->shape.width, sizeof out->width);
    for (unsigned l = 0; l < out->layers; l++) {
        out->weight[l] = model->weight[l];
        out->bias[l] = model->bias[l];
    }
    return 1;
}

static bool is_valid(const parley_network *given, pl_net_shape *shape) {
    uint64_t outputs = given->layers >= 1 && given->layers <= PL_NET_LAYERS ? given->width[given->layers] : 0;
    bool valid = outputs > 0 && given->activation && (given->labels ? outputs > 1 : given->targets == outputs - 1);
    unsigned f = 0;
    while (valid && f < 4 && strcmp(pl_activation_name((pl_activation)f), given->activation) != 0)
        f++;
    *shape = (pl_net_shape){.layers = given->layers,
                            .activation = (pl_activation)f,
                            .loss = given->labels ? PL_NET_SOFTMAX : PL_NET_SQUARED};
    for (unsigned l = 0; valid && l <= given->layers; l++) {
        shape->width[l] = given->width[l];
        valid = given->width[l] > 0;
    }
    for (uint64_t c = 0; valid && given->labels && c < outputs; c++)
        valid = isfinite(given->labels[c]) && (c == 0 || given->labels[c - 1] < given->labels[c]);
    for (unsigned l = 0; valid && l < given->layers; l++) {
        for (uint64_t i = 0; valid && i < given->width[l] * given->width[l + 1]; i++)
            valid = isfinite(given->weight[l][i]);
        for (uint64_t o = 0; valid && o < given->width[l + 1]; o++)
            valid = isfinite(given->bias[l][o]);
    }
    return valid && f < 4;
}

static parley_status remember(const parley_network *given, pl_net_model *model, parley_error *error) {
    uint64_t bytes = model->shape.size * sizeof(double);
    if (given->steps == 0 || !given->first || !given->second)
        return PARLEY_OK;
    parley_status status = pl_net_model_remember(model, given->optimiser, given->steps, error);
    if (status != PARLEY_OK)
        return status;
    memcpy(model->remembered.first, given->first, bytes);
    memcpy(model->remembered.second, given->second, bytes);
    return status;
}

parley_status parley_network_new(const parley_network *given, parley_model **out, parley_error *error) {
    pl_net_shape shape;
    pl_net_model *model;
    uint32_t *target;
    *out = NULL;
    if (!is_valid(given, &shape))
        return pl_fail(
            error, PARLEY_BAD_USAGE,
            "a network needs 1 to %d layers of finite weights, an activation, and increasing labels or as many "
            "targets as outputs",
            PL_NET_LAYERS);
    pl_net_shape_place(&shape);
    parley_status status = pl_take(&target, given->targets + 1, sizeof *target, "targets", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t t = 0; t < given->targets; t++)
        target[t] = (uint32_t)(given->width[0] + t);
    status = pl_net_model_new(&shape, given->width[0] + given->targets, given->labels, target, given->targets, &model,
                              error);
    pl_free(target);
    if (status != PARLEY_OK)
        return status;
    for (unsigned l = 0; l < shape.layers; l++) {
        memcpy(model->weight[l], given->weight[l], shape.width[l] * shape.width[l + 1] * sizeof(float));
        memcpy(model->bias[l], given->bias[l], shape.width[l + 1] * sizeof(float));
    }
    pl_net_model_pad(model);
    status = remember(given, model, error);
    if (status == PARLEY_OK)
        *out = &model->base;
    else
        parley_model_free(&model->base);
    return status;
}
