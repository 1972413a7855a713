/* straggler.h: makes workers slow, for experiments: some of their clocks take a multiple of the time. */
#ifndef PL_STRAGGLER_H
#define PL_STRAGGLER_H

#include "method/local.h"

typedef struct pl_straggler {
    double share, factor; /* the share of clocks that are slow, and how many times as long they take; 1: none */
    bool one;             /* instead, all clocks of one worker */
    unsigned worker;
    double pause; /* seconds of every clock, before slow ones are stretched */
    uint64_t seed;
    unsigned hosted; /* workers of this rank, which share its threads */
} pl_straggler;

parley_status pl_straggler_parse(const parley_settings *settings, unsigned hosted, pl_straggler *out,
                                 parley_error *error);
/* How many times as long this clock of the worker takes. It depends on (seed, worker, clock) only. */
double pl_straggler_factor(const pl_straggler *straggler, unsigned worker, uint64_t clock);
/* Pauses for the rest of the time that the update takes, with the pause of every clock, and adds that to its seconds.
 * Where workers take turns on fewer threads, a slow one is slow in relation to the time that they all take. It ends
 * early if the run must stop, or if `failed`, unless that is NULL. */
void pl_straggle(const pl_straggler *straggler, pl_engine *engine, unsigned worker, uint64_t clock, pl_update *update,
                 const atomic_bool *failed);

#endif
