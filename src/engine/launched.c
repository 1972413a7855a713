/* launched.c: MPICH's mpiexec, and other launchers with PMI-1 such as `parley launch`, set PMI_*; Open MPI's mpiexec
 * sets OMPI_*. */
#define _POSIX_C_SOURCE 200809L /* unsetenv */
#include "engine/launched.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const mpich[] = {"PMI_RANK", "PMI_ID", "PMI_FD", "PMI_PORT"};

const char *pl_launched_module(void) {
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        return "parley-openmpi.so";
    for (unsigned i = 0; i < sizeof mpich / sizeof *mpich; i++)
        if (getenv(mpich[i]))
            return "parley-mpich.so";
    return NULL;
}

#define MOST_NAMES 3

/* The number in the first of these variables that is set. */
static int number(const char *const names[MOST_NAMES], int otherwise) {
    for (unsigned i = 0; i < MOST_NAMES && names[i]; i++) {
        const char *text = getenv(names[i]);
        if (text && *text)
            return atoi(text);
    }
    return otherwise;
}

int pl_launched_rank(void) {
    static const char *const names[MOST_NAMES] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMI_ID"};
    return number(names, -1);
}

int pl_launched_ranks(void) {
    static const char *const names[MOST_NAMES] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    return number(names, 1);
}

unsigned pl_launched_here(void) {
    static const char *const names[MOST_NAMES] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PARLEY_RANKS_HERE"};
    int here = number(names, 1);
    return here > 1 ? (unsigned)here : 1;
}

int pl_launched_starter(void) {
    static const char *const names[MOST_NAMES] = {"PMI_FD"};
    return number(names, -1);
}

int pl_launched_parent(void) {
    static const char *const names[MOST_NAMES] = {"PARLEY_PARENT"};
    return number(names, -1);
}

void pl_launched_job(char *text, size_t size) {
    const char *launch = getenv("PARLEY_LAUNCH"), *job = getenv("SLURM_JOB_ID");
    const char *attempt = getenv("SLURM_RESTART_COUNT");
    if (launch)
        snprintf(text, size, "%s", launch);
    else
        snprintf(text, size, "%s%s%s%s", job ? "slurm-" : "", job ? job : "", job ? "/" : "",
                 job ? (attempt ? attempt : "0") : "");
}

bool pl_launched_by_parley(void) { return getenv("PARLEY_RANKS_HERE") != NULL; }

const char *pl_launched_from(void) { return getenv("PARLEY_FROM"); }

void pl_launched_joined(void) {
    static const char *const names[MOST_NAMES] = {"PARLEY_GUARD"};
    int guard = number(names, -1);
    if (guard >= 0 && write(guard, "s", 2) != 2)
        unsetenv("PARLEY_GUARD");
}

const char *pl_launched_folder(void) { return getenv("PARLEY_MODULES"); }
