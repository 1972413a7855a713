/* topic_settings.h: the settings of topic models. */
#ifndef PL_TOPIC_SETTINGS_H
#define PL_TOPIC_SETTINGS_H

#include "base/settings.h"

typedef enum pl_sampler { PL_SAMPLER_AUTO, PL_DENSE, PL_SPARSE } pl_sampler;
typedef enum pl_topic_inference { PL_COLLAPSED, PL_VARIATIONAL } pl_topic_inference;

/* As in parley_settings, `auto` is NaN, 0 or "auto". */
typedef struct pl_topic_settings {
    uint64_t topics;
    double topic_alpha, eta;  /* NaN: learnt */
    uint64_t topic_inference; /* pl_topic_inference */
    double tau0, kappa, inner_tolerance;
    uint64_t inner_steps, burn_in;
    uint64_t sampler; /* pl_sampler */
    double documents; /* NaN: those of the data */
} pl_topic_settings;

extern const pl_settings_wing pl_topic_wing;
extern const pl_settings_table pl_topic_settings_all;

static inline const pl_topic_settings *pl_topic_settings_of(const parley_settings *settings) {
    return pl_settings_room((parley_settings *)settings, &pl_topic_wing);
}

static inline pl_topic_settings *pl_topic_settings_in(parley_settings *settings) {
    return pl_settings_room(settings, &pl_topic_wing);
}

#endif
