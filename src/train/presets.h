/* presets.h: the methods that have a name. */
#ifndef PL_PRESETS_H
#define PL_PRESETS_H

#include "train/train.h"

typedef struct pl_preset {
    const char *name, *help;
    const pl_problem_type *problem; /* that it is for; NULL: any */
    const pl_local_type *local;     /* NULL: chosen when the data are known */
    const pl_combine_type *combine;
    const pl_exchange_type *exchange;
    pl_pair defaults[4];             /* settings that the preset sees differently, unless the user gave them */
    const pl_local_type *by_columns; /* the local solver of its form by columns; NULL: it has none */
    const pl_stream_type *stream;    /* learns rows as they pass, in place of the three members */
} pl_preset;

/* A preset that goes on as another one after so many passes over the data; or `if_slow`, when by the pace of the last
 * so many passes it would take twice as many more. */
typedef struct pl_sequel {
    const char *preset, *then;
    double epochs;
    bool if_slow;
} pl_sequel;

/* registry.c */
extern const pl_preset pl_presets[];
extern const unsigned pl_presets_count;
extern const pl_sequel pl_sequels[];
extern const unsigned pl_sequels_count;

const pl_preset *pl_preset_find(const char *name); /* or NULL */
const pl_sequel *pl_sequel_find(const char *name); /* of the preset, or NULL */
/* The preset that `auto` stands for, or, where the user named members that it does not have, the first that has them.
 * NULL: there is none, and the sentence says why; `auto` itself while the data are not known (`problem` NULL). */
const pl_preset *pl_preset_choose(const parley_settings *settings, const pl_problem *problem, parley_error *error);
/* The preset's local solver: of its two forms, by rows and by columns, that which suits the problem. */
const pl_local_type *pl_preset_local(const pl_preset *preset, const parley_settings *settings,
                                     const pl_problem *problem);

/* method.c: finds the members that the settings name: local is NULL for `auto` while `problem` is NULL. Applies the
 * preset's defaults to `settings`. Refuses what cannot work together, and options that nobody would read, naming the
 * nearest that can. */
parley_status pl_method_resolve(parley_settings *settings, const pl_problem *problem, pl_method *method,
                                parley_error *error);
/* The method that follows `first`, and the settings it is run with: those that were asked for, less the options that
 * the first one reads, which are its own. */
parley_status pl_method_next(const parley_settings *asked, const pl_problem *problem, const pl_method *first,
                             parley_settings *settings, pl_method *method, parley_error *error);

#endif
