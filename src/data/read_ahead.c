/* read_ahead.c: two slots. The parser thread fills one with a copy of its reader's batch (for a mapped cache, only with
 * pointers) while the caller uses the other. */
#include "data/read_ahead.h"

#include <pthread.h>
#include <string.h>

typedef struct slot {
    parley_data batch;
    pl_span start, label, weight, index, value;
} slot;

struct pl_read_ahead {
    pl_pool *pool;
    pl_reader *reader;
    const pl_reading *reading;
    unsigned threads;
    char *path;
    bool parallel, running;
    pthread_t parser;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    slot slots[2];
    unsigned filled, taken; /* number of slots so far */
    bool ended, stop;       /* ended: there are no more batches; stop: the caller wants no more */
    parley_status status;
    parley_error error;
};

static bool copy_array(pl_span *span, const void *from, uint64_t count, uint64_t size, const void **to) {
    *to = NULL;
    if (!from)
        return true;
    if (span->bytes < (count + 1) * size && !pl_span_reserve(span, (count + 1) * size))
        return false;
    memcpy(span->data, from, count * size);
    *to = span->data;
    return true;
}

/* Copies a batch. `index` and `value` of text start at entry 0. */
static parley_status keep(slot *slot, const parley_data *batch, parley_error *error) {
    const pl_matrix *x = &batch->x;
    parley_data *copy = &slot->batch;
    *copy = *batch;
    if (batch->from_cache)
        return PARLEY_OK;
    copy->names = copy->classes = (pl_names){0}; /* they grow while the next batch is parsed */
    const void *start, *label, *weight, *index, *value;
    bool wide = x->values.wide != NULL;
    if (!copy_array(&slot->start, x->start, x->rows + 1, sizeof *x->start, &start) ||
        !copy_array(&slot->label, batch->label, x->rows, sizeof *batch->label, &label) ||
        !copy_array(&slot->weight, batch->weight, x->rows, sizeof *batch->weight, &weight) ||
        !copy_array(&slot->index, x->index, x->start[x->rows], sizeof *x->index, &index) ||
        !copy_array(&slot->value, pl_value_memory(x->values), x->start[x->rows], pl_value_bytes(x->values), &value))
        return pl_fail_memory(error, "a batch of rows", x->rows * 16 + x->start[x->rows] * 8);
    copy->x.start = start;
    copy->x.index = index;
    copy->x.values = pl_values_in(value, wide);
    copy->label = label;
    copy->weight = weight;
    return PARLEY_OK;
}

static parley_status open_reader(pl_read_ahead *ahead, unsigned threads, parley_error *error) {
    parley_status status = pl_pool_open(&ahead->pool, threads, error);
    if (status == PARLEY_OK)
        status = pl_reader_open_as(ahead->path, ahead->reading, ahead->pool, &ahead->reader, error);
    return status;
}

/* Waits for an empty slot. Returns false if the caller wants no more. */
static bool await_empty(pl_read_ahead *ahead) {
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->stop && ahead->filled - ahead->taken > 1)
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    bool wanted = !ahead->stop;
    pthread_mutex_unlock(&ahead->mutex);
    return wanted;
}

static void announce(pl_read_ahead *ahead, bool filled, parley_status status) {
    pthread_mutex_lock(&ahead->mutex);
    ahead->filled += filled;
    ahead->ended = !filled;
    ahead->status = status;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
}

/* The pool is opened here, because it belongs to the thread that opens it. */
static void *parse(void *argument) {
    pl_read_ahead *ahead = argument;
    const parley_data *batch = NULL;
    parley_status status = open_reader(ahead, ahead->threads - 1, &ahead->error);
    bool more = status == PARLEY_OK;
    while (more && await_empty(ahead)) {
        status = pl_reader_next(ahead->reader, &batch, &ahead->error);
        if (status == PARLEY_OK && batch)
            status = keep(&ahead->slots[ahead->filled % 2], batch, &ahead->error);
        more = status == PARLEY_OK && batch;
        if (more)
            announce(ahead, true, status);
    }
    announce(ahead, false, status);
    pl_pool_close(ahead->pool);
    ahead->pool = NULL;
    return NULL; /* the reader stays open, because batches may point into it */
}

/* Frees the slot of the previous batch and waits for the next one. */
parley_status pl_read_ahead_next(pl_read_ahead *ahead, const parley_data **batch, parley_error *error) {
    if (!ahead->parallel)
        return pl_reader_next(ahead->reader, batch, error);
    *batch = NULL;
    pthread_mutex_lock(&ahead->mutex);
    if (ahead->running)
        ahead->taken++;
    ahead->running = true;
    pthread_cond_signal(&ahead->changed);
    while (!ahead->ended && ahead->filled == ahead->taken)
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    bool any = ahead->filled != ahead->taken;
    parley_status status = any ? PARLEY_OK : ahead->status;
    pthread_mutex_unlock(&ahead->mutex);
    if (any)
        *batch = &ahead->slots[ahead->taken % 2].batch;
    if (status != PARLEY_OK && error)
        *error = ahead->error;
    return status;
}

parley_status pl_read_ahead_open(const char *path, const pl_reading *reading, unsigned threads, pl_read_ahead **out,
                                 parley_error *error) {
    pl_read_ahead *ahead;
    *out = NULL;
    parley_status status = pl_take(&ahead, 1, sizeof *ahead, "reading", error);
    if (status != PARLEY_OK)
        return status;
    ahead->threads = threads;
    ahead->reading = reading;
    ahead->path = pl_strdup(path);
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    if (!ahead->path)
        status = pl_fail_memory(error, "a file name", strlen(path));
    if (status == PARLEY_OK && threads > 1)
        ahead->parallel = pthread_create(&ahead->parser, NULL, parse, ahead) == 0;
    if (status == PARLEY_OK && !ahead->parallel)
        status = open_reader(ahead, 1, error);
    if (status == PARLEY_OK)
        *out = ahead;
    else
        pl_read_ahead_close(ahead);
    return status;
}

static void free_slot(slot *slot) {
    pl_span *spans[] = {&slot->start, &slot->label, &slot->weight, &slot->index, &slot->value};
    for (unsigned i = 0; i < sizeof spans / sizeof *spans; i++)
        pl_span_free(spans[i]);
}

void pl_read_ahead_close(pl_read_ahead *ahead) {
    if (!ahead)
        return;
    if (ahead->parallel) {
        pthread_mutex_lock(&ahead->mutex);
        ahead->stop = true;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->mutex);
        pthread_join(ahead->parser, NULL);
    }
    pl_reader_close(ahead->reader);
    pl_pool_close(ahead->pool);
    free_slot(&ahead->slots[0]);
    free_slot(&ahead->slots[1]);
    pthread_mutex_destroy(&ahead->mutex);
    pthread_cond_destroy(&ahead->changed);
    pl_free(ahead->path);
    pl_free(ahead);
}
