/* csv_rare.c: puts the rare categories of a column together as one, when all rows have been read. Without --min-count
 * this is done in columns of which more than half of the values differ. Each category has one entry in each of its
 * rows, so that the rows of all ranks are counted by their entries. */
#include <stdio.h>
#include <string.h>

#include "data/csv/csv.h"
#include "data/words.h"

#define USUAL_COUNT 5 /* rows of a category that is not rare, if the user gave no number */
#define LEAST_ROWS 20 /* that show which categories are rare, if the user gave no number */
#define SHOWN 5       /* columns named in a message */

/* What is known of the categories of a column. */
typedef struct column_count {
    uint64_t words, rows, frequent; /* different words, rows with one of them, and words in USUAL_COUNT rows or more */
    uint64_t least;                 /* rows of a category that is not rare; 0: none is */
    uint64_t rare;                  /* words that are rare */
    uint32_t usual;                 /* the most frequent word */
    uint32_t together;              /* the word that stands for the rare ones */
} column_count;

static unsigned all_columns(const pl_csv *csv) { return csv->count + csv->cross_count; }

static bool counts_words(const pl_csv *csv) { return !csv->hashed && !csv->matched; }

static bool is_category(const pl_csv *csv, uint32_t word) {
    uint32_t kind = csv->words.words[word].kind;
    return kind < all_columns(csv) && csv->columns[kind].role == PL_CATEGORIES;
}

/* Counts the entries of each word in the rows of this rank. */
static parley_status count_entries(pl_csv *csv, const pl_parser *parser, parley_error *error) {
    const uint32_t *index = parser->index.data;
    parley_status status = pl_take(&csv->word_rows, csv->words.count, sizeof *csv->word_rows, "categories", error);
    csv->word_rows_count = status == PARLEY_OK ? csv->words.count : 0;
    for (uint64_t i = 0; i < parser->entries && status == PARLEY_OK; i++)
        csv->word_rows[index[i]]++;
    return status;
}

parley_status pl_csv_pack_rows(pl_csv *csv, const pl_parser *parser, pl_span *out, uint64_t *bytes,
                               parley_error *error) {
    uint64_t count = counts_words(csv) ? csv->words.count : 0, more = count * sizeof *csv->word_rows;
    parley_status status = count > 0 ? count_entries(csv, parser, error) : PARLEY_OK;
    if (status == PARLEY_OK && !pl_span_reserve(out, *bytes + sizeof more + more))
        status = pl_fail_memory(error, "categories", more);
    if (status == PARLEY_OK) {
        memcpy((char *)out->data + *bytes, &more, sizeof more);
        if (count > 0)
            memcpy((char *)out->data + *bytes + sizeof more, csv->word_rows, more);
        *bytes += sizeof more + more;
    }
    pl_free(csv->word_rows); /* unpacking adds those of all ranks */
    csv->word_rows = NULL;
    csv->word_rows_count = 0;
    return status;
}

/* Makes room for the counts of words that were added. */
static parley_status grow_rows(pl_csv *csv, parley_error *error) {
    uint64_t *rows = pl_realloc(csv->word_rows, csv->words.count, sizeof *rows);
    if (!rows)
        return pl_fail_memory(error, "categories", csv->words.count * sizeof *rows);
    memset(rows + csv->word_rows_count, 0, (csv->words.count - csv->word_rows_count) * sizeof *rows);
    csv->word_rows = rows;
    csv->word_rows_count = csv->words.count;
    return PARLEY_OK;
}

parley_status pl_csv_unpack_rows(pl_csv *csv, const char *packed_words, uint64_t word_bytes, const char **packed,
                                 parley_error *error) {
    pl_dictionary words = {0};
    pl_hash_names no_names = {0};
    uint64_t bytes, more;
    memcpy(&bytes, *packed, sizeof bytes);
    const char *rows = *packed + sizeof bytes;
    *packed = rows + bytes;
    if (bytes == 0)
        return PARLEY_OK;
    parley_status status = pl_words_unpack(&words, &no_names, packed_words, word_bytes, error);
    if (status == PARLEY_OK)
        status = grow_rows(csv, error);
    for (uint32_t i = 0; i < words.count && status == PARLEY_OK; i++) {
        pl_name word = pl_dictionary_word(&words, i);
        memcpy(&more, rows + i * sizeof more, sizeof more);
        csv->word_rows[pl_dictionary_find(&csv->words, words.words[i].kind, word.text, word.bytes)] += more;
    }
    pl_dictionary_free(&words);
    return status;
}

static bool is_frequent(const pl_csv *csv, const column_count *count, uint32_t word) {
    pl_name text = pl_dictionary_word(&csv->words, word);
    bool missing =
        csv->indicated && text.bytes == strlen(PL_CSV_MISSING) && memcmp(text.text, PL_CSV_MISSING, text.bytes) == 0;
    return missing || csv->word_rows[word] >= count->least;
}

/* Decides how many rows a category of the column needs. Columns that the user named keep all their categories. */
static uint64_t least_rows(const pl_csv *csv, unsigned column, const column_count *count) {
    bool usual = column < csv->count && !csv->columns[column].categorical && !csv->columns[column].chosen;
    if (csv->min_count > 0)
        return csv->min_count;
    if (!usual || 2 * count->words <= count->rows || count->words == count->rows || count->rows < LEAST_ROWS)
        return 0;
    return count->frequent > 0 ? USUAL_COUNT : 2;
}

/* Adds up the words of each column, and says which columns have rare ones. */
static parley_status find_rare(pl_csv *csv, column_count *counts, parley_error *error) {
    uint64_t words = csv->words.count;
    for (uint32_t i = 0; i < words; i++)
        if (is_category(csv, i)) {
            column_count *count = &counts[csv->words.words[i].kind];
            bool more = count->words == 0 || csv->word_rows[i] > csv->word_rows[count->usual];
            count->usual = more ? i : count->usual;
            count->words++;
            count->rows += csv->word_rows[i];
            count->frequent += csv->word_rows[i] >= USUAL_COUNT;
        }
    for (unsigned j = 0; j < all_columns(csv); j++)
        counts[j].least = least_rows(csv, j, &counts[j]);
    for (uint32_t i = 0; i < words; i++)
        if (is_category(csv, i))
            counts[csv->words.words[i].kind].rare += !is_frequent(csv, &counts[csv->words.words[i].kind], i);
    for (unsigned j = 0; j < all_columns(csv); j++) {
        csv->columns[j].rare = counts[j].rare > 0;
        if (counts[j].rare > 0 &&
            !pl_dictionary_add(&csv->words, j, PL_TABLE_RARE, strlen(PL_TABLE_RARE), &counts[j].together))
            return pl_fail_memory(error, "categories", words);
    }
    return grow_rows(csv, error);
}

/* Reports which columns lost categories, and what the categories are. */
static void tell_rare(const pl_csv *csv, const column_count *counts, const char *path) {
    char text[SHOWN * 160] = "", sentence[1200];
    unsigned listed = 0;
    for (unsigned j = 0; j < all_columns(csv); j++) {
        if (counts[j].rare == 0)
            continue;
        size_t used = strlen(text);
        if (listed < SHOWN)
            snprintf(text + used, sizeof text - used, "%s%llu categories of %.40s with fewer than %llu rows",
                     listed ? ", " : "", (unsigned long long)counts[j].rare, csv->columns[j].name,
                     (unsigned long long)counts[j].least);
        else if (listed == SHOWN)
            snprintf(text + used, sizeof text - used, ", ...");
        listed++;
    }
    if (listed == 0 || !csv->tell)
        return;
    snprintf(sentence, sizeof sentence, "reading %.200s: put together as one, %s: %s%s", path, PL_TABLE_RARE, text,
             csv->min_count > 0 ? "" : "; --min-count 1 keeps all");
    csv->tell(csv->user, sentence);
}

static void tell_categories(const pl_csv *csv, const column_count *counts, const char *path) {
    char text[SHOWN * (PL_EXAMPLE_BYTES + 100)] = "", example[PL_EXAMPLE_BYTES + 1], sentence[1200];
    unsigned listed = 0;
    for (unsigned j = 0; j < csv->count; j++) {
        if (counts[j].words == 0)
            continue;
        size_t used = strlen(text);
        pl_name word = pl_dictionary_word(&csv->words, counts[j].usual);
        pl_csv_show(word.text, word.bytes, example, sizeof example);
        if (listed < SHOWN)
            snprintf(text + used, sizeof text - used, "%s%.40s %llu (such as %s)", listed ? ", " : "",
                     csv->columns[j].name,
                     (unsigned long long)(counts[j].words - counts[j].rare + (counts[j].rare > 0)), example);
        else if (listed == SHOWN)
            snprintf(text + used, sizeof text - used, ", ...");
        listed++;
    }
    if (listed == 0 || !csv->tell)
        return;
    snprintf(sentence, sizeof sentence, "reading %.200s: categories: %s", path, text);
    csv->tell(csv->user, sentence);
}

/* Breaks ties of the most frequent word by its bytes, because ranks know words in different orders. */
static void settle_usual(const pl_csv *csv, column_count *counts) {
    for (uint32_t i = 0; i < csv->words.count; i++) {
        if (!is_category(csv, i))
            continue;
        column_count *count = &counts[csv->words.words[i].kind];
        pl_name a = pl_dictionary_word(&csv->words, i), b = pl_dictionary_word(&csv->words, count->usual);
        uint64_t bytes = a.bytes < b.bytes ? a.bytes : b.bytes;
        int order = memcmp(a.text, b.text, (size_t)bytes);
        if (csv->word_rows[i] == csv->word_rows[count->usual] && (order < 0 || (order == 0 && a.bytes < b.bytes)))
            count->usual = i;
    }
}

parley_status pl_csv_join_rare(pl_csv *csv, const pl_parser *parser, const char *path, parley_error *error) {
    column_count *counts;
    bool any = false;
    for (unsigned j = 0; j < all_columns(csv); j++)
        any |= csv->columns[j].role == PL_CATEGORIES;
    if (!any || !counts_words(csv))
        return PARLEY_OK;
    parley_status status = pl_take(&counts, all_columns(csv), sizeof *counts, "categories", error);
    if (status == PARLEY_OK && !csv->word_rows)
        status = count_entries(csv, parser, error);
    uint64_t words = csv->words.count;
    if (status == PARLEY_OK)
        status = find_rare(csv, counts, error);
    if (status == PARLEY_OK)
        status = pl_take(&csv->joined, csv->words.count, sizeof *csv->joined, "categories", error);
    for (uint32_t i = 0; i < csv->words.count && status == PARLEY_OK; i++) {
        const column_count *count = is_category(csv, i) ? &counts[csv->words.words[i].kind] : NULL;
        bool rare = count && count->rare > 0 && i < words && i != count->together && !is_frequent(csv, count, i);
        csv->joined[i] = rare ? count->together : i;
    }
    if (status == PARLEY_OK) {
        settle_usual(csv, counts);
        tell_categories(csv, counts, path);
        tell_rare(csv, counts, path);
    }
    pl_free(counts);
    return status;
}
