/* source.h: delivers the text of an input in windows of whole lines or records. They are read from their positions in a
 * plain file, or are buffers that a thread fills from a pipe or a compressed file. */
#ifndef PL_SOURCE_H
#define PL_SOURCE_H

#include "base/pool.h"
#include "base/status.h"
#include "data/cut.h"
#include "data/decode.h"

#define PL_LONGEST_LINE ((uint64_t)256 << 20) /* bytes of a line or record; longer ones are refused */
#define PL_TEXT_MARGIN 64                     /* readable bytes after a text; NUL after the last line of a file */

typedef struct pl_source pl_source;

/* A window is the next `window_bytes` up to a newline, or one line if that is longer. */
parley_status pl_source_open(const char *path, uint64_t window_bytes, pl_source **out, parley_error *error);
/* The same for text in memory, which is copied; `name` is for messages. */
parley_status pl_source_memory(const void *text, uint64_t bytes, const char *name, uint64_t window_bytes,
                               pl_source **out, parley_error *error);
/* Returns the first `wanted` bytes, or all if there are fewer (`*whole`). It may be called several times before the
 * first window and does not consume the text. PL_TEXT_MARGIN bytes after the text are readable. */
parley_status pl_source_head(pl_source *source, uint64_t wanted, const char **text, uint64_t *bytes, bool *whole,
                             parley_error *error);
/* Must be called before the first window. `skip` must lie within a head that was asked for. */
void pl_source_cut(pl_source *source, pl_cut cut);
/* Restricts an uncompressed file to the lines or records that begin in [begin, end). Call it after pl_source_cut. If
 * quotes matter, `spots` says what `begin` and `end` are. */
parley_status pl_source_limit(pl_source *source, uint64_t begin, uint64_t end, const pl_spot spots[2],
                              parley_error *error);
/* Finds what `end` of an uncompressed file is for each spot that `begin` may be. Call it after pl_source_cut. */
parley_status pl_source_walk(pl_source *source, uint64_t begin, uint64_t end, pl_spot to[PL_SPOTS],
                             parley_error *error);
/* Lets the threads of a pool, which belongs to the calling thread, read plain files. */
void pl_source_share(pl_source *source, pl_pool *pool);
/* Returns the next window, which is valid until the next call; `*bytes` is 0 at the end. Fails if a line or record has
 * more than PL_LONGEST_LINE bytes, or if a plain file was changed since it was opened, at the latest at its end.
 * PL_TEXT_MARGIN bytes after it
 * are readable, and they are NUL if its last line has no newline. */
parley_status pl_source_next(pl_source *source, const char **text, uint64_t *bytes, parley_error *error);
void pl_source_close(pl_source *source);

/* The failure of a line or record that is too long, after `lines` lines. */
parley_status pl_source_too_long(const pl_source *source, uint64_t lines, parley_error *error);
const char *pl_source_name(const pl_source *source);
pl_content pl_source_content(const pl_source *source);
/* The size of the file, 0 if unknown, and how many of its bytes were used up to the end of this window. */
uint64_t pl_source_size(const pl_source *source);
uint64_t pl_source_used(const pl_source *source);

#endif
