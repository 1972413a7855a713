/* chunks.c: see chunks.h. An addition takes packets in one order: by chunk, then by source, then by node. Receives of
 * the next packets are posted in advance, in a ring of slots. */
#include "engine/chunks.h"

_Static_assert(PL_CHUNK * sizeof(double) <= PL_MOST_ZERO_COPY && PL_CHUNK <= 65536,
               "a chunk fits in one zero-copy send, and its places in 16 bits");

#define SLOTS 4
#define DEPTH 18 /* of a tree of 65536 workers, plus one */

static uint64_t round_up(uint64_t bytes) { return (bytes + 63) & ~(uint64_t)63; }

/* Scratch for one addition: slots, then buffers for each level of the tree. */
#define ADDITION ((uint64_t)(SLOTS + DEPTH) * PL_CHUNK * sizeof(double))

/* Of a dense addend only sparse packets are copied, which have at most a quarter of the entries. Of a sparse addend all
 * are copied. */
uint64_t pl_scratch_for_packets(const pl_addend *addend, uint64_t entries, uint64_t packets) {
    return (addend->values ? entries / PL_PACKET_SPARSE * PL_PACKET_ENTRY : entries * sizeof(double)) + packets * 128;
}

parley_status pl_scratch_open(pl_scratch *scratch, pl_engine *engine, uint64_t bytes, parley_error *error) {
    if (!pl_span_reserve(&engine->room, ADDITION + bytes))
        return pl_fail_memory(error, "an exchange", ADDITION + bytes);
    *scratch = (pl_scratch){engine, engine->room.data, ADDITION};
    return PARLEY_OK;
}

void *pl_scratch_take(pl_scratch *scratch, uint64_t bytes) {
    void *taken = scratch->room + scratch->used;
    scratch->used += round_up(bytes);
    return taken;
}

pl_source pl_source_of(unsigned workers, unsigned rank, unsigned begin, unsigned end) {
    pl_node nodes[PL_TREE_NODES];
    return (pl_source){rank, pl_tree_nodes(workers, begin, end, nodes), {begin, end}};
}

parley_status pl_send_chunk(pl_scratch *scratch, const unsigned *to, unsigned count, unsigned channel,
                            const pl_addend *addend, uint64_t begin, uint64_t entries, parley_error *error) {
    uint64_t bytes;
    char *room = scratch->room + scratch->used;
    const void *packet = pl_packet_write(addend, begin, entries, room, &bytes);
    if (packet == room)
        pl_scratch_take(scratch, bytes);
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++)
        status = scratch->engine->type->post_zero_copy(scratch->engine, to[i], channel, packet, bytes, error);
    return status;
}

parley_status pl_chunks_end(pl_engine *engine, parley_status status, parley_error *error) {
    if (status == PARLEY_OK)
        status = engine->type->wait_sent(engine, error);
    if (status != PARLEY_OK)
        engine->type->cancel_sent(engine);
    return status;
}

/* A packet that is expected or has arrived. */
typedef struct slot {
    pl_request request;
    uint64_t entries;
    double *data;
} slot;

typedef struct incoming {
    pl_engine *engine;
    const pl_addition *addition;
    pl_cursor ahead; /* the next packet to expect: chunk, source, node */
    uint64_t ahead_entries;
    unsigned source, node;
    slot slots[SLOTS];
    unsigned first, waiting, held; /* slots: the oldest awaited, the number awaited, those in use before it */
    /* What is being added now. */
    uint64_t begin, entries;
    unsigned own;    /* next of this rank's nodes */
    unsigned found;  /* next of the nodes that another rank has in shared memory */
    unsigned finder; /* that rank */
    double *scratch;
} incoming;

/* Moves to the next packet that another rank sends. Returns false if there is none. */
static bool find_next(incoming *flow) {
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

static parley_status expect_more(incoming *flow, parley_error *error) {
    parley_status status = PARLEY_OK;
    while (status == PARLEY_OK && flow->waiting + flow->held < SLOTS && find_next(flow)) {
        slot *slot = &flow->slots[(flow->first + flow->waiting) % SLOTS];
        slot->entries = flow->ahead_entries;
        slot->request = (pl_request){.from = flow->addition->sources[flow->source].rank,
                                     .channel = flow->addition->channel,
                                     .data = slot->data,
                                     .most = slot->entries * sizeof *slot->data};
        status = flow->engine->type->expect(flow->engine, &slot->request, error);
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

/* Gets the sum of a node from a source. It stays valid until `drop`. */
static parley_status fetch(incoming *flow, const pl_source *source, pl_packet *packet, parley_error *error) {
    uint64_t bytes;
    if (source->rank == flow->engine->rank) {
        *packet = pl_packet_of(&flow->addition->own[flow->own++], flow->begin, flow->entries);
        return PARLEY_OK;
    }
    if (flow->addition->find) {
        flow->found = flow->finder == source->rank ? flow->found + 1 : 0;
        flow->finder = source->rank;
        return flow->addition->find(flow->addition->context, source->rank, flow->found, flow->entries, packet, error);
    }
    slot *slot = &flow->slots[flow->first];
    parley_status status = flow->engine->type->await(flow->engine, &slot->request, &bytes, error);
    flow->first = (flow->first + 1) % SLOTS;
    flow->waiting--;
    flow->held++;
    if (status != PARLEY_OK || pl_packet_read(slot->data, bytes, slot->entries, packet))
        return status;
    return pl_fail_length(source->rank, bytes, slot->entries * sizeof *slot->data, error);
}

static parley_status drop(incoming *flow, parley_error *error) {
    flow->held = 0;
    return flow->addition->find ? PARLEY_OK : expect_more(flow, error);
}

static void add_both(double *restrict out, const double *restrict a, const double *restrict b, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

/* Adds two nodes that sources have. */
static parley_status sum_leaves(incoming *flow, const pl_source *first, const pl_source *second, double *out,
                                bool *plain, parley_error *error) {
    pl_packet a, b;
    parley_status status = fetch(flow, first, &a, error);
    if (status == PARLEY_OK)
        status = fetch(flow, second, &b, error);
    if (status != PARLEY_OK)
        return status;
    double began = pl_engine_cpu(flow->engine);
    if (a.place || a.index || b.place || b.index) {
        pl_packet_put(&a, out, plain);
        pl_packet_add(&b, out, plain);
    } else {
        add_both(out, a.values, b.values, flow->entries);
        *plain = false;
    }
    flow->engine->adding += pl_engine_cpu(flow->engine) - began;
    return drop(flow, error);
}

/* Writes a node's sum to `out`. The scratch from `depth` on is free. `plain` means that the sum has no -0. */
static parley_status sum_node(incoming *flow, pl_node node, double *out, bool *plain, unsigned depth,
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
    double began = pl_engine_cpu(flow->engine);
    pl_packet_add(&packet, out, plain);
    flow->engine->adding += pl_engine_cpu(flow->engine) - began;
    return drop(flow, error);
}

static incoming begin_flow(const pl_scratch *scratch, const pl_addition *addition, pl_region region) {
    incoming flow = {
        .engine = scratch->engine, .addition = addition, .ahead = {.region = region}, .source = addition->count};
    double *work = (double *)(void *)scratch->room;
    for (unsigned s = 0; s < SLOTS; s++)
        flow.slots[s].data = work + (uint64_t)s * PL_CHUNK;
    flow.scratch = work + (uint64_t)SLOTS * PL_CHUNK;
    return flow;
}

/* Adds one chunk, for each requested node. */
static parley_status add_chunk(incoming *flow, pl_scratch *scratch, parley_error *error) {
    const pl_addition *addition = flow->addition;
    parley_status status = PARLEY_OK;
    bool plain;
    flow->own = 0;
    flow->finder = PL_NOBODY;
    for (unsigned n = 0; n < addition->number && status == PARLEY_OK; n++) {
        double *out = addition->out + n * addition->distance;
        pl_addend sum = {.values = out};
        status = sum_node(flow, addition->roots[n], out + flow->begin, &plain, 0, error);
        if (status == PARLEY_OK && addition->forward != PL_NOBODY)
            status = pl_send_chunk(scratch, &addition->forward, 1, addition->forward_channel, &sum, flow->begin,
                                   flow->entries, error);
    }
    return status;
}

parley_status pl_add_region(pl_scratch *scratch, const pl_addition *addition, pl_region region, parley_error *error) {
    incoming flow = begin_flow(scratch, addition, region);
    pl_cursor now = {.region = region};
    parley_status status = expect_more(&flow, error);
    while (status == PARLEY_OK && pl_cursor_next(&now, &flow.begin, &flow.entries))
        status = add_chunk(&flow, scratch, error);
    return status;
}

parley_status pl_add_chunk(pl_scratch *scratch, const pl_addition *addition, uint64_t begin, uint64_t entries,
                           parley_error *error) {
    incoming flow = begin_flow(scratch, addition, (pl_region){0});
    flow.begin = begin;
    flow.entries = entries;
    return add_chunk(&flow, scratch, error);
}
