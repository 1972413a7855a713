/* presets.h: methods with a name. */
#ifndef PL_PRESETS_H
#define PL_PRESETS_H

#include "train/train.h"

/* The preset as which another one continues after `epochs` passes over the data. With `if_slow` it does so only if, at
 * the pace of the last passes, it would need twice as many more. */
typedef struct pl_sequel {
    const char *then; /* NULL: there is none */
    double epochs;
    bool if_slow;
} pl_sequel;

/* Presets for different problems may have the same name. */
typedef struct pl_preset {
    const char *name, *help;
    const pl_problem_type *problem; /* the problem that it is for; NULL: any */
    const pl_local_type *local;     /* NULL: chosen when data are known */
    const pl_combine_type *combine;
    const pl_exchange_type *exchange;
    pl_pair defaults[4];             /* defaults of settings that differ in this preset */
    const pl_local_type *by_columns; /* the local solver of its form by columns; NULL if there is none */
    const pl_stream_type *stream;    /* learns from streams, instead of the three members */
    pl_sequel sequel;
} pl_preset;

/* members.c */
extern const pl_preset pl_presets[];
extern const unsigned pl_presets_count;

/* Returns the preset of this name for the problem or, if there is none, one for another problem, or NULL. */
const pl_preset *pl_preset_find(const char *name, const pl_problem_type *problem);
/* The method for streams that these settings name, or NULL. */
const pl_stream_type *pl_stream_of(const parley_settings *settings);
/* Returns the preset that `auto` stands for, or the first one with the members that the user named. Returns `auto`
 * itself while data are not known (`problem` NULL), and NULL with an error if there is no such preset. */
const pl_preset *pl_preset_choose(const parley_settings *settings, const pl_problem *problem, parley_error *error);
/* Returns the preset's local solver, by rows or by columns, whichever suits the problem. */
const pl_local_type *pl_preset_local(const pl_preset *preset, const parley_settings *settings,
                                     const pl_problem *problem);

/* method.c: checks names, and what the settings of the problem say together, and fills in what they imply. */
parley_status pl_settings_check(parley_settings *settings, parley_error *error);
/* Finds the members that checked settings name. `local` is NULL for `auto` while `problem` is NULL. Applies the
 * preset's defaults to `settings`. Rejects combinations that cannot work and options that no member reads, and names
 * the nearest remedy. */
parley_status pl_method_choose(parley_settings *settings, const pl_problem *problem, pl_method *method,
                               parley_error *error);
/* Both. */
parley_status pl_method_resolve(parley_settings *settings, const pl_problem *problem, pl_method *method,
                                parley_error *error);
/* Finds the second method, which follows `first`, and its settings: those that were given, without the options that
 * only the first method reads. */
parley_status pl_method_next(const parley_settings *asked, const pl_problem *problem, const pl_method *first,
                             parley_settings *settings, pl_method *method, parley_error *error);

#endif
