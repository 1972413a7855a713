/* blocking_tasks.h: tasks that may wait for each other, for engines whose ranks are driven by threads of one process.
 */
#ifndef PL_BLOCKING_TASKS_H
#define PL_BLOCKING_TASKS_H

#include "engine/engine.h"

parley_status pl_converse(pl_engine *engine, pl_task task, void *context, unsigned tasks, parley_error *error);
/* Around a wait: lets another task of the conversation, if there is one, compute meanwhile. */
void pl_converse_leave(void);
void pl_converse_enter(void);

#endif
