/* blocking_tasks.c: a thread for each task, and a gate that lets only so many of them compute. */
#include "engine/blocking_tasks.h"

#include <pthread.h>

/* Lets at most so many tasks of a conversation compute at a time. */
typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    unsigned places;
} gate;

static _Thread_local gate *my_gate; /* of the conversation that this thread takes part in; NULL: none */

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

typedef struct speaker {
    pthread_t thread;
    gate *gate;
    pl_task task;
    void *context;
    unsigned number;
} speaker;

static void idle(void *context, unsigned task) { (void)context, (void)task; }

static void *speak(void *argument) {
    speaker *speaker = argument;
    my_gate = speaker->gate;
    enter(my_gate);
    speaker->task(speaker->context, speaker->number);
    leave(my_gate);
    return NULL;
}

parley_status pl_converse(pl_engine *engine, pl_task task, void *context, unsigned tasks, parley_error *error) {
    gate gate = {.places = 0}; /* closed until all have begun, or none will */
    speaker *speakers;
    unsigned begun = 0;
    parley_status status = pl_take(&speakers, tasks, sizeof *speakers, "tasks", error);
    if (status != PARLEY_OK)
        return status;
    pthread_mutex_init(&gate.mutex, NULL);
    pthread_cond_init(&gate.opened, NULL);
    for (; begun < tasks && status == PARLEY_OK; begun += status == PARLEY_OK) {
        speakers[begun] = (speaker){.gate = &gate, .task = task, .context = context, .number = begun};
        if (pthread_create(&speakers[begun].thread, NULL, speak, &speakers[begun]) != 0)
            status = pl_fail(error, PARLEY_NO_MEMORY, "cannot start thread %u of %u", begun + 1, tasks);
    }
    if (status != PARLEY_OK)
        for (unsigned i = 0; i < begun; i++)
            speakers[i].task = idle;
    for (unsigned i = 0; i < engine->threads; i++)
        leave(&gate);
    for (unsigned i = 0; i < begun; i++)
        pthread_join(speakers[i].thread, NULL);
    pthread_cond_destroy(&gate.opened);
    pthread_mutex_destroy(&gate.mutex);
    pl_free(speakers);
    return status;
}

void pl_converse_leave(void) { leave(my_gate); }
void pl_converse_enter(void) { enter(my_gate); }
