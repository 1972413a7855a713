/* multilabel.c: LIBSVM text whose rows have any number of labels, as in 1,3 5:0.5 8:1. A row that begins with an entry
 * has none. Each set of labels becomes a class of the data (label_sets.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/label_sets.h"
#include "data/libsvm.h"
#include "data/numeral.h"
#include "data/parser.h"
#include "data/text_labels.h"

#define MOST_LABELS 1024 /* of a row */
#define LABEL_BYTES 32

#define SAY_LABEL "labels \"%s\" are not numbers separated by commas, as in 1,3"
#define SAY_MANY "labels \"%s\": a row may have 1024 labels"

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Writes the name of a set: its labels in order, each once. */
static uint64_t write_set(double *label, uint64_t count, char *to) {
    char *p = to;
    *p++ = '{';
    qsort(label, count, sizeof *label, by_value);
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0 && label[i] == label[i - 1])
            continue;
        if (p > to + 1)
            *p++ = ',';
        pl_number_text(label[i], p, LABEL_BYTES);
        p += strlen(p);
    }
    *p++ = '}';
    return (uint64_t)(p - to);
}

static const char *fault(pl_block *block, const char *format, const char *word) {
    const char *stop = word;
    while (stop < block->end && !strchr(" \t\r\n", *stop))
        stop++;
    block->fault = (pl_fault){.format = format, .word = word, .stop = stop};
    return NULL;
}

/* Reads the labels at `p`, which is not blank. Returns where the entries begin, or NULL on a fault. */
static const char *read_labels(pl_block *block, const char *p) {
    double label[MOST_LABELS];
    char name[MOST_LABELS * LABEL_BYTES + 2];
    const char *word = p;
    uint64_t count = 0;
    for (;; p++) {
        pl_numeral numeral;
        if (!pl_numeral_scan(p, &numeral))
            return fault(block, SAY_LABEL, word);
        if (*numeral.end == ':' && count == 0) { /* an entry: the row has no labels */
            p = word;
            break;
        }
        if (count == MOST_LABELS)
            return fault(block, SAY_MANY, word);
        label[count] = pl_numeral_double(&numeral) + 0.0; /* -0 is 0 */
        if (!isfinite(label[count++]))
            return fault(block, SAY_LABEL, word);
        p = numeral.end;
        if (p == block->end || strchr(" \t\r\n#", *p))
            break;
        if (*p != ',')
            return fault(block, SAY_LABEL, word);
    }
    uint64_t bytes = write_set(label, count, name);
    return pl_text_labels_add(block->state, block, (pl_name){name, bytes}) ? p : NULL;
}

static const char *read_line(pl_block *block, const char *p) {
    while (p < block->end && strchr(" \t\r", *p))
        p++;
    if (p == block->end || *p == '\n' || *p == '#') {
        const char *newline = p < block->end ? memchr(p, '\n', (size_t)(block->end - p)) : NULL;
        return newline ? newline : block->end;
    }
    p = read_labels(block, p);
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

/* Moves `*p` past a number that ends at one of `ends` or at the end. */
static bool pass_number(const char **p, const char *end, const char *ends) {
    pl_numeral numeral;
    if (*p >= end || !pl_numeral_scan(*p, &numeral) || numeral.end > end)
        return false;
    *p = numeral.end;
    return *p == end || (**p && strchr(ends, **p));
}

/* The first row must have several labels and an entry: 10:30:00 is a time. */
static bool sniff(const char *text, uint64_t bytes) {
    const char *p;
    uint64_t length = pl_first_line(text, bytes, &p), labels = 1;
    if (length == 0)
        return false;
    const char *end = p + length;
    for (; pass_number(&p, end, ", \t\r") && p < end && *p == ','; p++)
        labels++;
    if (labels < 2 || p == end || !strchr(" \t\r", *p))
        return false;
    while (p < end && strchr(" \t\r", *p))
        p++;
    const char *column = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    if (p == column || p == end || *p++ != ':')
        return false;
    return pass_number(&p, end, " \t\r#");
}

static parley_status open(pl_parser *parser, const pl_reading *reading, parley_error *error) {
    pl_text_labels *labels;
    (void)reading;
    parley_status status = pl_take(&labels, 1, sizeof *labels, "reading", error);
    if (status != PARLEY_OK)
        return status;
    parser->state = labels;
    parser->needs_all = true; /* sets are numbered when all are known */
    *labels = (pl_text_labels){.kind = PL_LABELS_READ, .words = true, .blocks = parser->block_count};
    return pl_take(&labels->fresh, labels->blocks, sizeof *labels->fresh, "reading", error);
}

static parley_status next(pl_parser *parser, parley_error *error) {
    (void)parser, (void)error;
    return PARLEY_OK;
}

static parley_status merge(pl_parser *parser, pl_block *block, parley_error *error) {
    return pl_text_labels_merge(parser->state, block, error);
}

static parley_status pack(pl_parser *parser, pl_span *out, uint64_t *bytes, parley_error *error) {
    *bytes = pl_text_labels_bytes(parser->state);
    if (!pl_span_reserve(out, *bytes))
        return pl_fail_memory(error, "label sets", *bytes);
    pl_text_labels_pack(parser->state, out->data);
    return PARLEY_OK;
}

static parley_status unpack(pl_parser *parser, const char *packed, uint64_t bytes, parley_error *error) {
    (void)bytes;
    return pl_text_labels_unpack(parser->state, packed, error);
}

static parley_status finish(pl_parser *parser, parley_data *data, parley_error *error) {
    return pl_text_labels_finish(parser->state, parser, data, error);
}

static void close_labels(void *closed) {
    if (closed)
        pl_text_labels_close(closed);
    pl_free(closed);
}

/* A row is no blank line and no comment. Sets are no labels. */
static bool row(void *state, const char *line, const char *end, pl_name *label) {
    (void)state, (void)label;
    while (line < end && strchr(" \t\r", *line))
        line++;
    return line < end && *line != '\n' && *line != '#';
}

const pl_format pl_format_multilabel = {
    .name = "multilabel",
    .title = "LIBSVM text with several labels",
    .help = "LIBSVM text whose rows have any number of labels: 1,3 column:value ...",
    .endings = "",
    .no_rows = "each line is a row such as \"1,3 3:0.5 7:1\"",
    .wide = true,
    .sniff = sniff,
    .open = open,
    .next = next,
    .count = pl_libsvm_count,
    .bound = pl_libsvm_bound,
    .parse = parse,
    .merge = merge,
    .pack = pack,
    .unpack = unpack,
    .finish = finish,
    .row = row,
    .close = close_labels,
};
