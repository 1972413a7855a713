/* model_columns.h: whether the columns of data can be those of the model that they are read for. */
#ifndef PL_MODEL_COLUMNS_H
#define PL_MODEL_COLUMNS_H

#include "data/data.h"

/* Fails if the model was trained on a table, whose columns have names, and this format (NULL: a cache) has none. */
parley_status pl_model_columns_format(const pl_reading *reading, const pl_format *format, const char *path,
                                      parley_error *error);
/* Fails if the names of a cache's columns differ from the model's, or their units. */
parley_status pl_model_columns_cache(const pl_reading *reading, const parley_data *cache, parley_error *error);
/* Returns the number of rows with columns that the model has never seen or, for plain text, without a word of the
 * model. */
uint64_t pl_model_columns_unseen(const pl_reading *reading, const parley_data *data);
/* Warns that so many rows have them; 0 gives no warning. */
void pl_model_columns_warn(const pl_reading *reading, const char *path, uint64_t rows);

#endif
