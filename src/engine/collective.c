/* collective.c: all-to-all patterns over post and take. Each pair of ranks has one message per call, so nothing
 * deadlocks: post never waits. */
#include "engine/collective.h"

#include <string.h>

#include "base/memory.h"

enum { CHANNEL_SUM = 1, CHANNEL_REDUCE, CHANNEL_GATHER };

unsigned pl_tree_split(unsigned begin, unsigned end) {
    unsigned half = 1;
    while (half * 2 < end - begin)
        half *= 2;
    return begin + half;
}

unsigned pl_host_begin(unsigned workers, unsigned ranks, unsigned rank) {
    return (unsigned)((uint64_t)rank * workers / ranks);
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

/* Adds what the ranks sent for the nodes they own: walks the tree, taking the next packet at each maximal node. */
typedef struct walk {
    unsigned workers, ranks;
    double *packets; /* one after another, in the order of the tree */
    uint64_t count;  /* values in each */
    uint64_t used;
} walk;

static bool inside_one_rank(const walk *walk, pl_node node) {
    for (unsigned r = 0; r < walk->ranks; r++)
        if (node.begin >= pl_host_begin(walk->workers, walk->ranks, r) &&
            node.end <= pl_host_begin(walk->workers, walk->ranks, r + 1))
            return true;
    return false;
}

static double *add_packets(walk *walk, pl_node node) {
    if (inside_one_rank(walk, node))
        return walk->packets + walk->count * walk->used++;
    unsigned split = pl_tree_split(node.begin, node.end);
    double *left = add_packets(walk, (pl_node){node.begin, split});
    double *right = add_packets(walk, (pl_node){split, node.end});
    add(left, right, walk->count);
    return left;
}

/* One of `stride` interleaved values, added over leaves [begin, end). */
static double tree_sum(const double *values, unsigned stride, unsigned begin, unsigned end) {
    if (end - begin == 1)
        return values[(uint64_t)begin * stride];
    unsigned split = pl_tree_split(begin, end);
    return tree_sum(values, stride, begin, split) + tree_sum(values, stride, split, end);
}

parley_status pl_sum_workers(pl_engine *engine, unsigned workers, const double *values, unsigned count, double *sums,
                             parley_error *error) {
    if (engine->ranks == 1) {
        for (unsigned c = 0; c < count; c++)
            sums[c] = tree_sum(values + c, count, 0, workers);
        return PARLEY_OK;
    }
    double *all;
    parley_status status = pl_take(&all, (uint64_t)workers * count, sizeof *all, "sums over workers", error);
    unsigned first = pl_host_begin(workers, engine->ranks, engine->rank);
    unsigned hosted = pl_host_begin(workers, engine->ranks, engine->rank + 1) - first;
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        if (r != engine->rank)
            status =
                engine->type->post(engine, r, CHANNEL_SUM, values, (uint64_t)hosted * count * sizeof *values, error);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++) {
        unsigned begin = pl_host_begin(workers, engine->ranks, r), end = pl_host_begin(workers, engine->ranks, r + 1);
        double *to = all + (uint64_t)begin * count;
        uint64_t bytes = (uint64_t)(end - begin) * count * sizeof *to;
        if (r == engine->rank)
            memcpy(to, values, bytes);
        else
            status = engine->type->take(engine, r, CHANNEL_SUM, to, bytes, error);
    }
    if (status == PARLEY_OK) {
        pl_tree_add(all, workers, count, count);
        memcpy(sums, all, count * sizeof *sums);
    }
    pl_free(all);
    return status;
}

/* Copies entries [begin, end) of every column of a node into `packet`. */
static void pack(double *packet, const double *node, uint64_t size, uint64_t width, uint64_t begin, uint64_t end) {
    for (uint64_t c = 0; c < width; c++)
        memcpy(packet + c * (end - begin), node + c * size + begin, (end - begin) * sizeof *packet);
}

static parley_status post_nodes(pl_engine *engine, unsigned nodes, const double *sums, uint64_t size, uint64_t width,
                                const uint64_t *bounds, double *packet, parley_error *error) {
    for (unsigned r = 0; r < engine->ranks; r++) {
        uint64_t begin = bounds[r], end = bounds[r + 1], bytes = (end - begin) * width * sizeof *packet;
        for (unsigned n = 0; n < nodes && r != engine->rank && bytes; n++) {
            pack(packet, sums + n * size * width, size, width, begin, end);
            parley_status status = engine->type->post(engine, r, CHANNEL_REDUCE, packet, bytes, error);
            if (status != PARLEY_OK)
                return status;
        }
    }
    return PARLEY_OK;
}

static parley_status take_nodes(pl_engine *engine, unsigned workers, const double *sums, uint64_t size, uint64_t width,
                                const uint64_t *bounds, walk *walk, parley_error *error) {
    uint64_t begin = bounds[engine->rank], end = bounds[engine->rank + 1], packets = 0;
    pl_node nodes[PL_TREE_NODES];
    for (unsigned r = 0; r < engine->ranks; r++) {
        unsigned count = pl_tree_nodes(workers, pl_host_begin(workers, engine->ranks, r),
                                       pl_host_begin(workers, engine->ranks, r + 1), nodes);
        for (unsigned n = 0; n < count; n++, packets++) {
            double *to = walk->packets + packets * walk->count;
            parley_status status = PARLEY_OK;
            if (r == engine->rank)
                pack(to, sums + n * size * width, size, width, begin, end);
            else
                status = engine->type->take(engine, r, CHANNEL_REDUCE, to, walk->count * sizeof *to, error);
            if (status != PARLEY_OK)
                return status;
        }
    }
    return PARLEY_OK;
}

parley_status pl_reduce_scatter(pl_engine *engine, unsigned workers, const double *sums, uint64_t size, uint64_t width,
                                const uint64_t *bounds, double *out, parley_error *error) {
    pl_node nodes[PL_TREE_NODES];
    unsigned mine = pl_tree_nodes(workers, pl_host_begin(workers, engine->ranks, engine->rank),
                                  pl_host_begin(workers, engine->ranks, engine->rank + 1), nodes);
    uint64_t begin = bounds[engine->rank], end = bounds[engine->rank + 1], total = 0;
    for (unsigned r = 0; r < engine->ranks; r++)
        total += pl_tree_nodes(workers, pl_host_begin(workers, engine->ranks, r),
                               pl_host_begin(workers, engine->ranks, r + 1), nodes);
    double *packet = pl_alloc(size * width, sizeof *packet);
    walk walk = {workers, engine->ranks, pl_alloc(total * (end - begin) * width, sizeof *packet), (end - begin) * width,
                 0};
    parley_status status = PARLEY_OK;
    if (!packet || !walk.packets)
        status = pl_fail_memory(error, "an exchange", (total * (end - begin) + size) * width * sizeof *packet);
    if (status == PARLEY_OK)
        status = post_nodes(engine, mine, sums, size, width, bounds, packet, error);
    if (status == PARLEY_OK && end > begin)
        status = take_nodes(engine, workers, sums, size, width, bounds, &walk, error);
    if (status == PARLEY_OK && end > begin) {
        const double *sum = add_packets(&walk, (pl_node){0, workers});
        for (uint64_t c = 0; c < width; c++)
            memcpy(out + c * size + begin, sum + c * (end - begin), (end - begin) * sizeof *out);
    }
    pl_free(walk.packets);
    pl_free(packet);
    return status;
}

parley_status pl_all_gather(pl_engine *engine, double *table, const uint64_t *bounds, parley_error *error) {
    parley_status status = PARLEY_OK;
    unsigned rank = engine->rank;
    uint64_t mine = (bounds[rank + 1] - bounds[rank]) * sizeof *table;
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        if (r != rank && mine)
            status = engine->type->post(engine, r, CHANNEL_GATHER, table + bounds[rank], mine, error);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++) {
        uint64_t bytes = (bounds[r + 1] - bounds[r]) * sizeof *table;
        if (r != rank && bytes)
            status = engine->type->take(engine, r, CHANNEL_GATHER, table + bounds[r], bytes, error);
    }
    return status;
}

parley_status pl_barrier(pl_engine *engine, parley_error *error) {
    double nothing = 0, sum;
    return pl_sum_workers(engine, engine->ranks, &nothing, 1, &sum, error);
}
