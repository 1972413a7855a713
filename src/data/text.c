/* text.c: plain text, one document per line, perhaps after a label and a tab. Each term of a document (terms.h) is a
 * column. While text is read, terms are numbered as they come: threads look them up in one dictionary, and new ones are
 * added block by block. When all is read, terms are chosen by the documents that they are in, numbered by their
 * frequency, and weighed. Text for a model has the model's terms, and others are left out. */
#include <string.h>

#include "data/parser.h"
#include "data/row.h"
#include "data/terms.h"
#include "data/text_labels.h"

#define RELEASE_ROWS 4096 /* between two releases of memory, while the words of large texts are sorted */
#define NEW 0x80000000u   /* number of a word in the block's own dictionary */

#define SAY_UTF8 "this is not UTF-8 text at byte %.0s%u of the line; convert it, for example with iconv"

typedef struct block_words {
    pl_dictionary found; /* words that the common dictionary lacks */
    pl_sorter sorter;
} block_words;

typedef struct state {
    pl_dictionary words;
    bool fixed; /* they are those of a model */
    unsigned blocks;
    block_words *block;
    const parley_settings *settings; /* NULL: the defaults */
    pl_terms terms;
    pl_text_labels labels;
    /* over all rows, by word: how often it occurs, and in how many documents */
    double *tokens, *documents;
    uint64_t counted;
    double rows;
    pl_dictionary all; /* of all ranks, if they read parts */
    bool parted;
} state;

static bool add_word(void *to, const char *word, uint64_t bytes) {
    pl_block *block = to;
    state *state = block->state;
    uint32_t number = pl_dictionary_find(&state->words, 0, word, bytes);
    if (number == PL_NOT_FOUND && state->fixed)
        return true;
    if (number == PL_NOT_FOUND) {
        if (!pl_dictionary_add(&state->block[block->number].found, 0, word, bytes, &number)) {
            block->fault.memory = true;
            return false;
        }
        number |= NEW;
    }
    block->index[block->entries] = number;
    block->values.narrow[block->entries++] = 1.0F;
    return true;
}

/* Reads a line: its label, if lines have one, and the words of the rest. */
static bool read_line(pl_block *block, const char *p, const char *end) {
    const state *state = block->state;
    const char *line = p;
    block->label[block->rows] = 0;
    p = pl_text_label(&state->labels, block, p, end);
    const char *stop = p ? pl_terms_scan(&state->terms, p, end, add_word, block) : NULL;
    if (stop && stop < end)
        block->fault = (pl_fault){.format = SAY_UTF8, .word = "", .stop = "", .column = (uint32_t)(stop - line) + 1};
    return stop == end;
}

static bool end_row(pl_block *block, uint64_t first) {
    state *state = block->state;
    uint64_t left = pl_row_sort(&state->block[block->number].sorter, block->index + first,
                                (pl_value_room){.narrow = block->values.narrow + first}, block->entries - first);
    if (left == UINT64_MAX) {
        block->fault.memory = true;
        return false;
    }
    block->entries = first + left;
    if (state->fixed)
        pl_terms_weigh(&state->terms, block->index + first, pl_value_room_from(block->values, first), left);
    for (uint64_t e = first; e < block->entries; e++)
        block->ones &= block->values.narrow[e] == 1.0F;
    block->row_end[block->rows++] = block->first + block->entries;
    return true;
}

static void parse(pl_block *block) {
    const state *state = block->state;
    block->rows = block->entries = block->lines = 0;
    block->columns = state->fixed ? (uint32_t)state->words.count : 0;
    block->ones = true;
    for (const char *p = block->text; p < block->end;) {
        const char *line = p, *newline = memchr(p, '\n', (size_t)(block->end - p)),
                   *end = newline ? newline : block->end;
        uint64_t first = block->entries;
        block->lines++;
        p = end + 1;
        if (state->labels.kind == PL_LABELS_READ && pl_text_blank(line, end))
            continue;
        if (!read_line(block, line, end) || !end_row(block, first))
            return;
    }
}

static void bound(pl_block *block) {
    uint64_t bytes = (uint64_t)(block->end - block->text);
    block->rows = bytes + 1;
    block->entries = (bytes / 2 + 1) * ((const state *)block->state)->terms.ngrams;
}

static void count(pl_block *block) {
    pl_byte_counts count = pl_count_bytes(block->text, block->end, '\n', '\n', '\n');
    block->rows = count.newlines + 1;
    block->entries = ((uint64_t)(block->end - block->text) / 2 + 1) * ((const state *)block->state)->terms.ngrams;
}

/* Makes room for the counts of words. */
static bool make_room(state *state, uint64_t room) {
    if (room <= state->counted)
        return true;
    uint64_t grown = room + room / 2;
    double *tokens = pl_realloc(state->tokens, 2 * grown, sizeof *tokens);
    if (!tokens)
        return false;
    memmove(tokens + grown, tokens + state->counted, state->counted * sizeof *tokens);
    memset(tokens + state->counted, 0, (grown - state->counted) * sizeof *tokens);
    memset(tokens + grown + state->counted, 0, (grown - state->counted) * sizeof *tokens);
    state->tokens = tokens;
    state->documents = tokens + grown;
    state->counted = grown;
    return true;
}

/* Numbers the new words of a block, and counts words. */
static parley_status merge(pl_parser *parser, pl_block *block, parley_error *error) {
    state *state = parser->state;
    pl_dictionary *found = &state->block[block->number].found;
    uint32_t *numbers;
    parley_status status = pl_text_labels_merge(&state->labels, block, error);
    if (state->fixed || status != PARLEY_OK)
        return status;
    status = pl_take(&numbers, found->count, sizeof *numbers, "words", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t i = 0; i < found->count && status == PARLEY_OK; i++) {
        pl_name word = pl_dictionary_word(found, (uint32_t)i);
        if (!pl_dictionary_add(&state->words, 0, word.text, word.bytes, &numbers[i]))
            status = pl_fail_memory(error, "words", word.bytes);
    }
    if (status == PARLEY_OK && !make_room(state, state->words.count))
        status = pl_fail_memory(error, "words", state->words.count * 2 * sizeof(double));
    for (uint64_t e = 0; e < block->entries && status == PARLEY_OK; e++) {
        uint32_t number = block->index[e];
        block->index[e] = number & NEW ? numbers[number & ~NEW] : number;
        state->tokens[block->index[e]] += (double)block->values.narrow[e];
        state->documents[block->index[e]]++;
    }
    state->rows += (double)block->rows;
    pl_dictionary_clear(found);
    pl_free(numbers);
    return status;
}

/* Ranks exchange their words with their counts: number of rows and words, then for each word its tokens, documents,
 * bytes and text; then the labels. */
static parley_status pack(pl_parser *parser, pl_span *out, uint64_t *bytes, parley_error *error) {
    state *state = parser->state;
    uint64_t words = state->fixed ? 0 : state->words.count;
    state->parted = true;
    *bytes = 2 * sizeof(double);
    for (uint64_t i = 0; i < words; i++)
        *bytes += 3 * sizeof(double) + pl_dictionary_word(&state->words, (uint32_t)i).bytes;
    *bytes += pl_text_labels_bytes(&state->labels);
    if (!pl_span_reserve(out, *bytes))
        return pl_fail_memory(error, "words", *bytes);
    char *to = out->data;
    double head[] = {state->rows, (double)words};
    memcpy(to, head, sizeof head);
    to += sizeof head;
    for (uint64_t i = 0; i < words; i++) {
        pl_name word = pl_dictionary_word(&state->words, (uint32_t)i);
        double counts[] = {state->tokens[i], state->documents[i], (double)word.bytes};
        memcpy(to, counts, sizeof counts);
        memcpy(to + sizeof counts, word.text, word.bytes);
        to += sizeof counts + word.bytes;
    }
    pl_text_labels_pack(&state->labels, to);
    state->rows = 0; /* the sum over ranks follows */
    memset(state->tokens, 0, state->tokens ? 2 * state->counted * sizeof *state->tokens : 0);
    return PARLEY_OK;
}

static parley_status unpack(pl_parser *parser, const char *packed, uint64_t bytes, parley_error *error) {
    state *state = parser->state;
    double head[2], counts[3];
    (void)bytes;
    memcpy(head, packed, sizeof head);
    packed += sizeof head;
    state->rows += head[0];
    for (double i = 0; i < head[1]; i++) {
        uint32_t number;
        memcpy(counts, packed, sizeof counts);
        packed += sizeof counts;
        if (!pl_dictionary_add(&state->all, 0, packed, (uint64_t)counts[2], &number) ||
            !make_room(state, state->all.count))
            return pl_fail_memory(error, "words", (uint64_t)counts[2]);
        packed += (uint64_t)counts[2];
        state->tokens[number] += counts[0];
        state->documents[number] += counts[1];
    }
    return pl_text_labels_unpack(&state->labels, packed, error);
}

/* The choice of words */

/* Lists the words that are kept, in their order. */
static parley_status choose_words(const state *state, const pl_dictionary *words, pl_candidate **out, uint64_t *count,
                                  parley_error *error) {
    const parley_settings *settings = state->settings;
    double least, most;
    pl_terms_bounds(settings, state->rows, &least, &most);
    *count = 0;
    parley_status status = pl_take(out, words->count + 1, sizeof **out, "words", error);
    for (uint64_t i = 0; i < words->count && status == PARLEY_OK; i++) {
        pl_name word = pl_dictionary_word(words, (uint32_t)i);
        if (state->documents[i] >= least && state->documents[i] <= most)
            (*out)[(*count)++] = (pl_candidate){state->tokens[i], word, (uint32_t)i};
    }
    if (status == PARLEY_OK)
        pl_candidates_sort(*out, *count);
    if (settings && settings->words && *count > settings->words)
        *count = settings->words;
    return status;
}

/* Gives entries their final columns and values, and drops those of words that are not kept. */
static parley_status renumber(pl_parser *parser, const uint32_t *column, parley_error *error) {
    state *state = parser->state;
    uint64_t *start = parser->start.data, kept = 0, from = 0, longest = 0;
    uint32_t *index = parser->index.data;
    bool change = pl_terms_change(&state->terms);
    float *value = parser->ones ? NULL : parser->value.data, *ones = NULL;
    parley_status status = PARLEY_OK;
    if (!value && change && parser->value.data) {
        value = parser->value.data;
        for (uint64_t e = 0; e < parser->entries; e++)
            value[e] = 1.0F;
        parser->ones = false;
    }
    for (uint64_t i = 0; i < parser->rows; i++)
        longest = start[i + 1] - start[i] > longest ? start[i + 1] - start[i] : longest;
    if (!value)
        status = pl_take(&ones, longest + 1, sizeof *ones, "words", error);
    parser->released = 0;
    for (uint64_t i = 0; i < parser->rows && status == PARLEY_OK; i++) {
        uint64_t first = kept, end = start[i + 1];
        float *values = value ? value + first : ones;
        for (; from < end; from++)
            if (column[index[from]] != UINT32_MAX) {
                values[kept - first] = value ? value[from] : 1.0F;
                index[kept++] = column[index[from]];
            }
        pl_value_room room = {.narrow = values};
        if (pl_row_sort(&state->block[0].sorter, index + first, room, kept - first) != UINT64_MAX)
            pl_terms_weigh(&state->terms, index + first, room, kept - first);
        else
            status = pl_fail_memory(error, "words", kept - first);
        start[i + 1] = kept;
        if (i % RELEASE_ROWS == 0)
            pl_parser_release(parser, kept);
    }
    parser->entries = kept;
    pl_free(ones);
    return status;
}

/* Names the columns, and describes how text was read, unless it was simply counted. */
static parley_status describe(state *state, const pl_candidate *chosen, uint64_t count, parley_data *data,
                              parley_error *error) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < count; i++)
        bytes += chosen[i].word.bytes;
    parley_status status = pl_names_make(count, bytes, &data->names, error);
    for (uint64_t i = 0, *start = (uint64_t *)data->names.start; i < count && status == PARLEY_OK; i++) {
        memcpy((char *)data->names.text + start[i], chosen[i].word.text, chosen[i].word.bytes);
        start[i + 1] = start[i] + chosen[i].word.bytes;
    }
    const pl_terms *terms = &state->terms;
    if (status == PARLEY_OK && (terms->labelled || terms->ngrams > 1 || pl_terms_change(terms)))
        status = pl_terms_write(terms, 1, data->path, &data->own_table, error);
    data->table = data->own_table;
    return status;
}

/* Learns the weights of the chosen words. */
static parley_status weigh(state *state, const pl_candidate *chosen, uint64_t count, parley_error *error) {
    pl_terms *terms = &state->terms;
    terms->count = count;
    terms->rows = state->rows;
    parley_status status =
        pl_take(&terms->documents, count + 1, sizeof *terms->documents, "the weights of words", error);
    for (uint64_t i = 0; i < count && status == PARLEY_OK; i++)
        terms->documents[i] = state->documents[chosen[i].number];
    return status == PARLEY_OK ? pl_terms_weights(terms, error) : status;
}

static parley_status finish(pl_parser *parser, parley_data *data, parley_error *error) {
    state *state = parser->state;
    const pl_dictionary *words = state->parted ? &state->all : &state->words;
    pl_candidate *chosen = NULL;
    uint32_t *column = NULL;
    uint64_t count;
    if (state->fixed || !data)
        return PARLEY_OK;
    parley_status status = choose_words(state, words, &chosen, &count, error);
    if (status == PARLEY_OK)
        status = pl_take(&column, state->words.count + 1, sizeof *column, "words", error);
    if (status == PARLEY_OK && count == 0)
        status = pl_fail(
            error, PARLEY_BAD_INPUT, "%s: no word is left%s", data->path,
            words->count || state->terms.stop.count ? "; change --min-documents, --max-documents or --stop-words" : "");
    if (status == PARLEY_OK)
        status = weigh(state, chosen, count, error);
    for (uint64_t i = 0; i < state->words.count && status == PARLEY_OK; i++)
        column[i] = UINT32_MAX;
    for (uint64_t i = 0; i < count && status == PARLEY_OK; i++) {
        uint32_t own = state->parted ? pl_dictionary_find(&state->words, 0, chosen[i].word.text, chosen[i].word.bytes)
                                     : chosen[i].number;
        if (own != PL_NOT_FOUND)
            column[own] = (uint32_t)i;
    }
    if (status == PARLEY_OK)
        status = renumber(parser, column, error);
    if (status == PARLEY_OK)
        status = pl_text_labels_finish(&state->labels, parser, data, error);
    if (status == PARLEY_OK)
        status = describe(state, chosen, count, data, error);
    parser->columns = count;
    pl_free(chosen);
    pl_free(column);
    return status;
}

static void close_state(void *closed) {
    state *state = closed;
    if (!state)
        return;
    for (unsigned i = 0; state->block && i < state->blocks; i++) {
        pl_dictionary_free(&state->block[i].found);
        pl_sorter_free(&state->block[i].sorter);
    }
    pl_terms_free(&state->terms);
    pl_text_labels_close(&state->labels);
    pl_dictionary_free(&state->words);
    pl_dictionary_free(&state->all);
    pl_free(state->tokens);
    pl_free(state->block);
    pl_free(state);
}

/* Takes what the model knows of text: its words and, unless they are simply counted, how they are weighed. */
static parley_status take_model(state *state, const char *path, const pl_reading *reading, parley_error *error) {
    pl_terms *terms = NULL;
    unsigned count = 0;
    if (!reading->names || reading->names->count == 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s is plain text, but the model does not know words; give it counts",
                       path);
    parley_status status = pl_terms_read(reading->table, path, &terms, &count, error);
    for (uint64_t i = 0; i < reading->names->count && status == PARLEY_OK; i++) {
        pl_name word = pl_names_at(reading->names, i);
        uint32_t number;
        if (!pl_dictionary_add(&state->words, 0, word.text, word.bytes, &number))
            status = pl_fail_memory(error, "words", word.bytes);
    }
    if (status == PARLEY_OK && count > 0 && (count > 1 || *terms->column || terms->count != reading->names->count))
        status = pl_fail(error, PARLEY_BAD_INPUT,
                         "%s is plain text, but the model was trained on a table; give a table", path);
    if (status == PARLEY_OK && count == 1)
        state->terms = *terms;
    else if (status == PARLEY_OK)
        state->terms.values = PL_COUNTS;
    for (unsigned i = 0; i < count && status != PARLEY_OK; i++)
        pl_terms_free(&terms[i]);
    pl_free(terms);
    return status;
}

static parley_status open(pl_parser *parser, const pl_reading *reading, parley_error *error) {
    state *state;
    bool model = reading->model_columns > 0;
    parley_status status = pl_take(&state, 1, sizeof *state, "reading", error);
    if (status != PARLEY_OK)
        return status;
    parser->state = state;
    state->terms.ngrams = 1;
    state->blocks = parser->block_count;
    state->settings = reading->settings;
    status = pl_take(&state->block, state->blocks, sizeof *state->block, "reading", error);
    if (status == PARLEY_OK && model)
        status = take_model(state, pl_source_name(parser->source), reading, error);
    if (status == PARLEY_OK)
        status = pl_text_labels_open(&state->labels, parser, reading, state->terms.labelled, error);
    if (status == PARLEY_OK && !model)
        status = pl_terms_open(&state->terms, "", state->labels.kind == PL_LABELS_READ, state->settings, error);
    state->fixed = model;
    parser->needs_all = !model;
    parser->columns = reading->model_columns;
    return status;
}

static parley_status next(pl_parser *parser, parley_error *error) {
    (void)parser, (void)error;
    return PARLEY_OK;
}

/* Text is never recognised by content, because other formats are text too. */
static bool sniff(const char *text, uint64_t bytes) {
    (void)text, (void)bytes;
    return false;
}

static const char *const settings[] = {"stop_words", "min_documents", "max_documents", "words", "ngrams", "term_values",
                                       NULL};

static bool row(void *of, const char *line, const char *end, pl_name *label) {
    const state *state = of;
    const char *tab = state->labels.kind == PL_NO_LABELS ? NULL : memchr(line, '\t', (size_t)(end - line));
    *label = (pl_name){line, tab ? (uint64_t)(tab - line) : 0};
    end -= end > line && end[-1] == '\n';
    return state->labels.kind != PL_LABELS_READ || !pl_text_blank(line, end);
}

const pl_format pl_format_text = {
    .name = "text",
    .title = "plain text",
    .help = "one document per line, perhaps after a label and a tab; words are runs of letters and digits",
    .endings = "",
    .no_rows = "each line is a document",
    .settings = settings,
    .sniff = sniff,
    .open = open,
    .next = next,
    .count = count,
    .bound = bound,
    .parse = parse,
    .merge = merge,
    .pack = pack,
    .unpack = unpack,
    .finish = finish,
    .close = close_state,
    .row = row,
};
