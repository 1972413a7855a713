/* clock.h: seconds on a clock that never goes back. */
#ifndef PL_CLOCK_H
#define PL_CLOCK_H

#include <pthread.h>
#include <time.h>

double pl_now(void);
/* Seconds of processors that this process has used, with all its threads. */
double pl_cpu_now(void);
double pl_cpu_of_thread(pthread_t thread); /* the same of one thread, which has not been joined */
void pl_sleep(double seconds);
/* So many seconds from now, on the clock that pthread_cond_timedwait goes by. */
struct timespec pl_after(double seconds);

#endif
