/* csv.h: what the two halves of the CSV reader share: csv_columns.c finds out what the columns are, csv.c parses rows.
 */
#ifndef PL_CSV_H
#define PL_CSV_H

#include "data/kept.h"
#include "data/numeral.h"
#include "data/row.h"
#include "data/waves.h"

typedef enum pl_role { PL_IGNORED, PL_NUMBERS, PL_CATEGORIES, PL_LABELS, PL_WEIGHTS } pl_role;

typedef struct pl_csv_column {
    char *name;
    pl_role role;
    uint32_t id;   /* of numbers: the column that they make */
    uint32_t seed; /* of hashed categories: the hash of the name */
    bool words;    /* the head has a word in it */
} pl_csv_column;

/* A block's own memory. */
typedef struct pl_csv_scratch {
    pl_dictionary fresh; /* words that were not known before this wave, of kind column */
    char *text;          /* a field without its doubled quotes */
    uint64_t room;
    pl_sorter sorter;
} pl_csv_scratch;

typedef struct pl_csv {
    char separator;
    bool header, unlabelled, refuse_missing;
    bool matched;                  /* columns are those of a model, and words that it does not know are left out */
    bool hashed;                   /* categories are hashes, behind the `numbers` */
    bool named_labels;             /* labels are words */
    unsigned count, label, weight; /* columns of the file; where label and weight are, or `count` */
    uint32_t numbers, mask;
    pl_csv_column *columns;
    /* Known words of kind column: categories, names of classes, and an empty one for a column of numbers. Their number
     * is the column that they make while rows are read; `map` (matched) or the order by column and text (else) gives
     * the column in the end. */
    pl_dictionary words;
    uint32_t *map;
    char *heading; /* the first line, where it has the names: other inputs may begin with it too */
    uint64_t heading_bytes;
    unsigned blocks;
    pl_csv_scratch *scratch; /* by block */
    pl_kept kept;
} pl_csv;

/* A field, unquoted; `text` may lie in the scratch memory until the next one is read. */
typedef struct pl_field {
    const char *text;
    uint64_t bytes;
    bool quoted;
} pl_field;

/* Reads a field at `p`; returns the separator or newline behind it (or the end), or NULL: a fault. */
const char *pl_csv_field(pl_block *block, const char *p, pl_field *field);
bool pl_csv_missing(const pl_field *field);
/* False: not a numeral. `copy` has room for PL_QUOTED_NUMERAL bytes, and must last as long as the numeral. */
#define PL_QUOTED_NUMERAL 64
bool pl_csv_numeral(const pl_field *field, char *copy, pl_numeral *numeral);

/* Looks at the head of the input and settles what the columns are. */
parley_status pl_csv_columns(pl_csv *csv, pl_waves *waves, const pl_reading *reading, parley_error *error);
/* Finds where the rows of another input begin: behind the same first line, where it has that. */
parley_status pl_csv_next(pl_waves *waves, parley_error *error);
/* Matches the columns with those of a model; csv_match.c. */
parley_status pl_csv_match(pl_csv *csv, const char *path, const pl_reading *reading, parley_error *error);

#endif
