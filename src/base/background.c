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
static const void *next_item(pl_background *this) {
    const void *item = NULL;
    pthread_mutex_lock(&this->lock);
    while (this->count == 0 && !this->ends)
        pthread_cond_wait(&this->asked, &this->lock);
    if (!this->ends) {
        item = this->items[this->first];
        this->first = (this->first + 1) % WAITING;
        this->count--;
    }
    pthread_mutex_unlock(&this->lock);
    return item;
}

static void *run(void *argument) {
    pl_background *this = argument;
    for (const void *item; (item = next_item(this));)
        this->job(this->context, item);
    return NULL;
}

parley_status pl_background_open(pl_job_in_background job, const void *context, pl_background **out,
                                 parley_error *error) {
    pl_background *this;
    *out = NULL;
    parley_status status = pl_take(&this, 1, sizeof *this, "a thread", error);
    if (status != PARLEY_OK)
        return status;
    this->job = job;
    this->context = context;
    pthread_mutex_init(&this->lock, NULL);
    pthread_cond_init(&this->asked, NULL);
    pl_core_leave(); /* the thread may run on any core */
    bool started = pthread_create(&this->thread, NULL, run, this) == 0;
    pl_core_return();
    if (!started) {
        pl_free(this);
        return pl_fail(error, PARLEY_NO_MEMORY, "cannot start a thread that reads ahead");
    }
    *out = this;
    return PARLEY_OK;
}

bool pl_background_ask(pl_background *this, const void *item) {
    bool room = false;
    if (!this)
        return false;
    pthread_mutex_lock(&this->lock);
    if (this->count < WAITING) {
        this->items[(this->first + this->count++) % WAITING] = item;
        room = true;
        pthread_cond_signal(&this->asked);
    }
    pthread_mutex_unlock(&this->lock);
    return room;
}

void pl_background_close(pl_background *this) {
    if (!this)
        return;
    pthread_mutex_lock(&this->lock);
    this->ends = true;
    pthread_cond_signal(&this->asked);
    pthread_mutex_unlock(&this->lock);
    pthread_join(this->thread, NULL);
    pthread_cond_destroy(&this->asked);
    pthread_mutex_destroy(&this->lock);
    pl_free(this);
}
