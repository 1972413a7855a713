/* reduce.c: reduce-scatter, in one of three patterns:
 *
 *   all to all    every rank sends every owner its slice: R - 1 messages per rank, in one step
 *   by hosts      ranks of a host add up first, each for some of the owners; then one rank of each host sends to each
 *                 owner, so that one table leaves a host, however many ranks it has
 *   a tree        if rank 0 owns all: sums go up a binomial tree of ranks
 *
 * In all of them ranks send maximal nodes of the canonical tree over workers, for growing ranges of workers, so the
 * order of addition is the same. */
#include "engine/chunks.h"
#include "engine/routes.h"
#include "engine/shared_memory.h"

enum { CHANNEL_REDUCE = 16, CHANNEL_REDUCE_HOSTS };

/* A table to reduce. */
typedef struct task {
    pl_engine *engine;
    unsigned workers, hosts;
    const pl_addend *nodes;
    uint64_t size, width;
    const uint64_t *bounds;
    double *sum;
    pl_scratch scratch;
} task;

static unsigned first_worker(const task *task, unsigned rank) {
    return pl_host_begin(task->workers, task->hosts, rank);
}

static pl_source source_of_ranks(const task *task, unsigned from, unsigned begin, unsigned end) {
    return pl_source_of(task->workers, from, first_worker(task, begin), first_worker(task, end));
}

static unsigned nodes_of_ranks(const task *task, unsigned begin, unsigned end, pl_node *nodes) {
    return pl_tree_nodes(task->workers, first_worker(task, begin), first_worker(task, end), nodes);
}

static pl_region region_of(const task *task, unsigned rank) {
    return pl_region_of(task->size, task->width, task->bounds, rank);
}

/* What is sent to one rank of this host: slices of the owners for which it is the deputy. */
typedef struct outgoing {
    unsigned to, owner;
    pl_cursor cursor;
} outgoing;

/* Moves to the next chunk for flow->to. Returns false if there is none. */
static bool next_chunk(const task *task, outgoing *flow, uint64_t *begin, uint64_t *count) {
    pl_engine *engine = task->engine;
    pl_ranks host = pl_ranks_here(engine, engine->rank);
    while (!pl_cursor_next(&flow->cursor, begin, count)) {
        do
            flow->owner++;
        while (flow->owner < engine->ranks && pl_deputy(engine, host, flow->owner) != flow->to);
        if (flow->owner >= engine->ranks)
            return false;
        flow->cursor = (pl_cursor){.region = region_of(task, flow->owner)};
    }
    return true;
}

/* Sends this rank's nodes to the ranks of its host, one chunk for each in turn. */
static parley_status send_nodes(task *task, outgoing *flows, parley_error *error) {
    pl_engine *engine = task->engine;
    pl_ranks host = pl_ranks_here(engine, engine->rank);
    pl_node nodes[PL_TREE_NODES];
    unsigned count = nodes_of_ranks(task, engine->rank, engine->rank + 1, nodes), here = host.end - host.first;
    uint64_t begin, entries;
    parley_status status = PARLEY_OK;
    for (unsigned i = 1; i < here; i++)
        flows[i] = (outgoing){.to = host.first + (engine->rank - host.first + i) % here, .owner = UINT32_MAX};
    for (bool more = count > 0; more && status == PARLEY_OK;) {
        more = false;
        for (unsigned i = 1; i < here && status == PARLEY_OK; i++) {
            if (!next_chunk(task, &flows[i], &begin, &entries))
                continue;
            more = true;
            for (unsigned n = 0; n < count && status == PARLEY_OK; n++)
                status = pl_send_chunk(&task->scratch, &flows[i].to, 1, CHANNEL_REDUCE, &task->nodes[n], begin, entries,
                                       error);
        }
    }
    return status;
}

/* Adds what the ranks of this host send. Sums for owners on this host stay; the others are forwarded to them. */
static parley_status add_here(task *task, const pl_source *sources, double *out, parley_error *error) {
    pl_engine *engine = task->engine;
    pl_ranks host = pl_ranks_here(engine, engine->rank);
    pl_node roots[PL_TREE_NODES];
    unsigned number = nodes_of_ranks(task, host.first, host.end, roots);
    parley_status status = PARLEY_OK;
    for (unsigned owner = 0; owner < engine->ranks && status == PARLEY_OK; owner++) {
        if (pl_deputy(engine, host, owner) != engine->rank)
            continue;
        pl_addition addition = {.workers = task->workers,
                                .channel = CHANNEL_REDUCE,
                                .sources = sources,
                                .count = host.end - host.first,
                                .roots = roots,
                                .number = number,
                                .own = task->nodes,
                                .out = out,
                                .distance = task->size * task->width,
                                .forward = owner == engine->rank ? PL_NOBODY : owner,
                                .forward_channel = CHANNEL_REDUCE_HOSTS};
        status = pl_add_region(&task->scratch, &addition, region_of(task, owner), error);
    }
    return status;
}

/* Adds what the hosts send for this rank's slice. `own` is this host's part of it. */
static parley_status add_hosts(task *task, pl_source *sources, const pl_addend *own, parley_error *error) {
    pl_engine *engine = task->engine;
    pl_node whole = {0, task->workers};
    pl_addition addition = {.workers = task->workers,
                            .channel = CHANNEL_REDUCE_HOSTS,
                            .sources = sources,
                            .roots = &whole,
                            .number = 1,
                            .own = own,
                            .out = task->sum,
                            .distance = task->size * task->width,
                            .forward = PL_NOBODY};
    for (pl_ranks host = pl_ranks_here(engine, 0);; host = pl_ranks_here(engine, host.end)) {
        sources[addition.count++] = source_of_ranks(task, pl_deputy(engine, host, engine->rank), host.first, host.end);
        if (host.end == engine->ranks)
            break;
    }
    return pl_add_region(&task->scratch, &addition, region_of(task, engine->rank), error);
}

/* Room for the packets of this rank's nodes, and of the roots that it forwards. */
static uint64_t room_of_packets(const task *task, unsigned nodes, unsigned roots) {
    uint64_t entries = task->size * task->width, bytes = 0;
    uint64_t packets = (task->size / PL_CHUNK + task->engine->ranks) * task->width;
    for (unsigned n = 0; n < nodes; n++)
        bytes += pl_scratch_for_packets(&task->nodes[n], entries, packets);
    return bytes + roots * pl_scratch_for_packets(&(pl_addend){.values = task->sum}, entries, packets);
}

static parley_status scatter(task *task, parley_error *error) {
    pl_engine *engine = task->engine;
    pl_ranks host = pl_ranks_here(engine, engine->rank);
    bool alone = host.end - host.first == engine->ranks; /* with one host, its sums are complete */
    pl_node nodes[PL_TREE_NODES];
    unsigned mine = nodes_of_ranks(task, engine->rank, engine->rank + 1, nodes),
             roots = alone ? 0 : nodes_of_ranks(task, host.first, host.end, nodes);
    parley_status status = pl_scratch_open(
        &task->scratch, engine,
        room_of_packets(task, mine, roots) + engine->ranks * (sizeof(outgoing) + 2 * sizeof(pl_source)) +
            roots * (sizeof(pl_addend) + task->size * task->width * sizeof(double)) + 256,
        error);
    if (status != PARLEY_OK)
        return status;
    outgoing *flows = pl_scratch_take(&task->scratch, engine->ranks * sizeof *flows);
    pl_source *sources = pl_scratch_take(&task->scratch, engine->ranks * sizeof *sources);
    double *sums = alone ? task->sum : pl_scratch_take(&task->scratch, task->size * task->width * roots * sizeof *sums);
    pl_addend *own = pl_scratch_take(&task->scratch, roots * sizeof *own);
    for (unsigned n = 0; n < roots; n++)
        own[n] = (pl_addend){.values = sums + n * task->size * task->width};
    for (unsigned r = host.first; r < host.end; r++)
        sources[r - host.first] = source_of_ranks(task, r, r, r + 1);
    status = send_nodes(task, flows, error);
    if (status == PARLEY_OK)
        status = add_here(task, sources, sums, error);
    if (status == PARLEY_OK && !alone)
        status = add_hosts(task, sources, own, error);
    return status;
}

/* A leaf of the tree sends its nodes. */
static parley_status send_up(task *task, unsigned number, parley_error *error) {
    unsigned parent = pl_tree_parent(task->engine->rank);
    pl_cursor cursor = {.region = region_of(task, 0)};
    uint64_t begin, count;
    parley_status status = PARLEY_OK;
    while (status == PARLEY_OK && pl_cursor_next(&cursor, &begin, &count))
        for (unsigned n = 0; n < number && status == PARLEY_OK; n++)
            status = pl_send_chunk(&task->scratch, &parent, 1, CHANNEL_REDUCE, &task->nodes[n], begin, count, error);
    return status;
}

/* Sums go up the tree to rank 0, which owns all. */
static parley_status climb(task *task, parley_error *error) {
    pl_engine *engine = task->engine;
    unsigned rank = engine->rank, children[32], count = pl_tree_children(engine, children);
    pl_node roots[PL_TREE_NODES];
    unsigned number = nodes_of_ranks(task, rank, pl_tree_end(engine, rank), roots);
    uint64_t entries = task->size * task->width, own = rank ? entries * number * sizeof(double) : 0;
    parley_status status =
        pl_scratch_open(&task->scratch, engine, room_of_packets(task, count ? 0 : number, number) + own + 64, error);
    if (status != PARLEY_OK)
        return status;
    if (count == 0 && rank)
        return send_up(task, number, error);
    pl_source sources[33] = {source_of_ranks(task, rank, rank, rank + 1)};
    for (unsigned c = 0; c < count; c++)
        sources[c + 1] = source_of_ranks(task, children[c], children[c], pl_tree_end(engine, children[c]));
    pl_addition addition = {.workers = task->workers,
                            .channel = CHANNEL_REDUCE,
                            .sources = sources,
                            .count = count + 1,
                            .roots = roots,
                            .number = number,
                            .own = task->nodes,
                            .out = rank ? pl_scratch_take(&task->scratch, own) : task->sum,
                            .distance = entries,
                            .forward = rank ? pl_tree_parent(rank) : PL_NOBODY,
                            .forward_channel = CHANNEL_REDUCE};
    return pl_add_region(&task->scratch, &addition, region_of(task, 0), error);
}

void pl_reduce_offer(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size, uint64_t width,
                     const uint64_t *bounds) {
    if (engine->shared)
        pl_shared_reduce_offer(engine, workers, nodes, size, width, bounds);
}

parley_status pl_reduce_scatter(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size,
                                uint64_t width, const uint64_t *bounds, double *sum, parley_error *error) {
    task task = {.engine = engine,
                 .workers = pl_workers_or_ranks(engine, workers),
                 .hosts = pl_hosts_of(engine, workers),
                 .nodes = nodes,
                 .size = size,
                 .width = width,
                 .bounds = bounds,
                 .sum = sum};
    if (engine->shared)
        return pl_shared_reduce(engine, workers, nodes, size, width, bounds, sum, error);
    parley_status status = pl_first_owns_all(engine, bounds) ? climb(&task, error) : scatter(&task, error);
    return pl_chunks_end(engine, status, error);
}
