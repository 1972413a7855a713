/* format.h: the interface of a data format. Each format is one file and one row of pl_formats. It recognises its text,
 * parses blocks of text in parallel, and may write text. */
#ifndef PL_FORMAT_H
#define PL_FORMAT_H

#include "data/data.h"
#include "data/source.h"

#define PL_LARGEST_COLUMN 2147483647u
#define PL_USUAL_HASH_BITS 18

/* An error in a line. */
typedef struct pl_fault {
    const char *format;      /* of the message, which gets word, name (if any) and column; NULL: no error */
    const char *word, *stop; /* the word at fault */
    const char *name;        /* of the column, or NULL */
    uint32_t column;         /* the column at fault, or the one before it */
    bool memory;             /* out of memory */
    bool wide;               /* the value is out of the range of floats, though not of doubles */
} pl_fault;

/* A block of whole lines or records: its text, where its rows go, and what was found. */
typedef struct pl_block {
    const char *text, *end;
    void *state;            /* of the format */
    unsigned number;        /* of the block in its window */
    uint64_t first_row;     /* number of rows before it, if rows have a fixed size */
    uint64_t *row_end;      /* for each row of the block: the number of entries up to its end */
    double *label, *weight; /* weight: NULL if the format has no weights */
    uint32_t *index;
    pl_value_room values; /* wide only if the format reads wide values */
    uint64_t first;       /* number of entries before the block */
    uint64_t rows, entries, lines;
    uint32_t columns;
    bool ones;        /* every value is 1 */
    bool unweighted;  /* every weight is 1 */
    uint64_t rounded; /* by column modulo 64: has some number more digits than the float that it became? */
    pl_fault fault;
} pl_block;

typedef struct pl_parser pl_parser;

struct pl_format {
    const char *name, *title, *help;
    const char *endings;         /* of file names, separated by blanks; they select the format of a file to write */
    const char *no_rows;         /* the end of the message on an input without rows */
    const char *const *settings; /* of the group Reading that the format uses; ends with NULL */
    bool wide;                   /* values are measurements, which it can also read as doubles */
    bool (*sniff)(const char *text, uint64_t bytes);
    /* Reads the head of the input and sets `state`, `cut` and the known columns of the parser. NULL: not needed. */
    parley_status (*open)(pl_parser *parser, const pl_reading *reading, parley_error *error);
    /* Starts another input of the same format, whose source is open: sets `cut` and `lines`. NULL: the format has no
     * state or, if it has an `open`, reads only one input. */
    parley_status (*next)(pl_parser *parser, parley_error *error);
    /* Set upper bounds of `rows` and `entries`: `count` by a pass over the text, `bound` from its size. */
    void (*count)(pl_block *block);
    void (*bound)(pl_block *block);
    /* Parses up to the end or to the first fault, which is then in line `lines` of the block, counted from 1. */
    void (*parse)(pl_block *block);
    /* Called after a window for each block in order: gives numbers to new words. NULL: not needed. */
    parley_status (*merge)(pl_parser *parser, pl_block *block, parley_error *error);
    bool merges_faults; /* also if the block has a fault, because `merge` may find an earlier one */
    /* Used when ranks read a part of the input each, before `finish`. `pack` writes the words that this rank found as
     * bytes for the other ranks; `unpack` adds the words of each rank, in the order of the input. NULL: not needed. */
    parley_status (*pack)(pl_parser *parser, pl_span *out, uint64_t *bytes, parley_error *error);
    parley_status (*unpack)(pl_parser *parser, const char *packed, uint64_t bytes, parley_error *error);
    /* Called when all rows have been read; `data` is NULL if they were read in batches. NULL: not needed. */
    parley_status (*finish)(pl_parser *parser, parley_data *data, parley_error *error);
    void (*close)(void *state);
    /* Is the line, up to the end that `cut` gives it, a row? `label` is the text of its label until the next call, or
     * empty. NULL: rows are not lines. */
    bool (*row)(void *state, const char *line, const char *end, pl_name *label);
    /* NULL: Parley does not write this format. `watching` may be NULL. */
    parley_status (*write)(const parley_data *data, const char *path, const pl_watching *watching, parley_error *error);
};

extern const pl_format pl_format_libsvm, pl_format_csv, pl_format_vw, pl_format_idx, pl_format_docword, pl_format_mm,
    pl_format_ldac, pl_format_text, pl_format_multilabel;

/* Returns the format given in `reading`, else finds it by content. Fails on settings that the format does not use. */
parley_status pl_format_choose(const pl_reading *reading, pl_source *source, const pl_format **out,
                               parley_error *error);
/* Fails on settings of the group Reading that `format` (NULL: a cache) does not use. */
parley_status pl_format_check(const pl_reading *reading, const pl_format *format, const char *path,
                              parley_error *error);
/* Does the source hold only blanks and comments? It may then be of any format. */
bool pl_source_is_empty(pl_source *source);
/* Fails with the message for a fault in line `line` of `path`. */
parley_status pl_fault_fail(const pl_fault *fault, const char *path, uint64_t line, parley_error *error);
/* Does `path` end in one of the endings, perhaps followed by .gz or .zst? */
bool pl_format_ends(const pl_format *format, const char *path);
/* Returns the first line of the data: what follows a byte order mark, the lines that are to be skipped, comments of the
 * given character and blank lines. NULL: it is not in this text, which is not the `whole` input. `*lines`: the lines
 * before it. */
const char *pl_past_preamble(const pl_reading *reading, const char *p, const char *end, bool whole, uint64_t *lines);
/* Returns the text behind a first line such as sep=; which programs of spreadsheets write, and the separator; else `p`.
 */
const char *pl_past_separator(const char *p, const char *end, char *separator);
/* Finds the first line that is neither blank nor a comment. Returns its length, or 0 if there is none. */
uint64_t pl_first_line(const char *text, uint64_t bytes, const char **line);

#endif
