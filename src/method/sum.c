/* sum.c: the workers' changes are added whole. They are shares of one common step (the statistics of parts of a batch),
 * changes of counts, or steps of their own (model summation, as in Petuum, and in Hogwild by messages). K workers then
 * make steps of K times the length, so that rates must be K times smaller, or the sum diverges. */
#include "method/combine.h"

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
    .help = "adds the workers' changes whole",
    .takes = PL_MAY_BE_ADDED,
    .open = open_sum,
    .ask = ask,
    .state = state,
    .close = close_sum,
};
