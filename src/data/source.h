/* source.h: the text of an input in waves of whole lines or records: windows of a mapped file, or buffers that a thread
 * fills ahead from a pipe or a compressed file. */
#ifndef PL_SOURCE_H
#define PL_SOURCE_H

#include "base/status.h"
#include "data/decode.h"

#define PL_TEXT_MARGIN 64 /* bytes after a text that can be read; NUL after the last line of a file */

typedef struct pl_source pl_source;

/* Where an input may be cut, after its first `skip` bytes. */
typedef struct pl_cut {
    uint64_t skip;
    uint64_t record; /* bytes of a record; 0: lines */
    bool quotes;     /* newlines between quotes end no line */
} pl_cut;

/* A wave is the next `wave_bytes` up to a newline, or one line if that is longer. */
parley_status pl_source_open(const char *path, uint64_t wave_bytes, pl_source **out, parley_error *error);
/* The same for text in memory, which is copied; `name` is for messages. */
parley_status pl_source_memory(const void *text, uint64_t bytes, const char *name, uint64_t wave_bytes, pl_source **out,
                               parley_error *error);
/* The first `wanted` bytes, or all when there are fewer (`*whole`); they can be asked for before the first wave, also
 * repeatedly, and are not used up. Text after them can be read as after a wave. */
parley_status pl_source_head(pl_source *source, uint64_t wanted, const char **text, uint64_t *bytes, bool *whole,
                             parley_error *error);
/* To be told before the first wave. `skip` must lie within a head that was asked for. */
void pl_source_cut(pl_source *source, pl_cut cut);
/* Reads the lines or records that begin in [begin, end) only; of a plain file, and after pl_source_cut. Where quotes
 * matter, `quoted` says whether `begin`, and whether `end`, lies between them. */
void pl_source_limit(pl_source *source, uint64_t begin, uint64_t end, const bool quoted[2]);
/* Are there oddly many quotes in [begin, end) of a plain file? */
bool pl_source_odd_quotes(const pl_source *source, uint64_t begin, uint64_t end);
/* The end of the first line or record that ends at or after `from`, or NULL; `text` begins one. */
const char *pl_cut_after(pl_cut cut, const char *text, const char *from, const char *end);
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
