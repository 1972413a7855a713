/* data.h: examples in memory: a sparse matrix by rows, with a label and perhaps a weight for each row. */
#ifndef PL_DATA_H
#define PL_DATA_H

#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/settings.h"
#include "data/names.h"
#include "math/values.h"

/* Compressed sparse rows. Row i holds entries start[i] to start[i+1] - 1, in strictly increasing order of columns. */
typedef struct pl_matrix {
    uint64_t rows, columns, nonzeros;
    const uint64_t *start; /* rows + 1 */
    const uint32_t *index; /* column numbers, from 0 */
    pl_values values;
} pl_matrix;

/* Where the entries of a row begin. All rows of a table are full. */
static inline uint64_t pl_row_start(const pl_matrix *x, uint64_t row) {
    return x->start ? x->start[row] : row * x->columns;
}

typedef struct pl_range {
    uint64_t begin, end; /* rows */
} pl_range;

typedef struct pl_part {
    pl_range *ranges;
    uint64_t count, rows, nonzeros;
} pl_part;

/* The assignment of rows to the workers of all ranks. */
typedef struct pl_deal {
    uint64_t rows, nonzeros; /* over all ranks */
    unsigned workers, lanes;
    pl_part *parts;   /* of this rank: hosted workers x lanes, in local row numbers */
    pl_range *ranges; /* the ranges of the parts; NULL: they belong to another object */
    /* Where all rows are, in the order of rows. Only kept where a caller asks for it. */
    struct pl_piece *pieces;
    uint64_t count;
} pl_deal;

/* Consecutive rows that one rank holds. */
typedef struct pl_piece {
    uint64_t begin, end; /* global row numbers */
    uint64_t first;      /* local number of row `begin` on its rank */
    uint64_t before;     /* rows plus non-zeros of all rows before it */
    unsigned rank;
} pl_piece;

/* Where the rows are while each rank still holds the rows that it read. */
typedef struct pl_spread {
    unsigned rank;           /* this rank */
    uint64_t rows, nonzeros; /* over all ranks */
    bool weighted, valued;   /* some rank has weights, or values other than 1 */
    bool wide;               /* of which some are doubles */
    uint64_t count;
    pl_piece *pieces; /* of all ranks, in the order of rows */
} pl_spread;

typedef struct pl_format pl_format;
extern const pl_format *const pl_formats[];
extern const unsigned pl_formats_count;
const pl_format *pl_format_find(const char *name); /* or NULL */

struct parley_data {
    pl_matrix x;
    const struct pl_table *cells; /* a table in the caller's memory instead of entries: x has only its shape, and every
                                     cell counts as a non-zero; NULL: there is none */
    const double *label;          /* by row, as in the file */
    const double *weight;         /* by row; NULL: all weights are 1 */
    const pl_deal *deal;          /* set if each rank holds the rows of its own workers */
    pl_spread *spread; /* set if each rank holds the rows that it read; both NULL: every rank holds all rows */
    pl_deal *own_deal; /* `deal`, if it is freed with the data */
    char *path;        /* for messages */
    uint64_t file_bytes;
    bool from_cache, from_arrays;
    uint64_t rounded;      /* as in pl_block */
    bool read_wide;        /* the text was read as doubles, though this rank may have found only ones */
    char wide_columns[96]; /* the columns that need them, if known */
    bool large;     /* its entries are in a mapped file, because they need more than half of the memory; see release */
    pl_names names; /* of columns, if the format has names */
    pl_names classes;   /* of labels 0, 1, ..., if the labels were words */
    unsigned hash_bits; /* the last 2^hash_bits columns are hashed; 0: none are */
    const char *table;  /* how its table was read (csv_table.h), for reading others for a model; NULL: not a table */
    char *own_table;    /* `table`, if it is freed with the data */
    const pl_format *format;        /* of text */
    struct pl_container *container; /* of a cache: the arrays point into it */
    pl_span spans[5];               /* of text: start, label, weight, index, value */
    pl_names ids;                   /* of a batch: the text of the column that was asked for, by row; may be empty */
    const char *id_name;            /* the name of that column */
};

/* Rows and non-zeros over all ranks. */
static inline uint64_t pl_all_rows(const parley_data *data) {
    return data->deal ? data->deal->rows : data->spread ? data->spread->rows : data->x.rows;
}
static inline uint64_t pl_all_nonzeros(const parley_data *data) {
    return data->deal ? data->deal->nonzeros : data->spread ? data->spread->nonzeros : data->x.nonzeros;
}
/* Are values doubles, on this rank or another? */
static inline bool pl_is_wide(const parley_data *data) {
    return data->spread ? data->spread->wide : data->x.values.wide != NULL;
}
/* Does this rank hold only some of the rows? */
static inline bool pl_is_parted(const parley_data *data) { return data->deal || data->spread; }
/* The global number of a local row, while each rank holds the rows that it read. */
uint64_t pl_whole_row(const parley_data *data, uint64_t row);
void pl_spread_free(pl_spread *spread);
void pl_deal_free(pl_deal *deal);

/* How to read an input. If zero-initialised, the format is found by content and all settings have their defaults. */
typedef void (*pl_tell)(void *user, const char *sentence);
/* Sees how much of an input has been read, or of an output written. `all` 0: unknown. */
typedef struct pl_watching {
    void (*see)(void *user, uint64_t done, uint64_t all); /* NULL: nobody sees it */
    void *user;
} pl_watching;

typedef struct pl_reading {
    const parley_settings *settings; /* tells which settings were given; may be NULL */
    const pl_format *format;         /* NULL: found by content */
    pl_header header;
    char separator;      /* of fields; 0: found by content */
    char comment;        /* lines that begin with it are left out; 0: none */
    uint64_t skip_lines; /* lines to leave out at the beginning of each input */
    pl_encoding encoding;
    pl_refusal missing_label, bad_rows;
    const char *label_column, *weight_column, *categorical, *labels; /* NULL or "": not given */
    const char *offset_column;                                   /* the same; of the model, if the data are for one */
    const char *columns, *ignore, *missing_words, *interactions; /* the same */
    const char *text_column;                                     /* the same */
    pl_missing missing;
    uint64_t min_count; /* rows that a category needs; 0: decided by column */
    bool hashed, keep_names;
    bool wide;          /* values are doubles, if the format reads them */
    bool unjudged;      /* they are not judged (precision.h), so they keep their type */
    bool kept;          /* the rows will be used with others, so that a constant keeps its digits too */
    bool in_batches;    /* rows are used before all have been read */
    unsigned hash_bits; /* 0: the default */
    bool unlabelled;    /* the input may lack labels */
    bool needs_labels;  /* rows are trained on, and their labels are wanted; plain text must have them */
    bool label_sets;    /* LIBSVM text is for a model whose rows have any number of labels */
    bool documents;     /* rows are trained on, and labels are not wanted: text that is no table is plain text */
    const char *spill;  /* folder for a file with the rows of text that needs too much memory; NULL: refuse it */
    const char *id;     /* name or number of a column whose text batches keep in `ids`; NULL or "": none */
    /* The model that the data are for; `model_columns` 0: none. Columns are matched by name if the model has names. */
    uint64_t model_columns;
    const pl_names *names, *classes;
    unsigned model_bits;  /* the last 2^model_bits columns of the model are hashed; 0: none are */
    const char *table;    /* how the model's training table was read; NULL: it was no table */
    pl_tell tell;         /* called with messages about the input; may be NULL */
    pl_tell warn;         /* called if data and model have different columns; may be NULL */
    void *user;           /* passed to both */
    pl_watching watching; /* called after each window of text, by the thread that reads */
} pl_reading;
parley_status pl_reading_of(const parley_settings *settings, pl_reading *out, parley_error *error);

/* Inputs to read. Several inputs are read as one, in the given order. */
typedef struct pl_input {
    char *path;
    bool regular;         /* a regular file, which can be read more than once */
    uint64_t bytes;       /* of the file; 0: unknown */
    uint64_t rows, lines; /* found in this input */
} pl_input;
typedef struct pl_inputs {
    pl_input *list;
    unsigned count;
    char *title; /* the name of the only input, or "FIRST and 3 more" */
} pl_inputs;
/* What an input holds, by its first bytes. */
typedef struct pl_look {
    bool cache, mapped, empty; /* mapped: uncompressed text in a file, which can be read from any position */
    const pl_format *format;   /* NULL: a cache, or empty */
} pl_look;
/* Is the path a regular file, of so many bytes, which can be read more than once? */
bool pl_is_regular(const char *path, uint64_t *bytes);
parley_status pl_input_look(const pl_input *input, const pl_reading *reading, pl_look *out, parley_error *error);
/* Fails because two inputs have different formats. */
parley_status pl_inputs_fail(const pl_input *first, const pl_format *format, const pl_input *other,
                             const pl_format *of_other, parley_error *error);
/* Inspects all inputs before any is read, because they must have one format. `all` describes them together: empty if
 * all are empty, mapped if all that are not empty are mapped. mapped[i], which may be NULL, is set by input. `*first`
 * is the first input that is not empty. */
parley_status pl_inputs_look(const pl_inputs *inputs, const pl_reading *reading, bool *mapped, pl_look *all,
                             unsigned *first, parley_error *error);
/* Each word is a file, "-", or a pattern with *, ? or [, which stands for the matching files in sorted order. */
parley_status pl_inputs_open(pl_inputs *inputs, const char *const *words, unsigned count, parley_error *error);
void pl_inputs_close(pl_inputs *inputs);
/* Reads all inputs into memory. They must have one format, or all be caches. */
parley_status pl_data_read_all(const pl_inputs *inputs, const pl_reading *reading, pl_pool *pool, parley_data **out,
                               parley_error *error);

/* Reads a whole input into memory. The content tells text from caches, and whether it is compressed with gzip or
 * Zstandard. "-" is standard input. Before the large allocation, `tell` (may be NULL) is called with a message on the
 * memory needed. */
parley_status pl_data_read_as(const char *path, const pl_reading *reading, pl_pool *pool, parley_data **out,
                              parley_error *error);
/* The same with the default settings. */
parley_status pl_data_read(const char *path, pl_pool *pool, pl_tell tell, void *user, parley_data **out,
                           parley_error *error);
/* Reads a weight for every row of `data`, one per line. */
parley_status pl_data_read_weights(parley_data *data, const char *path, parley_error *error);
/* The same from text in memory; `name` is for messages. */
parley_status pl_data_parse_weights(parley_data *data, const void *text, uint64_t bytes, const char *name,
                                    parley_error *error);
/* Starts a data set of `rows` rows taken from `whole`. It has no rows yet; names and classes still belong to `whole`.
 */
parley_data pl_data_part(const parley_data *whole, uint64_t rows);
/* Copies the listed rows, in that order. Columns are unchanged, and their names still belong to `data`. */
parley_status pl_data_subset(const parley_data *data, const uint64_t *rows, uint64_t count, parley_data **out,
                             parley_error *error);
/* Data whose values are floats: those given, or a copy. */
typedef struct pl_narrowed {
    parley_data data;
    pl_spread spread;
    pl_span values;
} pl_narrowed;
/* Converts the values of the rows that this rank holds to floats. */
parley_status pl_narrow(const parley_data *data, pl_narrowed *out, parley_error *error);
/* Fails if there are no rows to train on or, with `labels`, no labels. */
parley_status pl_data_teaches(const parley_data *data, bool labels, parley_error *error);
/* Fails if the data are in a mapped cache and its file has changed since it was opened. */
parley_status pl_data_unchanged(const parley_data *data, parley_error *error);
/* Gives back the memory of the entries of rows [begin, end), if the data are larger than memory. They are read again
 * from their file when they are used. */
void pl_data_release(const parley_data *data, uint64_t begin, uint64_t end);
/* The same after rows were read that are not read in order, with what the kernel mapped around them. */
void pl_data_leave(const parley_data *data, uint64_t begin, uint64_t end);
/* Begins to read the entries of rows [begin, end), if the data are larger than memory. */
void pl_data_ahead(const parley_data *data, uint64_t begin, uint64_t end);
/* Bytes of the arrays, in memory or in a cache file. */
uint64_t pl_data_bytes(const parley_data *data);

/* Reads an input in batches, so that it may be larger than memory. A batch is valid until the next call. */
typedef struct pl_reader pl_reader;
parley_status pl_reader_open_as(const char *path, const pl_reading *reading, pl_pool *pool, pl_reader **out,
                                parley_error *error);
parley_status pl_reader_open(const char *path, pl_pool *pool, pl_reader **out, parley_error *error);
/* Sets `*batch` to NULL at the end. Its `x.columns` is the largest number of columns so far. */
parley_status pl_reader_next(pl_reader *reader, const parley_data **batch, parley_error *error);
void pl_reader_close(pl_reader *reader);

/* Writes a cache (safetensors, see docs/formats.md) atomically. */
parley_status pl_data_write_cache(const parley_data *data, const char *path, parley_error *error);
/* Write text, compressed if the name ends in .gz or .zst. "-" is standard output. Numbers get the fewest digits that
 * read back as the same value. */
parley_status pl_data_write_libsvm(const parley_data *data, const char *path, const pl_watching *watching,
                                   parley_error *error);
parley_status pl_data_write_csv(const parley_data *data, const char *path, const pl_watching *watching,
                                parley_error *error);
parley_status pl_data_write_vw(const parley_data *data, const char *path, const pl_watching *watching,
                               parley_error *error);

/* Generates data: "text" makes sparse rows like bags of words with labels -1 and +1, "dense" makes badly scaled full
 * rows with real labels. The same settings (rows, columns, nonzeros, seed) give the same data on every machine. */
typedef struct pl_generator {
    const char *name, *help;
    parley_status (*make)(const parley_settings *settings, parley_data **out, parley_error *error);
    bool sparse; /* it reads how many non-zeros and topics rows have */
} pl_generator;
extern const pl_generator pl_generators[];
extern const unsigned pl_generators_count;

#endif
