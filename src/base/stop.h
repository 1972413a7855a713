/* stop.h: a request to end what this process does, from a signal or from another thread. Reading ends at once. Training
 * ends after the current round or, if that takes longer than a second, drops it in the middle of any pass over data;
 * the best model so far is kept. */
#ifndef PL_STOP_H
#define PL_STOP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"

#define PL_STOP_GRACE 1.0 /* seconds in which a round may end as usual */

extern atomic_bool pl_stop_flag;

/* A signal handler may call it. A second request leaves the round no more time. */
void pl_stop_ask(void);
/* Another rank of the run was asked. This is no second request if this one is asked too. */
void pl_stop_join(void);
static inline bool pl_stop_asked(void) { return atomic_load_explicit(&pl_stop_flag, memory_order_relaxed); }
/* Whether a round must end now. Every pass over data asks often and then leaves the rest out; the answer stays true
 * until the run ends, so the sums that follow such a pass can tell all ranks (pl_team_sum). */
bool pl_stop_late(void);
static inline bool pl_stop_due(void) { return pl_stop_asked() && pl_stop_late(); }
/* Report that reading, or other work that leads to no model, was stopped. */
parley_status pl_fail_stopped(parley_error *error);
parley_status pl_fail_unfinished(parley_error *error);
static inline parley_status pl_stop_check(parley_error *error) {
    return pl_stop_due() ? pl_fail_unfinished(error) : PARLEY_OK;
}

/* Around every call that can be stopped. A request made while there is no such call is forgotten. */
void pl_stop_enter(void);
parley_status pl_stop_leave(parley_status status); /* returns `status` */

#endif
