/* whole_table.c: see whole_table.h. Values are stored in rows as float32, in which a column such as years has few
 * digits left to distinguish its rows unless its mean is subtracted before. */
#include "linear/rows/whole_table.h"

#include <math.h>

#include "math/dense_gram.h"

#define SAMPLE 64 /* rows */
#define FAR 8.0   /* standard deviations between the mean and 0 */

static double cell(const pl_table *table, uint64_t i, uint64_t j) {
    int64_t at = (int64_t)i * table->row_stride + (int64_t)j * table->column_stride;
    return table->narrow ? (double)table->narrow[at] : table->wide[at];
}

/* The mean of a column over the sample, relative to its first value, so that that of a constant column is exact. */
static double mean_of(const parley_data *data, uint64_t column, bool far) {
    uint64_t rows = data->x.rows, size = rows < SAMPLE ? rows : SAMPLE;
    double first = cell(data->cells, 0, column), sum = 0, squares = 0;
    for (uint64_t k = 1; k < size; k++) {
        double apart = cell(data->cells, rows * k / size, column) - first;
        sum += apart;
        squares += apart * apart;
    }
    double mean = sum / (double)size, deviation = sqrt(fmax(0.0, squares / (double)size - mean * mean));
    bool kept = !far || fabs(first + mean) > FAR * deviation;
    return kept && isfinite(first + mean) ? first + mean : 0.0;
}

parley_status pl_whole_table_open(pl_whole_table *whole, const parley_data *data, bool free, bool far,
                                  parley_error *error) {
    parley_status status = pl_take(&whole->shift, data->x.columns, sizeof *whole->shift, "the table", error);
    for (uint64_t j = 0; j < data->x.columns && status == PARLEY_OK && free; j++)
        whole->shift[j] = mean_of(data, j, far);
    return status;
}

static bool shifts(const pl_whole_table *whole, uint64_t columns) {
    uint64_t j = 0;
    while (j < columns && whole->shift[j] == 0)
        j++;
    return j < columns;
}

parley_status pl_whole_table_convert(pl_whole_table *whole, const parley_data *data, unsigned threads,
                                     parley_error *error) {
    const pl_table *table = data->cells;
    uint64_t rows = data->x.rows, columns = data->x.columns;
    if (!shifts(whole, columns))
        return parley_data_from_dense(rows, columns,
                                      table->narrow ? (const void *)table->narrow : (const void *)table->wide,
                                      table->narrow ? PARLEY_FLOAT32 : PARLEY_FLOAT64, table->row_stride,
                                      table->column_stride, data->label, data->weight, threads, &whole->rows, error);
    parley_status status = pl_take(&whole->shifted, rows, columns * sizeof *whole->shifted, "the table", error);
    for (uint64_t i = 0; i < rows && status == PARLEY_OK; i++)
        for (uint64_t j = 0; j < columns; j++)
            whole->shifted[i * columns + j] = (float)(cell(table, i, j) - whole->shift[j]);
    return status == PARLEY_OK ? parley_data_from_dense(rows, columns, whole->shifted, PARLEY_FLOAT32, (int64_t)columns,
                                                        1, data->label, data->weight, threads, &whole->rows, error)
                               : status;
}

void pl_whole_table_close(pl_whole_table *whole) {
    parley_data_free(whole->rows);
    pl_free(whole->shifted);
    pl_free(whole->shift);
}
