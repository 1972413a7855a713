/* net_settings.h: the settings of networks. */
#ifndef PL_NET_SETTINGS_H
#define PL_NET_SETTINGS_H

#include "base/settings.h"

/* As in parley_settings, `auto` is NaN, 0 or "auto". */
typedef struct pl_net_settings {
    const char *hidden, *targets;
    uint64_t activation, network_loss; /* pl_activation of net_kernel.h; 0: auto, then pl_net_loss + 1 */
    double network_lambda, dropout;
    uint64_t epochs;    /* passes, if it is given */
    uint64_t classes;   /* 0: those of the data */
    double input_scale; /* NaN: 1 / 255 for images, otherwise 1 */
    uint64_t optimiser; /* pl_optimiser_kind of net_kernel.h */
    double momentum, beta1, beta2, optimiser_epsilon;
    double warm_up, decay_every, decay, clip; /* clip 0: none */
} pl_net_settings;

extern const pl_settings_wing pl_net_wing;
extern const pl_settings_table pl_net_settings_all;

static inline const pl_net_settings *pl_net_settings_of(const parley_settings *settings) {
    return pl_settings_room((parley_settings *)settings, &pl_net_wing);
}

static inline pl_net_settings *pl_net_settings_in(parley_settings *settings) {
    return pl_settings_room(settings, &pl_net_wing);
}

#endif
