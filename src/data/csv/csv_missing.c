/* csv_missing.c: missing values. They are counted by column. Where a statistic of the column replaces them, they are
 * NaN until all rows have been read. Means come from exact sums, so that they do not depend on how many ranks read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/csv/csv.h"
#include "data/words.h"

#define SHOWN 5 /* columns named in a message */
#define SAY_MISSING "%.0svalue of column %s is missing; --missing mean, median or zero replaces missing values"
#define SAY_WORD "\"%s\" in the numeric column %s is not a number; any --missing but error treats it as missing"

#define SAY_NO_OFFSET "%.0sthe offset in column %s is missing; every row needs one"
#define SAY_ODD_OFFSET "\"%s\" in column %s is not a number; every row needs an offset"

static unsigned all_columns(const pl_csv *csv) { return csv->count + csv->cross_count; }

/* Counts a value of column j, and keeps the first such word as an example. */
static bool count_value(pl_block *block, unsigned j, const pl_field *field, bool word) {
    const pl_csv *csv = block->state;
    pl_csv_scratch *scratch = &csv->scratch[block->number];
    uint32_t number;
    if (!scratch->counts && !(scratch->counts = pl_alloc(all_columns(csv), sizeof *scratch->counts)))
        return pl_csv_no_memory(block);
    scratch->counted = true;
    scratch->counts[j].missing += !word;
    if (!word || scratch->counts[j].words++ > 0)
        return true;
    uint64_t bytes = field->bytes < PL_EXAMPLE_BYTES ? field->bytes : PL_EXAMPLE_BYTES;
    return pl_dictionary_add(&scratch->examples, j, field->text, bytes, &number) || pl_csv_no_memory(block);
}

bool pl_csv_unseen(pl_block *block, unsigned j, const pl_field *field) { return count_value(block, j, field, true); }

bool pl_csv_fill(pl_block *block, unsigned j, const pl_field *field, bool odd) {
    const pl_csv *csv = block->state;
    const pl_csv_column *column = &csv->columns[j];
    if (csv->refuse_missing || column->offset) {
        block->fault = (pl_fault){.format = column->offset ? (odd ? SAY_ODD_OFFSET : SAY_NO_OFFSET)
                                            : odd          ? SAY_WORD
                                                           : SAY_MISSING,
                                  .word = field->text,
                                  .stop = field->text + field->bytes,
                                  .name = column->name,
                                  .column = j + 1};
        return false;
    }
    if (!count_value(block, j, field, odd))
        return false;
    csv->scratch[block->number].filled = true;
    bool number = column->role == PL_NUMBERS || column->role == PL_DATES;
    if (number && (column->fill == PL_FILL_MEAN || column->fill == PL_FILL_MEDIAN))
        pl_csv_emit(block, column->id, NAN);
    else if (number && column->fill == PL_FILL_KNOWN && column->filler != 0)
        pl_csv_emit(block, column->id, column->filler);
    return !csv->indicated || pl_csv_category(block, j, PL_CSV_MISSING, strlen(PL_CSV_MISSING), 1);
}

static parley_status take_counts(pl_csv *csv, parley_error *error) {
    return csv->counts
               ? PARLEY_OK
               : pl_take(&csv->counts, all_columns(csv), sizeof *csv->counts, "counts of missing values", error);
}

/* Adds the words of `from` for columns that have none yet. */
static parley_status add_examples(pl_dictionary *to, const pl_dictionary *from, const pl_csv_count *counts,
                                  parley_error *error) {
    uint32_t number;
    for (uint32_t i = 0; i < from->count; i++) {
        pl_name word = pl_dictionary_word(from, i);
        uint32_t column = from->words[i].kind;
        if (counts[column].words == 0 && !pl_dictionary_add(to, column, word.text, word.bytes, &number))
            return pl_fail_memory(error, "examples of words", word.bytes);
    }
    return PARLEY_OK;
}

parley_status pl_csv_merge_counts(pl_csv *csv, const pl_block *block, parley_error *error) {
    pl_csv_scratch *scratch = &csv->scratch[block->number];
    if (!scratch->counted)
        return PARLEY_OK;
    parley_status status = take_counts(csv, error);
    if (status == PARLEY_OK)
        status = add_examples(&csv->examples, &scratch->examples, csv->counts, error);
    for (unsigned j = 0; j < all_columns(csv) && status == PARLEY_OK; j++) {
        csv->counts[j].missing += scratch->counts[j].missing;
        csv->counts[j].words += scratch->counts[j].words;
        scratch->counts[j] = (pl_csv_count){0};
    }
    pl_dictionary_clear(&scratch->examples);
    scratch->counted = false;
    return status;
}

/* Adds up the known values of columns that may need their mean. Entries still have the numbers of words. */
static parley_status add_up(pl_csv *csv, const pl_parser *parser, parley_error *error) {
    const uint32_t *index = parser->index.data;
    pl_values values = pl_parser_values(parser);
    bool needed = false;
    for (unsigned j = 0; j < csv->count; j++)
        needed |= csv->columns[j].fill == PL_FILL_MEAN;
    if (!needed)
        return PARLEY_OK;
    parley_status status = pl_take(&csv->sums, csv->words.count, sizeof *csv->sums, "sums of columns", error);
    for (uint64_t i = 0; i < parser->entries && status == PARLEY_OK; i++) {
        double x = pl_value_at(values, i);
        if (index[i] < csv->words.count && !isnan(x))
            pl_exact_add(&csv->sums[index[i]], x);
        if ((i + 1) % PL_EXACT_TERMS == 0)
            for (uint64_t w = 0; w < csv->words.count; w++)
                pl_exact_carry(&csv->sums[w]);
    }
    return status;
}

/* The packed form is: rows, whether there are counts and sums, counts, sums, examples. */
typedef struct packed_head {
    uint64_t rows, counted, summed, skipped[PL_ROW_FATES];
} packed_head;

parley_status pl_csv_pack_counts(pl_csv *csv, const pl_parser *parser, pl_span *out, uint64_t *bytes,
                                 parley_error *error) {
    parley_status status = csv->matched ? PARLEY_OK : add_up(csv, parser, error);
    if (status != PARLEY_OK)
        return status;
    packed_head head = {parser->rows, csv->counts != NULL, csv->sums != NULL, {0}};
    memcpy(head.skipped, csv->skipped, sizeof head.skipped);
    memset(csv->skipped, 0, sizeof csv->skipped);
    uint64_t counts = head.counted * all_columns(csv) * sizeof *csv->counts;
    uint64_t sums = head.summed * csv->count * sizeof *csv->sums, used = *bytes;
    pl_exact_sum none = {0};
    pl_span words = {0};
    uint64_t word_bytes = 0;
    pl_hash_names no_names = {0};
    status = pl_words_pack(&csv->examples, &no_names, &words, &word_bytes, error);
    if (status == PARLEY_OK && !pl_span_reserve(out, used + sizeof head + counts + sums + word_bytes))
        status = pl_fail_memory(error, "counts of missing values", counts + sums);
    if (status == PARLEY_OK) {
        char *to = (char *)out->data + used;
        memcpy(to, &head, sizeof head);
        to += sizeof head;
        if (counts)
            memcpy(to, csv->counts, counts);
        to += counts;
        for (unsigned j = 0; j < csv->count && head.summed; j++, to += sizeof none) {
            bool number = csv->columns[j].fill == PL_FILL_MEAN;
            pl_exact_sum *sum = number ? &csv->sums[csv->columns[j].id] : &none;
            pl_exact_carry(sum);
            memcpy(to, sum, sizeof *sum);
        }
        memcpy(to, words.data, word_bytes);
        *bytes = used + sizeof head + counts + sums + word_bytes;
    }
    pl_span_free(&words);
    pl_free(csv->counts);
    pl_free(csv->sums);
    csv->counts = NULL;
    csv->sums = NULL;
    pl_dictionary_clear(&csv->examples);
    return status;
}

static parley_status unpack_sums(pl_csv *csv, const char *packed, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (!csv->sums)
        status = pl_take(&csv->sums, csv->count, sizeof *csv->sums, "sums of columns", error);
    for (unsigned j = 0; j < csv->count && status == PARLEY_OK; j++) {
        pl_exact_sum sum;
        memcpy(&sum, packed + j * sizeof sum, sizeof sum);
        pl_exact_join(&csv->sums[j], &sum);
    }
    return status;
}

parley_status pl_csv_unpack_counts(pl_csv *csv, const char *packed, uint64_t bytes, parley_error *error) {
    packed_head head;
    const char *end = packed + bytes;
    parley_status status = PARLEY_OK;
    memcpy(&head, packed, sizeof head);
    packed += sizeof head;
    csv->rows += head.rows;
    for (unsigned i = 0; i < PL_ROW_FATES; i++)
        csv->skipped[i] += head.skipped[i];
    const char *counts = packed, *sums = counts + head.counted * all_columns(csv) * sizeof *csv->counts;
    const char *words = sums + head.summed * csv->count * sizeof *csv->sums;
    if (head.summed)
        status = unpack_sums(csv, sums, error);
    if (!head.counted || status != PARLEY_OK)
        return status;
    pl_dictionary examples = {0};
    pl_hash_names no_names = {0};
    status = take_counts(csv, error);
    if (status == PARLEY_OK)
        status = pl_words_unpack(&examples, &no_names, words, (uint64_t)(end - words), error);
    if (status == PARLEY_OK)
        status = add_examples(&csv->examples, &examples, csv->counts, error);
    for (unsigned j = 0; j < all_columns(csv) && status == PARLEY_OK; j++) {
        pl_csv_count count;
        memcpy(&count, counts + j * sizeof count, sizeof count);
        csv->counts[j].missing += count.missing;
        csv->counts[j].words += count.words;
    }
    pl_dictionary_free(&examples);
    return status;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median of the known values of a column, of which `zeros` are not stored. */
static parley_status find_median(const pl_csv *csv, const pl_parser *parser, unsigned j, double *median,
                                 parley_error *error) {
    const uint32_t *index = parser->index.data;
    pl_values from = pl_parser_values(parser);
    uint64_t known = csv->rows - csv->counts[j].missing - csv->counts[j].words, count = 0;
    double *values;
    parley_status status = pl_take(&values, known, sizeof *values, "the median of a column", error);
    for (uint64_t i = 0; i < parser->entries && status == PARLEY_OK; i++)
        if (index[i] == csv->columns[j].id && !isnan(pl_value_at(from, i)) && count < known)
            values[count++] = pl_value_at(from, i);
    if (status == PARLEY_OK && known > 0) {
        qsort(values, known, sizeof *values, by_value); /* the rest are zeros */
        *median = pl_csv_rounded(csv, known % 2 ? values[known / 2] : (values[known / 2 - 1] + values[known / 2]) / 2);
    }
    pl_free(values);
    return status;
}

/* Finds what replaces the missing values of each column. */
static parley_status find_fillers(pl_csv *csv, pl_parser *parser, parley_error *error) {
    bool shared = csv->rows > 0; /* other ranks have told their sums */
    parley_status status = PARLEY_OK;
    if (!shared) {
        csv->rows = parser->rows;
        status = add_up(csv, parser, error);
    }
    for (unsigned j = 0; j < csv->count && status == PARLEY_OK; j++) {
        pl_csv_column *column = &csv->columns[j];
        uint64_t known = csv->rows - csv->counts[j].missing - csv->counts[j].words;
        if (column->fill == PL_FILL_MEAN && known > 0 && known < csv->rows)
            column->filler = pl_csv_rounded(csv, pl_exact_mean(csv->sums[shared ? j : column->id], known));
        if (column->fill == PL_FILL_MEDIAN && known < csv->rows)
            status = find_median(csv, parser, j, &column->filler, error);
    }
    return status;
}

parley_status pl_csv_fill_rows(pl_csv *csv, pl_parser *parser, parley_error *error) {
    if (!csv->counts || csv->matched)
        return PARLEY_OK;
    parley_status status = find_fillers(csv, parser, error);
    const uint32_t *index = parser->index.data;
    pl_value_room values = pl_value_room_in(parser->ones ? NULL : parser->value.data, parser->wide);
    for (uint64_t i = 0; i < parser->entries && status == PARLEY_OK && !parser->ones; i++)
        if (isnan(pl_value_at(pl_values_of(values), i)))
            pl_value_put(values, i, csv->columns[csv->words.words[index[i]].kind].filler);
    return status;
}

/* Adds a part to a list in a message, of which at most SHOWN are written. */
static void list(char *text, size_t size, const char *part, unsigned number) {
    size_t used = strlen(text);
    if (number < SHOWN)
        snprintf(text + used, size - used, "%s%s", number ? ", " : "", part);
    else if (number == SHOWN)
        snprintf(text + used, size - used, ", ...");
}

static void tell_counts(const pl_csv *csv, const char *path) {
    char text[SHOWN * 128] = "", part[128], sentence[1024];
    unsigned listed = 0;
    for (unsigned j = 0; j < csv->count; j++) {
        const pl_csv_column *column = &csv->columns[j];
        uint64_t missing = csv->counts[j].missing + (column->role == PL_CATEGORIES ? 0 : csv->counts[j].words);
        if (missing == 0)
            continue;
        int used = snprintf(part, sizeof part, "%.40s %llu", column->name, (unsigned long long)missing);
        if (column->fill != PL_FILL_ZERO)
            snprintf(part + used, sizeof part - (size_t)used, " (%s %.6g)",
                     column->fill == PL_FILL_MEAN     ? "mean"
                     : column->fill == PL_FILL_MEDIAN ? "median"
                                                      : "filled with",
                     column->filler);
        list(text, sizeof text, part, listed++);
    }
    if (listed == 0)
        return;
    snprintf(sentence, sizeof sentence, "reading %.200s: missing values: %s", path, text);
    csv->tell(csv->user, sentence);
}

/* Reports words of one kind of column: those among numbers, or categories that the model does not know. */
static void tell_words(const pl_csv *csv, const char *path, bool categories) {
    char text[SHOWN * 128] = "", part[128], word[PL_EXAMPLE_BYTES + 1], sentence[1024];
    unsigned listed = 0;
    for (uint32_t i = 0; i < csv->examples.count; i++) {
        unsigned j = csv->examples.words[i].kind;
        if (j >= csv->count || (csv->columns[j].role == PL_CATEGORIES) != categories)
            continue;
        pl_name example = pl_dictionary_word(&csv->examples, i);
        pl_csv_show(example.text, example.bytes, word, sizeof word);
        snprintf(part, sizeof part, "%.40s %llu (such as %s)", csv->columns[j].name,
                 (unsigned long long)csv->counts[j].words, word);
        list(text, sizeof text, part, listed++);
    }
    if (listed == 0)
        return;
    snprintf(sentence, sizeof sentence,
             categories ? "reading %.200s: values that the model has never seen, which count as no category: %s"
                        : "reading %.200s: words in columns of numbers, which count as missing: %s",
             path, text);
    pl_tell tell = categories ? csv->warn : csv->tell ? csv->tell : csv->warn;
    if (tell)
        tell(csv->user, sentence);
}

void pl_csv_tell_missing(const pl_csv *csv, const char *path) {
    if (!csv->counts)
        return;
    if (csv->tell)
        tell_counts(csv, path);
    tell_words(csv, path, false);
    tell_words(csv, path, true);
}

parley_status pl_csv_describe(const pl_csv *csv, char **text, parley_error *error) {
    pl_table table = {.separator = csv->separator,
                      .indicated = csv->indicated,
                      .missing_words = csv->missing_words,
                      .interactions = csv->interactions};
    parley_status status =
        pl_take(&table.columns, all_columns(csv), sizeof *table.columns, "the table's columns", error);
    for (unsigned j = 0; j < all_columns(csv) && status == PARLEY_OK; j++) {
        pl_csv_column *column = &csv->columns[j];
        bool filled = column->fill != PL_FILL_ZERO;
        bool usual = !filled && column->decimals == PL_DECIMAL_POINT && !column->amounts;
        bool plain = (column->role == PL_CATEGORIES && !column->rare) || column->role == PL_TEXTS ||
                     (column->role == PL_NUMBERS && usual);
        bool number = column->role != PL_CATEGORIES && column->role != PL_DATES && column->role != PL_IGNORED;
        if (plain || (j >= csv->count && !column->rare))
            continue;
        table.columns[table.count++] = (pl_treatment){.name = column->name,
                                                      .role = column->role,
                                                      .order = column->order,
                                                      .filled = filled,
                                                      .fill = column->filler,
                                                      .decimals = column->decimals,
                                                      .unit = number && column->amounts ? column->unit : NULL,
                                                      .bounded = number && column->bounded,
                                                      .rare = column->rare};
    }
    if (status == PARLEY_OK)
        status = pl_table_write(&table, text, error);
    pl_free(table.columns);
    return status;
}
