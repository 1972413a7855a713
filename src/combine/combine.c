/* combine.c: what several combines share. */
#include "combine/combine.h"

parley_status pl_propose_change(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    (void)combine, (void)round, (void)error;
    for (uint64_t j = slice->begin; j < slice->end; j++)
        slice->direction[j] = (slice->shrink - 1.0) * slice->v[j] + slice->change[j];
    return PARLEY_OK;
}
