/* launched.h: who started this process, as its environment says. */
#ifndef PL_LAUNCHED_H
#define PL_LAUNCHED_H

/* The module for the MPI library whose starter it was: "parley-mpich.so"; NULL: no starter, a process of its own. */
const char *pl_launched_module(void);
/* This process's number among those started; -1 where nobody says. */
int pl_launched_rank(void);
/* How many processes were started; 1 where nobody says. */
int pl_launched_ranks(void);
/* And how many of them on this machine; 1 where nobody says. */
unsigned pl_launched_here(void);
/* The descriptor at which MPICH's starter speaks PMI-1 with this process; -1: there is none. */
int pl_launched_starter(void);
/* Tells the guard of this process, if it has one, that from now on other ranks will notice its end. */
void pl_launched_joined(void);
/* Folders in which modules are looked for first, separated by colons: for programs that are not installed. */
const char *pl_launched_folder(void);

#endif
