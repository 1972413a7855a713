/* dense.c: a table in the caller's memory, by rows or by columns, as sparse rows. Two passes over blocks of rows: the
 * first counts what is not 0, the second writes it. A table by columns is walked down its columns, so that memory is
 * read in order either way. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "data/arrays.h"

#define BLOCK_CELLS ((uint64_t)1 << 17)
#define MOST_BLOCK_ROWS 256

typedef struct dense {
    uint64_t rows, columns, block; /* rows in a block */
    const float *narrow;           /* one of them is NULL */
    const double *wide;
    int64_t row_stride, column_stride;
    uint64_t *start; /* while counting, entries of row i at i + 1 */
    uint32_t *index;
    float *value; /* NULL: the caller's are used */
    atomic_bool wrong;
} dense;

static inline float cell(const dense *dense, uint64_t i, uint64_t j) {
    int64_t at = (int64_t)i * dense->row_stride + (int64_t)j * dense->column_stride;
    return dense->narrow ? dense->narrow[at] : (float)dense->wide[at];
}

static bool by_columns(const dense *dense) {
    return llabs((long long)dense->row_stride) < llabs((long long)dense->column_stride);
}

static uint64_t block_end(const dense *dense, uint64_t begin) {
    return begin + dense->block < dense->rows ? begin + dense->block : dense->rows;
}

static void count_task(void *context, unsigned task) {
    dense *dense = context;
    uint64_t begin = task * dense->block, end = block_end(dense, begin);
    uint64_t *count = dense->start + 1;
    float sum = 0; /* of cells times 0: 0, or NaN when one of them is not finite */
    if (by_columns(dense))
        for (uint64_t j = 0; j < dense->columns; j++)
            for (uint64_t i = begin; i < end; i++) {
                float x = cell(dense, i, j);
                sum += x * 0.0F;
                count[i] += x != 0;
            }
    else
        for (uint64_t i = begin; i < end; i++) {
            uint64_t here = 0;
            for (uint64_t j = 0; j < dense->columns; j++) {
                float x = cell(dense, i, j);
                sum += x * 0.0F;
                here += x != 0;
            }
            count[i] = here;
        }
    if (sum != 0)
        dense->wrong = true;
}

static inline void put(const dense *dense, uint64_t *at, uint64_t j, float x) {
    if (x == 0)
        return;
    dense->index[*at] = (uint32_t)j;
    if (dense->value)
        dense->value[*at] = x;
    ++*at;
}

static void fill_task(void *context, unsigned task) {
    dense *dense = context;
    uint64_t begin = task * dense->block, end = block_end(dense, begin), at[MOST_BLOCK_ROWS];
    for (uint64_t i = begin; i < end; i++)
        at[i - begin] = dense->start[i];
    if (by_columns(dense))
        for (uint64_t j = 0; j < dense->columns; j++)
            for (uint64_t i = begin; i < end; i++)
                put(dense, &at[i - begin], j, cell(dense, i, j));
    else
        for (uint64_t i = begin; i < end; i++)
            for (uint64_t j = 0; j < dense->columns; j++)
                put(dense, &at[i - begin], j, cell(dense, i, j));
}

static parley_status explain(const dense *dense, parley_error *error) {
    for (uint64_t i = 0; i < dense->rows; i++)
        for (uint64_t j = 0; j < dense->columns; j++)
            if (!isfinite(cell(dense, i, j)))
                return pl_fail(error, PARLEY_BAD_INPUT,
                               "data: row %llu: the value in column %llu is not finite, or too large for a float32",
                               (unsigned long long)i, (unsigned long long)j);
    return pl_fail(error, PARLEY_BAD_INPUT, "data: the table changed while it was read");
}

static parley_status take(dense *dense, parley_data *data, pl_pool *pool, parley_error *error) {
    uint64_t rows = dense->rows, columns = dense->columns;
    unsigned blocks = (unsigned)((rows + dense->block - 1) / dense->block);
    parley_status status = pl_arrays_reserve(&data->spans[PL_SPAN_START], rows + 1, sizeof *dense->start, error);
    if (status != PARLEY_OK)
        return status;
    data->x.start = dense->start = data->spans[PL_SPAN_START].data;
    pl_pool_run(pool, count_task, dense, blocks);
    if (dense->wrong)
        return explain(dense, error);
    for (uint64_t i = 0; i < rows; i++)
        dense->start[i + 1] += dense->start[i];
    uint64_t entries = data->x.nonzeros = dense->start[rows];
    bool as_is = dense->narrow && entries == rows * columns && dense->column_stride == 1 &&
                 (rows < 2 || dense->row_stride == (int64_t)columns);
    status = pl_arrays_reserve(&data->spans[PL_SPAN_INDEX], entries, sizeof *dense->index, error);
    if (status == PARLEY_OK && !as_is)
        status = pl_arrays_reserve(&data->spans[PL_SPAN_VALUE], entries, sizeof *dense->value, error);
    if (status != PARLEY_OK)
        return status;
    data->x.index = dense->index = data->spans[PL_SPAN_INDEX].data;
    dense->value = data->spans[PL_SPAN_VALUE].data;
    data->x.value = as_is ? dense->narrow : dense->value;
    pl_pool_run(pool, fill_task, dense, blocks);
    return PARLEY_OK;
}

parley_status parley_data_from_dense(uint64_t rows, uint64_t columns, const void *value, parley_type type,
                                     int64_t row_stride, int64_t column_stride, const double *label,
                                     const double *weight, unsigned threads, parley_data **out, parley_error *error) {
    dense dense = {.rows = rows,
                   .columns = columns,
                   .narrow = type == PARLEY_FLOAT32 ? value : NULL,
                   .wide = type == PARLEY_FLOAT64 ? value : NULL,
                   .row_stride = row_stride,
                   .column_stride = column_stride};
    parley_data *data;
    pl_pool *pool;
    *out = NULL;
    if (type != PARLEY_FLOAT32 && type != PARLEY_FLOAT64)
        return pl_fail(error, PARLEY_BAD_USAGE, "the values of a table are of type float32 or float64");
    if (!value && rows > 0 && columns > 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "data: there are no values");
    parley_status status = pl_arrays_open(rows, columns, label, weight, &data, error);
    if (status != PARLEY_OK)
        return status;
    uint64_t block = BLOCK_CELLS / (columns + 1) + 1;
    dense.block = block < MOST_BLOCK_ROWS ? block : MOST_BLOCK_ROWS;
    status = pl_pool_open(&pool, pl_arrays_threads(rows * (columns + 1), threads), error);
    if (status == PARLEY_OK) {
        status = take(&dense, data, pool, error);
        pl_pool_close(pool);
    }
    if (status == PARLEY_OK)
        *out = data;
    else
        parley_data_free(data);
    return status;
}
