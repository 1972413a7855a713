/* watch.h: detects failed ranks, which MPI does not. Every rank keeps a TCP connection to rank 0, with a thread at both
 * ends. The connection of a process that ends is closed, and a process that is stopped or cut off sends no more
 * heartbeats. The first cause of a failure, and a request to stop that one rank got, reach all ranks through these
 * connections. */
#ifndef PL_WATCH_H
#define PL_WATCH_H

#include <stdbool.h>

#include "base/status.h"

#define PL_WATCH_ADDRESS 512
#define PL_WATCH_HOST 64

typedef struct pl_watch pl_watch;

/* Rank 0 listens at the address that it writes to `address`, for this machine only if all ranks are `here`. The others
 * join there, and rank 0 returns from pl_watch_gather when all have joined. */
parley_status pl_watch_listen(pl_watch **out, unsigned ranks, bool here, double deadline,
                              char address[PL_WATCH_ADDRESS], parley_error *error);
parley_status pl_watch_gather(pl_watch *watch, parley_error *error);
parley_status pl_watch_join(pl_watch **out, unsigned rank, unsigned ranks, double deadline, const char *address,
                            parley_error *error);

/* Whether any rank has failed. Then `error` is the first cause, the same on all ranks. */
bool pl_watch_failed(pl_watch *watch, parley_error *error);
/* Reports that this rank has failed, or that `from` has kept it waiting too long. Returns when the first cause is
 * known, which may be another. */
void pl_watch_fail(pl_watch *watch, const parley_error *error);
void pl_watch_late(pl_watch *watch, unsigned from);
/* From now on this rank waits for `from`; its own number means that it does not wait. */
void pl_watch_waits(pl_watch *watch, unsigned from);
unsigned pl_watch_speaker(pl_watch *watch); /* the rank that prints the failure */
/* After a failure the speaker releases the others, and they wait a short time for that. */
void pl_watch_part(pl_watch *watch);
void pl_watch_close(pl_watch *watch);

#endif
