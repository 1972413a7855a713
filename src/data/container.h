/* container.h: safetensors files, which hold data, models and checkpoints: the length of the header in 8 little-endian
 * bytes, a JSON header, then raw tensors without gaps. */
#ifndef PL_CONTAINER_H
#define PL_CONTAINER_H

#include "base/status.h"
#include "data/names.h"

typedef enum pl_dtype { PL_F64, PL_U64, PL_F32, PL_U32, PL_U8 } pl_dtype;

typedef struct pl_tensor {
    const char *name;
    pl_dtype type;
    unsigned dims; /* 1 or 2 */
    uint64_t shape[2];
    const void *data;
} pl_tensor;

typedef struct pl_pair {
    const char *key, *value;
} pl_pair;

typedef struct pl_container pl_container;

/* Maps a file and checks its header: sizes, offsets, overlaps and types. Tensors are aligned to their type. */
parley_status pl_container_open(const char *path, pl_container **out, parley_error *error);
/* Another process may change the file. pl_container_keep copies it into memory, where it stays as it is and can be
 * checked; it fails if the file has changed since it was opened. The second function does the same without a copy. */
parley_status pl_container_keep(pl_container *container, const char *path, parley_error *error);
parley_status pl_container_unchanged(const pl_container *container, const char *path, parley_error *error);
/* Opens bytes in memory, which must outlive the container; `path` is for messages. */
parley_status pl_container_parse(const void *bytes, uint64_t size, const char *path, pl_container **out,
                                 parley_error *error);
const pl_tensor *pl_container_tensor(const pl_container *container, const char *name); /* or NULL */
unsigned pl_container_tensors(const pl_container *container, const pl_tensor **first);
const char *pl_container_meta(const pl_container *container, const char *key); /* or NULL */
unsigned pl_container_metas(const pl_container *container, const pl_pair **first);
void pl_container_close(pl_container *container);

/* Writes tensors, ordered by decreasing type size, and metadata. The file is written under a temporary name in the same
 * folder, synced and renamed. Its bytes depend only on the arguments. */
parley_status pl_container_write(const char *path, const pl_tensor *tensors, unsigned count, const pl_pair *metas,
                                 unsigned meta_count, parley_error *error);
/* The same for tensors that are too large for memory: the first one has no data, and `row` makes its rows. */
typedef void (*pl_tensor_row)(const void *context, uint64_t row, void *out);
parley_status pl_container_write_rows(const char *path, const pl_tensor *tensors, unsigned count, const pl_pair *metas,
                                      unsigned meta_count, pl_tensor_row row, const void *context, parley_error *error);

/* The same bytes in memory, which the caller frees with pl_free. */
parley_status pl_container_pack(const pl_tensor *tensors, unsigned count, const pl_pair *metas, unsigned meta_count,
                                void **out, uint64_t *size, parley_error *error);

/* Names are stored as two tensors, `name_start` (U64, count + 1) and `name` (U8), and those of classes as `class_start`
 * and `class`. Tensors without names are left out. */
void pl_names_put_starts(const pl_names *names, const pl_names *classes, pl_tensor *tensors, unsigned *count);
void pl_names_put_texts(const pl_names *names, const pl_names *classes, pl_tensor *tensors, unsigned *count);
/* Points `out` at the names stored under `name`. Returns false if their shape is wrong or there are more than `most`.
 */
bool pl_names_get(const pl_container *container, const char *name, uint64_t most, pl_names *out);

#endif
