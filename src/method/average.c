/* average.c: the next v is the mean of the workers' copies, weighted by the weight of their rows (CoCoA; model
 * averaging). */
#include "method/combine.h"

static parley_status open_average(const pl_setup *setup, pl_combine **out, parley_error *error) {
    (void)setup;
    parley_status status = pl_take(out, 1, sizeof **out, "average", error);
    if (status == PARLEY_OK)
        (*out)->type = &pl_combine_average;
    return status;
}

/* There is no state between rounds. */
static void state(pl_combine *combine, pl_state *state) { (void)combine, (void)state; }

static void close_average(pl_combine *combine) { pl_free(combine); }

const pl_combine_type pl_combine_average = {
    .name = "average",
    .help = "averages the workers' copies, weighted by their rows (CoCoA)",
    .takes = PL_GIVES_CHANGES,
    .averages = true,
    .open = open_average,
    .state = state,
    .close = close_average,
};
