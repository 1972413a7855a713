/* train.h: the training run, and the names of all its parts. */
#ifndef PL_TRAIN_H
#define PL_TRAIN_H

#include "combine/combine.h"
#include "exchange/exchange.h"
#include "local/local.h"
#include "model/problem.h"

/* A method that learns rows as they pass, one after another, and has no rounds. */
typedef struct pl_stream_type {
    const char *name, *help;
    const char *const *settings; /* optional settings that it reads; ends with NULL */
    parley_status (*check)(const parley_settings *settings, parley_error *error);
} pl_stream_type;

/* A method: a preset's name and the members it stands for. `local` is NULL while `auto` has not seen the data, and in a
 * method that streams. */
typedef struct pl_method {
    const char *preset;
    const pl_local_type *local;
    const pl_combine_type *combine;
    const pl_exchange_type *exchange;
    const pl_engine_type *engine;
    const pl_stream_type *stream;   /* in place of the first three; NULL: there are rounds */
    const struct pl_sequel *sequel; /* what follows; NULL: nothing */
} pl_method;

/* Do workers step in one v in memory, so that nothing is reduced? */
static inline bool pl_method_in_place(const pl_method *method) {
    return !(method->exchange->carries & PL_CARRIES_UPDATES);
}

/* The problem that the settings name. */
const pl_problem_type *pl_settings_problem(const parley_settings *settings);

/* Checks names, combinations and options that would have no effect: everything that can be checked before data are
 * read. parley_train does it again. */
parley_status pl_train_check(const parley_settings *settings, parley_error *error);

/* One rank's part of a run; parley_train is this on one rank. `engine` decides ranks and threads. */
parley_status pl_train_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                            parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                            parley_error *error);

/* The members of a table; kind is one of pl_list_kinds. */
typedef struct pl_entry {
    const char *name, *help;
} pl_entry;
#define PL_ENTRIES 64
/* Fills `entries` (PL_ENTRIES of them) and returns how many; 0: there is no such kind. */
unsigned pl_list(const char *kind, pl_entry *entries);
/* The same, of those that are for a problem; NULL: all. */
unsigned pl_list_for(const pl_problem_type *problem, const char *kind, pl_entry *entries);
extern const char *const pl_list_kinds[]; /* ends with NULL */

#endif
