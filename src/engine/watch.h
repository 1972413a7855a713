/* watch.h: detects failed ranks, which MPI does not. Every rank keeps a TCP connection to rank 0, with a thread at
 * either end: a process that ends closes it, one that is stopped or cut off sends no more heartbeats, and the first
 * cause of a failure reaches all ranks through it. */
#ifndef PL_WATCH_H
#define PL_WATCH_H

#include <stdbool.h>

#include "base/status.h"

#define PL_WATCH_ADDRESS 512
#define PL_WATCH_HOST 64

typedef struct pl_watch pl_watch;

/* Rank 0 begins to listen, at the address that it leaves in `address`, for this machine alone if all are `here`; the
 * others join there; and rank 0 returns from pl_watch_gather when all have come. */
parley_status pl_watch_listen(pl_watch **out, unsigned ranks, bool here, double deadline,
                              char address[PL_WATCH_ADDRESS], parley_error *error);
parley_status pl_watch_gather(pl_watch *watch, parley_error *error);
parley_status pl_watch_join(pl_watch **out, unsigned rank, unsigned ranks, double deadline, const char *address,
                            parley_error *error);

/* Has any rank failed? Then `error` is the first cause, the same on all of them. */
bool pl_watch_failed(pl_watch *watch, parley_error *error);
/* Tells that this rank cannot go on, or that `from` has kept it waiting for too long; returns when the first cause is
 * known, which may be another. */
void pl_watch_fail(pl_watch *watch, const parley_error *error);
void pl_watch_late(pl_watch *watch, unsigned from);
/* From here on this rank waits for another; its own number: no more. */
void pl_watch_waits(pl_watch *watch, unsigned from);
unsigned pl_watch_speaker(pl_watch *watch); /* the rank that prints the failure */
/* After a failure: the speaker lets the others go, and they wait for that, for a little while. */
void pl_watch_part(pl_watch *watch);
void pl_watch_close(pl_watch *watch);

#endif
