/* read_ahead.h: a reader that parses the next batch on its own threads while the caller uses the current one. */
#ifndef PL_AHEAD_H
#define PL_AHEAD_H

#include "data/data.h"

typedef struct pl_read_ahead pl_read_ahead;

/* `reading` must outlive the reader. `threads` includes the caller's thread; with one thread, batches are parsed on
 * demand. */
parley_status pl_read_ahead_open(const char *path, const pl_reading *reading, unsigned threads, pl_read_ahead **out,
                                 parley_error *error);
/* Like pl_reader_next: the batch is valid until the next call, and NULL at the end. */
parley_status pl_read_ahead_next(pl_read_ahead *ahead, const parley_data **batch, parley_error *error);
void pl_read_ahead_close(pl_read_ahead *ahead); /* may be called at any time, also with NULL */

#endif
