/* collective.h: collectives over all ranks, written once on top of an engine's post and take.
 *
 * The canonical tree: the sum over workers [lo, hi) splits at lo + (largest power of two below hi - lo). A rank sends
 * the maximal nodes of the tree inside its block of workers, and every addition follows the order of the tree, so a sum
 * has the same bits for any number of ranks. */
#ifndef PL_COLLECTIVE_H
#define PL_COLLECTIVE_H

#include "engine/engine.h"
#include "engine/packet.h"

#define PL_TREE_NODES 128 /* a block has at most twice as many maximal nodes as the depth of the tree */

typedef struct pl_node {
    unsigned begin, end; /* workers */
} pl_node;

unsigned pl_tree_split(unsigned begin, unsigned end); /* where [begin, end) splits; end - begin > 1 */
/* The first worker of a rank, if the workers are on the first `hosts` ranks. */
unsigned pl_host_begin(unsigned workers, unsigned hosts, unsigned rank);
/* Lists the maximal nodes of the tree over `workers` that lie inside [begin, end), in order. */
unsigned pl_tree_nodes(unsigned workers, unsigned begin, unsigned end, pl_node *nodes);
/* Adds `count` values of each leaf, values[i * stride ...] for i in [0, leaves), in the order of the tree, into
 * values[0 ...]. */
void pl_tree_add(double *values, uint64_t leaves, uint64_t stride, uint64_t count);

/* In place of a number of workers: one for each rank. */
#define PL_EACH_RANK 0u
unsigned pl_workers_or_ranks(const pl_engine *engine, unsigned workers);
unsigned pl_hosts_of(const pl_engine *engine, unsigned workers); /* the ranks that have them */

/* Sums `count` values per hosted worker of all ranks, in the order of the tree, and gives the sums to all ranks. */
parley_status pl_sum_workers(pl_engine *engine, unsigned workers, const double *values, unsigned count, double *sums,
                             parley_error *error);
/* The same after a pass over rows, which ranks leave early if they must stop. If any did, all ranks fail with
 * PARLEY_STOPPED. */
parley_status pl_sum_passes(pl_engine *engine, unsigned workers, const double *values, unsigned count, double *sums,
                            parley_error *error);
/* Sums the nodes of all ranks at the owners of slices. `nodes` are this rank's maximal nodes, with `size` x `width`
 * values each (columns of `size` entries). The owner of [bounds[r], bounds[r+1]) gets the sum of its slice in `sum`,
 * which has whole columns. */
parley_status pl_reduce_scatter(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size,
                                uint64_t width, const uint64_t *bounds, double *sum, parley_error *error);
/* Publishes the nodes of the next reduce-scatter in shared memory. If exactly one barrier follows before it, in any
 * other collective, the reduce-scatter needs none. Without shared memory it does nothing. */
void pl_reduce_offer(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size, uint64_t width,
                     const uint64_t *bounds);
/* Sends every rank's slice of `table` to all. */
parley_status pl_all_gather(pl_engine *engine, double *table, const uint64_t *bounds, parley_error *error);
/* Announces that this rank's slice of `table` will be complete before the next barrier, in any other collective, so
 * that gathering it needs none. Without shared memory it does nothing. */
void pl_gather_offer(pl_engine *engine, const double *table);
/* Returns when all ranks have arrived. */
parley_status pl_barrier(pl_engine *engine, parley_error *error);

#endif
