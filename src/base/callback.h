/* callback.h: calls functions of the caller. */
#ifndef PL_CALLBACK_H
#define PL_CALLBACK_H

#include "parley.h"

/* Calls the callback on all cores that the caller may use, because threads and processes that it starts would inherit
 * the core to which a pool has pinned this thread. */
int pl_call_back(parley_callback callback, void *user, const parley_progress *progress, const char *message);

#endif
