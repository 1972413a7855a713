/* waves.h: parses a source wave by wave, the blocks of a wave in parallel, straight into arrays that grow. */
#ifndef PL_WAVES_H
#define PL_WAVES_H

#include "base/memory.h"
#include "base/pool.h"
#include "data/format.h"

struct pl_waves {
    pl_source *source;
    const pl_format *format; /* NULL: not text */
    void *state;             /* the format's */
    pl_cut cut;
    pl_pool *pool;
    pl_block *blocks;
    unsigned block_count;
    pl_span start, label, weight, index,
        value; /* of `rows` rows with `entries` entries; `value` holds none while `ones` */
    uint64_t rows, entries, columns, lines;
    uint64_t passed; /* rows before those, that were forgotten */
    bool ones;
    bool needs_all;                           /* columns are numbered when all rows are known */
    bool weighted, unweighted;                /* the format has weights; so far all were 1 */
    uint64_t expected_rows, expected_entries; /* in all; 0: make room for the present wave only */
    pl_input *inputs, only;                   /* what is read, one after the other */
    unsigned input, input_count;
    bool asked;                /* for this format: it is not for the content to say */
    uint64_t wave_bytes, used; /* used: bytes of the inputs before this one */
    uint64_t rows_before;      /* rows that were there when this input began */
    const char *name;          /* for messages, where there is no source */
    const char *title;         /* of all inputs, where there are several */
    pl_fault fault;            /* what is wrong in line `lines`, where that stopped it */
};

/* `block_bytes` is about the size of a block; 0: the usual one. */
parley_status pl_waves_open(const char *path, const pl_reading *reading, pl_pool *pool, uint64_t block_bytes,
                            pl_waves *waves, parley_error *error);
/* The same for several inputs, which must last as long; the rows and lines of each are filled in. */
parley_status pl_waves_open_all(pl_input *inputs, unsigned count, const pl_reading *reading, pl_pool *pool,
                                uint64_t block_bytes, pl_waves *waves, parley_error *error);
/* The same for text that comes by pl_waves_add, of a format without state. */
parley_status pl_waves_open_empty(const pl_format *format, pl_pool *pool, pl_waves *waves, parley_error *error);
/* Adds the rows of whole lines of text, of an input `name`; PL_TEXT_MARGIN bytes after it can be read, NUL where the
 * last line has no newline. */
parley_status pl_waves_add(pl_waves *waves, const char *name, const char *text, uint64_t bytes, parley_error *error);
/* The same for text in memory; `name` is for messages. */
parley_status pl_waves_memory(const void *text, uint64_t bytes, const char *name, const pl_reading *reading,
                              pl_pool *pool, uint64_t block_bytes, pl_waves *waves, parley_error *error);
/* Adds the rows of the next wave; `*more` is false at the end. */
parley_status pl_waves_next(pl_waves *waves, bool *more, parley_error *error);
/* Forgets the rows, so that the next wave begins at the front of the arrays. */
void pl_waves_rewind(pl_waves *waves);
void pl_waves_close(pl_waves *waves);

#endif
