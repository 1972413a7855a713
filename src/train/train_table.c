/* train_table.c: the public parley_train_table. The problem decides whether it uses the table as it is; what is done to
 * rows before a problem is opened needs rows. */
#include "data/arrays.h"
#include "math/dense_gram.h"
#include "train/run.h"

static bool needs_rows(const parley_settings *settings) {
    bool files = *settings->log || *settings->checkpoint || *settings->resume || *settings->replay;
    bool validates = *settings->validation || settings->validation_fraction > 0;
    return files || validates || settings->row_order == PL_BY_CONTENT || pl_stream_of(settings) ||
           !pl_settings_problem(settings)->tables;
}

static parley_status open_rows(const parley_table *table, const parley_settings *settings, parley_data **out,
                               parley_error *error) {
    return parley_data_from_dense(table->rows, table->columns, table->value, table->type, table->row_stride,
                                  table->column_stride, table->label, table->weight, (unsigned)settings->threads, out,
                                  error);
}

static parley_status open_table(const parley_table *table, pl_table *cells, parley_data **out, parley_error *error) {
    *cells = (pl_table){.columns = table->columns,
                        .narrow = table->type == PARLEY_FLOAT32 ? table->value : NULL,
                        .wide = table->type == PARLEY_FLOAT64 ? table->value : NULL,
                        .row_stride = table->row_stride,
                        .column_stride = table->column_stride};
    parley_status status = pl_arrays_open(table->rows, table->columns, table->label, table->weight, out, error);
    if (status != PARLEY_OK)
        return status;
    (*out)->cells = cells;
    (*out)->x.nonzeros = table->rows * table->columns;
    (*out)->x.index = NULL;
    return status;
}

parley_status parley_train_table(const parley_table *table, const parley_settings *settings, const parley_model *start,
                                 parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                                 parley_error *error) {
    parley_data *data;
    pl_table cells;
    bool known = (table->type == PARLEY_FLOAT32 || table->type == PARLEY_FLOAT64) && table->value;
    *out = NULL;
    parley_status status = !known || table->rows == 0 || table->columns == 0 || needs_rows(settings)
                               ? open_rows(table, settings, &data, error)
                               : open_table(table, &cells, &data, error);
    if (status != PARLEY_OK)
        return status;
    status = parley_train_from(data, settings, start, callback, user, out, summary, error);
    parley_data_free(data);
    return status;
}
