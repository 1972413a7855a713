/* clock.c: the monotonic clock. */
#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <time.h>

double pl_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void pl_sleep(double seconds) {
    double whole = floor(seconds);
    struct timespec left = {.tv_sec = (time_t)whole, .tv_nsec = (long)(1e9 * (seconds - whole))};
    while (seconds > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}
