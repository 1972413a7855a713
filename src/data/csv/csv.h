/* csv.h: shared by the files of the CSV reader. csv_columns.c reads the head of the input, csv_names.c names the
 * columns, csv_roles.c decides what they are, csv_decimals.c and csv_marks.c how their numbers are written (amounts.c
 * reads one), csv_tell.c reports it, csv_match.c matches them with a model, csv.c parses rows, csv_missing.c counts and
 * fills missing values, csv_cross.c adds interactions, csv_ids.c keeps the text of a column, csv_rows.c leaves rows
 * out, csv_terms.c reads columns of text, csv_text.c converts the encoding, csv_header.c looks for names, csv_rare.c
 * puts rare categories together, and csv_finish.c gives columns their final numbers and names. */
#ifndef PL_CSV_H
#define PL_CSV_H

#include "data/csv/csv_table.h"
#include "data/hash_names.h"
#include "data/numeral.h"
#include "data/parser.h"
#include "data/row.h"
#include "data/terms.h"
#include "math/exact_sum.h"

#define PL_CSV_MARK 0x80000000u  /* marks a number from the block's own dictionary of new words */
#define PL_CSV_MISSING "missing" /* the word of the category for missing values */

/* How missing numbers are replaced: by 0, by a known number, or by a statistic when all rows have been read. */
typedef enum pl_fill { PL_FILL_ZERO, PL_FILL_KNOWN, PL_FILL_MEAN, PL_FILL_MEDIAN } pl_fill;

typedef struct pl_csv_column {
    char *name;
    pl_role role;
    uint32_t id;         /* of numbers and dates: the column's number in the data */
    uint32_t seed;       /* of hashed categories: the hash of the column name */
    pl_date_order order; /* of dates */
    pl_decimals decimals;
    bool amounts;  /* numbers may have the unit, marks between thousands, or brackets (amounts.h) */
    bool bounded;  /* they may be bounds, such as <5 */
    bool strict;   /* the unit may be a factor, so that other numbers without it count as words */
    bool fast;     /* most values are plain numbers, and nothing else needs their text */
    bool inferred; /* the `decimals` are those of other columns, because no value of this one shows them */
    char unit[PL_UNIT_BYTES];
    pl_fill fill;
    double filler;    /* of PL_FILL_KNOWN */
    bool categorical; /* named by --categorical */
    bool text;        /* named by --text-column */
    unsigned terms;   /* of text: which of the texts it is */
    bool chosen;      /* named by --columns, so it is not left out as an identifier */
    bool dropped;     /* named by --ignore, or not by --columns */
    bool crossed;     /* part of an interaction */
    bool unnamed;     /* the first column, without a name: most likely the numbers of rows */
    bool rare;        /* words that are no known category are its category PL_TABLE_RARE */
    bool identifies;  /* its text is kept, to identify rows */
    bool offset;      /* named by --offset-column: a number that no row lacks */
} pl_csv_column;

/* How many values of a column show which mark is decimal: a point [0] or a comma [1]. */
typedef struct pl_csv_marks {
    uint64_t values;     /* that are not missing */
    uint64_t decimal[2]; /* numbers with it as the decimal mark */
    uint64_t unclear[2]; /* numbers such as 1.234 and 1,234, which may be thousands */
} pl_csv_marks;

/* What the head of the input shows of a column. */
#define PL_EXAMPLE_BYTES 40 /* of a value shown in a message */
typedef struct pl_csv_survey {
    uint64_t numbers, words, missing, dates[PL_DATE_ORDERS];
    uint64_t blanks;                  /* those of the words that stand for missing values in columns of numbers */
    uint64_t fits[PL_DECIMALS_COUNT]; /* values that are numbers if written in this way */
    pl_csv_marks marks;
    uint64_t bare, bounds;   /* numbers without a unit, and bounds */
    uint64_t amounts, units; /* values that only amounts.c reads as numbers, and how many units they have */
    uint64_t distinct;       /* different words */
    double least, most;      /* of the numbers */
    double date_sums[PL_DATE_ORDERS];
    char example[PL_EXAMPLE_BYTES + 1]; /* the first amount, date or word; empty: none */
    bool repeats;                       /* some value occurs twice */
    bool fraction;                      /* some number is not whole */
    bool unsteady;                      /* the numbers do not count 0, 1, 2, ... or 1, 2, 3, ... */
    double last;
    pl_exact_sum sum;
} pl_csv_survey;

/* Values of a column that were treated as missing, or left out. */
typedef struct pl_csv_count {
    uint64_t missing;
    uint64_t words; /* of numbers and dates: words other than those for missing values; of categories: words that the
                       model does not know */
} pl_csv_count;

/* The value of a column in the current row, kept for interactions. */
typedef struct pl_csv_cell {
    bool there;
    double value;
    uint64_t begin, bytes; /* of a category: its word in the `cell_text` */
} pl_csv_cell;

/* What becomes of a row (csv_rows.c). */
typedef enum pl_csv_fate {
    PL_ROW_KEPT,
    PL_ROW_SHORT,
    PL_ROW_LONG,
    PL_ROW_BARE,
    PL_ROW_UNLABELLED,
    PL_ROW_FATES
} pl_csv_fate;

/* Memory of one block. */
typedef struct pl_csv_scratch {
    pl_dictionary fresh; /* words first seen in this window; their kind is the column */
    char *text;          /* a field with its doubled quotes removed */
    uint64_t room;
    pl_sorter sorter;
    bool counted;           /* some count is not 0 */
    pl_csv_count *counts;   /* by column */
    pl_dictionary examples; /* the first word of a column that was counted */
    bool filled;            /* the last field was missing */
    pl_csv_cell *cells;     /* by column; NULL: no interactions */
    pl_span cell_text;
    uint64_t cell_used;
    uint64_t skipped[PL_ROW_FATES]; /* rows left out */
    pl_span id_text, id_end;        /* of the rows of the block: the text that identifies them, and where each ends */
} pl_csv_scratch;

/* The product of two columns, which is a column of its own after those of the file. */
typedef struct pl_csv_cross {
    unsigned left, right, column;
} pl_csv_cross;

/* Columns of text (csv_terms.c). */
typedef struct pl_csv_texts {
    pl_terms *terms;
    unsigned count;
    const parley_settings *settings; /* NULL: the defaults */
    /* by word: how often it occurs, and in how many rows */
    double *tokens, *documents;
    uint64_t counted;
    double rows;
    bool shared;   /* the counts are those of all ranks */
    bool *dropped; /* by word: it is left out; NULL: none is */
} pl_csv_texts;

typedef struct pl_csv_absent {
    uint32_t id;
    double filler;
} pl_csv_absent;

typedef struct pl_csv {
    char separator, comment;
    bool latin1;                      /* the encoding, otherwise UTF-8 */
    bool skips_bad, skips_unlabelled; /* leaves out such rows */
    bool header, unlabelled, refuse_missing;
    bool indicated;                /* missing values are a category of their own */
    bool matched;                  /* columns are those of a model; words unknown to it are left out */
    bool hashed;                   /* categories are hashed to columns after the numeric ones */
    bool named_labels;             /* labels are words */
    bool wide;                     /* values are doubles */
    unsigned count, label, weight; /* columns of the file; positions of label and weight, or `count` if none */
    unsigned tail;                 /* empty columns after those, which are left out */
    uint32_t numbers, mask;
    pl_csv_column *columns; /* of the file, then those of interactions */
    pl_table table;         /* of the model; empty if there is none */
    pl_csv_cross *crosses;
    unsigned cross_count;
    pl_csv_absent *absent; /* numeric columns of the model that the file lacks, with a value for all rows */
    unsigned absent_count;
    char *missing_words, *interactions; /* as given; NULL: none */
    pl_csv_survey *survey;              /* by column, until the roles are decided */
    pl_dictionary surveyed;             /* the values in the head */
    pl_dictionary units;                /* of the amounts in the head; their kind is the column */
    pl_span unit_counts;                /* by number of the unit */
    pl_csv_count *counts;               /* by column */
    uint64_t skipped[PL_ROW_FATES];     /* rows left out */
    pl_dictionary examples;
    pl_exact_sum *sums; /* by column, of other ranks too; NULL: not needed */
    uint64_t rows;      /* of all ranks */
    pl_tell tell, warn; /* of the reading */
    void *user;
    /* Known words: categories, class names, and an empty word for each numeric column. Their kind is the column. While
     * rows are read, entries hold the number of a word; at the end it is replaced by the column, which comes from `map`
     * if matched, else from the order by column and text. */
    pl_dictionary words;
    uint32_t *map;
    uint64_t min_count;  /* rows of a category that is not rare; 0: decided by column */
    uint64_t *word_rows; /* by word: rows that have it, of all ranks; NULL: not counted yet */
    uint64_t word_rows_count;
    uint32_t *joined; /* by word: the one that stands for it, itself unless it is rare; NULL: not decided */
    char *heading;    /* the first line if it holds names, which other inputs may repeat */
    uint64_t heading_bytes;
    pl_reading look; /* what to leave out above it */
    unsigned blocks;
    pl_csv_scratch *scratch; /* by block */
    pl_hash_names hash_names;
    pl_csv_texts texts;
    pl_span id_text, id_start; /* of all rows in the parser: the text that identifies them, and where each starts */
} pl_csv;

/* A field without quotes. `text` may lie in the scratch memory, where it is valid until the next field is read. */
typedef struct pl_field {
    const char *text;
    uint64_t bytes;
    bool quoted;
} pl_field;

/* Reads a field at `p`. Returns the position of the separator, newline or end after it, or NULL on a fault. */
const char *pl_csv_field(pl_block *block, const char *p, pl_field *field);
bool pl_csv_missing(const pl_csv *csv, const pl_field *field);
/* Only text with a digit can be a number, an amount or a date. */
static inline bool pl_csv_has_digit(const pl_field *field) {
    bool digit = false;
    for (uint64_t i = 0; i < field->bytes; i++)
        digit |= field->text[i] >= '0' && field->text[i] <= '9';
    return digit;
}
/* Makes room for a text in the scratch memory, or records that memory ran out and returns false. */
bool pl_csv_room(pl_block *block, uint64_t bytes);
/* Is the text UTF-8 (csv_text.c)? */
bool pl_csv_is_utf8(const char *text, uint64_t bytes);
/* Converts a field from Latin-1 to UTF-8. Returns false if memory runs out. */
bool pl_csv_from_latin1(pl_block *block, pl_field *field);
/* Returns false if the field is not a number. `copy` needs PL_QUOTED_NUMERAL bytes and must outlive the numeral. */
#define PL_QUOTED_NUMERAL 64
bool pl_csv_numeral(const pl_field *field, char *copy, pl_numeral *numeral);

/* Reads a number as the column writes it, perhaps with a unit (csv_decimals.c). `amount` must outlive the numeral. */
bool pl_csv_number(const pl_csv_column *column, const pl_field *field, pl_amount *amount, pl_numeral *numeral);
/* The same for a number that is written in this way, without a unit. */
bool pl_csv_numeral_in(pl_decimals decimals, const pl_field *field, char *copy, pl_numeral *numeral);
/* Is the field a number in any way? */
bool pl_csv_any_numeral(const pl_field *field);
/* Counts a field of the head for each way in which it is a number. Returns false if memory runs out. */
bool pl_csv_count_decimals(pl_csv *csv, unsigned column, const pl_field *field);
/* Counts a number of the head by what its marks show (csv_marks.c). */
void pl_csv_count_marks(pl_csv_marks *marks, const pl_field *field);
/* Decides how the columns are written whose values do not show it, by those of other columns. */
void pl_csv_decide_marks(pl_csv *csv);
/* Chooses a way and a unit for each column, which are those of the model if it knows the column. */
void pl_csv_choose_decimals(pl_csv *csv, bool modelled);
/* Do the amounts of the column have several units, none of which most values have? Lists some of them in `text`. */
bool pl_csv_mixes_units(const pl_csv *csv, unsigned column, char *text, size_t size);

/* The head of the input. */
typedef struct pl_csv_head {
    const char *text, *end; /* whole lines */
    const char *body;       /* after the header */
    const char *path;
    pl_cut cut;
    uint64_t line; /* line number in the body, from 0 */
} pl_csv_head;
typedef parley_status (*pl_csv_take)(pl_csv *csv, unsigned column, const pl_field *field, void *user,
                                     parley_error *error);
/* Reads the record at `p` and calls `take` for each field. Returns its end, or NULL on a fault, with the message in
 * `error`. */
const char *pl_csv_record(pl_csv *csv, const pl_csv_head *head, const char *p, uint64_t line, pl_csv_take take,
                          void *user, parley_error *error);
/* Calls `take` for the values of the head. Faults other than a lack of memory are left for the parser to report. */
parley_status pl_csv_walk(pl_csv *csv, const pl_csv_head *head, pl_csv_take take, void *user, parley_error *error);
/* Counts the columns and names them (csv_names.c). */
parley_status pl_csv_names(pl_csv *csv, pl_csv_head *head, const pl_reading *reading, parley_error *error);
/* What the first lines show of whether the first one holds names (csv_header.c). */
typedef struct pl_csv_first {
    struct pl_csv_first_column *columns;
    unsigned count;
    uint64_t rows;        /* that were seen, with the first line */
    uint64_t first_words; /* words in the first line */
    bool empty;           /* its first field is empty */
    const char *label;    /* name of the label column; NULL: not given */
    pl_dictionary words;  /* of all lines; their kind is the column */
} pl_csv_first;
parley_status pl_csv_first_open(unsigned fields, const char *label, pl_csv_first *first, parley_error *error);
/* Records a field of the current line. Returns false if memory runs out. */
bool pl_csv_first_field(const pl_csv *csv, pl_csv_first *first, unsigned column, const pl_field *field);
#define PL_CSV_FIRST_LINES 200 /* that decide */
bool pl_csv_first_is_header(const pl_csv_first *first);
void pl_csv_first_close(pl_csv_first *first);
/* Is this the usual name of labels with this number, in any case? */
#define PL_CSV_LABEL_NAMES 4
bool pl_csv_names_label(const char *name, uint64_t bytes, unsigned which);

/* Inspects the head of the input and decides what each column holds. */
parley_status pl_csv_columns(pl_csv *csv, pl_parser *parser, const pl_reading *reading, parley_error *error);
/* Records a field of the head. Returns false if memory runs out. */
bool pl_csv_survey_field(pl_csv *csv, unsigned column, const pl_field *field);
/* Decides what each column holds, if there is no model to match. */
parley_status pl_csv_roles(pl_csv *csv, const pl_reading *reading, const char *path, parley_error *error);
/* Reports what the user may not expect of a column (csv_tell.c). */
void pl_csv_tell_roles(const pl_csv *csv, const pl_reading *reading, const char *path);
/* Copies the beginning of a value for a message, without half characters and control characters. */
void pl_csv_show(const char *word, uint64_t bytes, char *text, size_t size);
/* Finds the first row of another input, which may begin with the same first line. */
parley_status pl_csv_next(pl_parser *parser, parley_error *error);
/* Matches the columns with those of a model (csv_match.c). */
parley_status pl_csv_match(pl_csv *csv, const char *path, const pl_reading *reading, parley_error *error);
/* Finds the column that `word` gives by name or number. Returns `count` if there is none. */
unsigned pl_csv_find(const pl_csv *csv, const char *word, size_t length);
/* Fails because the file has no such column. */
parley_status pl_csv_no_column(const pl_csv *csv, const char *path, const char *flag, const char *word, size_t length,
                               parley_error *error);

/* Finds the number of a word in column j; new words are marked. PL_NOT_FOUND: the word is left out. Returns false if
 * memory runs out. */
bool pl_csv_word(pl_block *block, unsigned j, const char *text, uint64_t bytes, uint32_t *number);
/* Adds an entry for a category. Return false on a fault. */
bool pl_csv_category(pl_block *block, unsigned j, const char *text, uint64_t bytes, double value);
bool pl_csv_no_memory(pl_block *block);
/* The value as it is stored. */
static inline double pl_csv_rounded(const pl_csv *csv, double value) {
    return csv->wide ? value : (double)(float)value;
}
static inline void pl_csv_emit(pl_block *block, uint32_t column, double value) {
    block->index[block->entries] = column;
    pl_value_put(block->values, block->entries++, value);
    block->ones &= value == 1.0F;
}

/* Takes the names of the interactions, such as "a:b,a:c", and gives each a column (csv_cross.c). */
parley_status pl_csv_cross_open(pl_csv *csv, const char *interactions, const char *path, parley_error *error);
/* Keeps the field of a column, whose entry is the last one if `there`. Returns false if memory runs out. */
bool pl_csv_cross_keep(pl_block *block, unsigned j, const pl_field *field, bool there);
/* Adds the entries of interactions at the end of a row. Returns false on a fault. */
bool pl_csv_cross_row(pl_block *block);

/* Decides whether the row at `p` is read or left out; `*end` is then its end (csv_rows.c). */
pl_csv_fate pl_csv_judge(pl_block *block, const char *p, const char **end);
/* The same as pl_format's `row`. */
bool pl_csv_row(void *state, const char *line, const char *end, pl_name *label);
void pl_csv_skip(pl_block *block, pl_csv_fate fate);
void pl_csv_merge_skipped(pl_csv *csv, const pl_block *block);
void pl_csv_tell_skipped(const pl_csv *csv, const char *path);

/* Keeps a field that identifies the current row (csv_ids.c). Returns false if memory runs out. */
bool pl_csv_id_keep(pl_block *block, const pl_field *field);
/* Appends the identifying texts of a block to those of the parser, and forgets texts of rows that were discarded. */
parley_status pl_csv_merge_ids(pl_csv *csv, pl_parser *parser, const pl_block *block, parley_error *error);

/* Adds the entry of a missing value; `odd` says that it is a word among numbers (csv_missing.c). Returns false on a
 * fault. */
bool pl_csv_fill(pl_block *block, unsigned j, const pl_field *field, bool odd);
/* Counts a word that is left out. Returns false if memory runs out. */
bool pl_csv_unseen(pl_block *block, unsigned j, const pl_field *field);
parley_status pl_csv_merge_counts(pl_csv *csv, const pl_block *block, parley_error *error);
/* Counts, examples and sums of this rank, as bytes; they are cleared, because unpacking adds those of all ranks. */
parley_status pl_csv_pack_counts(pl_csv *csv, const pl_parser *parser, pl_span *out, uint64_t *bytes,
                                 parley_error *error);
parley_status pl_csv_unpack_counts(pl_csv *csv, const char *packed, uint64_t bytes, parley_error *error);
/* Replaces missing values in all rows. */
parley_status pl_csv_fill_rows(pl_csv *csv, pl_parser *parser, parley_error *error);
/* Reports missing values and words that were left out. */
void pl_csv_tell_missing(const pl_csv *csv, const char *path);
/* The description of the table, for models. The caller frees it with pl_free. */
parley_status pl_csv_describe(const pl_csv *csv, char **text, parley_error *error);

/* Takes the settings of the columns of text, or what the model knows of them (csv_terms.c). */
parley_status pl_csv_texts_open(pl_csv *csv, const pl_reading *reading, const char *path, parley_error *error);
parley_status pl_csv_texts_match(pl_csv *csv, const pl_reading *reading, const char *path, parley_error *error);
/* Adds an entry for each term of a text. Returns false on a fault. */
bool pl_csv_text_read(pl_block *block, const pl_field *field, unsigned j);
/* Turns the counts of terms in the entries from `first` on, which are sorted, into values. */
void pl_csv_texts_weigh(pl_block *block, uint64_t first);
/* The most entries that texts of so many bytes have. */
uint64_t pl_csv_texts_entries(const pl_csv *csv, uint64_t bytes);
/* Counts of terms of this rank, as bytes; unpacking adds those of all ranks. */
parley_status pl_csv_texts_pack(pl_csv *csv, const pl_parser *parser, pl_span *out, uint64_t *bytes,
                                parley_error *error);
parley_status pl_csv_texts_unpack(pl_csv *csv, const char **packed, parley_error *error);
/* When all rows have been read: drops the terms that are left out; says which words they are; learns the columns of
 * the others; and weighs them in all rows. */
parley_status pl_csv_texts_choose(pl_csv *csv, pl_parser *parser, const char *path, parley_error *error);
bool pl_csv_texts_dropped(const pl_csv *csv, uint32_t word);
void pl_csv_texts_place(pl_csv *csv, uint32_t word, uint64_t column);
parley_status pl_csv_texts_finish(pl_csv *csv, pl_parser *parser, parley_data *data, parley_error *error);
void pl_csv_texts_close(pl_csv *csv);
/* Appends the rows of each word on this rank, in the order of the words, or nothing if they are not counted. */
parley_status pl_csv_pack_rows(pl_csv *csv, const pl_parser *parser, pl_span *out, uint64_t *bytes,
                               parley_error *error);
/* Adds those of a rank, whose words are known already. */
parley_status pl_csv_unpack_rows(pl_csv *csv, const char *packed_words, uint64_t word_bytes, const char **packed,
                                 parley_error *error);
/* Decides which categories are rare, and reports the categories of each column (csv_rare.c). */
parley_status pl_csv_join_rare(pl_csv *csv, const pl_parser *parser, const char *path, parley_error *error);

/* Gives columns their final numbers and names (csv_finish.c). */
parley_status pl_csv_finish(pl_parser *parser, parley_data *data, parley_error *error);

#endif
