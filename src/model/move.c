/* move.c: rows from rank to rank. All ranks know all fragments, so that everyone knows what comes from whom: messages
 * have no heads. Ranks go through the rows of the whole in step, a window at a time. */
#include <string.h>

#include "model/spread.h"

#define WINDOW_ENTRIES ((uint64_t)1 << 18) /* of each rank */

typedef struct moving {
    pl_engine *engine;
    const pl_fragment *fragments;
    uint64_t begin, end; /* fragments of the window */
    uint64_t low, high;  /* its rows */
    const pl_cargo *cargo;
    pl_span room;
} moving;

/* The part of a fragment that lies in the window; `source` and `place` move with it. */
static pl_fragment clip(const moving *moving, uint64_t f) {
    pl_fragment piece = moving->fragments[f];
    uint64_t ahead = piece.begin < moving->low ? moving->low - piece.begin : 0;
    piece.begin += ahead;
    piece.source += ahead;
    piece.place += ahead;
    piece.end = piece.end < moving->high ? piece.end : moving->high;
    return piece;
}

static bool goes(const pl_fragment *piece, unsigned from, unsigned to) {
    return piece->from == from && (piece->to == to || piece->to == PL_EVERY_RANK);
}

/* Bytes of the window from one rank, of which one is this, to another. */
static uint64_t window_bytes(const moving *moving, unsigned from, unsigned to) {
    const pl_cargo *cargo = moving->cargo;
    bool arriving = from != moving->engine->rank;
    uint64_t sum = 0;
    for (uint64_t f = moving->begin; f < moving->end; f++) {
        pl_fragment piece = clip(moving, f);
        if (goes(&piece, from, to))
            sum +=
                cargo->bytes(cargo->context, arriving, arriving ? piece.place : piece.source, piece.end - piece.begin);
    }
    return sum;
}

static void load(const moving *moving, unsigned to) {
    const pl_cargo *cargo = moving->cargo;
    char *next = moving->room.data;
    for (uint64_t f = moving->begin; f < moving->end; f++) {
        pl_fragment piece = clip(moving, f);
        if (!goes(&piece, moving->engine->rank, to))
            continue;
        cargo->load(cargo->context, piece.source, piece.end - piece.begin, next);
        next += cargo->bytes(cargo->context, false, piece.source, piece.end - piece.begin);
    }
}

static void store(const moving *moving, unsigned from) {
    const pl_cargo *cargo = moving->cargo;
    const char *next = moving->room.data;
    for (uint64_t f = moving->begin; f < moving->end; f++) {
        pl_fragment piece = clip(moving, f);
        if (!goes(&piece, from, moving->engine->rank))
            continue;
        cargo->store(cargo->context, piece.place, piece.end - piece.begin, next);
        next += cargo->bytes(cargo->context, true, piece.place, piece.end - piece.begin);
    }
}

static parley_status make_room(moving *moving, uint64_t bytes, parley_error *error) {
    return pl_span_reserve(&moving->room, bytes + 1) ? PARLEY_OK : pl_fail_memory(error, "rows on their way", bytes);
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

static void pass(const moving *moving) {
    for (uint64_t f = moving->end; f-- > moving->begin && moving->cargo->passed;) {
        pl_fragment piece = clip(moving, f);
        if (piece.from == moving->engine->rank) {
            moving->cargo->passed(moving->cargo->context, piece.source + (piece.end - piece.begin));
            return;
        }
    }
}

static parley_status move_window(moving *moving, parley_error *error) {
    pl_engine *engine = moving->engine;
    parley_status status = PARLEY_OK;
    /* each begins with its neighbour, so that not all send to one at a time */
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        status = send_window(moving, (engine->rank + r) % engine->ranks, error);
    for (unsigned r = 1; r < engine->ranks && status == PARLEY_OK; r++)
        status = take_window(moving, (engine->rank + engine->ranks - r) % engine->ranks, error);
    pass(moving);
    return status;
}

parley_status pl_move(pl_engine *engine, const pl_fragment *fragments, uint64_t count, uint64_t window,
                      const pl_cargo *cargo, parley_error *error) {
    moving moving = {.engine = engine, .fragments = fragments, .cargo = cargo};
    uint64_t rows = count > 0 ? fragments[count - 1].end : 0;
    parley_status status = PARLEY_OK;
    for (; moving.low < rows && status == PARLEY_OK; moving.low = moving.high) {
        moving.high = rows - moving.low < window ? rows : moving.low + window;
        while (moving.begin < count && fragments[moving.begin].end <= moving.low)
            moving.begin++;
        moving.end = moving.end > moving.begin ? moving.end : moving.begin;
        while (moving.end < count && fragments[moving.end].begin < moving.high)
            moving.end++;
        status = move_window(&moving, error);
    }
    pl_span_free(&moving.room);
    return status;
}

uint64_t pl_window_rows(const pl_engine *engine, uint64_t rows, uint64_t nonzeros) {
    double each = (double)nonzeros / (double)rows + 2, wanted = (double)engine->ranks * (double)WINDOW_ENTRIES / each;
    return wanted < 1 ? 1 : wanted > (double)rows ? rows : (uint64_t)wanted;
}
