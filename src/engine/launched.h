/* launched.h: how this process was started, according to its environment. */
#ifndef PL_LAUNCHED_H
#define PL_LAUNCHED_H

#include <stdbool.h>
#include <stddef.h>

/* The module for the MPI library whose launcher started this process, such as "parley-mpich.so"; NULL without a
 * launcher. */
const char *pl_launched_module(void);
/* The number of this process among those started; -1 if unknown. */
int pl_launched_rank(void);
/* How many processes were started; 1 if unknown. */
int pl_launched_ranks(void);
/* How many of them run on this machine; 1 if unknown. */
unsigned pl_launched_here(void);
/* The descriptor for PMI-1 with MPICH's launcher or `parley launch`; -1 if there is none. */
int pl_launched_starter(void);
/* The process without which this one must not run; -1 if there is none. */
int pl_launched_parent(void);
/* "JOB/ATTEMPT" of a run that is started again when it is lost, by `parley launch --restarts` or as a requeued job of
 * Slurm; "" for other runs. */
void pl_launched_job(char *text, size_t size);
/* Was it started by `parley launch`? */
bool pl_launched_by_parley(void);
/* "address:port" of `parley launch` if that runs on another machine, otherwise NULL. */
const char *pl_launched_from(void);
/* Tells the guard of this process, if it has one, that from now on other ranks will notice its end. */
void pl_launched_joined(void);
/* Folders in which to look for modules first, separated by colons, for programs that are not installed. */
const char *pl_launched_folder(void);

#endif
