/* ahead.h: a reader that parses the next batch on threads of its own while the present one is at work. */
#ifndef PL_AHEAD_H
#define PL_AHEAD_H

#include "data/data.h"

typedef struct pl_ahead pl_ahead;

/* `reading` must stay. `threads` of this process, of which one is the caller's; with one, batches are parsed when they
 * are asked for. */
parley_status pl_ahead_open(const char *path, const pl_reading *reading, unsigned threads, pl_ahead **out,
                            parley_error *error);
/* As pl_reader_next: valid until the next call, NULL at the end. */
parley_status pl_ahead_next(pl_ahead *ahead, const parley_data **batch, parley_error *error);
void pl_ahead_close(pl_ahead *ahead); /* at any time, NULL too */

#endif
