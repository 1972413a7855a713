/* blocking_tasks.c: runs each task on its own thread, and limits how many of them compute at a time. */
#include "engine/blocking_tasks.h"

#include <pthread.h>

#include "base/clock.h"

#define TURN 1e-3 /* seconds that a task may compute while others wait for a place */

typedef struct waiter {
    struct waiter *next;
    pthread_cond_t called;
    bool may_go;
} waiter;

/* A counting semaphore for the tasks that may compute at a time. Places are given in the order of asking. */
typedef struct gate {
    pthread_mutex_t mutex;
    waiter *first, **last;
    unsigned places; /* free ones; 0 if somebody waits */
} gate;

static _Thread_local gate *my_gate;     /* the gate of this thread's tasks; NULL if it is not a task */
static _Thread_local double my_entered; /* when this thread got its place */

static void enter(gate *gate) {
    if (!gate)
        return;
    pthread_mutex_lock(&gate->mutex);
    if (gate->places > 0)
        gate->places--;
    else {
        waiter self = {.next = NULL};
        pthread_cond_init(&self.called, NULL);
        *gate->last = &self;
        gate->last = &self.next;
        while (!self.may_go)
            pthread_cond_wait(&self.called, &gate->mutex);
        pthread_cond_destroy(&self.called);
    }
    pthread_mutex_unlock(&gate->mutex);
    my_entered = pl_now();
}

static void leave(gate *gate) {
    if (!gate)
        return;
    pthread_mutex_lock(&gate->mutex);
    waiter *next = gate->first;
    if (next) {
        gate->first = next->next;
        gate->last = gate->first ? gate->last : &gate->first;
        next->may_go = true;
        pthread_cond_signal(&next->called);
    } else
        gate->places++;
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
    started *self = argument;
    my_gate = self->gate;
    enter(my_gate);
    self->task(self->context, self->number);
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
    gate.last = &gate.first;
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
    pthread_mutex_destroy(&gate.mutex);
    pl_free(all);
    return status;
}

void pl_blocking_leave(void) { leave(my_gate); }
void pl_blocking_enter(void) { enter(my_gate); }

void pl_blocking_yield(void) {
    if (!my_gate || pl_now() - my_entered < TURN)
        return;
    leave(my_gate);
    enter(my_gate);
}
