/* clock.c: the monotonic clock. */
#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <time.h>

static double read_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double pl_now(void) { return read_clock(CLOCK_MONOTONIC); }

double pl_cpu_now(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

double pl_cpu_of_thread(pthread_t thread) {
    clockid_t clock;
    return pthread_getcpuclockid(thread, &clock) == 0 ? read_clock(clock) : 0.0;
}

void pl_sleep(double seconds) {
    double whole = floor(seconds);
    struct timespec left = {.tv_sec = (time_t)whole, .tv_nsec = (long)(1e9 * (seconds - whole))};
    while (seconds > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

struct timespec pl_after(double seconds) {
    double when = read_clock(CLOCK_REALTIME) + seconds, whole = floor(when);
    return (struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)(1e9 * (when - whole))};
}
