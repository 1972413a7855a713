/* parser.c: counts, reserves memory and parses in place. A first pass counts rows and entries to find where each block
 * of a window goes in the arrays. The counts are upper bounds, because of comments, blank lines and query ids; the gaps
 * are closed afterwards. */
#include "data/parser.h"
#include "data/model_columns.h"

#include <string.h>

#include "base/stop.h"

#define BLOCK_BYTES ((uint64_t)512 << 10)
#define SMALLEST_BLOCK ((uint64_t)64 << 10)
#define BLOCKS_PER_THREAD 4               /* so that no thread waits long for the last block of a window */
#define WINDOW_BYTES ((uint64_t)16 << 20) /* of text in memory at a time, unless there are very many threads */

static void count_block(void *context, unsigned i) {
    pl_parser *parser = context;
    parser->format->count(&parser->blocks[i]);
}

static void parse_block(void *context, unsigned i) {
    pl_parser *parser = context;
    parser->format->parse(&parser->blocks[i]);
}

/* Splits a window into blocks of whole lines or records, of about the same size. */
static void split_window(pl_parser *parser, const char *text, uint64_t bytes) {
    const char *from = text, *end = text + bytes;
    for (unsigned i = 0; i < parser->block_count; i++) {
        const char *to = text + bytes / parser->block_count * (i + 1);
        if (to < from)
            to = from;
        const char *cut = to < end ? pl_cut_after(parser->cut, from, to, end) : NULL;
        to = i + 1 < parser->block_count && cut ? cut : end;
        parser->blocks[i] =
            (pl_block){.text = from, .end = to, .state = parser->state, .number = i, .ones = true, .unweighted = true};
        from = to;
    }
}

/* Reserves memory for `count` items, or for all that are expected if that is more. */
static bool make_room(pl_span *span, uint64_t count, uint64_t expected, uint64_t size) {
    count++; /* never zero */
    if (count * size <= span->bytes)
        return true;
    if (expected > 0)
        count = expected > count ? expected : count + count / 2;
    return pl_span_reserve(span, count * size);
}

parley_status pl_parser_spill(pl_parser *parser, pl_tell tell, void *user, parley_error *error) {
    pl_span *spans[] = {&parser->start, &parser->label, &parser->weight, &parser->index, &parser->value};
    char sentence[512];
    for (unsigned i = 0; i < sizeof spans / sizeof *spans; i++)
        if (!pl_span_spill(spans[i], parser->spill))
            return pl_fail_file(error, parser->spill, "write");
    snprintf(sentence, sizeof sentence,
             "that is much of the memory; the rows are kept in a file in %.400s, until the end", parser->spill);
    if (tell)
        tell(user, sentence);
    return PARLEY_OK;
}

void pl_parser_release(pl_parser *parser, uint64_t end) {
    const uint32_t *index = parser->index.data;
    const char *value = parser->value.data;
    uint64_t size = pl_value_size(parser->wide);
    if (parser->index.file)
        pl_pages_drop(index + parser->released, index + end);
    if (parser->value.file && !parser->ones)
        pl_pages_drop(value + parser->released * size, value + end * size);
    parser->released = end;
}

static bool make_arrays(pl_parser *parser, uint64_t rows, uint64_t entries) {
    return make_room(&parser->start, rows + 1, parser->expected_rows, sizeof(uint64_t)) &&
           make_room(&parser->label, rows, parser->expected_rows, sizeof(double)) &&
           (!parser->weighted || make_room(&parser->weight, rows, parser->expected_rows, sizeof(double))) &&
           make_room(&parser->index, entries, parser->expected_entries, sizeof(uint32_t)) &&
           make_room(&parser->value, entries, parser->expected_entries, pl_value_size(parser->wide));
}

/* Finds where each block goes in the arrays. */
static parley_status place_blocks(pl_parser *parser, parley_error *error) {
    uint64_t rows = parser->rows, entries = parser->entries;
    for (unsigned i = 0; i < parser->block_count; i++) {
        rows += parser->blocks[i].rows;
        entries += parser->blocks[i].entries;
    }
    bool there = make_arrays(parser, rows, entries);
    if (!there && parser->spill && !parser->index.file) {
        parley_status status = pl_parser_spill(parser, NULL, NULL, error);
        if (status != PARLEY_OK)
            return status;
        there = make_arrays(parser, rows, entries);
    }
    if (!there)
        return pl_fail_memory(error, "the rows of the data", rows * 16 + entries * (4 + pl_value_size(parser->wide)));
    rows = parser->rows;
    entries = parser->entries;
    ((uint64_t *)parser->start.data)[0] = 0;
    for (unsigned i = 0; i < parser->block_count; i++) {
        pl_block *block = &parser->blocks[i];
        block->row_end = (uint64_t *)parser->start.data + rows + 1;
        block->label = (double *)parser->label.data + rows;
        block->weight = parser->weighted ? (double *)parser->weight.data + rows : NULL;
        block->first_row = parser->passed + rows;
        block->index = (uint32_t *)parser->index.data + entries;
        block->values = pl_value_room_from(pl_value_room_in(parser->value.data, parser->wide), entries);
        block->first = entries;
        rows += block->rows;
        entries += block->entries;
    }
    return PARLEY_OK;
}

/* Moves the rows of a block next to those before it if the counts left a gap. */
static void close_gap(pl_parser *parser, const pl_block *block) {
    uint64_t rows = parser->rows, entries = parser->entries;
    uint64_t *row_end = (uint64_t *)parser->start.data + rows + 1;
    double *label = (double *)parser->label.data + rows;
    uint32_t *index = (uint32_t *)parser->index.data + entries;
    uint64_t size = pl_value_size(parser->wide);
    char *value = (char *)parser->value.data + entries * size;
    uint64_t gap = block->first - entries;
    if (gap > 0 || row_end != block->row_end)
        for (uint64_t i = 0; i < block->rows; i++)
            row_end[i] = block->row_end[i] - gap;
    if (label != block->label)
        memmove(label, block->label, (size_t)(block->rows * sizeof *label));
    if (label != block->label && block->weight)
        memmove((double *)parser->weight.data + rows, block->weight, (size_t)(block->rows * sizeof *label));
    if (gap > 0) {
        memmove(index, block->index, (size_t)(block->entries * sizeof *index));
        memmove(value, (char *)parser->value.data + block->first * size, (size_t)(block->entries * size));
    }
}

/* Stores no values as long as all are 1. At the first other value, writes the ones before it. */
static void update_values(pl_parser *parser, uint64_t before, bool ones) {
    pl_value_room values = pl_value_room_in(parser->value.data, parser->wide);
    if (parser->ones && ones)
        pl_span_drop(&parser->value, parser->value.bytes);
    if (parser->ones && !ones)
        for (uint64_t i = 0; i < before; i++)
            pl_value_put(values, i, 1.0);
    parser->ones &= ones;
}

static parley_status fail_at(pl_parser *parser, const pl_fault *fault, parley_error *error) {
    parser->fault = *fault;
    return pl_fault_fail(fault, parser->name ? parser->name : pl_source_name(parser->source), parser->lines, error);
}

static parley_status collect(pl_parser *parser, parley_error *error) {
    uint64_t before = parser->entries;
    bool ones = true;
    for (unsigned i = 0; i < parser->block_count; i++) {
        pl_block *block = &parser->blocks[i];
        parley_status status = PARLEY_OK;
        parser->lines += block->lines;
        bool faulty = block->fault.format || block->fault.memory;
        if (parser->format->merge && (!faulty || parser->format->merges_faults))
            status = parser->format->merge(parser, block, error);
        if (status == PARLEY_OK && faulty)
            status = fail_at(parser, &block->fault, error);
        if (status != PARLEY_OK)
            return status;
        parser->unweighted &= block->unweighted;
        parser->rounded |= block->rounded;
        close_gap(parser, block);
        parser->rows += block->rows;
        parser->entries += block->entries;
        parser->columns = block->columns > parser->columns ? block->columns : parser->columns;
        ones &= block->ones;
    }
    update_values(parser, before, ones);
    pl_parser_release(parser, parser->entries);
    return PARLEY_OK;
}

static parley_status add_window(pl_parser *parser, const char *text, uint64_t bytes, parley_error *error) {
    split_window(parser, text, bytes);
    if (parser->block_count == 1) /* no block follows, so an upper bound from the size will do */
        parser->format->bound(&parser->blocks[0]);
    else
        pl_pool_run(parser->pool, count_block, parser, parser->block_count);
    parley_status status = place_blocks(parser, error);
    if (status != PARLEY_OK)
        return status;
    pl_pool_run(parser->pool, parse_block, parser, parser->block_count);
    return collect(parser, error);
}

/* Opens the next input, which must have the same format. */
static parley_status open_next(pl_parser *parser, parley_error *error) {
    pl_input *input = &parser->inputs[parser->input];
    const pl_format *format = parser->format;
    parley_status status = pl_source_open(input->path, parser->window_bytes, &parser->source, error);
    if (status == PARLEY_OK)
        pl_source_share(parser->source, parser->pool);
    if (status != PARLEY_OK || pl_source_is_empty(parser->source))
        return status;
    if (pl_source_content(parser->source) == PL_CACHE)
        format = NULL;
    else
        status = pl_format_choose(&parser->look, parser->source, &format, error);
    if (status == PARLEY_OK && format != parser->format && !parser->asked)
        return pl_inputs_fail(&parser->inputs[0], parser->format, input, format, error);
    if (status == PARLEY_OK && parser->format->next)
        status = parser->format->next(parser, error);
    if (status == PARLEY_OK)
        pl_source_cut(parser->source, parser->cut);
    return status;
}

/* Ends an input: records its size and opens the next one. */
static parley_status turn(pl_parser *parser, parley_error *error) {
    pl_input *input = &parser->inputs[parser->input];
    input->rows = parser->rows - parser->rows_before;
    input->lines = parser->lines;
    parser->rows_before = parser->rows;
    if (++parser->input == parser->input_count)
        return PARLEY_OK;
    parser->used += input->bytes;
    parser->lines = 0;
    pl_source_close(parser->source);
    parser->source = NULL;
    return open_next(parser, error);
}

uint64_t pl_parser_bytes(const pl_parser *parser) {
    uint64_t sum = 0;
    if (parser->input_count == 1)
        return pl_source_size(parser->source);
    for (unsigned i = 0; i < parser->input_count; i++) {
        if (parser->inputs[i].bytes == 0)
            return 0;
        sum += parser->inputs[i].bytes;
    }
    return sum;
}

pl_values pl_parser_values(const pl_parser *parser) {
    return pl_values_in(parser->ones ? NULL : parser->value.data, parser->wide);
}

uint64_t pl_parser_used(const pl_parser *parser) { return parser->used + pl_source_used(parser->source); }

parley_status pl_parser_next(pl_parser *parser, bool *more, parley_error *error) {
    const char *text;
    uint64_t bytes = 0;
    parley_status status = PARLEY_OK;
    while (status == PARLEY_OK && bytes == 0 && parser->input < parser->input_count) {
        status = pl_stop_asked() ? pl_fail_stopped(error) : pl_source_next(parser->source, &text, &bytes, error);
        if (status == PARLEY_OK && bytes == 0)
            status = turn(parser, error);
    }
    *more = status == PARLEY_OK && bytes > 0;
    if (*more && parser->watching.see)
        parser->watching.see(parser->watching.user, pl_parser_used(parser), pl_parser_bytes(parser));
    return *more ? add_window(parser, text, bytes, error) : status;
}

parley_status pl_parser_add(pl_parser *parser, const char *name, const char *text, uint64_t bytes,
                            parley_error *error) {
    parser->name = name;
    return add_window(parser, text, bytes, error);
}

void pl_parser_rewind(pl_parser *parser) {
    parser->passed += parser->rows;
    parser->rows = parser->entries = 0;
    parser->ones = parser->unweighted = true;
}

static parley_status prepare(pl_pool *pool, uint64_t block_bytes, pl_parser *parser, uint64_t *window_bytes,
                             parley_error *error) {
    unsigned threads = pl_pool_threads(pool);
    *parser = (pl_parser){.pool = pool, .ones = true, .unweighted = true};
    parser->block_count = threads == 1 ? 1 : threads * BLOCKS_PER_THREAD;
    uint64_t usual = BLOCK_BYTES;
    while (usual > SMALLEST_BLOCK && usual * parser->block_count > WINDOW_BYTES)
        usual /= 2;
    *window_bytes = parser->block_count * (block_bytes ? block_bytes : usual);
    return pl_take(&parser->blocks, parser->block_count, sizeof *parser->blocks, "reading", error);
}

/* Chooses the format of an open source and lets it inspect the head. */
static parley_status begin(pl_parser *parser, const pl_reading *reading, parley_error *error) {
    parser->asked = reading->format != NULL;
    parser->watching = reading->watching;
    parser->look = (pl_reading){.documents = reading->documents,
                                .separator = reading->separator,
                                .skip_lines = reading->skip_lines,
                                .comment = reading->comment};
    if (pl_source_content(parser->source) == PL_CACHE)
        return pl_format_check(reading, NULL, pl_source_name(parser->source), error);
    parley_status status = pl_format_choose(reading, parser->source, &parser->format, error);
    parser->wide = status == PARLEY_OK && reading->wide && parser->format->wide;
    if (status == PARLEY_OK)
        status = pl_model_columns_format(reading, parser->format, pl_source_name(parser->source), error);
    if (status == PARLEY_BAD_INPUT && pl_source_is_empty(parser->source))
        status = PARLEY_OK; /* it has no rows, which is the better message */
    if (status == PARLEY_OK && parser->format->open)
        status = parser->format->open(parser, reading, error);
    if (status == PARLEY_OK && parser->input_count > 1 && parser->format->open && !parser->format->next)
        status = pl_fail(error, PARLEY_BAD_INPUT,
                         "%s is %s, and only one such file can be read at a time; convert each to a cache",
                         pl_source_name(parser->source), parser->format->title);
    if (status == PARLEY_OK)
        pl_source_cut(parser->source, parser->cut);
    return status;
}

parley_status pl_parser_open_all(pl_input *inputs, unsigned count, const pl_reading *reading, pl_pool *pool,
                                 uint64_t block_bytes, pl_parser *parser, parley_error *error) {
    uint64_t window_bytes;
    parley_status status = prepare(pool, block_bytes, parser, &window_bytes, error);
    parser->inputs = inputs;
    parser->input_count = count;
    parser->window_bytes = window_bytes;
    if (status == PARLEY_OK)
        status = pl_source_open(inputs->path, window_bytes, &parser->source, error);
    if (status == PARLEY_OK)
        pl_source_share(parser->source, pool);
    if (status == PARLEY_OK)
        status = begin(parser, reading, error);
    if (status != PARLEY_OK)
        pl_parser_close(parser);
    return status;
}

parley_status pl_parser_open(const char *path, const pl_reading *reading, pl_pool *pool, uint64_t block_bytes,
                             pl_parser *parser, parley_error *error) {
    pl_input input = {.path = (char *)path}; /* only needed while the parser is opened */
    parley_status status = pl_parser_open_all(&input, 1, reading, pool, block_bytes, parser, error);
    parser->inputs = &parser->only;
    return status;
}

parley_status pl_parser_open_empty(const pl_format *format, pl_pool *pool, pl_parser *parser, parley_error *error) {
    uint64_t window_bytes;
    parley_status status = prepare(pool, 0, parser, &window_bytes, error);
    parser->format = format;
    parser->window_bytes = window_bytes;
    return status;
}

parley_status pl_parser_memory(const void *text, uint64_t bytes, const char *name, const pl_reading *reading,
                               pl_pool *pool, uint64_t block_bytes, pl_parser *parser, parley_error *error) {
    uint64_t window_bytes;
    parley_status status = prepare(pool, block_bytes, parser, &window_bytes, error);
    if (status == PARLEY_OK)
        status = pl_source_memory(text, bytes, name, window_bytes, &parser->source, error);
    parser->inputs = &parser->only;
    parser->input_count = 1;
    if (status == PARLEY_OK)
        status = begin(parser, reading, error);
    if (status != PARLEY_OK)
        pl_parser_close(parser);
    return status;
}

parley_status pl_parser_no_rows(const pl_parser *parser, const char *name, parley_error *error) {
    /* empty text is taken for LIBSVM, but may have been meant as another format */
    bool empty = parser->lines == 0 && parser->format == &pl_format_libsvm && !parser->asked;
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: no rows; %s", name,
                   empty ? "the input is empty" : parser->format->no_rows);
}

void pl_parser_close(pl_parser *parser) {
    if (parser->format && parser->format->close)
        parser->format->close(parser->state);
    pl_source_close(parser->source);
    pl_free(parser->blocks);
    pl_span_free(&parser->start);
    pl_span_free(&parser->label);
    pl_span_free(&parser->weight);
    pl_span_free(&parser->index);
    pl_span_free(&parser->value);
    *parser = (pl_parser){0};
}
