/* shared.c: one v in the memory of one process, in which all workers step without locks (Hogwild). Nothing is sent. The
 * result depends on which of two workers writes last. */
#include "method/exchange.h"

static void traffic(unsigned workers, unsigned worker, uint64_t update_bytes, uint64_t table_bytes, uint64_t *sent,
                    uint64_t *received) {
    (void)workers, (void)worker, (void)update_bytes, (void)table_bytes;
    *sent = *received = 0;
}

static parley_status open_shared(const pl_setup *setup, bool whole, pl_exchange **out, parley_error *error) {
    return pl_tables_open(&pl_exchange_shared, setup, whole, out, error);
}

const pl_exchange_type pl_exchange_shared = {
    .name = "shared",
    .help = "none: workers step in one v in shared memory, without locks; not repeatable",
    .clock = PL_SYNCHRONOUS,
    .needs = PL_STEPS_IN_V,
    .bytes = pl_tables_bytes,
    .open = open_shared,
    .close = pl_tables_close,
    .traffic = traffic,
};
