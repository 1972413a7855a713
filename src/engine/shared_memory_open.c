/* shared_memory_open.c: shared memory for processes. Rank 0 creates it as an unnamed file, and the others open it
 * through its descriptor in rank 0. The kernel frees it however the processes end. */
#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/shared_memory.h"

#define CHANNEL_SHARED 20
#define ARENA ((uint64_t)1 << 30) /* bytes of each rank, of which only written pages take memory */

/* How the others find the memory and recognise it. */
typedef struct address {
    int64_t process;
    int64_t file; /* -1 if there is none */
    uint64_t device, number;
} address;

static void *map(int file, uint64_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Writing a file beyond the limit would end the process. */
static bool may_be_so_large(uint64_t bytes) {
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY || most.rlim_cur >= bytes;
}

static void *make(int *file, uint64_t bytes, address *address) {
    struct stat state;
    if (!may_be_so_large(bytes))
        return NULL;
    *file = memfd_create("parley", MFD_CLOEXEC);
    if (*file < 0 || ftruncate(*file, (off_t)bytes) != 0 || fstat(*file, &state) != 0)
        return NULL;
    void *memory = map(*file, bytes);
    if (memory)
        *address = (struct address){getpid(), *file, state.st_dev, state.st_ino};
    return memory;
}

static void *find(int *file, uint64_t bytes, const address *address) {
    struct stat state;
    char path[64];
    if (address->file < 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)address->process, (long long)address->file);
    *file = open(path, O_RDWR | O_CLOEXEC);
    if (*file < 0 || fstat(*file, &state) != 0 || state.st_dev != address->device || state.st_ino != address->number ||
        (uint64_t)state.st_size != bytes)
        return NULL;
    return map(*file, bytes);
}

static parley_status make_or_find(pl_engine *engine, int *file, void **memory, parley_error *error) {
    uint64_t bytes = pl_shared_bytes(engine->ranks, ARENA);
    address address = {.file = -1};
    parley_status status = PARLEY_OK;
    if (engine->rank == 0)
        *memory = make(file, bytes, &address);
    else
        status = engine->type->take(engine, 0, CHANNEL_SHARED, &address, sizeof address, error);
    for (unsigned r = 1; r < engine->ranks && engine->rank == 0 && status == PARLEY_OK; r++)
        status = engine->type->post(engine, r, CHANNEL_SHARED, &address, sizeof address, error);
    if (engine->rank > 0 && status == PARLEY_OK)
        *memory = find(file, bytes, &address);
    return status;
}

parley_status pl_shared_open(pl_engine *engine, parley_error *error) {
    pl_shared *shared = NULL;
    void *memory = NULL;
    int file = -1;
    if (engine->ranks > PL_SHARED_RANKS)
        return PARLEY_OK;
    parley_status status = make_or_find(engine, &file, &memory, error);
    if (memory)
        pl_shared_pin(&(pl_shared){.header = memory, .rank = engine->rank}, engine->pinned);
    double here = memory != NULL, all = 0;
    if (status == PARLEY_OK) /* if one rank cannot see it, none uses it */
        status = pl_sum_workers(engine, PL_EACH_RANK, &here, 1, &all, error);
    if (status == PARLEY_OK)
        status = pl_take(&shared, 1, sizeof *shared, "shared memory", error);
    if (file >= 0)
        close(file);
    if (status == PARLEY_OK && all == engine->ranks) {
        *shared = pl_shared_of(memory, engine->rank, engine->ranks, ARENA);
        engine->shared = shared;
        return PARLEY_OK;
    }
    if (memory)
        munmap(memory, pl_shared_bytes(engine->ranks, ARENA));
    pl_free(shared);
    return status;
}

void pl_shared_close(pl_shared *shared) {
    if (shared)
        munmap(shared->header, pl_shared_bytes(shared->ranks, ARENA));
    pl_free(shared);
}
