/* parser.h: parses the text of a source window by window into arrays that grow. The blocks of a window are parsed in
 * parallel. */
#ifndef PL_PARSER_H
#define PL_PARSER_H

#include "base/memory.h"
#include "base/pool.h"
#include "data/format.h"

struct pl_parser {
    pl_source *source;
    const pl_format *format; /* NULL: not text */
    void *state;             /* of the format */
    pl_cut cut;
    pl_pool *pool;
    pl_block *blocks;
    unsigned block_count;
    pl_span start, label, weight, index,
        value; /* of `rows` rows with `entries` entries; `value` is unused while `ones` */
    uint64_t rows, entries, columns, lines;
    uint64_t released; /* entries whose memory was given back */
    uint64_t passed;   /* number of rows before those, which were discarded */
    bool ones;
    bool wide;                                /* values are doubles */
    uint64_t rounded;                         /* as in pl_block */
    bool needs_all;                           /* columns get their final numbers when all rows have been read */
    bool weighted, unweighted;                /* the format has weights; all weights so far are 1 */
    const char *spill;                        /* as in pl_reading */
    pl_watching watching;                     /* the same */
    uint64_t expected_rows, expected_entries; /* final numbers; 0: reserve memory only for the current window */
    pl_input *inputs, only;                   /* inputs, read one after the other */
    unsigned input, input_count;
    bool asked;                  /* the format was given, not found by content */
    pl_reading look;             /* how the format of further inputs is found */
    uint64_t window_bytes, used; /* used: bytes of the inputs before this one */
    uint64_t rows_before;        /* number of rows when this input began */
    const char *name;            /* for messages, if there is no source */
    const char *title;           /* of all inputs, if there are several */
    pl_fault fault;              /* the fault in line `lines` that stopped the parser */
    pl_names ids;                /* the text of the column that was asked for, of all `rows`; may be empty */
    const char *id_name;         /* the name of that column */
};

/* `block_bytes` is the approximate size of a block; 0: the default. */
parley_status pl_parser_open(const char *path, const pl_reading *reading, pl_pool *pool, uint64_t block_bytes,
                             pl_parser *parser, parley_error *error);
/* Opens several inputs, which must outlive the parser. It fills in the rows and lines of each. */
parley_status pl_parser_open_all(pl_input *inputs, unsigned count, const pl_reading *reading, pl_pool *pool,
                                 uint64_t block_bytes, pl_parser *parser, parley_error *error);
/* Opens a parser for text that comes from pl_parser_add. */
parley_status pl_parser_open_empty(const pl_format *format, pl_pool *pool, pl_parser *parser, parley_error *error);
/* Parses whole lines of text from the input `name`. PL_TEXT_MARGIN bytes after the text must be readable, and NUL if
 * the last line has no newline. */
parley_status pl_parser_add(pl_parser *parser, const char *name, const char *text, uint64_t bytes, parley_error *error);
/* Opens text in memory; `name` is for messages. */
parley_status pl_parser_memory(const void *text, uint64_t bytes, const char *name, const pl_reading *reading,
                               pl_pool *pool, uint64_t block_bytes, pl_parser *parser, parley_error *error);
/* Parses the next window; `*more` is false at the end. */
parley_status pl_parser_next(pl_parser *parser, bool *more, parley_error *error);
/* Keeps the rows in a file from now on, and tells so. */
parley_status pl_parser_spill(pl_parser *parser, pl_tell tell, void *user, parley_error *error);
/* Gives back the memory of entries before `end`, if they are in a file. */
void pl_parser_release(pl_parser *parser, uint64_t end);
/* The size of all inputs, 0 if unknown, and how many bytes were used up to the end of this window. */
uint64_t pl_parser_bytes(const pl_parser *parser);
uint64_t pl_parser_used(const pl_parser *parser);
/* Discards the rows, so that the next window starts at the front of the arrays. */
void pl_parser_rewind(pl_parser *parser);
/* Bytes of an entry in the arrays. */
static inline uint64_t pl_parser_entry_bytes(const pl_parser *parser) {
    return sizeof(uint32_t) + (parser->ones ? 0 : pl_value_size(parser->wide));
}
/* The values of all rows in the arrays. */
pl_values pl_parser_values(const pl_parser *parser);
/* Fails because the input `name` has no rows. */
parley_status pl_parser_no_rows(const pl_parser *parser, const char *name, parley_error *error);
void pl_parser_close(pl_parser *parser);

#endif
