/* lock.h: at most one run writes a file or a folder of checkpoints. A lock is a file beside it, NAME.lock or
 * FOLDER/parley.lock, which the owner keeps locked with flock until it ends, however it ends. The file says who the
 * owner is. See docs/failures.md. */
#ifndef PL_LOCK_H
#define PL_LOCK_H

#include "base/status.h"

typedef struct pl_lock pl_lock;

/* Takes the lock of a file or a folder. Fails with a sentence that names the owner if another run has it. `*out` is
 * NULL where nothing is to be locked: the path is "" or "-", names a pipe or device, or is in a folder without write
 * access.
 *
 * `job` is "JOB/ATTEMPT", or "" if the run has none. A later attempt of the same job is started when the one before it
 * has ended, so it never loses against it: it waits up to `patience` seconds for its processes to be gone. */
parley_status pl_lock_take(const char *path, const char *job, double patience, pl_lock **out, parley_error *error);
/* Fails if pl_lock_take would fail now because another run has the lock. Changes nothing. */
parley_status pl_lock_look(const char *path, const char *job, parley_error *error);
/* Removes the lock; it may be NULL. */
void pl_lock_free(pl_lock *lock);

#endif
