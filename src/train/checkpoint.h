/* checkpoint.h: the whole state of a run in a folder, from which another process can go on. docs/checkpoints.md.
 *
 * A checkpoint is a file of each rank and, written when all of them are there, one that names them. What a rank holds
 * is copied between two rounds and written by a thread of its own while training goes on; that all are written the
 * ranks find out in the sums that they make after every round anyway. */
#ifndef PL_CHECKPOINT_H
#define PL_CHECKPOINT_H

#include <pthread.h>
#include <stdatomic.h>

#include "shard/saved_state.h"

#define PL_MANIFEST_METAS (PL_MOST_SETTINGS + 16)
#define PL_RECENT 8 /* checkpoints in a folder that are looked at, from the newest on */

typedef enum pl_saving { PL_IDLE, PL_WRITES_PARTS, PL_WRITES_MANIFEST } pl_saving;

/* Saving, on one rank. */
typedef struct pl_checkpoint {
    const char *folder; /* NULL: no checkpoints are wanted */
    uint64_t rounds;    /* between two; 0: by seconds */
    double seconds;
    bool due;     /* when the disk has taken the last one */
    bool warned;  /* that one could not be written */
    double began; /* the latest: when, and its round; where that is kept, and the round before that is */
    uint64_t round, kept;
    uint64_t id; /* of the run, alike on all ranks: files of two runs do not mix */
    unsigned rank, ranks;
    pl_saving phase;
    pl_state state; /* the copy */
    char *texts;    /* of the settings, which the manifest names */
    pl_pair metas[PL_MANIFEST_METAS];
    unsigned meta_count, fixed; /* how many of them hold for the whole run */
    char numbers[10][32];       /* texts of the others */
    bool running;               /* the thread */
    pthread_t thread;
    atomic_bool finished;
    parley_status status; /* of what it wrote */
    parley_error error;
} pl_checkpoint;

/* How often: "50r" or "60s". */
parley_status pl_checkpoint_every(const char *word, uint64_t *rounds, double *seconds, parley_error *error);

/* checkpoint_files.c: the folder. */
void pl_manifest_path(char *path, size_t size, const char *folder, uint64_t round);
/* The newest rounds that have a manifest, falling; returns how many, up to PL_RECENT. */
unsigned pl_checkpoint_list(const char *folder, uint64_t *rounds);
bool pl_same_folder(const char *a, const char *b);
/* Makes the folder for checkpoints, if it is not there, and refuses one with those of another run than `resume` names;
 * refuses to go on where there is nothing to go on from, unless it is the same folder. "" are none. */
parley_status pl_checkpoint_look(const char *folder, const char *resume, parley_error *error);
/* Removes whatever belongs to other rounds than these two. */
void pl_checkpoint_prune(const char *folder, uint64_t newest, uint64_t before);
/* Opens the manifest of a round, and checks it and the files of every `step`-th rank from `first` on. */
parley_status pl_checkpoint_verify(const char *folder, uint64_t round, unsigned first, unsigned step,
                                   pl_container **manifest, parley_error *error);
/* A number among the manifest's texts; 0: there is none. */
uint64_t pl_manifest_number(const pl_container *manifest, const char *key);

#endif
