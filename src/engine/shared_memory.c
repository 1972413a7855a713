/* shared_memory.c: see shared_memory.h. The memory holds the header, the slots, the send buffers and the arenas.
 *
 * A send buffer has the locations of nodes in its rank's arena, room for one short message, and packets: first their
 * lengths, then slots of equal size for them. */
#define _GNU_SOURCE /* syscall */
#include "engine/shared_memory.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/chunks.h"

#define LINE 64                    /* bytes of a cache line */
#define BUFFER ((uint64_t)1 << 20) /* bytes of a send buffer, of which only written pages take memory */
#define SLOT ((uint64_t)1 << 16)   /* bytes of a slot, and of a short message */

/* Where a node is in its rank's arena, as offsets from the header. */
typedef struct node_place {
    uint64_t values, index, value, count; /* `values` is 0 if the node is sparse */
    double share;
} node_place;

typedef struct buffer {
    uint64_t in_arena; /* whether all nodes of its rank are in its arena */
    node_place node[PL_TREE_NODES];
    _Alignas(LINE) uint64_t message_bytes;
    char message[SLOT];
    _Alignas(LINE) char rest[];
} buffer;

#define REST (BUFFER - sizeof(buffer))

_Static_assert(REST >= (uint64_t)PL_TREE_NODES * PL_SHARED_RANKS * (sizeof(uint64_t) + LINE) + LINE,
               "there is a place for each node and owner");

/* A counter in its own cache line, so that writing it does not disturb readers of another. */
typedef struct counter {
    _Alignas(LINE) _Atomic uint32_t number;
} counter;

struct pl_shared_header {
    counter arrived;                  /* ranks that have entered the current barrier */
    counter passed;                   /* barriers that all ranks have entered; waiting ranks sleep on it */
    counter entered[PL_SHARED_RANKS]; /* barriers that each rank has entered */
    unsigned pinned[PL_SHARED_RANKS]; /* 1 + the core to which each rank is pinned; 0 if it is not */
};

static uint64_t round_up(uint64_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

static uint64_t first_arena(unsigned ranks) { return sizeof(struct pl_shared_header) + ranks * (SLOT + 2 * BUFFER); }

uint64_t pl_shared_bytes(unsigned ranks, uint64_t arena) { return first_arena(ranks) + ranks * arena; }

pl_shared pl_shared_of(void *memory, unsigned rank, unsigned ranks, uint64_t arena) {
    return (pl_shared){.header = memory, .rank = rank, .ranks = ranks, .arena = arena, .reduced = UINT32_MAX};
}

static char *slots_of(const pl_shared *shared) { return (char *)(shared->header + 1); }

void *pl_shared_slot(const pl_engine *engine, unsigned rank, uint64_t bytes) {
    return engine->shared && bytes <= SLOT ? slots_of(engine->shared) + rank * SLOT : NULL;
}

/* The send buffer of a rank: the copy to write before a barrier, or the one to read after it. */
static buffer *buffer_of(const pl_shared *shared, unsigned rank, bool reads) {
    uint64_t turn = (shared->barriers - reads) & 1;
    return (buffer *)(void *)(slots_of(shared) + shared->ranks * SLOT + (turn * shared->ranks + rank) * BUFFER);
}

static char *arena_of(const pl_shared *shared, unsigned rank) {
    return (char *)shared->header + first_arena(shared->ranks) + rank * shared->arena;
}

bool pl_shared_contains(const pl_engine *engine, const void *memory) {
    const pl_shared *shared = engine->shared;
    const char *byte = memory;
    return shared && byte >= arena_of(shared, 0) && byte < arena_of(shared, shared->ranks);
}

static bool is_own(const pl_shared *shared, const void *memory) {
    const char *byte = memory, *arena = arena_of(shared, shared->rank);
    return byte >= arena && byte < arena + shared->arena;
}

/* The head of each block of an arena. Arenas are stacks: a block freed below others is reused after they are freed. */
typedef struct arena_block {
    _Alignas(LINE) struct arena_block *below;
    bool freed;
} arena_block;

/* Whether the arena has this many bytes left. Other ranks may read freed blocks until the next barrier. */
static bool has_left(const pl_shared *shared, uint64_t bytes) {
    return sizeof(arena_block) + round_up(bytes) <= shared->arena - shared->used &&
           (shared->used == shared->most || shared->freed_at != shared->barriers);
}

void *pl_shared_alloc(pl_engine *engine, uint64_t count, uint64_t size) {
    pl_shared *shared = engine->shared;
    if (!shared || count > shared->arena / size || !has_left(shared, count * size))
        return pl_alloc(count, size);
    uint64_t bytes = sizeof(arena_block) + round_up(count * size), written = shared->most - shared->used;
    void *memory = arena_of(shared, engine->rank) + shared->used;
    memset(memory, 0, bytes < written ? bytes : written); /* the rest is still 0 */
    arena_block *new = memory;
    new->below = shared->last;
    shared->last = new;
    shared->used += bytes;
    shared->most = shared->used > shared->most ? shared->used : shared->most;
    return new + 1;
}

parley_status pl_shared_take(pl_engine *engine, void *out, uint64_t count, uint64_t size, const char *what,
                             parley_error *error) {
    void *memory = pl_shared_alloc(engine, count, size);
    memcpy(out, &memory, sizeof memory);
    return memory ? PARLEY_OK : pl_fail_memory(error, what, count * size);
}

void pl_shared_free(pl_engine *engine, void *memory) {
    pl_shared *shared = engine->shared;
    if (!pl_shared_contains(engine, memory)) {
        pl_free(memory);
        return;
    }
    if (!is_own(shared, memory))
        return;
    ((arena_block *)memory - 1)->freed = true;
    for (; shared->last && shared->last->freed; shared->last = shared->last->below) {
        shared->used = (uint64_t)((char *)shared->last - arena_of(shared, shared->rank));
        shared->freed_at = shared->barriers;
    }
}

parley_status pl_shared_table(pl_engine *engine, uint64_t bytes, void **table, parley_error *error) {
    pl_shared *shared = engine->shared;
    double place = -1.0, all = 0;
    *table = NULL;
    if (!shared)
        return PARLEY_OK;
    if (engine->rank == 0 && has_left(shared, bytes)) {
        *table = pl_shared_alloc(engine, 1, bytes);
        place = (double)((char *)*table - (char *)shared->header);
    }
    place = engine->rank == 0 ? place : 0.0;
    parley_status status = pl_sum_workers(engine, PL_EACH_RANK, &place, 1, &all, error);
    if (status == PARLEY_OK && all >= 0)
        *table = (char *)shared->header + (uint64_t)all;
    return status;
}

parley_status pl_shared_wait_read(pl_engine *engine, parley_error *error) {
    pl_shared *shared = engine->shared;
    return shared && shared->reduced == shared->barriers ? engine->type->barrier(engine, error) : PARLEY_OK;
}

void pl_shared_arrive(pl_shared *shared) {
    struct pl_shared_header *header = shared->header;
    shared->barriers++;
    atomic_store_explicit(&header->entered[shared->rank].number, shared->barriers, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&header->arrived.number, 1, memory_order_acq_rel) + 1 < shared->ranks)
        return;
    atomic_store_explicit(&header->arrived.number, 0, memory_order_relaxed);
    atomic_store_explicit(&header->passed.number, shared->barriers, memory_order_release);
    syscall(SYS_futex, &header->passed.number, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool pl_shared_all_arrived(const pl_shared *shared) {
    return atomic_load_explicit(&shared->header->passed.number, memory_order_acquire) == shared->barriers;
}

void pl_shared_sleep(const pl_shared *shared, double seconds) {
    struct timespec most = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    syscall(SYS_futex, &shared->header->passed.number, FUTEX_WAIT, shared->barriers - 1, &most, NULL, 0);
}

bool pl_shared_core_wanted(const pl_shared *shared) {
    const struct pl_shared_header *header = shared->header;
    for (unsigned r = 0; r < shared->ranks; r++)
        if (header->pinned[r] == header->pinned[shared->rank] &&
            atomic_load_explicit(&header->entered[r].number, memory_order_relaxed) != shared->barriers)
            return true;
    return false;
}

void pl_shared_pin(pl_shared *shared, unsigned pinned) { shared->header->pinned[shared->rank] = pinned; }

unsigned pl_shared_missing(const pl_shared *shared) {
    for (unsigned r = 0; r < shared->ranks; r++)
        if (atomic_load_explicit(&shared->header->entered[r].number, memory_order_relaxed) != shared->barriers)
            return r;
    return shared->rank;
}

/* The division of send buffers into places. */
typedef struct places {
    unsigned count;
    uint64_t bytes; /* of each place */
} places;

static places cut_buffers(uint64_t count) {
    uint64_t rest = REST - round_up(count * sizeof(uint64_t));
    return (places){(unsigned)count, rest / count / LINE * LINE};
}

static uint64_t *lengths_of(buffer *buffer) { return (uint64_t *)(void *)buffer->rest; }

static char *place_of(buffer *buffer, places places, unsigned number) {
    return buffer->rest + round_up(places.count * sizeof(uint64_t)) + number * places.bytes;
}

static uint64_t entries_of(places places) {
    uint64_t entries = places.bytes / sizeof(double);
    return entries < PL_CHUNK ? entries : PL_CHUNK;
}

bool pl_shared_fits(const pl_engine *engine, uint64_t bytes) { return engine->shared && bytes <= SLOT; }

parley_status pl_shared_send(pl_engine *engine, const void *data, uint64_t bytes, parley_error *error) {
    buffer *buffer = buffer_of(engine->shared, engine->rank, false);
    buffer->message_bytes = bytes;
    memcpy(buffer->message, data, bytes);
    engine->bytes_sent += bytes * (engine->ranks - 1);
    return engine->type->barrier(engine, error);
}

parley_status pl_shared_receive(pl_engine *engine, unsigned from, void *data, uint64_t bytes, parley_error *error) {
    const buffer *buffer = buffer_of(engine->shared, from, true);
    if (buffer->message_bytes != bytes)
        return pl_fail_length(from, buffer->message_bytes, bytes, error);
    memcpy(data, buffer->message, bytes);
    engine->bytes_received += bytes;
    return PARLEY_OK;
}

/* Writes a chunk of an addend to a send buffer; returns its length in bytes. */
static uint64_t write_chunk(buffer *buffer, places places, unsigned number, const pl_addend *addend, uint64_t begin,
                            uint64_t count) {
    char *place = place_of(buffer, places, number);
    uint64_t *bytes = &lengths_of(buffer)[number];
    const void *packet = pl_packet_write(addend, begin, count, place, bytes);
    if (packet != place)
        memcpy(place, packet, *bytes);
    return *bytes;
}

/* A reduction: place n R + o of a send buffer is node n of its rank, for owner o. */
typedef struct reduction {
    pl_engine *engine;
    const pl_addend *nodes;
    pl_source sources[PL_SHARED_RANKS]; /* by rank */
    places places;
    pl_cursor cursors[PL_SHARED_RANKS]; /* by owner */
    uint64_t begin, entries;            /* of the chunk of this owner */
} reduction;

static reduction begin_reduction(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size,
                                 uint64_t width, const uint64_t *bounds) {
    reduction self = {.engine = engine, .nodes = nodes};
    unsigned most = 1, all = pl_workers_or_ranks(engine, workers), hosts = pl_hosts_of(engine, workers);
    for (unsigned r = 0; r < engine->ranks; r++) {
        self.sources[r] = pl_source_of(all, r, pl_host_begin(all, hosts, r), pl_host_begin(all, hosts, r + 1));
        most = self.sources[r].nodes > most ? self.sources[r].nodes : most;
    }
    self.places = cut_buffers((uint64_t)most * engine->ranks);
    for (unsigned r = 0; r < engine->ranks; r++)
        self.cursors[r] = (pl_cursor){.region = pl_region_of(size, width, bounds, r), .most = entries_of(self.places)};
    return self;
}

static uint64_t offset_of(const pl_shared *shared, const void *memory) {
    return memory ? (uint64_t)((const char *)memory - (const char *)shared->header) : 0;
}

/* Publishes the locations of the nodes, if all of them are in the arena. */
static void publish_nodes(const reduction *self, buffer *buffer) {
    const pl_shared *shared = self->engine->shared;
    buffer->in_arena = 1;
    for (unsigned n = 0; n < self->sources[shared->rank].nodes; n++) {
        const pl_addend *node = &self->nodes[n];
        buffer->in_arena = buffer->in_arena &&
                           pl_shared_contains(self->engine, node->values ? node->values : node->value) &&
                           (node->values || pl_shared_contains(self->engine, node->index));
        buffer->node[n] = (node_place){offset_of(shared, node->values), offset_of(shared, node->index),
                                       offset_of(shared, node->value), node->count, node->share};
    }
}

static pl_addend addend_at(const pl_shared *shared, const node_place *where) {
    const void *header = shared->header, *index = (const char *)header + where->index;
    const void *values = (const char *)header + (where->values ? where->values : where->value);
    if (where->values)
        return (pl_addend){.values = values};
    return (pl_addend){.index = index, .value = values, .count = where->count, .share = where->share};
}

static bool all_in_arenas(const reduction *self) {
    for (unsigned r = 0; r < self->engine->ranks; r++)
        if (!buffer_of(self->engine->shared, r, true)->in_arena)
            return false;
    return true;
}

static parley_status find_packet(void *context, unsigned rank, unsigned node, uint64_t entries, pl_packet *packet,
                                 parley_error *error) {
    const reduction *self = context;
    pl_engine *engine = self->engine;
    buffer *buffer = buffer_of(engine->shared, rank, true);
    unsigned number = node * engine->ranks + engine->rank;
    if (buffer->in_arena) {
        pl_addend addend = addend_at(engine->shared, &buffer->node[node]);
        *packet = pl_packet_of(&addend, self->begin, entries);
        engine->bytes_received += pl_packet_bytes(entries, packet->filled);
        return PARLEY_OK;
    }
    uint64_t bytes = lengths_of(buffer)[number];
    engine->bytes_received += bytes;
    if (pl_packet_read(place_of(buffer, self->places, number), bytes, entries, packet))
        return PARLEY_OK;
    return pl_fail_length(rank, bytes, entries * sizeof(double), error);
}

/* Writes a chunk of this rank's nodes for their owner, unless it is in the arena. */
static void write_chunks(const reduction *self, buffer *buffer, unsigned owner, uint64_t begin, uint64_t count) {
    pl_engine *engine = self->engine;
    for (unsigned n = 0; n < self->sources[engine->rank].nodes; n++)
        engine->bytes_sent +=
            buffer->in_arena
                ? pl_packet_bytes(count, pl_packet_of(&self->nodes[n], begin, count).filled)
                : write_chunk(buffer, self->places, n * engine->ranks + owner, &self->nodes[n], begin, count);
}

/* Moves to the next chunk of each owner's slice, and writes it to the send buffer. Returns false if none was left. */
static bool next_chunks(reduction *self, bool writes) {
    pl_engine *engine = self->engine;
    buffer *buffer = buffer_of(engine->shared, engine->rank, false);
    bool more = false;
    self->entries = 0;
    if (writes)
        publish_nodes(self, buffer);
    for (unsigned i = 0; i < engine->ranks; i++) {
        unsigned owner = (engine->rank + i) % engine->ranks;
        uint64_t begin, count;
        if (!pl_cursor_next(&self->cursors[owner], &begin, &count))
            continue;
        more = true;
        if (owner == engine->rank) {
            self->begin = begin;
            self->entries = count;
        } else if (writes)
            write_chunks(self, buffer, owner, begin, count);
    }
    return more;
}

void pl_shared_reduce_offer(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size, uint64_t width,
                            const uint64_t *bounds) {
    reduction self = begin_reduction(engine, workers, nodes, size, width, bounds);
    next_chunks(&self, true);
    engine->shared->offer = nodes;
    engine->shared->offered = engine->shared->barriers;
}

parley_status pl_shared_reduce(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size,
                               uint64_t width, const uint64_t *bounds, double *sum, parley_error *error) {
    unsigned all = pl_workers_or_ranks(engine, workers);
    pl_node whole = {0, all};
    reduction self = begin_reduction(engine, workers, nodes, size, width, bounds);
    pl_addition addition = {.workers = all,
                            .sources = self.sources,
                            .count = engine->ranks,
                            .roots = &whole,
                            .number = 1,
                            .own = nodes,
                            .out = sum,
                            .distance = size * width,
                            .forward = PL_NOBODY,
                            .find = find_packet,
                            .context = &self};
    pl_shared *shared = engine->shared;
    bool offered = shared->offer == nodes && shared->offered + 1 == shared->barriers, in_arenas = false;
    pl_scratch scratch;
    parley_status status = pl_scratch_open(&scratch, engine, 0, error);
    for (; status == PARLEY_OK && next_chunks(&self, !offered); offered = false) {
        if (!offered && !in_arenas)
            status = engine->type->barrier(engine, error);
        in_arenas = in_arenas || (status == PARLEY_OK && all_in_arenas(&self)); /* then one barrier is enough */
        if (status == PARLEY_OK && self.entries > 0)
            status = pl_add_chunk(&scratch, &addition, self.begin, self.entries, error);
    }
    shared->offer = NULL;
    shared->reduced = shared->barriers;
    return status;
}

/* Copies the next chunk of every other rank's slice from its send buffer to the table. */
static parley_status read_chunks(pl_engine *engine, double *table, places places, pl_cursor *cursors,
                                 parley_error *error) {
    uint64_t begin, entries;
    parley_status status = PARLEY_OK;
    for (unsigned i = 1; i < engine->ranks && status == PARLEY_OK; i++) {
        unsigned owner = (engine->rank + i) % engine->ranks;
        buffer *buffer = buffer_of(engine->shared, owner, true);
        for (unsigned c = 0; c < places.count && pl_cursor_next(&cursors[owner], &begin, &entries); c++) {
            pl_packet packet;
            bool ignored;
            uint64_t bytes = lengths_of(buffer)[c];
            engine->bytes_received += bytes;
            if (!pl_packet_read(place_of(buffer, places, c), bytes, entries, &packet))
                return pl_fail_length(owner, bytes, entries * sizeof *table, error);
            pl_packet_put(&packet, table + begin, &ignored);
        }
    }
    return status;
}

void pl_shared_gather_offer(pl_engine *engine, const double *table) {
    engine->shared->table = table;
    engine->shared->written = engine->shared->barriers;
}

/* Gathers a table in the arenas without copying it. */
static parley_status gather_in_arena(pl_engine *engine, const double *table, const uint64_t *bounds,
                                     parley_error *error) {
    pl_shared *shared = engine->shared;
    uint64_t mine = (bounds[engine->rank + 1] - bounds[engine->rank]) * sizeof(double),
             all = (bounds[engine->ranks] - bounds[0]) * sizeof(double);
    engine->bytes_sent += (engine->ranks - 1) * mine;
    engine->bytes_received += all - mine;
    bool passed = shared->table == table && shared->written != shared->barriers;
    shared->table = NULL;
    return passed ? PARLEY_OK : engine->type->barrier(engine, error);
}

parley_status pl_shared_gather(pl_engine *engine, double *table, const uint64_t *bounds, parley_error *error) {
    if (pl_shared_contains(engine, table))
        return gather_in_arena(engine, table, bounds, error);
    uint64_t longest = 0, begin, entries;
    places places = cut_buffers((REST - LINE) / (PL_CHUNK * sizeof *table));
    pl_cursor cursors[PL_SHARED_RANKS];
    parley_status status = PARLEY_OK;
    for (unsigned r = 0; r < engine->ranks; r++) {
        uint64_t length = bounds[r + 1] - bounds[r];
        cursors[r] = (pl_cursor){.region = {bounds[r], length, 1, 0}, .most = entries_of(places)};
        longest = length > longest ? length : longest;
    }
    pl_cursor *mine = &cursors[engine->rank];
    for (uint64_t done = 0; done < longest && status == PARLEY_OK; done += places.count * entries_of(places)) {
        for (unsigned c = 0; c < places.count && pl_cursor_next(mine, &begin, &entries); c++)
            engine->bytes_sent +=
                (engine->ranks - 1) * write_chunk(buffer_of(engine->shared, engine->rank, false), places, c,
                                                  &(pl_addend){.values = table}, begin, entries);
        status = engine->type->barrier(engine, error);
        if (status == PARLEY_OK)
            status = read_chunks(engine, table, places, cursors, error);
    }
    return status;
}
