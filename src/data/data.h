/* data.h: examples in memory: a sparse matrix by rows, a label and perhaps a weight for each row. */
#ifndef PL_DATA_H
#define PL_DATA_H

#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/settings.h"
#include "data/names.h"

/* Compressed sparse rows. Row i holds entries start[i] .. start[i+1]; its column ids rise strictly. */
typedef struct pl_matrix {
    uint64_t rows, columns, nonzeros;
    const uint64_t *start; /* rows + 1 */
    const uint32_t *index; /* column ids, from 0 */
    const float *value;    /* NULL: every entry is 1 */
} pl_matrix;

typedef struct pl_range {
    uint64_t begin, end; /* rows */
} pl_range;

typedef struct pl_part {
    pl_range *ranges;
    uint64_t count, rows, nonzeros;
} pl_part;

/* How rows were dealt to ranks while they were read. */
typedef struct pl_deal {
    uint64_t rows, nonzeros; /* of all ranks */
    unsigned workers, lanes;
    pl_part *parts;   /* of this rank: hosted workers x lanes, in numbers of its own rows */
    pl_range *ranges; /* what they point into; NULL: somebody else's */
    /* Where all rows are, in the order of rows; none where nobody asks. */
    struct pl_piece *pieces;
    uint64_t count;
} pl_deal;

/* A run of rows that one rank read. */
typedef struct pl_piece {
    uint64_t begin, end; /* rows of the whole */
    uint64_t first;      /* number of row `begin` among those that the rank holds */
    uint64_t before;     /* rows and non-zeros of all rows before it */
    unsigned rank;
} pl_piece;

/* How rows lie on the ranks that read them, while they have not been dealt. */
typedef struct pl_spread {
    unsigned rank;           /* this one */
    uint64_t rows, nonzeros; /* of all ranks */
    bool weighted, valued;   /* some rank has weights, or values other than 1 */
    uint64_t count;
    pl_piece *pieces; /* of all ranks, in the order of rows */
} pl_spread;

typedef struct pl_format pl_format;
extern const pl_format *const pl_formats[];
extern const unsigned pl_formats_count;
const pl_format *pl_format_find(const char *name); /* or NULL */

struct parley_data {
    pl_matrix x;
    const double *label;  /* rows, as in the file */
    const double *weight; /* rows, or NULL: all 1 */
    const pl_deal *deal;  /* each rank holds the rows of its own workers */
    pl_spread *spread;    /* or those that it read; both NULL: every rank holds all rows */
    pl_deal *own_deal;    /* `deal`, where it is freed with the data */
    char *path;           /* for messages */
    uint64_t file_bytes;
    bool from_cache, from_arrays;
    pl_names names;                 /* of columns; none where the format has none */
    pl_names classes;               /* of labels 0, 1, ..., where they were words */
    unsigned hash_bits;             /* the last 2^hash_bits columns are hashes; 0: none are */
    const pl_format *format;        /* text: what it was read as */
    struct pl_container *container; /* cache: what the arrays point into */
    pl_span spans[5];               /* text: start, label, weight, index, value */
};

/* Rows and non-zeros of all ranks together. */
static inline uint64_t pl_all_rows(const parley_data *data) {
    return data->deal ? data->deal->rows : data->spread ? data->spread->rows : data->x.rows;
}
static inline uint64_t pl_all_nonzeros(const parley_data *data) {
    return data->deal ? data->deal->nonzeros : data->spread ? data->spread->nonzeros : data->x.nonzeros;
}
/* Are there rows that this rank does not hold? */
static inline bool pl_is_parted(const parley_data *data) { return data->deal || data->spread; }
/* The number in the whole of a row that this rank holds, while rows are not dealt. */
uint64_t pl_whole_row(const parley_data *data, uint64_t row);
void pl_spread_free(pl_spread *spread);
void pl_deal_free(pl_deal *deal);

/* How an input is to be read; zero-initialised: by its content and with the defaults of the settings. */
typedef void (*pl_tell)(void *user, const char *sentence);
typedef struct pl_reading {
    const parley_settings *settings; /* which of them were given; may be NULL */
    const pl_format *format;         /* NULL: by content */
    pl_header header;
    pl_separator separator;
    const char *label_column, *weight_column, *categorical, *labels; /* NULL or "": not given */
    bool hashed, refuse_missing, keep_names;
    unsigned hash_bits; /* 0: the usual */
    bool unlabelled;    /* labels need not be there */
    /* A model that the data are for; `model_columns` 0: none. Columns are matched by name where it has names. */
    uint64_t model_columns;
    const pl_names *names, *classes;
    unsigned model_bits; /* its last 2^model_bits columns are hashes; 0: none are */
    pl_tell tell;        /* called with sentences on what was found; may be NULL */
    pl_tell warn;        /* called where data and model have different columns; may be NULL */
    void *user;          /* of both */
} pl_reading;
parley_status pl_reading_of(const parley_settings *settings, pl_reading *out, parley_error *error);

/* What there is to read. Several inputs are as good as one that holds the rows of all of them, in their order. */
typedef struct pl_input {
    char *path;
    bool regular;         /* a file, which can be read more than once */
    uint64_t bytes;       /* of the file; 0: not known */
    uint64_t rows, lines; /* that were found there */
} pl_input;
typedef struct pl_inputs {
    pl_input *list;
    unsigned count;
    char *title; /* the name of the only one, or of the first "and 3 more" */
} pl_inputs;
/* Each word is a file, or "-", or a pattern with *, ? or [ that stands for the files which match it, sorted. */
/* What an input is, by its first bytes. */
typedef struct pl_look {
    bool cache, mapped, empty; /* mapped: plain text in a file, that can be read from anywhere */
    const pl_format *format;   /* NULL: a cache, or empty */
} pl_look;
parley_status pl_input_look(const pl_input *input, const pl_reading *reading, pl_look *out, parley_error *error);
/* Inputs of two forms cannot be read together. */
parley_status pl_inputs_fail(const pl_input *first, const pl_format *format, const pl_input *other,
                             const pl_format *of_other, parley_error *error);
/* Looks at all files before any is read, since they must be of one form: that of `all`, which is empty if they are, and
 * mapped if each that is not is (`mapped`, by input; may be NULL). `*first` is not empty. */
parley_status pl_inputs_look(const pl_inputs *inputs, const pl_reading *reading, bool *mapped, pl_look *all,
                             unsigned *first, parley_error *error);
parley_status pl_inputs_open(pl_inputs *inputs, const char *const *words, unsigned count, parley_error *error);
void pl_inputs_close(pl_inputs *inputs);
/* Reads all inputs whole: of one format, or all of them caches. */
parley_status pl_data_read_all(const pl_inputs *inputs, const pl_reading *reading, pl_pool *pool, parley_data **out,
                               parley_error *error);

/* Reads a whole input: text of some format or a cache, told apart by content; `.gz` and `.zst` by content too; "-" is
 * standard input. `tell` (may be NULL) is called once before the large allocation with a sentence on the memory that
 * will be needed. */
parley_status pl_data_read_as(const char *path, const pl_reading *reading, pl_pool *pool, parley_data **out,
                              parley_error *error);
/* The same with nothing but the defaults. */
parley_status pl_data_read(const char *path, pl_pool *pool, pl_tell tell, void *user, parley_data **out,
                           parley_error *error);
/* Reads one weight per line for every row of `data`. */
parley_status pl_data_read_weights(parley_data *data, const char *path, parley_error *error);
/* What data of `rows` of these rows begin with: no rows yet, and names and classes that stay the whole's. */
parley_data pl_data_part(const parley_data *whole, uint64_t rows);
/* A copy of the rows that are listed, in that order; the columns stay, and their names stay the whole's. */
parley_status pl_data_subset(const parley_data *data, const uint64_t *rows, uint64_t count, parley_data **out,
                             parley_error *error);
/* There must be rows, and labels, to learn from. */
parley_status pl_data_teaches(const parley_data *data, parley_error *error);
/* Bytes that the arrays of the data take, in memory or in a cache file. */
uint64_t pl_data_bytes(const parley_data *data);

/* Reads the same inputs piece by piece, so that they may be larger than memory. A batch is valid until the next call.
 */
typedef struct pl_reader pl_reader;
parley_status pl_reader_open_as(const char *path, const pl_reading *reading, pl_pool *pool, pl_reader **out,
                                parley_error *error);
parley_status pl_reader_open(const char *path, pl_pool *pool, pl_reader **out, parley_error *error);
/* `*batch` is NULL at the end. Its `x.columns` is the largest seen so far. */
parley_status pl_reader_next(pl_reader *reader, const parley_data **batch, parley_error *error);
void pl_reader_close(pl_reader *reader);

/* Writes a cache (safetensors; docs/formats.md), atomically. */
parley_status pl_data_write_cache(const parley_data *data, const char *path, parley_error *error);
/* Writes text of a format, compressed if the name ends in .gz or .zst; "-" is standard output. Values in the shortest
 * form that reads back the same. */
parley_status pl_data_write_libsvm(const parley_data *data, const char *path, parley_error *error);
parley_status pl_data_write_csv(const parley_data *data, const char *path, parley_error *error);
parley_status pl_data_write_vw(const parley_data *data, const char *path, parley_error *error);

/* Makes data: kind "text" (bag-of-words-like sparse rows, labels -1 and +1) or "dense" (every column filled, badly
 * scaled, real labels). The same for the same settings (rows, columns, nonzeros, seed) on every machine. */
typedef struct pl_generator {
    const char *name, *help;
    parley_status (*make)(const parley_settings *settings, parley_data **out, parley_error *error);
} pl_generator;
extern const pl_generator pl_generators[];
extern const unsigned pl_generators_count;

#endif
