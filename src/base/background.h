/* background.h: small jobs in the order in which they were asked for, on a thread of their own. */
#ifndef PL_BACKGROUND_H
#define PL_BACKGROUND_H

#include <stdbool.h>

#include "base/status.h"

typedef struct pl_background pl_background;
typedef void (*pl_job_in_background)(const void *context, const void *item);

/* All jobs get `context`. */
parley_status pl_background_open(pl_job_in_background job, const void *context, pl_background **out,
                                 parley_error *error);
/* Asks for a job. If very many are waiting, or `background` is NULL, the caller is not kept waiting: false. */
bool pl_background_ask(pl_background *background, const void *item);
/* Waits for the job that runs, and drops the others. */
void pl_background_close(pl_background *background); /* NULL is accepted */

#endif
