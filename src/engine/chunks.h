/* chunks.h: sends and adds stretches of tables chunk by chunk. The next receives are posted before the last chunk is
 * added, and only sparse packets are copied for sending. */
#ifndef PL_CHUNKS_H
#define PL_CHUNKS_H

#include "engine/collective.h"
#include "engine/packet.h"

#define PL_NOBODY UINT32_MAX

/* Workers whose sums come from one rank, as maximal nodes of the tree. */
typedef struct pl_source {
    unsigned rank, nodes;
    pl_node workers;
} pl_source;

/* Scratch of one collective, in the engine's room. */
typedef struct pl_scratch {
    pl_engine *engine;
    char *room;
    uint64_t used;
} pl_scratch;

/* An addition: the nodes that the sources send (and this rank has, if it is a source), summed to the requested nodes.
 */
typedef struct pl_addition {
    unsigned workers, channel;
    const pl_source *sources; /* in the order of workers */
    unsigned count;
    const pl_node *roots;
    unsigned number;
    const pl_addend *own; /* this rank's nodes */
    double *out;          /* the roots, `distance` entries apart */
    uint64_t distance;
    unsigned forward, forward_channel; /* the rank that gets the roots at once; PL_NOBODY: they stay here */
    /* Finds a packet that another rank has in shared memory, for its node `node`, counting from 0. NULL: packets are
     * sent. */
    parley_status (*find)(void *context, unsigned rank, unsigned node, uint64_t entries, pl_packet *packet,
                          parley_error *error);
    void *context;
} pl_addition;

/* Bytes of scratch for sending `entries` of an addend in this many packets. */
uint64_t pl_scratch_for_packets(const pl_addend *addend, uint64_t entries, uint64_t packets);
/* Scratch for one addition at a time, and `bytes` more. */
parley_status pl_scratch_open(pl_scratch *scratch, pl_engine *engine, uint64_t bytes, parley_error *error);
void *pl_scratch_take(pl_scratch *scratch, uint64_t bytes);

/* Sends entries [begin, begin + entries) to each of `count` ranks. */
parley_status pl_send_chunk(pl_scratch *scratch, const unsigned *to, unsigned count, unsigned channel,
                            const pl_addend *addend, uint64_t begin, uint64_t entries, parley_error *error);
parley_status pl_add_region(pl_scratch *scratch, const pl_addition *addition, pl_region region, parley_error *error);
/* The same for a chunk whose packets are all in shared memory. */
parley_status pl_add_chunk(pl_scratch *scratch, const pl_addition *addition, uint64_t begin, uint64_t entries,
                           parley_error *error);
/* Ends a collective with `status`: waits until its sends are complete, or cancels them after a failure. */
parley_status pl_chunks_end(pl_engine *engine, parley_status status, parley_error *error);

pl_source pl_source_of(unsigned workers, unsigned rank, unsigned begin, unsigned end);

#endif
