/* rank_precision.c: joins what the ranks know of their columns, so that all decide as one process does. */
#include "shard/rank_precision.h"

#include <math.h>

#include "base/memory.h"
#include "data/precision.h"
#include "shard/distributed.h"

#define NUMBERS (sizeof(pl_sampled) / sizeof(double))

/* Gathers the sample of all ranks. */
static parley_status gather_sample(pl_engine *engine, const parley_data *data, uint64_t rows, uint64_t size,
                                   pl_sampled **out, uint64_t *count, parley_error *error) {
    pl_sampled *mine = NULL;
    double *all = NULL;
    uint64_t *bounds = NULL, here;
    parley_status status = pl_take(&bounds, (uint64_t)engine->ranks + 1, sizeof *bounds, "gathered lists", error);
    if (status == PARLEY_OK)
        status = pl_sample_take(data, rows, size, &mine, &here, error);
    if (status == PARLEY_OK)
        status = pl_gather_lists(engine, (const double *)mine, NUMBERS * here, &all, bounds, error);
    if (status == PARLEY_OK)
        *count = bounds[engine->ranks] / NUMBERS;
    *out = (pl_sampled *)all;
    pl_free(mine);
    pl_free(bounds);
    return status;
}

#define BITS 64 /* of `cut` */

/* Sums over all ranks, and `cut` of all. */
typedef struct facts {
    double rows, nonzeros, beyond, valued, cut[BITS];
} facts;

static parley_status sum_facts(pl_engine *engine, const parley_data *data, facts *out, uint64_t *cut,
                               parley_error *error) {
    *out = (facts){
        (double)data->x.rows, (double)data->x.nonzeros, pl_is_beyond_floats(data), !pl_are_ones(data->x.values), {0}};
    *cut = 0;
    for (unsigned b = 0; b < BITS; b++)
        out->cut[b] = (double)(data->rounded >> b & 1);
    parley_status status = pl_sum_ranks(engine, &out->rows, sizeof *out / sizeof(double), error);
    for (unsigned b = 0; b < BITS; b++)
        *cut |= (uint64_t)(out->cut[b] > 0) << b;
    return status;
}

parley_status pl_precision_of_ranks(pl_engine *engine, parley_data *data, bool *again, parley_error *error) {
    pl_sampled *sample = NULL;
    pl_bands bands = {0};
    uint64_t count = 0, cut;
    facts facts;
    *again = false;
    parley_status status = sum_facts(engine, data, &facts, &cut, error);
    if (status != PARLEY_OK || facts.valued == 0)
        return status;
    uint64_t rows = (uint64_t)facts.rows, size = pl_sample_size(rows, (uint64_t)facts.nonzeros);
    status = gather_sample(engine, data, rows, size, &sample, &count, error);
    if (status == PARLEY_OK)
        status = pl_bands_open(sample, count, size, cut, data, &bands, error);
    if (status == PARLEY_OK)
        status = pl_bands_measure(&bands, data, error);
    if (status == PARLEY_OK && bands.count > 0)
        status = pl_sum_ranks(engine, bands.cut, 2 * bands.count, error); /* and `other` */
    if (status == PARLEY_OK)
        status = pl_precision_decide(&bands, facts.beyond > 0, false, data, again, error);
    pl_bands_close(&bands);
    pl_free(sample);
    return status;
}
