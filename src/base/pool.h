/* pool.h: threads that run numbered tasks. Any thread may run a task, so its result may depend only on its number. A
 * run started inside a task runs immediately on the same thread. */
#ifndef PL_POOL_H
#define PL_POOL_H

#include <stdbool.h>

#include "base/status.h"

typedef struct pl_pool pl_pool;
typedef void (*pl_task)(void *context, unsigned task);

unsigned pl_pool_cores(const pl_pool *pool); /* cores that the pool may use; its threads may be pinned to one each */
unsigned pl_cores(void);                     /* cores that this process may use */
/* Lists the cores, one bit each; all 0: unknown. */
#define PL_CORE_WORDS 16
void pl_cores_list(uint64_t bits[PL_CORE_WORDS]);
/* `threads` 0: one per core that this process may use. */
parley_status pl_pool_open(pl_pool **out, unsigned threads, parley_error *error);
unsigned pl_pool_threads(const pl_pool *pool);
/* Binds the only thread of the pool to a core until the pool is closed. Returns false if there are more threads or it
 * fails. */
bool pl_pool_keep_to(pl_pool *pool, unsigned core);
/* Give this thread back the cores that it had before a pool pinned it, and pin it again. */
void pl_core_leave(void);
void pl_core_return(void);
double pl_pool_cpu(const pl_pool *pool); /* CPU seconds of its threads, without the caller's */
void pl_pool_run(pl_pool *pool, pl_task task, void *context, unsigned tasks); /* returns when all tasks are done */
void pl_pool_close(pl_pool *pool);

#endif
