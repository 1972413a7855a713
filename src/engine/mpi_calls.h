/* mpi_calls.h: the few calls of an MPI library that Parley makes, as a table. mpi.c fills it; it is built once for each
 * library, as a module that is opened when a process was started by MPI: the program itself needs none. */
#ifndef PL_MPI_CALLS_H
#define PL_MPI_CALLS_H

#include <stdint.h>

#define PL_MPI_SYMBOL "pl_mpi_calls"
#define PL_MPI_CALLS 1 /* version of this table */

typedef struct pl_mpi_request {
    uint64_t word;
} pl_mpi_request;

/* Calls return 0, or an error code that `text` explains. None of them waits for another process but begin. */
typedef struct pl_mpi {
    unsigned version;
    const char *library;
    int (*begin)(unsigned *rank, unsigned *ranks);
    int (*send)(const void *data, int bytes, unsigned to, int tag, pl_mpi_request *request);
    int (*receive)(void *data, int bytes, unsigned from, int tag, pl_mpi_request *request);
    /* Is the request done? `bytes`: how many came, of a receive. */
    int (*test)(pl_mpi_request *request, int *done, int *bytes);
    /* Has a message with this tag come, from anybody? How long is it? */
    int (*probe)(int tag, int *found, unsigned *from, int *bytes);
    /* MPI ends with the process, unless it is abandoned: after a failure its end would wait for ranks that are gone. */
    void (*abandon)(void);
    void (*text)(int code, char *text, unsigned size);
} pl_mpi;

#endif
