/* checkpoint.h: the whole state of a run in a folder, from which another process can continue. See docs/failures.md.
 *
 * A checkpoint is one file per rank and a manifest that names them, written when all of them exist. Each rank copies
 * its state between two rounds, and a thread writes the copy while training continues. The ranks learn that all files
 * are written from the sums that they compute after every round anyway. */
#ifndef PL_CHECKPOINT_H
#define PL_CHECKPOINT_H

#include <pthread.h>
#include <stdatomic.h>

#include "shard/saved_state.h"

#define PL_MANIFEST_METAS (PL_MOST_SETTINGS + 20)
#define PL_MOST_ROUND (UINT64_C(1) << 53) /* ranks agree on rounds by sums of doubles */
#define PL_RECENT 8                       /* how many checkpoints of a folder are examined, the newest first */

typedef enum pl_saving { PL_IDLE, PL_WRITES_PARTS, PL_WRITES_MANIFEST } pl_saving;

/* The checkpoints of one rank. */
typedef struct pl_checkpoint {
    const char *folder; /* NULL: no checkpoints */
    uint64_t rounds;    /* between two checkpoints; 0: use seconds */
    double seconds;
    bool due;     /* to be written as soon as the last one is on disk */
    bool warned;  /* the user knows that one could not be written */
    double began; /* when the latest one began; its round, and the last complete one's */
    uint64_t round, kept;
    uint64_t id; /* of the run, the same on all ranks, so that files of two runs do not mix */
    unsigned rank, ranks;
    pl_saving phase;
    pl_state state; /* the copy of the state */
    char *texts;    /* values of the settings for the manifest */
    pl_pair metas[PL_MANIFEST_METAS];
    unsigned meta_count, fixed; /* number of pairs, and how many of them stay the same in the whole run */
    char numbers[12][32];       /* values of the other pairs */
    bool running;               /* the thread is writing */
    pthread_t thread;
    atomic_bool finished;
    parley_status status; /* the result of writing */
    parley_error error;
} pl_checkpoint;

/* Parses "50r" or "60s". */
parley_status pl_checkpoint_every(const char *word, uint64_t *rounds, double *seconds, parley_error *error);

/* checkpoint_files.c: the folder. */
void pl_manifest_path(char *path, size_t size, const char *folder, uint64_t round);
/* Lists the newest rounds with a manifest in decreasing order. Returns how many there are, up to PL_RECENT. */
unsigned pl_checkpoint_list(const char *folder, uint64_t *rounds);
bool pl_same_folder(const char *a, const char *b);
/* Creates the folder if necessary. Fails if it cannot be written to. */
parley_status pl_checkpoint_folder(const char *folder, parley_error *error);
/* Does the same for the folder of checkpoints, if there is one. Fails if it holds checkpoints of another run than
 * `resume` names, or if `resume` has no checkpoint, unless both are the same folder. Either may be "". */
parley_status pl_checkpoint_look(const char *folder, const char *resume, parley_error *error);
/* Removes the files of all rounds except these two. */
void pl_checkpoint_prune(const char *folder, uint64_t newest, uint64_t before);
/* Opens the manifest of a round, and checks it and the files of every `step`-th rank, starting at `first`. */
parley_status pl_checkpoint_verify(const char *folder, uint64_t round, unsigned first, unsigned step,
                                   pl_container **manifest, parley_error *error);
/* Returns a number in the manifest, or 0 if it is missing. */
uint64_t pl_manifest_number(const pl_container *manifest, const char *key);

#endif
