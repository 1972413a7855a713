/* gather.c: all-gather, which sends every owner's slice to all ranks, with the patterns of reduce.c. A slice is
 * received in place and forwarded from there: by a deputy to the ranks of its host, or down the tree to the children.
 */
#include <string.h>

#include "engine/chunks.h"
#include "engine/routes.h"
#include "engine/shared_memory.h"

enum { CHANNEL_GATHER = 18, CHANNEL_GATHER_ON };

/* How an owner's slice reaches this rank, and where it is forwarded. */
typedef struct route {
    unsigned from, channel;
    bool passes_on;
} route;

typedef struct delivery {
    pl_request request;
    uint64_t begin, count;
    unsigned owner;
} delivery;

typedef struct gathering {
    pl_engine *engine;
    double *table;
    const uint64_t *bounds;
    bool tree;
    unsigned *firsts, first; /* ranks that get this rank's own slice */
    unsigned *next, nexts;   /* ranks to which it forwards what it receives */
    delivery *deliveries;
    uint64_t number;
    pl_scratch scratch;
} gathering;

static route route_of(const gathering *gathering, unsigned owner) {
    const pl_engine *engine = gathering->engine;
    if (gathering->tree)
        return (route){pl_tree_parent(engine->rank), CHANNEL_GATHER, true};
    pl_ranks here = pl_ranks_here(engine, engine->rank);
    if (owner >= here.first && owner < here.end)
        return (route){owner, CHANNEL_GATHER, false};
    unsigned deputy = pl_deputy(engine, here, owner);
    return deputy == engine->rank ? (route){owner, CHANNEL_GATHER, true} : (route){deputy, CHANNEL_GATHER_ON, false};
}

/* Fills both lists of ranks. */
static void find_ways(gathering *gathering) {
    pl_engine *engine = gathering->engine;
    pl_ranks here = pl_ranks_here(engine, engine->rank);
    if (gathering->tree) {
        gathering->first = gathering->nexts = pl_tree_children(engine, gathering->next);
        memcpy(gathering->firsts, gathering->next, gathering->first * sizeof *gathering->firsts);
        return;
    }
    for (unsigned i = 1; i < here.end - here.first; i++)
        gathering->next[gathering->nexts++] = here.first + (engine->rank - here.first + i) % (here.end - here.first);
    memcpy(gathering->firsts, gathering->next, gathering->nexts * sizeof *gathering->firsts);
    gathering->first = gathering->nexts;
    for (unsigned r = 0; r < engine->ranks; r = pl_ranks_here(engine, r).end) {
        pl_ranks there = pl_ranks_here(engine, r);
        if (there.first != here.first)
            gathering->firsts[gathering->first++] = pl_deputy(engine, there, engine->rank);
    }
}

static pl_cursor slice_of(const gathering *gathering, unsigned owner) {
    const uint64_t *bounds = gathering->bounds;
    return (pl_cursor){.region = {bounds[owner], bounds[owner + 1] - bounds[owner], 1, 0}};
}

static parley_status expect_all(gathering *gathering, parley_error *error) {
    pl_engine *engine = gathering->engine;
    parley_status status = PARLEY_OK;
    uint64_t begin, count;
    for (unsigned owner = 0; owner < engine->ranks; owner++) {
        pl_cursor cursor = slice_of(gathering, owner);
        route route = route_of(gathering, owner);
        while (owner != engine->rank && status == PARLEY_OK && pl_cursor_next(&cursor, &begin, &count)) {
            delivery *delivery = &gathering->deliveries[gathering->number++];
            delivery->request = (pl_request){.from = route.from,
                                             .channel = route.channel,
                                             .data = gathering->table + begin,
                                             .most = count * sizeof *gathering->table};
            delivery->begin = begin;
            delivery->count = count;
            delivery->owner = owner;
            status = engine->type->expect(engine, &delivery->request, error);
        }
    }
    return status;
}

static parley_status send_slice(gathering *gathering, parley_error *error) {
    pl_cursor cursor = slice_of(gathering, gathering->engine->rank);
    uint64_t begin, count;
    parley_status status = PARLEY_OK;
    while (status == PARLEY_OK && pl_cursor_next(&cursor, &begin, &count))
        status = pl_send_chunk(&gathering->scratch, gathering->firsts, gathering->first, CHANNEL_GATHER,
                               &(pl_addend){.values = gathering->table}, begin, count, error);
    return status;
}

/* Waits for a chunk and expands it in place: a sparse packet lies at the beginning of its chunk. */
static parley_status receive_chunk(gathering *gathering, delivery *delivery, parley_error *error) {
    pl_engine *engine = gathering->engine;
    double *place = gathering->table + delivery->begin;
    void *aside = gathering->scratch.room;
    uint64_t bytes;
    parley_status status = engine->type->await(engine, &delivery->request, &bytes, error);
    if (status != PARLEY_OK || bytes == delivery->count * sizeof *place)
        return status;
    pl_packet packet;
    bool ignored;
    memcpy(aside, place, bytes);
    if (!pl_packet_read(aside, bytes, delivery->count, &packet))
        return pl_fail_length(delivery->request.from, bytes, delivery->count * sizeof *place, error);
    pl_packet_put(&packet, place, &ignored);
    return PARLEY_OK;
}

/* Chunks that come from their owner are forwarded before this rank waits for forwarded ones. */
static parley_status receive_all(gathering *gathering, bool passed_on, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (uint64_t i = 0; i < gathering->number && status == PARLEY_OK; i++) {
        delivery *delivery = &gathering->deliveries[i];
        route route = route_of(gathering, delivery->owner);
        if ((route.channel == CHANNEL_GATHER_ON) != passed_on)
            continue;
        status = receive_chunk(gathering, delivery, error);
        if (status == PARLEY_OK && route.passes_on)
            status = pl_send_chunk(&gathering->scratch, gathering->next, gathering->nexts,
                                   gathering->tree ? CHANNEL_GATHER : CHANNEL_GATHER_ON,
                                   &(pl_addend){.values = gathering->table}, delivery->begin, delivery->count, error);
    }
    return status;
}

void pl_gather_offer(pl_engine *engine, const double *table) {
    if (engine->shared)
        pl_shared_gather_offer(engine, table);
}

parley_status pl_all_gather(pl_engine *engine, double *table, const uint64_t *bounds, parley_error *error) {
    gathering gathering = {
        .engine = engine, .table = table, .bounds = bounds, .tree = pl_first_owns_all(engine, bounds)};
    uint64_t entries = bounds[engine->ranks] - bounds[0], packets = entries / PL_CHUNK + engine->ranks;
    if (engine->ranks == 1)
        return PARLEY_OK;
    if (engine->shared)
        return pl_shared_gather(engine, table, bounds, error);
    parley_status status = pl_scratch_open(&gathering.scratch, engine,
                                           pl_scratch_for_packets(&(pl_addend){.values = table}, entries, packets) +
                                               packets * sizeof(delivery) + 2 * engine->ranks * sizeof(unsigned) + 256,
                                           error);
    if (status != PARLEY_OK)
        return status;
    gathering.deliveries = pl_scratch_take(&gathering.scratch, packets * sizeof(delivery));
    gathering.firsts = pl_scratch_take(&gathering.scratch, engine->ranks * sizeof(unsigned));
    gathering.next = pl_scratch_take(&gathering.scratch, engine->ranks * sizeof(unsigned));
    find_ways(&gathering);
    /* Sends first: over TCP, MPICH answers sends that find a receive posted one direction at a time. */
    status = send_slice(&gathering, error);
    if (status == PARLEY_OK)
        status = expect_all(&gathering, error);
    if (status == PARLEY_OK)
        status = receive_all(&gathering, false, error);
    if (status == PARLEY_OK)
        status = receive_all(&gathering, true, error);
    return pl_chunks_end(engine, status, error);
}
