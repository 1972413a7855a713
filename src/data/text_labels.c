/* text_labels.c: see text_labels.h. While text is read, the label of a row is the number of its word, and that of a
 * word which is new in the block is -1 less the number there. */
#include "data/text_labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/label_sets.h"
#include "data/numeral.h"
#include "data/terms.h"
#include "data/vocabulary.h"

#define HEAD_BYTES ((uint64_t)64 << 10)
#define MOST_CLASSES 1000
#define LONGEST_LABEL 64 /* bytes, by which labels are recognised */

#define SAY_TAB "%.0sno tab; each line must be a label, a tab and the text"
#define SAY_NO_LABEL "%.0sthe label is missing; each line must be a label, a tab and the text"
#define SAY_UTF8 "label \"%s\" is not UTF-8 text; convert it, for example with iconv"
#define SAY_CLASS "label \"%s\" is not a class of the model"
#define SAY_NUMBER "label \"%s\" is not a finite number, as those of the model are"

static bool blank(char c) { return c == ' ' || c == '\r' || c == '\t'; }

bool pl_text_blank(const char *p, const char *end) {
    while (p < end && blank(*p))
        p++;
    return p == end;
}

/* The label before a tab, without blanks around it. */
static pl_name trimmed(const char *p, const char *tab) {
    while (p < tab && blank(*p))
        p++;
    while (tab > p && blank(tab[-1]))
        tab--;
    return (pl_name){p, (uint64_t)(tab - p)};
}

/* Can a line be a label and a text? With classes, the label must be one of them. */
static bool line_fits(const char *p, const char *end, const pl_dictionary *classes) {
    const char *tab = memchr(p, '\t', (size_t)(end - p));
    pl_name label = trimmed(p, tab ? tab : p);
    if (!tab || label.bytes == 0 || label.bytes > LONGEST_LABEL || memchr(label.text, ' ', label.bytes))
        return false;
    return classes->count == 0 || pl_dictionary_find(classes, 0, label.text, label.bytes) != PL_NOT_FOUND;
}

/* Does every line of the head, of which there is one, begin with a label? */
static parley_status inspect(const pl_parser *parser, const pl_dictionary *classes, bool *fits, parley_error *error) {
    const char *p, *end, *newline;
    uint64_t bytes, lines = 0;
    bool whole;
    parley_status status = pl_source_head(parser->source, HEAD_BYTES, &p, &bytes, &whole, error);
    *fits = status == PARLEY_OK;
    if (!*fits)
        return status;
    for (end = p + bytes; *fits && p < end; p = newline ? newline + 1 : end) {
        newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        if (!newline && !whole && lines > 0)
            break; /* the rest of the line is not in the head */
        if (pl_text_blank(p, stop))
            continue;
        lines++;
        *fits = line_fits(p, stop, classes);
    }
    *fits &= lines > 0;
    return status;
}

parley_status pl_text_labels_open(pl_text_labels *labels, const pl_parser *parser, const pl_reading *reading,
                                  bool trained, parley_error *error) {
    bool fits, model = reading->model_columns > 0;
    labels->fixed = model;
    labels->blocks = parser->block_count;
    parley_status status = pl_take(&labels->fresh, labels->blocks, sizeof *labels->fresh, "reading", error);
    for (uint64_t i = 0; model && reading->classes && i < reading->classes->count && status == PARLEY_OK; i++) {
        pl_name name = pl_names_at(reading->classes, i);
        uint32_t number;
        if (!pl_dictionary_add(&labels->known, 0, name.text, name.bytes, &number))
            status = pl_fail_memory(error, "classes", name.bytes);
    }
    if (status == PARLEY_OK)
        status = inspect(parser, &labels->known, &fits, error);
    if (status != PARLEY_OK)
        return status;
    bool read = model ? trained && !reading->unlabelled : !reading->documents && (reading->needs_labels || fits);
    labels->kind = read ? PL_LABELS_READ : fits ? PL_LABELS_SKIPPED : PL_NO_LABELS;
    return PARLEY_OK;
}

static const char *fault(pl_block *block, const char *format, pl_name label) {
    block->fault = (pl_fault){.format = format, .word = label.text, .stop = label.text + label.bytes};
    return NULL;
}

static bool read_number(pl_name label, double *value) {
    pl_numeral numeral;
    if (!pl_numeral_scan(label.text, &numeral) || numeral.end != label.text + label.bytes)
        return false;
    *value = pl_numeral_double(&numeral);
    return isfinite(*value);
}

const char *pl_text_label(const pl_text_labels *labels, pl_block *block, const char *p, const char *end) {
    const char *tab = labels->kind == PL_NO_LABELS ? NULL : memchr(p, '\t', (size_t)(end - p));
    if (labels->kind != PL_LABELS_READ)
        return tab ? tab + 1 : p;
    pl_name label = trimmed(p, tab ? tab : p);
    if (!tab || label.bytes == 0)
        return fault(block, tab ? SAY_NO_LABEL : SAY_TAB, label);
    if (pl_utf8_scan(label.text, label.text + label.bytes) != label.text + label.bytes)
        return fault(block, SAY_UTF8, label);
    double *value = &block->label[block->rows];
    if (labels->fixed && labels->known.count == 0)
        return read_number(label, value) ? tab + 1 : fault(block, SAY_NUMBER, label);
    if (!labels->fixed)
        return pl_text_labels_add(labels, block, label) ? tab + 1 : NULL;
    uint32_t number = pl_dictionary_find(&labels->known, 0, label.text, label.bytes);
    *value = number;
    return number != PL_NOT_FOUND ? tab + 1 : fault(block, SAY_CLASS, label);
}

bool pl_text_labels_add(const pl_text_labels *labels, pl_block *block, pl_name word) {
    double *value = &block->label[block->rows];
    uint32_t number = pl_dictionary_find(&labels->known, 0, word.text, word.bytes);
    *value = number;
    if (number != PL_NOT_FOUND)
        return true;
    if (!pl_dictionary_add(&labels->fresh[block->number], 0, word.text, word.bytes, &number)) {
        block->fault.memory = true;
        return false;
    }
    *value = -1.0 - (double)number;
    return true;
}

parley_status pl_text_labels_merge(pl_text_labels *labels, pl_block *block, parley_error *error) {
    pl_dictionary *fresh = &labels->fresh[block->number];
    uint32_t *numbers;
    if (fresh->count == 0)
        return PARLEY_OK;
    parley_status status = pl_take(&numbers, fresh->count, sizeof *numbers, "labels", error);
    for (uint64_t i = 0; i < fresh->count && status == PARLEY_OK; i++) {
        pl_name word = pl_dictionary_word(fresh, (uint32_t)i);
        if (!pl_dictionary_add(&labels->known, 0, word.text, word.bytes, &numbers[i]))
            status = pl_fail_memory(error, "labels", word.bytes);
    }
    for (uint64_t i = 0; i < block->rows && status == PARLEY_OK; i++)
        if (block->label[i] < 0)
            block->label[i] = numbers[(uint64_t)(-1.0 - block->label[i])];
    pl_free(numbers);
    pl_dictionary_clear(fresh);
    return status;
}

uint64_t pl_text_labels_bytes(pl_text_labels *labels) {
    uint64_t count = labels->fixed ? 0 : labels->known.count, bytes = sizeof count;
    labels->parted = true;
    for (uint64_t i = 0; i < count; i++)
        bytes += sizeof bytes + pl_dictionary_word(&labels->known, (uint32_t)i).bytes;
    return bytes;
}

void pl_text_labels_pack(const pl_text_labels *labels, char *to) {
    uint64_t count = labels->fixed ? 0 : labels->known.count;
    memcpy(to, &count, sizeof count);
    to += sizeof count;
    for (uint64_t i = 0; i < count; i++) {
        pl_name word = pl_dictionary_word(&labels->known, (uint32_t)i);
        memcpy(to, &word.bytes, sizeof word.bytes);
        memcpy(to + sizeof word.bytes, word.text, word.bytes);
        to += sizeof word.bytes + word.bytes;
    }
}

parley_status pl_text_labels_unpack(pl_text_labels *labels, const char *packed, parley_error *error) {
    uint64_t count, bytes;
    memcpy(&count, packed, sizeof count);
    packed += sizeof count;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t number;
        memcpy(&bytes, packed, sizeof bytes);
        packed += sizeof bytes;
        if (!pl_dictionary_add(&labels->all, 0, packed, bytes, &number))
            return pl_fail_memory(error, "labels", bytes);
        packed += bytes;
    }
    return PARLEY_OK;
}

typedef struct class_word {
    pl_name word;
    uint32_t number;
} class_word;

static int by_text(const void *a, const void *b) {
    const pl_name *x = &((const class_word *)a)->word, *y = &((const class_word *)b)->word;
    int order = memcmp(x->text, y->text, (size_t)(x->bytes < y->bytes ? x->bytes : y->bytes));
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Numbers the labels as classes, and names these. */
static parley_status make_classes(const pl_dictionary *words, bool sets, double *value, parley_data *data,
                                  parley_error *error) {
    class_word *sorted;
    pl_dictionary ordered = {0};
    uint32_t number;
    if (sets && words->count > PL_MOST_LABEL_SETS)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: %llu different sets of labels; the most is %d; leave rare labels or rows out", data->path,
                       (unsigned long long)words->count, PL_MOST_LABEL_SETS);
    if (!sets && words->count > MOST_CLASSES)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: %llu different words as labels, before the tab of each line; the most is %d classes",
                       data->path, (unsigned long long)words->count, MOST_CLASSES);
    parley_status status = pl_take(&sorted, words->count + 1, sizeof *sorted, "classes", error);
    for (uint64_t i = 0; i < words->count && status == PARLEY_OK; i++)
        sorted[i] = (class_word){pl_dictionary_word(words, (uint32_t)i), (uint32_t)i};
    if (status == PARLEY_OK)
        qsort(sorted, words->count, sizeof *sorted, by_text);
    for (uint64_t i = 0; i < words->count && status == PARLEY_OK; i++) {
        value[sorted[i].number] = (double)i;
        if (!pl_dictionary_add(&ordered, 0, sorted[i].word.text, sorted[i].word.bytes, &number))
            status = pl_fail_memory(error, "classes", sorted[i].word.bytes);
    }
    if (status == PARLEY_OK)
        status = pl_names_of_words(&ordered, &data->classes, error);
    pl_dictionary_free(&ordered);
    pl_free(sorted);
    return status;
}

parley_status pl_text_labels_finish(const pl_text_labels *labels, pl_parser *parser, parley_data *data,
                                    parley_error *error) {
    const pl_dictionary *words = labels->parted ? &labels->all : &labels->known;
    double *value, *label = parser->label.data;
    bool numbers = !labels->words;
    if (labels->kind != PL_LABELS_READ || labels->fixed)
        return PARLEY_OK;
    parley_status status = pl_take(&value, words->count + 1, sizeof *value, "labels", error);
    for (uint64_t i = 0; i < words->count && status == PARLEY_OK && numbers; i++) {
        pl_name word = pl_dictionary_word(words, (uint32_t)i);
        char text[LONGEST_LABEL] = "";
        numbers = word.bytes < sizeof text;
        memcpy(text, word.text, numbers ? word.bytes : 0);
        numbers = numbers && read_number((pl_name){text, word.bytes}, &value[i]);
    }
    if (status == PARLEY_OK && !numbers)
        status = make_classes(words, labels->words, value, data, error);
    for (uint64_t i = 0; i < parser->rows && status == PARLEY_OK; i++) {
        uint32_t own = (uint32_t)label[i];
        pl_name word = pl_dictionary_word(&labels->known, own);
        label[i] = value[labels->parted ? pl_dictionary_find(words, 0, word.text, word.bytes) : own];
    }
    pl_free(value);
    return status;
}

void pl_text_labels_close(pl_text_labels *labels) {
    for (unsigned i = 0; labels->fresh && i < labels->blocks; i++)
        pl_dictionary_free(&labels->fresh[i]);
    pl_free(labels->fresh);
    pl_dictionary_free(&labels->known);
    pl_dictionary_free(&labels->all);
    *labels = (pl_text_labels){0};
}
