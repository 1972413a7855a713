/* background.c: a ring of items, and the thread that takes them. */
#include "base/background.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/pool.h"

#define WAITING 256 /* at most */

struct pl_background {
    pl_job_in_background job;
    const void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    const void *items[WAITING];
    unsigned first, count;
    bool ends;
};

/* Returns the next item, or NULL at the end. */
static const void *next_item(pl_background *self) {
    const void *item = NULL;
    pthread_mutex_lock(&self->lock);
    while (self->count == 0 && !self->ends)
        pthread_cond_wait(&self->asked, &self->lock);
    if (!self->ends) {
        item = self->items[self->first];
        self->first = (self->first + 1) % WAITING;
        self->count--;
    }
    pthread_mutex_unlock(&self->lock);
    return item;
}

static void *run(void *argument) {
    pl_background *self = argument;
    for (const void *item; (item = next_item(self));)
        self->job(self->context, item);
    return NULL;
}

parley_status pl_background_open(pl_job_in_background job, const void *context, pl_background **out,
                                 parley_error *error) {
    pl_background *self;
    *out = NULL;
    parley_status status = pl_take(&self, 1, sizeof *self, "a thread", error);
    if (status != PARLEY_OK)
        return status;
    self->job = job;
    self->context = context;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->asked, NULL);
    pl_core_leave(); /* the thread may run on any core */
    bool started = pthread_create(&self->thread, NULL, run, self) == 0;
    pl_core_return();
    if (!started) {
        pl_free(self);
        return pl_fail(error, PARLEY_NO_MEMORY, "cannot start a thread that reads ahead");
    }
    *out = self;
    return PARLEY_OK;
}

bool pl_background_ask(pl_background *self, const void *item) {
    bool room = false;
    if (!self)
        return false;
    pthread_mutex_lock(&self->lock);
    if (self->count < WAITING) {
        self->items[(self->first + self->count++) % WAITING] = item;
        room = true;
        pthread_cond_signal(&self->asked);
    }
    pthread_mutex_unlock(&self->lock);
    return room;
}

void pl_background_close(pl_background *self) {
    if (!self)
        return;
    pthread_mutex_lock(&self->lock);
    self->ends = true;
    pthread_cond_signal(&self->asked);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    pthread_cond_destroy(&self->asked);
    pthread_mutex_destroy(&self->lock);
    pl_free(self);
}
