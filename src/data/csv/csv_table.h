/* csv_table.h: what must be known of the table that a model was trained on in order to read other tables in the same
 * way: the columns that are not simply numbers or categories, how missing values are filled, and interactions. It
 * travels as JSON text with data, caches and models. */
#ifndef PL_CSV_TABLE_H
#define PL_CSV_TABLE_H

#include "base/memory.h"
#include "data/csv/amounts.h"
#include "data/csv/dates.h"

typedef enum pl_role { PL_IGNORED, PL_NUMBERS, PL_DATES, PL_CATEGORIES, PL_LABELS, PL_WEIGHTS, PL_TEXTS } pl_role;

/* A column of a table. */
typedef struct pl_treatment {
    char *name;
    pl_role role;
    pl_date_order order; /* of dates */
    bool filled;         /* missing numbers and dates are replaced by `fill`; otherwise they count as 0 */
    double fill;
    pl_decimals decimals;
    char *unit;   /* of numbers that are also written as amounts, perhaps empty; NULL: they never are */
    bool bounded; /* amounts may be bounds */
    bool rare;    /* categories that the model does not know are its category PL_TABLE_RARE */
} pl_treatment;

#define PL_TABLE_RARE "(rare)" /* the category of all words that are rare in training */

typedef struct pl_table {
    pl_treatment *columns; /* sorted by name */
    unsigned count;
    char separator;      /* of fields; 0: unknown */
    bool indicated;      /* every column with missing values has a category for them */
    char *missing_words; /* words for missing values besides the usual ones, separated by commas; NULL: none */
    char *interactions;  /* such as "a:b,a:c"; NULL: none */
} pl_table;

/* Returns the column of this name, or NULL. */
const pl_treatment *pl_table_find(const pl_table *table, const char *name);
/* Returns the column with this role, of which there is at most one, or NULL. */
const pl_treatment *pl_table_role(const pl_table *table, pl_role role);
/* The columns need not be sorted. The caller frees the text with pl_free. */
parley_status pl_table_write(const pl_table *table, char **text, parley_error *error);
/* Reads the text; NULL gives an empty table. `path` is the file that it comes from, for messages. */
parley_status pl_table_read(const char *text, const char *path, pl_table *out, parley_error *error);
void pl_table_free(pl_table *table);

/* A column whose numbers do not mean the same in two tables, and what they are in each. */
typedef struct pl_table_difference {
    char column[64], ours[64], theirs[64];
} pl_table_difference;
/* Compares the units and orders of dates of two descriptions, of which NULL is like every other (csv_alike.c). Numbers
 * without a unit are like `ours` with one, as they are in text, and with `either` the other way round too. `path` is
 * the file of `theirs`, for messages. */
parley_status pl_table_compare(const char *ours, const char *theirs, bool either, const char *path, bool *differ,
                               pl_table_difference *out, parley_error *error);

#endif
