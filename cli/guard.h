/* guard.h: a parent process that makes sure that a process started by MPI ends. */
#ifndef PARLEY_GUARD_H
#define PARLEY_GUARD_H

/* In a process that MPI started with others, forks and returns in the child, which does the work. */
void guard_start(double deadline);
void guard_ending(int code); /* tells the guard that the process is about to exit */

#endif
