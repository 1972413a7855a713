/* mpi_calls.h: the few calls of an MPI library that Parley makes, as a table. mpi_calls.c is built once for each
 * library, as a module that is loaded if MPI started the process. The program itself needs no MPI library. */
#ifndef PL_MPI_CALLS_H
#define PL_MPI_CALLS_H

#include <stdint.h>

#define PL_MPI_SYMBOL "pl_mpi_calls"
#define PL_MPI_CALLS 1 /* version of this table */

typedef struct pl_mpi_request {
    uint64_t word;
} pl_mpi_request;

/* Calls return 0, or an error code that `text` explains. Only `begin` waits for other processes. */
typedef struct pl_mpi {
    unsigned version;
    const char *library;
    int (*begin)(unsigned *rank, unsigned *ranks);
    int (*send)(const void *data, int bytes, unsigned to, int tag, pl_mpi_request *request);
    int (*receive)(void *data, int bytes, unsigned from, int tag, pl_mpi_request *request);
    /* Whether the request is complete; for a receive, `bytes` is the length. */
    int (*test)(pl_mpi_request *request, int *done, int *bytes);
    /* Whether a message with this tag has arrived from any rank, and its length. */
    int (*probe)(int tag, int *found, unsigned *from, int *bytes);
    /* MPI is finalised when the process ends, unless it is abandoned: after a failure, finalising would wait for lost
     * ranks. */
    void (*abandon)(void);
    void (*text)(int code, char *text, unsigned size);
} pl_mpi;

#endif
