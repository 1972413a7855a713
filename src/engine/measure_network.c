/* measure_network.c: see measure_network.h. Times are medians over repetitions, of rank 0 with the rank furthest from
 * it. */
#include "engine/measure_network.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/sort_numbers.h"
#include "engine/collective.h"
#include "math/sparse.h"

#define CHANNEL_PROBE 90
#define TRIPS 300     /* round trips of a small message */
#define BURST 200     /* small messages without an answer */
#define REPEATS 7     /* of everything that takes longer */
#define FEW_REPEATS 3 /* of what takes longest */
#define NAPS 50
#define NAP 1e-4         /* seconds that they are asked to take */
#define LONG 40          /* times REPEATS passes over the rows, so that hosts on the same cores meet */
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

/* The largest value of all ranks. */
static parley_status largest(pl_engine *engine, double value, double *out, parley_error *error) {
    double *all = pl_alloc(2 * engine->ranks, sizeof *all), *sums = all + engine->ranks;
    if (!all)
        return pl_fail_memory(error, "a measurement", 2 * engine->ranks * sizeof *all);
    all[engine->rank] = value;
    parley_status status = pl_sum_workers(engine, PL_EACH_RANK, all, engine->ranks, sums, error);
    *out = 0;
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        *out = fmax(*out, sums[r]);
    pl_free(all);
    return status;
}

/* Every rank sends a message to every other, all at the same time. The seconds of the slowest rank. */
static parley_status all_ways(pl_engine *engine, char *room, uint64_t bytes, double *seconds, parley_error *error) {
    const pl_engine_type *type = engine->type;
    unsigned ranks = engine->ranks, repeats = bytes < LARGE / 4 ? REPEATS : FEW_REPEATS;
    double all[REPEATS];
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < repeats && status == PARLEY_OK; i++) {
        status = pl_barrier(engine, error);
        double began = pl_engine_now(engine);
        for (unsigned n = 1; n < ranks && status == PARLEY_OK; n++)
            status = type->post(engine, (engine->rank + n) % ranks, CHANNEL_PROBE, room, bytes, error);
        for (unsigned n = 1; n < ranks && status == PARLEY_OK; n++)
            status = type->take(engine, (engine->rank + ranks - n) % ranks, CHANNEL_PROBE, room, bytes, error);
        all[i] = pl_engine_now(engine) - began;
    }
    return status == PARLEY_OK ? largest(engine, median(all, repeats), seconds, error) : status;
}

/* How much longer a sleep takes than it should. */
static double late_wake(void) {
    double all[NAPS];
    for (unsigned i = 0; i < NAPS; i++) {
        double began = pl_now();
        pl_sleep(NAP);
        all[i] = pl_now() - began - NAP;
    }
    return fmax(0.0, median(all, NAPS));
}

/* How late the end of a wait of about `seconds` is noticed, on average. */
static double late_notice(const pl_network *network, double seconds) {
    double sum = 0;
    for (unsigned i = 0; i < NAPS; i++) {
        double waited = seconds * (0.75 + 0.5 * i / NAPS);
        sum += pl_network_noticed(network, waited) - waited;
    }
    return sum / NAPS;
}

/* How much longer that takes than the same bytes would in one direction. */
static parley_status probe_duplex(pl_engine *engine, char *room, double trip, pl_network *out, parley_error *error) {
    parley_status status = PARLEY_OK;
    uint64_t bytes = PL_DUPLEX_LEAST;
    for (unsigned i = 0; i < PL_DUPLEX_SIZES && status == PARLEY_OK; i++, bytes *= 4) {
        double every = 0, length = (double)((engine->ranks - 1) * bytes) / out->bandwidth;
        status = all_ways(engine, room, bytes, &every, error);
        every += out->burst / out->bandwidth - trip / 2 - late_notice(out, every);
        if (status == PARLEY_OK)
            out->duplex[i] = fmin(1.0, fmax(0.25, length / fmax(every, 1e-9)));
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
        status = burst(engine, peer, room, &each, error);
    out->bandwidth = whole > quarter ? 0.75 * LARGE / (whole - quarter) : 1e12;
    out->wake = late_wake();
    quarter -= 2 * late_notice(out, quarter);                      /* at either end */
    double saved = trip + 0.25 * LARGE / out->bandwidth - quarter; /* by what passes at once */
    out->burst = fmin(0.25 * LARGE, fmax(0.0, saved * out->bandwidth));
    out->message = fmin(each, trip / 4) / 2; /* of either end */
    out->latency = fmax(0.0, trip / 2 - 2 * out->message);
    if (status == PARLEY_OK)
        status = probe_duplex(engine, room, trip, out, error);
    pl_free(room);
    return status;
}

/* Sparse rows. */
typedef struct rows {
    uint32_t *index;
    float *value;
    double *w;
    uint64_t length; /* of a row, which the compiler does not know, as of real rows */
} rows;

/* Steps on the rows, as sgd makes them. Seconds of a non-zero, by the median or by all of the time. */
static double pass_over(pl_engine *engine, const rows *rows, unsigned passes, bool all_of_it) {
    double all[REPEATS * LONG], first = pl_engine_now(engine);
    for (unsigned i = 0; i < passes; i++) {
        double began = pl_engine_now(engine);
        for (uint64_t r = 0; r < ROWS; r++) {
            const uint32_t *index = rows->index + r * rows->length;
            pl_values values = {.narrow = rows->value + r * rows->length};
            double z = pl_sparse_dot(index, values, rows->length, rows->w);
            pl_sparse_add(index, values, rows->length, 0.01 * (1.0 - tanh(z)), rows->w);
        }
        all[i] = pl_engine_now(engine) - began;
    }
    return (all_of_it ? (pl_engine_now(engine) - first) / passes : median(all, passes)) / (ROWS * ROW);
}

/* Rank 0 alone, and then all ranks at the same time, which may share cores, caches and memory. */
static parley_status time_passes(pl_engine *engine, const rows *rows, pl_network *out, parley_error *error) {
    double alone = 0, together = 0, sum = 0;
    if (engine->rank == 0) {
        out->nonzero = pass_over(engine, rows, REPEATS, false);
        alone = pass_over(engine, rows, REPEATS * LONG, true);
    }
    parley_status status = pl_barrier(engine, error);
    if (status == PARLEY_OK)
        together = pass_over(engine, rows, REPEATS * LONG, true);
    if (status == PARLEY_OK)
        status = pl_sum_workers(engine, PL_EACH_RANK, &together, 1, &sum, error);
    out->together = alone > 0 ? fmax(1.0, sum / engine->ranks / alone) : 1.0;
    return status;
}

static parley_status probe_nonzeros(pl_engine *engine, pl_network *out, parley_error *error) {
    rows rows = {pl_alloc(ROWS * ROW, sizeof(uint32_t)), pl_alloc(ROWS * ROW, sizeof(float)),
                 pl_alloc(COLUMNS, sizeof(double)), engine->ranks > 0 ? ROW : 0};
    parley_status status =
        rows.index && rows.value && rows.w ? PARLEY_OK : pl_fail_memory(error, "rows", ROWS * ROW * 8);
    pl_stream stream = pl_stream_make(1, 0, 0);
    for (uint64_t e = 0; e < ROWS * ROW && status == PARLEY_OK; e++) {
        rows.index[e] = (uint32_t)pl_random_below(&stream, COLUMNS);
        rows.value[e] = 0.1F;
    }
    if (status == PARLEY_OK)
        status = time_passes(engine, &rows, out, error);
    pl_free(rows.index);
    pl_free(rows.value);
    pl_free(rows.w);
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
        status = probe_nonzeros(engine, &out->network, error);
    out->network.ranks = engine->ranks;
    if (status == PARLEY_OK)
        status = probe_entries(engine, &out->network.entry, error);
    for (unsigned i = 0; i < PL_PROBE_SIZES && status == PARLEY_OK; i++) {
        out->entries[i] = sizes[i];
        status = probe_sum(engine, sizes[i], &out->seconds[i], error);
    }
    return status;
}
