/* csv_terms.c: columns of text. Each term of a text (data/terms.h) is a word of its column, as categories are, and a
 * row counts how often its text has it. When all rows are read, terms are chosen by the texts that have them, and
 * weighed.
 */
#include <string.h>

#include "data/csv/csv.h"

#define SAY_UTF8 "the text \"%s\" of column %s is not UTF-8; convert it, for example with iconv"

static bool is_text(const pl_csv *csv, uint32_t word) {
    return csv->columns[csv->words.words[word].kind].role == PL_TEXTS;
}

typedef struct receiver {
    pl_block *block;
    unsigned column;
} receiver;

static bool add_term(void *to, const char *term, uint64_t bytes) {
    const receiver *self = to;
    return pl_csv_category(self->block, self->column, term, bytes, 1);
}

bool pl_csv_text_read(pl_block *block, const pl_field *field, unsigned j) {
    const pl_csv *csv = block->state;
    const char *end = field->text + field->bytes;
    receiver to = {block, j};
    const char *stop = pl_terms_scan(&csv->texts.terms[csv->columns[j].terms], field->text, end, add_term, &to);
    if (!stop || stop == end)
        return stop;
    block->fault =
        (pl_fault){.format = SAY_UTF8, .word = field->text, .stop = end, .name = csv->columns[j].name, .column = j + 1};
    return false;
}

void pl_csv_texts_weigh(pl_block *block, uint64_t first) {
    const pl_csv *csv = block->state;
    for (unsigned t = 0; t < csv->texts.count; t++) {
        pl_terms_weigh(&csv->texts.terms[t], block->index + first, pl_value_room_from(block->values, first),
                       block->entries - first);
        block->ones &= !pl_terms_change(&csv->texts.terms[t]);
    }
}

uint64_t pl_csv_texts_entries(const pl_csv *csv, uint64_t bytes) {
    uint64_t most = 0;
    for (unsigned t = 0; t < csv->texts.count; t++)
        most = csv->texts.terms[t].ngrams > most ? csv->texts.terms[t].ngrams : most;
    return (bytes / 2 + 1) * most;
}

/* Options of text have no effect on tables without it. */
static parley_status check_options(const pl_csv *csv, const pl_reading *reading, const char *path,
                                   parley_error *error) {
    static const char *const names[] = {"ngrams",        "term_values",   "stop_words",
                                        "min_documents", "max_documents", "words"};
    for (unsigned i = 0; i < sizeof names / sizeof *names && reading->settings && csv->texts.count == 0; i++) {
        char flag[48];
        pl_setting_flag(pl_setting_find(names[i]), flag, sizeof flag);
        if (pl_setting_given(reading->settings, names[i]))
            return pl_fail(error, PARLEY_BAD_USAGE,
                           "%s has no effect: %s is a table, and --text-column names no column of text in it", flag,
                           path);
    }
    return PARLEY_OK;
}

static parley_status check_column(const pl_csv *csv, unsigned j, const char *path, parley_error *error) {
    const pl_csv_column *column = &csv->columns[j];
    if (j == csv->label || j == csv->weight)
        return pl_fail(error, PARLEY_BAD_USAGE, "--text-column %.60s: this is the %s column of %s; name another column",
                       column->name, j == csv->label ? "label" : "weight", path);
    if (csv->hashed)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--text-column does not work with --categories hash, because words have names; leave one out");
    if (column->crossed || column->offset)
        return pl_fail(error, PARLEY_BAD_USAGE, "--%s %.60s: this is a column of text, which --text-column names",
                       column->offset ? "offset-column" : "interactions", column->name);
    return PARLEY_OK;
}

parley_status pl_csv_texts_open(pl_csv *csv, const pl_reading *reading, const char *path, parley_error *error) {
    pl_csv_texts *texts = &csv->texts;
    parley_status status = PARLEY_OK;
    texts->settings = reading->settings;
    unsigned count = 0;
    for (unsigned j = 0; j < csv->count; j++)
        count += csv->columns[j].role == PL_TEXTS || (csv->columns[j].text && (j == csv->label || j == csv->weight));
    if (count > 0)
        status = pl_take(&texts->terms, count, sizeof *texts->terms, "columns of text", error);
    for (unsigned j = 0; j < csv->count && status == PARLEY_OK && count > 0; j++) {
        pl_csv_column *column = &csv->columns[j];
        if (!column->text)
            continue;
        status = check_column(csv, j, path, error);
        column->terms = texts->count;
        if (status == PARLEY_OK)
            status = pl_terms_open(&texts->terms[texts->count++], column->name, !reading->documents, reading->settings,
                                   error);
    }
    return status == PARLEY_OK ? check_options(csv, reading, path, error) : status;
}

parley_status pl_csv_texts_match(pl_csv *csv, const pl_reading *reading, const char *path, parley_error *error) {
    pl_csv_texts *texts = &csv->texts;
    unsigned count;
    parley_status status = pl_terms_read(reading->table, path, &texts->terms, &count, error);
    texts->count = count; /* they are freed in any case */
    for (unsigned t = 0; t < count && status == PARLEY_OK; t++) {
        const pl_terms *terms = &texts->terms[t];
        if (terms->first + terms->count > reading->model_columns)
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: its description of the training text is not valid", path);
        for (unsigned j = 0; j < csv->count; j++)
            if (strcmp(csv->columns[j].name, terms->column) == 0 && csv->columns[j].role == PL_CATEGORIES) {
                csv->columns[j].role = PL_TEXTS;
                csv->columns[j].terms = t;
            }
    }
    return status;
}

/* Makes room for the counts of all words. */
static bool make_room(pl_csv *csv) {
    pl_csv_texts *texts = &csv->texts;
    uint64_t room = csv->words.count;
    if (room <= texts->counted)
        return true;
    room += room / 2;
    double *tokens = pl_realloc(texts->tokens, 2 * room, sizeof *tokens);
    if (!tokens)
        return false;
    memmove(tokens + room, tokens + texts->counted, texts->counted * sizeof *tokens);
    memset(tokens + texts->counted, 0, (room - texts->counted) * sizeof *tokens);
    memset(tokens + room + texts->counted, 0, (room - texts->counted) * sizeof *tokens);
    texts->tokens = tokens;
    texts->documents = tokens + room;
    texts->counted = room;
    return true;
}

/* Counts the terms of the rows of this rank. */
static parley_status count_rows(pl_csv *csv, const pl_parser *parser, parley_error *error) {
    pl_csv_texts *texts = &csv->texts;
    const uint32_t *index = parser->index.data;
    pl_values values = pl_parser_values(parser);
    if (!make_room(csv))
        return pl_fail_memory(error, "words", csv->words.count * 2 * sizeof(double));
    for (uint64_t e = 0; e < parser->entries; e++)
        if (is_text(csv, index[e])) {
            texts->tokens[index[e]] += pl_value_at(values, e);
            texts->documents[index[e]]++;
        }
    texts->rows = (double)parser->rows;
    return PARLEY_OK;
}

/* The counts of a word, which are followed by its text. */
typedef struct packed_term {
    double tokens, documents;
    uint64_t kind, bytes;
} packed_term;

parley_status pl_csv_texts_pack(pl_csv *csv, const pl_parser *parser, pl_span *out, uint64_t *bytes,
                                parley_error *error) {
    pl_csv_texts *texts = &csv->texts;
    double head[2] = {0, 0};
    uint64_t all = sizeof head, words = texts->count > 0 && !csv->matched ? csv->words.count : 0;
    parley_status status = words > 0 ? count_rows(csv, parser, error) : PARLEY_OK;
    texts->shared = true;
    for (uint32_t i = 0; i < words && status == PARLEY_OK; i++)
        if (is_text(csv, i)) {
            all += sizeof(packed_term) + csv->words.words[i].bytes;
            head[1]++;
        }
    if (status == PARLEY_OK && !pl_span_reserve(out, *bytes + all))
        status = pl_fail_memory(error, "words", all);
    if (status != PARLEY_OK)
        return status;
    char *to = (char *)out->data + *bytes;
    head[0] = texts->rows;
    memcpy(to, head, sizeof head);
    to += sizeof head;
    for (uint32_t i = 0; i < words; i++) {
        if (!is_text(csv, i))
            continue;
        pl_name word = pl_dictionary_word(&csv->words, i);
        packed_term term = {texts->tokens[i], texts->documents[i], csv->words.words[i].kind, word.bytes};
        memcpy(to, &term, sizeof term);
        memcpy(to + sizeof term, word.text, word.bytes);
        to += sizeof term + word.bytes;
    }
    *bytes += all;
    texts->rows = 0; /* the sum over ranks follows */
    if (texts->tokens)
        memset(texts->tokens, 0, 2 * texts->counted * sizeof *texts->tokens);
    return PARLEY_OK;
}

parley_status pl_csv_texts_unpack(pl_csv *csv, const char **packed, parley_error *error) {
    pl_csv_texts *texts = &csv->texts;
    const char *from = *packed;
    double head[2];
    memcpy(head, from, sizeof head);
    from += sizeof head;
    texts->rows += head[0];
    for (double i = 0; i < head[1]; i++) {
        packed_term term;
        uint32_t number;
        memcpy(&term, from, sizeof term);
        from += sizeof term;
        if (!pl_dictionary_add(&csv->words, (uint32_t)term.kind, from, term.bytes, &number) || !make_room(csv))
            return pl_fail_memory(error, "words", term.bytes);
        from += term.bytes;
        texts->tokens[number] += term.tokens;
        texts->documents[number] += term.documents;
    }
    *packed = from;
    return PARLEY_OK;
}

/* Chooses the terms of column j, and makes room for their counts. */
static parley_status choose(pl_csv *csv, unsigned j, pl_candidate *room, const char *path, parley_error *error) {
    pl_csv_texts *texts = &csv->texts;
    pl_terms *terms = &texts->terms[csv->columns[j].terms];
    uint64_t count = 0, most_words = texts->settings ? texts->settings->words : 0;
    double least, most;
    pl_terms_bounds(texts->settings, texts->rows, &least, &most);
    for (uint32_t i = 0; i < csv->words.count; i++) {
        if (csv->words.words[i].kind != j)
            continue;
        texts->dropped[i] = true;
        if (texts->documents[i] >= least && texts->documents[i] <= most)
            room[count++] = (pl_candidate){texts->tokens[i], pl_dictionary_word(&csv->words, i), i};
    }
    if (most_words > 0 && count > most_words) {
        pl_candidates_sort(room, count);
        count = most_words;
    }
    for (uint64_t i = 0; i < count; i++)
        texts->dropped[room[i].number] = false;
    terms->rows = texts->rows;
    if (count == 0)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: no word is left in column %.60s; change --min-documents, --max-documents or --stop-words, "
                       "or leave the column out",
                       path, csv->columns[j].name);
    return pl_take(&terms->documents, count, sizeof *terms->documents, "the weights of words", error);
}

/* Removes the entries of words that are left out. */
static void drop_entries(const pl_csv *csv, pl_parser *parser) {
    uint64_t *start = parser->start.data, kept = 0, from = 0;
    uint32_t *index = parser->index.data;
    pl_value_room values = pl_value_room_in(parser->ones ? NULL : parser->value.data, parser->wide);
    for (uint64_t i = 0; i < parser->rows; i++) {
        for (uint64_t end = start[i + 1]; from < end; from++)
            if (!csv->texts.dropped[index[from]]) {
                index[kept] = index[from];
                pl_value_put(values, kept++, pl_value_at(pl_values_of(values), from));
            }
        start[i + 1] = kept;
    }
    parser->entries = kept;
}

parley_status pl_csv_texts_choose(pl_csv *csv, pl_parser *parser, const char *path, parley_error *error) {
    pl_csv_texts *texts = &csv->texts;
    pl_candidate *room = NULL;
    if (texts->count == 0)
        return PARLEY_OK;
    parley_status status = texts->shared ? PARLEY_OK : count_rows(csv, parser, error);
    if (status == PARLEY_OK && !make_room(csv))
        status = pl_fail_memory(error, "words", csv->words.count);
    if (status == PARLEY_OK)
        status = pl_take(&texts->dropped, csv->words.count + 1, sizeof *texts->dropped, "words", error);
    if (status == PARLEY_OK)
        status = pl_take(&room, csv->words.count + 1, sizeof *room, "words", error);
    for (unsigned j = 0; j < csv->count && status == PARLEY_OK; j++)
        if (csv->columns[j].role == PL_TEXTS)
            status = choose(csv, j, room, path, error);
    if (status == PARLEY_OK)
        drop_entries(csv, parser);
    pl_free(room);
    return status;
}

bool pl_csv_texts_dropped(const pl_csv *csv, uint32_t word) { return csv->texts.dropped && csv->texts.dropped[word]; }

void pl_csv_texts_place(pl_csv *csv, uint32_t word, uint64_t column) {
    pl_csv_texts *texts = &csv->texts;
    if (texts->count == 0 || !is_text(csv, word))
        return;
    pl_terms *terms = &texts->terms[csv->columns[csv->words.words[word].kind].terms];
    if (terms->count == 0)
        terms->first = column;
    terms->documents[terms->count++] = texts->documents[word];
}

parley_status pl_csv_texts_finish(pl_csv *csv, pl_parser *parser, parley_data *data, parley_error *error) {
    pl_csv_texts *texts = &csv->texts;
    const uint64_t *start = parser->start.data;
    uint32_t *index = parser->index.data;
    bool change = false;
    parley_status status = PARLEY_OK;
    if (texts->count == 0)
        return PARLEY_OK;
    for (unsigned t = 0; t < texts->count && status == PARLEY_OK; t++) {
        status = pl_terms_weights(&texts->terms[t], error);
        change |= pl_terms_change(&texts->terms[t]);
    }
    pl_value_room values = pl_value_room_in(parser->value.data, parser->wide);
    for (uint64_t e = 0; e < parser->entries && parser->ones; e++)
        pl_value_put(values, e, 1);
    parser->ones &= !change;
    for (uint64_t i = 0; i < parser->rows && status == PARLEY_OK; i++) {
        uint64_t first = start[i], count = start[i + 1] - first;
        pl_value_room room = pl_value_room_from(values, first);
        if (pl_row_sort(&csv->scratch[0].sorter, index + first, room, count) == UINT64_MAX)
            status = pl_fail_memory(error, "words", count);
        for (unsigned t = 0; t < texts->count && status == PARLEY_OK; t++)
            pl_terms_weigh(&texts->terms[t], index + first, room, count);
    }
    if (status == PARLEY_OK)
        status = pl_terms_write(texts->terms, texts->count, data->path, &data->own_table, error);
    data->table = data->own_table;
    return status;
}

void pl_csv_texts_close(pl_csv *csv) {
    for (unsigned t = 0; t < csv->texts.count; t++)
        pl_terms_free(&csv->texts.terms[t]);
    pl_free(csv->texts.terms);
    pl_free(csv->texts.tokens);
    pl_free(csv->texts.dropped);
}
