/* source.h: the text of an input in waves of whole lines: windows of a mapped file, or buffers that a thread fills
 * ahead from a pipe or a compressed file. */
#ifndef PL_SOURCE_H
#define PL_SOURCE_H

#include "base/status.h"
#include "data/decode.h"

typedef struct pl_source pl_source;

/* A wave is the next `wave_bytes` up to a newline, or one line if that is longer. */
parley_status pl_source_open(const char *path, uint64_t wave_bytes, pl_source **out, parley_error *error);
/* The same for text in memory, which is copied; `name` is for messages. */
parley_status pl_source_memory(const void *text, uint64_t bytes, const char *name, uint64_t wave_bytes, pl_source **out,
                               parley_error *error);
/* The next wave, which lasts until the next call; `*bytes` is 0 at the end. PL_TEXT_MARGIN bytes after it can be read,
 * and are NUL when its last line has no newline. */
parley_status pl_source_next(pl_source *source, const char **text, uint64_t *bytes, parley_error *error);
void pl_source_close(pl_source *source);

const char *pl_source_name(const pl_source *source);
pl_content pl_source_content(const pl_source *source);
/* Bytes of the file, 0 when not known, and how many of them were used up to the end of this wave. */
uint64_t pl_source_size(const pl_source *source);
uint64_t pl_source_used(const pl_source *source);

#endif
