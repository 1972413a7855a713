/* clock.h: the monotonic clock, in seconds. */
#ifndef PL_CLOCK_H
#define PL_CLOCK_H

#include <pthread.h>
#include <time.h>

double pl_now(void);
/* CPU seconds used by all threads of this process. */
double pl_cpu_now(void);
double pl_cpu_of_thread(pthread_t thread); /* the same of one thread, which has not been joined */
void pl_sleep(double seconds);
/* The time `seconds` from now, on the clock that pthread_cond_timedwait uses. */
struct timespec pl_after(double seconds);

#endif
