/* read.h: functions that readers share, and reading from memory or with small blocks for tests and fuzzers. */
#ifndef PL_READ_H
#define PL_READ_H

#include "data/data.h"

#define PL_LESS_DATA                                                                                                   \
    "parley train --preset online learns the rows as a stream without keeping them, and ranks on several machines "    \
    "share them"
#include "data/source.h"

/* pl_data_read_as with blocks of about `block_bytes` of text; 0: the default size. */
parley_status pl_data_read_blocks_as(const char *path, const pl_reading *reading, pl_pool *pool, uint64_t block_bytes,
                                     parley_data **out, parley_error *error);
/* pl_data_read with blocks of about `block_bytes` of text; 0: the default size. */
parley_status pl_data_read_blocks(const char *path, pl_pool *pool, uint64_t block_bytes, pl_tell tell, void *user,
                                  parley_data **out, parley_error *error);
/* Parses LIBSVM text in memory; `name` is for messages. */
parley_status pl_data_parse(const void *text, uint64_t bytes, const char *name, pl_pool *pool, uint64_t block_bytes,
                            parley_data **out, parley_error *error);
/* Parses text of any format in memory. */
parley_status pl_data_parse_as(const void *text, uint64_t bytes, const char *name, const pl_reading *reading,
                               pl_pool *pool, uint64_t block_bytes, parley_data **out, parley_error *error);
struct pl_parser;
/* Reads everything that is left in an open parser. */
parley_status pl_data_of_parser(struct pl_parser *parser, const pl_reading *reading, parley_data **out,
                                parley_error *error);
/* The same, and judges whether floats blur the values. `*again`: the input must be read again as doubles, and there are
 * no data. */
parley_status pl_data_judged(struct pl_parser *parser, const pl_reading *reading, bool *again, parley_data **out,
                             parley_error *error);
/* Makes a second reading one of doubles, without repeated messages. */
void pl_read_wide(pl_reading *reading);
/* Moves the rows of the parser to a new data set. */
parley_status pl_data_take(struct pl_parser *parser, const char *name, parley_data **out, parley_error *error);
/* Copies the rows of several data sets into one. They must have the same names. */
parley_status pl_data_join(parley_data *const *parts, unsigned count, const char *title, pl_pool *pool,
                           parley_data **out, parley_error *error);
/* An empty data set with a copy of `path`. */
parley_status pl_data_make(const char *path, parley_data **out, parley_error *error);
/* Opens the cache at `path`, which `source` was found to be. Fails if it is not a file, or not for the model. */
parley_status pl_cache_of(const pl_source *source, const char *path, pl_pool *pool, const pl_reading *reading,
                          parley_data **out, parley_error *error);
/* pl_reader_open_as with blocks of about `block_bytes` of text. */
parley_status pl_reader_open_blocks_as(const char *path, const pl_reading *reading, pl_pool *pool, uint64_t block_bytes,
                                       pl_reader **out, parley_error *error);
/* pl_reader_open with blocks of about `block_bytes` of text. */
parley_status pl_reader_open_blocks(const char *path, pl_pool *pool, uint64_t block_bytes, pl_reader **out,
                                    parley_error *error);

#endif
