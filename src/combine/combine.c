/* combine.c: every combine there is. */
#include "combine/combine.h"

const pl_combine_type *const pl_combines[] = {&pl_combine_add,    &pl_combine_average,   &pl_combine_step,
                                              &pl_combine_newton, &pl_combine_truncated, &pl_combine_lbfgs};
const unsigned pl_combines_count = sizeof pl_combines / sizeof *pl_combines;

parley_status pl_propose_change(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    (void)combine, (void)round, (void)error;
    for (uint64_t j = slice->begin; j < slice->end; j++)
        slice->direction[j] = (slice->shrink - 1.0) * slice->v[j] + slice->change[j];
    return PARLEY_OK;
}
