/* mpi_calls.c: the table of calls for the MPI library that this is compiled with. This is the only file that includes
 * one. */
#include <mpi.h>

#include "engine/mpi_calls.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI
#define LIBRARY "Open MPI"
#else
#define LIBRARY "MPICH"
#endif

_Static_assert(sizeof(MPI_Request) <= sizeof(pl_mpi_request), "a request fits");

static MPI_Request load(const pl_mpi_request *from) {
    MPI_Request request;
    memcpy(&request, from, sizeof request);
    return request;
}

static void store(MPI_Request request, pl_mpi_request *to) { memcpy(to, &request, sizeof request); }

static bool abandoned;

static void finish(void) {
    if (!abandoned)
        MPI_Finalize();
}

static int start(void) {
    int given, code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
    if (code == MPI_SUCCESS && atexit(finish) != 0)
        code = MPI_ERR_OTHER;
    return code;
}

/* Calls come from one thread at a time. */
static int begin(unsigned *rank, unsigned *ranks) {
    int begun = 0, mine, all, code = MPI_Initialized(&begun);
    if (code == MPI_SUCCESS && !begun)
        code = start();
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(MPI_COMM_WORLD, &mine);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(MPI_COMM_WORLD, &all);
    if (code == MPI_SUCCESS) {
        *rank = (unsigned)mine;
        *ranks = (unsigned)all;
    }
    return code;
}

static int send(const void *data, int bytes, unsigned to, int tag, pl_mpi_request *out) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Isend(data, bytes, MPI_BYTE, (int)to, tag, MPI_COMM_WORLD, &request);
    store(request, out);
    return code;
}

static int receive(void *data, int bytes, unsigned from, int tag, pl_mpi_request *out) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Irecv(data, bytes, MPI_BYTE, (int)from, tag, MPI_COMM_WORLD, &request);
    store(request, out);
    return code;
}

static int test(pl_mpi_request *of, int *done, int *bytes) {
    MPI_Request request = load(of);
    MPI_Status status;
    int code = MPI_Test(&request, done, &status);
    store(request, of);
    if (code == MPI_SUCCESS && *done && bytes)
        code = MPI_Get_count(&status, MPI_BYTE, bytes);
    return code;
}

static int probe(int tag, int *found, unsigned *from, int *bytes) {
    MPI_Status status;
    int code = MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, found, &status);
    if (code != MPI_SUCCESS || !*found)
        return code;
    *from = (unsigned)status.MPI_SOURCE;
    return MPI_Get_count(&status, MPI_BYTE, bytes);
}

static void abandon(void) { abandoned = true; }

static void text(int code, char *text, unsigned size) {
    char words[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(code, words, &length) != MPI_SUCCESS)
        length = 0;
    if ((unsigned)length >= size)
        length = (int)size - 1;
    memcpy(text, words, (size_t)length);
    text[length] = '\0';
}

extern const pl_mpi pl_mpi_calls; /* the only symbol of the module */
const pl_mpi pl_mpi_calls = {
    .version = PL_MPI_CALLS,
    .library = LIBRARY,
    .begin = begin,
    .send = send,
    .receive = receive,
    .test = test,
    .probe = probe,
    .abandon = abandon,
    .text = text,
};
