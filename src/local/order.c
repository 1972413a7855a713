/* order.c: buckets of rows, and supports. */
#include "local/order.h"

#include <stdlib.h>
#include <string.h>

#include "engine/shared_memory.h"

#define BUCKET_BYTES 16384      /* size of a bucket of rows, if the data exceed the caches */
#define CACHED_BYTES (4u << 20) /* size of a matrix that needs no buckets */

uint64_t pl_bucket_rows(const parley_data *data) {
    uint64_t bytes = pl_all_nonzeros(data) * (data->x.value ? 8 : 4);
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
typedef struct stretch {
    uint64_t row, place, rows;
} stretch;

static int by_row(const void *a, const void *b) {
    uint64_t left = ((const stretch *)a)->row, right = ((const stretch *)b)->row;
    return (left > right) - (left < right);
}

static parley_status take_stretches(const pl_team *team, unsigned worker, stretch **out, uint64_t *count,
                                    parley_error *error) {
    uint64_t ranges = 0, place = 0;
    for (unsigned p = worker * team->lanes; p < (worker + 1) * team->lanes; p++)
        ranges += team->parts[p].count;
    *count = 0;
    parley_status status = pl_take(out, ranges, sizeof **out, "the order of rows", error);
    for (unsigned p = worker * team->lanes; p < (worker + 1) * team->lanes && status == PARLEY_OK; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++) {
            pl_range range = team->parts[p].ranges[r];
            (*out)[(*count)++] = (stretch){range.begin, place, range.end - range.begin};
            place += range.end - range.begin;
        }
    return status;
}

/* Returns the position of a row, or with `back` the row at a position; UINT64_MAX if there is none. The stretches must
 * be in increasing order of `from`. */
static uint64_t translate(const stretch *stretches, uint64_t count, uint64_t from, bool back) {
    uint64_t low = 0, high = count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if ((back ? stretches[middle].place : stretches[middle].row) <= from)
            low = middle;
        else
            high = middle;
    }
    const stretch *found = &stretches[low];
    uint64_t begin = back ? found->place : found->row, to = back ? found->row : found->place;
    return count == 0 || from < begin || from - begin >= found->rows ? UINT64_MAX : to + (from - begin);
}

void pl_bucket_state(pl_state *state, const pl_team *team, unsigned worker, uint64_t *buckets, uint64_t count) {
    stretch *stretches = NULL;
    uint64_t ranges, *kept = pl_state_room(state, "order", PL_U64, count);
    if (!kept)
        return;
    parley_status status = take_stretches(team, worker, &stretches, &ranges, &state->error);
    if (status != PARLEY_OK)
        state->status = status;
    else if (!state->restoring)
        qsort(stretches, ranges, sizeof *stretches, by_row);
    for (uint64_t n = 0; n < count && state->status == PARLEY_OK; n++) {
        uint64_t from = state->restoring ? kept[n] : buckets[n],
                 to = translate(stretches, ranges, pl_bucket_row(from), state->restoring), rows = from & 255;
        if (to == UINT64_MAX)
            pl_state_fail(state, PARLEY_BAD_INPUT, "the order of rows in the checkpoint does not fit these data");
        else if (state->restoring)
            buckets[n] = to << 8 | rows;
        else
            kept[n] = to << 8 | rows;
    }
    pl_free(stretches);
}

/* Marks the entries of v that the worker's rows touch, and counts them. */
static uint64_t mark(const pl_glm *glm, const pl_team *team, unsigned worker, uint8_t *touched) {
    const pl_matrix *x = &glm->data->x;
    uint64_t count = 0;
    memset(touched, 0, glm->size);
    for (unsigned p = worker * team->lanes; p < (worker + 1) * team->lanes; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++) {
            pl_range range = team->parts[p].ranges[r];
            for (uint64_t e = x->start[range.begin]; e < x->start[range.end]; e++)
                touched[x->index[e]] = 1;
        }
    if (glm->intercept != PL_NO_INTERCEPT)
        touched[x->columns] = 1;
    for (uint64_t j = 0; j < glm->size; j++)
        count += touched[j];
    return count;
}

parley_status pl_support_take(const pl_glm *glm, const pl_team *team, unsigned worker, uint8_t *touched,
                              uint32_t **support, uint64_t *count, parley_error *error) {
    uint64_t marked = mark(glm, team, worker, touched), rows = glm->size / glm->classes;
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
