/* measure_network.c: see measure_network.h. Times are medians over repetitions, of rank 0 with the rank furthest from
 * it. */
#include "engine/measure_network.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/sort_numbers.h"
#include "engine/collective.h"
#include "math/sparse.h"

#define CHANNEL_PROBE 90
#define TRIPS 300        /* round trips of a small message */
#define BURST 200        /* small messages without an answer */
#define REPEATS 7        /* of everything that takes longer */
#define SMALL 64         /* bytes of a small message */
#define LARGE (1u << 22) /* bytes of a long one, and a quarter of it */
#define COLUMNS 100000
#define ROW 100
#define ROWS 2000
#define ENTRIES 1000000

static double median(double *values, unsigned count) {
    pl_sort_numbers(values, count);
    return values[count / 2];
}

/* A message of `bytes` goes from rank 0 to the peer, and a small one comes back. */
static parley_status round_trip(pl_engine *engine, unsigned peer, char *room, uint64_t bytes, double *seconds,
                                parley_error *error) {
    const pl_engine_type *type = engine->type;
    double began = pl_engine_now(engine);
    parley_status status = PARLEY_OK;
    if (engine->rank == 0) {
        status = type->post(engine, peer, CHANNEL_PROBE, room, bytes, error);
        if (status == PARLEY_OK)
            status = type->take(engine, peer, CHANNEL_PROBE, room, SMALL, error);
    } else if (engine->rank == peer) {
        status = type->take(engine, 0, CHANNEL_PROBE, room, bytes, error);
        if (status == PARLEY_OK)
            status = type->post(engine, 0, CHANNEL_PROBE, room, SMALL, error);
    }
    *seconds = pl_engine_now(engine) - began;
    return status;
}

static parley_status median_trip(pl_engine *engine, unsigned peer, char *room, uint64_t bytes, unsigned repeats,
                                 double *seconds, parley_error *error) {
    double all[TRIPS];
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < repeats && status == PARLEY_OK; i++)
        status = round_trip(engine, peer, room, bytes, &all[i], error);
    *seconds = status == PARLEY_OK ? median(all, repeats) : 0.0;
    return status;
}

/* Seconds of each small message that rank 0 sends without waiting. */
static parley_status burst(pl_engine *engine, unsigned peer, char *room, double *seconds, parley_error *error) {
    const pl_engine_type *type = engine->type;
    double began = pl_engine_now(engine);
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < BURST && status == PARLEY_OK; i++)
        if (engine->rank == 0)
            status = type->post(engine, peer, CHANNEL_PROBE, room, SMALL, error);
        else if (engine->rank == peer)
            status = type->take(engine, 0, CHANNEL_PROBE, room, SMALL, error);
    if (status == PARLEY_OK && engine->rank == peer)
        status = type->post(engine, 0, CHANNEL_PROBE, room, SMALL, error);
    if (status == PARLEY_OK && engine->rank == 0)
        status = type->take(engine, peer, CHANNEL_PROBE, room, SMALL, error);
    *seconds = (pl_engine_now(engine) - began) / BURST;
    return status;
}

/* Both send a message at the same time. */
static parley_status both_ways(pl_engine *engine, unsigned peer, char *room, uint64_t bytes, double *seconds,
                               parley_error *error) {
    const pl_engine_type *type = engine->type;
    unsigned other = engine->rank == 0 ? peer : 0;
    bool takes_part = engine->rank == 0 || engine->rank == peer;
    double all[REPEATS];
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < REPEATS && status == PARLEY_OK && takes_part; i++) {
        double began = pl_engine_now(engine), ignored;
        status = type->post(engine, other, CHANNEL_PROBE, room, bytes, error);
        if (status == PARLEY_OK)
            status = type->take(engine, other, CHANNEL_PROBE, room, bytes, error);
        all[i] = pl_engine_now(engine) - began;
        if (status == PARLEY_OK)
            status = round_trip(engine, peer, room, SMALL, &ignored, error); /* they begin the next one together */
    }
    *seconds = status == PARLEY_OK && takes_part ? median(all, REPEATS) : 0.0;
    return status;
}

/* How much longer that takes than one message. */
static parley_status probe_duplex(pl_engine *engine, unsigned peer, char *room, double trip, double *duplex,
                                  parley_error *error) {
    parley_status status = PARLEY_OK;
    uint64_t bytes = PL_DUPLEX_LEAST;
    for (unsigned i = 0; i < PL_DUPLEX_SIZES && status == PARLEY_OK; i++, bytes *= 4) {
        double one, both;
        status = median_trip(engine, peer, room, bytes, REPEATS, &one, error);
        if (status == PARLEY_OK)
            status = both_ways(engine, peer, room, bytes, &both, error);
        if (status == PARLEY_OK)
            duplex[i] = fmin(1.0, fmax(0.25, (one - trip / 2) / fmax(both, 1e-9)));
    }
    return status;
}

static parley_status probe_links(pl_engine *engine, pl_network *out, parley_error *error) {
    unsigned peer = engine->ranks - 1;
    char *room = pl_alloc(1, LARGE);
    double trip = 0, quarter = 0, whole = 0, each = 0;
    parley_status status = room ? PARLEY_OK : pl_fail_memory(error, "a message", LARGE);
    if (status == PARLEY_OK)
        status = median_trip(engine, peer, room, SMALL, TRIPS, &trip, error);
    if (status == PARLEY_OK)
        status = median_trip(engine, peer, room, LARGE / 4, REPEATS, &quarter, error);
    if (status == PARLEY_OK)
        status = median_trip(engine, peer, room, LARGE, REPEATS, &whole, error);
    if (status == PARLEY_OK)
        status = probe_duplex(engine, peer, room, trip, out->duplex, error);
    if (status == PARLEY_OK)
        status = burst(engine, peer, room, &each, error);
    pl_free(room);
    out->bandwidth = whole > quarter ? 0.75 * LARGE / (whole - quarter) : 1e12;
    out->message = fmin(each, trip / 4) / 2; /* of either end */
    out->latency = fmax(0.0, trip / 2 - 2 * out->message);
    return status;
}

/* Steps on sparse rows, as sgd makes them. */
static parley_status probe_nonzeros(pl_engine *engine, double *seconds, parley_error *error) {
    uint32_t *index = pl_alloc(ROWS * ROW, sizeof *index);
    float *value = pl_alloc(ROWS * ROW, sizeof *value);
    double *w = pl_alloc(COLUMNS, sizeof *w), all[REPEATS];
    parley_status status = index && value && w ? PARLEY_OK : pl_fail_memory(error, "rows", ROWS * ROW * 8);
    pl_stream stream = pl_stream_make(1, 0, 0);
    uint64_t row = engine->ranks > 0 ? ROW : 0; /* a length that the compiler does not know, as of real rows */
    for (uint64_t e = 0; e < ROWS * ROW && status == PARLEY_OK; e++) {
        index[e] = (uint32_t)pl_random_below(&stream, COLUMNS);
        value[e] = 0.1F;
    }
    for (unsigned i = 0; i < REPEATS && status == PARLEY_OK; i++) {
        double began = pl_engine_now(engine);
        for (uint64_t r = 0; r < ROWS; r++) {
            double z = pl_sparse_dot(index + r * row, value + r * row, row, w);
            pl_sparse_add(index + r * row, value + r * row, row, 0.01 * (1.0 - tanh(z)), w);
        }
        all[i] = (pl_engine_now(engine) - began) / (ROWS * ROW);
    }
    *seconds = status == PARLEY_OK ? median(all, REPEATS) : 0.0;
    pl_free(index);
    pl_free(value);
    pl_free(w);
    return status;
}

/* One table added to another. */
static parley_status probe_entries(pl_engine *engine, double *seconds, parley_error *error) {
    double *a = pl_alloc(ENTRIES, sizeof *a), *b = pl_alloc(ENTRIES, sizeof *b), all[REPEATS];
    parley_status status = a && b ? PARLEY_OK : pl_fail_memory(error, "tables", 2 * ENTRIES * sizeof *a);
    for (unsigned i = 0; i < REPEATS && status == PARLEY_OK; i++) {
        double began = pl_engine_now(engine);
        for (uint64_t j = 0; j < ENTRIES; j++)
            a[j] += 0.5 * b[j] + (double)i;
        all[i] = (pl_engine_now(engine) - began) / ENTRIES;
    }
    *seconds = status == PARLEY_OK ? median(all, REPEATS) : 0.0;
    pl_free(a);
    pl_free(b);
    return status;
}

/* All ranks add a table, and all get the sum. */
static parley_status probe_sum(pl_engine *engine, uint64_t entries, double *seconds, parley_error *error) {
    double *values = pl_alloc(entries, sizeof *values), *sum = pl_alloc(entries, sizeof *sum), all[REPEATS];
    uint64_t *bounds = pl_alloc(engine->ranks + 1, sizeof *bounds);
    parley_status status =
        values && sum && bounds ? PARLEY_OK : pl_fail_memory(error, "tables", 2 * entries * sizeof *sum);
    for (uint64_t j = 0; j < entries && status == PARLEY_OK; j++)
        values[j] = (double)(j + 1);
    for (unsigned r = 0; r <= engine->ranks && status == PARLEY_OK; r++)
        bounds[r] = entries * r / engine->ranks;
    for (unsigned i = 0; i < REPEATS && status == PARLEY_OK; i++) {
        status = pl_barrier(engine, error);
        double began = pl_engine_now(engine);
        if (status == PARLEY_OK)
            status =
                pl_reduce_scatter(engine, PL_EACH_RANK, &(pl_addend){.values = values}, entries, 1, bounds, sum, error);
        if (status == PARLEY_OK)
            status = pl_all_gather(engine, sum, bounds, error);
        all[i] = pl_engine_now(engine) - began;
    }
    *seconds = status == PARLEY_OK ? median(all, REPEATS) : 0.0;
    pl_free(values);
    pl_free(sum);
    pl_free(bounds);
    return status;
}

parley_status pl_probe_run(pl_engine *engine, pl_probe *out, parley_error *error) {
    static const uint64_t sizes[PL_PROBE_SIZES] = {1, 100, 1000, 10000, 100000, 1000000};
    if (engine->ranks < 2)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "parley probe measures between processes, and there is one; use parley launch --hosts FILE -- "
                       "probe OUT");
    parley_status status = probe_links(engine, &out->network, error);
    if (status == PARLEY_OK)
        status = pl_barrier(engine, error);
    if (status == PARLEY_OK)
        status = probe_nonzeros(engine, &out->network.nonzero, error);
    if (status == PARLEY_OK)
        status = probe_entries(engine, &out->network.entry, error);
    for (unsigned i = 0; i < PL_PROBE_SIZES && status == PARLEY_OK; i++) {
        out->entries[i] = sizes[i];
        status = probe_sum(engine, sizes[i], &out->seconds[i], error);
    }
    return status;
}
