/* block_order.c: visits blocks of rows in turn, and reads the next one ahead. */
#include "linear/rows/block_order.h"

#include "base/random.h"

#define CHUNKS 16 /* of a block, if the rows allow it */
#define ENTRY_BYTES(data) (4.0 + (double)pl_value_bytes((data)->x.values))
#define CHUNK_STREAM 0x6368756e6b73ULL /* apart from the streams of buckets */
#define BUCKET_STREAM 0x6275636b657473ULL

static uint64_t range_buckets(const pl_block_order *turns, pl_range rows) {
    return (rows.end - rows.begin + turns->bucket_rows - 1) / turns->bucket_rows;
}

static uint64_t chunk_buckets(const pl_block_order *turns, uint64_t chunk) {
    uint64_t buckets = 0;
    pl_range rows;
    for (uint64_t number = 0; pl_row_block_next(&turns->chunks[chunk], &number, &rows);)
        buckets += range_buckets(turns, rows);
    return buckets;
}

static uint64_t *fill_chunk(const pl_block_order *turns, uint64_t chunk, uint64_t *buckets) {
    uint64_t most = turns->bucket_rows;
    pl_range rows;
    for (uint64_t number = 0; pl_row_block_next(&turns->chunks[chunk], &number, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i += most)
            *buckets++ = i << 8 | (rows.end - i < most ? rows.end - i : most);
    return buckets;
}

static void read_chunk(const void *context, const void *item) { pl_row_block_ahead(context, item); }

parley_status pl_block_order_open(pl_block_order *turns, const pl_team *team, unsigned worker, const parley_data *data,
                                  double megabytes, double epochs, parley_error *error) {
    const pl_part *parts = &team->parts[worker * team->lanes];
    double entries = megabytes * 1e6 / ENTRY_BYTES(data) / CHUNKS;
    uint64_t each = entries < 1 ? 1 : (uint64_t)entries, most = 0;
    *turns = (pl_block_order){.data = data, .bucket_rows = pl_bucket_rows(data), .group = CHUNKS};
    turns->passes = epochs >= 2 ? (uint64_t)epochs : 1;
    for (unsigned l = 0; l < team->lanes; l++)
        most += pl_row_blocks_most(&parts[l], each);
    parley_status status = pl_take(&turns->chunks, most, sizeof *turns->chunks, "the order of rows", error);
    if (status == PARLEY_OK)
        status = pl_take(&turns->order, most, sizeof *turns->order, "the order of rows", error);
    if (status == PARLEY_OK)
        status = pl_take(&turns->bound, most + 1, sizeof *turns->bound, "the order of rows", error);
    for (unsigned l = 0; l < team->lanes && status == PARLEY_OK; l++)
        turns->count += pl_row_blocks_cut(&data->x, &parts[l], each, turns->chunks + turns->count);
    turns->blocks = (turns->count + turns->group - 1) / turns->group;
    if (status == PARLEY_OK && data->large)
        status = pl_background_open(read_chunk, data, &turns->reader, error);
    return status;
}

void pl_block_order_close(pl_block_order *turns) {
    pl_background_close(turns->reader);
    pl_free(turns->chunks);
    pl_free(turns->order);
    pl_free(turns->bound);
    *turns = (pl_block_order){0};
}

static pl_range chunks_of(const pl_block_order *turns, uint64_t block) {
    uint64_t end = (block + 1) * turns->group;
    return (pl_range){block * turns->group, end < turns->count ? end : turns->count};
}

void pl_block_order_leave(pl_block_order *turns) {
    pl_range chunks = turns->held ? chunks_of(turns, turns->held - 1) : (pl_range){0, 0};
    for (uint64_t c = chunks.begin; c < chunks.end; c++)
        pl_row_block_leave(turns->data, &turns->chunks[turns->order[c]]);
    turns->held = 0;
}

uint64_t pl_block_order_buckets(const pl_block_order *turns) {
    uint64_t buckets = 0;
    for (uint64_t c = 0; c < turns->count; c++)
        buckets += chunk_buckets(turns, c);
    return buckets;
}

void pl_block_order_fill(pl_block_order *turns, uint64_t *buckets) {
    pl_block_order_leave(turns);
    turns->epoch = 0;
    for (uint64_t c = 0; c < turns->count; c++)
        buckets = fill_chunk(turns, c, buckets);
}

/* Shuffles the chunks for an epoch. */
static void arrange(pl_block_order *turns, uint64_t seed, unsigned worker, uint64_t epoch) {
    pl_stream stream = pl_stream_make(seed ^ CHUNK_STREAM, worker, epoch);
    for (uint64_t c = 0; c < turns->count; c++)
        turns->order[c] = c;
    pl_shuffle(&stream, turns->order, turns->count);
    for (uint64_t c = 0; c < turns->count; c++)
        turns->bound[c + 1] = turns->bound[c] + chunk_buckets(turns, turns->order[c]);
    turns->epoch = epoch + 1;
}

static pl_range buckets_of(const pl_block_order *turns, uint64_t block) {
    pl_range chunks = chunks_of(turns, block);
    return (pl_range){turns->bound[chunks.begin], turns->bound[chunks.end]};
}

/* Begins to read a block of this epoch. The first block of the next one is read when its order is known. */
static void read_ahead(const pl_block_order *turns, uint64_t block) {
    pl_range chunks = block < turns->blocks ? chunks_of(turns, block) : (pl_range){0, 0};
    for (uint64_t c = chunks.begin; c < chunks.end && turns->reader; c++)
        if (!pl_background_ask(turns->reader, &turns->chunks[turns->order[c]]))
            pl_row_block_ahead(turns->data, &turns->chunks[turns->order[c]]);
}

/* Makes a block of this epoch the one that is in memory. */
static void hold(pl_block_order *turns, uint64_t block) {
    if (turns->held == block + 1)
        return;
    bool follows = turns->held == block && block > 0;
    if (!follows)
        read_ahead(turns, block);
    read_ahead(turns, block + 1);
    pl_block_order_leave(turns);
    turns->held = block + 1;
}

pl_range pl_block_order_begin(pl_block_order *turns, uint64_t seed, unsigned worker, uint64_t turn, uint64_t *buckets) {
    uint64_t length = turns->blocks * turns->passes, epoch = turn / length, block = turn % length / turns->passes;
    if (turns->epoch != epoch + 1) {
        pl_block_order_leave(turns);
        arrange(turns, seed, worker, epoch);
    }
    if (turn % length == 0)
        for (uint64_t c = 0, *next = buckets; c < turns->count; c++)
            next = fill_chunk(turns, turns->order[c], next);
    hold(turns, block);
    pl_range range = buckets_of(turns, block);
    pl_stream stream = pl_stream_make(seed ^ BUCKET_STREAM, worker, turn);
    pl_shuffle(&stream, buckets + range.begin, range.end - range.begin);
    return range;
}

void pl_block_order_restore(pl_block_order *turns, pl_state *state, const pl_team *team, unsigned worker, uint64_t turn,
                            uint64_t cursor, uint64_t *base, uint64_t *length) {
    uint64_t turns_of_epoch = turns->blocks * turns->passes;
    if (turns->count == 0 || state->status != PARLEY_OK)
        return;
    pl_block_order_leave(turns);
    arrange(turns, team->seed, team->first + worker, turn / turns_of_epoch);
    pl_range range = buckets_of(turns, turn % turns_of_epoch / turns->passes);
    *base = range.begin;
    *length = range.end - range.begin;
    if (cursor > *length)
        pl_state_refuse(state, "worker", "is beyond the end of its block of rows");
}
