/* presets.h: the methods that have a name. */
#ifndef PL_PRESETS_H
#define PL_PRESETS_H

#include "train/train.h"

typedef struct pl_preset {
    const char *name, *help;
    const pl_local_type *local; /* NULL: chosen when the data are known */
    const pl_combine_type *combine;
    const pl_exchange_type *exchange;
    pl_pair defaults[4]; /* settings that the preset sees differently, unless the user gave them */
} pl_preset;

/* A preset that goes on as another one after so many passes over the data; or `if_slow`, when by the pace of the last
 * so many passes it would take twice as many more. */
typedef struct pl_sequel {
    const char *preset, *then;
    double epochs;
    bool if_slow;
} pl_sequel;

extern const pl_preset pl_presets[];
extern const unsigned pl_presets_count;
const pl_preset *pl_preset_find(const char *name); /* or NULL */
const pl_sequel *pl_sequel_find(const char *name); /* of the preset, or NULL */

/* The rule behind `auto`: the preset for a problem of this shape and loss. */
const pl_preset *pl_preset_choose(const pl_glm *glm);

/* The preset's local solver: the two forms of CoCoA, by rows and by columns, are chosen between by shape, loss and
 * penalty. `glm` NULL: by what the settings say. */
const pl_local_type *pl_preset_local(const pl_preset *preset, const parley_settings *settings, const pl_glm *glm);

/* Finds the members that the settings name: local is NULL for `auto` while `glm` is NULL. Applies the preset's defaults
 * to `settings`. Refuses what cannot work together, and options that nobody would read, naming the nearest that can. */
parley_status pl_method_resolve(parley_settings *settings, const pl_glm *glm, pl_method *method, parley_error *error);
/* The method that follows `first`, and the settings it is run with: those that were asked for, less the options that
 * the first one reads, which are its own. */
parley_status pl_method_next(const parley_settings *asked, const pl_glm *glm, const pl_method *first,
                             parley_settings *settings, pl_method *method, parley_error *error);

#endif
