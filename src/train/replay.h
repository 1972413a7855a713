/* replay.h: repeating a run bit for bit from its log: what the clock or the user decided then is taken from there. */
#ifndef PL_REPLAY_H
#define PL_REPLAY_H

#include <stdbool.h>

#include "data/data.h"
#include "shard/team.h"

typedef struct pl_replay {
    uint64_t rounds;           /* that the log has */
    double *epochs;            /* H of each */
    double *objective;         /* after each; NaN: null */
    bool ended;                /* there is a stop line; else its run was killed */
    bool seconds, interrupted; /* the clock ended it, or may have (a last look found it converged); the user did */
} pl_replay;

/* Reads the log `settings->replay`. Settings that were not given become those of the log; refuses a log of other
 * settings or data, naming what differs. */
parley_status pl_replay_open(pl_replay *replay, parley_settings *settings, const parley_data *data,
                             uint64_t fingerprint, parley_error *error);
void pl_replay_close(pl_replay *replay);

#endif
