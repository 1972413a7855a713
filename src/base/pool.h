/* pool.h: threads that run numbered tasks. Which thread runs a task is left open, so a task may depend on its number
 * only. A run that is started from inside a task is done at once, on the thread that asked. */
#ifndef PL_POOL_H
#define PL_POOL_H

#include <stdbool.h>

#include "base/status.h"

typedef struct pl_pool pl_pool;
typedef void (*pl_task)(void *context, unsigned task);

unsigned pl_pool_cores(const pl_pool *pool); /* that it may use: its own threads may be bound to one each */
unsigned pl_cores(void);                     /* that this process may use */
/* Which they are, a bit for each; all 0: not known. */
#define PL_CORE_WORDS 16
void pl_cores_list(uint64_t bits[PL_CORE_WORDS]);
/* `threads` 0: one per core that this process may use. */
parley_status pl_pool_open(pl_pool **out, unsigned threads, parley_error *error);
unsigned pl_pool_threads(const pl_pool *pool);
/* Binds its only thread to a core until it is closed; false: there are more, or it cannot be. */
bool pl_pool_keep_to(pl_pool *pool, unsigned core);
double pl_pool_cpu(const pl_pool *pool); /* processor seconds of its threads, without the caller's */
void pl_pool_run(pl_pool *pool, pl_task task, void *context, unsigned tasks); /* returns when all are done */
void pl_pool_close(pl_pool *pool);

#endif
