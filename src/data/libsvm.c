/* libsvm.c: LIBSVM text. A row is `label [qid:n] column:value ... [# comment]`; columns start at 1 and increase. Blank
 * lines and lines with only a comment are not rows. Common entries such as ` 123:0.012345` are read by code that
 * branches on the number of digits, because a predicted branch is faster than a computed shift. All others go to
 * read_entry, which reads the full syntax and reports faults. */
#include "data/libsvm.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "data/fast_decimal.h"
#include "data/numeral.h"
#include "data/row.h"

/* The messages get the word, then the column. */
#define SAY_NUL "NUL byte; this is not LIBSVM text"
#define SAY_NO_LABEL "label missing before \"%s\"; each row starts with its label"
#define SAY_LABEL "label \"%s\" is not a number; each row starts with one number"
#define SAY_LABELS "\"%s\" is several labels; --format multilabel reads rows with several"
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
#define SAY_LARGE_VALUE "value \"%s\" of column %u is too large for a 64-bit float; scale the column"
#define SAY_TWICE "column index %s twice in a row; each column may appear once"
#define SAY_ORDER "column index %s after %u; sort the indices of each row"

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* May a number be followed by this byte? */
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

/* Records a fault in the word from `word` to the next blank or `colon`. Always returns NULL. */
static const char *fault(pl_block *block, const char *format, const char *word, char colon, uint32_t column) {
    const char *stop = word;
    while (!stops(block, stop) && *stop && *stop != colon)
        stop++;
    if (stop < block->end && *stop == '\0')
        format = SAY_NUL;
    block->fault = (pl_fault){.format = format, .word = word, .stop = stop, .column = column};
    return NULL;
}

/* Is this a word that other programs read as a number: nan, inf or infinity? */
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

/* Reads a column index at `p` and skips its colon. Returns NULL on a fault. */
static const char *read_index(pl_block *block, const char *p, uint32_t previous, uint32_t *column) {
    const char *word = p, *first = p + (*p == '-');
    uint64_t index = 0;
    for (p = first; pl_digit(*p) <= 9; p++)
        index = index <= PL_LARGEST_COLUMN ? index * 10 + pl_digit(*p) : index;
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

/* Reads an entry of any form at `p`. Returns NULL on a fault. */
static const char *read_entry(pl_block *block, const char *p, uint32_t previous, uint32_t *column, double *value) {
    const char *word = p;
    p = read_index(block, p, previous, column);
    if (!p)
        return NULL;
    if (stops(block, p))
        return fault(block, SAY_NO_VALUE, word, ':', 0);
    pl_numeral numeral;
    if (!pl_numeral_scan(p, &numeral) || !stops(block, numeral.end))
        return fault(block, not_finite(p) ? SAY_FINITE : SAY_VALUE, p, '\n', *column);
    bool wide = block->values.wide != NULL, cut = false;
    bool fits = pl_numeral_value(&numeral, wide, value, &cut);
    block->rounded |= (uint64_t)cut << (*column - 1) % 64;
    if (fits)
        return numeral.end;
    fault(block, SAY_LARGE_VALUE, p, '\n', *column);
    block->fault.wide = !wide;
    return NULL;
}

#define ONE_MORE_DIGIT                                                                                                 \
    if (pl_digit(*++p) > 9)                                                                                            \
        goto done;                                                                                                     \
    index = index * 10 + pl_digit(*p)

/* Reads an index of up to 9 digits and its colon. Returns NULL for any other form. */
static inline const char *fast_index(const char *p, uint32_t *column) {
    uint32_t index = pl_digit(*p);
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

/* Reads one common entry after a single space. Returns NULL for any other form. */
static inline const char *fast_entry(const char *p, uint32_t *column, bool wide, double *value) {
    if (*p != ' ' || !(p = fast_index(p + 1, column)) || !(p = pl_fast_value(p, wide, value)))
        return NULL;
    return *p == ' ' || *p == '\n' ? p : NULL;
}

/* Reads the entries of a row; `p` is after its label. Returns the end of the line, or NULL on a fault. */
static inline const char *read_values(pl_block *block, const char *p, pl_value_room values) {
    uint32_t previous = 0, column = 0;
    uint32_t *index = block->index + block->entries;
    double value = 0;
    uint64_t at = block->entries;
    bool ones = block->ones;
    for (;;) {
        const char *next = fast_entry(p, &column, values.wide != NULL, &value);
        if (!next || column <= previous) {
            p = skip_blanks(p);
            if (*p == '\n' || *p == '#' || p == block->end)
                break;
            next = read_entry(block, p, previous, &column, &value);
            if (!next)
                return NULL;
        }
        *index++ = column - 1;
        pl_value_put(values, at++, value);
        ones &= value == 1.0;
        previous = column;
        p = next;
    }
    block->entries = (uint64_t)(index - block->index);
    block->ones = ones;
    block->columns = previous > block->columns ? previous : block->columns;
    return line_end(block, p);
}

/* The compiler makes a version for each type of values. */
static const char *read_entries(pl_block *block, const char *p) {
    return block->values.wide ? read_values(block, p, (pl_value_room){.wide = block->values.wide})
                              : read_values(block, p, (pl_value_room){.narrow = block->values.narrow});
}

/* Skips `qid:n` if present. Returns NULL on a fault. */
static const char *skip_query(pl_block *block, const char *p) {
    const char *word = skip_blanks(p);
    if (strncmp(word, "qid:", 4) != 0)
        return p;
    for (p = word + 4; pl_digit(*p) <= 9; p++)
        ;
    return p > word + 4 && stops(block, p) ? p : fault(block, SAY_QUERY, word, '\n', 0);
}

/* Reads a label at `p`. Returns NULL on a fault. */
static const char *read_label(pl_block *block, const char *p, double *label) {
    pl_numeral numeral;
    bool number = pl_numeral_scan(p, &numeral);
    if (!number || !stops(block, numeral.end)) {
        bool entry = number && *numeral.end == ':';
        if (number && *numeral.end == ',')
            return fault(block, SAY_LABELS, p, '\n', 0);
        return fault(block, entry ? SAY_NO_LABEL : not_finite(p) ? SAY_LABEL_FINITE : SAY_LABEL, p, '\n', 0);
    }
    *label = pl_numeral_double(&numeral);
    return isinf(*label) ? fault(block, SAY_LABEL_LARGE, p, '\n', 0) : numeral.end;
}

const char *pl_libsvm_row(pl_block *block, const char *p) {
    p = skip_query(block, p);
    p = p ? read_entries(block, p) : NULL;
    if (p)
        block->row_end[block->rows++] = block->first + block->entries;
    return p;
}

/* Reads one line, which may not be a row. Returns its end, or NULL on a fault. */
static const char *read_line(pl_block *block, const char *p) {
    p = skip_blanks(p);
    if (*p == '\n' || *p == '#' || p == block->end)
        return line_end(block, p);
    p = read_label(block, p, block->label + block->rows);
    return p ? pl_libsvm_row(block, p) : NULL;
}

static void parse(pl_block *block) {
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
    pl_byte_counts count = pl_count_bytes(block->text, block->end, ':', ':', ':');
    block->rows = count.newlines + (block->end > block->text && block->end[-1] != '\n');
    block->entries = count.matches;
}

/* Does the word from `p` to `end` begin like an entry: digits or qid, then a colon? */
static bool looks_like_entry(const char *p, const char *end) {
    const char *first = p;
    while (p < end && pl_digit(*p) <= 9)
        p++;
    return (p < end && p > first && *p == ':') || (end - first >= 4 && memcmp(first, "qid:", 4) == 0);
}

/* Text without a CSV separator is LIBSVM, even if it is faulty, unless it has neither a label nor an entry. With a
 * separator, the first word must be a number and the others entries. */
static bool sniff(const char *text, uint64_t bytes) {
    const char *p;
    uint64_t length = pl_first_line(text, bytes, &p);
    if (length == 0)
        return true;
    if (!memchr(p, ',', length) && !memchr(p, ';', length) && !memchr(p, '\t', length))
        return strchr("+-.0123456789", *p) || memchr(p, ':', length);
    const char *end = memchr(p, '#', length);
    end = end ? end : p + length;
    pl_numeral numeral;
    if (!pl_numeral_scan(p, &numeral) || numeral.end > end || (numeral.end < end && !blank(*numeral.end)))
        return false;
    for (p = numeral.end; p < end;) {
        while (p < end && blank(*p))
            p++;
        if (p < end && !looks_like_entry(p, end))
            return false;
        while (p < end && !blank(*p))
            p++;
    }
    return true;
}

static bool row(void *state, const char *line, const char *end, pl_name *label) {
    (void)state;
    while (line < end && blank(*line))
        line++;
    const char *stop = line;
    while (stop < end && !blank(*stop) && *stop != '\n' && *stop != '#')
        stop++;
    *label = (pl_name){line, (uint64_t)(stop - line)};
    return stop > line;
}

const pl_format pl_format_libsvm = {
    .name = "libsvm",
    .title = "LIBSVM text",
    .help = "label column:value ..., columns from 1 in increasing order",
    .endings = ".svm .libsvm .txt",
    .no_rows = "each line is a row such as \"+1 3:0.5 7:1\"",
    .wide = true,
    .sniff = sniff,
    .count = pl_libsvm_count,
    .bound = pl_libsvm_bound,
    .parse = parse,
    .row = row,
    .write = pl_data_write_libsvm,
};
