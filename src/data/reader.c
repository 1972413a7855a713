/* reader.c: reads inputs in batches. Text is read in windows that reuse the same arrays. A cache is read in ranges of
 * rows that point into the mapping, which the kernel pages in and out. */
#include <string.h>

#include "data/model_columns.h"
#include "data/parser.h"
#include "data/read.h"

#define BATCH_ENTRIES ((uint64_t)1 << 20)

struct pl_reader {
    bool any;           /* some rows were found */
    pl_parser parser;   /* of text */
    parley_data *cache; /* a cache or other complete data; NULL: text */
    uint64_t next_row;
    char *path;
    parley_data batch;
    pl_reading reading; /* for warnings, whose model outlives the reader */
    uint64_t unseen;    /* rows for pl_model_columns_warn */
};

parley_status pl_reader_open_blocks_as(const char *path, const pl_reading *reading, pl_pool *pool, uint64_t block_bytes,
                                       pl_reader **out, parley_error *error) {
    *out = NULL;
    pl_reader *reader;
    bool again; /* never: the values are doubles */
    parley_status status = pl_take(&reader, 1, sizeof *reader, "reading", error);
    if (status != PARLEY_OK)
        return status;
    pl_reading batches = *reading;
    batches.in_batches = true;
    batches.wide = true; /* whether later batches need doubles is not known */
    reader->reading = batches;
    status = pl_parser_open(path, &batches, pool, block_bytes, &reader->parser, error);
    const pl_source *source = reader->parser.source;
    if (status == PARLEY_OK) {
        reader->path = pl_strdup(pl_source_name(source));
        status = reader->path ? PARLEY_OK : pl_fail_memory(error, "a file name", strlen(path));
    }
    if (status == PARLEY_OK && pl_source_content(source) == PL_CACHE)
        status = pl_cache_of(source, path, pool, reading, &reader->cache, error);
    else if (status == PARLEY_OK && reader->parser.needs_all)
        status = pl_data_judged(&reader->parser, reading, &again, &reader->cache, error);
    if (status == PARLEY_OK)
        *out = reader;
    else
        pl_reader_close(reader);
    return status;
}

parley_status pl_reader_open_as(const char *path, const pl_reading *reading, pl_pool *pool, pl_reader **out,
                                parley_error *error) {
    return pl_reader_open_blocks_as(path, reading, pool, 0, out, error);
}

parley_status pl_reader_open_blocks(const char *path, pl_pool *pool, uint64_t block_bytes, pl_reader **out,
                                    parley_error *error) {
    return pl_reader_open_blocks_as(path, &(pl_reading){0}, pool, block_bytes, out, error);
}

parley_status pl_reader_open(const char *path, pl_pool *pool, pl_reader **out, parley_error *error) {
    return pl_reader_open_blocks(path, pool, 0, out, error);
}

static void next_rows(pl_reader *reader) {
    const parley_data *cache = reader->cache;
    uint64_t first = reader->next_row, end = first, rows = cache->x.rows;
    const uint64_t *start = cache->x.start;
    while (end < rows && (end == first || start[end + 1] - start[first] + (end - first) <= BATCH_ENTRIES))
        end++;
    reader->batch = (parley_data){
        .x = {end - first, cache->x.columns, start[end] - start[first], start + first, cache->x.index, cache->x.values},
        .label = cache->label + first,
        .weight = cache->weight ? cache->weight + first : NULL,
        .path = cache->path,
        .file_bytes = cache->file_bytes,
        .names = cache->names,
        .classes = cache->classes,
        .hash_bits = cache->hash_bits,
        .table = cache->table,
        .format = cache->format,
        .from_cache = cache->from_cache};
    reader->next_row = end;
    if (reader->reading.watching.see)
        reader->reading.watching.see(reader->reading.watching.user, end, rows);
}

static parley_status next_window(pl_reader *reader, parley_error *error) {
    pl_parser *parser = &reader->parser;
    const char *name = pl_source_name(parser->source);
    bool more = true;
    parley_status status = PARLEY_OK;
    pl_parser_rewind(parser);
    while (status == PARLEY_OK && more && parser->rows == 0) /* a window may have only comments */
        status = pl_parser_next(parser, &more, error);
    if (status == PARLEY_OK && parser->rows == 0 && !reader->any)
        status = pl_parser_no_rows(parser, name, error);
    if (status == PARLEY_OK && parser->rows == 0 && parser->format->finish)
        status = parser->format->finish(parser, NULL, error);
    if (status == PARLEY_OK)
        reader->batch = (parley_data){.x = {parser->rows, parser->columns, parser->entries, parser->start.data,
                                            parser->index.data, pl_parser_values(parser)},
                                      .label = parser->label.data,
                                      .weight = parser->unweighted ? NULL : parser->weight.data,
                                      .format = parser->format,
                                      .path = reader->path,
                                      .ids = parser->ids,
                                      .id_name = parser->id_name,
                                      .file_bytes = pl_source_size(parser->source)};
    return status;
}

parley_status pl_reader_next(pl_reader *reader, const parley_data **batch, parley_error *error) {
    parley_status status = PARLEY_OK;
    *batch = NULL;
    if (reader->cache) {
        next_rows(reader);
        status = pl_data_unchanged(reader->cache, error);
    } else
        status = next_window(reader, error);
    if (status == PARLEY_OK && reader->batch.x.rows > 0) {
        *batch = &reader->batch;
        reader->any = true;
        reader->unseen += pl_model_columns_unseen(&reader->reading, *batch);
    } else if (status == PARLEY_OK)
        pl_model_columns_warn(&reader->reading, reader->path, reader->unseen);
    return status;
}

void pl_reader_close(pl_reader *reader) {
    if (!reader)
        return;
    pl_parser_close(&reader->parser);
    parley_data_free(reader->cache);
    pl_free(reader->path);
    pl_free(reader);
}
