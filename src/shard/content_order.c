/* content_order.c: sorts rows by a hash of their content, so that a run does not depend on the order in which they
 * came. Rows with the same hash are compared. On several ranks, a rank gets the rows whose hashes are in its part of
 * the range; rank 0 has the smallest. Each rank sorts before it sends, which makes the rows for one rank neighbours. */
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "data/row_hash.h"
#include "shard/distributed.h"

#define BUCKET_BITS 12
#define BUCKETS ((unsigned)1 << BUCKET_BITS)

typedef struct hashed {
    uint64_t hash, row;
} hashed;

typedef struct sorting {
    const parley_data *data;
    hashed *rows, *sorted;
    uint64_t bounds[BUCKETS + 1];
} sorting;

static int by_hash(const void *a, const void *b) {
    const hashed *left = a, *right = b;
    return (left->hash > right->hash) - (left->hash < right->hash);
}

static int compare_doubles(const double *of, uint64_t a, uint64_t b) {
    return of ? (of[a] > of[b]) - (of[a] < of[b]) : 0;
}

/* The order of two rows with the same hash. It is 0 only if they say the same. */
static int compare_rows(const parley_data *data, uint64_t a, uint64_t b) {
    const pl_matrix *x = &data->x;
    uint64_t from = x->start[a], other = x->start[b], length = x->start[a + 1] - from,
             length_of_other = x->start[b + 1] - other;
    int order = (length > length_of_other) - (length < length_of_other);
    order = order ? order : compare_doubles(data->label, a, b);
    order = order ? order : compare_doubles(data->weight, a, b);
    order = order ? order : memcmp(x->index + from, x->index + other, length * sizeof *x->index);
    if (order || pl_are_ones(x->values))
        return order;
    uint64_t size = pl_value_bytes(x->values);
    const char *values = pl_value_memory(x->values);
    return memcmp(values + from * size, values + other * size, length * size);
}

/* Sorts rows [begin, end), which have one hash. Nearly always they are copies of one row. */
static void sort_equal(const sorting *sorting, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin + 1; i < end; i++) {
        hashed moved = sorting->sorted[i];
        uint64_t to = i;
        for (; to > begin && compare_rows(sorting->data, sorting->sorted[to - 1].row, moved.row) > 0; to--)
            sorting->sorted[to] = sorting->sorted[to - 1];
        sorting->sorted[to] = moved;
    }
}

static void sort_task(void *context, unsigned bucket) {
    const sorting *sorting = context;
    uint64_t begin = sorting->bounds[bucket], end = sorting->bounds[bucket + 1];
    if (pl_stop_due())
        return;
    qsort(sorting->sorted + begin, end - begin, sizeof *sorting->sorted, by_hash);
    for (uint64_t first = begin, i = begin; i < end; first = i) {
        for (i = first + 1; i < end && sorting->sorted[i].hash == sorting->sorted[first].hash; i++)
            ;
        sort_equal(sorting, first, i);
    }
}

static void hash_task(void *context, unsigned task) {
    sorting *sorting = context;
    uint64_t rows = sorting->data->x.rows;
    for (uint64_t i = rows * task / BUCKETS; i < rows * (task + 1) / BUCKETS && !pl_stop_due(); i++)
        sorting->rows[i] = (hashed){pl_row_hash(sorting->data, i), i};
}

/* Sorts by the first bits of the hashes. */
static void fill_buckets(sorting *sorting) {
    uint64_t rows = sorting->data->x.rows, next[BUCKETS];
    memset(sorting->bounds, 0, sizeof sorting->bounds);
    for (uint64_t i = 0; i < rows; i++)
        sorting->bounds[(sorting->rows[i].hash >> (64 - BUCKET_BITS)) + 1]++;
    for (unsigned b = 0; b < BUCKETS; b++) {
        next[b] = sorting->bounds[b];
        sorting->bounds[b + 1] += sorting->bounds[b];
    }
    for (uint64_t i = 0; i < rows; i++)
        sorting->sorted[next[sorting->rows[i].hash >> (64 - BUCKET_BITS)]++] = sorting->rows[i];
}

/* The rank for a hash: the ranks divide the range evenly. */
static unsigned rank_of(uint64_t hash, unsigned ranks) { return (unsigned)((hash >> 32) * ranks >> 32); }

/* Copies the rows of this rank in the order of their content. counts[r] is how many belong to rank r; it may be NULL.
 */
static parley_status sort_here(pl_engine *engine, const parley_data *data, double *counts, parley_data **out,
                               parley_error *error) {
    uint64_t rows = data->x.rows, *order = NULL;
    sorting *sorting;
    *out = NULL;
    parley_status status = pl_take(&sorting, 1, sizeof *sorting, "the order of the rows", error);
    if (status != PARLEY_OK)
        return status;
    sorting->data = data;
    sorting->rows = pl_alloc(rows + 1, sizeof *sorting->rows);
    sorting->sorted = pl_alloc(rows + 1, sizeof *sorting->sorted);
    order = pl_alloc(rows + 1, sizeof *order);
    if (!sorting->rows || !sorting->sorted || !order)
        status = pl_fail_memory(error, "the order of the rows", rows * (2 * sizeof(hashed) + sizeof *order));
    if (status == PARLEY_OK) {
        engine->type->run(engine, hash_task, sorting, BUCKETS);
        fill_buckets(sorting);
        engine->type->run(engine, sort_task, sorting, BUCKETS);
        for (uint64_t i = 0; i < rows; i++) {
            order[i] = sorting->sorted[i].row;
            if (counts)
                counts[rank_of(sorting->sorted[i].hash, engine->ranks)]++;
        }
        status = pl_data_subset(data, order, rows, out, error);
    }
    pl_free(sorting->rows);
    pl_free(sorting->sorted);
    pl_free(sorting);
    pl_free(order);
    return status;
}

/* Lists who sends how many rows to whom. counts[from x ranks + to] */
static void list_transfers(const double *counts, unsigned ranks, pl_transfer *transfers) {
    uint64_t row = 0;
    for (unsigned from = 0; from < ranks; from++) {
        uint64_t source = 0;
        for (unsigned to = 0; to < ranks; to++) {
            uint64_t rows = (uint64_t)counts[(uint64_t)from * ranks + to], place = 0;
            for (unsigned before = 0; before < from; before++)
                place += (uint64_t)counts[(uint64_t)before * ranks + to];
            *transfers++ = (pl_transfer){row, row + rows, source, place, from, to};
            source += rows;
            row += rows;
        }
    }
}

/* Sends sorted rows to their ranks. Afterwards each rank holds the rows of one part of the range, not sorted. */
static parley_status send(pl_engine *engine, parley_data *sorted, const pl_spread *spread, double *counts,
                          parley_data **out, parley_error *error) {
    unsigned ranks = engine->ranks;
    uint64_t count = (uint64_t)ranks * ranks, rows = 0;
    pl_transfer *transfers;
    parley_status status = pl_take(&transfers, count, sizeof *transfers, "the list of row transfers", error);
    if (status == PARLEY_OK)
        status = pl_sum_ranks(engine, counts, count, error);
    if (status == PARLEY_OK)
        list_transfers(counts, ranks, transfers);
    for (unsigned from = 0; from < ranks; from++)
        rows += (uint64_t)counts[(uint64_t)from * ranks + engine->rank];
    pl_spread totals = {.rank = engine->rank,
                        .rows = spread->rows,
                        .nonzeros = spread->nonzeros,
                        .weighted = spread->weighted,
                        .valued = spread->valued};
    sorted->spread = &totals;
    if (status == PARLEY_OK)
        status = pl_exchange_rows(engine, sorted, transfers, count, rows, out, error);
    sorted->spread = NULL;
    pl_free(transfers);
    return status;
}

/* Numbers the rows by rank. */
static parley_status number_rows(pl_engine *engine, parley_data *data, const double *counts, parley_error *error) {
    unsigned ranks = engine->ranks;
    uint64_t row = 0;
    parley_status status = pl_take(&data->spread, 1, sizeof *data->spread, "the table of distributed rows", error);
    if (status == PARLEY_OK)
        status =
            pl_take(&data->spread->pieces, ranks, sizeof *data->spread->pieces, "the table of distributed rows", error);
    for (unsigned rank = 0; rank < ranks && status == PARLEY_OK; rank++) {
        uint64_t begin = row;
        for (unsigned from = 0; from < ranks; from++)
            row += (uint64_t)counts[(uint64_t)from * ranks + rank];
        if (row > begin)
            data->spread->pieces[data->spread->count++] = (pl_piece){begin, row, 0, 0, rank};
    }
    return status == PARLEY_OK ? pl_spread_measure(engine, data, error) : status;
}

static parley_status sort_on_ranks(pl_engine *engine, const parley_data *data, parley_data **out, parley_error *error) {
    double *counts;
    parley_data *sorted = NULL, *received = NULL;
    uint64_t ranks = engine->ranks;
    parley_status status = pl_take(&counts, ranks * ranks, sizeof *counts, "the list of row transfers", error);
    if (status != PARLEY_OK)
        return status;
    status = sort_here(engine, data, counts + engine->rank * ranks, &sorted, error);
    if (status == PARLEY_OK)
        status = send(engine, sorted, data->spread, counts, &received, error);
    parley_data_free(sorted);
    if (status == PARLEY_OK)
        status = sort_here(engine, received, NULL, out, error);
    parley_data_free(received);
    if (status == PARLEY_OK)
        status = number_rows(engine, *out, counts, error);
    pl_free(counts);
    if (status != PARLEY_OK) {
        parley_data_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status pl_rows_by_content(pl_engine *engine, const parley_data *data, parley_data **out, parley_error *error) {
    *out = NULL;
    return data->spread ? sort_on_ranks(engine, data, out, error) : sort_here(engine, data, NULL, out, error);
}
