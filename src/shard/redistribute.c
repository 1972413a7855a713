/* redistribute.c: moves rows to the ranks that host their workers. The ranks that hold the rows find where the
 * partition divides them; after that, every rank knows where every row goes. Lengths, labels and weights are sent
 * before the entries, so that a receiver knows where to store the entries. */
#include <stdlib.h>
#include <string.h>

#include "engine/collective.h"
#include "shard/distributed.h"
#include "shard/partition.h"

enum { START, LABEL, WEIGHT, INDEX, VALUE }; /* indices of parley_data's spans */

static uint64_t piece_end_cost(const pl_spread *spread, uint64_t p) {
    return p + 1 < spread->count ? spread->pieces[p + 1].before : spread->rows + spread->nonzeros;
}

static const uint64_t *piece_start(const parley_data *data, const pl_piece *piece) {
    return data->x.start + piece->first;
}

/* Fills in the marks of blocks that begin on this rank. The others stay 0, so that a sum over ranks completes them. */
static void mark_pieces(const pl_partition *partition, const parley_data *data, double *mark) {
    const pl_spread *spread = data->spread;
    for (uint64_t p = 0; p < spread->count; p++) {
        const pl_piece *piece = &spread->pieces[p];
        const uint64_t *start = piece_start(data, piece);
        uint64_t b = (piece->begin + partition->block_rows - 1) / partition->block_rows;
        for (; piece->rank == spread->rank && b < partition->blocks && b * partition->block_rows < piece->end; b++) {
            uint64_t row = b * partition->block_rows - piece->begin;
            mark[b] = (double)(piece->before + (start[row] - start[0]) + row);
        }
    }
}

/* Fills in the cuts in the same way: a cut belongs to the rank that holds the row before it. */
static void cut_pieces(const pl_partition *partition, const parley_data *data, double *cut) {
    const pl_spread *spread = data->spread;
    for (uint64_t t = 0; t + 1 < partition->parts; t++) {
        uint64_t block = partition->order[partition->place[t]], target = partition->target[t];
        if (target <= partition->mark[block]) {
            cut[t] = spread->rank == 0 ? (double)(block * partition->block_rows) : 0.0;
            continue;
        }
        for (uint64_t p = 0; p < spread->count; p++) {
            const pl_piece *piece = &spread->pieces[p];
            if (piece->rank == spread->rank && piece->before < target && target <= piece_end_cost(spread, p))
                cut[t] = (double)pl_cost_row(piece_start(data, piece), piece->begin, piece->end, piece->before, target);
        }
    }
}

static parley_status cut_partition(pl_engine *engine, const parley_data *data, pl_partition *partition,
                                   parley_error *error) {
    uint64_t most = partition->blocks > partition->parts ? partition->blocks : partition->parts;
    double *values;
    parley_status status = pl_take(&values, most, sizeof *values, "shards", error);
    if (status != PARLEY_OK)
        return status;
    mark_pieces(partition, data, values);
    status = pl_sum_ranks(engine, values, partition->blocks, error);
    for (uint64_t b = 0; b < partition->blocks; b++)
        partition->mark[b] = (uint64_t)values[b];
    partition->mark[partition->blocks] = data->spread->rows + data->spread->nonzeros;
    if (status == PARLEY_OK) {
        pl_partition_aim(partition);
        memset(values, 0, most * sizeof *values);
        cut_pieces(partition, data, values);
        status = pl_sum_ranks(engine, values, partition->parts - 1, error);
    }
    for (uint64_t p = 0; p + 1 < partition->parts; p++)
        partition->cut[p] = (uint64_t)values[p];
    pl_free(values);
    return status;
}

static int by_begin(const void *a, const void *b) {
    uint64_t left = ((const pl_transfer *)a)->begin, right = ((const pl_transfer *)b)->begin;
    return (left > right) - (left < right);
}

/* Lists where each range of rows goes: the ranges of a rank's parts follow one another on that rank. `from` and
 * `source` are not known yet. */
static uint64_t list_destinations(const pl_engine *engine, const pl_partition *partition, unsigned lanes,
                                  const pl_part *parts, pl_transfer *to) {
    unsigned workers = (unsigned)(partition->parts / lanes);
    uint64_t count = 0;
    for (unsigned rank = 0; rank < engine->ranks; rank++) {
        uint64_t place = 0, end = (uint64_t)pl_host_begin(workers, pl_engine_hosts(engine), rank + 1) * lanes;
        for (uint64_t p = (uint64_t)pl_host_begin(workers, pl_engine_hosts(engine), rank) * lanes; p < end; p++)
            for (uint64_t r = 0; r < parts[p].count; r++) {
                pl_range range = parts[p].ranges[r];
                to[count++] = (pl_transfer){.begin = range.begin, .end = range.end, .place = place, .to = rank};
                place += range.end - range.begin;
            }
    }
    qsort(to, count, sizeof *to, by_begin);
    return count;
}

/* Splits the transfers at the boundaries of the pieces they come from. */
static uint64_t split_at_pieces(const pl_spread *spread, const pl_transfer *to, uint64_t count, pl_transfer *out) {
    uint64_t made = 0, p = 0;
    for (uint64_t f = 0; f < count; f++)
        for (uint64_t row = to[f].begin; row < to[f].end;) {
            while (spread->pieces[p].end <= row)
                p++;
            const pl_piece *piece = &spread->pieces[p];
            uint64_t end = piece->end < to[f].end ? piece->end : to[f].end;
            out[made++] = (pl_transfer){
                row,         end,     piece->first + (row - piece->begin), to[f].place + (row - to[f].begin),
                piece->rank, to[f].to};
            row = end;
        }
    return made;
}

/* A row without its entries. */
typedef struct row_head {
    uint64_t length;
    double label, weight;
} row_head;

typedef struct row_transfer {
    const parley_data *from;
    parley_data *to;
    bool consume;
} row_transfer;

static uint64_t head_bytes(const void *context, bool arriving, uint64_t row, uint64_t count) {
    (void)context, (void)arriving, (void)row;
    return count * sizeof(row_head);
}

static void load_heads(const void *context, uint64_t row, uint64_t count, char *to) {
    const parley_data *from = ((const row_transfer *)context)->from;
    for (uint64_t i = row; i < row + count; i++, to += sizeof(row_head)) {
        row_head head = {from->x.start[i + 1] - from->x.start[i], from->label ? from->label[i] : 0.0,
                         from->weight ? from->weight[i] : 1.0};
        memcpy(to, &head, sizeof head);
    }
}

static void store_heads(void *context, uint64_t row, uint64_t count, const char *from) {
    parley_data *to = ((row_transfer *)context)->to;
    uint64_t *start = to->spans[START].data;
    double *label = to->spans[LABEL].data, *weight = to->spans[WEIGHT].data;
    for (uint64_t i = row; i < row + count; i++, from += sizeof(row_head)) {
        row_head head;
        memcpy(&head, from, sizeof head);
        start[i + 1] = head.length;
        label[i] = head.label;
        if (weight)
            weight[i] = head.weight;
    }
}

static uint64_t entry_bytes(const void *context, bool arriving, uint64_t row, uint64_t count) {
    const row_transfer *rows = context;
    const uint64_t *start = arriving ? rows->to->x.start : rows->from->x.start;
    return (start[row + count] - start[row]) * (sizeof(uint32_t) + pl_value_bytes(rows->to->x.values));
}

static void load_entries(const void *context, uint64_t row, uint64_t count, char *to) {
    const row_transfer *rows = context;
    const pl_matrix *x = &rows->from->x;
    uint64_t begin = x->start[row], entries = x->start[row + count] - begin;
    memcpy(to, x->index + begin, entries * sizeof *x->index);
    to += entries * sizeof *x->index;
    if (rows->to->x.values.wide)
        for (uint64_t e = 0; e < entries; e++)
            memcpy(to + e * sizeof(double), &(double){pl_value_at(x->values, begin + e)}, sizeof(double));
    else if (rows->to->x.values.narrow && x->values.narrow)
        memcpy(to, x->values.narrow + begin, entries * sizeof(float));
    else if (rows->to->x.values.narrow)
        for (uint64_t e = 0; e < entries; e++)
            memcpy(to + e * sizeof(float), &(float){1.0f}, sizeof(float));
}

static void store_entries(void *context, uint64_t row, uint64_t count, const char *from) {
    parley_data *to = ((row_transfer *)context)->to;
    uint64_t begin = to->x.start[row], entries = to->x.start[row + count] - begin;
    uint64_t size = pl_value_bytes(to->x.values);
    memcpy((uint32_t *)to->spans[INDEX].data + begin, from, entries * sizeof(uint32_t));
    if (size > 0)
        memcpy((char *)to->spans[VALUE].data + begin * size, from + entries * sizeof(uint32_t), entries * size);
}

/* Releases an array up to item `end`: pages of memory, or of a mapped cache. */
static void drop(const parley_data *data, unsigned span, const void *array, uint64_t begin, uint64_t end,
                 uint64_t size) {
    if (data->container && array)
        pl_pages_drop((const char *)array + begin * size, (const char *)array + end * size);
    pl_span_drop(&data->spans[span], end * size);
}

/* Releases entries that have been sent. */
static void drop_entries(void *context, uint64_t row) {
    const row_transfer *rows = context;
    const pl_matrix *x = &rows->from->x;
    uint64_t begin = x->start[0], end = x->start[row < x->rows ? row : x->rows];
    if (!rows->consume)
        return;
    drop(rows->from, INDEX, x->index, begin, end, sizeof *x->index);
    drop(rows->from, VALUE, pl_value_memory(x->values), begin, end, pl_value_bytes(x->values));
}

static void drop_heads(const parley_data *data) {
    drop(data, START, data->x.start, 0, data->x.rows, sizeof *data->x.start);
    drop(data, LABEL, data->label, 0, data->x.rows, sizeof *data->label);
    drop(data, WEIGHT, NULL, 0, data->x.rows,
         sizeof *data->weight); /* the weights of a cache may belong to the caller */
}

/* Numbers of every row, on their way. */
typedef struct table_transfer {
    const double *from;
    double *to;
    uint64_t width;
} table_transfer;

static uint64_t table_bytes(const void *context, bool arriving, uint64_t row, uint64_t count) {
    (void)arriving, (void)row;
    return count * ((const table_transfer *)context)->width * sizeof(double);
}

static void load_table(const void *context, uint64_t row, uint64_t count, char *to) {
    const table_transfer *table = context;
    memcpy(to, table->from + row * table->width, count * table->width * sizeof *table->from);
}

static void store_table(void *context, uint64_t row, uint64_t count, const char *from) {
    const table_transfer *table = context;
    memcpy(table->to + row * table->width, from, count * table->width * sizeof *table->to);
}

static parley_status make_heads(parley_data *data, bool weighted, parley_error *error) {
    uint64_t rows = data->x.rows;
    if (!pl_span_reserve(&data->spans[START], (rows + 1) * sizeof(uint64_t)) ||
        !pl_span_reserve(&data->spans[LABEL], (rows + 1) * sizeof(double)) ||
        (weighted && !pl_span_reserve(&data->spans[WEIGHT], (rows + 1) * sizeof(double))))
        return pl_fail_memory(error, "the rows of this rank", rows * 16);
    data->x.start = data->spans[START].data;
    data->label = data->spans[LABEL].data;
    data->weight = weighted ? data->spans[WEIGHT].data : NULL;
    return PARLEY_OK;
}

/* Turns lengths into offsets and reserves memory for the entries. */
static parley_status make_entries(parley_data *data, bool valued, bool wide, parley_error *error) {
    uint64_t *start = data->spans[START].data, entries;
    for (uint64_t i = 0; i < data->x.rows; i++)
        start[i + 1] += start[i];
    data->x.nonzeros = entries = start[data->x.rows];
    if (!pl_span_reserve(&data->spans[INDEX], (entries + 1) * sizeof(uint32_t)) ||
        (valued && !pl_span_reserve(&data->spans[VALUE], (entries + 1) * pl_value_size(wide))))
        return pl_fail_memory(error, "the rows of this rank", entries * (4 + (valued ? pl_value_size(wide) : 0)));
    data->x.index = data->spans[INDEX].data;
    data->x.values = pl_values_in(valued ? data->spans[VALUE].data : NULL, wide);
    return PARLEY_OK;
}

/* Makes the data that receives the rows. */
static parley_status make_data(const parley_data *from, uint64_t rows, parley_data **out, parley_error *error) {
    parley_status status = pl_take(out, 1, sizeof **out, "the rows of this rank", error);
    if (status != PARLEY_OK)
        return status;
    parley_data *data = *out;
    *data = pl_data_part(from, rows);
    data->file_bytes = from->file_bytes;
    memcpy(data->wide_columns, from->wide_columns, sizeof data->wide_columns);
    data->path = pl_strdup(from->path);
    return data->path ? PARLEY_OK : pl_fail_memory(error, "a file name", strlen(from->path));
}

static parley_status move_rows(pl_engine *engine, row_transfer *rows, const pl_transfer *transfers, uint64_t count,
                               parley_error *error) {
    const pl_spread *spread = rows->from->spread;
    uint64_t window = pl_window_rows(spread->rows, spread->nonzeros);
    const pl_payload heads = {rows, head_bytes, load_heads, store_heads, NULL},
                     entries = {rows, entry_bytes, load_entries, store_entries, drop_entries};
    parley_status status = make_heads(rows->to, spread->weighted, error);
    if (status == PARLEY_OK)
        status = pl_move_rows(engine, transfers, count, window, &heads, error);
    if (status == PARLEY_OK)
        status = make_entries(rows->to, spread->valued, spread->wide, error);
    return status == PARLEY_OK ? pl_move_rows(engine, transfers, count, window, &entries, error) : status;
}

static parley_status finish(parley_status status, parley_data *data, parley_data **out) {
    *out = status == PARLEY_OK ? data : NULL;
    if (status != PARLEY_OK)
        parley_data_free(data);
    return status;
}

parley_status pl_spread_to_all(pl_engine *engine, const parley_data *data, parley_data **out, parley_error *error) {
    const pl_spread *spread = data->spread;
    pl_transfer *transfers = NULL;
    row_transfer rows = {.from = data};
    parley_status status = make_data(data, spread->rows, &rows.to, error);
    if (status == PARLEY_OK)
        status = pl_take(&transfers, spread->count + 1, sizeof *transfers, "the list of row transfers", error);
    for (uint64_t p = 0; p < spread->count && status == PARLEY_OK; p++) {
        const pl_piece *piece = &spread->pieces[p];
        transfers[p] = (pl_transfer){piece->begin, piece->end, piece->first, piece->begin, piece->rank, PL_EVERY_RANK};
    }
    if (status == PARLEY_OK)
        status = move_rows(engine, &rows, transfers, spread->count, error);
    pl_free(transfers);
    return finish(status, rows.to, out);
}

parley_status pl_exchange_rows(pl_engine *engine, const parley_data *data, const pl_transfer *transfers, uint64_t count,
                               uint64_t rows, parley_data **out, parley_error *error) {
    row_transfer moved = {.from = data, .consume = true};
    parley_status status = make_data(data, rows, &moved.to, error);
    if (status == PARLEY_OK)
        status = move_rows(engine, &moved, transfers, count, error);
    return finish(status, moved.to, out);
}

/* Records the parts that this rank hosts, in local row numbers. */
static parley_status keep_deal(parley_data *data, const pl_engine *engine, const pl_part *parts,
                               const pl_spread *spread, unsigned workers, unsigned lanes, parley_error *error) {
    unsigned first = pl_host_begin(workers, pl_engine_hosts(engine), engine->rank);
    uint64_t count = (uint64_t)(pl_host_begin(workers, pl_engine_hosts(engine), engine->rank + 1) - first) * lanes,
             ranges = 0;
    pl_deal *deal = data->own_deal = pl_alloc(1, sizeof *deal);
    data->deal = deal;
    parts += (uint64_t)first * lanes;
    for (uint64_t p = 0; p < count; p++)
        ranges += parts[p].count;
    if (deal) {
        *deal = (pl_deal){.rows = spread->rows, .nonzeros = spread->nonzeros, .workers = workers, .lanes = lanes};
        deal->parts = pl_alloc(count, sizeof *deal->parts);
        deal->ranges = pl_alloc(ranges, sizeof *deal->ranges);
    }
    if (!deal || !deal->parts || !deal->ranges)
        return pl_fail_memory(error, "shards", ranges * sizeof *deal->ranges);
    pl_range *next = deal->ranges;
    uint64_t row = 0;
    for (uint64_t p = 0; p < count; p++) {
        deal->parts[p] = (pl_part){next, parts[p].count, parts[p].rows, 0};
        uint64_t begin = row;
        for (uint64_t r = 0; r < parts[p].count; r++, next++) {
            uint64_t rows = parts[p].ranges[r].end - parts[p].ranges[r].begin;
            *next = (pl_range){row, row + rows};
            row += rows;
        }
        deal->parts[p].nonzeros = data->x.start[row] - data->x.start[begin];
    }
    return PARLEY_OK;
}

/* Records where all rows are now. */
static parley_status keep_places(pl_deal *deal, const pl_transfer *destinations, uint64_t count, parley_error *error) {
    parley_status status = pl_take(&deal->pieces, count, sizeof *deal->pieces, "shards", error);
    for (uint64_t f = 0; f < count && status == PARLEY_OK; f++)
        deal->pieces[f] =
            (pl_piece){destinations[f].begin, destinations[f].end, destinations[f].place, 0, destinations[f].to};
    deal->count = status == PARLEY_OK ? count : 0;
    return status;
}

typedef struct redistribution {
    pl_partition partition;
    pl_part *parts;
    pl_range *ranges;
    pl_transfer *destinations, *transfers;
    uint64_t rows; /* of this rank */
    uint64_t places, count;
} redistribution;

/* Finds where every row comes from and goes to. */
static parley_status plan(redistribution *redistribution, pl_engine *engine, const parley_data *data, unsigned lanes,
                          parley_error *error) {
    const pl_partition *partition = &redistribution->partition;
    uint64_t ranges = partition->blocks + partition->parts;
    parley_status status = cut_partition(engine, data, &redistribution->partition, error);
    if (status != PARLEY_OK)
        return status;
    redistribution->parts = pl_alloc(partition->parts, sizeof *redistribution->parts);
    redistribution->ranges = pl_alloc(ranges, sizeof *redistribution->ranges);
    redistribution->destinations = pl_alloc(ranges, sizeof *redistribution->destinations);
    redistribution->transfers = pl_alloc(ranges + data->spread->count, sizeof *redistribution->transfers);
    if (!redistribution->parts || !redistribution->ranges || !redistribution->destinations ||
        !redistribution->transfers)
        return pl_fail_memory(error, "the list of row transfers",
                              (2 * ranges + data->spread->count) * sizeof *redistribution->transfers);
    pl_partition_parts(partition, 0, partition->parts, redistribution->parts, redistribution->ranges);
    uint64_t count = redistribution->places =
        list_destinations(engine, partition, lanes, redistribution->parts, redistribution->destinations);
    for (uint64_t f = 0; f < count; f++)
        if (redistribution->destinations[f].to == engine->rank)
            redistribution->rows += redistribution->destinations[f].end - redistribution->destinations[f].begin;
    redistribution->count =
        split_at_pieces(data->spread, redistribution->destinations, count, redistribution->transfers);
    return PARLEY_OK;
}

/* Moves the table with the rows. */
static parley_status move_table(const redistribution *redistribution, pl_engine *engine, const pl_spread *spread,
                                pl_row_table *table, parley_error *error) {
    table_transfer moved = {.from = table ? table->values : NULL, .width = table ? table->width : 0};
    const pl_payload payload = {&moved, table_bytes, load_table, store_table, NULL};
    if (!table || !table->width)
        return PARLEY_OK;
    parley_status status =
        pl_take(&moved.to, redistribution->rows * table->width + 1, sizeof *moved.to, "the state of rows", error);
    if (status == PARLEY_OK)
        status = pl_move_rows(engine, redistribution->transfers, redistribution->count,
                              pl_window_rows(spread->rows, spread->nonzeros), &payload, error);
    pl_free(table->values);
    table->values = moved.to;
    return status;
}

static parley_status deal(pl_engine *engine, const parley_data *data, unsigned workers, unsigned lanes, uint64_t seed,
                          pl_row_table *table, parley_data **out, parley_error *error) {
    redistribution redistribution = {0};
    row_transfer rows = {.from = data, .consume = true};
    *out = NULL;
    parley_status status =
        pl_partition_open(&redistribution.partition, data->spread->rows, workers, lanes, seed, error);
    if (status == PARLEY_OK)
        status = plan(&redistribution, engine, data, lanes, error);
    if (status == PARLEY_OK)
        status = move_table(&redistribution, engine, data->spread, table, error);
    if (status == PARLEY_OK)
        status = make_data(data, redistribution.rows, &rows.to, error);
    if (status == PARLEY_OK)
        status = move_rows(engine, &rows, redistribution.transfers, redistribution.count, error);
    if (status == PARLEY_OK)
        drop_heads(data);
    if (status == PARLEY_OK)
        status = keep_deal(rows.to, engine, redistribution.parts, data->spread, workers, lanes, error);
    if (status == PARLEY_OK)
        status = keep_places(rows.to->own_deal, redistribution.destinations, redistribution.places, error);
    pl_partition_close(&redistribution.partition);
    pl_free(redistribution.parts);
    pl_free(redistribution.ranges);
    pl_free(redistribution.destinations);
    pl_free(redistribution.transfers);
    return finish(status, rows.to, out);
}

parley_status pl_deal_rows(pl_engine *engine, const parley_data *data, unsigned workers, unsigned lanes, uint64_t seed,
                           parley_data **out, parley_error *error) {
    return deal(engine, data, workers, lanes, seed, NULL, out, error);
}

parley_status pl_deal_again(pl_engine *engine, parley_data *dealt, unsigned workers, unsigned lanes, uint64_t seed,
                            pl_row_table *table, parley_data **out, parley_error *error) {
    const pl_deal *now = dealt->deal;
    pl_spread *spread;
    *out = NULL;
    parley_status status = pl_take(&spread, 1, sizeof *spread, "the table of distributed rows", error);
    if (status != PARLEY_OK)
        return status;
    dealt->spread = spread; /* freed with the data */
    status = pl_take(&spread->pieces, now->count, sizeof *spread->pieces, "the table of distributed rows", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(spread->pieces, now->pieces, now->count * sizeof *spread->pieces);
    spread->count = now->count;
    status = pl_spread_measure(engine, dealt, error);
    return status == PARLEY_OK ? deal(engine, dealt, workers, lanes, seed, table, out, error) : status;
}
