/* sum.c: the workers' changes are added whole (model summation, as in Petuum, and in Hogwild by messages). K workers
 * make steps of K times the length, so that rates must be K times smaller, or the sum diverges. */
#include "combine/combine.h"

static parley_status open_sum(const pl_setup *setup, pl_combine **out, parley_error *error) {
    (void)setup;
    parley_status status = pl_take(out, 1, sizeof **out, "sum", error);
    if (status == PARLEY_OK)
        (*out)->type = &pl_combine_sum;
    return status;
}

/* There is no state between rounds. */
static void state(pl_combine *combine, pl_state *state) { (void)combine, (void)state; }

static void close_sum(pl_combine *combine) { pl_free(combine); }

const pl_combine_type pl_combine_sum = {
    .name = "sum",
    .help = "adds the workers' changes whole (Petuum); needs rates that are K times smaller",
    .takes = PL_GIVES_CHANGES | PL_MAY_BE_ADDED,
    .adds = true,
    .open = open_sum,
    .state = state,
    .close = close_sum,
};
