/* train.h: the training run, and the lists of all members. */
#ifndef PL_TRAIN_H
#define PL_TRAIN_H

#include "base/entry.h"
#include "method/combine.h"
#include "method/exchange.h"
#include "method/local.h"
#include "method/problem.h"

/* A method that learns from a stream row by row and has no rounds. */
typedef struct pl_stream_type {
    const char *name, *help;
    const char *const *settings; /* optional settings that it reads; ends with NULL */
    parley_status (*check)(const parley_settings *settings, parley_error *error);
    /* Learns the rows of data in memory as one batch. */
    parley_status (*learn)(const parley_data *data, const parley_settings *settings, unsigned threads,
                           parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                           parley_error *error);
} pl_stream_type;

/* A method: the name of a preset and its members. `local` is NULL for methods of streams, and for `auto` before data
 * are known. */
typedef struct pl_method {
    const char *preset;
    const pl_local_type *local;
    const pl_combine_type *combine;
    const pl_exchange_type *exchange;
    const pl_stream_type *stream;   /* instead of the first three; NULL if there are rounds */
    const struct pl_sequel *sequel; /* the second method; NULL if there is none */
} pl_method;

/* Whether workers step in one shared v, so that nothing is reduced. */
static inline bool pl_method_in_place(const pl_method *method) {
    return !(method->exchange->carries & PL_CARRIES_UPDATES);
}

/* The problem that the settings name. */
const pl_problem_type *pl_settings_problem(const parley_settings *settings);

/* Checks names, combinations and options without effect, as far as possible before data are read. parley_train checks
 * them again. */
parley_status pl_train_check(const parley_settings *settings, parley_error *error);

/* One rank's part of a run. `engine` determines ranks and threads. */
parley_status pl_train_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                            parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                            parley_error *error);

/* Whether a member for problem `of` (NULL: for any) is for this problem (NULL: for any). */
static inline bool pl_fits(const pl_problem_type *of, const pl_problem_type *problem) {
    return !of || !problem || of == problem;
}

/* placement.c: what `auto` decides for every problem; ends with name NULL. */
extern const pl_decision pl_common_decisions[];

extern const pl_own_list pl_own_lists[]; /* of wings; ends with kind NULL */
#define PL_ENTRIES 64
/* Fills `entries` (room for PL_ENTRIES) and returns their number, which is 0 if there is no such kind. */
unsigned pl_list(const char *kind, pl_entry *entries);
/* The same, for the members of a problem only; NULL: all. */
unsigned pl_list_for(const pl_problem_type *problem, const char *kind, pl_entry *entries);
extern const char *const pl_list_kinds[]; /* ends with NULL */

#endif
