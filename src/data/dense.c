/* dense.c: converts a table in the caller's memory, by rows or by columns, to sparse rows. If a sample has no zeros, a
 * pass over blocks of rows writes all cells, unless it meets a zero. Otherwise a first pass counts the entries that are
 * not 0, and a second writes them. All load the table in float32 tiles stored by rows, so that memory is read in its
 * own order and only one loop handles types and strides. */
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
    float *value;            /* NULL: the caller's values are used */
    atomic_bool wrong, gaps; /* there are cells that are not finite, or 0 */
} dense;

/* Some rows and columns of the table. Row i begins at cells + i x columns. */
typedef struct tile {
    uint64_t row, rows, column, columns;
    const float *cells; /* points to the caller's memory if the layout allows it */
    float own[TILE];
} tile;

static float cell(const dense *dense, uint64_t i, uint64_t j) {
    int64_t at = (int64_t)i * dense->row_stride + (int64_t)j * dense->column_stride;
    return dense->narrow ? dense->narrow[at] : (float)dense->wide[at];
}

static bool by_columns(const dense *dense) {
    return llabs((long long)dense->row_stride) < llabs((long long)dense->column_stride);
}

/* Copies `count` cells, `stride` apart from `from` on, to to[0], to[to_stride], ... */
static void load_line(const dense *dense, int64_t from, int64_t stride, uint64_t count, float *to, uint64_t to_stride) {
    const float *narrow = dense->narrow ? dense->narrow + from : NULL;
    const double *wide = dense->wide ? dense->wide + from : NULL;
    if (wide && stride == 1 && to_stride == 1)
        for (uint64_t k = 0; k < count; k++)
            to[k] = (float)wide[k];
    else if (narrow)
        for (uint64_t k = 0; k < count; k++)
            to[k * to_stride] = narrow[(int64_t)k * stride];
    else
        for (uint64_t k = 0; k < count; k++)
            to[k * to_stride] = (float)wide[(int64_t)k * stride];
}

/* Loads the tile that begins at (row, column) and ends before row `end`. */
static void load(const dense *dense, uint64_t row, uint64_t end, uint64_t column, tile *tile) {
    bool turned = by_columns(dense);
    uint64_t most = turned ? TILE / TURNED_ROWS : TILE, rows = turned ? TURNED_ROWS : 1;
    tile->row = row;
    tile->column = column;
    tile->rows = end - row < rows ? end - row : rows;
    tile->columns = dense->columns - column < most ? dense->columns - column : most;
    int64_t from = (int64_t)row * dense->row_stride + (int64_t)column * dense->column_stride;
    tile->cells = tile->own;
    if (!turned && dense->narrow && dense->column_stride == 1)
        tile->cells = dense->narrow + from;
    else if (!turned)
        load_line(dense, from, dense->column_stride, tile->columns, tile->own, 1);
    for (uint64_t j = 0; turned && j < tile->columns; j++)
        load_line(dense, from + (int64_t)j * dense->column_stride, dense->row_stride, tile->rows, tile->own + j,
                  tile->columns);
}

static uint32_t count_line(const float *line, uint64_t count) {
    uint32_t found = 0;
    for (uint64_t k = 0; k < count; k++)
        found += line[k] != 0;
    return found;
}

static void count_tile(dense *dense, const tile *tile) {
    for (uint64_t i = 0; i < tile->rows; i++)
        dense->start[tile->row + i + 1] += count_line(tile->cells + i * tile->columns, tile->columns);
    if (!pl_scan_finite(tile->cells, tile->rows * tile->columns))
        dense->wrong = true;
}

/* Appends the cells of a row that are not 0. Every cell is stored, but the position advances only if the cell is not 0.
 */
static void put_line(const dense *dense, const float *line, uint64_t count, uint64_t column, uint64_t *at) {
    uint32_t index[TILE], found = 0;
    float value[TILE];
    for (uint64_t k = 0; k < count; k++) {
        index[found] = (uint32_t)(column + k);
        value[found] = line[k];
        found += line[k] != 0;
    }
    memcpy(dense->index + *at, index, found * sizeof *index);
    if (dense->value)
        memcpy(dense->value + *at, value, found * sizeof *value);
    *at += found;
}

/* The same for a row without zeros. */
static void put_full_line(const dense *dense, const float *line, uint64_t count, uint64_t column, uint64_t *at) {
    uint32_t *index = dense->index + *at;
    for (uint64_t k = 0; k < count; k++)
        index[k] = (uint32_t)(column + k);
    if (dense->value)
        memcpy(dense->value + *at, line, count * sizeof *line);
    *at += count;
}

static void put_tile(const dense *dense, const tile *tile, uint64_t *at) {
    for (uint64_t i = 0; i < tile->rows; i++) {
        const float *line = tile->cells + i * tile->columns;
        if (count_line(line, tile->columns) == tile->columns)
            put_full_line(dense, line, tile->columns, tile->column, &at[i]);
        else
            put_line(dense, line, tile->columns, tile->column, &at[i]);
    }
}

/* Writes a tile without zeros. Returns false if it has one. */
static bool put_full_tile(dense *dense, const tile *tile) {
    uint64_t cells = tile->rows * tile->columns;
    if (!pl_scan_finite(tile->cells, cells))
        dense->wrong = true;
    if (count_line(tile->cells, cells) < cells)
        return false;
    for (uint64_t i = 0; i < tile->rows; i++) {
        uint64_t at = (tile->row + i) * dense->columns + tile->column;
        put_full_line(dense, tile->cells + i * tile->columns, tile->columns, tile->column, &at);
    }
    return true;
}

static void full_task(void *context, unsigned task) {
    dense *dense = context;
    uint64_t begin = task * dense->block;
    uint64_t end = begin + dense->block < dense->rows ? begin + dense->block : dense->rows;
    tile tile = {.rows = 0};
    for (uint64_t row = begin; row < end && !dense->gaps; row += tile.rows)
        for (uint64_t column = 0; column < dense->columns; column += tile.columns) {
            load(dense, row, end, column, &tile);
            if (!put_full_tile(dense, &tile))
                dense->gaps = true;
        }
}

/* Goes through the tiles of a block. If `fill` is false, only counts. */
static void walk(dense *dense, unsigned task, bool fill) {
    uint64_t begin = task * dense->block, at[BLOCK_ROWS];
    uint64_t end = begin + dense->block < dense->rows ? begin + dense->block : dense->rows;
    for (uint64_t i = begin; i < end && fill; i++)
        at[i - begin] = dense->start[i];
    tile tile = {.rows = 0};
    for (uint64_t row = begin; row < end; row += tile.rows)
        for (uint64_t column = 0; column < dense->columns; column += tile.columns) {
            load(dense, row, end, column, &tile);
            if (fill)
                put_tile(dense, &tile, at + (row - begin));
            else
                count_tile(dense, &tile);
        }
}

static void count_task(void *context, unsigned task) { walk(context, task, false); }
static void fill_task(void *context, unsigned task) { walk(context, task, true); }

static parley_status explain(const dense *dense, parley_error *error) {
    for (uint64_t i = 0; i < dense->rows; i++)
        for (uint64_t j = 0; j < dense->columns; j++)
            if (!isfinite(cell(dense, i, j)))
                return pl_fail(error, PARLEY_BAD_INPUT,
                               "data: row %llu: the value in column %llu is not finite, or too large for a float32",
                               (unsigned long long)i, (unsigned long long)j);
    return pl_fail(error, PARLEY_BAD_INPUT, "data: the table changed while it was read");
}

/* Looks at cells all over the table. */
static bool seems_full(const dense *dense) {
    uint64_t cells = dense->rows * dense->columns;
    for (uint64_t k = 0; k < SAMPLE && cells > 0; k++) {
        uint64_t at = k * (cells - 1) / (SAMPLE - 1);
        if (cell(dense, at / dense->columns, at % dense->columns) == 0)
            return false;
    }
    return cells > 0;
}

static parley_status reserve(dense *dense, parley_data *data, uint64_t entries, parley_error *error) {
    bool as_is = dense->narrow && entries == dense->rows * dense->columns && dense->column_stride == 1 &&
                 (dense->rows < 2 || dense->row_stride == (int64_t)dense->columns);
    parley_status status = pl_arrays_reserve(&data->spans[PL_SPAN_INDEX], entries, sizeof *dense->index, error);
    if (status == PARLEY_OK && !as_is)
        status = pl_arrays_reserve(&data->spans[PL_SPAN_VALUE], entries, sizeof *dense->value, error);
    if (status != PARLEY_OK)
        return status;
    data->x.nonzeros = entries;
    data->x.index = dense->index = data->spans[PL_SPAN_INDEX].data;
    dense->value = data->spans[PL_SPAN_VALUE].data;
    data->x.value = as_is ? dense->narrow : dense->value;
    return status;
}

static parley_status take_full(dense *dense, parley_data *data, pl_pool *pool, unsigned blocks, parley_error *error) {
    parley_status status = reserve(dense, data, dense->rows * dense->columns, error);
    if (status != PARLEY_OK)
        return status;
    pl_pool_run(pool, full_task, dense, blocks);
    if (dense->wrong)
        return explain(dense, error);
    for (uint64_t i = 0; i <= dense->rows && !dense->gaps; i++)
        dense->start[i] = i * dense->columns;
    return status;
}

static parley_status take_sparse(dense *dense, parley_data *data, pl_pool *pool, unsigned blocks, parley_error *error) {
    pl_pool_run(pool, count_task, dense, blocks);
    if (dense->wrong)
        return explain(dense, error);
    for (uint64_t i = 0; i < dense->rows; i++)
        dense->start[i + 1] += dense->start[i];
    uint64_t entries = dense->start[dense->rows];
    parley_status status = reserve(dense, data, entries, error);
    if (status != PARLEY_OK)
        return status;
    pl_pool_run(pool, fill_task, dense, blocks);
    pl_span_trim(&data->spans[PL_SPAN_INDEX], (entries + 1) * sizeof *dense->index);
    pl_span_trim(&data->spans[PL_SPAN_VALUE], (entries + 1) * sizeof *dense->value);
    return PARLEY_OK;
}

static parley_status take(dense *dense, parley_data *data, pl_pool *pool, parley_error *error) {
    unsigned blocks = dense->columns > 0 ? (unsigned)((dense->rows + dense->block - 1) / dense->block) : 0;
    parley_status status = pl_arrays_reserve(&data->spans[PL_SPAN_START], dense->rows + 1, sizeof *dense->start, error);
    if (status != PARLEY_OK)
        return status;
    data->x.start = dense->start = data->spans[PL_SPAN_START].data;
    dense->gaps = !seems_full(dense);
    if (!dense->gaps)
        status = take_full(dense, data, pool, blocks, error);
    return status == PARLEY_OK && dense->gaps ? take_sparse(dense, data, pool, blocks, error) : status;
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
