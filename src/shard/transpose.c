/* transpose.c: transposes a matrix whose rows are distributed over ranks, by a counting sort in two steps. First the
 * ranks count the entries of every column, which determines the owner of each column and the position of each entry.
 * Then they send the entries to the owners, one window of rows at a time. An owner stores the entries of a window in
 * the order of their rows, so the result does not depend on the order in which messages arrive. The columns are sent in
 * several passes, and after each pass the rows are compacted, so that rows and columns are never both in memory in
 * full. */
#include <string.h>

#include "base/stop.h"
#include "engine/collective.h"
#include "shard/columns.h"
#include "shard/distributed.h"
#include "shard/partition.h"

#define PASSES 2

enum { START, LABEL, WEIGHT, INDEX, VALUE }; /* indices of parley_data's spans */

typedef struct transposition {
    pl_engine *engine;
    parley_data *data;
    const pl_piece *pieces;
    unsigned pass;
    uint64_t low, high;  /* the window, in global row numbers */
    uint64_t begin, end; /* the pieces that overlap it */
    uint32_t *owner;     /* by column: the rank that owns it */
    uint8_t *pass_of;    /* by column: the pass that sends it */
    uint64_t *next;      /* by column: the position of its next entry */
    bool valued, wide;
    uint64_t value_size;
    pl_span *buffers; /* by rank: what is sent to it, then what was received from it */
    uint64_t *held;   /* by rank: bytes in its buffer */
    uint64_t *read;   /* by rank: bytes of its buffer that were read */
    pl_columns *columns;
} transposition;

/* Counts the entries of every column over all ranks. */
static parley_status count_columns(pl_engine *engine, const pl_matrix *x, double *values, parley_error *error) {
    for (uint64_t e = x->start[0]; e < x->start[x->rows]; e++)
        values[x->index[e]]++;
    return pl_sum_ranks(engine, values, x->columns, error);
}

/* Finds the rank that hosts the worker of each column. */
static parley_status find_owners(transposition *t, unsigned workers, unsigned lanes, uint64_t seed,
                                 parley_error *error) {
    const pl_matrix *shape = &t->columns->shape;
    unsigned hosts = pl_engine_hosts(t->engine);
    pl_partition partition;
    pl_part *parts = NULL;
    pl_range *ranges = NULL;
    parley_status status = pl_partition_open(&partition, shape->rows, workers, lanes, seed, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_take(&parts, partition.parts, sizeof *parts, "shards", error);
    if (status == PARLEY_OK)
        status = pl_take(&ranges, partition.blocks + partition.parts, sizeof *ranges, "shards", error);
    if (status == PARLEY_OK) {
        pl_partition_cut(&partition, shape);
        pl_partition_parts(&partition, 0, partition.parts, parts, ranges);
    }
    for (unsigned rank = 0; rank < hosts && status == PARLEY_OK; rank++)
        for (uint64_t p = (uint64_t)pl_host_begin(workers, hosts, rank) * lanes;
             p < (uint64_t)pl_host_begin(workers, hosts, rank + 1) * lanes; p++)
            for (uint64_t r = 0; r < parts[p].count; r++)
                for (uint64_t j = parts[p].ranges[r].begin; j < parts[p].ranges[r].end; j++)
                    t->owner[j] = rank;
    pl_free(parts);
    pl_free(ranges);
    pl_partition_close(&partition);
    return status;
}

/* Computes where the entries of this rank's columns go, and assigns each column to a pass so that each owner's memory
 * is filled from the front. */
static parley_status assign_passes(transposition *t, const double *counts, parley_error *error) {
    uint64_t width = t->data->x.columns, *start = t->columns->start.data, rank = t->engine->rank, *all, *passed;
    parley_status status = pl_take(&all, 2 * (uint64_t)t->engine->ranks, sizeof *all, "the transposed matrix", error);
    if (status != PARLEY_OK)
        return status;
    passed = all + t->engine->ranks;
    for (uint64_t j = 0; j < width; j++)
        all[t->owner[j]] += (uint64_t)counts[j];
    for (uint64_t j = 0; j < width; j++) {
        unsigned r = t->owner[j];
        t->pass_of[j] = (uint8_t)(passed[r] * PASSES / (all[r] + 1));
        t->next[j] = start[j] = passed[rank];
        passed[r] += (uint64_t)counts[j];
        start[j + 1] = passed[rank];
    }
    pl_free(all);
    return PARLEY_OK;
}

/* Computes the start of every column, which the partition needs, then of this rank's columns, and reserves memory for
 * their entries. */
static parley_status place_columns(transposition *t, unsigned workers, unsigned lanes, uint64_t seed,
                                   parley_error *error) {
    const pl_matrix *x = &t->data->x;
    pl_columns *columns = t->columns;
    double *counts;
    parley_status status = pl_take(&counts, x->columns, sizeof *counts, "the transposed matrix", error);
    if (status == PARLEY_OK)
        status = count_columns(t->engine, x, counts, error);
    uint64_t bytes = (x->columns + 1) * sizeof(uint64_t);
    if (status == PARLEY_OK && (!pl_span_reserve(&columns->starts, bytes) || !pl_span_reserve(&columns->start, bytes)))
        status = pl_fail_memory(error, "the transposed matrix", 2 * bytes);
    uint64_t *starts = columns->starts.data, *start = columns->start.data;
    for (uint64_t j = 0; j < x->columns && status == PARLEY_OK; j++)
        starts[j + 1] = starts[j] + (uint64_t)counts[j];
    columns->shape = (pl_matrix){x->columns, t->data->deal->rows, t->data->deal->nonzeros, starts, NULL, {NULL, NULL}};
    if (status == PARLEY_OK)
        status = find_owners(t, workers, lanes, seed, error);
    if (status == PARLEY_OK)
        status = assign_passes(t, counts, error);
    pl_free(counts);
    uint64_t here = status == PARLEY_OK ? start[x->columns] : 0;
    if (status == PARLEY_OK && (!pl_span_reserve(&columns->index, (here + 1) * sizeof(uint32_t)) ||
                                (t->valued && !pl_span_reserve(&columns->value, (here + 1) * t->value_size))))
        status = pl_fail_memory(error, "the transposed matrix", here * (4 + (t->valued ? t->value_size : 0)));
    return status;
}

/* The part of a piece that lies in the window. */
static pl_piece clip(const transposition *t, uint64_t p) {
    pl_piece piece = t->pieces[p];
    uint64_t ahead = piece.begin < t->low ? t->low - piece.begin : 0;
    piece.begin += ahead;
    piece.first += ahead;
    piece.end = piece.end < t->high ? piece.end : t->high;
    return piece;
}

/* Packs this rank's rows of the window. Every buffer has, for each row, the number of entries for that rank in this
 * pass, followed by the entries. If `fill` is false, only counts the bytes. */
static void pack(transposition *t, bool fill) {
    const pl_matrix *x = &t->data->x;
    uint64_t size = sizeof(uint32_t) + (t->valued ? t->value_size : 0);
    memset(t->held, 0, t->engine->ranks * sizeof *t->held);
    for (uint64_t p = t->begin; p < t->end; p++) {
        pl_piece piece = clip(t, p);
        if (piece.rank != t->engine->rank)
            continue;
        for (uint64_t i = piece.first; i < piece.first + (piece.end - piece.begin); i++) {
            for (unsigned r = 0; r < t->engine->ranks; r++) {
                t->read[r] = t->held[r]; /* position of the row's entry count */
                t->held[r] += sizeof(uint32_t);
            }
            for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                unsigned r = t->owner[x->index[e]];
                if (t->pass_of[x->index[e]] != t->pass)
                    continue;
                if (fill) {
                    char *buffer = (char *)t->buffers[r].data + t->held[r];
                    memcpy(buffer, &x->index[e], sizeof(uint32_t));
                    if (t->valued)
                        memcpy(buffer + sizeof(uint32_t), (const char *)pl_value_memory(x->values) + e * t->value_size,
                               t->value_size);
                }
                t->held[r] += size;
            }
            for (unsigned r = 0; r < t->engine->ranks && fill; r++) {
                uint32_t count = (uint32_t)((t->held[r] - t->read[r] - sizeof(uint32_t)) / size);
                memcpy((char *)t->buffers[r].data + t->read[r], &count, sizeof count);
            }
        }
    }
}

static parley_status reserve_buffers(transposition *t, parley_error *error) {
    for (unsigned r = 0; r < t->engine->ranks; r++)
        if (!pl_span_reserve(&t->buffers[r], t->held[r] + 1))
            return pl_fail_memory(error, "entries in transit", t->held[r]);
    return PARLEY_OK;
}

static parley_status exchange_buffers(transposition *t, parley_error *error) {
    pl_engine *engine = t->engine;
    const pl_engine_type *type = engine->type;
    parley_status status = PARLEY_OK;
    for (unsigned n = 1; n < engine->ranks && status == PARLEY_OK; n++) {
        unsigned r = (engine->rank + n) % engine->ranks;
        status = type->post(engine, r, PL_CHANNEL_MOVE, &t->held[r], sizeof t->held[r], error);
        if (status == PARLEY_OK && t->held[r] > 0)
            status = type->post(engine, r, PL_CHANNEL_MOVE, t->buffers[r].data, t->held[r], error);
    }
    for (unsigned n = 1; n < engine->ranks && status == PARLEY_OK; n++) {
        unsigned r = (engine->rank + engine->ranks - n) % engine->ranks;
        status = type->take(engine, r, PL_CHANNEL_MOVE, &t->held[r], sizeof t->held[r], error);
        if (status == PARLEY_OK && !pl_span_reserve(&t->buffers[r], t->held[r] + 1))
            status = pl_fail_memory(error, "entries in transit", t->held[r]);
        if (status == PARLEY_OK && t->held[r] > 0)
            status = type->take(engine, r, PL_CHANNEL_MOVE, t->buffers[r].data, t->held[r], error);
    }
    return status;
}

/* Stores the received entries of the window, row by row. */
static void unpack(transposition *t) {
    uint32_t *index = t->columns->index.data;
    char *values = t->columns->value.data;
    memset(t->read, 0, t->engine->ranks * sizeof *t->read);
    for (uint64_t p = t->begin; p < t->end; p++) {
        pl_piece piece = clip(t, p);
        const char *buffer = t->buffers[piece.rank].data;
        uint64_t at = t->read[piece.rank];
        for (uint64_t i = piece.begin; i < piece.end; i++) {
            uint32_t count, j;
            memcpy(&count, buffer + at, sizeof count);
            at += sizeof count;
            for (uint32_t e = 0; e < count; e++) {
                memcpy(&j, buffer + at, sizeof j);
                uint64_t to = t->next[j]++;
                index[to] = (uint32_t)i;
                at += sizeof j;
                if (t->valued) {
                    memcpy(values + to * t->value_size, buffer + at, t->value_size);
                    at += t->value_size;
                }
            }
        }
        t->read[piece.rank] = at;
    }
}

static parley_status move_window(transposition *t, parley_error *error) {
    pack(t, false);
    parley_status status = reserve_buffers(t, error);
    if (status == PARLEY_OK) {
        pack(t, true);
        status = exchange_buffers(t, error);
    }
    if (status == PARLEY_OK)
        unpack(t);
    return status;
}

/* Moves the entries of one pass. */
static parley_status move_entries(transposition *t, parley_error *error) {
    const pl_deal *deal = t->data->deal;
    uint64_t window = t->engine->ranks * pl_window_rows(deal->rows, deal->nonzeros);
    parley_status status = PARLEY_OK;
    t->begin = t->end = 0;
    for (t->low = 0; t->low < deal->rows && status == PARLEY_OK; t->low = t->high) {
        t->high = deal->rows - t->low < window ? deal->rows : t->low + window;
        while (t->begin < deal->count && t->pieces[t->begin].end <= t->low)
            t->begin++;
        t->end = t->end > t->begin ? t->end : t->begin;
        while (t->end < deal->count && t->pieces[t->end].begin < t->high)
            t->end++;
        status = pl_stop_check(error);
        if (status == PARLEY_OK)
            status = move_window(t, error);
    }
    return status;
}

/* Removes the entries that were sent from the rows. */
static void compact_rows(transposition *t) {
    parley_data *data = t->data;
    uint64_t *start = data->spans[START].data, kept = 0, begin = start[0];
    uint32_t *index = data->spans[INDEX].data;
    char *values = data->spans[VALUE].data;
    for (uint64_t i = 0; i < data->x.rows; i++) {
        uint64_t end = start[i + 1];
        start[i] = kept;
        for (uint64_t e = begin; e < end; e++) {
            if (t->pass_of[index[e]] <= t->pass)
                continue;
            index[kept] = index[e];
            if (t->valued)
                memmove(values + kept * t->value_size, values + e * t->value_size, t->value_size);
            kept++;
        }
        begin = end;
    }
    data->x.nonzeros = start[data->x.rows] = kept;
    pl_span_trim(&data->spans[INDEX], kept * sizeof *index + 1);
    pl_span_trim(&data->spans[VALUE], kept * t->value_size + 1);
}

parley_status pl_columns_collect(pl_columns *columns, pl_engine *engine, parley_data *data, unsigned workers,
                                 unsigned lanes, uint64_t seed, parley_error *error) {
    uint64_t width = data->x.columns;
    transposition t = {.engine = engine,
                       .data = data,
                       .pieces = data->deal->pieces,
                       .valued = !pl_are_ones(data->x.values),
                       .wide = data->x.values.wide != NULL,
                       .value_size = pl_value_size(data->x.values.wide != NULL),
                       .columns = columns,
                       .owner = pl_alloc(width, sizeof *t.owner),
                       .pass_of = pl_alloc(width, sizeof *t.pass_of),
                       .next = pl_alloc(width, sizeof *t.next),
                       .buffers = pl_alloc(engine->ranks, sizeof *t.buffers),
                       .held = pl_alloc(engine->ranks, sizeof *t.held),
                       .read = pl_alloc(engine->ranks, sizeof *t.read)};
    *columns = (pl_columns){0};
    parley_status status = pl_columns_check(data->deal->rows, error);
    if (status == PARLEY_OK && (!t.owner || !t.pass_of || !t.next || !t.buffers || !t.held || !t.read))
        status = pl_fail_memory(error, "the transposed matrix", width * 13);
    if (status == PARLEY_OK)
        status = place_columns(&t, workers, lanes, seed, error);
    for (; t.pass < PASSES && status == PARLEY_OK; t.pass++) {
        status = move_entries(&t, error);
        if (status == PARLEY_OK)
            compact_rows(&t);
    }
    columns->x = (pl_matrix){width,
                             data->deal->rows,
                             data->deal->nonzeros,
                             columns->start.data,
                             columns->index.data,
                             pl_values_in(t.valued ? columns->value.data : NULL, t.wide)};
    for (unsigned r = 0; r < engine->ranks && t.buffers; r++)
        pl_span_free(&t.buffers[r]);
    void *owned[] = {t.owner, t.pass_of, t.next, t.buffers, t.held, t.read};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
    if (status != PARLEY_OK)
        pl_columns_close(columns);
    return status;
}

/* A row without its entries. */
typedef struct row_head {
    uint64_t length;
    double label, weight, norm2;
} row_head;

typedef struct head_transfer {
    const parley_data *from;
    const double *norm2;
    parley_data *to;
    double *to_norm2;
} head_transfer;

static uint64_t head_bytes(const void *context, bool arriving, uint64_t row, uint64_t count) {
    (void)context, (void)arriving, (void)row;
    return count * sizeof(row_head);
}

static void load_heads(const void *context, uint64_t row, uint64_t count, char *to) {
    const head_transfer *heads = context;
    const parley_data *from = heads->from;
    for (uint64_t i = row; i < row + count; i++, to += sizeof(row_head)) {
        row_head head = {from->x.start[i + 1] - from->x.start[i], from->label ? from->label[i] : 0.0,
                         from->weight ? from->weight[i] : 1.0, heads->norm2[i]};
        memcpy(to, &head, sizeof head);
    }
}

static void store_heads(void *context, uint64_t row, uint64_t count, const char *from) {
    head_transfer *heads = context;
    uint64_t *start = heads->to->spans[START].data;
    double *label = heads->to->spans[LABEL].data, *weight = heads->to->spans[WEIGHT].data;
    for (uint64_t i = row; i < row + count; i++, from += sizeof(row_head)) {
        row_head head;
        memcpy(&head, from, sizeof head);
        start[i + 1] = head.length;
        label[i] = head.label;
        heads->to_norm2[i] = head.norm2;
        if (weight)
            weight[i] = head.weight;
    }
}

/* Allocates a data set of `rows` rows without entries, with the column names of `from`. */
static parley_status make_rows(const parley_data *from, uint64_t rows, parley_data **out, parley_error *error) {
    parley_status status = pl_take(out, 1, sizeof **out, "the rows of all ranks", error);
    if (status != PARLEY_OK)
        return status;
    parley_data *data = *out;
    *data = (parley_data){.names = from->names,
                          .classes = from->classes,
                          .hash_bits = from->hash_bits,
                          .table = from->table,
                          .format = from->format,
                          .file_bytes = from->file_bytes,
                          .path = pl_strdup(from->path)};
    data->names.owned = data->classes.owned = NULL; /* they belong to `from` */
    if (!data->path || !pl_span_reserve(&data->spans[START], (rows + 1) * sizeof(uint64_t)) ||
        !pl_span_reserve(&data->spans[LABEL], (rows + 1) * sizeof(double)) ||
        (from->weight && !pl_span_reserve(&data->spans[WEIGHT], (rows + 1) * sizeof(double))))
        return pl_fail_memory(error, "the rows of all ranks", rows * 24);
    data->x = (pl_matrix){.rows = rows, .columns = from->x.columns, .start = data->spans[START].data};
    data->label = data->spans[LABEL].data;
    data->weight = from->weight ? data->spans[WEIGHT].data : NULL;
    return PARLEY_OK;
}

parley_status pl_columns_rows(pl_engine *engine, const parley_data *data, const double *norm2, parley_data **out,
                              double **out_norm2, parley_error *error) {
    const pl_deal *deal = data->deal;
    head_transfer heads = {.from = data, .norm2 = norm2};
    pl_transfer *transfers = NULL;
    const pl_payload payload = {&heads, head_bytes, load_heads, store_heads, NULL};
    parley_status status = make_rows(data, deal->rows, &heads.to, error);
    if (status == PARLEY_OK)
        status = pl_take(&heads.to_norm2, deal->rows, sizeof *heads.to_norm2, "row norms", error);
    if (status == PARLEY_OK)
        status = pl_take(&transfers, deal->count, sizeof *transfers, "the list of row transfers", error);
    for (uint64_t p = 0; p < deal->count && status == PARLEY_OK; p++) {
        const pl_piece *piece = &deal->pieces[p];
        transfers[p] = (pl_transfer){piece->begin, piece->end, piece->first, piece->begin, piece->rank, PL_EVERY_RANK};
    }
    if (status == PARLEY_OK)
        status = pl_move_rows(engine, transfers, deal->count, pl_window_rows(deal->rows, deal->rows), &payload, error);
    pl_free(transfers);
    if (status != PARLEY_OK) {
        parley_data_free(heads.to);
        pl_free(heads.to_norm2);
        *out = NULL;
        return status;
    }
    uint64_t *start = heads.to->spans[START].data;
    for (uint64_t i = 0; i < deal->rows; i++)
        start[i + 1] += start[i];
    heads.to->x.nonzeros = start[deal->rows];
    *out = heads.to;
    *out_norm2 = heads.to_norm2;
    return PARLEY_OK;
}
