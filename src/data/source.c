/* source.c: reads windows of text. The windows of a plain file are read at their positions by the threads of a pool.
 * They are copies, because text that another process changes between two passes of a parser would not fit what the
 * first pass counted. Streams use two buffers: a thread fills one while the other is parsed. */
#define _POSIX_C_SOURCE 200809L /* pread, posix_fadvise */
#include "data/source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/mapped_file.h"
#include "base/memory.h"

#define HEAD_STEP ((uint64_t)4 << 10)
#define PIECE_BYTES ((uint64_t)256 << 10) /* that one task reads */
#define SCAN_BYTES ((uint64_t)16 << 10)

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
    /* plain files, and text in memory */
    int file;       /* -1: none */
    pl_pool *pool;  /* reads; NULL: the calling thread does */
    pl_stamp stamp; /* of the file */
    pl_span window; /* of the file, or all of the text in memory */
    uint64_t limit; /* where reading ends; 0: at the end of the file */
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
    pl_spot spot = PL_AT_LINE;
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
                spot = PL_AT_LINE;
                next->bytes = pl_cut_whole(source->cut, text, 0, next->held, &spot);
                return status;
            }
        }
        next->bytes = pl_cut_whole(source->cut, text, searched, next->held, &spot);
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

/* A part of a file to read. */
typedef struct range {
    const pl_source *source;
    char *to;
    uint64_t from, bytes;
    atomic_int fault; /* errno of a failure; -1: the file is shorter */
} range;

static void read_piece(void *context, unsigned piece) {
    range *range = context;
    uint64_t at = piece * PIECE_BYTES, end = at + PIECE_BYTES < range->bytes ? at + PIECE_BYTES : range->bytes;
    while (at < end) {
        ssize_t got = pread(range->source->file, range->to + at, (size_t)(end - at), (off_t)(range->from + at));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            atomic_store(&range->fault, got < 0 ? errno : -1);
            return;
        }
        at += (uint64_t)got;
    }
}

static parley_status fail_read(const pl_source *source, int fault, parley_error *error) {
    errno = fault;
    if (fault > 0)
        return pl_fail_file(error, source->name, "read");
    parley_status status = pl_stamp_check(source->file, &source->stamp, source->name, error);
    return status == PARLEY_OK ? pl_fail(error, PARLEY_BAD_INPUT, "%s: it ends before its size", source->name) : status;
}

/* Reads bytes [from, from + bytes) of the file. */
static parley_status read_at(const pl_source *source, char *to, uint64_t from, uint64_t bytes, parley_error *error) {
    range range = {.source = source, .to = to, .from = from, .bytes = bytes};
    unsigned pieces = (unsigned)((bytes + PIECE_BYTES - 1) / PIECE_BYTES);
    if (source->pool)
        pl_pool_run(source->pool, read_piece, &range, pieces);
    else
        for (unsigned i = 0; i < pieces; i++)
            read_piece(&range, i);
    int fault = atomic_load(&range.fault);
    return fault ? fail_read(source, fault, error) : PARLEY_OK;
}

/* Counts the lines before the window, which are read again. */
static uint64_t lines_before(const pl_source *source) {
    char text[4096];
    uint64_t lines = 0;
    parley_error ignored;
    for (uint64_t at = 0; at < source->used; at += sizeof text) {
        uint64_t bytes = source->used - at < sizeof text ? source->used - at : sizeof text;
        if (read_at(source, text, at, bytes, &ignored) != PARLEY_OK)
            break;
        lines += count_lines(text, bytes);
    }
    return lines;
}

/* Reads a window of whole lines into the buffer, or one line if that is longer. */
static parley_status read_window(pl_source *source, uint64_t left, uint64_t *bytes, parley_error *error) {
    uint64_t held = 0, wanted = source->window_bytes;
    pl_spot spot = PL_AT_LINE;
    for (*bytes = 0; *bytes == 0; wanted *= 2) {
        wanted = wanted < left ? wanted : left;
        if (!pl_span_reserve(&source->window, wanted + PL_TEXT_MARGIN))
            return pl_fail_memory(error, "a window of text", wanted);
        char *text = source->window.data;
        parley_status status = read_at(source, text + held, source->used + held, wanted - held, error);
        if (status != PARLEY_OK)
            return status;
        memset(text + wanted, 0, PL_TEXT_MARGIN);
        uint64_t units = pl_cut_whole(source->cut, text, held, wanted, &spot);
        if (units == 0 && wanted > PL_LONGEST_LINE)
            return pl_source_too_long(source, lines_before(source), error);
        *bytes = wanted == left ? left : units;
        held = wanted;
    }
    return PARLEY_OK;
}

/* Text in memory. */
static void next_lines(pl_source *source, uint64_t left, const char **text, uint64_t *bytes) {
    *text = (const char *)source->window.data + source->used;
    *bytes = left;
    if (left > source->window_bytes) {
        const char *end = pl_cut_after(source->cut, *text, *text + source->window_bytes - 1, *text + left);
        *bytes = end ? (uint64_t)(end - *text) : left;
    }
}

static parley_status next_window(pl_source *source, const char **text, uint64_t *bytes, parley_error *error) {
    uint64_t left = (source->limit ? source->limit : source->size) - source->used;
    parley_status status = PARLEY_OK;
    *bytes = 0;
    if (source->file < 0)
        next_lines(source, left, text, bytes);
    else if (left > 0)
        status = read_window(source, left, bytes, error);
    else
        status = pl_stamp_check(source->file, &source->stamp, source->name, error);
    if (source->file >= 0)
        *text = source->window.data;
    source->used += *bytes;
    return status;
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
    source->file = -1;
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
    source->file = pl_decoder_file(decoder);
    if (source->file < 0)
        source->streamed = pl_decoder_content(decoder) != PL_CACHE;
    else if (!pl_stamp_take(source->file, &source->stamp))
        status = pl_fail_file(error, source->name, "read");
    else {
        source->size = (uint64_t)source->stamp.bytes;
        posix_fadvise(source->file, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    return finish(status, source, out);
}

parley_status pl_source_memory(const void *text, uint64_t bytes, const char *name, uint64_t window_bytes,
                               pl_source **out, parley_error *error) {
    pl_source *source = NULL;
    *out = NULL;
    parley_status status = make(name, window_bytes, &source, error);
    if (status != PARLEY_OK)
        return finish(status, source, out);
    if (!pl_span_reserve(&source->window, bytes + PL_TEXT_MARGIN))
        return finish(pl_fail_memory(error, "a copy of text", bytes), source, out);
    if (bytes > 0)
        memcpy(source->window.data, text, (size_t)bytes);
    source->size = bytes;
    return finish(PARLEY_OK, source, out);
}

/* Reads the head of a plain file. */
static parley_status read_file_head(pl_source *source, uint64_t wanted, parley_error *error) {
    buffer *head = &source->head;
    wanted = wanted < source->size ? wanted : source->size;
    if (!pl_span_reserve(&head->span, wanted + PL_TEXT_MARGIN))
        return pl_fail_memory(error, "a buffer of text", wanted);
    parley_status status = PARLEY_OK;
    if (wanted > head->held)
        status = read_at(source, (char *)head->span.data + head->held, head->held, wanted - head->held, error);
    if (status == PARLEY_OK && wanted >= head->held) {
        head->held = wanted;
        memset((char *)head->span.data + wanted, 0, PL_TEXT_MARGIN);
    }
    return status;
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
    parley_status status = source->file >= 0 ? read_file_head(source, wanted, error) : PARLEY_OK;
    *text = source->file >= 0 ? source->head.span.data : source->window.data;
    *bytes = source->size < wanted ? source->size : wanted;
    *whole = *bytes == source->size;
    return status;
}

void pl_source_cut(pl_source *source, pl_cut cut) {
    source->cut = cut;
    if (source->streamed)
        source->head.bytes = cut.skip;
    else
        source->used = cut.skip;
}

/* Finds the first line that begins at or after `at`, which is `spot`. */
static parley_status line_from(const pl_source *source, uint64_t at, pl_spot spot, uint64_t *line,
                               parley_error *error) {
    char text[SCAN_BYTES];
    uint64_t bytes;
    *line = at;
    if (spot == PL_AT_LINE)
        return PARLEY_OK;
    for (*line = source->size; at < source->size; at += bytes) {
        bytes = source->size - at < SCAN_BYTES ? source->size - at : SCAN_BYTES;
        parley_status status = read_at(source, text, at, bytes, error);
        if (status != PARLEY_OK)
            return status;
        const char *next = pl_cut_line(source->cut, spot, text, text + bytes);
        if (next) {
            *line = at + (uint64_t)(next - text);
            return PARLEY_OK;
        }
        spot = pl_cut_walk(source->cut, spot, text, text + bytes);
    }
    return PARLEY_OK;
}

/* What `at` is in text without quotes. */
static parley_status plain_spot(const pl_source *source, uint64_t at, pl_spot *spot, parley_error *error) {
    char before = '\n';
    parley_status status = at > 0 ? read_at(source, &before, at - 1, 1, error) : PARLEY_OK;
    *spot = before == '\n' ? PL_AT_LINE : PL_IN_LINE;
    return status;
}

/* Finds the first line that begins at or after `at` with another word than the line before it. */
static parley_status turn_from(const pl_source *source, uint64_t at, uint64_t *line, parley_error *error) {
    char text[2 * SCAN_BYTES];
    uint64_t begin = at > SCAN_BYTES ? at - SCAN_BYTES : 0;
    *line = source->size;
    while (begin < source->size) {
        uint64_t bytes = source->size - begin < sizeof text ? source->size - begin : sizeof text, last = 0;
        parley_status status = read_at(source, text, begin, bytes, error);
        if (status != PARLEY_OK)
            return status;
        for (uint64_t i = 1; i < bytes; i++) {
            if (text[i - 1] != '\n')
                continue;
            if (begin + i >= at && pl_cut_turns(text, text + i, text + bytes)) {
                *line = begin + i;
                return PARLEY_OK;
            }
            last = begin + i + SCAN_BYTES < begin + bytes ? i : last; /* the next piece begins with a whole line */
        }
        if (begin + bytes == source->size)
            break;
        begin += last ? last : SCAN_BYTES;
    }
    return PARLEY_OK;
}

/* Finds the first line or record that begins at or after `at`. */
static parley_status unit_from(const pl_source *source, uint64_t at, pl_spot spot, uint64_t *unit,
                               parley_error *error) {
    uint64_t skip = source->cut.skip, record = source->cut.record;
    if (record > 0 && at > skip)
        at = skip + (at - skip + record - 1) / record * record;
    *unit = at < source->size ? at : source->size;
    if (at <= skip && skip > 0)
        *unit = skip;
    if (at <= skip || at >= source->size || record > 0)
        return PARLEY_OK;
    if (source->cut.keyed)
        return turn_from(source, at, unit, error);
    parley_status status = source->cut.quotes ? PARLEY_OK : plain_spot(source, at, &spot, error);
    return status == PARLEY_OK ? line_from(source, at, spot, unit, error) : status;
}

parley_status pl_source_walk(pl_source *source, uint64_t begin, uint64_t end, pl_spot to[PL_SPOTS],
                             parley_error *error) {
    bool any = false, newline = false;
    for (unsigned i = 0; i < PL_SPOTS; i++)
        to[i] = (pl_spot)i;
    if (!pl_span_reserve(&source->window, source->window_bytes + PL_TEXT_MARGIN))
        return pl_fail_memory(error, "a window of text", source->window_bytes);
    for (uint64_t bytes; begin < end; begin += bytes) {
        char *text = source->window.data;
        bytes = end - begin < source->window_bytes ? end - begin : source->window_bytes;
        parley_status status = read_at(source, text, begin, bytes, error);
        if (status != PARLEY_OK)
            return status;
        for (unsigned i = 0; i < PL_SPOTS; i++) /* without comments, all others follow from the first one */
            if (source->cut.comment || i == PL_AT_LINE)
                to[i] = pl_cut_walk(source->cut, to[i], text, text + bytes);
        newline = text[bytes - 1] == '\n';
        any = true;
    }
    if (!source->cut.comment && any) {
        bool odd = to[PL_AT_LINE] == PL_IN_QUOTES;
        pl_spot plain = newline ? PL_AT_LINE : PL_IN_LINE;
        for (unsigned i = 0; i < PL_SPOTS; i++)
            to[i] = odd == (i != PL_IN_QUOTES) ? PL_IN_QUOTES : plain;
    }
    return PARLEY_OK;
}

parley_status pl_source_limit(pl_source *source, uint64_t begin, uint64_t end, const pl_spot spots[2],
                              parley_error *error) {
    uint64_t from, to;
    parley_status status = unit_from(source, begin, spots[0], &from, error);
    if (status == PARLEY_OK)
        status = unit_from(source, end, spots[1], &to, error);
    if (status != PARLEY_OK)
        return status;
    source->used = from > source->used ? from : source->used;
    source->limit = to > source->used ? to : source->used;
    return PARLEY_OK;
}

void pl_source_share(pl_source *source, pl_pool *pool) { source->pool = pool; }

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
    pl_span_free(&source->window);
    pl_decoder_close(source->decoder);
    pthread_cond_destroy(&source->changed);
    pthread_mutex_destroy(&source->mutex);
    pl_free(source->name);
    pl_free(source);
}
