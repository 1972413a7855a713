/* move_rows.c: moves rows between ranks. Every rank knows all transfers, so messages need no headers. In each step, a
 * rank sends a window of its rows in local order and can then release their memory, so memory use falls on the senders
 * while it grows on the receivers. */
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "shard/distributed.h"

#define WINDOW_ENTRIES ((uint64_t)1 << 18) /* per rank and step */

typedef struct moving {
    pl_engine *engine;
    pl_transfer *transfers; /* sorted by sending rank, then by source row */
    pl_range *parts;        /* by rank: its transfers that overlap the window */
    uint64_t *ends;         /* by rank: the end of its transfers */
    uint64_t low, high;     /* the window, in local row numbers of each rank */
    const pl_payload *payload;
    pl_span room;
} moving;

/* The part of a transfer that lies in the window. */
static pl_transfer clip(const moving *moving, uint64_t f) {
    pl_transfer piece = moving->transfers[f];
    uint64_t ahead = piece.source < moving->low ? moving->low - piece.source : 0;
    piece.begin += ahead;
    piece.source += ahead;
    piece.place += ahead;
    if (piece.source + (piece.end - piece.begin) > moving->high)
        piece.end = piece.begin + (moving->high - piece.source);
    return piece;
}

static bool goes(const pl_transfer *piece, unsigned to) { return piece->to == to || piece->to == PL_EVERY_RANK; }

/* Bytes of the window that go from one rank to another. This rank is one of the two. */
static uint64_t window_bytes(const moving *moving, unsigned from, unsigned to) {
    const pl_payload *payload = moving->payload;
    bool arriving = from != moving->engine->rank;
    uint64_t sum = 0;
    for (uint64_t f = moving->parts[from].begin; f < moving->parts[from].end; f++) {
        pl_transfer piece = clip(moving, f);
        if (goes(&piece, to))
            sum += payload->bytes(payload->context, arriving, arriving ? piece.place : piece.source,
                                  piece.end - piece.begin);
    }
    return sum;
}

static void load(const moving *moving, unsigned to) {
    const pl_payload *payload = moving->payload;
    const pl_range *part = &moving->parts[moving->engine->rank];
    char *next = moving->room.data;
    for (uint64_t f = part->begin; f < part->end; f++) {
        pl_transfer piece = clip(moving, f);
        if (!goes(&piece, to))
            continue;
        payload->load(payload->context, piece.source, piece.end - piece.begin, next);
        next += payload->bytes(payload->context, false, piece.source, piece.end - piece.begin);
    }
}

static void store(const moving *moving, unsigned from) {
    const pl_payload *payload = moving->payload;
    const char *next = moving->room.data;
    for (uint64_t f = moving->parts[from].begin; f < moving->parts[from].end; f++) {
        pl_transfer piece = clip(moving, f);
        if (!goes(&piece, moving->engine->rank))
            continue;
        payload->store(payload->context, piece.place, piece.end - piece.begin, next);
        next += payload->bytes(payload->context, true, piece.place, piece.end - piece.begin);
    }
}

static parley_status make_room(moving *moving, uint64_t bytes, parley_error *error) {
    return pl_span_reserve(&moving->room, bytes + 1) ? PARLEY_OK : pl_fail_memory(error, "a window of rows", bytes);
}

static parley_status send_window(moving *moving, unsigned to, parley_error *error) {
    pl_engine *engine = moving->engine;
    uint64_t bytes = window_bytes(moving, engine->rank, to);
    parley_status status = bytes > 0 ? make_room(moving, bytes, error) : PARLEY_OK;
    if (bytes == 0 || status != PARLEY_OK)
        return status;
    load(moving, to);
    if (to != engine->rank)
        return engine->type->post(engine, to, PL_CHANNEL_MOVE, moving->room.data, bytes, error);
    store(moving, to);
    return PARLEY_OK;
}

static parley_status take_window(moving *moving, unsigned from, parley_error *error) {
    pl_engine *engine = moving->engine;
    uint64_t bytes = window_bytes(moving, from, engine->rank);
    parley_status status = bytes > 0 ? make_room(moving, bytes, error) : PARLEY_OK;
    if (bytes == 0 || status != PARLEY_OK)
        return status;
    status = engine->type->take(engine, from, PL_CHANNEL_MOVE, moving->room.data, bytes, error);
    if (status == PARLEY_OK)
        store(moving, from);
    return status;
}

static parley_status move_window(moving *moving, parley_error *error) {
    pl_engine *engine = moving->engine;
    parley_status status = PARLEY_OK;
    /* start with the next rank, so that not all ranks send to the same one */
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        status = send_window(moving, (engine->rank + r) % engine->ranks, error);
    for (unsigned r = 1; r < engine->ranks && status == PARLEY_OK; r++)
        status = take_window(moving, (engine->rank + engine->ranks - r) % engine->ranks, error);
    if (moving->payload->sent)
        moving->payload->sent(moving->payload->context, moving->high);
    return status;
}

static int by_source(const void *a, const void *b) {
    const pl_transfer *left = a, *right = b;
    return left->from != right->from ? (left->from > right->from) - (left->from < right->from)
                                     : (left->source > right->source) - (left->source < right->source);
}

static uint64_t source_end(const pl_transfer *transfer) { return transfer->source + (transfer->end - transfer->begin); }

/* Sorts a copy of the transfers. `*rows` gets the largest number of rows that any rank holds. */
static parley_status sort(moving *moving, const pl_transfer *transfers, uint64_t count, uint64_t *rows,
                          parley_error *error) {
    unsigned ranks = moving->engine->ranks;
    moving->transfers = pl_alloc(count, sizeof *moving->transfers);
    moving->parts = pl_alloc(ranks, sizeof *moving->parts);
    moving->ends = pl_alloc(ranks, sizeof *moving->ends);
    if (!moving->transfers || !moving->parts || !moving->ends)
        return pl_fail_memory(error, "the list of row transfers", count * sizeof *transfers);
    if (count > 0)
        memcpy(moving->transfers, transfers, count * sizeof *transfers);
    qsort(moving->transfers, count, sizeof *transfers, by_source);
    for (uint64_t f = 0, r = 0; r < ranks; r++) {
        moving->parts[r] = (pl_range){f, f};
        for (; f < count && moving->transfers[f].from == r; f++)
            *rows = source_end(&moving->transfers[f]) > *rows ? source_end(&moving->transfers[f]) : *rows;
        moving->ends[r] = f;
    }
    return PARLEY_OK;
}

/* Advances the window and finds each rank's transfers in it. */
static void turn_to(moving *moving, uint64_t low, uint64_t high) {
    moving->low = low;
    moving->high = high;
    for (unsigned r = 0; r < moving->engine->ranks; r++) {
        pl_range *part = &moving->parts[r];
        while (part->begin < moving->ends[r] && source_end(&moving->transfers[part->begin]) <= low)
            part->begin++;
        part->end = part->end > part->begin ? part->end : part->begin;
        while (part->end < moving->ends[r] && moving->transfers[part->end].source < high)
            part->end++;
    }
}

parley_status pl_move_rows(pl_engine *engine, const pl_transfer *transfers, uint64_t count, uint64_t window,
                           const pl_payload *payload, parley_error *error) {
    moving moving = {.engine = engine, .payload = payload};
    uint64_t rows = 0;
    parley_status status = sort(&moving, transfers, count, &rows, error);
    for (uint64_t low = 0; status == PARLEY_OK && low < rows; low += window) {
        turn_to(&moving, low, rows - low < window ? rows : low + window);
        status = pl_stop_check(error);
        if (status == PARLEY_OK)
            status = move_window(&moving, error);
    }
    pl_free(moving.transfers);
    pl_free(moving.parts);
    pl_free(moving.ends);
    pl_span_free(&moving.room);
    return status;
}

uint64_t pl_window_rows(uint64_t rows, uint64_t nonzeros) {
    double each = (double)nonzeros / (double)rows + 2, wanted = (double)WINDOW_ENTRIES / each;
    return wanted < 1 ? 1 : wanted > (double)rows ? rows : (uint64_t)wanted;
}
