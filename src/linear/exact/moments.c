/* moments.c: sums of products of the columns of a dense table, which least squares need, in one pass over the caller's
 * memory. Rows are summed in a fixed number of blocks, so that the bits do not depend on the number of threads. */
#include <math.h>
#include <stdatomic.h>

#include "data/arrays.h"
#include "math/panels.h"

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
    atomic_uint next;  /* next block */
    pl_panels *panels; /* by thread */
    double *sums;      /* by block */
} moments;

static void add_block(const moments *this, const pl_panels *panels, unsigned block) {
    uint64_t columns = this->columns, begin = this->rows * block / this->blocks,
             end = this->rows * (block + 1) / this->blocks;
    double *sums = this->sums + block * panels->size * panels->size;
    for (uint64_t first = begin, rows; first < end; first += rows) {
        rows = end - first < PL_PANEL_ROWS ? end - first : PL_PANEL_ROWS;
        pl_panels_load(panels, &this->table, first, rows, this->shift);
        for (uint64_t r = 0; r < rows; r++)
            *pl_panels_cell(panels, r, columns) = this->label[first + r] - this->shift[columns];
        pl_panels_add(panels, rows, this->weight ? this->weight + first : NULL, sums);
    }
}

/* A row consists of x and y, minus the shift, and 1. */
static void thread_task(void *context, unsigned thread) {
    moments *this = context;
    const pl_panels *panels = &this->panels[thread];
    for (uint64_t r = 0; r < PL_PANEL_ROWS; r++)
        *pl_panels_cell(panels, r, this->columns + 1) = 1.0;
    for (unsigned block; (block = atomic_fetch_add(&this->next, 1)) < this->blocks;)
        add_block(this, panels, block);
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
static void combine_blocks(const moments *this, double *out) {
    uint64_t size = this->columns + 2, cells = size * size;
    for (unsigned step = 1; step < this->blocks; step *= 2)
        for (unsigned b = 0; b + step < this->blocks; b += 2 * step)
            for (uint64_t c = 0; c < cells; c++)
                this->sums[b * cells + c] += this->sums[(b + step) * cells + c];
    mirror(this->sums, size, out);
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
    parley_status status = pl_pool_open(&pool, pl_arrays_threads(this->rows * size, threads), error);
    if (status != PARLEY_OK)
        return status;
    threads = pl_pool_threads(pool);
    status = pl_take(&this->sums, this->blocks * size * size, sizeof *this->sums, "products", error);
    if (status == PARLEY_OK)
        status = pl_take(&this->panels, threads, sizeof *this->panels, "products", error);
    for (; opened < threads && status == PARLEY_OK; opened++)
        status = pl_panels_open(&this->panels[opened], size, error);
    if (status == PARLEY_OK) {
        pl_pool_run(pool, thread_task, this, threads);
        combine_blocks(this, sums);
        status = check_sums(sums, size, error);
    }
    pl_pool_close(pool);
    while (opened > 0)
        pl_panels_close(&this->panels[--opened]);
    pl_free(this->panels);
    pl_free(this->sums);
    return status;
}

parley_status parley_moments(uint64_t rows, uint64_t columns, const void *value, parley_type type, int64_t row_stride,
                             int64_t column_stride, const double *label, const double *weight, const double *shift,
                             unsigned threads, double *sums, parley_error *error) {
    moments this = {.rows = rows,
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
    this.blocks = (unsigned)(blocks < most ? blocks : most);
    return add_up(&this, threads, sums, error);
}
