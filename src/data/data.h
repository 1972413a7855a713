/* data.h: examples in memory: a sparse matrix by rows, a label and perhaps a weight for each row. */
#ifndef PL_DATA_H
#define PL_DATA_H

#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/settings.h"

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
    pl_part *parts; /* of this rank: hosted workers x lanes, in numbers of its own rows */
} pl_deal;

struct parley_data {
    pl_matrix x;
    const double *label;  /* rows, as in the file */
    const double *weight; /* rows, or NULL: all 1 */
    const pl_deal *deal;  /* each rank holds the rows of its own workers; NULL: every rank holds all rows */
    char *path;           /* for messages */
    uint64_t file_bytes;
    bool from_cache;
    struct pl_container *container; /* cache: what the arrays point into */
    pl_span spans[5];               /* text: start, label, weight, index, value */
};

/* Rows and non-zeros of all ranks together. */
static inline uint64_t pl_all_rows(const parley_data *data) { return data->deal ? data->deal->rows : data->x.rows; }
static inline uint64_t pl_all_nonzeros(const parley_data *data) {
    return data->deal ? data->deal->nonzeros : data->x.nonzeros;
}

/* Reads a whole input: LIBSVM text or a cache, told apart by content; `.gz` and `.zst` by content too; "-" is standard
 * input. `tell` (may be NULL) is called once before the large allocation with a sentence on the memory that will be
 * needed. */
typedef void (*pl_tell)(void *user, const char *sentence);
parley_status pl_data_read(const char *path, pl_pool *pool, pl_tell tell, void *user, parley_data **out,
                           parley_error *error);
/* Reads one weight per line for every row of `data`. */
parley_status pl_data_read_weights(parley_data *data, const char *path, parley_error *error);
/* Bytes that the arrays of the data take, in memory or in a cache file. */
uint64_t pl_data_bytes(const parley_data *data);

/* Reads the same inputs piece by piece, so that they may be larger than memory. A batch is valid until the next call.
 */
typedef struct pl_reader pl_reader;
parley_status pl_reader_open(const char *path, pl_pool *pool, pl_reader **out, parley_error *error);
/* `*batch` is NULL at the end. Its `x.columns` is the largest seen so far. */
parley_status pl_reader_next(pl_reader *reader, const parley_data **batch, parley_error *error);
void pl_reader_close(pl_reader *reader);

/* Writes a cache (safetensors; docs/formats.md), atomically. */
parley_status pl_data_write_cache(const parley_data *data, const char *path, parley_error *error);
/* Writes LIBSVM text, compressed if the name ends in .gz or .zst; "-" is standard output. Values in the shortest form
 * that reads back the same. */
parley_status pl_data_write_libsvm(const parley_data *data, const char *path, parley_error *error);

/* Makes data: kind "text" (bag-of-words-like sparse rows, labels -1 and +1) or "dense" (every column filled, badly
 * scaled, real labels). The same for the same settings (rows, columns, nonzeros, seed) on every machine. */
typedef struct pl_generator {
    const char *name, *help;
    parley_status (*make)(const parley_settings *settings, parley_data **out, parley_error *error);
} pl_generator;
extern const pl_generator pl_generators[];
extern const unsigned pl_generators_count;

#endif
