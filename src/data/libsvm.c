/* libsvm.c: the parser. What most entries look like, ` 123:0.012345`, is read by code that branches on the number of
 * digits, because a predicted branch is faster than a computed shift; whatever it does not know goes to read_entry,
 * which knows all of the format and names the fault. */
#include "data/libsvm.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "data/numeral.h"

#define EXACT_FLOAT ((uint64_t)1 << 24) /* whole numbers up to here are floats */
#define SHOWN 40                        /* bytes of a word that a sentence shows */

/* Sentences get the word, then the column. */
#define SAY_NUL "NUL byte; this is not LIBSVM text"
#define SAY_NO_LABEL "label missing before \"%s\"; each row starts with its label"
#define SAY_LABEL "label \"%s\" is not a number; each row starts with one number"
#define SAY_LABEL_FINITE "label \"%s\" is not finite; labels must be finite"
#define SAY_LABEL_LARGE "label \"%s\" is too large for a 64-bit float"
#define SAY_QUERY "query id \"%s\" is not a whole number; it is written qid:number"
#define SAY_ZERO "column index %s; LIBSVM indices start at 1"
#define SAY_INDEX "column index \"%s\" is not a whole number; entries are written column:value"
#define SAY_LARGE_INDEX "column index %s is too large; the largest is 2147483647"
#define SAY_NO_COLON "\"%s\" has no colon; entries are written column:value"
#define SAY_NO_VALUE "column %s has no value; entries are written column:value"
#define SAY_VALUE "value \"%s\" of column %u is not a number"
#define SAY_FINITE "value \"%s\" of column %u is not finite; values must be finite"
#define SAY_LARGE_VALUE "value \"%s\" of column %u is too large for a 32-bit float; scale the column"
#define SAY_TWICE "column index %s twice in a row; each column may appear once"
#define SAY_ORDER "column index %s after %u; sort the indices of each row"

static unsigned digit(char c) { return (unsigned)(unsigned char)c - '0'; }

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Ends a word: what may follow a number. */
static bool stops(const pl_block *block, const char *p) {
    return blank(*p) || *p == '\n' || *p == '#' || p == block->end;
}

static const char *skip_blanks(const char *p) {
    while (blank(*p))
        p++;
    return p;
}

static const char *line_end(const pl_block *block, const char *p) {
    const char *newline = memchr(p, '\n', (size_t)(block->end - p));
    return newline ? newline : block->end;
}

/* Records what is wrong with the word from `word` to the next blank or `colon`. Always NULL. */
static const char *fault(pl_block *block, const char *format, const char *word, char colon, uint32_t column) {
    const char *stop = word;
    while (!stops(block, stop) && *stop && *stop != colon)
        stop++;
    if (stop < block->end && *stop == '\0')
        format = SAY_NUL;
    block->fault = (pl_fault){format, word, stop, column};
    return NULL;
}

/* True for a word that a number reader elsewhere would take: nan, inf, infinity. */
static bool not_finite(const char *p) {
    p += *p == '-' || *p == '+';
    char low[3];
    for (int i = 0; i < 3; i++) {
        low[i] = (char)(p[i] | 0x20);
        if (p[i] == '\0' || p[i] == '\n')
            return false;
    }
    return memcmp(low, "nan", 3) == 0 || memcmp(low, "inf", 3) == 0;
}

/* Reads a column index at `p` and steps over its colon; NULL: a fault. */
static const char *read_index(pl_block *block, const char *p, uint32_t previous, uint32_t *column) {
    const char *word = p, *first = p + (*p == '-');
    uint64_t index = 0;
    for (p = first; digit(*p) <= 9; p++)
        index = index <= PL_LARGEST_COLUMN ? index * 10 + digit(*p) : index;
    if (*p != ':' && stops(block, p))
        return fault(block, p > first ? SAY_NO_COLON : SAY_INDEX, word, ':', 0);
    if (*p != ':' || p == first)
        return fault(block, SAY_INDEX, word, ':', 0);
    if (index == 0 || first > word)
        return fault(block, SAY_ZERO, word, ':', 0);
    if (index > PL_LARGEST_COLUMN)
        return fault(block, SAY_LARGE_INDEX, word, ':', 0);
    if (index <= previous)
        return fault(block, index == previous ? SAY_TWICE : SAY_ORDER, word, ':', previous);
    *column = (uint32_t)index;
    return p + 1;
}

/* Reads any entry at `p`, which is at its first byte; NULL: a fault. */
static const char *read_entry(pl_block *block, const char *p, uint32_t previous, uint32_t *column, float *value) {
    const char *word = p;
    p = read_index(block, p, previous, column);
    if (!p)
        return NULL;
    if (stops(block, p))
        return fault(block, SAY_NO_VALUE, word, ':', 0);
    pl_numeral numeral;
    if (!pl_numeral_scan(p, &numeral) || !stops(block, numeral.end))
        return fault(block, not_finite(p) ? SAY_FINITE : SAY_VALUE, p, '\n', *column);
    *value = pl_numeral_float(&numeral);
    if (isinf(*value))
        return fault(block, SAY_LARGE_VALUE, p, '\n', *column);
    return numeral.end;
}

/* Eight bytes, the first one lowest; compilers make one load of it. */
static inline uint64_t load_eight(const char *p) {
    const unsigned char *b = (const unsigned char *)p;
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 |
           (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

/* The number written by eight digits 0..9, one per byte, the first one lowest. */
static inline uint32_t join_eight(uint64_t digits) {
    digits = digits * 10 + (digits >> 8);
    uint64_t high = (digits & 0x000000ff000000ff) * 0x000f424000000064;
    uint64_t low = ((digits >> 16) & 0x000000ff000000ff) * 0x0000271000000001;
    return (uint32_t)((high + low) >> 32);
}

#define DECIMALS(n)                                                                                                    \
    if (stop == (uint64_t)0x80 << (8 * (n)))                                                                           \
    return *fraction = join_eight(digits << (64 - 8 * (n))), (n)

/* Reads 1 to 7 decimals at `p`; returns how many, 0 when there are none or more. */
static inline unsigned quick_decimals(const char *p, uint32_t *fraction) {
    uint64_t digits = load_eight(p) ^ 0x3030303030303030;
    uint64_t others = ((digits + 0x7676767676767676) | digits) & 0x8080808080808080;
    uint64_t stop = others & (0 - others); /* the first byte that is no digit */
    DECIMALS(6);
    DECIMALS(4);
    DECIMALS(5);
    DECIMALS(2);
    DECIMALS(1);
    DECIMALS(3);
    DECIMALS(7);
    return 0;
}

static const float ten_to[8] = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 1e7F};
static const uint32_t whole_ten_to[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};

/* Reads a plain value; NULL: not of this kind. Both operands of the division are floats, so it rounds correctly. */
static inline const char *quick_value(const char *p, float *value) {
    bool negative = *p == '-';
    p += negative;
    uint64_t whole = digit(*p);
    if (whole > 9)
        return NULL;
    for (p++; digit(*p) <= 9; p++) {
        whole = whole * 10 + digit(*p);
        if (whole >= EXACT_FLOAT)
            return NULL;
    }
    float result = (float)(uint32_t)whole;
    if (*p == '.') {
        uint32_t fraction = 0;
        unsigned decimals = quick_decimals(p + 1, &fraction);
        whole = whole * whole_ten_to[decimals] + fraction;
        if (decimals == 0 || whole > EXACT_FLOAT)
            return NULL;
        result = (float)(uint32_t)whole / ten_to[decimals];
        p += 1 + decimals;
    }
    *value = negative ? -result : result;
    return p;
}

#define ONE_MORE_DIGIT                                                                                                 \
    if (digit(*++p) > 9)                                                                                               \
        goto done;                                                                                                     \
    index = index * 10 + digit(*p)

/* Reads an index of up to 9 digits and its colon; NULL: not of this kind. */
static inline const char *quick_index(const char *p, uint32_t *column) {
    uint32_t index = digit(*p);
    if (index > 9)
        return NULL;
    ONE_MORE_DIGIT;
    ONE_MORE_DIGIT;
    ONE_MORE_DIGIT;
    ONE_MORE_DIGIT;
    ONE_MORE_DIGIT;
    ONE_MORE_DIGIT;
    ONE_MORE_DIGIT;
    ONE_MORE_DIGIT;
    p++;
done:
    *column = index;
    return *p == ':' ? p + 1 : NULL;
}

/* Reads one plain entry after a single space; NULL: something else is there. */
static inline const char *quick_entry(const char *p, uint32_t *column, float *value) {
    if (*p != ' ' || !(p = quick_index(p + 1, column)) || !(p = quick_value(p, value)))
        return NULL;
    return *p == ' ' || *p == '\n' ? p : NULL;
}

/* Reads the entries of a row, from `p` after its label; returns the end of the line, or NULL: a fault. */
static const char *read_entries(pl_block *block, const char *p) {
    uint32_t previous = 0, column = 0;
    uint32_t *index = block->index + block->entries;
    float *values = block->value + block->entries, value = 0;
    bool ones = block->ones;
    for (;;) {
        const char *next = quick_entry(p, &column, &value);
        if (!next || column <= previous) {
            p = skip_blanks(p);
            if (*p == '\n' || *p == '#' || p == block->end)
                break;
            next = read_entry(block, p, previous, &column, &value);
            if (!next)
                return NULL;
        }
        *index++ = column - 1;
        *values++ = value;
        ones &= value == 1.0F;
        previous = column;
        p = next;
    }
    block->entries = (uint64_t)(index - block->index);
    block->ones = ones;
    block->columns = previous > block->columns ? previous : block->columns;
    return line_end(block, p);
}

/* Steps over `qid:n`, where there is one; NULL: a fault. */
static const char *skip_query(pl_block *block, const char *p) {
    const char *word = skip_blanks(p);
    if (strncmp(word, "qid:", 4) != 0)
        return p;
    for (p = word + 4; digit(*p) <= 9; p++)
        ;
    return p > word + 4 && stops(block, p) ? p : fault(block, SAY_QUERY, word, '\n', 0);
}

/* Reads a label at `p`; NULL: a fault. */
static const char *read_label(pl_block *block, const char *p, double *label) {
    pl_numeral numeral;
    bool number = pl_numeral_scan(p, &numeral);
    if (!number || !stops(block, numeral.end)) {
        bool entry = number && *numeral.end == ':';
        return fault(block, entry ? SAY_NO_LABEL : not_finite(p) ? SAY_LABEL_FINITE : SAY_LABEL, p, '\n', 0);
    }
    *label = pl_numeral_double(&numeral);
    return isinf(*label) ? fault(block, SAY_LABEL_LARGE, p, '\n', 0) : numeral.end;
}

/* Reads one line, which may be no row; returns its end, or NULL: a fault. */
static const char *read_line(pl_block *block, const char *p) {
    p = skip_blanks(p);
    if (*p == '\n' || *p == '#' || p == block->end)
        return line_end(block, p);
    p = read_label(block, p, block->label + block->rows);
    p = p ? skip_query(block, p) : NULL;
    p = p ? read_entries(block, p) : NULL;
    if (p)
        block->row_end[block->rows++] = block->first + block->entries;
    return p;
}

void pl_libsvm_parse(pl_block *block) {
    block->rows = block->entries = block->lines = 0;
    block->columns = 0;
    block->ones = true;
    block->fault = (pl_fault){0};
    for (const char *p = block->text; p && p < block->end; p = p ? p + 1 : NULL) {
        block->lines++;
        p = read_line(block, p);
    }
}

void pl_libsvm_bound(pl_block *block) {
    uint64_t bytes = (uint64_t)(block->end - block->text);
    block->rows = bytes / 2 + 1;    /* "1\n" */
    block->entries = bytes / 4 + 1; /* " 1:1" */
}

void pl_libsvm_count(pl_block *block) {
    enum { CHUNK = 192 }; /* so that the counts of a chunk fit in a byte, and the compiler's vectors are full */
    const char *p = block->text;
    uint64_t newlines = 0, colons = 0;
    while (block->end - p >= CHUNK) {
        uint8_t chunk_newlines = 0, chunk_colons = 0;
        for (int i = 0; i < CHUNK; i++) {
            chunk_newlines = (uint8_t)(chunk_newlines + (p[i] == '\n'));
            chunk_colons = (uint8_t)(chunk_colons + (p[i] == ':'));
        }
        newlines += chunk_newlines;
        colons += chunk_colons;
        p += CHUNK;
    }
    for (; p < block->end; p++) {
        newlines += *p == '\n';
        colons += *p == ':';
    }
    block->rows = newlines + (block->end > block->text && block->end[-1] != '\n');
    block->entries = colons;
}

parley_status pl_libsvm_fail(const pl_fault *fault, const char *path, uint64_t line, parley_error *error) {
    char word[SHOWN + 8], sentence[256];
    size_t length = (size_t)(fault->stop - fault->word), shown = length < SHOWN ? length : SHOWN;
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)fault->word[i];
        word[i] = c >= ' ' && c < 0x7f ? (char)c : '?';
    }
    snprintf(word + shown, sizeof word - shown, "%s", length > shown ? "..." : "");
    snprintf(sentence, sizeof sentence, fault->format, word, fault->column);
    return pl_fail(error, PARLEY_BAD_INPUT, "%s:%llu: %s", path, (unsigned long long)line, sentence);
}
