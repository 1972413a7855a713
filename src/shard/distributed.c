/* distributed.c: exchanges descriptions of distributed rows between ranks. */
#include "shard/distributed.h"

#include <string.h>

#include "engine/collective.h"
#include "math/sparse.h"

#define SUM_AT_ONCE ((uint64_t)1 << 16) /* numbers per message */

parley_status pl_sum_ranks(pl_engine *engine, double *values, uint64_t count, parley_error *error) {
    double *sums;
    if (engine->ranks == 1)
        return PARLEY_OK;
    uint64_t most = count < SUM_AT_ONCE ? count : SUM_AT_ONCE;
    parley_status status = pl_take(&sums, most, sizeof *sums, "sums over ranks", error);
    for (uint64_t i = 0; i < count && status == PARLEY_OK; i += most) {
        uint64_t part = count - i < most ? count - i : most;
        status = pl_sum_workers(engine, PL_EACH_RANK, values + i, (unsigned)part, sums, error);
        if (status == PARLEY_OK)
            memcpy(values + i, sums, part * sizeof *sums);
    }
    pl_free(sums);
    return status;
}

parley_status pl_gather_lists(pl_engine *engine, const double *mine, uint64_t count, double **all, uint64_t *bounds,
                              parley_error *error) {
    unsigned ranks = engine->ranks;
    double *counts;
    *all = NULL;
    parley_status status = pl_take(&counts, ranks, sizeof *counts, "gathered lists", error);
    if (status != PARLEY_OK)
        return status;
    counts[engine->rank] = (double)count;
    status = pl_sum_ranks(engine, counts, ranks, error);
    bounds[0] = 0;
    for (unsigned r = 0; r < ranks; r++)
        bounds[r + 1] = bounds[r] + (uint64_t)counts[r];
    pl_free(counts);
    if (status == PARLEY_OK)
        status = pl_take(all, bounds[ranks] + 1, sizeof **all, "gathered lists", error);
    if (status == PARLEY_OK) {
        memcpy(*all + bounds[engine->rank], mine, count * sizeof *mine);
        status = pl_all_gather(engine, *all, bounds, error);
    }
    if (status != PARLEY_OK) {
        pl_free(*all);
        *all = NULL;
    }
    return status;
}

parley_status pl_broadcast(pl_engine *engine, unsigned from, void *bytes, uint64_t count, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (count == 0)
        return status;
    if (engine->rank != from)
        return engine->type->take(engine, from, PL_CHANNEL_LIST, bytes, count, error);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        if (r != from)
            status = engine->type->post(engine, r, PL_CHANNEL_LIST, bytes, count, error);
    return status;
}

/* The number of non-zeros in a piece that this rank holds. */
static uint64_t piece_nonzeros(const parley_data *data, const pl_piece *piece) {
    const uint64_t *start = data->x.start + piece->first;
    return start[piece->end - piece->begin] - start[0];
}

parley_status pl_spread_measure(pl_engine *engine, const parley_data *data, parley_error *error) {
    pl_spread *spread = data->spread;
    uint64_t count = spread->count;
    double *values;
    parley_status status = pl_take(&values, count + 3, sizeof *values, "the table of distributed rows", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t p = 0; p < count; p++)
        if (spread->pieces[p].rank == engine->rank)
            values[p] = (double)piece_nonzeros(data, &spread->pieces[p]);
    values[count] = data->weight != NULL;
    values[count + 1] = !pl_are_ones(data->x.values);
    values[count + 2] = data->x.values.wide != NULL;
    status = pl_sum_ranks(engine, values, count + 3, error);
    spread->rank = engine->rank;
    spread->rows = spread->nonzeros = 0;
    for (uint64_t p = 0; p < count && status == PARLEY_OK; p++) {
        spread->pieces[p].before = spread->rows + spread->nonzeros;
        spread->rows += spread->pieces[p].end - spread->pieces[p].begin;
        spread->nonzeros += (uint64_t)values[p];
    }
    spread->weighted = values[count] > 0;
    spread->valued = values[count + 1] > 0;
    spread->wide = values[count + 2] > 0;
    pl_free(values);
    return status;
}

/* Writes the pieces that remain when only `rows` are selected to `out`, and the local numbers of this rank's rows to
 * `mine`. Returns how many of the latter there are. */
static uint64_t keep_pieces(const pl_spread *from, const uint64_t *rows, uint64_t count, uint64_t *held, uint64_t *mine,
                            pl_spread *out) {
    uint64_t here = 0;
    for (uint64_t p = 0; p < from->count; p++) {
        const pl_piece *piece = &from->pieces[p];
        uint64_t begin = pl_rising_first(rows, count, piece->begin), end = pl_rising_first(rows, count, piece->end);
        if (begin == end)
            continue;
        out->pieces[out->count++] = (pl_piece){begin, end, held[piece->rank], 0, piece->rank};
        held[piece->rank] += end - begin;
        for (uint64_t i = begin; i < end && piece->rank == from->rank; i++)
            mine[here++] = piece->first + (rows[i] - piece->begin);
    }
    return here;
}

parley_status pl_spread_subset(pl_engine *engine, const parley_data *data, const uint64_t *rows, uint64_t count,
                               parley_data **out, parley_error *error) {
    uint64_t *held = pl_alloc(engine->ranks, sizeof *held), *mine = pl_alloc(data->x.rows, sizeof *mine), here = 0;
    pl_spread *spread = pl_alloc(1, sizeof *spread);
    parley_status status = PARLEY_OK;
    *out = NULL;
    if (spread)
        spread->pieces = pl_alloc(data->spread->count, sizeof *spread->pieces);
    if (!held || !mine || !spread || !spread->pieces)
        status = pl_fail_memory(error, "a subset of the rows", data->x.rows * sizeof *mine);
    if (status == PARLEY_OK) {
        here = keep_pieces(data->spread, rows, count, held, mine, spread);
        status = pl_data_subset(data, mine, here, out, error);
    }
    pl_free(held);
    pl_free(mine);
    if (status != PARLEY_OK) {
        pl_spread_free(spread);
        return status;
    }
    (*out)->spread = spread;
    status = pl_spread_measure(engine, *out, error);
    if (status != PARLEY_OK) {
        parley_data_free(*out);
        *out = NULL;
    }
    return status;
}
