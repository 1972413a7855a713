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

/* Replaces the ranges of this rank's rows by those of all rows. */
static parley_status join_bands(pl_engine *engine, pl_bands *bands, parley_error *error) {
    double *mine, *all = NULL;
    uint64_t *bounds = NULL, count = bands->count;
    parley_status status = pl_take(&mine, 3 * count + 1, sizeof *mine, "gathered lists", error);
    if (status == PARLEY_OK)
        status = pl_take(&bounds, (uint64_t)engine->ranks + 1, sizeof *bounds, "gathered lists", error);
    for (uint64_t i = 0; i < count && status == PARLEY_OK; i++) {
        mine[3 * i] = bands->low[i];
        mine[3 * i + 1] = bands->high[i];
        mine[3 * i + 2] = bands->cut[i];
    }
    if (status == PARLEY_OK)
        status = pl_gather_lists(engine, mine, 3 * count, &all, bounds, error);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        for (uint64_t i = 0; i < count; i++) {
            const double *of = all + bounds[r] + 3 * i;
            bands->low[i] = fmin(bands->low[i], of[0]);
            bands->high[i] = fmax(bands->high[i], of[1]);
            bands->cut[i] = fmax(bands->cut[i], of[2]);
        }
    pl_free(mine);
    pl_free(bounds);
    pl_free(all);
    return status;
}

parley_status pl_precision_of_ranks(pl_engine *engine, parley_data *data, bool *again, parley_error *error) {
    /* over all ranks: rows, entries, ranks with a value that is no float, ranks with a value other than 1 */
    double sums[] = {(double)data->x.rows, (double)data->x.nonzeros, pl_is_beyond_floats(data),
                     !pl_are_ones(data->x.values)};
    pl_sampled *sample = NULL;
    pl_bands bands = {0};
    uint64_t count = 0;
    *again = false;
    parley_status status = pl_sum_ranks(engine, sums, sizeof sums / sizeof *sums, error);
    if (status != PARLEY_OK || sums[3] == 0)
        return status;
    uint64_t rows = (uint64_t)sums[0], size = pl_sample_size(rows, (uint64_t)sums[1]);
    status = gather_sample(engine, data, rows, size, &sample, &count, error);
    if (status == PARLEY_OK)
        status = pl_bands_open(sample, count, size, data->x.columns, data->read_wide, &bands, error);
    if (status == PARLEY_OK)
        status = pl_bands_measure(&bands, data, error);
    if (status == PARLEY_OK && bands.count > 0)
        status = join_bands(engine, &bands, error);
    if (status == PARLEY_OK)
        status = pl_precision_decide(&bands, sums[2] > 0, data, again, error);
    pl_bands_close(&bands);
    pl_free(sample);
    return status;
}
