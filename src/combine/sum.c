/* sum.c: the workers' changes are added whole. Each worker offers its share of one common step: the statistics of its
 * part of a batch, or the changes of its counts. */
#include "combine/combine.h"

static parley_status open_sum(const pl_setup *setup, pl_combine **out, parley_error *error) {
    (void)setup;
    parley_status status = pl_take(out, 1, sizeof **out, "sum", error);
    if (status == PARLEY_OK)
        (*out)->type = &pl_combine_sum;
    return status;
}

static void ask(const pl_combine *combine, pl_round *round) {
    (void)combine;
    round->joint = true;
}

/* There is no state between rounds. */
static void state(pl_combine *combine, pl_state *state) { (void)combine, (void)state; }

static void close_sum(pl_combine *combine) { pl_free(combine); }

const pl_combine_type pl_combine_sum = {
    .name = "sum",
    .help = "adds the workers' shares of one common step",
    .takes = PL_GIVES_SHARES,
    .open = open_sum,
    .ask = ask,
    .state = state,
    .close = close_sum,
};
