/* format.h: what the formats of data have in common: each is one file and one row of pl_formats. A format recognises
 * its text, parses blocks of it in parallel, and may write. */
#ifndef PL_FORMAT_H
#define PL_FORMAT_H

#include "data/data.h"
#include "data/source.h"

#define PL_LARGEST_COLUMN 2147483647u
#define PL_USUAL_HASH_BITS 18

/* What is wrong with a line, and where. */
typedef struct pl_fault {
    const char *format; /* of the sentence, which gets word, name (if there is one) and column; NULL: all is well */
    const char *word, *stop; /* the word that is wrong */
    const char *name;        /* of the column */
    uint32_t column;         /* the column at fault, or the one before */
    bool memory;             /* there was none */
} pl_fault;

/* A block of whole lines (or records), where its rows go, and what was found in it. */
typedef struct pl_block {
    const char *text, *end;
    void *state;            /* the format's */
    unsigned number;        /* of the block in its wave */
    uint64_t first_row;     /* rows of the input before it, where rows have a fixed size */
    uint64_t *row_end;      /* of its first row: the number of entries up to the end of that row */
    double *label, *weight; /* weight: NULL unless the format has weights */
    uint32_t *index;
    float *value;
    uint64_t first; /* entries before the block */
    uint64_t rows, entries, lines;
    uint32_t columns;
    bool ones;       /* every value is 1 */
    bool unweighted; /* every weight is 1 */
    pl_fault fault;
} pl_block;

typedef struct pl_waves pl_waves;

struct pl_format {
    const char *name, *title, *help;
    const char *endings;         /* of names, with blanks between them; the format of a file to write */
    const char *no_rows;         /* the end of the sentence on an input without rows */
    const char *const *settings; /* of the group Reading, that it reads; ends with NULL */
    bool (*sniff)(const char *text, uint64_t bytes);
    /* Reads the head and sets what the waves need to know: `state`, where to cut, columns known. NULL: nothing. */
    parley_status (*open)(pl_waves *waves, const pl_reading *reading, parley_error *error);
    /* Goes on with another input of the format, whose source is open: sets `cut` and `lines`. NULL: it has no state,
     * or, where there is an `open`, it takes one input only. */
    parley_status (*next)(pl_waves *waves, parley_error *error);
    /* Upper bounds of `rows` and `entries`: by a pass over the text, or by its size. */
    void (*count)(pl_block *block);
    void (*bound)(pl_block *block);
    /* Parses up to the end or the first fault, which is then in line `lines` of the block, counted from 1. */
    void (*parse)(pl_block *block);
    /* After a wave, for each block in order: numbers what is new. NULL: nothing is. */
    parley_status (*settle)(pl_waves *waves, pl_block *block, parley_error *error);
    /* On ranks that read a part of the input each, before `finish`: what this one learned, as bytes for the others; and
     * what each of them did, in the order of the input. NULL: nothing. */
    parley_status (*tell)(pl_waves *waves, pl_span *out, uint64_t *bytes, parley_error *error);
    parley_status (*learn)(pl_waves *waves, const char *packed, uint64_t bytes, parley_error *error);
    /* Before whole data are handed over, and at the end of streamed ones (`data` NULL). NULL: nothing to do. */
    parley_status (*finish)(pl_waves *waves, parley_data *data, parley_error *error);
    void (*close)(void *state);
    parley_status (*write)(const parley_data *data, const char *path, parley_error *error); /* NULL: cannot */
};

extern const pl_format pl_format_libsvm, pl_format_csv, pl_format_vw, pl_format_idx;

/* The format of `reading`, or by content; refuses settings that it does not read. */
parley_status pl_format_choose(const pl_reading *reading, pl_source *source, const pl_format **out,
                               parley_error *error);
/* Refuses settings of the group Reading that `format` (NULL: a cache) does not read. */
parley_status pl_format_check(const pl_reading *reading, const pl_format *format, const char *path,
                              parley_error *error);
/* Does the source hold nothing but blanks and comments? Then it may be of any format. */
bool pl_source_is_empty(pl_source *source);
/* The sentence for a fault in line `line` of `path`. */
parley_status pl_fault_fail(const pl_fault *fault, const char *path, uint64_t line, parley_error *error);
/* Does `path` end in one of the endings? One of .gz and .zst may follow. */
bool pl_format_ends(const pl_format *format, const char *path);
/* The first line that is not blank and no comment; its length, 0: there is none. */
uint64_t pl_first_line(const char *text, uint64_t bytes, const char **line);

#endif
