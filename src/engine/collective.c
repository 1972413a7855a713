/* collective.c: the canonical tree, and sums of few numbers, which are sent to all ranks so that each adds them up.
 * Nothing deadlocks, because post never waits. */
#include "engine/collective.h"

#include <string.h>

#include "base/memory.h"
#include "base/stop.h"
#include "engine/shared_memory.h"

#define MOST_DIRECT 4        /* most ranks that all send to each other; more of them use doubling */
#define MOST_SMALL 1024      /* most values of a small sum */
#define MOST_KEPT (1u << 18) /* values that a rank keeps for that: 2 MB */

enum { CHANNEL_SUM = 1 };

unsigned pl_tree_split(unsigned begin, unsigned end) {
    unsigned half = 1;
    while (half * 2 < end - begin)
        half *= 2;
    return begin + half;
}

unsigned pl_host_begin(unsigned workers, unsigned hosts, unsigned rank) {
    return rank < hosts ? (unsigned)((uint64_t)rank * workers / hosts) : workers;
}

unsigned pl_workers_or_ranks(const pl_engine *engine, unsigned workers) {
    return workers == PL_EACH_RANK ? engine->ranks : workers;
}

unsigned pl_hosts_of(const pl_engine *engine, unsigned workers) {
    return workers == PL_EACH_RANK ? engine->ranks : pl_engine_hosts(engine);
}

static unsigned collect_nodes(pl_node node, unsigned begin, unsigned end, pl_node *nodes, unsigned count) {
    if (node.end <= begin || node.begin >= end)
        return count;
    if (node.begin >= begin && node.end <= end) {
        nodes[count] = node;
        return count + 1;
    }
    unsigned split = pl_tree_split(node.begin, node.end);
    count = collect_nodes((pl_node){node.begin, split}, begin, end, nodes, count);
    return collect_nodes((pl_node){split, node.end}, begin, end, nodes, count);
}

unsigned pl_tree_nodes(unsigned workers, unsigned begin, unsigned end, pl_node *nodes) {
    return collect_nodes((pl_node){0, workers}, begin, end, nodes, 0);
}

static void add(double *restrict to, const double *restrict from, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        to[i] += from[i];
}

void pl_tree_add(double *values, uint64_t leaves, uint64_t stride, uint64_t count) {
    if (leaves <= 1)
        return;
    uint64_t left = pl_tree_split(0, (unsigned)leaves);
    pl_tree_add(values, left, stride, count);
    pl_tree_add(values + left * stride, leaves - left, stride, count);
    add(values, values + left * stride, count);
}

/* One of `stride` interleaved values, added over leaves [begin, end). */
static double tree_sum(const double *values, unsigned stride, unsigned begin, unsigned end) {
    if (end - begin == 1)
        return values[(uint64_t)begin * stride];
    unsigned split = pl_tree_split(begin, end);
    return tree_sum(values, stride, begin, split) + tree_sum(values, stride, split, end);
}

/* Sums `count` values over the workers of a node into `out`; values[0] is that of worker `here`. */
static void sum_node(const double *values, unsigned here, pl_node node, unsigned count, double *out) {
    for (unsigned c = 0; c < count; c++)
        out[c] = tree_sum(values + c, count, node.begin - here, node.end - here);
}

/* Sums over workers, gathered on one rank. */
typedef struct gathered {
    pl_engine *engine;
    unsigned workers, hosts; /* the ranks that have workers */
    unsigned count;          /* values per worker, and one more that tells whether its rank must stop */
    pl_node *nodes;          /* maximal nodes of all ranks, in order */
    unsigned *first;         /* ranks + 1: the first node of each rank */
    double *sums;            /* count + 1 values per node */
} gathered;

static unsigned first_worker(const gathered *all, unsigned rank) {
    return pl_host_begin(all->workers, all->hosts, rank);
}

static double *node_of(const gathered *all, unsigned node) { return all->sums + (uint64_t)node * (all->count + 1); }

static double *sums_of(const gathered *all, unsigned rank) { return node_of(all, all->first[rank]); }

static uint64_t bytes_of(const gathered *all, unsigned rank) {
    return (uint64_t)(sums_of(all, rank + 1) - sums_of(all, rank)) * sizeof *all->sums;
}

/* Lists the nodes of all ranks and sums those of this one. */
static parley_status begin_sums(gathered *all, const double *values, parley_error *error) {
    pl_engine *engine = all->engine;
    uint64_t most = all->workers < engine->ranks * PL_TREE_NODES ? all->workers : engine->ranks * PL_TREE_NODES;
    uint64_t sums = most * (all->count + 1) * sizeof *all->sums, nodes = most * sizeof *all->nodes;
    uint64_t bytes = sums + nodes + (engine->ranks + 1) * sizeof *all->first;
    if (!pl_span_reserve(&engine->room, bytes))
        return pl_fail_memory(error, "sums over workers", bytes);
    all->sums = engine->room.data;
    all->nodes = (pl_node *)(void *)((char *)engine->room.data + sums);
    all->first = (unsigned *)(void *)((char *)all->nodes + nodes);
    for (unsigned r = 0, number = 0; r <= engine->ranks; r++) {
        all->first[r] = number;
        if (r < engine->ranks)
            number += pl_tree_nodes(all->workers, first_worker(all, r), first_worker(all, r + 1), all->nodes + number);
    }
    unsigned here = first_worker(all, engine->rank);
    for (unsigned n = all->first[engine->rank]; n < all->first[engine->rank + 1]; n++) {
        sum_node(values, here, all->nodes[n], all->count, node_of(all, n));
        node_of(all, n)[all->count] = pl_stop_due();
    }
    return PARLEY_OK;
}

/* Every rank sends to every other. */
static parley_status share_directly(const gathered *all, parley_error *error) {
    pl_engine *engine = all->engine;
    unsigned rank = engine->rank, ranks = engine->ranks;
    parley_status status = PARLEY_OK;
    for (unsigned i = 1; i < ranks && status == PARLEY_OK; i++)
        status =
            engine->type->post(engine, (rank + i) % ranks, CHANNEL_SUM, sums_of(all, rank), bytes_of(all, rank), error);
    for (unsigned r = 0; r < ranks && status == PARLEY_OK; r++)
        if (r != rank)
            status = engine->type->take(engine, r, CHANNEL_SUM, sums_of(all, r), bytes_of(all, r), error);
    return status;
}

/* Through shared memory. */
static parley_status share_by_memory(const gathered *all, parley_error *error) {
    pl_engine *engine = all->engine;
    parley_status status = pl_shared_send(engine, sums_of(all, engine->rank), bytes_of(all, engine->rank), error);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        if (r != engine->rank)
            status = pl_shared_receive(engine, r, sums_of(all, r), bytes_of(all, r), error);
    return status;
}

/* Sends or receives the sums of `count` ranks from `first` on, which may wrap around, in at most two messages. */
static parley_status pass(const gathered *all, unsigned peer, unsigned first, unsigned count, bool sends,
                          parley_error *error) {
    pl_engine *engine = all->engine;
    parley_status status = PARLEY_OK;
    for (unsigned done = 0, r = first, end; done < count && status == PARLEY_OK; done += end - r, r = 0) {
        end = r + count - done < engine->ranks ? r + count - done : engine->ranks;
        uint64_t bytes = (uint64_t)(sums_of(all, end) - sums_of(all, r)) * sizeof *all->sums;
        status = sends ? engine->type->post(engine, peer, CHANNEL_SUM, sums_of(all, r), bytes, error)
                       : engine->type->take(engine, peer, CHANNEL_SUM, sums_of(all, r), bytes, error);
    }
    return status;
}

/* The number of ranks known to each rank doubles with every step (Bruck), which takes log R messages instead of R. */
static parley_status share_by_doubling(const gathered *all, parley_error *error) {
    unsigned rank = all->engine->rank, ranks = all->engine->ranks;
    parley_status status = PARLEY_OK;
    for (unsigned step = 1; step < ranks && status == PARLEY_OK; step *= 2) {
        unsigned count = step < ranks - step ? step : ranks - step, above = (rank + step) % ranks;
        status = pass(all, (rank + ranks - step) % ranks, rank, count, true, error);
        if (status == PARLEY_OK)
            status = pass(all, above, above, count, false, error);
    }
    return status;
}

/* Adds the listed nodes below `node`, from `*next` on, and returns its sums. */
static double *add_up(const gathered *all, pl_node node, unsigned *next) {
    pl_node leaf = all->nodes[*next];
    if (leaf.begin == node.begin && leaf.end == node.end)
        return node_of(all, (*next)++);
    unsigned split = pl_tree_split(node.begin, node.end);
    double *left = add_up(all, (pl_node){node.begin, split}, next);
    add(left, add_up(all, (pl_node){split, node.end}, next), all->count + 1);
    return left;
}

/* For many values: each rank adds some of them. */
static parley_status sum_tables(pl_engine *engine, unsigned workers, const double *values, unsigned count, double *sums,
                                parley_error *error) {
    pl_node nodes[PL_TREE_NODES];
    pl_addend addends[PL_TREE_NODES];
    unsigned all = pl_workers_or_ranks(engine, workers), hosts = pl_hosts_of(engine, workers);
    unsigned here = pl_host_begin(all, hosts, engine->rank);
    unsigned number = pl_tree_nodes(all, here, pl_host_begin(all, hosts, engine->rank + 1), nodes);
    uint64_t *bounds = pl_alloc(engine->ranks + 1, sizeof *bounds);
    double *made = pl_alloc((uint64_t)number * count, sizeof *made);
    parley_status status = bounds && made
                               ? PARLEY_OK
                               : pl_fail_memory(error, "sums over workers", (uint64_t)number * count * sizeof *made);
    for (unsigned r = 0; r <= engine->ranks && status == PARLEY_OK; r++)
        bounds[r] = (uint64_t)count * r / engine->ranks;
    for (unsigned n = 0; n < number && status == PARLEY_OK; n++) {
        addends[n] = (pl_addend){.values = made + (uint64_t)n * count};
        sum_node(values, here, nodes[n], count, made + (uint64_t)n * count);
    }
    if (status == PARLEY_OK)
        status = pl_reduce_scatter(engine, workers, addends, count, 1, bounds, sums, error);
    if (status == PARLEY_OK)
        status = pl_all_gather(engine, sums, bounds, error);
    pl_free(bounds);
    pl_free(made);
    return status;
}

/* Sums few values. `*stop` says whether any rank that has workers must stop. */
static parley_status sum_small(pl_engine *engine, unsigned workers, const double *values, unsigned count, double *sums,
                               bool *stop, parley_error *error) {
    gathered all = {.engine = engine,
                    .workers = pl_workers_or_ranks(engine, workers),
                    .hosts = pl_hosts_of(engine, workers),
                    .count = count};
    unsigned next = 0;
    parley_status status = begin_sums(&all, values, error);
    uint64_t most = 0;
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        most = bytes_of(&all, r) > most ? bytes_of(&all, r) : most;
    if (status == PARLEY_OK && pl_shared_fits(engine, most))
        status = share_by_memory(&all, error);
    else if (status == PARLEY_OK)
        status = engine->ranks <= MOST_DIRECT ? share_directly(&all, error) : share_by_doubling(&all, error);
    if (status != PARLEY_OK)
        return status;
    const double *total = add_up(&all, (pl_node){0, all.workers}, &next);
    memcpy(sums, total, count * sizeof *sums);
    *stop = total[count] > 0;
    return status;
}

/* Every rank keeps the values of all nodes, of which there are at most as many as workers. */
static bool is_small(const pl_engine *engine, unsigned workers, unsigned count) {
    return count <= MOST_SMALL && (uint64_t)pl_workers_or_ranks(engine, workers) * count <= MOST_KEPT;
}

static parley_status sum_all(pl_engine *engine, unsigned workers, const double *values, unsigned count, double *sums,
                             bool *stop, parley_error *error) {
    if (engine->ranks > 1 && !is_small(engine, workers, count))
        return sum_tables(engine, workers, values, count, sums, error);
    if (engine->ranks > 1)
        return sum_small(engine, workers, values, count, sums, stop, error);
    for (unsigned c = 0; c < count; c++)
        sums[c] = tree_sum(values + c, count, 0, pl_workers_or_ranks(engine, workers));
    *stop = pl_stop_due();
    return PARLEY_OK;
}

parley_status pl_sum_workers(pl_engine *engine, unsigned workers, const double *values, unsigned count, double *sums,
                             parley_error *error) {
    bool stop;
    return sum_all(engine, workers, values, count, sums, &stop, error);
}

parley_status pl_sum_passes(pl_engine *engine, unsigned workers, const double *values, unsigned count, double *sums,
                            parley_error *error) {
    bool stop = false;
    parley_status status = sum_all(engine, workers, values, count, sums, &stop, error);
    if (status == PARLEY_OK && engine->ranks > 1 &&
        !is_small(engine, workers, count)) /* tables are added without the flag */
        status = sum_small(engine, PL_EACH_RANK, &(double){0}, 1, &(double){0}, &stop, error);
    return status == PARLEY_OK && stop ? pl_fail_unfinished(error) : status;
}

parley_status pl_barrier(pl_engine *engine, parley_error *error) {
    double nothing = 0, sum;
    return pl_sum_workers(engine, PL_EACH_RANK, &nothing, 1, &sum, error);
}
