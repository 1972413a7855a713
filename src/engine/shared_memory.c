/* shared_memory.c: see common.h. In memory: the hall, the notes, the boards, the estates.
 *
 * A board is a list of what its rank keeps elsewhere, a place for what it tells, and the rest: the length of each
 * packet that lies there, and places of equal size for them. */
#define _GNU_SOURCE /* syscall */
#include "engine/shared_memory.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/flow.h"

#define LINE 64                   /* bytes of a line of the cache */
#define BOARD ((uint64_t)1 << 20) /* bytes of a board; only what is written takes memory */
#define NOTE ((uint64_t)1 << 16)  /* and of what is noted or told */

/* Where a rank keeps a node, in bytes from the hall on. */
typedef struct whereabouts {
    uint64_t values, index, value, count; /* `values` is 0: sparse */
    double share;
} whereabouts;

typedef struct board {
    uint64_t kept; /* are all nodes of its rank kept in its estate? */
    whereabouts node[PL_TREE_NODES];
    _Alignas(LINE) uint64_t told_bytes;
    char told[NOTE];
    _Alignas(LINE) char rest[];
} board;

#define REST (BOARD - sizeof(board))

_Static_assert(REST >= (uint64_t)PL_TREE_NODES * PL_COMMON_RANKS * (sizeof(uint64_t) + LINE) + LINE,
               "there is a place for each node and owner");

/* A number with a line to itself, so that writing it disturbs nobody who reads another. */
typedef struct tally {
    _Alignas(LINE) _Atomic uint32_t number;
} tally;

struct hall {
    tally here;                     /* ranks that have come to the meeting which is being held */
    tally held;                     /* meetings that were held; who waits for one sleeps on this */
    tally come[PL_COMMON_RANKS];    /* meetings that each rank has come to */
    unsigned kept[PL_COMMON_RANKS]; /* 1 + the core that it keeps to; 0: to none */
};

static uint64_t round_up(uint64_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

static uint64_t first_estate(unsigned ranks) { return sizeof(struct hall) + ranks * (NOTE + 2 * BOARD); }

uint64_t pl_common_bytes(unsigned ranks, uint64_t estate) { return first_estate(ranks) + ranks * estate; }

pl_common pl_common_of(void *memory, unsigned rank, unsigned ranks, uint64_t estate) {
    return (pl_common){.hall = memory, .rank = rank, .ranks = ranks, .estate = estate, .reduced = UINT32_MAX};
}

static char *notes_of(const pl_common *common) { return (char *)(common->hall + 1); }

void *pl_common_note(const pl_engine *engine, unsigned rank, uint64_t bytes) {
    return engine->common && bytes <= NOTE ? notes_of(engine->common) + rank * NOTE : NULL;
}

/* The board of a rank: that which this one writes before a meeting, or reads after it. */
static board *board_of(const pl_common *common, unsigned rank, bool reads) {
    uint64_t turn = (common->meetings - reads) & 1;
    return (board *)(void *)(notes_of(common) + common->ranks * NOTE + (turn * common->ranks + rank) * BOARD);
}

static char *estate_of(const pl_common *common, unsigned rank) {
    return (char *)common->hall + first_estate(common->ranks) + rank * common->estate;
}

bool pl_common_keeps(const pl_engine *engine, const void *memory) {
    const pl_common *common = engine->common;
    const char *byte = memory;
    return common && byte >= estate_of(common, 0) && byte < estate_of(common, common->ranks);
}

static bool is_own(const pl_common *common, const void *memory) {
    const char *byte = memory, *estate = estate_of(common, common->rank);
    return byte >= estate && byte < estate + common->estate;
}

/* Stands before each thing that is kept: estates are stacks, and what is given back below others waits for them. */
typedef struct holding {
    _Alignas(LINE) struct holding *below;
    bool given_back;
} holding;

/* Has the estate so much left? Others may still read what was given back there, until they have met. */
static bool has_left(const pl_common *common, uint64_t bytes) {
    return sizeof(holding) + round_up(bytes) <= common->estate - common->taken &&
           (common->taken == common->most || common->vacant != common->meetings);
}

void *pl_common_alloc(pl_engine *engine, uint64_t count, uint64_t size) {
    pl_common *common = engine->common;
    if (!common || count > common->estate / size || !has_left(common, count * size))
        return pl_alloc(count, size);
    uint64_t bytes = sizeof(holding) + round_up(count * size), used = common->most - common->taken;
    void *memory = estate_of(common, engine->rank) + common->taken;
    memset(memory, 0, bytes < used ? bytes : used); /* the rest still is */
    holding *new = memory;
    new->below = common->last;
    common->last = new;
    common->taken += bytes;
    common->most = common->taken > common->most ? common->taken : common->most;
    return new + 1;
}

parley_status pl_common_take(pl_engine *engine, void *out, uint64_t count, uint64_t size, const char *what,
                             parley_error *error) {
    void *memory = pl_common_alloc(engine, count, size);
    memcpy(out, &memory, sizeof memory);
    return memory ? PARLEY_OK : pl_fail_memory(error, what, count * size);
}

void pl_common_free(pl_engine *engine, void *memory) {
    pl_common *common = engine->common;
    if (!pl_common_keeps(engine, memory)) {
        pl_free(memory);
        return;
    }
    if (!is_own(common, memory))
        return;
    ((holding *)memory - 1)->given_back = true;
    for (; common->last && common->last->given_back; common->last = common->last->below) {
        common->taken = (uint64_t)((char *)common->last - estate_of(common, common->rank));
        common->vacant = common->meetings;
    }
}

parley_status pl_common_table(pl_engine *engine, uint64_t bytes, void **table, parley_error *error) {
    pl_common *common = engine->common;
    double place = -1.0, all = 0;
    *table = NULL;
    if (!common)
        return PARLEY_OK;
    if (engine->rank == 0 && has_left(common, bytes)) {
        *table = pl_common_alloc(engine, 1, bytes);
        place = (double)((char *)*table - (char *)common->hall);
    }
    place = engine->rank == 0 ? place : 0.0;
    parley_status status = pl_sum_workers(engine, engine->ranks, &place, 1, &all, error);
    if (status == PARLEY_OK && all >= 0)
        *table = (char *)common->hall + (uint64_t)all;
    return status;
}

parley_status pl_common_settle(pl_engine *engine, parley_error *error) {
    pl_common *common = engine->common;
    return common && common->reduced == common->meetings ? engine->type->meet(engine, error) : PARLEY_OK;
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

bool pl_common_crowded(const pl_common *common) {
    const struct hall *hall = common->hall;
    for (unsigned r = 0; r < common->ranks; r++)
        if (hall->kept[r] == hall->kept[common->rank] &&
            atomic_load_explicit(&hall->come[r].number, memory_order_relaxed) != common->meetings)
            return true;
    return false;
}

void pl_common_keep(pl_common *common, unsigned kept) { common->hall->kept[common->rank] = kept; }

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
    uint64_t rest = REST - round_up(count * sizeof(uint64_t));
    return (places){(unsigned)count, rest / count / LINE * LINE};
}

static uint64_t *lengths_of(board *board) { return (uint64_t *)(void *)board->rest; }

static char *place_of(board *board, places places, unsigned number) {
    return board->rest + round_up(places.count * sizeof(uint64_t)) + number * places.bytes;
}

static uint64_t entries_of(places places) {
    uint64_t entries = places.bytes / sizeof(double);
    return entries < PL_CHUNK ? entries : PL_CHUNK;
}

bool pl_common_holds(const pl_engine *engine, uint64_t bytes) { return engine->common && bytes <= NOTE; }

parley_status pl_common_tell(pl_engine *engine, const void *data, uint64_t bytes, parley_error *error) {
    board *board = board_of(engine->common, engine->rank, false);
    board->told_bytes = bytes;
    memcpy(board->told, data, bytes);
    engine->bytes_sent += bytes * (engine->ranks - 1);
    return engine->type->meet(engine, error);
}

parley_status pl_common_hear(pl_engine *engine, unsigned from, void *data, uint64_t bytes, parley_error *error) {
    const board *board = board_of(engine->common, from, true);
    if (board->told_bytes != bytes)
        return pl_fail_length(from, board->told_bytes, bytes, error);
    memcpy(data, board->told, bytes);
    engine->bytes_received += bytes;
    return PARLEY_OK;
}

/* Lays out a chunk of an addend; its bytes. */
static uint64_t lay_out(board *board, places places, unsigned number, const pl_addend *addend, uint64_t begin,
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
    pl_source sources[PL_COMMON_RANKS]; /* by rank */
    places places;
    pl_cursor cursors[PL_COMMON_RANKS]; /* by owner */
    uint64_t begin, entries;            /* of this owner's chunk */
} reduction;

static reduction begin_reduction(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size,
                                 uint64_t width, const uint64_t *bounds) {
    reduction this = {.engine = engine, .nodes = nodes};
    unsigned most = 1;
    for (unsigned r = 0; r < engine->ranks; r++) {
        this.sources[r] = pl_source_of(workers, r, pl_host_begin(workers, engine->ranks, r),
                                       pl_host_begin(workers, engine->ranks, r + 1));
        most = this.sources[r].nodes > most ? this.sources[r].nodes : most;
    }
    this.places = cut_boards((uint64_t)most * engine->ranks);
    for (unsigned r = 0; r < engine->ranks; r++)
        this.cursors[r] = (pl_cursor){.region = pl_region_of(size, width, bounds, r), .most = entries_of(this.places)};
    return this;
}

static uint64_t way_to(const pl_common *common, const void *memory) {
    return memory ? (uint64_t)((const char *)memory - (const char *)common->hall) : 0;
}

/* Says where the nodes are kept, if they all are in the estate. */
static void say_where(const reduction *this, board *board) {
    const pl_common *common = this->engine->common;
    board->kept = 1;
    for (unsigned n = 0; n < this->sources[common->rank].nodes; n++) {
        const pl_addend *node = &this->nodes[n];
        board->kept = board->kept && pl_common_keeps(this->engine, node->values ? node->values : node->value) &&
                      (node->values || pl_common_keeps(this->engine, node->index));
        board->node[n] = (whereabouts){way_to(common, node->values), way_to(common, node->index),
                                       way_to(common, node->value), node->count, node->share};
    }
}

static pl_addend go_there(const pl_common *common, const whereabouts *where) {
    const void *hall = common->hall, *index = (const char *)hall + where->index;
    const void *values = (const char *)hall + (where->values ? where->values : where->value);
    if (where->values)
        return (pl_addend){.values = values};
    return (pl_addend){.index = index, .value = values, .count = where->count, .share = where->share};
}

static bool all_are_kept(const reduction *this) {
    for (unsigned r = 0; r < this->engine->ranks; r++)
        if (!board_of(this->engine->common, r, true)->kept)
            return false;
    return true;
}

static parley_status find_packet(void *context, unsigned rank, unsigned node, uint64_t entries, pl_packet *packet,
                                 parley_error *error) {
    const reduction *this = context;
    pl_engine *engine = this->engine;
    board *board = board_of(engine->common, rank, true);
    unsigned number = node * engine->ranks + engine->rank;
    if (board->kept) {
        pl_addend addend = go_there(engine->common, &board->node[node]);
        *packet = pl_packet_of(&addend, this->begin, entries);
        engine->bytes_received += pl_packet_bytes(entries, packet->filled);
        return PARLEY_OK;
    }
    uint64_t bytes = lengths_of(board)[number];
    engine->bytes_received += bytes;
    if (pl_packet_read(place_of(board, this->places, number), bytes, entries, packet))
        return PARLEY_OK;
    return pl_fail_length(rank, bytes, entries * sizeof(double), error);
}

/* Lays out a chunk of this rank's nodes for their owner; where they are kept, it is found there. */
static void lay_chunk(const reduction *this, board *board, unsigned owner, uint64_t begin, uint64_t count) {
    pl_engine *engine = this->engine;
    for (unsigned n = 0; n < this->sources[engine->rank].nodes; n++)
        engine->bytes_sent +=
            board->kept ? pl_packet_bytes(count, pl_packet_of(&this->nodes[n], begin, count).filled)
                        : lay_out(board, this->places, n * engine->ranks + owner, &this->nodes[n], begin, count);
}

/* Moves on to the next chunk of each owner's slice, and lays it out; false: there was none left. */
static bool next_chunks(reduction *this, bool lays) {
    pl_engine *engine = this->engine;
    board *board = board_of(engine->common, engine->rank, false);
    bool more = false;
    this->entries = 0;
    if (lays)
        say_where(this, board);
    for (unsigned i = 0; i < engine->ranks; i++) {
        unsigned owner = (engine->rank + i) % engine->ranks;
        uint64_t begin, count;
        if (!pl_cursor_next(&this->cursors[owner], &begin, &count))
            continue;
        more = true;
        if (owner == engine->rank) {
            this->begin = begin;
            this->entries = count;
        } else if (lays)
            lay_chunk(this, board, owner, begin, count);
    }
    return more;
}

void pl_common_offer(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size, uint64_t width,
                     const uint64_t *bounds) {
    reduction this = begin_reduction(engine, workers, nodes, size, width, bounds);
    next_chunks(&this, true);
    engine->common->offer = nodes;
    engine->common->offered = engine->common->meetings;
}

parley_status pl_common_reduce(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size,
                               uint64_t width, const uint64_t *bounds, double *sum, parley_error *error) {
    pl_node whole = {0, workers};
    reduction this = begin_reduction(engine, workers, nodes, size, width, bounds);
    pl_addition addition = {.workers = workers,
                            .sources = this.sources,
                            .count = engine->ranks,
                            .roots = &whole,
                            .number = 1,
                            .own = nodes,
                            .out = sum,
                            .distance = size * width,
                            .forward = PL_NOBODY,
                            .find = find_packet,
                            .context = &this};
    pl_common *common = engine->common;
    bool laid = common->offer == nodes && common->offered + 1 == common->meetings, kept = false;
    pl_desk desk;
    parley_status status = pl_desk_open(&desk, engine, 0, error);
    for (; status == PARLEY_OK && next_chunks(&this, !laid); laid = false) {
        if (!laid && !kept)
            status = engine->type->meet(engine, error);
        kept = kept || (status == PARLEY_OK && all_are_kept(&this)); /* then one meeting does for all chunks */
        if (status == PARLEY_OK && this.entries > 0)
            status = pl_add_chunk(&desk, &addition, this.begin, this.entries, error);
    }
    common->offer = NULL;
    common->reduced = common->meetings;
    return status;
}

/* The next chunk of every other rank's slice, from its board to the table. */
static parley_status read_chunks(pl_engine *engine, double *table, places places, pl_cursor *cursors,
                                 parley_error *error) {
    uint64_t begin, entries;
    parley_status status = PARLEY_OK;
    for (unsigned i = 1; i < engine->ranks && status == PARLEY_OK; i++) {
        unsigned owner = (engine->rank + i) % engine->ranks;
        board *board = board_of(engine->common, owner, true);
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

void pl_common_write(pl_engine *engine, const double *table) {
    engine->common->table = table;
    engine->common->written = engine->common->meetings;
}

/* Of a table that all see nothing has to be copied. */
static parley_status gather_kept(pl_engine *engine, const double *table, const uint64_t *bounds, parley_error *error) {
    pl_common *common = engine->common;
    uint64_t mine = (bounds[engine->rank + 1] - bounds[engine->rank]) * sizeof(double),
             all = (bounds[engine->ranks] - bounds[0]) * sizeof(double);
    engine->bytes_sent += (engine->ranks - 1) * mine;
    engine->bytes_received += all - mine;
    bool met = common->table == table && common->written != common->meetings;
    common->table = NULL;
    return met ? PARLEY_OK : engine->type->meet(engine, error);
}

parley_status pl_common_gather(pl_engine *engine, double *table, const uint64_t *bounds, parley_error *error) {
    if (pl_common_keeps(engine, table))
        return gather_kept(engine, table, bounds, error);
    uint64_t longest = 0, begin, entries;
    places places = cut_boards((REST - LINE) / (PL_CHUNK * sizeof *table));
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
