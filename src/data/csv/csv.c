/* csv.c: values separated by commas, tabs or semicolons. A quoted field may contain separators, newlines and doubled
 * quotes. Each word of a categorical column becomes a column of its own. New words are numbered after each window in
 * the order of the input; when everything has been read, they are numbered again by column and text, so that the
 * columns depend neither on threads nor on the order of rows. Hashed categories need no dictionary. */
#include "data/csv/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/fast_decimal.h"
#include "data/hash.h"
#include "data/numeral.h"
#include "data/words.h"

#define LONGEST_NAME 1024 /* longer names are cut off */

/* The messages get the word, the name of the column and its number. */
#define SAY_NUL "NUL byte; this is not CSV text"
#define SAY_QUOTE "a quote inside the field \"%s\"; put the whole field in quotes and double the quotes in it"
#define SAY_AFTER_QUOTE "text after the closing quote: \"%s\"; double the quotes that belong to a field"
#define SAY_OPEN "a quote that is never closed, at \"%s\""
#define SAY_FEWER "%.0s%.0sfewer fields than the %u of the first line; --bad-rows skip leaves such rows out"
#define SAY_MORE                                                                                                       \
    "%.0s%.0smore fields than the %u of the first line; put fields with separators in quotes, name every column in "   \
    "the first line (--skip-lines leaves out lines above it), or leave such rows out with --bad-rows skip"
#define SAY_FINITE "value \"%s\" of column %s is not finite; values must be finite"
#define SAY_LARGE "value \"%s\" of column %s is too large for a 64-bit float; scale the column"
#define SAY_NO_LABEL "%.0sthe label, column %s, is missing; --missing-label skip leaves such rows out"
#define SAY_ENCODING "\"%s\" is not UTF-8 text; --encoding latin-1 reads it as Latin-1"
#define SAY_LABEL "label \"%s\" in column %s is not a finite number, unlike those above it"
#define SAY_CLASS "label \"%s\" in column %s is not a class of the model"
#define SAY_WEIGHT "weight \"%s\" in column %s is not a finite, non-negative number"

static bool blank(char c, char separator) { return c != separator && (c == ' ' || c == '\r' || c == '\t'); }

static const char *fault(pl_block *block, const char *format, const char *word, const char *stop) {
    const char *nul = memchr(word, '\0', (size_t)(stop - word));
    block->fault = (pl_fault){.format = nul ? SAY_NUL : format, .word = word, .stop = stop};
    return NULL;
}

/* Records a fault in a field of a column. Always returns false. */
static bool field_fault(pl_block *block, const char *format, const pl_field *field, unsigned column) {
    const pl_csv *csv = block->state;
    fault(block, format, field->text, field->text + field->bytes);
    block->fault.name = csv->columns[column].name;
    block->fault.column = column + 1;
    return false;
}

bool pl_csv_no_memory(pl_block *block) {
    block->fault.memory = true;
    return false;
}

bool pl_csv_room(pl_block *block, uint64_t bytes) {
    pl_csv_scratch *scratch = &((pl_csv *)block->state)->scratch[block->number];
    if (bytes > scratch->room) {
        char *text = pl_realloc(scratch->text, bytes * 2, 1);
        if (!text)
            return pl_csv_no_memory(block);
        scratch->text = text;
        scratch->room = bytes * 2;
    }
    return true;
}

/* Copies a quoted field from `p` to `stop`, replacing doubled quotes by single ones. Returns false if memory runs out.
 */
static bool unquote(pl_block *block, const char *p, const char *stop, pl_field *field) {
    pl_csv_scratch *scratch = &((pl_csv *)block->state)->scratch[block->number];
    if (!pl_csv_room(block, (uint64_t)(stop - p)))
        return false;
    char *to = scratch->text;
    for (; p < stop; p++) {
        *to++ = *p;
        p += *p == '"';
    }
    *field = (pl_field){scratch->text, (uint64_t)(to - scratch->text), true};
    return true;
}

/* Makes a field UTF-8 that has bytes beyond ASCII. Returns `p`, or NULL on a fault. */
static const char *recode(pl_block *block, const char *p, pl_field *field) {
    const pl_csv *csv = block->state;
    if (csv->latin1)
        return pl_csv_from_latin1(block, field) ? p : NULL;
    return pl_csv_is_utf8(field->text, field->bytes)
               ? p
               : fault(block, SAY_ENCODING, field->text, field->text + field->bytes);
}

/* Reads a quoted field; `p` is after the opening quote. */
static const char *quoted_field(pl_block *block, const char *p, pl_field *field) {
    const pl_csv *csv = block->state;
    const char *first = p, *stop;
    bool doubled = false;
    for (;; p = stop + 2) {
        stop = memchr(p, '"', (size_t)(block->end - p));
        if (!stop) {
            const char *line = memchr(first, '\n', (size_t)(block->end - first));
            return fault(block, SAY_OPEN, first, line ? line : block->end);
        }
        if (stop + 1 >= block->end || stop[1] != '"')
            break;
        doubled = true;
    }
    *field = (pl_field){first, (uint64_t)(stop - first), true};
    for (const char *q = first; (q = memchr(q, '\n', (size_t)(stop - q))); q++)
        block->lines++;
    unsigned all = 0;
    for (const char *q = first; q < stop; q++)
        all |= (unsigned char)*q;
    if (doubled && !unquote(block, first, stop, field))
        return NULL;
    for (p = stop + 1; p < block->end && blank(*p, csv->separator); p++)
        ;
    if (p == block->end || *p == '\n' || *p == csv->separator)
        return all < 0x80 ? p : recode(block, p, field);
    for (stop = p; stop < block->end && *stop != '\n' && *stop != csv->separator; stop++)
        ;
    return fault(block, SAY_AFTER_QUOTE, p, stop);
}

const char *pl_csv_field(pl_block *block, const char *p, pl_field *field) {
    const pl_csv *csv = block->state;
    char separator = csv->separator;
    while (p < block->end && blank(*p, separator))
        p++;
    if (p < block->end && *p == '"')
        return quoted_field(block, p + 1, field);
    const char *first = p, *stop;
    unsigned odd = 0, all = 0;
    for (; p < block->end && *p != '\n' && *p != separator; p++) {
        odd |= (*p == '"') | (*p == '\0');
        all |= (unsigned char)*p;
    }
    for (stop = p; stop > first && blank(stop[-1], separator); stop--)
        ;
    *field = (pl_field){first, (uint64_t)(stop - first), false};
    if (odd)
        return fault(block, SAY_QUOTE, first, stop);
    return all < 0x80 ? p : recode(block, p, field);
}

static bool is_word(const pl_field *field, const char *word) {
    uint64_t length = strlen(word);
    for (uint64_t i = 0; i < length && i < field->bytes; i++)
        if ((field->text[i] | 0x20) != word[i] && field->text[i] != word[i])
            return false;
    return field->bytes == length;
}

/* Is the field one of the words in a list separated by commas? */
static bool is_listed(const pl_field *field, const char *list) {
    for (; list && *list; list += strspn(list, ",")) {
        size_t length = strcspn(list, ",");
        if (length == field->bytes && memcmp(list, field->text, length) == 0)
            return true;
        list += length;
    }
    return false;
}

bool pl_csv_missing(const pl_csv *csv, const pl_field *field) {
    static const char *const usual[] = {"na", "n/a", "nan", "null", "none", "unknown"};
    if (field->bytes == 0 || (field->bytes == 1 && *field->text == '?'))
        return true;
    for (unsigned i = 0; i < sizeof usual / sizeof *usual && field->bytes <= 7; i++)
        if (is_word(field, usual[i]))
            return true;
    return csv->missing_words && is_listed(field, csv->missing_words);
}

bool pl_csv_numeral(const pl_field *field, char *copy, pl_numeral *numeral) {
    const char *text = field->text;
    if (field->quoted) { /* the text behind a quoted field must be checked */
        if (field->bytes >= PL_QUOTED_NUMERAL)
            return false;
        memcpy(copy, field->text, field->bytes);
        copy[field->bytes] = '\0';
        text = copy;
    }
    return pl_numeral_scan(text, numeral) && numeral->end == text + field->bytes;
}

static bool read_finite(const pl_csv_column *column, const pl_field *field, double *number) {
    pl_amount amount;
    pl_numeral numeral;
    if (!pl_csv_number(column, field, &amount, &numeral))
        return false;
    *number = pl_numeral_double(&numeral);
    return isfinite(*number);
}

static bool read_number(pl_block *block, const pl_field *field, unsigned j) {
    const pl_csv *csv = block->state;
    pl_amount amount;
    pl_numeral numeral;
    if (pl_csv_missing(csv, field))
        return pl_csv_fill(block, j, field, false);
    if (!pl_csv_number(&csv->columns[j], field, &amount, &numeral)) {
        bool infinite = is_word(field, "inf") || is_word(field, "-inf") || is_word(field, "infinity");
        return infinite ? field_fault(block, SAY_FINITE, field, j)
                        : pl_csv_fill(block, j, field, !pl_looks_missing(field->text, field->bytes));
    }
    double value;
    bool cut = false, fits = pl_numeral_value(&numeral, csv->wide, &value, &cut);
    block->rounded |= cut ? UINT64_MAX : 0; /* columns get their numbers later */
    if (!fits) {
        field_fault(block, SAY_LARGE, field, j);
        block->fault.wide = !csv->wide;
        return false;
    }
    if (value != 0)
        pl_csv_emit(block, csv->columns[j].id, value);
    return true;
}

static bool read_date(pl_block *block, const pl_field *field, unsigned j) {
    const pl_csv *csv = block->state;
    double years;
    if (pl_csv_missing(csv, field))
        return pl_csv_fill(block, j, field, false);
    if (!pl_date_read(field->text, field->bytes, csv->columns[j].order, &years))
        return pl_csv_fill(block, j, field, !pl_looks_missing(field->text, field->bytes));
    block->rounded = UINT64_MAX;
    if (years != 0)
        pl_csv_emit(block, csv->columns[j].id, years);
    return true;
}

bool pl_csv_word(pl_block *block, unsigned j, const char *text, uint64_t bytes, uint32_t *number) {
    pl_csv *csv = block->state;
    *number = pl_dictionary_find(&csv->words, j, text, bytes);
    if (csv->matched && (*number != PL_NOT_FOUND || csv->columns[j].rare))
        *number = *number != PL_NOT_FOUND ? csv->map[*number] : csv->columns[j].id;
    else if (*number == PL_NOT_FOUND && !csv->matched) {
        if (!pl_dictionary_add(&csv->scratch[block->number].fresh, j, text, bytes, number))
            return pl_csv_no_memory(block);
        *number |= PL_CSV_MARK;
    }
    return true;
}

/* Records column=word as the name of a hash. Returns false if memory runs out. */
static bool note(pl_block *block, const char *word, uint64_t bytes, unsigned j, uint32_t hash) {
    pl_csv *csv = block->state;
    char text[LONGEST_NAME];
    uint64_t used = strlen(csv->columns[j].name);
    used = used < sizeof text / 2 ? used : sizeof text / 2;
    memcpy(text, csv->columns[j].name, used);
    text[used++] = '=';
    bytes = bytes < sizeof text - used ? bytes : sizeof text - used;
    memcpy(text + used, word, bytes);
    return pl_hash_names_note(&csv->hash_names, block->number, hash, text, used + bytes) || pl_csv_no_memory(block);
}

bool pl_csv_category(pl_block *block, unsigned j, const char *text, uint64_t bytes, double value) {
    const pl_csv *csv = block->state;
    uint32_t number;
    if (csv->hashed) {
        uint32_t hash = pl_murmur(text, bytes, csv->columns[j].seed) & csv->mask;
        if (pl_hash_names_lacks(&csv->hash_names, hash) && !note(block, text, bytes, j, hash))
            return false;
        pl_csv_emit(block, csv->numbers + hash, value);
        return true;
    }
    if (!pl_csv_word(block, j, text, bytes, &number))
        return false;
    if (number != PL_NOT_FOUND)
        pl_csv_emit(block, number, value);
    return true;
}

static bool read_category(pl_block *block, const pl_field *field, unsigned j) {
    const pl_csv *csv = block->state;
    uint64_t before = block->entries;
    if (pl_csv_missing(csv, field))
        return pl_csv_fill(block, j, field, false);
    if (!pl_csv_category(block, j, field->text, field->bytes, 1))
        return false;
    return block->entries > before || pl_csv_unseen(block, j, field);
}

static bool read_label(pl_block *block, const pl_field *field, unsigned j) {
    const pl_csv *csv = block->state;
    double *label = &block->label[block->rows];
    uint32_t number;
    if (pl_csv_missing(csv, field))
        return field_fault(block, SAY_NO_LABEL, field, j);
    if (!csv->named_labels)
        return read_finite(&csv->columns[j], field, label) || field_fault(block, SAY_LABEL, field, j);
    if (!pl_csv_word(block, j, field->text, field->bytes, &number))
        return false;
    if (number == PL_NOT_FOUND)
        return field_fault(block, SAY_CLASS, field, j);
    *label = number & PL_CSV_MARK ? -1.0 - (double)(number & ~PL_CSV_MARK) : (double)number;
    return true;
}

static bool read_weight(pl_block *block, const pl_field *field, unsigned j) {
    const pl_csv *csv = block->state;
    double *weight = &block->weight[block->rows];
    if (!read_finite(&csv->columns[j], field, weight) || *weight < 0)
        return field_fault(block, SAY_WEIGHT, field, j);
    block->unweighted &= *weight == 1;
    return true;
}

static bool read_field(pl_block *block, const pl_field *field, unsigned j) {
    switch (((const pl_csv *)block->state)->columns[j].role) {
    case PL_NUMBERS: return read_number(block, field, j);
    case PL_DATES: return read_date(block, field, j);
    case PL_CATEGORIES: return read_category(block, field, j);
    case PL_LABELS: return read_label(block, field, j);
    case PL_WEIGHTS: return read_weight(block, field, j);
    case PL_TEXTS: return pl_csv_text_read(block, field, j);
    default: return true;
    }
}

/* Reads a field, and keeps it if interactions need it. A missing value takes no part in them. */
static bool take_field(pl_block *block, const pl_field *field, unsigned j) {
    const pl_csv *csv = block->state;
    pl_csv_scratch *scratch = &csv->scratch[block->number];
    uint64_t before = block->entries;
    scratch->filled = false;
    if (csv->columns[j].identifies && !pl_csv_id_keep(block, field))
        return false;
    if (!read_field(block, field, j))
        return false;
    if (!csv->columns[j].crossed)
        return true;
    return pl_csv_cross_keep(block, j, field, block->entries > before && !scratch->filled);
}

/* Sorts the entries of a row if they may be out of order. Returns false if memory runs out. */
static bool finish_row(pl_block *block, uint64_t first) {
    pl_csv *csv = block->state;
    if (csv->cross_count > 0 && !pl_csv_cross_row(block))
        return false;
    for (unsigned i = 0; i < csv->absent_count; i++)
        pl_csv_emit(block, csv->absent[i].id, csv->absent[i].filler);
    if (csv->matched || csv->hashed || csv->texts.count > 0) {
        uint64_t kept = pl_row_sort(&csv->scratch[block->number].sorter, block->index + first,
                                    pl_value_room_from(block->values, first), block->entries - first);
        if (kept == UINT64_MAX)
            return pl_csv_no_memory(block);
        for (uint64_t i = 0; kept < block->entries - first && i < kept; i++)
            block->ones &= pl_value_at(pl_values_of(block->values), first + i) == 1.0;
        block->entries = first + kept;
        if (csv->matched)
            pl_csv_texts_weigh(block, first);
    }
    block->row_end[block->rows++] = block->first + block->entries;
    return true;
}

/* The end of the row, if nothing but the empty columns that are left out follows the separator at `p`; else NULL. */
static const char *past_tail(pl_block *block, const char *p) {
    const pl_csv *csv = block->state;
    pl_field field;
    for (unsigned i = 0; i < csv->tail; i++) {
        p = pl_csv_field(block, p + 1, &field);
        if (!p || field.bytes > 0)
            return NULL;
        if (p == block->end || *p == '\n')
            return p;
    }
    return NULL;
}

/* Reads one row at `p`. Returns its end, or NULL on a fault. */
static const char *read_row(pl_block *block, const char *p) {
    const pl_csv *csv = block->state;
    uint64_t first = block->entries;
    block->label[block->rows] = 0;
    if (block->weight)
        block->weight[block->rows] = 1;
    for (unsigned j = 0;; j++, p++) {
        const pl_csv_column *column = &csv->columns[j];
        double value;
        const char *next = column->fast ? pl_fast_value(p, csv->wide, &value) : NULL;
        if (next && next < block->end && (*next == csv->separator || *next == '\n')) {
            if (value != 0)
                pl_csv_emit(block, column->id, value);
            p = next;
        } else {
            pl_field field;
            p = pl_csv_field(block, p, &field);
            if (!p || !take_field(block, &field, j))
                return NULL;
        }
        bool more = p < block->end && *p == csv->separator;
        if (more == (j + 1 < csv->count)) {
            if (!more)
                break;
            continue;
        }
        if (more && (next = past_tail(block, p))) {
            p = next;
            break;
        }
        if (block->fault.memory)
            return NULL;
        block->fault =
            (pl_fault){.format = more ? SAY_MORE : SAY_FEWER, .word = "", .stop = "", .name = "", .column = csv->count};
        return NULL;
    }
    return finish_row(block, first) ? p : NULL;
}

/* Reads the row at `p`, or leaves it out. Returns its end, or NULL on a fault. */
static const char *take_row(pl_block *block, const char *p) {
    const pl_csv *csv = block->state;
    const char *end;
    if (!csv->skips_bad && !csv->skips_unlabelled)
        return read_row(block, p);
    pl_csv_fate fate = pl_csv_judge(block, p, &end);
    if (fate == PL_ROW_KEPT)
        return read_row(block, p);
    pl_csv_skip(block, fate);
    return end;
}

static const char *line_end(const pl_block *block, const char *p) {
    const char *newline = memchr(p, '\n', (size_t)(block->end - p));
    return newline ? newline : block->end;
}

static void parse(pl_block *block) {
    const pl_csv *csv = block->state;
    block->rows = block->entries = block->lines = 0;
    for (const char *p = block->text; p && p < block->end; p = p ? p + 1 : NULL) {
        const char *word = p;
        block->lines++;
        while (word < block->end && blank(*word, csv->separator))
            word++;
        if (word == block->end || *word == '\n')
            p = word;
        else
            p = csv->comment && *p == csv->comment ? line_end(block, p) : take_row(block, p);
    }
}

/* Most entries of `rows` rows with `fields` fields: a missing value may be filled and be a category as well. */
static uint64_t most_entries(const pl_csv *csv, uint64_t rows, uint64_t fields) {
    return fields * (csv->indicated ? 2 : 1) + rows * ((uint64_t)csv->cross_count + csv->absent_count);
}

static void bound(pl_block *block) {
    uint64_t bytes = (uint64_t)(block->end - block->text);
    block->rows = bytes / 2 + 1;
    block->entries = most_entries(block->state, block->rows, bytes + 1) + pl_csv_texts_entries(block->state, bytes);
}

static void count(pl_block *block) {
    const pl_csv *csv = block->state;
    enum { CHUNK = 192 }; /* the counts of a chunk fit in a byte, and chunks fill vector registers */
    const char *p = block->text;
    uint64_t newlines = 0, separators = 0;
    char separator = csv->separator;
    while (block->end - p >= CHUNK) {
        uint8_t chunk_newlines = 0, chunk_separators = 0;
        for (int i = 0; i < CHUNK; i++) {
            chunk_newlines = (uint8_t)(chunk_newlines + (p[i] == '\n'));
            chunk_separators = (uint8_t)(chunk_separators + (p[i] == separator));
        }
        newlines += chunk_newlines;
        separators += chunk_separators;
        p += CHUNK;
    }
    for (; p < block->end; p++) {
        newlines += *p == '\n';
        separators += *p == separator;
    }
    block->rows = newlines + 1;
    block->entries = most_entries(csv, block->rows, separators + block->rows) +
                     pl_csv_texts_entries(csv, (uint64_t)(block->end - block->text));
}

/* Accepts all text that no other format recognises. */
static bool sniff(const char *text, uint64_t bytes) {
    (void)text;
    (void)bytes;
    return true;
}

static void close_csv(void *closed) {
    pl_csv *csv = closed;
    if (!csv)
        return;
    for (unsigned i = 0; i < csv->blocks && csv->scratch; i++) {
        pl_dictionary_free(&csv->scratch[i].fresh);
        pl_free(csv->scratch[i].text);
        pl_sorter_free(&csv->scratch[i].sorter);
        pl_free(csv->scratch[i].counts);
        pl_dictionary_free(&csv->scratch[i].examples);
        pl_free(csv->scratch[i].cells);
        pl_span_free(&csv->scratch[i].cell_text);
        pl_span_free(&csv->scratch[i].id_text);
        pl_span_free(&csv->scratch[i].id_end);
    }
    for (unsigned j = 0; j < csv->count + csv->cross_count && csv->columns; j++)
        pl_free(csv->columns[j].name);
    pl_table_free(&csv->table);
    pl_free(csv->crosses);
    pl_free(csv->absent);
    pl_free(csv->missing_words);
    pl_free(csv->interactions);
    pl_free(csv->survey);
    pl_dictionary_free(&csv->surveyed);
    pl_dictionary_free(&csv->units);
    pl_span_free(&csv->unit_counts);
    pl_free(csv->counts);
    pl_dictionary_free(&csv->examples);
    pl_free(csv->sums);
    pl_free(csv->scratch);
    pl_free(csv->columns);
    pl_free(csv->map);
    pl_free(csv->word_rows);
    pl_free(csv->joined);
    pl_free(csv->heading);
    pl_dictionary_free(&csv->words);
    pl_hash_names_close(&csv->hash_names);
    pl_csv_texts_close(csv);
    pl_span_free(&csv->id_text);
    pl_span_free(&csv->id_start);
    pl_free(csv);
}

static parley_status open(pl_parser *parser, const pl_reading *reading, parley_error *error) {
    pl_csv *csv;
    parley_status status = pl_take(&csv, 1, sizeof *csv, "reading", error);
    if (status != PARLEY_OK)
        return status;
    parser->state = csv;
    csv->wide = parser->wide;
    csv->blocks = parser->block_count;
    status = pl_take(&csv->scratch, csv->blocks, sizeof *csv->scratch, "reading", error);
    if (status == PARLEY_OK)
        status = pl_csv_columns(csv, parser, reading, error);
    if (status == PARLEY_OK && csv->hashed && reading->keep_names)
        status = pl_hash_names_open(&csv->hash_names, csv->hash_names.bits, csv->blocks, error);
    parser->weighted = csv->weight < csv->count;
    return status;
}

static parley_status merge(pl_parser *parser, pl_block *block, parley_error *error) {
    pl_csv *csv = parser->state;
    pl_dictionary *fresh = &csv->scratch[block->number].fresh;
    pl_csv_merge_skipped(csv, block);
    parley_status status = pl_csv_merge_counts(csv, block, error);
    if (status == PARLEY_OK)
        status = pl_csv_merge_ids(csv, parser, block, error);
    if (status == PARLEY_OK && csv->hash_names.known)
        status = pl_hash_names_merge(&csv->hash_names, block->number, error);
    if (status != PARLEY_OK || fresh->count == 0)
        return status;
    uint32_t *number;
    status = pl_take(&number, fresh->count, sizeof *number, "categories", error);
    for (uint32_t i = 0; i < fresh->count && status == PARLEY_OK; i++) {
        pl_name word = pl_dictionary_word(fresh, i);
        if (!pl_dictionary_add(&csv->words, fresh->words[i].kind, word.text, word.bytes, &number[i]))
            status = pl_fail_memory(error, "categories", csv->words.text_bytes);
    }
    for (uint64_t i = 0; i < block->entries && status == PARLEY_OK; i++)
        if (block->index[i] & PL_CSV_MARK)
            block->index[i] = number[block->index[i] & ~PL_CSV_MARK];
    for (uint64_t i = 0; i < block->rows && status == PARLEY_OK && csv->named_labels; i++)
        if (block->label[i] < 0)
            block->label[i] = number[(uint32_t)(-1.0 - block->label[i])];
    pl_free(number);
    pl_dictionary_clear(fresh);
    return status;
}

static parley_status pack(pl_parser *parser, pl_span *out, uint64_t *bytes, parley_error *error) {
    pl_csv *csv = parser->state;
    pl_span words = {0};
    uint64_t count = 0;
    *bytes = sizeof count;
    parley_status status = pl_words_pack(&csv->words, &csv->hash_names, &words, &count, error);
    if (status == PARLEY_OK && !pl_span_reserve(out, *bytes + count))
        status = pl_fail_memory(error, "column names", count);
    if (status == PARLEY_OK) {
        memcpy(out->data, &count, sizeof count);
        memcpy((char *)out->data + *bytes, words.data, count);
        *bytes += count;
        status = pl_csv_pack_rows(csv, parser, out, bytes, error);
    }
    if (status == PARLEY_OK)
        status = pl_csv_texts_pack(csv, parser, out, bytes, error);
    if (status == PARLEY_OK)
        status = pl_csv_pack_counts(csv, parser, out, bytes, error);
    pl_span_free(&words);
    return status;
}

static parley_status unpack(pl_parser *parser, const char *packed, uint64_t bytes, parley_error *error) {
    pl_csv *csv = parser->state;
    uint64_t count;
    const char *end = packed + bytes;
    memcpy(&count, packed, sizeof count);
    packed += sizeof count;
    parley_status status = pl_words_unpack(&csv->words, &csv->hash_names, packed, count, error);
    packed += count;
    if (status == PARLEY_OK)
        status = pl_csv_unpack_rows(csv, packed - count, count, &packed, error);
    if (status == PARLEY_OK)
        status = pl_csv_texts_unpack(csv, &packed, error);
    return status == PARLEY_OK ? pl_csv_unpack_counts(csv, packed, (uint64_t)(end - packed), error) : status;
}

static const char *const settings[] = {
    "header",        "separator",     "label_column",  "weight_column", "categorical", "categories",  "hash_bits",
    "missing",       "columns",       "missing_words", "keep_names",    "ignore",      "id",          "interactions",
    "comment",       "encoding",      "missing_label", "skip_lines",    "bad_rows",    "text_column", "stop_words",
    "min_documents", "max_documents", "words",         "ngrams",        "term_values", "min_count",   NULL};

const pl_format pl_format_csv = {
    .name = "csv",
    .title = "CSV text",
    .help = "fields separated by commas, tabs or semicolons, or as --separator says; numbers and categories, with "
            "names in the first line",
    .endings = ".csv .tsv",
    .no_rows = "each line is a row such as \"1,0.5,red\", the first may hold names",
    .settings = settings,
    .wide = true,
    .sniff = sniff,
    .open = open,
    .next = pl_csv_next,
    .count = count,
    .bound = bound,
    .parse = parse,
    .merge = merge,
    .pack = pack,
    .unpack = unpack,
    .finish = pl_csv_finish,
    .close = close_csv,
    .row = pl_csv_row,
    .write = pl_data_write_csv,
};
