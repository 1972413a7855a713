/* triples.c: corpora with a line `document word count` for each word of a document, by documents:
 *
 *   docword  the format of UCI's bags of words: three lines with the numbers of documents, words and entries come first
 *   mm       Matrix Market's coordinates, as gensim writes them: `%%MatrixMarket matrix coordinate ...`, comments, and
 * a line with the three numbers
 *
 * Documents and words are numbered from 1. A document without words has no line, and is not a row. The text is cut
 * between documents, so that each block has whole ones. */
#include <math.h>
#include <string.h>

#include "data/fast_decimal.h"
#include "data/numeral.h"
#include "data/parser.h"
#include "data/row.h"

#define HEAD_BYTES ((uint64_t)64 << 10)
#define LARGEST_COUNT 16777216.0 /* 2^24: larger ones are not exact in 32-bit floats */
#define MARKET "%%MatrixMarket"

/* The messages get the word, then the column. */
#define SAY_NUL "NUL byte; this is not text"
#define SAY_SHORT "three numbers are needed: document, word and count"
#define SAY_LONG "\"%s\" after the count; a line has three numbers: document, word and count"
#define SAY_NUMBER "\"%s\" is not a whole number; documents and words are numbered from 1"
#define SAY_DOCUMENT "document %s is beyond the number of documents in the head of the file"
#define SAY_WORD "word %s is beyond the number of words in the head of the file"
#define SAY_ORDER "document %s comes after a later one; sort the lines by document"
#define SAY_TWICE "the document that ends in this line has a word twice; give each word once%s"
#define SAY_COUNT "count \"%s\" is not a whole, positive number"

typedef struct state {
    uint64_t documents, words, entries;
    unsigned blocks;
    pl_sorter *sorters; /* by block */
    bool parted;        /* ranks read parts of the input */
    uint64_t found;     /* entries that they found */
    double last;        /* the last document so far */
} state;

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool fault(pl_block *block, const char *format, const char *word) {
    const char *stop = word;
    while (stop < block->end && !blank(*stop) && *stop != '\n' && *stop)
        stop++;
    if (stop < block->end && *stop == '\0')
        format = SAY_NUL;
    block->fault = (pl_fault){.format = format, .word = word, .stop = stop};
    return false;
}

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && blank(*p))
        p++;
    return p;
}

/* Reads a positive whole number. */
static bool read_whole(pl_block *block, const char **at, uint64_t *number) {
    const char *p = skip_blanks(*at, block->end), *word = p;
    uint64_t value = 0;
    for (; p < block->end && pl_digit(*p) <= 9; p++)
        value = value <= UINT32_MAX ? value * 10 + pl_digit(*p) : value;
    if (p == block->end || *p == '\n')
        if (p == word)
            return fault(block, SAY_SHORT, word);
    if (p == word || value == 0 || (p < block->end && !blank(*p) && *p != '\n'))
        return fault(block, SAY_NUMBER, word);
    *at = p;
    *number = value;
    return true;
}

/* Reads a count, which Matrix Market may write as 2.0. */
static bool read_count(pl_block *block, const char **at, float *count) {
    const char *p = skip_blanks(*at, block->end), *word = p;
    pl_numeral numeral;
    if (p == block->end || *p == '\n')
        return fault(block, SAY_SHORT, word);
    if (!pl_numeral_scan(p, &numeral) || numeral.end > block->end ||
        (numeral.end < block->end && !blank(*numeral.end) && *numeral.end != '\n'))
        return fault(block, SAY_COUNT, word);
    double value = pl_numeral_double(&numeral);
    if (!(value > 0) || value != floor(value) || value > LARGEST_COUNT)
        return fault(block, SAY_COUNT, word);
    *count = (float)value;
    *at = numeral.end;
    return true;
}

/* The document that is being read. */
typedef struct document {
    uint64_t number; /* 0: none */
    uint64_t first;  /* entry */
    uint64_t line;   /* its last one so far */
} document;

/* Ends a document: its words are put in order. */
static bool end_row(pl_block *block, const document *at) {
    const state *state = block->state;
    uint64_t first = at->first, entries = block->entries - first;
    uint32_t *index = block->index + first;
    bool sorted = true;
    for (uint64_t i = 1; i < entries && sorted; i++)
        sorted = index[i] > index[i - 1];
    if (!sorted) {
        uint64_t left = pl_row_sort(&state->sorters[block->number], index,
                                    (pl_value_room){.narrow = block->values.narrow + first}, entries);
        if (left == UINT64_MAX) {
            block->fault.memory = true;
            return false;
        }
        if (left != entries) { /* find the repeated word for the message */
            block->fault = (pl_fault){.format = SAY_TWICE, .word = "", .stop = ""};
            block->lines = at->line;
            return false;
        }
    }
    block->row_end[block->rows++] = block->first + block->entries;
    return true;
}

static bool read_line(pl_block *block, const char *p, document *at) {
    const state *state = block->state;
    const char *words[2];
    uint64_t number, word;
    float count = 0;
    words[0] = skip_blanks(p, block->end);
    if (!read_whole(block, &p, &number))
        return false;
    words[1] = skip_blanks(p, block->end);
    if (!read_whole(block, &p, &word) || !read_count(block, &p, &count))
        return false;
    p = skip_blanks(p, block->end);
    if (p < block->end && *p != '\n')
        return fault(block, SAY_LONG, p);
    if (number > state->documents)
        return fault(block, SAY_DOCUMENT, words[0]);
    if (word > state->words)
        return fault(block, SAY_WORD, words[1]);
    if (number < at->number)
        return fault(block, SAY_ORDER, words[0]);
    if (number != at->number) {
        if (at->number && !end_row(block, at))
            return false;
        *at = (document){.number = number, .first = block->entries};
        block->label[block->rows] = (double)number;
    }
    at->line = block->lines;
    block->index[block->entries] = (uint32_t)word - 1;
    block->values.narrow[block->entries++] = count;
    block->ones &= count == 1.0F;
    return true;
}

static void parse(pl_block *block) {
    document at = {0};
    block->rows = block->entries = block->lines = 0;
    block->columns = (uint32_t)((const state *)block->state)->words;
    block->ones = true;
    for (const char *p = block->text; p < block->end;) {
        const char *newline = memchr(p, '\n', (size_t)(block->end - p)), *end = newline ? newline : block->end;
        block->lines++;
        if (skip_blanks(p, end) < end && !read_line(block, p, &at)) {
            if (at.number && block->lines != at.line) /* a fault of the document before comes first */
                end_row(block, &at);
            return;
        }
        p = end + 1;
    }
    if (at.number)
        end_row(block, &at);
}

static void bound(pl_block *block) { block->rows = block->entries = (uint64_t)(block->end - block->text) / 6 + 1; }

static void count(pl_block *block) {
    pl_byte_counts count = pl_count_bytes(block->text, block->end, '\n', '\n', '\n');
    block->rows = block->entries = count.newlines + 1;
}

/* A document must not come back in a later block. */
static parley_status merge(pl_parser *parser, pl_block *block, parley_error *error) {
    state *state = parser->state;
    const char *p = block->text;
    uint64_t line = parser->lines - block->lines + 1;
    if (block->entries == 0)
        return PARLEY_OK;
    double first = block->label[0], before = state->last;
    state->last = block->rows > 0 ? block->label[block->rows - 1] : first;
    if (first > before)
        return PARLEY_OK;
    for (; p < block->end && (blank(*p) || *p == '\n'); p++)
        line += *p == '\n';
    const char *stop = p;
    while (stop < block->end && !blank(*stop))
        stop++;
    return pl_fault_fail(&(pl_fault){.format = SAY_ORDER, .word = p, .stop = stop},
                         parser->name ? parser->name : pl_source_name(parser->source), line, error);
}

/* Reads a line of whole numbers. Returns how many there were, or 0 if there was anything else. */
static unsigned read_numbers(const char *p, const char *end, uint64_t *numbers, unsigned most) {
    unsigned found = 0;
    for (;; found++) {
        p = skip_blanks(p, end);
        if (p == end)
            return found;
        uint64_t value = 0;
        const char *word = p;
        for (; p < end && pl_digit(*p) <= 9; p++)
            value = value <= UINT32_MAX ? value * 10 + pl_digit(*p) : value;
        if (p == word || (p < end && !blank(*p)) || found == most)
            return 0;
        numbers[found] = value;
    }
}

/* Reads the head: three numbers in one line or in three, after comments. Returns its bytes, or 0. */
static uint64_t read_head(const char *text, uint64_t bytes, bool market, state *state, uint64_t *lines) {
    const char *p = text, *end = text + bytes;
    uint64_t numbers[3] = {0};
    unsigned found = 0;
    for (*lines = 0; found < 3 && p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        bool comment = market && *p == '%';
        if (!comment && skip_blanks(p, stop) < stop) {
            unsigned more = read_numbers(p, stop, numbers + found, 3 - found);
            if (more == 0 || (market && more != 3) || (!market && more != 1))
                return 0;
            found += more;
        }
        ++*lines;
        p = newline ? newline + 1 : end;
    }
    state->documents = numbers[0];
    state->words = numbers[1];
    state->entries = numbers[2];
    return found == 3 ? (uint64_t)(p - text) : 0;
}

/* A further file has documents of its own, and the same words. */
static parley_status next(pl_parser *parser, parley_error *error) {
    state *state = parser->state, head = {0};
    const char *path = pl_source_name(parser->source), *text;
    uint64_t bytes;
    bool whole, market = parser->format == &pl_format_mm;
    parley_status status = pl_source_head(parser->source, HEAD_BYTES, &text, &bytes, &whole, error);
    uint64_t skip = status == PARLEY_OK ? read_head(text, bytes, market, &head, &parser->lines) : 0;
    if (status != PARLEY_OK)
        return status;
    if (skip == 0 || head.words != state->words)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: it must begin with the numbers of documents, words (%llu) and entries", path,
                       (unsigned long long)state->words);
    parser->cut = (pl_cut){.skip = skip, .keyed = true};
    state->documents = head.documents;
    state->entries += head.entries;
    state->last = 0;
    return PARLEY_OK;
}

static void close_state(void *closed) {
    state *state = closed;
    if (!state)
        return;
    for (unsigned i = 0; state->sorters && i < state->blocks; i++)
        pl_sorter_free(&state->sorters[i]);
    pl_free(state->sorters);
    pl_free(state);
}

static parley_status open(pl_parser *parser, const pl_reading *reading, parley_error *error) {
    const char *path = pl_source_name(parser->source), *text;
    uint64_t bytes;
    bool whole = false, market = parser->format == &pl_format_mm;
    state *state;
    (void)reading;
    parley_status status = pl_take(&state, 1, sizeof *state, "reading", error);
    if (status != PARLEY_OK)
        return status;
    parser->state = state;
    state->blocks = parser->block_count;
    status = pl_take(&state->sorters, state->blocks, sizeof *state->sorters, "reading", error);
    for (int turn = 0; turn < 2 && status == PARLEY_OK; turn++) /* a failure is reported by the second call */
        status = pl_source_head(parser->source, HEAD_BYTES, &text, &bytes, &whole, error);
    if (status != PARLEY_OK)
        return status;
    if (market && (bytes < strlen(MARKET) || memcmp(text, MARKET, strlen(MARKET)) != 0))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s:1: a Matrix Market file begins with " MARKET, path);
    uint64_t skip = read_head(text, bytes, market, state, &parser->lines);
    if (skip == 0)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s:%llu: the numbers of documents, words and entries are needed here%s", path,
                       (unsigned long long)parser->lines + 1, market ? "" : ", one in each line");
    if (state->words > PL_LARGEST_COLUMN)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu words; at most %u are possible", path,
                       (unsigned long long)state->words, PL_LARGEST_COLUMN);
    parser->cut = (pl_cut){.skip = skip, .keyed = true};
    parser->columns = state->words;
    return PARLEY_OK;
}

/* Only all ranks together can tell whether the file is complete. */
static parley_status pack(pl_parser *parser, pl_span *out, uint64_t *bytes, parley_error *error) {
    ((state *)parser->state)->parted = true;
    *bytes = sizeof parser->entries;
    if (!pl_span_reserve(out, *bytes))
        return pl_fail_memory(error, "reading", *bytes);
    memcpy(out->data, &parser->entries, sizeof parser->entries);
    return PARLEY_OK;
}

static parley_status unpack(pl_parser *parser, const char *packed, uint64_t bytes, parley_error *error) {
    uint64_t entries;
    (void)bytes, (void)error;
    memcpy(&entries, packed, sizeof entries);
    ((state *)parser->state)->found += entries;
    return PARLEY_OK;
}

static parley_status finish(pl_parser *parser, parley_data *data, parley_error *error) {
    const state *state = parser->state;
    uint64_t entries = state->parted ? state->found : parser->entries;
    if (data && entries != state->entries)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu entries, but its head says %llu; the file is cut off",
                       data->path, (unsigned long long)entries, (unsigned long long)state->entries);
    return PARLEY_OK;
}

static bool sniff_market(const char *text, uint64_t bytes) {
    return bytes >= strlen(MARKET) && memcmp(text, MARKET, strlen(MARKET)) == 0;
}

/* Three lines with one whole number each, then one of several words that begins with a number and has no colon. A text
 * that ends before that is a column. */
static bool sniff_docword(const char *text, uint64_t bytes) {
    uint64_t lines;
    state head;
    uint64_t skip = read_head(text, bytes, false, &head, &lines);
    const char *line;
    uint64_t length = skip ? pl_first_line(text + skip, bytes - skip, &line) : 0;
    bool several = length > 0 && (memchr(line, ' ', length) || memchr(line, '\t', length));
    return several && pl_digit(*line) <= 9 && !memchr(line, ':', length) && !memchr(line, ',', length);
}

const pl_format pl_format_docword = {
    .name = "docword",
    .title = "UCI's bag of words",
    .help = "numbers of documents, words and entries, then lines `document word count`",
    .endings = "",
    .no_rows = "its head says that it has no entries",
    .sniff = sniff_docword,
    .open = open,
    .next = next,
    .count = count,
    .bound = bound,
    .parse = parse,
    .merge = merge,
    .merges_faults = true,
    .pack = pack,
    .unpack = unpack,
    .finish = finish,
    .close = close_state,
};

const pl_format pl_format_mm = {
    .name = "mm",
    .title = "Matrix Market text",
    .help = "Matrix Market coordinates of documents x words, as gensim writes them",
    .endings = ".mm .mtx",
    .no_rows = "its head says that it has no entries",
    .sniff = sniff_market,
    .open = open,
    .next = next,
    .count = count,
    .bound = bound,
    .parse = parse,
    .merge = merge,
    .merges_faults = true,
    .pack = pack,
    .unpack = unpack,
    .finish = finish,
    .close = close_state,
};
