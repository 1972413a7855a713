/* order.c: buckets of rows, and supports. */
#include "local/order.h"

#include <string.h>

#define BUCKET_BYTES 16384      /* of a bucket of rows, where the data outgrow the caches */
#define CACHED_BYTES (4u << 20) /* of a matrix that needs no buckets */

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
    if (marked * (4 + 8 * glm->classes) > rows * 8 * glm->classes) /* ids and values cost more than all values do */
        return PARLEY_OK;
    parley_status status = pl_take(support, marked, sizeof **support, "a sparse update", error);
    *count = marked;
    for (uint64_t j = 0, s = 0; status == PARLEY_OK && j < rows; j++)
        if (touched[j])
            (*support)[s++] = (uint32_t)j;
    return status;
}
