/* transpose.c: the matrix by columns from rows that lie on several ranks: a counting sort in two passes. First all
 * ranks count the entries of every column, so that everyone knows who owns which columns and where an entry goes; then
 * they send the entries to their owners, a window of rows after the other. Owners go through a window by the numbers of
 * its rows, whoever sent them, so that what comes out does not depend on when it came. Each owner gets its columns in
 * turns, between which the rows close up over what has left: rows and columns are never there in full together. */
#include <string.h>

#include "engine/collective.h"
#include "shard/columns.h"
#include "shard/distributed.h"
#include "shard/partition.h"

#define TURNS 2

enum { START, LABEL, WEIGHT, INDEX, VALUE }; /* of parley_data's spans */

typedef struct collecting {
    pl_engine *engine;
    parley_data *data;
    const pl_piece *pieces;
    unsigned turn;
    uint64_t low, high;  /* rows of this window */
    uint64_t begin, end; /* and its pieces */
    uint32_t *owner;     /* rank of each column */
    uint8_t *turns;      /* and the turn in which it goes there */
    uint64_t *next;      /* where the next entry of a column goes */
    bool valued;
    pl_span *boxes; /* by rank: what goes to it, then what came from it */
    uint64_t *held; /* bytes in them */
    uint64_t *read; /* and how many were read */
    pl_columns *columns;
} collecting;

/* Entries of a column at all ranks, in `values`. */
static parley_status count_columns(pl_engine *engine, const pl_matrix *x, double *values, parley_error *error) {
    for (uint64_t e = x->start[0]; e < x->start[x->rows]; e++)
        values[x->index[e]]++;
    return pl_sum_ranks(engine, values, x->columns, error);
}

/* Which rank hosts the worker that owns a column. */
static parley_status find_owners(collecting *of, unsigned workers, unsigned lanes, uint64_t seed, parley_error *error) {
    const pl_matrix *shape = &of->columns->shape;
    unsigned ranks = of->engine->ranks;
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
    for (unsigned rank = 0; rank < ranks && status == PARLEY_OK; rank++)
        for (uint64_t p = (uint64_t)pl_host_begin(workers, ranks, rank) * lanes;
             p < (uint64_t)pl_host_begin(workers, ranks, rank + 1) * lanes; p++)
            for (uint64_t r = 0; r < parts[p].count; r++)
                for (uint64_t j = parts[p].ranges[r].begin; j < parts[p].ranges[r].end; j++)
                    of->owner[j] = rank;
    pl_free(parts);
    pl_free(ranges);
    pl_partition_close(&partition);
    return status;
}

/* Where the entries of the columns that are here go, and in which turn those of all columns do: each owner's memory
 * fills up from its beginning. */
static parley_status share_turns(collecting *of, const double *counts, parley_error *error) {
    uint64_t width = of->data->x.columns, *start = of->columns->start.data, rank = of->engine->rank, *all, *passed;
    parley_status status = pl_take(&all, 2 * (uint64_t)of->engine->ranks, sizeof *all, "the matrix by columns", error);
    if (status != PARLEY_OK)
        return status;
    passed = all + of->engine->ranks;
    for (uint64_t j = 0; j < width; j++)
        all[of->owner[j]] += (uint64_t)counts[j];
    for (uint64_t j = 0; j < width; j++) {
        unsigned r = of->owner[j];
        of->turns[j] = (uint8_t)(passed[r] * TURNS / (all[r] + 1));
        of->next[j] = start[j] = passed[rank];
        passed[r] += (uint64_t)counts[j];
        start[j + 1] = passed[rank];
    }
    pl_free(all);
    return PARLEY_OK;
}

/* Starts of all columns, for the deal; then of those that are here, and room for their entries. */
static parley_status place_columns(collecting *of, unsigned workers, unsigned lanes, uint64_t seed,
                                   parley_error *error) {
    const pl_matrix *x = &of->data->x;
    pl_columns *columns = of->columns;
    double *counts;
    parley_status status = pl_take(&counts, x->columns, sizeof *counts, "the matrix by columns", error);
    if (status == PARLEY_OK)
        status = count_columns(of->engine, x, counts, error);
    uint64_t bytes = (x->columns + 1) * sizeof(uint64_t);
    if (status == PARLEY_OK && (!pl_span_reserve(&columns->starts, bytes) || !pl_span_reserve(&columns->start, bytes)))
        status = pl_fail_memory(error, "the matrix by columns", 2 * bytes);
    uint64_t *starts = columns->starts.data, *start = columns->start.data;
    for (uint64_t j = 0; j < x->columns && status == PARLEY_OK; j++)
        starts[j + 1] = starts[j] + (uint64_t)counts[j];
    columns->shape = (pl_matrix){x->columns, of->data->deal->rows, of->data->deal->nonzeros, starts, NULL, NULL};
    if (status == PARLEY_OK)
        status = find_owners(of, workers, lanes, seed, error);
    if (status == PARLEY_OK)
        status = share_turns(of, counts, error);
    pl_free(counts);
    uint64_t here = status == PARLEY_OK ? start[x->columns] : 0;
    if (status == PARLEY_OK && (!pl_span_reserve(&columns->index, (here + 1) * sizeof(uint32_t)) ||
                                (of->valued && !pl_span_reserve(&columns->value, (here + 1) * sizeof(float)))))
        status = pl_fail_memory(error, "the matrix by columns", here * (of->valued ? 8 : 4));
    return status;
}

/* The part of a piece that lies in the window. */
static pl_piece clip(const collecting *of, uint64_t p) {
    pl_piece piece = of->pieces[p];
    uint64_t ahead = piece.begin < of->low ? of->low - piece.begin : 0;
    piece.begin += ahead;
    piece.first += ahead;
    piece.end = piece.end < of->high ? piece.end : of->high;
    return piece;
}

/* Goes over this rank's rows of the window: a row is in every box, as the number of its entries there that go in this
 * turn, and these. With `fill` false only counts the bytes. */
static void pack(collecting *of, bool fill) {
    const pl_matrix *x = &of->data->x;
    uint64_t size = sizeof(uint32_t) + (of->valued ? sizeof(float) : 0);
    memset(of->held, 0, of->engine->ranks * sizeof *of->held);
    for (uint64_t p = of->begin; p < of->end; p++) {
        pl_piece piece = clip(of, p);
        if (piece.rank != of->engine->rank)
            continue;
        for (uint64_t i = piece.first; i < piece.first + (piece.end - piece.begin); i++) {
            for (unsigned r = 0; r < of->engine->ranks; r++) {
                of->read[r] = of->held[r]; /* where the row's number of entries is */
                of->held[r] += sizeof(uint32_t);
            }
            for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                unsigned r = of->owner[x->index[e]];
                if (of->turns[x->index[e]] != of->turn)
                    continue;
                if (fill) {
                    char *box = (char *)of->boxes[r].data + of->held[r];
                    memcpy(box, &x->index[e], sizeof(uint32_t));
                    if (of->valued)
                        memcpy(box + sizeof(uint32_t), &x->value[e], sizeof(float));
                }
                of->held[r] += size;
            }
            for (unsigned r = 0; r < of->engine->ranks && fill; r++) {
                uint32_t count = (uint32_t)((of->held[r] - of->read[r] - sizeof(uint32_t)) / size);
                memcpy((char *)of->boxes[r].data + of->read[r], &count, sizeof count);
            }
        }
    }
}

static parley_status make_boxes(collecting *of, parley_error *error) {
    for (unsigned r = 0; r < of->engine->ranks; r++)
        if (!pl_span_reserve(&of->boxes[r], of->held[r] + 1))
            return pl_fail_memory(error, "entries on their way", of->held[r]);
    return PARLEY_OK;
}

static parley_status swap_boxes(collecting *of, parley_error *error) {
    pl_engine *engine = of->engine;
    const pl_engine_type *type = engine->type;
    parley_status status = PARLEY_OK;
    for (unsigned n = 1; n < engine->ranks && status == PARLEY_OK; n++) {
        unsigned r = (engine->rank + n) % engine->ranks;
        status = type->post(engine, r, PL_CHANNEL_MOVE, &of->held[r], sizeof of->held[r], error);
        if (status == PARLEY_OK && of->held[r] > 0)
            status = type->post(engine, r, PL_CHANNEL_MOVE, of->boxes[r].data, of->held[r], error);
    }
    for (unsigned n = 1; n < engine->ranks && status == PARLEY_OK; n++) {
        unsigned r = (engine->rank + engine->ranks - n) % engine->ranks;
        status = type->take(engine, r, PL_CHANNEL_MOVE, &of->held[r], sizeof of->held[r], error);
        if (status == PARLEY_OK && !pl_span_reserve(&of->boxes[r], of->held[r] + 1))
            status = pl_fail_memory(error, "entries on their way", of->held[r]);
        if (status == PARLEY_OK && of->held[r] > 0)
            status = type->take(engine, r, PL_CHANNEL_MOVE, of->boxes[r].data, of->held[r], error);
    }
    return status;
}

/* Puts the entries of the window where they belong, row by row. */
static void unpack(collecting *of) {
    uint32_t *index = of->columns->index.data;
    float *value = of->columns->value.data;
    memset(of->read, 0, of->engine->ranks * sizeof *of->read);
    for (uint64_t p = of->begin; p < of->end; p++) {
        pl_piece piece = clip(of, p);
        const char *box = of->boxes[piece.rank].data;
        uint64_t at = of->read[piece.rank];
        for (uint64_t i = piece.begin; i < piece.end; i++) {
            uint32_t count, j;
            memcpy(&count, box + at, sizeof count);
            at += sizeof count;
            for (uint32_t e = 0; e < count; e++) {
                memcpy(&j, box + at, sizeof j);
                uint64_t to = of->next[j]++;
                index[to] = (uint32_t)i;
                at += sizeof j;
                if (of->valued) {
                    memcpy(&value[to], box + at, sizeof *value);
                    at += sizeof *value;
                }
            }
        }
        of->read[piece.rank] = at;
    }
}

static parley_status move_window(collecting *of, parley_error *error) {
    pack(of, false);
    parley_status status = make_boxes(of, error);
    if (status == PARLEY_OK) {
        pack(of, true);
        status = swap_boxes(of, error);
    }
    if (status == PARLEY_OK)
        unpack(of);
    return status;
}

/* The entries of one turn. */
static parley_status move_entries(collecting *of, parley_error *error) {
    const pl_deal *deal = of->data->deal;
    uint64_t window = of->engine->ranks * pl_window_rows(deal->rows, deal->nonzeros);
    parley_status status = PARLEY_OK;
    of->begin = of->end = 0;
    for (of->low = 0; of->low < deal->rows && status == PARLEY_OK; of->low = of->high) {
        of->high = deal->rows - of->low < window ? deal->rows : of->low + window;
        while (of->begin < deal->count && of->pieces[of->begin].end <= of->low)
            of->begin++;
        of->end = of->end > of->begin ? of->end : of->begin;
        while (of->end < deal->count && of->pieces[of->end].begin < of->high)
            of->end++;
        status = move_window(of, error);
    }
    return status;
}

/* Rows close up over the entries that have left. */
static void close_up(collecting *of) {
    parley_data *data = of->data;
    uint64_t *start = data->spans[START].data, kept = 0, begin = start[0];
    uint32_t *index = data->spans[INDEX].data;
    float *value = data->spans[VALUE].data;
    for (uint64_t i = 0; i < data->x.rows; i++) {
        uint64_t end = start[i + 1];
        start[i] = kept;
        for (uint64_t e = begin; e < end; e++) {
            if (of->turns[index[e]] <= of->turn)
                continue;
            index[kept] = index[e];
            if (of->valued)
                value[kept] = value[e];
            kept++;
        }
        begin = end;
    }
    data->x.nonzeros = start[data->x.rows] = kept;
    pl_span_trim(&data->spans[INDEX], kept * sizeof *index + 1);
    pl_span_trim(&data->spans[VALUE], kept * sizeof *value + 1);
}

parley_status pl_columns_collect(pl_columns *columns, pl_engine *engine, parley_data *data, unsigned workers,
                                 unsigned lanes, uint64_t seed, parley_error *error) {
    uint64_t width = data->x.columns;
    collecting of = {.engine = engine,
                     .data = data,
                     .pieces = data->deal->pieces,
                     .valued = data->x.value != NULL,
                     .columns = columns,
                     .owner = pl_alloc(width, sizeof *of.owner),
                     .turns = pl_alloc(width, sizeof *of.turns),
                     .next = pl_alloc(width, sizeof *of.next),
                     .boxes = pl_alloc(engine->ranks, sizeof *of.boxes),
                     .held = pl_alloc(engine->ranks, sizeof *of.held),
                     .read = pl_alloc(engine->ranks, sizeof *of.read)};
    *columns = (pl_columns){0};
    parley_status status = pl_columns_check(data->deal->rows, error);
    if (status == PARLEY_OK && (!of.owner || !of.turns || !of.next || !of.boxes || !of.held || !of.read))
        status = pl_fail_memory(error, "the matrix by columns", width * 13);
    if (status == PARLEY_OK)
        status = place_columns(&of, workers, lanes, seed, error);
    for (; of.turn < TURNS && status == PARLEY_OK; of.turn++) {
        status = move_entries(&of, error);
        if (status == PARLEY_OK)
            close_up(&of);
    }
    columns->x = (pl_matrix){width,
                             data->deal->rows,
                             data->deal->nonzeros,
                             columns->start.data,
                             columns->index.data,
                             of.valued ? columns->value.data : NULL};
    for (unsigned r = 0; r < engine->ranks && of.boxes; r++)
        pl_span_free(&of.boxes[r]);
    void *owned[] = {of.owner, of.turns, of.next, of.boxes, of.held, of.read};
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

typedef struct heads_moving {
    const parley_data *from;
    const double *norm2;
    parley_data *to;
    double *to_norm2;
} heads_moving;

static uint64_t head_bytes(const void *context, bool arriving, uint64_t row, uint64_t count) {
    (void)context, (void)arriving, (void)row;
    return count * sizeof(row_head);
}

static void load_heads(const void *context, uint64_t row, uint64_t count, char *to) {
    const heads_moving *heads = context;
    const parley_data *from = heads->from;
    for (uint64_t i = row; i < row + count; i++, to += sizeof(row_head)) {
        row_head head = {from->x.start[i + 1] - from->x.start[i], from->label[i], from->weight ? from->weight[i] : 1.0,
                         heads->norm2[i]};
        memcpy(to, &head, sizeof head);
    }
}

static void store_heads(void *context, uint64_t row, uint64_t count, const char *from) {
    heads_moving *heads = context;
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

/* An empty data set of that many rows, with what `from` says of columns. */
static parley_status make_rows(const parley_data *from, uint64_t rows, parley_data **out, parley_error *error) {
    parley_status status = pl_take(out, 1, sizeof **out, "the rows of all ranks", error);
    if (status != PARLEY_OK)
        return status;
    parley_data *data = *out;
    *data = (parley_data){.names = from->names,
                          .classes = from->classes,
                          .hash_bits = from->hash_bits,
                          .format = from->format,
                          .file_bytes = from->file_bytes,
                          .path = pl_strdup(from->path)};
    data->names.owned = data->classes.owned = NULL; /* they stay the whole's */
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
    heads_moving heads = {.from = data, .norm2 = norm2};
    pl_fragment *fragments = NULL;
    const pl_cargo cargo = {&heads, head_bytes, load_heads, store_heads, NULL};
    parley_status status = make_rows(data, deal->rows, &heads.to, error);
    if (status == PARLEY_OK)
        status = pl_take(&heads.to_norm2, deal->rows, sizeof *heads.to_norm2, "row norms", error);
    if (status == PARLEY_OK)
        status = pl_take(&fragments, deal->count, sizeof *fragments, "the rows' ways", error);
    for (uint64_t p = 0; p < deal->count && status == PARLEY_OK; p++) {
        const pl_piece *piece = &deal->pieces[p];
        fragments[p] = (pl_fragment){piece->begin, piece->end, piece->first, piece->begin, piece->rank, PL_EVERY_RANK};
    }
    if (status == PARLEY_OK)
        status = pl_move(engine, fragments, deal->count, pl_window_rows(deal->rows, deal->rows), &cargo, error);
    pl_free(fragments);
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
