/* csv.h: shared by the files of the CSV reader. csv_columns.c finds out what the columns are, csv_match.c matches them
 * with a model, csv.c parses rows. */
#ifndef PL_CSV_H
#define PL_CSV_H

#include "data/hash_names.h"
#include "data/numeral.h"
#include "data/parser.h"
#include "data/row.h"

typedef enum pl_role { PL_IGNORED, PL_NUMBERS, PL_CATEGORIES, PL_LABELS, PL_WEIGHTS } pl_role;

typedef struct pl_csv_column {
    char *name;
    pl_role role;
    uint32_t id;   /* of a numeric column: its number in the data */
    uint32_t seed; /* of hashed categories: the hash of the column name */
    bool words;    /* the head of the input has a word in this column */
} pl_csv_column;

/* Memory of one block. */
typedef struct pl_csv_scratch {
    pl_dictionary fresh; /* words first seen in this window; their kind is the column */
    char *text;          /* a field with its doubled quotes removed */
    uint64_t room;
    pl_sorter sorter;
} pl_csv_scratch;

typedef struct pl_csv {
    char separator;
    bool header, unlabelled, refuse_missing;
    bool matched;                  /* columns are those of a model; words unknown to it are left out */
    bool hashed;                   /* categories are hashed to columns after the numeric ones */
    bool named_labels;             /* labels are words */
    unsigned count, label, weight; /* columns of the file; positions of label and weight, or `count` if none */
    uint32_t numbers, mask;
    pl_csv_column *columns;
    /* Known words: categories, class names, and an empty word for each numeric column. Their kind is the column. While
     * rows are read, entries hold the number of a word; at the end it is replaced by the column, which comes from `map`
     * if matched, else from the order by column and text. */
    pl_dictionary words;
    uint32_t *map;
    char *heading; /* the first line if it holds names, which other inputs may repeat */
    uint64_t heading_bytes;
    unsigned blocks;
    pl_csv_scratch *scratch; /* by block */
    pl_hash_names hash_names;
} pl_csv;

/* A field without quotes. `text` may lie in the scratch memory, where it is valid until the next field is read. */
typedef struct pl_field {
    const char *text;
    uint64_t bytes;
    bool quoted;
} pl_field;

/* Reads a field at `p`. Returns the position of the separator, newline or end after it, or NULL on a fault. */
const char *pl_csv_field(pl_block *block, const char *p, pl_field *field);
bool pl_csv_missing(const pl_field *field);
/* Returns false if the field is not a number. `copy` needs PL_QUOTED_NUMERAL bytes and must outlive the numeral. */
#define PL_QUOTED_NUMERAL 64
bool pl_csv_numeral(const pl_field *field, char *copy, pl_numeral *numeral);

/* Inspects the head of the input and decides what each column holds. */
parley_status pl_csv_columns(pl_csv *csv, pl_parser *parser, const pl_reading *reading, parley_error *error);
/* Finds the first row of another input, which may begin with the same first line. */
parley_status pl_csv_next(pl_parser *parser, parley_error *error);
/* Matches the columns with those of a model (csv_match.c). */
parley_status pl_csv_match(pl_csv *csv, const char *path, const pl_reading *reading, parley_error *error);

#endif
