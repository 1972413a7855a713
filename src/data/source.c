/* source.c: reads windows of text. A window moves over a mapped file and releases the pages behind it, so that text
 * does not accumulate in memory. Streams use two buffers: a thread fills one while the other is parsed. */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */
#include "data/source.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

#define HEAD_STEP ((uint64_t)4 << 10)

typedef struct buffer {
    pl_span span;
    uint64_t held, bytes; /* bytes in the buffer, and bytes of its whole lines */
    uint64_t used;        /* bytes of the file up to this point */
    bool full, last;
    parley_error error; /* the failure that stopped the thread after these lines */
} buffer;

struct pl_source {
    pl_decoder *decoder;
    char *name;
    uint64_t window_bytes, size, used;
    pl_cut cut;
    /* mapped files */
    char *map;
    uint64_t map_bytes, page, dropped; /* dropped: bytes released */
    uint64_t limit;                    /* where reading ends; 0: at the end of the file */
    /* streams */
    pthread_t thread;
    bool streamed, threaded, taken; /* threaded: the thread runs; taken: buffer `turn` is being parsed */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    atomic_bool stop;
    unsigned turn;
    uint64_t lines;          /* in the buffers that were filled, for messages */
    buffer head, buffers[2]; /* head: text that was read ahead for inspection; its first `bytes` bytes are skipped */
};

static bool odd_quotes(const char *p, const char *end) {
    unsigned odd = 0;
    for (; p < end; p++)
        odd ^= *p == '"';
    return odd;
}

const char *pl_cut_after(pl_cut cut, const char *text, const char *from, const char *end) {
    if (cut.record > 0) {
        uint64_t records = ((uint64_t)(from - text) + cut.record - 1) / cut.record;
        return (uint64_t)(end - text) / cut.record >= records ? text + records * cut.record : NULL;
    }
    bool inside = cut.quotes && odd_quotes(text, from);
    for (const char *p = from; p < end; p++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline)
            return NULL;
        inside ^= cut.quotes && odd_quotes(p, newline);
        if (!inside)
            return newline + 1;
        p = newline;
    }
    return NULL;
}

/* Bytes up to the end of the last whole line or record that ends after `from`; 0: there is none. `*inside` says whether
 * `from` lies between quotes, and on return whether `bytes` does. */
static uint64_t whole_units(pl_cut cut, const char *text, uint64_t from, uint64_t bytes, bool *inside) {
    if (cut.record > 0)
        return bytes - bytes % cut.record;
    *inside ^= cut.quotes && odd_quotes(text + from, text + bytes);
    for (bool within = *inside; bytes > from; bytes--) {
        if (text[bytes - 1] == '\n' && !within)
            return bytes;
        within ^= cut.quotes && text[bytes - 1] == '"';
    }
    return 0;
}

/* Calls pl_decode, or returns the failure that occurred when the head was read. */
static parley_status decode(pl_source *source, char *out, uint64_t room, uint64_t *made, parley_error *error) {
    *made = 0;
    if (source->head.error.status != PARLEY_OK)
        return pl_fail(error, source->head.error.status, "%s", source->head.error.sentence);
    return pl_decode(source->decoder, &source->stop, out, room, made, error);
}

static uint64_t count_lines(const char *text, uint64_t bytes) {
    uint64_t lines = 0;
    for (uint64_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    return lines;
}

parley_status pl_source_too_long(const pl_source *source, uint64_t lines, parley_error *error) {
    unsigned long long most = PL_LONGEST_LINE;
    if (source->cut.record > 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: a record is longer than %llu bytes, the most that can be read",
                       source->name, most);
    return pl_fail(error, PARLEY_BAD_INPUT, "%s:%llu: the line is longer than %llu bytes, the most that can be read",
                   source->name, (unsigned long long)lines + 1, most);
}

/* Fills `next` with what `before` left over and with new bytes, up to at least one whole line or the end. */
static parley_status fill(pl_source *source, const buffer *before, buffer *next) {
    parley_error *error = &next->error;
    uint64_t room = source->window_bytes, searched = 0, made = 1;
    bool inside = false;
    next->held = before->held - before->bytes;
    next->bytes = 0;
    while (next->bytes == 0 && made > 0) {
        if (searched > 0 && room < next->held + source->window_bytes / 2)
            room = next->held * 2 + source->window_bytes;
        room = room < PL_LONGEST_LINE + source->window_bytes ? room : PL_LONGEST_LINE + source->window_bytes;
        room = room > next->held ? room : next->held; /* the text left over may be enough */
        if (!pl_span_reserve(&next->span, room + PL_TEXT_MARGIN))
            return pl_fail_memory(error, "a buffer of text", room);
        char *text = next->span.data;
        if (searched == 0 && next->held > 0)
            memcpy(text, (const char *)before->span.data + before->bytes, (size_t)next->held);
        while (next->held < room && made > 0) {
            parley_status status = decode(source, text + next->held, room - next->held, &made, error);
            next->held += made;
            if (status != PARLEY_OK) {
                inside = false;
                next->bytes = whole_units(source->cut, text, 0, next->held, &inside);
                return status;
            }
        }
        next->bytes = whole_units(source->cut, text, searched, next->held, &inside);
        searched = next->held;
        if (next->bytes == 0 && next->held > PL_LONGEST_LINE)
            return pl_source_too_long(source, source->lines, error);
    }
    if (made == 0) {
        next->bytes = next->held;
        memset((char *)next->span.data + next->held, 0, PL_TEXT_MARGIN);
    }
    next->last = made == 0;
    source->lines += count_lines(next->span.data, next->bytes);
    next->used = pl_decoder_taken(source->decoder);
    return PARLEY_OK;
}

static void *run_ahead(void *argument) {
    pl_source *source = argument;
    const buffer *before = &source->head;
    for (unsigned turn = 0;; turn ^= 1) {
        buffer *next = &source->buffers[turn];
        pthread_mutex_lock(&source->mutex);
        while (next->full && !atomic_load(&source->stop))
            pthread_cond_wait(&source->changed, &source->mutex);
        pthread_mutex_unlock(&source->mutex);
        if (atomic_load(&source->stop))
            return NULL;
        parley_status status = fill(source, before, next);
        pthread_mutex_lock(&source->mutex);
        next->error.status = status;
        next->full = true;
        pthread_cond_broadcast(&source->changed);
        pthread_mutex_unlock(&source->mutex);
        if (status != PARLEY_OK || next->last)
            return NULL;
        before = next;
    }
}

static parley_status next_buffer(pl_source *source, const char **text, uint64_t *bytes, parley_error *error) {
    buffer *now = &source->buffers[source->turn];
    if (source->taken) {
        if (now->error.status != PARLEY_OK) {
            *bytes = 0;
            return pl_fail(error, now->error.status, "%s", now->error.sentence);
        }
        if (now->last) {
            *bytes = 0;
            return PARLEY_OK;
        }
        pthread_mutex_lock(&source->mutex);
        now->full = false;
        pthread_cond_broadcast(&source->changed);
        pthread_mutex_unlock(&source->mutex);
        source->turn ^= 1;
        now = &source->buffers[source->turn];
    }
    pthread_mutex_lock(&source->mutex);
    while (!now->full)
        pthread_cond_wait(&source->changed, &source->mutex);
    pthread_mutex_unlock(&source->mutex);
    source->taken = true;
    source->used = now->used;
    *text = now->span.data;
    *bytes = now->bytes;
    if (now->bytes == 0) /* the end, or a failure before the first whole line */
        return next_buffer(source, text, bytes, error);
    return PARLEY_OK;
}

static parley_status next_window(pl_source *source, const char **text, uint64_t *bytes, parley_error *error) {
    uint64_t passed = source->used & ~(source->page - 1);
    if (passed > source->dropped)
        madvise(source->map + source->dropped, passed - source->dropped, MADV_DONTNEED);
    source->dropped = passed > source->dropped ? passed : source->dropped;
    uint64_t left = (source->limit ? source->limit : source->size) - source->used, window = source->window_bytes;
    *text = source->map + source->used;
    *bytes = left;
    if (left > window) {
        const char *end = pl_cut_after(source->cut, *text, *text + window - 1, *text + left);
        *bytes = end ? (uint64_t)(end - *text) : left;
    }
    if (*bytes > window && *bytes - window > PL_LONGEST_LINE) { /* its last line begins in the first `window` bytes */
        *bytes = 0;
        return pl_source_too_long(source, count_lines(source->map, source->used + window), error);
    }
    source->used += *bytes;
    return PARLEY_OK;
}

/* Maps the file over zero pages, of which one remains after it, so that reading past its end is safe. */
static parley_status map_file(pl_source *source, int file, parley_error *error) {
    source->page = (uint64_t)sysconf(_SC_PAGESIZE);
    source->map_bytes = (source->size / source->page + 2) * source->page;
    void *map = mmap(NULL, source->map_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return pl_fail_file(error, source->name, "map");
    source->map = map;
    if (source->size > 0 && mmap(map, source->size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED)
        return pl_fail_file(error, source->name, "map");
    madvise(map, source->map_bytes, MADV_SEQUENTIAL);
    return PARLEY_OK;
}

static parley_status start_thread(pl_source *source, parley_error *error) {
    if (pthread_create(&source->thread, NULL, run_ahead, source) != 0)
        return pl_fail(error, PARLEY_NO_MEMORY, "%s: cannot start a thread to read it", source->name);
    source->threaded = true;
    return PARLEY_OK;
}

/* Makes an empty source. */
static parley_status make(const char *name, uint64_t window_bytes, pl_source **out, parley_error *error) {
    parley_status status = pl_take(out, 1, sizeof **out, "reading", error);
    if (status != PARLEY_OK)
        return status;
    pl_source *source = *out;
    pthread_mutex_init(&source->mutex, NULL);
    pthread_cond_init(&source->changed, NULL);
    source->window_bytes = window_bytes;
    source->name = pl_strdup(name);
    return source->name ? PARLEY_OK : pl_fail_memory(error, "a file name", strlen(name));
}

static parley_status finish(parley_status status, pl_source *source, pl_source **out) {
    *out = status == PARLEY_OK ? source : NULL;
    if (status != PARLEY_OK)
        pl_source_close(source);
    return status;
}

parley_status pl_source_open(const char *path, uint64_t window_bytes, pl_source **out, parley_error *error) {
    pl_source *source = NULL;
    pl_decoder *decoder = NULL;
    *out = NULL;
    parley_status status = pl_decoder_open(path, &decoder, error);
    if (status != PARLEY_OK)
        return status;
    status = make(pl_decoder_name(decoder), window_bytes, &source, error);
    if (status != PARLEY_OK) {
        pl_decoder_close(decoder);
        return finish(status, source, out);
    }
    source->decoder = decoder;
    source->size = pl_decoder_size(decoder);
    int file = pl_decoder_file(decoder);
    if (file >= 0)
        status = map_file(source, file, error);
    else
        source->streamed = pl_decoder_content(decoder) != PL_CACHE;
    return finish(status, source, out);
}

parley_status pl_source_memory(const void *text, uint64_t bytes, const char *name, uint64_t window_bytes,
                               pl_source **out, parley_error *error) {
    pl_source *source = NULL;
    *out = NULL;
    parley_status status = make(name, window_bytes, &source, error);
    if (status != PARLEY_OK)
        return finish(status, source, out);
    pl_span span = {0};
    if (!pl_span_reserve(&span, bytes + PL_TEXT_MARGIN))
        return finish(pl_fail_memory(error, "a copy of text", bytes), source, out);
    if (bytes > 0)
        memcpy(span.data, text, (size_t)bytes);
    source->map = span.data;
    source->map_bytes = span.bytes;
    source->page = span.bytes; /* nothing is released before the end */
    source->size = bytes;
    return finish(PARLEY_OK, source, out);
}

/* Extends the head. A failure is kept until the lines before it have been used. */
static parley_status read_head(pl_source *source, uint64_t wanted, parley_error *error) {
    buffer *head = &source->head;
    uint64_t made = 1;
    if (head->error.status != PARLEY_OK && head->held < wanted)
        return pl_fail(error, head->error.status, "%s", head->error.sentence);
    uint64_t room = wanted + HEAD_STEP; /* reads a pipe that has more in few steps */
    if (!pl_span_reserve(&head->span, room + PL_TEXT_MARGIN))
        return pl_fail_memory(error, "a buffer of text", room);
    while (head->held < wanted && !head->last && head->error.status == PARLEY_OK) {
        char *text = head->span.data;
        head->error.status = decode(source, text + head->held, room - head->held, &made, &head->error);
        head->held += made;
        head->last = made == 0 && head->error.status == PARLEY_OK;
    }
    memset((char *)head->span.data + head->held, 0, PL_TEXT_MARGIN);
    return PARLEY_OK;
}

parley_status pl_source_head(pl_source *source, uint64_t wanted, const char **text, uint64_t *bytes, bool *whole,
                             parley_error *error) {
    if (source->streamed) {
        parley_status status = read_head(source, wanted, error);
        *text = source->head.span.data;
        *bytes = source->head.held < wanted ? source->head.held : wanted;
        *whole = source->head.last && *bytes == source->head.held;
        return status;
    }
    *text = source->map;
    *bytes = source->size < wanted ? source->size : wanted;
    *whole = *bytes == source->size;
    return PARLEY_OK;
}

void pl_source_cut(pl_source *source, pl_cut cut) {
    source->cut = cut;
    if (source->streamed)
        source->head.bytes = cut.skip;
    else
        source->used = cut.skip;
}

/* Where the first line or record begins at or after `at`. */
static uint64_t line_from(const pl_source *source, uint64_t at, bool inside) {
    uint64_t skip = source->cut.skip, record = source->cut.record;
    if (record > 0 && at > skip)
        at = skip + (at - skip + record - 1) / record * record;
    if (record > 0 || at == 0 || at >= source->size)
        return at < source->size ? at : source->size;
    const char *p = source->map + at - 1, *end = source->map + source->size, *newline;
    inside ^= source->cut.quotes && *p == '"'; /* the state before that byte */
    for (; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
        inside ^= source->cut.quotes && odd_quotes(p, newline);
        if (!inside)
            return (uint64_t)(newline + 1 - source->map);
    }
    return source->size;
}

bool pl_source_odd_quotes(const pl_source *source, uint64_t begin, uint64_t end) {
    bool odd = false;
    for (uint64_t next; begin < end; begin = next) {
        next = end - begin < source->window_bytes ? end : begin + source->window_bytes;
        odd ^= odd_quotes(source->map + begin, source->map + next);
        pl_pages_drop(source->map + begin, source->map + next);
    }
    return odd;
}

void pl_source_limit(pl_source *source, uint64_t begin, uint64_t end, const bool quoted[2]) {
    uint64_t from = line_from(source, begin, quoted[0]), to = line_from(source, end, quoted[1]);
    source->used = from > source->used ? from : source->used;
    source->dropped = source->used & ~(source->page - 1);
    source->limit = to > source->used ? to : source->used;
}

parley_status pl_source_next(pl_source *source, const char **text, uint64_t *bytes, parley_error *error) {
    if (source->streamed && !source->threaded) {
        *bytes = 0;
        parley_status status = start_thread(source, error);
        if (status != PARLEY_OK)
            return status;
    }
    if (source->streamed)
        return next_buffer(source, text, bytes, error);
    return next_window(source, text, bytes, error);
}

const char *pl_source_name(const pl_source *source) { return source->name; }

pl_content pl_source_content(const pl_source *source) {
    return source->decoder ? pl_decoder_content(source->decoder) : PL_PLAIN;
}

uint64_t pl_source_size(const pl_source *source) { return source->size; }

uint64_t pl_source_used(const pl_source *source) { return source->used; }

void pl_source_close(pl_source *source) {
    if (!source)
        return;
    if (source->threaded) {
        pthread_mutex_lock(&source->mutex);
        atomic_store(&source->stop, true);
        pthread_cond_broadcast(&source->changed);
        pthread_mutex_unlock(&source->mutex);
        pthread_join(source->thread, NULL);
    }
    for (int i = 0; i < 2; i++)
        pl_span_free(&source->buffers[i].span);
    pl_span_free(&source->head.span);
    if (source->map)
        munmap(source->map, source->map_bytes);
    pl_decoder_close(source->decoder);
    pthread_cond_destroy(&source->changed);
    pthread_mutex_destroy(&source->mutex);
    pl_free(source->name);
    pl_free(source);
}
