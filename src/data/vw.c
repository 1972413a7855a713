/* vw.c: Vowpal Wabbit's text: `[label [weight]] ['tag]|namespace[:scale] feature[:value] ... |namespace ...`. Columns
 * are hashed as in Vowpal Wabbit: h(name, h(namespace, 0)) modulo 2^bits, where h of digits is their number plus the
 * seed and h of any other name is its MurmurHash3. Features without a name are numbered from the hash of their
 * namespace. A value that is a word is hashed as well. Features with value 0 are left out, and features of a row in the
 * same column are added up. There is no constant feature, because the intercept takes its place. Interactions are the
 * products of the features of two namespaces, in the column that Vowpal Wabbit's -q gives them. */
#include <math.h>
#include <string.h>

#include "data/csv/csv_table.h"
#include "data/fast_decimal.h"
#include "data/hash.h"
#include "data/hash_names.h"
#include "data/numeral.h"
#include "data/parser.h"
#include "data/row.h"
#include "data/words.h"

#define LONGEST_NAME 1024 /* longer names are cut off */
#define MOST_PAIRS 100    /* of namespaces that interact */
#define FNV_PRIME 16777619u

/* The messages get the word. */
#define SAY_NUL "NUL byte; this is not VW text"
#define SAY_NO_BAR "no | in the line; rows are written label |namespace feature:value ..."
#define SAY_NO_LABEL "label missing before the |; rows are written label |namespace feature:value ..."
#define SAY_TAG "\"%s\" touches the |, which makes it a tag; put a blank between the label and the |"
#define SAY_LABEL "label \"%s\" is not a finite number; rows start with one number"
#define SAY_WEIGHT "importance weight \"%s\" is not a finite, non-negative number"
#define SAY_BASE                                                                                                       \
    "\"%s\" before the | is one number too many; only label and weight are read, base offsets are not supported"
#define SAY_SCALE "scale \"%s\" of a namespace is not a finite number; it is written |name:scale"
#define SAY_NO_VALUE "feature \"%s\" has no value after its colon; leave the colon out or write feature:value"
#define SAY_VALUE "value \"%s\" of a feature is not a number that fits a 64-bit float"
#define SAY_BAR "\"%s\" has a | in its value; put a blank before the |"
#define SAY_SUM "the features of a row that share column %.0s%u add up to more than a float holds; scale them"

typedef struct state {
    uint32_t mask;
    bool unlabelled;
    unsigned blocks;
    pl_sorter *sorters; /* by block */
    pl_hash_names hash_names;
    char *interactions; /* as given; NULL: none */
    char pairs[MOST_PAIRS][2];
    unsigned pair_count;
    pl_span *letters; /* by block: the first letter of the namespace of each entry of the row, if there are pairs */
} state;

typedef struct space {
    const char *name;
    uint64_t bytes, hash, unnamed; /* unnamed: number of features without a name so far */
    double scale;
    uint64_t first; /* the row's first entry */
} space;

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Bytes that end a name. */
static const bool ends_name[256] = {
    ['\0'] = true, ['\t'] = true, ['\n'] = true, ['\r'] = true, [' '] = true, [':'] = true, ['|'] = true};

static const char *name_end(const char *p) {
    while (!ends_name[(unsigned char)*p])
        p++;
    return p;
}

static const char *word_end(const pl_block *block, const char *p) {
    while (p < block->end && !blank(*p) && *p != '\n' && *p)
        p++;
    return p;
}

/* Records a fault in the word at `word`. Always returns NULL. */
static const char *fault(pl_block *block, const char *format, const char *word) {
    const char *stop = word_end(block, word);
    if (stop < block->end && *stop == '\0')
        format = SAY_NUL;
    block->fault = (pl_fault){.format = format, .word = word, .stop = stop};
    return NULL;
}

static const char *no_memory(pl_block *block) {
    block->fault.memory = true;
    return NULL;
}

/* Reads a number that must be the whole word from `p` to `stop`. */
static bool read_number(const char *p, const char *stop, double *number) {
    pl_numeral numeral;
    if (!pl_numeral_scan(p, &numeral) || numeral.end != stop)
        return false;
    *number = pl_numeral_double(&numeral);
    return isfinite(*number);
}

/* Reads the label and weight before the bar. Returns false on a fault. */
static bool read_label(pl_block *block, const char *p, const char *bar) {
    const state *state = block->state;
    double *to[2] = {&block->label[block->rows], &block->weight[block->rows]};
    unsigned count = 0;
    const char *tag = NULL;
    *to[0] = 0;
    *to[1] = 1;
    for (; p < bar; p++) {
        const char *stop = p;
        while (stop < bar && !blank(*stop))
            stop++;
        if (stop == p)
            continue;
        if (stop == bar || *p == '\'')
            tag = p;
        else if (count == 2)
            return fault(block, SAY_BASE, p);
        else if (!read_number(p, stop, to[count]) || (count == 1 && *to[1] < 0))
            return fault(block, count ? SAY_WEIGHT : SAY_LABEL, p);
        else
            count++;
        p = stop;
    }
    block->unweighted &= *to[1] == 1;
    double number;
    if (count == 0 && !state->unlabelled)
        return fault(block, tag && read_number(tag, bar, &number) ? SAY_TAG : SAY_NO_LABEL, tag ? tag : bar);
    return true;
}

/* Reads a value at `p`, after its colon. A word that is not a number is returned in `*word`. Returns NULL on a fault.
 */
static const char *read_value(pl_block *block, const char *p, double *value, pl_name *word) {
    bool wide = block->values.wide != NULL;
    const char *next = pl_fast_value(p, wide, value);
    if (next && (blank(*next) || *next == '\n'))
        return next;
    const char *stop = word_end(block, p);
    pl_numeral numeral;
    if (memchr(p, '|', (size_t)(stop - p)))
        return fault(block, SAY_BAR, p);
    if (pl_numeral_scan(p, &numeral) && numeral.end == stop) {
        bool cut = false, fits = pl_numeral_value(&numeral, wide, value, &cut);
        block->rounded |= cut ? UINT64_MAX : 0;
        if (fits)
            return stop;
        fault(block, SAY_VALUE, p);
        block->fault.wide = !wide;
        return NULL;
    }
    bool number = pl_digit(*p) <= 9 || *p == '-' || *p == '+' || *p == '.';
    bool not_finite = stop - p >= 3 && (strncmp(p, "nan", 3) == 0 || strncmp(p, "inf", 3) == 0);
    if (number || not_finite || (stop < block->end && *stop == '\0'))
        return fault(block, SAY_VALUE, p);
    *word = (pl_name){p, (uint64_t)(stop - p)};
    return stop;
}

/* Records namespace^feature, with ^value if the value is a word. Returns false if memory runs out. */
static bool note(pl_block *block, const space *space, uint32_t hash, pl_name name, pl_name word) {
    state *state = block->state;
    char text[LONGEST_NAME];
    uint64_t used = 0;
    const pl_name parts[] = {{space->name, space->bytes}, name, word};
    for (unsigned i = 0; i < 3; i++) {
        if (i > 0 && parts[i].bytes > 0 && used > 0 && used < sizeof text)
            text[used++] = '^';
        uint64_t room = sizeof text - used, bytes = parts[i].bytes < room ? parts[i].bytes : room;
        memcpy(text + used, parts[i].text, bytes);
        used += bytes;
    }
    return pl_hash_names_note(&state->hash_names, block->number, hash, text, used);
}

/* Reads a feature at `p`. Returns NULL on a fault. */
static const char *read_feature(pl_block *block, const char *p, space *space) {
    const state *state = block->state;
    const char *stop = name_end(p);
    pl_name name = {p, (uint64_t)(stop - p)}, word = {"", 0};
    double value = 1;
    if (stop < block->end && *stop == '\0')
        return fault(block, SAY_NUL, p);
    if (stop < block->end && *stop == ':') {
        const char *after = stop + 1;
        if (after >= block->end || blank(*after) || *after == '\n')
            return fault(block, SAY_NO_VALUE, p);
        stop = read_value(block, after, &value, &word);
        if (!stop)
            return NULL;
    }
    uint64_t hash = name.bytes ? pl_hash_name(name.text, name.bytes, space->hash) : space->hash + space->unnamed++;
    if (word.bytes)
        hash = pl_hash_name(word.text, word.bytes, hash);
    else
        value *= space->scale;
    if (value == 0)
        return stop;
    uint32_t column = (uint32_t)hash & state->mask;
    if (pl_hash_names_lacks(&state->hash_names, column) && name.bytes && !note(block, space, column, name, word))
        return no_memory(block);
    if (state->pair_count > 0)
        ((char *)state->letters[block->number].data)[block->entries - space->first] = space->bytes ? *space->name : ' ';
    block->index[block->entries] = column;
    pl_value_put(block->values, block->entries++, value);
    return stop;
}

/* Adds the products of the row's entries from `first` on. */
static void cross(pl_block *block, uint64_t first) {
    const state *state = block->state;
    const char *letters = state->letters[block->number].data;
    uint64_t count = block->entries - first;
    const uint32_t *index = block->index + first;
    pl_values values = pl_values_from(pl_values_of(block->values), first);
    for (unsigned p = 0; p < state->pair_count; p++)
        for (uint64_t i = 0; i < count; i++) {
            bool same = state->pairs[p][0] == state->pairs[p][1];
            for (uint64_t j = same ? i : 0; j < count && letters[i] == state->pairs[p][0]; j++) {
                double product = pl_value_at(values, i) * pl_value_at(values, j);
                if (!block->values.wide)
                    product = (double)(float)product;
                if (letters[j] != state->pairs[p][1] || product == 0)
                    continue;
                block->index[block->entries] = ((FNV_PRIME * index[i]) ^ index[j]) & state->mask;
                pl_value_put(block->values, block->entries++, product);
            }
        }
}

/* Reads the name and scale of a namespace after its bar. Returns NULL on a fault. */
static const char *read_space(pl_block *block, const char *p, space *space) {
    const char *stop = name_end(p);
    double scale = 1;
    *space = (struct space){p, (uint64_t)(stop - p), 0, 0, 1, space->first};
    space->hash = space->bytes ? pl_hash_name(p, space->bytes, 0) : 0;
    if (stop < block->end && *stop == ':') {
        p = stop + 1;
        stop = name_end(p);
        if (!read_number(p, stop, &scale) || fabs(scale) > 3e38 || (stop < block->end && *stop == ':'))
            return fault(block, SAY_SCALE, p);
        space->scale = block->values.wide ? scale : (double)(float)scale;
    }
    return stop;
}

/* Sorts the entries of a row, from `first` on. Returns false on a fault. */
static bool finish_row(pl_block *block, uint64_t first) {
    state *state = block->state;
    uint32_t *index = block->index + first;
    pl_value_room values = pl_value_room_from(block->values, first);
    uint64_t kept = pl_row_sort(&state->sorters[block->number], index, values, block->entries - first);
    if (kept == UINT64_MAX)
        return no_memory(block);
    bool ones = true;
    for (uint64_t i = 0; i < kept; i++) {
        double value = pl_value_at(pl_values_of(values), i);
        ones &= value == 1.0;
        if (!isfinite(value)) {
            block->fault = (pl_fault){
                .format = SAY_SUM, .word = "", .stop = "", .column = index[i] + 1, .wide = !block->values.wide};
            return false;
        }
    }
    block->ones &= ones;
    block->entries = first + kept;
    block->row_end[block->rows++] = block->first + block->entries;
    return true;
}

/* Reads one line, which may be blank. Returns its end, or NULL on a fault. */
static const char *read_line(pl_block *block, const char *p, const char *end) {
    while (p < end && blank(*p))
        p++;
    if (p == end)
        return end;
    const char *bar = memchr(p, '|', (size_t)(end - p));
    if (!bar)
        return fault(block, SAY_NO_BAR, p);
    if (!read_label(block, p, bar))
        return NULL;
    const state *state = block->state;
    uint64_t first = block->entries;
    space space = {"", 0, 0, 0, 1, first};
    if (state->pair_count > 0 && !pl_span_reserve(&state->letters[block->number], (uint64_t)(end - p) + 1))
        return no_memory(block);
    for (p = bar; p < end;) {
        if (*p == '|')
            p = read_space(block, p + 1, &space);
        else if (blank(*p))
            p++;
        else
            p = read_feature(block, p, &space);
        if (!p)
            return NULL;
    }
    if (state->pair_count > 0)
        cross(block, first);
    return finish_row(block, first) ? end : NULL;
}

static void parse(pl_block *block) {
    block->rows = block->entries = block->lines = 0;
    for (const char *p = block->text; p && p < block->end; p = p ? p + 1 : NULL) {
        const char *newline = memchr(p, '\n', (size_t)(block->end - p));
        block->lines++;
        p = read_line(block, p, newline ? newline : block->end);
    }
}

/* The most entries of the block's lines with their products. */
static uint64_t count_products(const pl_block *block) {
    const state *state = block->state;
    uint64_t entries = 0;
    const char *next;
    for (const char *p = block->text; p < block->end; p = next) {
        const char *newline = memchr(p, '\n', (size_t)(block->end - p));
        next = newline ? newline + 1 : block->end;
        uint64_t features = pl_count_bytes(p, next, ' ', '\t', '\r').matches;
        entries += features + state->pair_count * (features * (features + 1) / 2);
    }
    return entries;
}

static void bound(pl_block *block) {
    uint64_t bytes = (uint64_t)(block->end - block->text);
    block->rows = bytes / 2 + 1;    /* "|\n" */
    block->entries = bytes / 2 + 1; /* " a" */
    if (((const state *)block->state)->pair_count > 0)
        block->entries = count_products(block);
}

/* A feature follows a blank, or the value of a feature without a name. */
static void count(pl_block *block) {
    pl_byte_counts count = pl_count_bytes(block->text, block->end, ' ', '\t', '\r');
    block->rows = count.newlines + (block->end > block->text && block->end[-1] != '\n');
    block->entries = ((const state *)block->state)->pair_count > 0 ? count_products(block) : count.matches;
}

/* Recognises numbers, then perhaps a tag, then a bar. */
static bool sniff(const char *text, uint64_t bytes) {
    const char *p;
    uint64_t length = pl_first_line(text, bytes, &p);
    const char *bar = length ? memchr(p, '|', length) : NULL;
    double number;
    while (bar && p < bar) {
        const char *stop = p;
        while (stop < bar && !blank(*stop))
            stop++;
        bool tag = stop == bar || *p == '\'';
        if (stop > p && !tag && !read_number(p, stop, &number))
            return false;
        if (tag && (memchr(p, ',', (size_t)(stop - p)) || memchr(p, '"', (size_t)(stop - p))))
            return false;
        p = stop + 1;
    }
    return bar != NULL;
}

static void close_state(void *closed) {
    state *state = closed;
    if (!state)
        return;
    for (unsigned i = 0; i < state->blocks && state->sorters; i++)
        pl_sorter_free(&state->sorters[i]);
    for (unsigned i = 0; i < state->blocks && state->letters; i++)
        pl_span_free(&state->letters[i]);
    pl_free(state->letters);
    pl_free(state->interactions);
    pl_free(state->sorters);
    pl_hash_names_close(&state->hash_names);
    pl_free(state);
}

/* Takes the first letters of the namespaces in "a:b,a:c". */
static parley_status read_pairs(state *state, const char *pairs, parley_error *error) {
    for (const char *p = pairs; *p; p += strspn(p, ",")) {
        size_t length = strcspn(p, ",");
        const char *colon = memchr(p, ':', length);
        if (!colon || colon == p || colon + 1 == p + length)
            return pl_fail(error, PARLEY_BAD_USAGE, "--interactions %.*s: write a pair as a:b", (int)length, p);
        if (state->pair_count == MOST_PAIRS)
            return pl_fail(error, PARLEY_BAD_USAGE, "--interactions lists more than %d pairs", MOST_PAIRS);
        memcpy(state->pairs[state->pair_count++], (char[]){*p, colon[1]}, 2);
        p += length;
    }
    state->interactions = pl_strdup(pairs);
    return state->interactions ? pl_take(&state->letters, state->blocks, sizeof *state->letters, "reading", error)
                               : pl_fail_memory(error, "interactions", strlen(pairs));
}

/* Takes the interactions from the settings, or from the model. */
static parley_status open_pairs(state *state, const pl_reading *reading, parley_error *error) {
    pl_table table;
    parley_status status = pl_table_read(reading->table, "the model", &table, error);
    if (status != PARLEY_OK)
        return status;
    const char *pairs = reading->model_columns ? table.interactions : reading->interactions;
    if (pairs && *pairs)
        status = read_pairs(state, pairs, error);
    pl_table_free(&table);
    return status;
}

static parley_status open(pl_parser *parser, const pl_reading *reading, parley_error *error) {
    state *state;
    unsigned bits = reading->model_bits  ? reading->model_bits
                    : reading->hash_bits ? reading->hash_bits
                                         : PL_USUAL_HASH_BITS;
    parley_status status = pl_take(&state, 1, sizeof *state, "reading", error);
    if (status != PARLEY_OK)
        return status;
    parser->state = state;
    state->mask = (uint32_t)(((uint64_t)1 << bits) - 1);
    state->unlabelled = reading->unlabelled;
    state->blocks = parser->block_count;
    parser->columns = (uint64_t)1 << bits;
    parser->weighted = true;
    status = pl_take(&state->sorters, state->blocks, sizeof *state->sorters, "reading", error);
    state->hash_names.bits = bits;
    if (status == PARLEY_OK)
        status = open_pairs(state, reading, error);
    if (status == PARLEY_OK && reading->keep_names)
        status = pl_hash_names_open(&state->hash_names, bits, state->blocks, error);
    return status;
}

/* Hashed columns do not depend on the first input. */
static parley_status next(pl_parser *parser, parley_error *error) {
    (void)parser, (void)error;
    return PARLEY_OK;
}

static parley_status merge(pl_parser *parser, pl_block *block, parley_error *error) {
    state *state = parser->state;
    return state->hash_names.known ? pl_hash_names_merge(&state->hash_names, block->number, error) : PARLEY_OK;
}

static parley_status pack(pl_parser *parser, pl_span *out, uint64_t *bytes, parley_error *error) {
    return pl_words_pack(&(pl_dictionary){0}, &((state *)parser->state)->hash_names, out, bytes, error);
}

static parley_status unpack(pl_parser *parser, const char *packed, uint64_t bytes, parley_error *error) {
    return pl_words_unpack(&(pl_dictionary){0}, &((state *)parser->state)->hash_names, packed, bytes, error);
}

static parley_status finish(pl_parser *parser, parley_data *data, parley_error *error) {
    const state *state = parser->state;
    if (!data)
        return PARLEY_OK;
    data->hash_bits = state->hash_names.bits;
    parley_status status = PARLEY_OK;
    if (state->interactions)
        status = pl_table_write(&(pl_table){.interactions = state->interactions}, &data->own_table, error);
    data->table = data->own_table;
    if (status != PARLEY_OK)
        return status;
    return state->hash_names.known ? pl_hash_names_list(&state->hash_names, &(pl_names){0}, &data->names, error)
                                   : PARLEY_OK;
}

static const char *const settings[] = {"hash_bits", "keep_names", "interactions", NULL};

static bool row(void *state, const char *line, const char *end, pl_name *label) {
    (void)state;
    while (line < end && (blank(*line) || *line == '\n'))
        line++;
    const char *stop = line;
    while (stop < end && !blank(*stop) && *stop != '\n' && *stop != '|')
        stop++;
    bool labelled = stop < end && blank(*stop) && *line != '\''; /* a word that touches the bar is a tag */
    *label = (pl_name){line, labelled ? (uint64_t)(stop - line) : 0};
    return line < end;
}

const pl_format pl_format_vw = {
    .name = "vw",
    .title = "VW text",
    .help = "Vowpal Wabbit's label weight 'tag|namespace feature:value ..., hashed in the same way",
    .endings = ".vw",
    .no_rows = "each line is a row such as \"1 |words good film:2\"",
    .settings = settings,
    .wide = true,
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
    .write = pl_data_write_vw,
};
