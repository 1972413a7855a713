/* allreduce.c: every rank owns a slice of v. Updates are reduced to the owners (reduce-scatter), each combines its
 * slice, and the slices are sent to all (all-gather). No worker sends more than twice the table, whatever the number of
 * workers. */
#include "method/exchange.h"

static void traffic(unsigned workers, unsigned worker, uint64_t update_bytes, uint64_t table_bytes, uint64_t *sent,
                    uint64_t *received) {
    (void)worker;
    uint64_t others = workers - 1;
    uint64_t each = update_bytes * others / workers + table_bytes * others / workers;
    *sent = *received = each;
}

static parley_status open_allreduce(const pl_setup *setup, bool whole, pl_exchange **out, parley_error *error) {
    return pl_tables_open(&pl_exchange_allreduce, setup, whole, out, error);
}

const pl_exchange_type pl_exchange_allreduce = {
    .name = "allreduce",
    .help = "reduce-scatter, each owner combines its slice, all-gather",
    .clock = PL_SYNCHRONOUS,
    .carries = PL_CARRIES_UPDATES | PL_CARRIES_DIRECTIONS,
    .repeats = true,
    .bytes = pl_tables_bytes,
    .open = open_allreduce,
    .close = pl_tables_close,
    .traffic = traffic,
};
