/* waves.c: count, make room, parse in place. A counting pass over newlines and colons gives each block of a wave its
 * place in the arrays; the counts are exact but for comments, blank lines and qids, whose gaps are closed afterwards.
 */
#define _DEFAULT_SOURCE /* madvise */
#include "data/waves.h"

#include <string.h>
#include <sys/mman.h>

#define BLOCK_BYTES ((uint64_t)512 << 10)
#define SMALLEST_BLOCK ((uint64_t)64 << 10)
#define BLOCKS_PER_THREAD 4             /* so that no thread waits long for the last block of a wave */
#define WAVE_BYTES ((uint64_t)16 << 20) /* of text in memory at once, but for very many threads */

static void count_block(void *context, unsigned i) {
    pl_waves *waves = context;
    waves->format->count(&waves->blocks[i]);
}

static void parse_block(void *context, unsigned i) {
    pl_waves *waves = context;
    waves->format->parse(&waves->blocks[i]);
}

/* Cuts a wave into blocks of whole lines or records, of about the same size. */
static void cut_wave(pl_waves *waves, const char *text, uint64_t bytes) {
    const char *from = text, *end = text + bytes;
    for (unsigned i = 0; i < waves->block_count; i++) {
        const char *to = text + bytes / waves->block_count * (i + 1);
        if (to < from)
            to = from;
        const char *cut = to < end ? pl_cut_after(waves->cut, from, to, end) : NULL;
        to = i + 1 < waves->block_count && cut ? cut : end;
        waves->blocks[i] =
            (pl_block){.text = from, .end = to, .state = waves->state, .number = i, .ones = true, .unweighted = true};
        from = to;
    }
}

/* Room for `count` items, and where more are expected, at once for those too. */
static bool make_room(pl_span *span, uint64_t count, uint64_t expected, uint64_t size) {
    count++; /* never none */
    if (count * size <= span->bytes)
        return true;
    if (expected > 0)
        count = expected > count ? expected : count + count / 2;
    return pl_span_reserve(span, count * size);
}

/* Gives each block its place, by the counts. */
static parley_status place_blocks(pl_waves *waves, parley_error *error) {
    uint64_t rows = waves->rows, entries = waves->entries;
    for (unsigned i = 0; i < waves->block_count; i++) {
        rows += waves->blocks[i].rows;
        entries += waves->blocks[i].entries;
    }
    if (!make_room(&waves->start, rows + 1, waves->expected_rows, sizeof(uint64_t)) ||
        !make_room(&waves->label, rows, waves->expected_rows, sizeof(double)) ||
        (waves->weighted && !make_room(&waves->weight, rows, waves->expected_rows, sizeof(double))) ||
        !make_room(&waves->index, entries, waves->expected_entries, sizeof(uint32_t)) ||
        !make_room(&waves->value, entries, waves->expected_entries, sizeof(float)))
        return pl_fail_memory(error, "the rows of the data", rows * 16 + entries * 8);
    rows = waves->rows;
    entries = waves->entries;
    ((uint64_t *)waves->start.data)[0] = 0;
    for (unsigned i = 0; i < waves->block_count; i++) {
        pl_block *block = &waves->blocks[i];
        block->row_end = (uint64_t *)waves->start.data + rows + 1;
        block->label = (double *)waves->label.data + rows;
        block->weight = waves->weighted ? (double *)waves->weight.data + rows : NULL;
        block->first_row = waves->passed + rows;
        block->index = (uint32_t *)waves->index.data + entries;
        block->value = (float *)waves->value.data + entries;
        block->first = entries;
        rows += block->rows;
        entries += block->entries;
    }
    return PARLEY_OK;
}

/* Moves the rows of a block to the end of those before it, where the counts left a gap. */
static void close_gap(pl_waves *waves, const pl_block *block) {
    uint64_t rows = waves->rows, entries = waves->entries;
    uint64_t *row_end = (uint64_t *)waves->start.data + rows + 1;
    double *label = (double *)waves->label.data + rows;
    uint32_t *index = (uint32_t *)waves->index.data + entries;
    float *value = (float *)waves->value.data + entries;
    uint64_t gap = block->first - entries;
    if (gap > 0 || row_end != block->row_end)
        for (uint64_t i = 0; i < block->rows; i++)
            row_end[i] = block->row_end[i] - gap;
    if (label != block->label)
        memmove(label, block->label, (size_t)(block->rows * sizeof *label));
    if (label != block->label && block->weight)
        memmove((double *)waves->weight.data + rows, block->weight, (size_t)(block->rows * sizeof *label));
    if (gap > 0) {
        memmove(index, block->index, (size_t)(block->entries * sizeof *index));
        memmove(value, block->value, (size_t)(block->entries * sizeof *value));
    }
}

/* Keeps no values while all are 1; at the first other one, writes those before it. */
static void settle_values(pl_waves *waves, uint64_t before, bool ones) {
    float *value = waves->value.data;
    if (waves->ones && ones)
        madvise(value, waves->value.bytes, MADV_DONTNEED);
    if (waves->ones && !ones)
        for (uint64_t i = 0; i < before; i++)
            value[i] = 1.0F;
    waves->ones &= ones;
}

static parley_status fail_at(pl_waves *waves, const pl_fault *fault, parley_error *error) {
    waves->fault = *fault;
    return pl_fault_fail(fault, waves->name ? waves->name : pl_source_name(waves->source), waves->lines, error);
}

static parley_status collect(pl_waves *waves, parley_error *error) {
    uint64_t before = waves->entries;
    bool ones = true;
    for (unsigned i = 0; i < waves->block_count; i++) {
        pl_block *block = &waves->blocks[i];
        parley_status status = PARLEY_OK;
        waves->lines += block->lines;
        if (block->fault.format || block->fault.memory)
            status = fail_at(waves, &block->fault, error);
        else if (waves->format->settle)
            status = waves->format->settle(waves, block, error);
        if (status != PARLEY_OK)
            return status;
        waves->unweighted &= block->unweighted;
        close_gap(waves, block);
        waves->rows += block->rows;
        waves->entries += block->entries;
        waves->columns = block->columns > waves->columns ? block->columns : waves->columns;
        ones &= block->ones;
    }
    settle_values(waves, before, ones);
    return PARLEY_OK;
}

/* One wave of text. */
static parley_status add_wave(pl_waves *waves, const char *text, uint64_t bytes, parley_error *error) {
    cut_wave(waves, text, bytes);
    if (waves->block_count == 1) /* nothing follows it that would need its exact size */
        waves->format->bound(&waves->blocks[0]);
    else
        pl_pool_run(waves->pool, count_block, waves, waves->block_count);
    parley_status status = place_blocks(waves, error);
    if (status != PARLEY_OK)
        return status;
    pl_pool_run(waves->pool, parse_block, waves, waves->block_count);
    return collect(waves, error);
}

/* Opens the next input, which must be of the format that is read. */
static parley_status open_next(pl_waves *waves, parley_error *error) {
    pl_input *input = &waves->inputs[waves->input];
    const pl_format *format = waves->format;
    parley_status status = pl_source_open(input->path, waves->wave_bytes, &waves->source, error);
    if (status != PARLEY_OK || pl_source_is_empty(waves->source))
        return status;
    if (pl_source_content(waves->source) == PL_CACHE)
        format = NULL;
    else
        status = pl_format_choose(&(pl_reading){0}, waves->source, &format, error);
    if (status == PARLEY_OK && format != waves->format && !waves->asked)
        return pl_inputs_fail(&waves->inputs[0], waves->format, input, format, error);
    if (status == PARLEY_OK && waves->format->next)
        status = waves->format->next(waves, error);
    if (status == PARLEY_OK)
        pl_source_cut(waves->source, waves->cut);
    return status;
}

/* The end of an input: what was found in it is noted, and the next one opened. */
static parley_status turn(pl_waves *waves, parley_error *error) {
    pl_input *input = &waves->inputs[waves->input];
    input->rows = waves->rows - waves->rows_before;
    input->lines = waves->lines;
    waves->rows_before = waves->rows;
    if (++waves->input == waves->input_count)
        return PARLEY_OK;
    waves->used += input->bytes;
    waves->lines = 0;
    pl_source_close(waves->source);
    waves->source = NULL;
    return open_next(waves, error);
}

parley_status pl_waves_next(pl_waves *waves, bool *more, parley_error *error) {
    const char *text;
    uint64_t bytes = 0;
    parley_status status = PARLEY_OK;
    while (status == PARLEY_OK && bytes == 0 && waves->input < waves->input_count) {
        status = pl_source_next(waves->source, &text, &bytes, error);
        if (status == PARLEY_OK && bytes == 0)
            status = turn(waves, error);
    }
    *more = status == PARLEY_OK && bytes > 0;
    return *more ? add_wave(waves, text, bytes, error) : status;
}

parley_status pl_waves_add(pl_waves *waves, const char *name, const char *text, uint64_t bytes, parley_error *error) {
    waves->name = name;
    return add_wave(waves, text, bytes, error);
}

void pl_waves_rewind(pl_waves *waves) {
    waves->passed += waves->rows;
    waves->rows = waves->entries = 0;
    waves->ones = waves->unweighted = true;
}

static parley_status prepare(pl_pool *pool, uint64_t block_bytes, pl_waves *waves, uint64_t *wave_bytes,
                             parley_error *error) {
    unsigned threads = pl_pool_threads(pool);
    *waves = (pl_waves){.pool = pool, .ones = true, .unweighted = true};
    waves->block_count = threads == 1 ? 1 : threads * BLOCKS_PER_THREAD;
    uint64_t usual = BLOCK_BYTES;
    while (usual > SMALLEST_BLOCK && usual * waves->block_count > WAVE_BYTES)
        usual /= 2;
    *wave_bytes = waves->block_count * (block_bytes ? block_bytes : usual);
    return pl_take(&waves->blocks, waves->block_count, sizeof *waves->blocks, "reading", error);
}

/* Chooses the format of an open source, and lets it look at the head. */
static parley_status begin(pl_waves *waves, const pl_reading *reading, parley_error *error) {
    waves->asked = reading->format != NULL;
    if (pl_source_content(waves->source) == PL_CACHE)
        return pl_format_check(reading, NULL, pl_source_name(waves->source), error);
    parley_status status = pl_format_choose(reading, waves->source, &waves->format, error);
    if (status == PARLEY_OK && waves->format->open)
        status = waves->format->open(waves, reading, error);
    if (status == PARLEY_OK && waves->input_count > 1 && waves->format->open && !waves->format->next)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s is %s, of which one is read at a time; convert each to a cache",
                         pl_source_name(waves->source), waves->format->title);
    if (status == PARLEY_OK)
        pl_source_cut(waves->source, waves->cut);
    return status;
}

parley_status pl_waves_open_all(pl_input *inputs, unsigned count, const pl_reading *reading, pl_pool *pool,
                                uint64_t block_bytes, pl_waves *waves, parley_error *error) {
    uint64_t wave_bytes;
    parley_status status = prepare(pool, block_bytes, waves, &wave_bytes, error);
    waves->inputs = inputs;
    waves->input_count = count;
    waves->wave_bytes = wave_bytes;
    if (status == PARLEY_OK)
        status = pl_source_open(inputs->path, wave_bytes, &waves->source, error);
    if (status == PARLEY_OK)
        status = begin(waves, reading, error);
    if (status != PARLEY_OK)
        pl_waves_close(waves);
    return status;
}

parley_status pl_waves_open(const char *path, const pl_reading *reading, pl_pool *pool, uint64_t block_bytes,
                            pl_waves *waves, parley_error *error) {
    pl_input input = {.path = (char *)path}; /* not needed any more when it is open */
    parley_status status = pl_waves_open_all(&input, 1, reading, pool, block_bytes, waves, error);
    waves->inputs = &waves->only;
    return status;
}

parley_status pl_waves_open_empty(const pl_format *format, pl_pool *pool, pl_waves *waves, parley_error *error) {
    uint64_t wave_bytes;
    parley_status status = prepare(pool, 0, waves, &wave_bytes, error);
    waves->format = format;
    waves->wave_bytes = wave_bytes;
    return status;
}

parley_status pl_waves_memory(const void *text, uint64_t bytes, const char *name, const pl_reading *reading,
                              pl_pool *pool, uint64_t block_bytes, pl_waves *waves, parley_error *error) {
    uint64_t wave_bytes;
    parley_status status = prepare(pool, block_bytes, waves, &wave_bytes, error);
    if (status == PARLEY_OK)
        status = pl_source_memory(text, bytes, name, wave_bytes, &waves->source, error);
    waves->inputs = &waves->only;
    waves->input_count = 1;
    if (status == PARLEY_OK)
        status = begin(waves, reading, error);
    if (status != PARLEY_OK)
        pl_waves_close(waves);
    return status;
}

void pl_waves_close(pl_waves *waves) {
    if (waves->format && waves->format->close)
        waves->format->close(waves->state);
    pl_source_close(waves->source);
    pl_free(waves->blocks);
    pl_span_free(&waves->start);
    pl_span_free(&waves->label);
    pl_span_free(&waves->weight);
    pl_span_free(&waves->index);
    pl_span_free(&waves->value);
    *waves = (pl_waves){0};
}
