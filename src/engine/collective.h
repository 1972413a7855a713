/* collective.h: exchanges among all ranks, written once over an engine's post and take.
 *
 * The canonical tree: the sum over workers [lo, hi) splits at lo + (largest power of two below hi - lo). A rank sends
 * the maximal nodes of the tree inside its block of workers, and whoever adds, adds in tree order: so a sum has the
 * same bits for any number of ranks. */
#ifndef PL_COLLECTIVE_H
#define PL_COLLECTIVE_H

#include "engine/engine.h"
#include "engine/packet.h"

#define PL_TREE_NODES 128 /* maximal nodes in a block never exceed twice the depth of the tree */

typedef struct pl_node {
    unsigned begin, end; /* workers */
} pl_node;

unsigned pl_tree_split(unsigned begin, unsigned end); /* where [begin, end) splits; end - begin > 1 */
unsigned pl_host_begin(unsigned workers, unsigned ranks, unsigned rank); /* first worker of a rank */
/* The maximal nodes of the tree over `workers` that lie inside [begin, end), in order. */
unsigned pl_tree_nodes(unsigned workers, unsigned begin, unsigned end, pl_node *nodes);
/* Adds `count` values of each leaf: values[i * stride ...] for i in [0, leaves), in tree order, into values[0 ...]. */
void pl_tree_add(double *values, uint64_t leaves, uint64_t stride, uint64_t count);

/* Each rank's `count` values for every worker it hosts, summed in tree order, to all ranks. */
parley_status pl_sum_workers(pl_engine *engine, unsigned workers, const double *values, unsigned count, double *sums,
                             parley_error *error);
/* Nodes of all ranks to the owners of slices: `nodes` are this rank's maximal nodes, `size` x `width` values each
 * (columns of `size` entries); the owner of [bounds[r], bounds[r+1]) gets the sum there, in `sum` (whole columns; only
 * its slice is written). */
parley_status pl_reduce_scatter(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size,
                                uint64_t width, const uint64_t *bounds, double *sum, parley_error *error);
/* Publishes in shared memory what a reduce-scatter of these nodes will need: if exactly one barrier comes between the
 * two, in whatever other exchange, the reduce-scatter needs none. Without shared memory it does nothing. */
void pl_reduce_offer(pl_engine *engine, unsigned workers, const pl_addend *nodes, uint64_t size, uint64_t width,
                     const uint64_t *bounds);
/* Every rank's slice of `table` to all. */
parley_status pl_all_gather(pl_engine *engine, double *table, const uint64_t *bounds, parley_error *error);
/* Says that this rank's slice of `table` will be written before the next barrier, in whatever other exchange: then
 * gathering it needs none. Without shared memory it does nothing. */
void pl_gather_offer(pl_engine *engine, const double *table);
/* Returns when all ranks have arrived. */
parley_status pl_barrier(pl_engine *engine, parley_error *error);

#endif
