/* blocking_tasks.c: runs each task on its own thread, and limits how many of them compute at a time. */
#include "engine/blocking_tasks.h"

#include <pthread.h>

/* A counting semaphore for the tasks that may compute at a time. */
typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    unsigned places;
} gate;

static _Thread_local gate *my_gate; /* the gate of this thread's tasks; NULL if it is not a task */

static void enter(gate *gate) {
    if (!gate)
        return;
    pthread_mutex_lock(&gate->mutex);
    while (gate->places == 0)
        pthread_cond_wait(&gate->opened, &gate->mutex);
    gate->places--;
    pthread_mutex_unlock(&gate->mutex);
}

static void leave(gate *gate) {
    if (!gate)
        return;
    pthread_mutex_lock(&gate->mutex);
    gate->places++;
    pthread_cond_signal(&gate->opened);
    pthread_mutex_unlock(&gate->mutex);
}

typedef struct started {
    pthread_t thread;
    gate *gate;
    pl_task task;
    void *context;
    unsigned number;
} started;

static void idle(void *context, unsigned task) { (void)context, (void)task; }

static void *run_task(void *argument) {
    started *this = argument;
    my_gate = this->gate;
    enter(my_gate);
    this->task(this->context, this->number);
    leave(my_gate);
    return NULL;
}

parley_status pl_run_blocking(pl_engine *engine, pl_task task, void *context, unsigned tasks, parley_error *error) {
    gate gate = {.places = 0}; /* closed until all threads have started, or until one cannot */
    started *all;
    unsigned begun = 0;
    parley_status status = pl_take(&all, tasks, sizeof *all, "tasks", error);
    if (status != PARLEY_OK)
        return status;
    pthread_mutex_init(&gate.mutex, NULL);
    pthread_cond_init(&gate.opened, NULL);
    for (; begun < tasks && status == PARLEY_OK; begun += status == PARLEY_OK) {
        all[begun] = (started){.gate = &gate, .task = task, .context = context, .number = begun};
        if (pthread_create(&all[begun].thread, NULL, run_task, &all[begun]) != 0)
            status = pl_fail(error, PARLEY_NO_MEMORY, "cannot start thread %u of %u", begun + 1, tasks);
    }
    if (status != PARLEY_OK)
        for (unsigned i = 0; i < begun; i++)
            all[i].task = idle;
    for (unsigned i = 0; i < engine->threads; i++)
        leave(&gate);
    for (unsigned i = 0; i < begun; i++)
        pthread_join(all[i].thread, NULL);
    pthread_cond_destroy(&gate.opened);
    pthread_mutex_destroy(&gate.mutex);
    pl_free(all);
    return status;
}

void pl_blocking_leave(void) { leave(my_gate); }
void pl_blocking_enter(void) { enter(my_gate); }
