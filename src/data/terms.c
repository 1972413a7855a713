/* terms.c: finds the words of a text, joins them to sequences, and weighs terms. */
#include "data/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/unicode_tables.h"
#include "data/vocabulary.h"

#define LONGEST_WORD 1024 /* bytes; the rest of a longer one is left out */

static bool is_word(uint32_t point) {
    uint64_t low = 0, high = sizeof pl_word_ranges / sizeof *pl_word_ranges;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (pl_word_ranges[middle][1] < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof pl_word_ranges / sizeof *pl_word_ranges && pl_word_ranges[low][0] <= point;
}

static uint32_t lower_of(uint32_t point) {
    uint64_t low = 0, high = sizeof pl_lower_runs / sizeof *pl_lower_runs;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if ((uint32_t)pl_lower_runs[middle][1] < point)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == sizeof pl_lower_runs / sizeof *pl_lower_runs)
        return point;
    const int32_t *run = pl_lower_runs[low];
    bool inside = (uint32_t)run[0] <= point && (point - (uint32_t)run[0]) % (uint32_t)run[3] == 0;
    return inside ? (uint32_t)((int32_t)point + run[2]) : point;
}

/* Reads a character of two to four bytes. Returns its bytes, or 0 if it is not valid UTF-8. */
static unsigned read_character(const unsigned char *p, const char *end, uint32_t *point) {
    unsigned bytes = *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (bytes == 0 || (uint64_t)(end - (const char *)p) < bytes)
        return 0;
    *point = *p & (0x7fu >> bytes);
    for (unsigned i = 1; i < bytes; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        *point = *point << 6 | (p[i] & 0x3f);
    }
    bool valid = *point >= least[bytes] && *point <= 0x10ffff && !(*point >= 0xd800 && *point <= 0xdfff);
    return valid ? bytes : 0;
}

static unsigned write_character(uint32_t point, char *to) {
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    unsigned bytes = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (unsigned i = bytes - 1; i > 0; i--, point >>= 6)
        to[i] = (char)(0x80 | (point & 0x3f));
    to[0] = (char)((0xf00u >> bytes & 0xff) | point);
    return bytes;
}

const char *pl_utf8_scan(const char *text, const char *end) {
    const char *p = text;
    while (p < end) {
        uint32_t point;
        unsigned taken = (unsigned char)*p < 0x80 ? 1 : read_character((const unsigned char *)p, end, &point);
        if (taken == 0)
            return p;
        p += taken;
    }
    return p;
}

/* The latest words of a text, with a blank between two, so that a sequence is the end of the text. */
typedef struct latest {
    uint64_t used, words, begin[PL_MOST_NGRAMS];
    char text[PL_MOST_NGRAMS * (LONGEST_WORD + 8)];
} latest;

/* Adds a word of `bytes` bytes that stands at the end of the text, and every sequence that it ends. */
static bool add_word(const pl_terms *terms, latest *latest, uint64_t bytes, pl_term_add add, void *to) {
    const char *word = latest->text + latest->used;
    if (terms->stop.count > 0 && pl_dictionary_find(&terms->stop, 0, word, bytes) != PL_NOT_FOUND)
        return true;
    if (terms->ngrams == 1)
        return add(to, word, bytes);
    latest->begin[latest->words++] = latest->used;
    uint64_t end = latest->used + bytes;
    for (uint64_t n = 1; n <= latest->words; n++) {
        uint64_t from = latest->begin[latest->words - n];
        if (!add(to, latest->text + from, end - from))
            return false;
    }
    latest->text[end] = ' ';
    latest->used = end + 1;
    if (latest->words < terms->ngrams)
        return true;
    uint64_t gone = latest->begin[1]; /* the oldest word begins no further sequence */
    memmove(latest->text, latest->text + gone, latest->used - gone);
    latest->used -= gone;
    latest->words--;
    for (uint64_t i = 0; i < latest->words; i++)
        latest->begin[i] = latest->begin[i + 1] - gone;
    return true;
}

const char *pl_terms_scan(const pl_terms *terms, const char *text, const char *end, pl_term_add add, void *to) {
    latest latest;
    uint64_t bytes = 0;
    latest.used = latest.words = 0;
    for (const char *p = text; p <= end;) {
        unsigned char c = p < end ? (unsigned char)*p : ' ';
        uint32_t point = c;
        unsigned taken = 1;
        bool letter;
        if (c < 0x80) {
            letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
            if (c >= 'A' && c <= 'Z') {
                point = c + 32u;
                letter = true;
            }
        } else {
            taken = read_character((const unsigned char *)p, end, &point);
            if (taken == 0)
                return p;
            letter = is_word(point);
            point = letter ? lower_of(point) : point;
        }
        p += taken;
        if (letter && bytes < LONGEST_WORD)
            bytes += write_character(point, latest.text + latest.used + bytes);
        if (letter || bytes == 0)
            continue;
        if (!add_word(terms, &latest, bytes, add, to))
            return NULL;
        bytes = 0;
    }
    return end;
}

parley_status pl_terms_open(pl_terms *terms, const char *column, bool labelled, const parley_settings *settings,
                            parley_error *error) {
    pl_term_values values = settings ? (pl_term_values)settings->term_values : PL_TERMS_AUTO;
    *terms = (pl_terms){.column = pl_strdup(column), .labelled = labelled, .ngrams = 1};
    if (!terms->column)
        return pl_fail_memory(error, "a column name", strlen(column));
    terms->values = values != PL_TERMS_AUTO ? values : labelled ? PL_TF_IDF : PL_COUNTS;
    if (settings)
        terms->ngrams = (unsigned)settings->ngrams;
    return settings && *settings->stop_words ? pl_words_read(settings->stop_words, false, &terms->stop, error)
                                             : PARLEY_OK;
}

void pl_terms_bounds(const parley_settings *settings, double rows, double *least, double *most) {
    *least = settings ? settings->min_documents : 1;
    *most = settings ? settings->max_documents : 1;
    *least = *least < 1 ? *least * rows : *least;
    *most = *most <= 1 ? *most * rows : *most;
}

static bool is_weighted(pl_term_values values) { return values == PL_TF_IDF || values == PL_LOG_TF_IDF; }

bool pl_terms_change(const pl_terms *terms) { return terms->values != PL_COUNTS; }

static int by_frequency(const void *a, const void *b) {
    const pl_candidate *x = a, *y = b;
    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? 1 : -1;
    uint64_t bytes = x->word.bytes < y->word.bytes ? x->word.bytes : y->word.bytes;
    int order = memcmp(x->word.text, y->word.text, (size_t)bytes);
    return order ? order : (x->word.bytes > y->word.bytes) - (x->word.bytes < y->word.bytes);
}

void pl_candidates_sort(pl_candidate *list, uint64_t count) { qsort(list, count, sizeof *list, by_frequency); }

parley_status pl_terms_weights(pl_terms *terms, parley_error *error) {
    if (!is_weighted(terms->values))
        return PARLEY_OK;
    parley_status status = pl_take(&terms->idf, terms->count + 1, sizeof *terms->idf, "the weights of words", error);
    for (uint64_t i = 0; i < terms->count && status == PARLEY_OK; i++)
        terms->idf[i] = log((1 + terms->rows) / (1 + terms->documents[i])) + 1;
    return status;
}

void pl_terms_weigh(const pl_terms *terms, const uint32_t *index, pl_value_room values, uint64_t entries) {
    uint64_t begin = 0, end, last = terms->first + terms->count;
    double squares = 0;
    if (!pl_terms_change(terms))
        return;
    while (begin < entries && index[begin] < terms->first)
        begin++;
    for (end = begin; end < entries && index[end] < last; end++) {
        double count = pl_value_at(pl_values_of(values), end), value = 1;
        if (terms->values == PL_LOG_TF_IDF)
            count = 1 + log(count);
        if (is_weighted(terms->values))
            value = count * terms->idf[index[end] - terms->first];
        pl_value_put(values, end, value);
        squares += value * value;
    }
    for (uint64_t e = begin; e < end && is_weighted(terms->values); e++)
        pl_value_put(values, e, pl_value_at(pl_values_of(values), e) / sqrt(squares));
}

void pl_terms_free(pl_terms *terms) {
    pl_free(terms->column);
    pl_dictionary_free(&terms->stop);
    pl_free(terms->documents);
    pl_free(terms->idf);
    *terms = (pl_terms){0};
}
