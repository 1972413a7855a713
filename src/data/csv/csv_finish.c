/* csv_finish.c: numbers columns when all rows of a CSV input have been read: by column of the file, then by word. The
 * columns so depend neither on threads nor on the order of rows. */
#include <stdlib.h>
#include <string.h>

#include "data/csv/csv.h"

#define MOST_CLASSES 1000
#define TASK_ENTRIES ((uint64_t)1 << 20)

typedef struct ranked {
    pl_name word;
    uint32_t kind, number;
} ranked;

static int by_column_and_text(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    uint64_t bytes = a->word.bytes < b->word.bytes ? a->word.bytes : b->word.bytes;
    int order = memcmp(a->word.text, b->word.text, bytes);
    return order ? order : (a->word.bytes > b->word.bytes) - (a->word.bytes < b->word.bytes);
}

typedef struct renumbering {
    uint32_t *index;
    uint64_t entries;
    const uint32_t *to;
} renumbering;

static void renumber(void *context, unsigned task) {
    const renumbering *work = context;
    uint64_t from = task * TASK_ENTRIES, end = from + TASK_ENTRIES;
    end = end < work->entries ? end : work->entries;
    for (uint64_t i = from; i < end; i++)
        work->index[i] = work->to[work->index[i]];
}

/* Makes the names of `count` ranked words. Names of categories include their column. */
static parley_status name_words(const pl_csv *csv, const ranked *words, uint64_t count, bool classes, pl_names *out,
                                parley_error *error) {
    uint64_t bytes = 0, at = 0;
    for (uint64_t i = 0; i < count; i++)
        bytes += words[i].word.bytes + strlen(csv->columns[words[i].kind].name) + 1;
    parley_status status = pl_names_make(count, bytes, out, error);
    for (uint64_t i = 0; i < count && status == PARLEY_OK; i++) {
        const pl_csv_column *column = &csv->columns[words[i].kind];
        char *text = (char *)out->text;
        if (!classes) {
            memcpy(text + at, column->name, strlen(column->name));
            at += strlen(column->name);
        }
        if (!classes && words[i].word.bytes > 0)
            text[at++] = '=';
        memcpy(text + at, words[i].word.text, words[i].word.bytes);
        at += words[i].word.bytes;
        ((uint64_t *)out->start)[i + 1] = at;
    }
    return status;
}

/* Puts the columns in their final order. The `total` words that stand for themselves are ranked; those of classes are
 * `count` words from `classes`. */
static parley_status apply_order(pl_parser *parser, const ranked *words, uint64_t total, uint64_t classes,
                                 uint64_t count, parley_error *error) {
    const pl_csv *csv = parser->state;
    uint32_t *to;
    parley_status status = pl_take(&to, csv->words.count, sizeof *to, "categories", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t i = 0; i < total; i++) {
        bool class = i >= classes && i < classes + count;
        to[words[i].number] = (uint32_t)(class ? i - classes : i < classes ? i : i - count);
    }
    for (uint64_t i = 0; i < csv->words.count && csv->joined; i++)
        to[i] = to[csv->joined[i]];
    renumbering work = {parser->index.data, parser->entries, to};
    if (!csv->hashed) /* hashed data have the numeric columns first, in order */
        pl_pool_run(parser->pool, renumber, &work, (unsigned)((parser->entries + TASK_ENTRIES - 1) / TASK_ENTRIES));
    double *label = parser->label.data;
    for (uint64_t i = 0; i < parser->rows && count > 0; i++)
        label[i] = to[(uint32_t)label[i]];
    pl_free(to);
    return PARLEY_OK;
}

static parley_status finish_words(pl_parser *parser, parley_data *data, parley_error *error) {
    pl_csv *csv = parser->state;
    uint64_t total = 0, classes = 0, count = 0;
    ranked *words;
    parley_status status = pl_take(&words, csv->words.count, sizeof *words, "categories", error);
    if (status != PARLEY_OK)
        return status;
    for (uint32_t i = 0; i < csv->words.count; i++)
        if ((!csv->joined || csv->joined[i] == i) && !pl_csv_texts_dropped(csv, i))
            words[total++] = (ranked){pl_dictionary_word(&csv->words, i), csv->words.words[i].kind, i};
    if (total > 0)
        qsort(words, total, sizeof *words, by_column_and_text);
    while (csv->named_labels && classes < total && words[classes].kind < csv->label)
        classes++;
    while (csv->named_labels && classes + count < total && words[classes + count].kind == csv->label)
        count++;
    if (count > MOST_CLASSES)
        status = pl_fail(error, PARLEY_BAD_INPUT,
                         "%s: %llu different words in the label column %s; the most is %d classes; choose another with "
                         "--label-column",
                         data->path, (unsigned long long)count, csv->columns[csv->label].name, MOST_CLASSES);
    if (status == PARLEY_OK)
        status = apply_order(parser, words, total, classes, count, error);
    if (status == PARLEY_OK && count > 0)
        status = name_words(csv, words + classes, count, true, &data->classes, error);
    memmove(words + classes, words + classes + count, (total - classes - count) * sizeof *words);
    if (status == PARLEY_OK)
        status = name_words(csv, words, total - count, false, &data->names, error);
    for (uint64_t i = 0; i < total - count && status == PARLEY_OK; i++)
        pl_csv_texts_place(csv, words[i].number, i);
    if (!csv->hashed)
        parser->columns = total - count;
    pl_free(words);
    return status;
}

parley_status pl_csv_finish(pl_parser *parser, parley_data *data, parley_error *error) {
    pl_csv *csv = parser->state;
    parley_status status = data ? pl_csv_fill_rows(csv, parser, error) : PARLEY_OK;
    if (status != PARLEY_OK)
        return status;
    const char *path = data ? data->path : parser->source ? pl_source_name(parser->source) : "";
    if (data)
        status = pl_csv_join_rare(csv, parser, path, error);
    if (status != PARLEY_OK)
        return status;
    pl_csv_tell_skipped(csv, path);
    pl_csv_tell_missing(csv, path);
    if (csv->matched || !data)
        return PARLEY_OK;
    status = pl_csv_describe(csv, &data->own_table, error);
    data->table = data->own_table;
    if (status == PARLEY_OK)
        status = pl_csv_texts_choose(csv, parser, data->path, error);
    if (status == PARLEY_OK)
        status = finish_words(parser, data, error);
    if (status == PARLEY_OK)
        status = pl_csv_texts_finish(csv, parser, data, error);
    if (!csv->hashed || status != PARLEY_OK)
        return status;
    data->hash_bits = csv->hash_names.bits;
    if (!csv->hash_names.known)
        return PARLEY_OK;
    pl_names before = data->names;
    status = pl_hash_names_list(&csv->hash_names, &before, &data->names, error);
    pl_names_free(&before);
    return status;
}
