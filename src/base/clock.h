/* clock.h: seconds on a clock that never goes back. */
#ifndef PL_CLOCK_H
#define PL_CLOCK_H

double pl_now(void);
/* Seconds of processors that this process has used, with all its threads. */
double pl_cpu_now(void);
void pl_sleep(double seconds);

#endif
