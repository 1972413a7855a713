/* file.h: files that appear complete or not at all. They are written under a temporary name in the same folder, synced
 * and renamed. Pipes and devices are written directly. */
#ifndef PL_FILE_H
#define PL_FILE_H

#include "base/status.h"

typedef enum pl_compression { PL_NOT_COMPRESSED, PL_TO_GZIP, PL_TO_ZSTD } pl_compression;

typedef struct pl_file pl_file;

/* `path` "-" is standard output. */
parley_status pl_file_open(const char *path, pl_compression compression, pl_file **out, parley_error *error);
parley_status pl_file_write(pl_file *file, const void *bytes, uint64_t count, parley_error *error);
/* If `status` is PARLEY_OK, completes the file and renames it, else removes it. Frees `file`, which may be NULL.
 * Returns `status`, or the failure to complete the file. */
parley_status pl_file_close(pl_file *file, parley_status status, parley_error *error);

/* Allocation functions for zlib and libzstd that use base/memory.h. */
void *pl_gzip_take(void *opaque, unsigned count, unsigned size);
void *pl_zstd_take(void *opaque, size_t bytes);
void pl_packed_free(void *opaque, void *memory);

#endif
