/* mapped_file.h: maps files that others may change. Reading a page that a truncated file no longer has would end the
 * process by SIGBUS; here it reads as zeros, and the mapping says that its file has changed. */
#ifndef PL_MAPPED_FILE_H
#define PL_MAPPED_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Tells whether a file was changed since. */
typedef struct pl_stamp {
    int64_t bytes, seconds, nanoseconds; /* of the last modification */
} pl_stamp;

bool pl_stamp_take(int file, pl_stamp *stamp); /* false: fstat failed */
/* Fails if the open file `path` is not as it was when the stamp was taken. */
parley_status pl_stamp_check(int file, const pl_stamp *stamp, const char *path, parley_error *error);

typedef struct pl_mapped_file {
    char *data; /* NULL: not open, or an empty file */
    uint64_t bytes;
    int file; /* -1: `data` are a copy */
    pl_stamp stamp;
    atomic_bool cut;             /* a page was missing, and reads as zeros */
    struct pl_mapped_file *next; /* in the list of mapped files */
} pl_mapped_file;

/* Maps a regular file. `map` must stay where it is until it is closed. */
parley_status pl_mapped_open(pl_mapped_file *map, const char *path, parley_error *error);
/* Replaces the mapping by a copy in memory at the same address, which no change of the file can reach. Its content must
 * be checked afterwards. Fails if the file has changed since it was opened. A sealed memory file stays mapped. */
parley_status pl_mapped_keep(pl_mapped_file *map, const char *path, parley_error *error);
/* Fails if the file has changed since it was opened. Always succeeds for a copy. */
parley_status pl_mapped_check(const pl_mapped_file *map, const char *path, parley_error *error);
void pl_mapped_close(pl_mapped_file *map);

#endif
