/* guard.h: a process that sees to it that one which MPI started comes to an end. */
#ifndef PARLEY_GUARD_H
#define PARLEY_GUARD_H

/* In a process that MPI started, with others: returns in a child of it, which is the one to do the work. */
void guard_start(double deadline);
void guard_ending(int code); /* nothing is left to do but to end */

#endif
