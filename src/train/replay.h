/* replay.h: repeats a run bit for bit from its log, which supplies what the clock or the user decided. */
#ifndef PL_REPLAY_H
#define PL_REPLAY_H

#include <stdbool.h>
#include <stdio.h>

#include "data/data.h"
#include "shard/team.h"

#define PL_REPLAY_CHANGES 32

/* As what the run went on after a round. */
typedef struct pl_replay_change {
    uint64_t round;
    char preset[32];
    unsigned workers, lanes; /* 0: as before */
} pl_replay_change;

typedef struct pl_replay {
    uint64_t rounds;                            /* number of rounds in the log */
    double *epochs;                             /* H of each round */
    double *objective;                          /* after each round; NaN where the log has null */
    pl_replay_change change[PL_REPLAY_CHANGES]; /* after these rounds */
    unsigned changes;
    bool ended;                /* there is a stop line; otherwise the run was killed */
    bool seconds, interrupted; /* stopped by the clock, perhaps, or by the user */
} pl_replay;

/* Reads the log `settings->replay`. Settings that were not given are taken from the log. Fails if the log has other
 * settings or data, and names the difference. */
parley_status pl_replay_open(pl_replay *replay, parley_settings *settings, const parley_data *data,
                             uint64_t fingerprint, parley_error *error);
/* The same from an open file. `settings->replay` is its name. */
parley_status pl_replay_read(pl_replay *replay, FILE *file, parley_settings *settings, const parley_data *data,
                             uint64_t fingerprint, parley_error *error);
/* The change after a round, or NULL. */
const pl_replay_change *pl_replay_changed(const pl_replay *replay, uint64_t round);
void pl_replay_close(pl_replay *replay);

#endif
