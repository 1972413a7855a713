/* common.c: see common.h. A board begins with the length of each packet that lies on it; the packets have places of
 * equal size behind that. */
#define _GNU_SOURCE /* syscall */
#include "engine/common.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/flow.h"

#define LINE 64                   /* bytes of a line of the cache */
#define BOARD ((uint64_t)1 << 20) /* bytes of a board; only what is written takes memory */

_Static_assert(BOARD >= (uint64_t)PL_TREE_NODES * PL_COMMON_RANKS * (sizeof(uint64_t) + LINE) + LINE,
               "there is a place for each node and owner");

/* A number with a line to itself, so that writing it disturbs nobody who reads another. */
typedef struct tally {
    _Alignas(LINE) _Atomic uint32_t number;
} tally;

struct hall {
    tally here;                  /* ranks that have come to the meeting which is being held */
    tally held;                  /* meetings that were held; who waits for one sleeps on this */
    tally come[PL_COMMON_RANKS]; /* meetings that each rank has come to */
};

static uint64_t round_up(uint64_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

uint64_t pl_common_bytes(unsigned ranks) { return sizeof(struct hall) + 2 * ranks * BOARD; }

pl_common pl_common_of(void *memory, unsigned rank, unsigned ranks) {
    return (pl_common){.hall = memory, .rank = rank, .ranks = ranks};
}

/* The board of a rank: that which this one writes before a meeting, or reads after it. */
static char *board_of(const pl_common *common, unsigned rank, bool reads) {
    uint64_t turn = (common->meetings - reads) & 1;
    return (char *)(common->hall + 1) + (turn * common->ranks + rank) * BOARD;
}

void pl_common_come(pl_common *common) {
    struct hall *hall = common->hall;
    common->meetings++;
    atomic_store_explicit(&hall->come[common->rank].number, common->meetings, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&hall->here.number, 1, memory_order_acq_rel) + 1 < common->ranks)
        return;
    atomic_store_explicit(&hall->here.number, 0, memory_order_relaxed);
    atomic_store_explicit(&hall->held.number, common->meetings, memory_order_release);
    syscall(SYS_futex, &hall->held.number, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool pl_common_met(const pl_common *common) {
    return atomic_load_explicit(&common->hall->held.number, memory_order_acquire) == common->meetings;
}

void pl_common_doze(const pl_common *common, double seconds) {
    struct timespec most = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    syscall(SYS_futex, &common->hall->held.number, FUTEX_WAIT, common->meetings - 1, &most, NULL, 0);
}

unsigned pl_common_missing(const pl_common *common) {
    for (unsigned r = 0; r < common->ranks; r++)
        if (atomic_load_explicit(&common->hall->come[r].number, memory_order_relaxed) != common->meetings)
            return r;
    return common->rank;
}

/* Boards that are cut into places. */
typedef struct places {
    unsigned count;
    uint64_t bytes; /* of each */
} places;

static places cut_boards(uint64_t count) {
    uint64_t rest = BOARD - round_up(count * sizeof(uint64_t));
    return (places){(unsigned)count, rest / count / LINE * LINE};
}

static uint64_t *lengths_of(char *board) { return (uint64_t *)(void *)board; }

static char *place_of(char *board, places places, unsigned number) {
    return board + round_up(places.count * sizeof(uint64_t)) + number * places.bytes;
}

static uint64_t entries_of(places places) {
    uint64_t entries = places.bytes / sizeof(double);
    return entries < PL_CHUNK ? entries : PL_CHUNK;
}

bool pl_common_holds(const pl_engine *engine, uint64_t bytes) { return engine->common && bytes <= cut_boards(1).bytes; }

parley_status pl_common_tell(pl_engine *engine, const void *data, uint64_t bytes, parley_error *error) {
    char *board = board_of(engine->common, engine->rank, false);
    *lengths_of(board) = bytes;
    memcpy(place_of(board, cut_boards(1), 0), data, bytes);
    engine->bytes_sent += bytes * (engine->ranks - 1);
    return engine->type->meet(engine, error);
}

parley_status pl_common_hear(pl_engine *engine, unsigned from, void *data, uint64_t bytes, parley_error *error) {
    char *board = board_of(engine->common, from, true);
    if (*lengths_of(board) != bytes)
        return pl_fail_length(from, *lengths_of(board), bytes, error);
    memcpy(data, place_of(board, cut_boards(1), 0), bytes);
    engine->bytes_received += bytes;
    return PARLEY_OK;
}

/* Lays out a chunk of an addend; its bytes. */
static uint64_t lay_out(char *board, places places, unsigned number, const pl_addend *addend, uint64_t begin,
                        uint64_t count) {
    char *place = place_of(board, places, number);
    uint64_t *bytes = &lengths_of(board)[number];
    const void *packet = pl_packet_write(addend, begin, count, place, bytes);
    if (packet != place)
        memcpy(place, packet, *bytes);
    return *bytes;
}

/* A reduction: place n R + o of a board is node n of its rank, for owner o. */
typedef struct reduction {
    pl_engine *engine;
    const pl_addend *nodes;
    unsigned number; /* of them */
    places places;
    pl_cursor cursors[PL_COMMON_RANKS]; /* by owner */
} reduction;

static parley_status find_packet(void *context, unsigned rank, unsigned node, uint64_t entries, pl_packet *packet,
                                 parley_error *error) {
    const reduction *reduction = context;
    pl_engine *engine = reduction->engine;
    char *board = board_of(engine->common, rank, true);
    unsigned number = node * engine->ranks + engine->rank;
    uint64_t bytes = lengths_of(board)[number];
    engine->bytes_received += bytes;
    if (pl_packet_read(place_of(board, reduction->places, number), bytes, entries, packet))
        return PARLEY_OK;
    return pl_fail_length(rank, bytes, entries * sizeof(double), error);
}

/* Lays out what the next chunk of each owner's slice needs, and tells this rank's own; false: there was none left. */
static bool lay_chunks(reduction *reduction, uint64_t *begin, uint64_t *entries) {
    pl_engine *engine = reduction->engine;
    char *board = board_of(engine->common, engine->rank, false);
    bool more = false;
    *entries = 0;
    for (unsigned i = 0; i < engine->ranks; i++) {
        unsigned owner = (engine->rank + i) % engine->ranks;
        uint64_t from, count;
        if (!pl_cursor_next(&reduction->cursors[owner], &from, &count))
            continue;
        more = true;
        for (unsigned n = 0; n < reduction->number && owner != engine->rank; n++)
            engine->bytes_sent +=
                lay_out(board, reduction->places, n * engine->ranks + owner, &reduction->nodes[n], from, count);
        if (owner == engine->rank) {
            *begin = from;
            *entries = count;
        }
    }
    return more;
}

parley_status pl_common_reduce(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size,
                               uint64_t width, const uint64_t *bounds, double *sum, parley_error *error) {
    pl_source sources[PL_COMMON_RANKS] = {0};
    pl_node whole = {0, workers};
    reduction reduction = {.engine = engine, .nodes = nodes};
    unsigned most = 1;
    for (unsigned r = 0; r < engine->ranks; r++) {
        sources[r] = pl_source_of(workers, r, pl_host_begin(workers, engine->ranks, r),
                                  pl_host_begin(workers, engine->ranks, r + 1));
        most = sources[r].nodes > most ? sources[r].nodes : most;
    }
    reduction.number = sources[engine->rank].nodes;
    reduction.places = cut_boards((uint64_t)most * engine->ranks);
    for (unsigned r = 0; r < engine->ranks; r++)
        reduction.cursors[r] =
            (pl_cursor){.region = pl_region_of(size, width, bounds, r), .most = entries_of(reduction.places)};
    pl_addition addition = {.workers = workers,
                            .sources = sources,
                            .count = engine->ranks,
                            .roots = &whole,
                            .number = 1,
                            .own = nodes,
                            .out = sum,
                            .distance = size * width,
                            .forward = PL_NOBODY,
                            .find = find_packet,
                            .context = &reduction};
    pl_desk desk;
    uint64_t begin = 0, entries;
    parley_status status = pl_desk_open(&desk, engine, 0, error);
    while (status == PARLEY_OK && lay_chunks(&reduction, &begin, &entries)) {
        status = engine->type->meet(engine, error);
        if (status == PARLEY_OK && entries > 0)
            status = pl_add_chunk(&desk, &addition, begin, entries, error);
    }
    return status;
}

/* The next chunk of every other rank's slice, from its board to the table. */
static parley_status read_chunks(pl_engine *engine, double *table, places places, pl_cursor *cursors,
                                 parley_error *error) {
    uint64_t begin, entries;
    parley_status status = PARLEY_OK;
    for (unsigned i = 1; i < engine->ranks && status == PARLEY_OK; i++) {
        unsigned owner = (engine->rank + i) % engine->ranks;
        char *board = board_of(engine->common, owner, true);
        for (unsigned c = 0; c < places.count && pl_cursor_next(&cursors[owner], &begin, &entries); c++) {
            pl_packet packet;
            bool ignored;
            uint64_t bytes = lengths_of(board)[c];
            engine->bytes_received += bytes;
            if (!pl_packet_read(place_of(board, places, c), bytes, entries, &packet))
                return pl_fail_length(owner, bytes, entries * sizeof *table, error);
            pl_packet_put(&packet, table + begin, &ignored);
        }
    }
    return status;
}

parley_status pl_common_gather(pl_engine *engine, double *table, const uint64_t *bounds, parley_error *error) {
    uint64_t longest = 0, begin, entries;
    places places = cut_boards((BOARD - LINE) / (PL_CHUNK * sizeof *table));
    pl_cursor cursors[PL_COMMON_RANKS];
    parley_status status = PARLEY_OK;
    for (unsigned r = 0; r < engine->ranks; r++) {
        uint64_t length = bounds[r + 1] - bounds[r];
        cursors[r] = (pl_cursor){.region = {bounds[r], length, 1, 0}, .most = entries_of(places)};
        longest = length > longest ? length : longest;
    }
    pl_cursor *mine = &cursors[engine->rank];
    for (uint64_t done = 0; done < longest && status == PARLEY_OK; done += places.count * entries_of(places)) {
        for (unsigned c = 0; c < places.count && pl_cursor_next(mine, &begin, &entries); c++)
            engine->bytes_sent += (engine->ranks - 1) * lay_out(board_of(engine->common, engine->rank, false), places,
                                                                c, &(pl_addend){.values = table}, begin, entries);
        status = engine->type->meet(engine, error);
        if (status == PARLEY_OK)
            status = read_chunks(engine, table, places, cursors, error);
    }
    return status;
}
