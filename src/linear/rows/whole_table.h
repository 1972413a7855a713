/* whole_table.h: a dense table in the caller's memory as the data of a linear model. It is used as it is if the method
 * reads tables, and otherwise converted to rows. A free intercept absorbs a shift of each column that is far from 0,
 * which is subtracted in the precision of the table. */
#ifndef PL_WHOLE_TABLE_H
#define PL_WHOLE_TABLE_H

#include "data/data.h"

typedef struct pl_whole_table {
    double *shift;     /* by column; 0 unless the intercept is free */
    float *shifted;    /* a copy of the table without the shift; NULL: there is no shift */
    parley_data *rows; /* NULL: the table is used as it is */
} pl_whole_table;

/* Finds the shift: the mean of a sample of rows. With `far`, it is 0 for columns that are not far from 0. */
parley_status pl_whole_table_open(pl_whole_table *whole, const parley_data *data, bool free, bool far,
                                  parley_error *error);
/* Converts the table to rows. */
parley_status pl_whole_table_convert(pl_whole_table *whole, const parley_data *data, unsigned threads,
                                     parley_error *error);
void pl_whole_table_close(pl_whole_table *whole);

#endif
