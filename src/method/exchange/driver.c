/* driver.c: worker 0 owns v. Updates are added up a binary tree towards worker 0, which alone combines them, and the
 * new v is sent back down the tree (Spark's treeAggregate and broadcast). */
#include "method/exchange.h"

/* A worker's children in the binomial tree: worker + 1, worker + 2, worker + 4, ... below its own lowest set bit. */
static unsigned children(unsigned workers, unsigned worker) {
    unsigned count = 0;
    for (unsigned bit = 1; worker + bit < workers && !(worker & bit); bit *= 2)
        count++;
    return count;
}

static void traffic(unsigned workers, unsigned worker, uint64_t update_bytes, uint64_t table_bytes, uint64_t *sent,
                    uint64_t *received) {
    unsigned below = children(workers, worker), above = worker == 0 ? 0 : 1;
    *sent = above * update_bytes + below * table_bytes;
    *received = below * update_bytes + above * table_bytes;
}

static parley_status open_driver(const pl_setup *setup, bool whole, pl_exchange **out, parley_error *error) {
    return pl_tables_open(&pl_exchange_driver, setup, whole, out, error);
}

const pl_exchange_type pl_exchange_driver = {
    .name = "driver",
    .help = "updates go up a tree to worker 0, which combines them and sends v back down",
    .clock = PL_SYNCHRONOUS,
    .carries = PL_CARRIES_UPDATES | PL_CARRIES_DIRECTIONS,
    .repeats = true,
    .one_owner = true,
    .bytes = pl_tables_bytes,
    .open = open_driver,
    .close = pl_tables_close,
    .traffic = traffic,
};
