/* dense.c: converts a table in the caller's memory, by rows or by columns, to sparse rows. If a sample has no zeros, a
 * pass over blocks of rows writes all cells, unless it meets a zero. Otherwise a first pass counts the entries that are
 * not 0, and a second writes them. All load the table in tiles stored by rows, so that memory is read in its own order
 * and only one loop handles types and strides. Entries are floats if floats hold every cell, otherwise doubles. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "data/arrays.h"
#include "math/scan.h"

#define BLOCK_CELLS ((uint64_t)1 << 17)
#define TILE 1024      /* cells */
#define TURNED_ROWS 64 /* rows of a tile if the table is stored by columns; else a tile has one row */
#define BLOCK_ROWS 256 /* at most */
#define SAMPLE 64      /* cells that must not be 0 */

typedef struct dense {
    uint64_t rows, columns, block; /* block: rows in a block */
    const float *narrow;           /* one of the two is NULL */
    const double *wide;
    int64_t row_stride, column_stride;
    uint64_t *start; /* while counting, start[i + 1] is the number of entries of row i */
    uint32_t *index;
    pl_value_room value;           /* none: the caller's values are used */
    bool doubles;                  /* entries are doubles */
    atomic_bool wrong, gaps, lost; /* there are cells that are not finite, or 0, or that floats do not hold */
} dense;

static double cell(const dense *dense, uint64_t i, uint64_t j) {
    int64_t at = (int64_t)i * dense->row_stride + (int64_t)j * dense->column_stride;
    return dense->narrow ? (double)dense->narrow[at] : dense->wide[at];
}

static bool by_columns(const dense *dense) {
    return llabs((long long)dense->row_stride) < llabs((long long)dense->column_stride);
}

#define CELL float
#define BODY(name) narrow_##name
#define GIVEN dense->narrow
#define OWN dense->value.narrow
#define SCAN pl_scan_finite
#include "data/dense_body.h"

#define CELL double
#define BODY(name) wide_##name
#define GIVEN dense->wide
#define OWN dense->value.wide
#define SCAN pl_scan_finite_double
#include "data/dense_body.h"

static parley_status explain(const dense *dense, parley_error *error) {
    for (uint64_t i = 0; i < dense->rows; i++)
        for (uint64_t j = 0; j < dense->columns; j++)
            if (!isfinite(cell(dense, i, j)))
                return pl_fail(error, PARLEY_BAD_INPUT,
                               "data: row %llu: the value in column %llu is not a finite number", (unsigned long long)i,
                               (unsigned long long)j);
    return pl_fail(error, PARLEY_BAD_INPUT, "data: the table changed while it was read");
}

/* Looks at cells all over the table. */
static void look(dense *dense) {
    uint64_t cells = dense->rows * dense->columns;
    dense->gaps = cells == 0;
    for (uint64_t k = 0; k < SAMPLE && cells > 0; k++) {
        uint64_t at = k * (cells - 1) / (SAMPLE - 1);
        double value = cell(dense, at / dense->columns, at % dense->columns);
        if (value == 0)
            dense->gaps = true;
        if ((double)(float)value != value)
            dense->doubles = true;
    }
}

static parley_status reserve(dense *dense, parley_data *data, uint64_t entries, parley_error *error) {
    bool packed = entries == dense->rows * dense->columns && dense->column_stride == 1 &&
                  (dense->rows < 2 || dense->row_stride == (int64_t)dense->columns);
    bool as_is = packed && (dense->doubles ? dense->wide != NULL : dense->narrow != NULL);
    uint64_t size = pl_value_size(dense->doubles);
    parley_status status = pl_arrays_reserve(&data->spans[PL_SPAN_INDEX], entries, sizeof *dense->index, error);
    if (status == PARLEY_OK && !as_is)
        status = pl_arrays_reserve(&data->spans[PL_SPAN_VALUE], entries, size, error);
    if (status != PARLEY_OK)
        return status;
    data->x.nonzeros = entries;
    data->x.index = dense->index = data->spans[PL_SPAN_INDEX].data;
    dense->value = pl_value_room_in(as_is ? NULL : data->spans[PL_SPAN_VALUE].data, dense->doubles);
    data->x.values = pl_values_of(dense->value);
    if (as_is)
        data->x.values = (pl_values){dense->doubles ? NULL : dense->narrow, dense->doubles ? dense->wide : NULL};
    return status;
}

static parley_status take_full(dense *dense, parley_data *data, pl_pool *pool, unsigned blocks, parley_error *error) {
    parley_status status = reserve(dense, data, dense->rows * dense->columns, error);
    if (status != PARLEY_OK)
        return status;
    pl_pool_run(pool, dense->doubles ? wide_full_task : narrow_full_task, dense, blocks);
    if (dense->wrong && !dense->lost)
        return explain(dense, error);
    for (uint64_t i = 0; i <= dense->rows && !dense->gaps; i++)
        dense->start[i] = i * dense->columns;
    return status;
}

static parley_status take_sparse(dense *dense, parley_data *data, pl_pool *pool, unsigned blocks, parley_error *error) {
    pl_pool_run(pool, dense->doubles ? wide_count_task : narrow_count_task, dense, blocks);
    if (dense->wrong && !dense->lost)
        return explain(dense, error);
    for (uint64_t i = 0; i < dense->rows && !dense->lost; i++)
        dense->start[i + 1] += dense->start[i];
    uint64_t entries = dense->start[dense->rows];
    parley_status status = dense->lost ? PARLEY_OK : reserve(dense, data, entries, error);
    if (status != PARLEY_OK || dense->lost)
        return status;
    pl_pool_run(pool, dense->doubles ? wide_fill_task : narrow_fill_task, dense, blocks);
    pl_span_trim(&data->spans[PL_SPAN_INDEX], (entries + 1) * sizeof *dense->index);
    pl_span_trim(&data->spans[PL_SPAN_VALUE], (entries + 1) * pl_value_size(dense->doubles));
    return PARLEY_OK;
}

static parley_status take_cells(dense *dense, parley_data *data, pl_pool *pool, parley_error *error) {
    unsigned blocks = dense->columns > 0 ? (unsigned)((dense->rows + dense->block - 1) / dense->block) : 0;
    parley_status status = dense->gaps ? PARLEY_OK : take_full(dense, data, pool, blocks, error);
    return status == PARLEY_OK && dense->gaps && !dense->lost ? take_sparse(dense, data, pool, blocks, error) : status;
}

static parley_status take(dense *dense, parley_data *data, pl_pool *pool, parley_error *error) {
    parley_status status = pl_arrays_reserve(&data->spans[PL_SPAN_START], dense->rows + 1, sizeof *dense->start, error);
    if (status != PARLEY_OK)
        return status;
    data->x.start = dense->start = data->spans[PL_SPAN_START].data;
    look(dense);
    status = take_cells(dense, data, pool, error);
    if (!dense->lost || status == PARLEY_NO_MEMORY)
        return status;
    memset(dense->start, 0, (dense->rows + 1) * sizeof *dense->start);
    dense->lost = dense->wrong = false;
    dense->doubles = true;
    return take_cells(dense, data, pool, error);
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
        return pl_fail(error, PARLEY_BAD_USAGE, "the values of a table must be float32 or float64");
    if (!value && rows > 0 && columns > 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "data: the values are missing");
    parley_status status = pl_arrays_open(rows, columns, label, weight, &data, error);
    if (status != PARLEY_OK)
        return status;
    uint64_t block = BLOCK_CELLS / (columns + 1) + 1;
    dense.block = block < BLOCK_ROWS ? block : BLOCK_ROWS;
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
