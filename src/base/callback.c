/* callback.c: calls functions of the caller. */
#include "base/callback.h"

#include "base/pool.h"

int pl_call_back(parley_callback callback, void *user, const parley_progress *progress, const char *message) {
    pl_core_leave();
    int answer = callback(user, progress, message);
    pl_core_return();
    return answer;
}
