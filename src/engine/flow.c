/* flow.c: see flow.h. An addition takes packets in one order: by chunk, then by source, then by node. Some of them are
 * expected ahead, in a ring of slots. */
#include "engine/flow.h"

#include "base/clock.h"

_Static_assert(PL_CHUNK * sizeof(double) <= PL_MOST_LENT && PL_CHUNK <= 65536,
               "a chunk can be lent, and its places told");

#define SLOTS 4
#define DEPTH 18 /* of a tree of 65536 workers, and one */

static uint64_t round_up(uint64_t bytes) { return (bytes + 63) & ~(uint64_t)63; }

/* Every desk has room for an addition: slots, then scratch for each level of the tree. */
#define ADDITION ((uint64_t)(SLOTS + DEPTH) * PL_CHUNK * sizeof(double))

/* Of a whole addend only sparse packets are written, of at most a quarter of the entries; of a sparse one all are. */
uint64_t pl_desk_of_packets(const pl_addend *addend, uint64_t entries, uint64_t packets) {
    return (addend->values ? entries / PL_PACKET_SPARSE * PL_PACKET_ENTRY : entries * sizeof(double)) + packets * 128;
}

parley_status pl_desk_open(pl_desk *desk, pl_engine *engine, uint64_t bytes, parley_error *error) {
    if (!pl_span_reserve(&engine->room, ADDITION + bytes))
        return pl_fail_memory(error, "an exchange", ADDITION + bytes);
    *desk = (pl_desk){engine, engine->room.data, ADDITION};
    return PARLEY_OK;
}

void *pl_desk_take(pl_desk *desk, uint64_t bytes) {
    void *taken = desk->room + desk->used;
    desk->used += round_up(bytes);
    return taken;
}

pl_source pl_source_of(unsigned workers, unsigned rank, unsigned begin, unsigned end) {
    pl_node nodes[PL_TREE_NODES];
    return (pl_source){rank, pl_tree_nodes(workers, begin, end, nodes), {begin, end}};
}

parley_status pl_send_chunk(pl_desk *desk, const unsigned *to, unsigned count, unsigned channel,
                            const pl_addend *addend, uint64_t begin, uint64_t entries, parley_error *error) {
    uint64_t bytes;
    char *room = desk->room + desk->used;
    const void *packet = pl_packet_write(addend, begin, entries, room, &bytes);
    if (packet == room)
        pl_desk_take(desk, bytes);
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++)
        status = desk->engine->type->lend(desk->engine, to[i], channel, packet, bytes, error);
    return status;
}

parley_status pl_flow_end(pl_engine *engine, parley_status status, parley_error *error) {
    if (status == PARLEY_OK)
        return engine->type->settle(engine, error);
    engine->type->retract(engine);
    return status;
}

/* A packet that is expected or has come. */
typedef struct slot {
    pl_ticket ticket;
    uint64_t entries;
    double *data;
} slot;

typedef struct inflow {
    pl_engine *engine;
    const pl_addition *addition;
    pl_cursor ahead; /* of what is expected next: chunk, source, node */
    uint64_t ahead_entries;
    unsigned source, node;
    slot slots[SLOTS];
    unsigned first, waiting, held; /* slots: the oldest that is waited for; how many; before it, those in use */
    /* Of what is added now. */
    uint64_t begin, entries;
    unsigned own;   /* next of this rank's nodes */
    unsigned laid;  /* next of the nodes that a rank has laid out */
    unsigned layer; /* which that is */
    double *scratch;
} inflow;

/* Moves on to the next packet that another rank sends; false: there is none. */
static bool find_next(inflow *flow) {
    const pl_addition *addition = flow->addition;
    uint64_t begin;
    for (;; flow->node = 0) {
        if (flow->source == addition->count) {
            if (!pl_cursor_next(&flow->ahead, &begin, &flow->ahead_entries))
                return false;
            flow->source = 0;
        }
        const pl_source *source = &addition->sources[flow->source];
        if (source->rank != flow->engine->rank && flow->node < source->nodes)
            return true;
        flow->source++;
    }
}

static parley_status expect_more(inflow *flow, parley_error *error) {
    parley_status status = PARLEY_OK;
    while (status == PARLEY_OK && flow->waiting + flow->held < SLOTS && find_next(flow)) {
        slot *slot = &flow->slots[(flow->first + flow->waiting) % SLOTS];
        slot->entries = flow->ahead_entries;
        slot->ticket = (pl_ticket){.from = flow->addition->sources[flow->source].rank,
                                   .channel = flow->addition->channel,
                                   .data = slot->data,
                                   .most = slot->entries * sizeof *slot->data};
        status = flow->engine->type->expect(flow->engine, &slot->ticket, error);
        flow->node++;
        flow->waiting++;
    }
    return status;
}

static const pl_source *source_of(const pl_addition *addition, pl_node node) {
    for (unsigned s = 0; s < addition->count; s++)
        if (node.begin >= addition->sources[s].workers.begin && node.end <= addition->sources[s].workers.end)
            return &addition->sources[s];
    return NULL;
}

/* The sum of a node that a source has. It stays valid until `drop`. */
static parley_status fetch(inflow *flow, const pl_source *source, pl_packet *packet, parley_error *error) {
    uint64_t bytes;
    if (source->rank == flow->engine->rank) {
        *packet = pl_packet_of(&flow->addition->own[flow->own++], flow->begin, flow->entries);
        return PARLEY_OK;
    }
    if (flow->addition->find) {
        flow->laid = flow->layer == source->rank ? flow->laid + 1 : 0;
        flow->layer = source->rank;
        return flow->addition->find(flow->addition->context, source->rank, flow->laid, flow->entries, packet, error);
    }
    slot *slot = &flow->slots[flow->first];
    parley_status status = flow->engine->type->await(flow->engine, &slot->ticket, &bytes, error);
    flow->first = (flow->first + 1) % SLOTS;
    flow->waiting--;
    flow->held++;
    if (status != PARLEY_OK || pl_packet_read(slot->data, bytes, slot->entries, packet))
        return status;
    return pl_fail_length(source->rank, bytes, slot->entries * sizeof *slot->data, error);
}

static parley_status drop(inflow *flow, parley_error *error) {
    flow->held = 0;
    return flow->addition->find ? PARLEY_OK : expect_more(flow, error);
}

static void add_both(double *restrict out, const double *restrict a, const double *restrict b, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

/* Two nodes that sources have. */
static parley_status sum_leaves(inflow *flow, const pl_source *first, const pl_source *second, double *out, bool *plain,
                                parley_error *error) {
    pl_packet a, b;
    parley_status status = fetch(flow, first, &a, error);
    if (status == PARLEY_OK)
        status = fetch(flow, second, &b, error);
    if (status != PARLEY_OK)
        return status;
    double began = pl_cpu_now();
    if (a.place || a.index || b.place || b.index) {
        pl_packet_put(&a, out, plain);
        pl_packet_add(&b, out, plain);
    } else {
        add_both(out, a.values, b.values, flow->entries);
        *plain = false;
    }
    flow->engine->adding += pl_cpu_now() - began;
    return drop(flow, error);
}

/* Leaves a node's sum in `out`; the scratch from `depth` on is free. `plain`: it has no -0. */
static parley_status sum_node(inflow *flow, pl_node node, double *out, bool *plain, unsigned depth,
                              parley_error *error) {
    const pl_source *source = source_of(flow->addition, node), *first, *second;
    pl_packet packet;
    parley_status status;
    if (source) {
        status = fetch(flow, source, &packet, error);
        if (status != PARLEY_OK)
            return status;
        pl_packet_put(&packet, out, plain);
        return drop(flow, error);
    }
    unsigned split = pl_tree_split(node.begin, node.end);
    first = source_of(flow->addition, (pl_node){node.begin, split});
    second = source_of(flow->addition, (pl_node){split, node.end});
    if (first && second)
        return sum_leaves(flow, first, second, out, plain, error);
    status = sum_node(flow, (pl_node){node.begin, split}, out, plain, depth, error);
    if (status != PARLEY_OK)
        return status;
    double *scratch = flow->scratch + (uint64_t)depth * PL_CHUNK;
    bool ignored;
    packet = (pl_packet){.entries = flow->entries, .filled = flow->entries, .values = scratch};
    status = second ? fetch(flow, second, &packet, error)
                    : sum_node(flow, (pl_node){split, node.end}, scratch, &ignored, depth + 1, error);
    if (status != PARLEY_OK)
        return status;
    double began = pl_cpu_now();
    pl_packet_add(&packet, out, plain);
    flow->engine->adding += pl_cpu_now() - began;
    return drop(flow, error);
}

static inflow begin_flow(const pl_desk *desk, const pl_addition *addition, pl_region region) {
    inflow flow = {
        .engine = desk->engine, .addition = addition, .ahead = {.region = region}, .source = addition->count};
    double *work = (double *)(void *)desk->room;
    for (unsigned s = 0; s < SLOTS; s++)
        flow.slots[s].data = work + (uint64_t)s * PL_CHUNK;
    flow.scratch = work + (uint64_t)SLOTS * PL_CHUNK;
    return flow;
}

/* Adds up one chunk, for each of the nodes that are asked for. */
static parley_status add_chunk(inflow *flow, pl_desk *desk, parley_error *error) {
    const pl_addition *addition = flow->addition;
    parley_status status = PARLEY_OK;
    bool plain;
    flow->own = 0;
    flow->layer = PL_NOBODY;
    for (unsigned n = 0; n < addition->number && status == PARLEY_OK; n++) {
        double *out = addition->out + n * addition->distance;
        pl_addend sum = {.values = out};
        status = sum_node(flow, addition->roots[n], out + flow->begin, &plain, 0, error);
        if (status == PARLEY_OK && addition->forward != PL_NOBODY)
            status = pl_send_chunk(desk, &addition->forward, 1, addition->forward_channel, &sum, flow->begin,
                                   flow->entries, error);
    }
    return status;
}

parley_status pl_add_region(pl_desk *desk, const pl_addition *addition, pl_region region, parley_error *error) {
    inflow flow = begin_flow(desk, addition, region);
    pl_cursor now = {.region = region};
    parley_status status = expect_more(&flow, error);
    while (status == PARLEY_OK && pl_cursor_next(&now, &flow.begin, &flow.entries))
        status = add_chunk(&flow, desk, error);
    return status;
}

parley_status pl_add_chunk(pl_desk *desk, const pl_addition *addition, uint64_t begin, uint64_t entries,
                           parley_error *error) {
    inflow flow = begin_flow(desk, addition, (pl_region){0});
    flow.begin = begin;
    flow.entries = entries;
    return add_chunk(&flow, desk, error);
}
