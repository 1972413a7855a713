/* moments.c: sums of products of the columns of a dense table, in one pass over the caller's memory: all that least
 * squares need to know of it. Rows are added in a fixed number of blocks, so that the bits do not depend on threads. */
#include <math.h>
#include <string.h>

#include "data/arrays.h"
#include "math/outer.h"

#define MOST_BLOCKS 32
#define BLOCK_ROWS 2048   /* at least */
#define MOST_COLUMNS 2048 /* whose products are kept, a table for each block */

typedef struct moments {
    uint64_t rows, columns;
    const float *narrow; /* one of them is NULL */
    const double *wide;
    int64_t row_stride, column_stride;
    const double *label, *weight, *shift;
    unsigned blocks;
    pl_outer *outer; /* of each block */
    double *sums;
} moments;

/* x, y and 1 of a row, less the shift. */
static void load_row(const moments *this, uint64_t i, double *row) {
    uint64_t columns = this->columns;
    int64_t stride = this->column_stride;
    const float *narrow = this->narrow ? this->narrow + (int64_t)i * this->row_stride : NULL;
    const double *wide = this->wide ? this->wide + (int64_t)i * this->row_stride : NULL;
    if (narrow)
        for (uint64_t j = 0; j < columns; j++)
            row[j] = (double)narrow[(int64_t)j * stride] - this->shift[j];
    else if (stride == 1)
        for (uint64_t j = 0; j < columns; j++)
            row[j] = wide[j] - this->shift[j];
    else
        for (uint64_t j = 0; j < columns; j++)
            row[j] = wide[(int64_t)j * stride] - this->shift[j];
    row[columns] = this->label[i] - this->shift[columns];
    row[columns + 1] = 1.0;
}

static void block_task(void *context, unsigned block) {
    const moments *this = context;
    uint64_t size = this->columns + 2, begin = this->rows * block / this->blocks,
             end = this->rows * (block + 1) / this->blocks;
    pl_outer *outer = &this->outer[block];
    double *sums = this->sums + block * size * size;
    for (uint64_t i = begin; i < end; i++) {
        load_row(this, i, pl_outer_row(outer));
        pl_outer_push(outer, this->weight ? this->weight[i] : 1.0, sums);
    }
    pl_outer_flush(outer, sums);
}

/* Blocks two by two, then both halves of the table. */
static void bring_together(const moments *this, double *out) {
    uint64_t size = this->columns + 2, cells = size * size;
    for (unsigned step = 1; step < this->blocks; step *= 2)
        for (unsigned b = 0; b + step < this->blocks; b += 2 * step)
            for (uint64_t c = 0; c < cells; c++)
                this->sums[b * cells + c] += this->sums[(b + step) * cells + c];
    for (uint64_t j = 0; j < size; j++)
        for (uint64_t i = j; i < size; i++)
            out[i * size + j] = out[j * size + i] = this->sums[j * size + i];
}

static parley_status check_sums(const double *sums, uint64_t size, parley_error *error) {
    for (uint64_t c = 0; c < size * size; c++)
        if (!isfinite(sums[c]))
            return pl_fail(error, PARLEY_BAD_INPUT, "data: a value, label or weight is not finite, or too large");
    return PARLEY_OK;
}

static parley_status add_up(moments *this, unsigned threads, double *sums, parley_error *error) {
    uint64_t size = this->columns + 2;
    pl_pool *pool = NULL;
    unsigned opened = 0;
    parley_status status = pl_take(&this->sums, this->blocks * size * size, sizeof *this->sums, "products", error);
    if (status == PARLEY_OK)
        status = pl_take(&this->outer, this->blocks, sizeof *this->outer, "products", error);
    for (; opened < this->blocks && status == PARLEY_OK; opened++)
        status = pl_outer_open(&this->outer[opened], size, true, error);
    if (status == PARLEY_OK)
        status = pl_pool_open(&pool, pl_arrays_threads(this->rows * size, threads), error);
    if (status == PARLEY_OK) {
        pl_pool_run(pool, block_task, this, this->blocks);
        bring_together(this, sums);
        status = check_sums(sums, size, error);
    }
    pl_pool_close(pool);
    while (opened > 0)
        pl_outer_close(&this->outer[--opened]);
    pl_free(this->outer);
    pl_free(this->sums);
    return status;
}

parley_status parley_moments(uint64_t rows, uint64_t columns, const void *value, parley_type type, int64_t row_stride,
                             int64_t column_stride, const double *label, const double *weight, const double *shift,
                             unsigned threads, double *sums, parley_error *error) {
    moments this = {.rows = rows,
                    .columns = columns,
                    .narrow = type == PARLEY_FLOAT32 ? value : NULL,
                    .wide = type == PARLEY_FLOAT64 ? value : NULL,
                    .row_stride = row_stride,
                    .column_stride = column_stride,
                    .label = label,
                    .weight = weight,
                    .shift = shift};
    uint64_t blocks = rows / BLOCK_ROWS + 1;
    if (type != PARLEY_FLOAT32 && type != PARLEY_FLOAT64)
        return pl_fail(error, PARLEY_BAD_USAGE, "the values of a table are of type float32 or float64");
    if (columns > MOST_COLUMNS)
        return pl_fail(error, PARLEY_BAD_INPUT, "data: %llu columns; products are kept of at most %u",
                       (unsigned long long)columns, MOST_COLUMNS);
    this.blocks = (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
    return add_up(&this, threads, sums, error);
}
