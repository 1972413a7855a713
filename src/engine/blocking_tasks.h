/* blocking_tasks.h: tasks that may block on each other, for engines whose tasks are threads of one process. */
#ifndef PL_BLOCKING_TASKS_H
#define PL_BLOCKING_TASKS_H

#include "engine/engine.h"

parley_status pl_run_blocking(pl_engine *engine, pl_task task, void *context, unsigned tasks, parley_error *error);
/* A task calls these before and after it blocks, so that another one can compute in the meantime. */
void pl_blocking_leave(void);
void pl_blocking_enter(void);
/* A task that has computed for a while lets those that wait for a place compute. */
void pl_blocking_yield(void);

#endif
