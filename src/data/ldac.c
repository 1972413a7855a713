/* ldac.c: the format of Blei's LDA-C: each line is a document, `N word:count word:count ...`, with the number of its
 * different words first. Words are numbered from 0. A document may have no words: `0`. */
#include <string.h>

#include "data/fast_decimal.h"
#include "data/parser.h"
#include "data/row.h"

#define LEAST_PAIRS 4           /* by which the format is recognised */
#define LARGEST_COUNT 16777216u /* 2^24: larger ones are not exact in 32-bit floats */

/* The messages get the word, then the column. */
#define SAY_NUL "NUL byte; this is not LDA-C text"
#define SAY_NUMBER "\"%s\" is not a number of words; a document is written N word:count ..., with N pairs"
#define SAY_PAIR "\"%s\" is not word:count with whole numbers; words are numbered from 0"
#define SAY_LARGE "word %s is too large; the largest is 2147483646"
#define SAY_COUNT "count of \"%s\" must be whole and positive, and at most 16777216"
#define SAY_TWICE "a word is twice in this document; give each word once"
#define SAY_FEWER "this document has %.0s%u pairs word:count, which is not the number that it begins with"

typedef struct state {
    unsigned blocks;
    pl_sorter *sorters; /* by block */
} state;

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool fault(pl_block *block, const char *format, const char *word, uint32_t column) {
    const char *stop = word;
    while (stop < block->end && !blank(*stop) && *stop != '\n' && *stop)
        stop++;
    if (stop < block->end && *stop == '\0')
        format = SAY_NUL;
    block->fault = (pl_fault){.format = format, .word = word, .stop = stop, .column = column};
    return false;
}

/* Reads digits. Returns what follows them; *number stays at most 2^32. */
static const char *read_digits(const char *p, const char *end, uint64_t *number) {
    for (*number = 0; p < end && pl_digit(*p) <= 9; p++)
        *number = *number < UINT32_MAX ? *number * 10 + pl_digit(*p) : *number;
    return p;
}

static bool ends_word(const pl_block *block, const char *p) { return p == block->end || blank(*p) || *p == '\n'; }

static bool read_pair(pl_block *block, const char **at) {
    const char *word = *at;
    uint64_t index, count;
    const char *colon = read_digits(word, block->end, &index);
    if (colon == word || colon == block->end || *colon != ':')
        return fault(block, SAY_PAIR, word, 0);
    const char *p = read_digits(colon + 1, block->end, &count);
    if (p == colon + 1 || !ends_word(block, p))
        return fault(block, p < block->end && (*p == '-' || *p == '.') ? SAY_COUNT : SAY_PAIR, word, 0);
    if (index >= PL_LARGEST_COLUMN)
        return fault(block, SAY_LARGE, word, 0);
    if (count == 0 || count > LARGEST_COUNT)
        return fault(block, SAY_COUNT, word, 0);
    block->index[block->entries] = (uint32_t)index;
    block->values.narrow[block->entries++] = (float)count;
    block->ones &= count == 1;
    block->columns = index + 1 > block->columns ? (uint32_t)index + 1 : block->columns;
    *at = p;
    return true;
}

static bool end_row(pl_block *block, uint64_t first, const char *line, uint64_t said) {
    const state *state = block->state;
    uint64_t entries = block->entries - first;
    uint32_t *index = block->index + first;
    bool sorted = true;
    if (entries != said)
        return fault(block, SAY_FEWER, line, (uint32_t)entries);
    for (uint64_t i = 1; i < entries && sorted; i++)
        sorted = index[i] > index[i - 1];
    uint64_t left = sorted ? entries
                           : pl_row_sort(&state->sorters[block->number], index,
                                         (pl_value_room){.narrow = block->values.narrow + first}, entries);
    if (left == UINT64_MAX) {
        block->fault.memory = true;
        return false;
    }
    if (left != entries)
        return fault(block, SAY_TWICE, line, 0);
    block->label[block->rows] = 0;
    block->row_end[block->rows++] = block->first + block->entries;
    return true;
}

static bool read_line(pl_block *block, const char *p, const char *end) {
    uint64_t said, first = block->entries;
    const char *line = p, *word = p;
    p = read_digits(p, end, &said);
    if (p == word || !ends_word(block, p))
        return fault(block, SAY_NUMBER, word, 0);
    for (;;) {
        while (p < end && blank(*p))
            p++;
        if (p >= end)
            return end_row(block, first, line, said);
        if (!read_pair(block, &p))
            return false;
    }
}

static void parse(pl_block *block) {
    block->rows = block->entries = block->lines = 0;
    block->columns = 0;
    block->ones = true;
    for (const char *p = block->text; p < block->end;) {
        const char *newline = memchr(p, '\n', (size_t)(block->end - p)), *end = newline ? newline : block->end;
        block->lines++;
        while (p < end && blank(*p))
            p++;
        if (p < end && !read_line(block, p, end))
            return;
        p = end + 1;
    }
}

static void bound(pl_block *block) {
    uint64_t bytes = (uint64_t)(block->end - block->text);
    block->rows = bytes / 2 + 1;
    block->entries = bytes / 4 + 1;
}

static void count(pl_block *block) {
    pl_byte_counts count = pl_count_bytes(block->text, block->end, ':', ':', ':');
    block->rows = count.newlines + 1;
    block->entries = count.matches;
}

static void close_state(void *closed) {
    state *state = closed;
    for (unsigned i = 0; state && state->sorters && i < state->blocks; i++)
        pl_sorter_free(&state->sorters[i]);
    if (state)
        pl_free(state->sorters);
    pl_free(state);
}

static parley_status open(pl_parser *parser, const pl_reading *reading, parley_error *error) {
    state *state;
    (void)reading;
    parley_status status = pl_take(&state, 1, sizeof *state, "reading", error);
    if (status != PARLEY_OK)
        return status;
    parser->state = state;
    state->blocks = parser->block_count;
    return pl_take(&state->sorters, state->blocks, sizeof *state->sorters, "reading", error);
}

static parley_status next(pl_parser *parser, parley_error *error) {
    (void)parser, (void)error;
    return PARLEY_OK;
}

/* A number N, then exactly N pairs of whole numbers, whose words are not in increasing order or include 0: otherwise it
 * may as well be LIBSVM. */
static bool sniff(const char *text, uint64_t bytes) {
    const char *p, *end;
    uint64_t length = pl_first_line(text, bytes, &p), said, pairs = 0, last = 0, index, ignored;
    bool odd = false;
    end = p + length;
    if (length == 0)
        return false;
    const char *first = p;
    p = read_digits(p, end, &said);
    if (p == first || (p < end && !blank(*p)))
        return false;
    for (;; pairs++) {
        while (p < end && blank(*p))
            p++;
        if (p == end)
            break;
        const char *colon = read_digits(p, end, &index);
        if (colon == p || colon == end || *colon != ':')
            return false;
        const char *stop = read_digits(colon + 1, end, &ignored);
        if (stop == colon + 1 || (stop < end && !blank(*stop)))
            return false;
        odd = odd || index == 0 || (pairs > 0 && index <= last);
        last = index;
        p = stop;
    }
    return odd && pairs == said && pairs >= LEAST_PAIRS;
}

const pl_format pl_format_ldac = {
    .name = "ldac",
    .title = "LDA-C text",
    .help = "a line `N word:count ...` for each document, words from 0",
    .endings = ".ldac",
    .no_rows = "each line is a document such as \"2 0:1 7:3\"",
    .sniff = sniff,
    .open = open,
    .next = next,
    .count = count,
    .bound = bound,
    .parse = parse,
    .close = close_state,
};
