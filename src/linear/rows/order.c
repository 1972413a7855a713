/* order.c: buckets of rows, and supports. */
#include "linear/rows/order.h"

#include <stdlib.h>
#include <string.h>

#include "engine/shared_memory.h"

#define BUCKET_BYTES 16384      /* size of a bucket of rows, if the data exceed the caches */
#define CACHED_BYTES (4u << 20) /* size of a matrix that needs no buckets */

uint64_t pl_bucket_rows(const parley_data *data) {
    uint64_t bytes = pl_all_nonzeros(data) * (4 + pl_value_bytes(data->x.values));
    if (bytes <= CACHED_BYTES)
        return 1;
    uint64_t rows = BUCKET_BYTES / (bytes / pl_all_rows(data) + 1);
    return rows < 1 ? 1 : rows > PL_BUCKET_MOST ? PL_BUCKET_MOST : rows;
}

uint64_t pl_bucket_count(const pl_team *team, unsigned worker, uint64_t rows) {
    uint64_t count = 0;
    for (unsigned p = worker * team->lanes; p < (worker + 1) * team->lanes; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++)
            count += (team->parts[p].ranges[r].end - team->parts[p].ranges[r].begin + rows - 1) / rows;
    return count;
}

void pl_bucket_fill(const pl_team *team, unsigned worker, uint64_t rows, uint64_t *buckets) {
    for (unsigned p = worker * team->lanes; p < (worker + 1) * team->lanes; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++) {
            pl_range range = team->parts[p].ranges[r];
            for (uint64_t i = range.begin; i < range.end; i += rows)
                *buckets++ = i << 8 | (range.end - i < rows ? range.end - i : rows);
        }
}

/* A range of a worker's rows, and the position of its first row among them. */
typedef struct row_range {
    uint64_t row, place, rows;
} row_range;

static int by_row(const void *a, const void *b) {
    uint64_t left = ((const row_range *)a)->row, right = ((const row_range *)b)->row;
    return (left > right) - (left < right);
}

static parley_status take_ranges(const pl_team *team, unsigned worker, row_range **out, uint64_t *count,
                                 parley_error *error) {
    uint64_t ranges = 0, place = 0;
    for (unsigned p = worker * team->lanes; p < (worker + 1) * team->lanes; p++)
        ranges += team->parts[p].count;
    *count = 0;
    parley_status status = pl_take(out, ranges, sizeof **out, "the order of rows", error);
    for (unsigned p = worker * team->lanes; p < (worker + 1) * team->lanes && status == PARLEY_OK; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++) {
            pl_range range = team->parts[p].ranges[r];
            (*out)[(*count)++] = (row_range){range.begin, place, range.end - range.begin};
            place += range.end - range.begin;
        }
    return status;
}

/* Returns the range that has a row, or with `back` a position; NULL if there is none. The ranges must be in
 * increasing order of rows or positions. */
static const row_range *find(const row_range *places, uint64_t count, uint64_t from, bool back) {
    uint64_t low = 0, high = count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if ((back ? places[middle].place : places[middle].row) <= from)
            low = middle;
        else
            high = middle;
    }
    if (count == 0)
        return NULL;
    uint64_t begin = back ? places[low].place : places[low].row;
    return from < begin || from - begin >= places[low].rows ? NULL : &places[low];
}

/* Whether the saved buckets have each of the worker's rows once. */
static bool cover_rows(const row_range *places, uint64_t ranges, const uint64_t *kept, uint64_t count, uint64_t all,
                       uint8_t *seen) {
    uint64_t total = 0;
    for (uint64_t n = 0; n < count; n++) {
        uint64_t place = pl_bucket_row(kept[n]), rows = kept[n] & 255;
        const row_range *of = find(places, ranges, place, true);
        if (rows == 0 || !of || rows > of->rows - (place - of->place))
            return false;
        for (uint64_t i = place; i < place + rows; i++)
            if (seen[i]++)
                return false;
        total += rows;
    }
    return total == all;
}

/* Saved buckets have positions instead of rows. */
static void restore_buckets(pl_state *state, const row_range *places, uint64_t ranges, const uint64_t *kept,
                            uint64_t *buckets, uint64_t count, uint64_t all) {
    uint8_t *seen;
    state->status = pl_take(&seen, all, 1, "the order of rows", &state->error);
    if (state->status != PARLEY_OK)
        return;
    if (!cover_rows(places, ranges, kept, count, all, seen))
        pl_state_refuse(state, "order", "does not have each row of the worker once");
    for (uint64_t n = 0; n < count && state->status == PARLEY_OK; n++) {
        const row_range *of = find(places, ranges, pl_bucket_row(kept[n]), true);
        buckets[n] = (of->row + (pl_bucket_row(kept[n]) - of->place)) << 8 | (kept[n] & 255);
    }
    pl_free(seen);
}

void pl_bucket_state(pl_state *state, const pl_team *team, unsigned worker, uint64_t *buckets, uint64_t count) {
    row_range *places = NULL;
    uint64_t ranges, *kept = pl_state_room(state, "order", PL_U64, count);
    if (!kept)
        return;
    parley_status status = take_ranges(team, worker, &places, &ranges, &state->error);
    if (status != PARLEY_OK)
        state->status = status;
    else if (state->restoring)
        restore_buckets(state, places, ranges, kept, buckets, count, team->rows[worker]);
    else {
        qsort(places, ranges, sizeof *places, by_row);
        for (uint64_t n = 0; n < count; n++) {
            const row_range *of = find(places, ranges, pl_bucket_row(buckets[n]), false);
            kept[n] = (of->place + (pl_bucket_row(buckets[n]) - of->row)) << 8 | (buckets[n] & 255);
        }
    }
    pl_free(places);
}

void pl_rest_check(pl_state *state, const uint8_t *rest, uint64_t count, uint8_t other) {
    for (uint64_t i = 0; i < count && state->restoring && state->status == PARLEY_OK; i++)
        if (rest[i] != other && (rest[i] >> 4 > PL_MOST_REST || (rest[i] & 15u) >= 1u << (rest[i] >> 4)))
            pl_state_refuse(state, "rest", "has a rest that is none of the levels");
}

/* Marks the entries of v that the worker's rows touch, and counts them. */
static uint64_t mark(const pl_glm *glm, const pl_team *team, unsigned worker, uint8_t *touched) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t count = 0;
    memset(touched, 0, glm->base.size);
    for (unsigned p = worker * team->lanes; p < (worker + 1) * team->lanes; p++)
        for (pl_walk rows = pl_walk_entries(glm->base.data); pl_walk_on(&team->parts[p], &rows);)
            for (uint64_t e = x->start[rows.begin]; e < x->start[rows.end]; e++)
                touched[x->index[e]] = 1;
    if (glm->intercept != PL_NO_INTERCEPT)
        touched[x->columns] = 1;
    for (uint64_t j = 0; j < glm->base.size; j++)
        count += touched[j];
    return count;
}

parley_status pl_support_take(const pl_glm *glm, const pl_team *team, unsigned worker, uint8_t *touched,
                              uint32_t **support, uint64_t *count, parley_error *error) {
    uint64_t marked = mark(glm, team, worker, touched), rows = glm->base.size / glm->classes;
    *support = NULL;
    *count = rows;
    if (marked * (4 + 8 * glm->classes) >
        rows * 8 * glm->classes) /* ids and values would take more space than all values */
        return PARLEY_OK;
    parley_status status = pl_shared_take(team->engine, support, marked, sizeof **support, "a sparse update", error);
    *count = marked;
    for (uint64_t j = 0, s = 0; status == PARLEY_OK && j < rows; j++)
        if (touched[j])
            (*support)[s++] = (uint32_t)j;
    return status;
}
