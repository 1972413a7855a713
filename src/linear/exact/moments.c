/* moments.c: sums of products of the columns of a dense table, which least squares need, in one pass over the caller's
 * memory. Rows are summed in a fixed number of blocks, so that the bits do not depend on the number of threads. */
#include <math.h>
#include <stdatomic.h>

#include "data/arrays.h"
#include "math/dense_gram.h"

#define MOST_BLOCKS 32
#define MOST_SUMS (1u << 24) /* of all blocks */
#define BLOCK_ROWS 2048      /* at least */
#define MOST_COLUMNS 2048    /* with a table of products for each block */
#define SQUARE 32            /* columns and rows */

typedef struct moments {
    uint64_t rows, columns;
    pl_table table;
    const double *label, *weight, *shift;
    unsigned blocks;
    atomic_uint next;      /* next block */
    pl_dense_gram *panels; /* by thread */
    double *sums;          /* by block */
} moments;

static void add_block(const moments *self, const pl_dense_gram *panels, unsigned block) {
    uint64_t columns = self->columns, begin = self->rows * block / self->blocks,
             end = self->rows * (block + 1) / self->blocks;
    double *sums = self->sums + block * panels->size * panels->size;
    for (uint64_t first = begin, rows; first < end; first += rows) {
        rows = end - first < PL_PANEL_ROWS ? end - first : PL_PANEL_ROWS;
        pl_dense_gram_load(panels, &self->table, first, rows, self->shift);
        for (uint64_t r = 0; r < rows; r++)
            *pl_dense_gram_cell(panels, r, columns) = self->label[first + r] - self->shift[columns];
        pl_dense_gram_add(panels, rows, self->weight ? self->weight + first : NULL, sums);
    }
}

/* A row consists of x and y, minus the shift, and 1. */
static void thread_task(void *context, unsigned thread) {
    moments *self = context;
    const pl_dense_gram *panels = &self->panels[thread];
    for (uint64_t r = 0; r < PL_PANEL_ROWS; r++)
        *pl_dense_gram_cell(panels, r, self->columns + 1) = 1.0;
    for (unsigned block; (block = atomic_fetch_add(&self->next, 1)) < self->blocks;)
        add_block(self, panels, block);
}

/* Copies the lower triangle, and its transpose to the other half, by squares that stay in the caches. */
static void mirror(const double *sums, uint64_t size, double *out) {
    for (uint64_t left = 0; left < size; left += SQUARE)
        for (uint64_t top = left; top < size; top += SQUARE)
            for (uint64_t j = left; j < left + SQUARE && j < size; j++)
                for (uint64_t i = top > j ? top : j; i < top + SQUARE && i < size; i++)
                    out[i * size + j] = out[j * size + i] = sums[j * size + i];
}

/* Adds the blocks in pairs. */
static void combine_blocks(const moments *self, double *out) {
    uint64_t size = self->columns + 2, cells = size * size;
    for (unsigned step = 1; step < self->blocks; step *= 2)
        for (unsigned b = 0; b + step < self->blocks; b += 2 * step)
            for (uint64_t c = 0; c < cells; c++)
                self->sums[b * cells + c] += self->sums[(b + step) * cells + c];
    mirror(self->sums, size, out);
}

static parley_status check_sums(const double *sums, uint64_t size, parley_error *error) {
    for (uint64_t c = 0; c < size * size; c++)
        if (!isfinite(sums[c]))
            return pl_fail(error, PARLEY_BAD_INPUT, "data: a value, label or weight is not finite, or too large");
    return PARLEY_OK;
}

static parley_status add_up(moments *self, unsigned threads, double *sums, parley_error *error) {
    uint64_t size = self->columns + 2;
    pl_pool *pool = NULL;
    unsigned opened = 0;
    parley_status status = pl_pool_open(&pool, pl_arrays_threads(self->rows * size, threads), error);
    if (status != PARLEY_OK)
        return status;
    threads = pl_pool_threads(pool);
    status = pl_take(&self->sums, self->blocks * size * size, sizeof *self->sums, "products", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->panels, threads, sizeof *self->panels, "products", error);
    for (; opened < threads && status == PARLEY_OK; opened++)
        status = pl_dense_gram_open(&self->panels[opened], size, error);
    if (status == PARLEY_OK) {
        pl_pool_run(pool, thread_task, self, threads);
        combine_blocks(self, sums);
        status = check_sums(sums, size, error);
    }
    pl_pool_close(pool);
    while (opened > 0)
        pl_dense_gram_close(&self->panels[--opened]);
    pl_free(self->panels);
    pl_free(self->sums);
    return status;
}

parley_status parley_moments(uint64_t rows, uint64_t columns, const void *value, parley_type type, int64_t row_stride,
                             int64_t column_stride, const double *label, const double *weight, const double *shift,
                             unsigned threads, double *sums, parley_error *error) {
    moments self = {.rows = rows,
                    .columns = columns,
                    .table = {.columns = columns,
                              .narrow = type == PARLEY_FLOAT32 ? value : NULL,
                              .wide = type == PARLEY_FLOAT64 ? value : NULL,
                              .row_stride = row_stride,
                              .column_stride = column_stride},
                    .label = label,
                    .weight = weight,
                    .shift = shift};
    uint64_t blocks = rows / BLOCK_ROWS + 1, most;
    if (type != PARLEY_FLOAT32 && type != PARLEY_FLOAT64)
        return pl_fail(error, PARLEY_BAD_USAGE, "the values of a table must be float32 or float64");
    if (columns > MOST_COLUMNS)
        return pl_fail(error, PARLEY_BAD_INPUT, "data: %llu columns; sums of products are supported for at most %u",
                       (unsigned long long)columns, MOST_COLUMNS);
    most = MOST_SUMS / ((columns + 2) * (columns + 2)) + 1;
    most = most < MOST_BLOCKS ? most : MOST_BLOCKS;
    self.blocks = (unsigned)(blocks < most ? blocks : most);
    return add_up(&self, threads, sums, error);
}
