/* flow.h: stretches of tables on their way between ranks, chunk by chunk: what is needed next is expected before what
 * came is added, and nothing is copied to be sent but what is sparse. */
#ifndef PL_FLOW_H
#define PL_FLOW_H

#include "engine/collective.h"
#include "engine/packet.h"

#define PL_NOBODY UINT32_MAX

/* Workers whose sums come from one rank, as maximal nodes of the tree. */
typedef struct pl_source {
    unsigned rank, nodes;
    pl_node workers;
} pl_source;

/* Scratch of one collective, in the engine's room. */
typedef struct pl_desk {
    pl_engine *engine;
    char *room;
    uint64_t used;
} pl_desk;

/* An addition: what the sources send (and this rank has, where it is one), to the nodes that are asked for. */
typedef struct pl_addition {
    unsigned workers, channel;
    const pl_source *sources; /* in the order of workers */
    unsigned count;
    const pl_node *roots;
    unsigned number;
    const pl_addend *own; /* this rank's nodes */
    double *out;          /* the roots, `distance` entries apart */
    uint64_t distance;
    unsigned forward, forward_channel; /* to whom the roots go on at once; PL_NOBODY: they stay here */
    /* Finds a packet that another rank has laid out: its node `node`, counted from 0. NULL: packets are sent. */
    parley_status (*find)(void *context, unsigned rank, unsigned node, uint64_t entries, pl_packet *packet,
                          parley_error *error);
    void *context;
} pl_addition;

/* Bytes of a desk that sending `entries` of an addend in so many packets may take. */
uint64_t pl_desk_of_packets(const pl_addend *addend, uint64_t entries, uint64_t packets);
/* A desk for one addition at a time, and `bytes` more. */
parley_status pl_desk_open(pl_desk *desk, pl_engine *engine, uint64_t bytes, parley_error *error);
void *pl_desk_take(pl_desk *desk, uint64_t bytes);

/* Entries [begin, begin + entries) to each of `count` ranks. */
parley_status pl_send_chunk(pl_desk *desk, const unsigned *to, unsigned count, unsigned channel,
                            const pl_addend *addend, uint64_t begin, uint64_t entries, parley_error *error);
parley_status pl_add_region(pl_desk *desk, const pl_addition *addition, pl_region region, parley_error *error);
/* The same for a chunk of which all packets are laid out. */
parley_status pl_add_chunk(pl_desk *desk, const pl_addition *addition, uint64_t begin, uint64_t entries,
                           parley_error *error);
/* What was lent on the way is done with; `status`: how the collective went, and whether it will be waited for. */
parley_status pl_flow_end(pl_engine *engine, parley_status status, parley_error *error);

pl_source pl_source_of(unsigned workers, unsigned rank, unsigned begin, unsigned end);

#endif
