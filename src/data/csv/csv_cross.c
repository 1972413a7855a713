/* csv_cross.c: interactions, which are products of two columns of a row. The product of two numbers is a number; a
 * category counts as 1, and the interaction has a category for each pair of words, or for each word. */
#include <string.h>

#include "data/csv/csv.h"
#include "data/hash.h"

#define MOST_CROSSES 1000

static bool is_category(const pl_csv *csv, unsigned j) { return csv->columns[j].role == PL_CATEGORIES; }

/* Finds one side of an interaction. A table for a model may lack the column, which is then `count`. */
static parley_status find_side(pl_csv *csv, const char *word, size_t length, const char *path, unsigned *column,
                               parley_error *error) {
    *column = pl_csv_find(csv, word, length);
    if (csv->matched) {
        bool used = *column < csv->count && csv->columns[*column].role != PL_IGNORED;
        *column = used ? *column : csv->count;
        return PARLEY_OK;
    }
    if (*column == csv->count)
        return pl_csv_no_column(csv, path, "--interactions", word, length, error);
    pl_role role = csv->columns[*column].role;
    if (role == PL_LABELS || role == PL_WEIGHTS || role == PL_IGNORED)
        return pl_fail(error, PARLEY_BAD_USAGE, "--interactions %.*s: this column of %s is %s", (int)length, word, path,
                       role == PL_IGNORED ? "not used" : "the label or the weight");
    return PARLEY_OK;
}

static parley_status add_cross(pl_csv *csv, unsigned left, unsigned right, parley_error *error) {
    unsigned number = csv->count + csv->cross_count;
    const char *first = csv->columns[left].name, *second = csv->columns[right].name;
    size_t bytes = strlen(first) + strlen(second) + 2;
    char *name = csv->columns[number].name = pl_alloc(bytes, 1);
    if (!name)
        return pl_fail_memory(error, "column names", bytes);
    snprintf(name, bytes, "%s:%s", first, second);
    csv->columns[number].seed = pl_murmur(name, bytes - 1, 0);
    csv->columns[left].crossed = csv->columns[right].crossed = true;
    csv->crosses[csv->cross_count++] = (pl_csv_cross){left, right, number};
    return PARLEY_OK;
}

static parley_status make_room(pl_csv *csv, unsigned crosses, parley_error *error) {
    pl_csv_column *columns = pl_realloc(csv->columns, csv->count + crosses, sizeof *columns);
    if (!columns)
        return pl_fail_memory(error, "columns", (csv->count + crosses) * sizeof *columns);
    memset(columns + csv->count, 0, crosses * sizeof *columns);
    csv->columns = columns;
    parley_status status = pl_take(&csv->crosses, crosses, sizeof *csv->crosses, "interactions", error);
    for (unsigned i = 0; i < csv->blocks && status == PARLEY_OK; i++)
        status = pl_take(&csv->scratch[i].cells, csv->count, sizeof *csv->scratch[i].cells, "interactions", error);
    return status;
}

parley_status pl_csv_cross_open(pl_csv *csv, const char *interactions, const char *path, parley_error *error) {
    unsigned crosses = 1;
    for (const char *p = interactions; *p; p++)
        crosses += *p == ',';
    if (crosses > MOST_CROSSES)
        return pl_fail(error, PARLEY_BAD_USAGE, "--interactions lists %u pairs; the most is %d", crosses, MOST_CROSSES);
    parley_status status = make_room(csv, crosses, error);
    csv->interactions = status == PARLEY_OK ? pl_strdup(interactions) : NULL;
    if (status == PARLEY_OK && !csv->interactions)
        status = pl_fail_memory(error, "interactions", strlen(interactions));
    for (const char *p = interactions; *p && status == PARLEY_OK; p += strspn(p, ",")) {
        size_t length = strcspn(p, ",");
        const char *colon = memchr(p, ':', length);
        unsigned left, right;
        if (!colon)
            return pl_fail(error, PARLEY_BAD_USAGE, "--interactions %.*s: write a pair as a:b", (int)length, p);
        status = find_side(csv, p, (size_t)(colon - p), path, &left, error);
        if (status == PARLEY_OK)
            status = find_side(csv, colon + 1, length - (size_t)(colon + 1 - p), path, &right, error);
        if (status == PARLEY_OK && left < csv->count && right < csv->count)
            status = add_cross(csv, left, right, error);
        p += length;
    }
    return status;
}

bool pl_csv_cross_keep(pl_block *block, unsigned j, const pl_field *field, bool there) {
    const pl_csv *csv = block->state;
    pl_csv_scratch *scratch = &csv->scratch[block->number];
    pl_csv_cell *cell = &scratch->cells[j];
    *cell = (pl_csv_cell){.there = there};
    if (!there)
        return true;
    cell->value = pl_value_at(pl_values_of(block->values), block->entries - 1);
    if (!is_category(csv, j))
        return true;
    if (!pl_span_reserve(&scratch->cell_text, scratch->cell_used + field->bytes + 1))
        return pl_csv_no_memory(block);
    cell->value = 1;
    cell->begin = scratch->cell_used;
    cell->bytes = field->bytes;
    memcpy((char *)scratch->cell_text.data + cell->begin, field->text, field->bytes);
    scratch->cell_used += field->bytes;
    return true;
}

/* Joins the words of two cells, "left:right", behind the words of the row. Returns NULL if memory runs out. */
static const char *join_words(pl_csv_scratch *scratch, const pl_csv_cell *left, const pl_csv_cell *right, bool both,
                              uint64_t *bytes) {
    uint64_t used = scratch->cell_used;
    if (!pl_span_reserve(&scratch->cell_text, used + left->bytes + right->bytes + 1))
        return NULL;
    char *text = scratch->cell_text.data, *to = text + used;
    memcpy(to, text + left->begin, left->bytes);
    *bytes = left->bytes;
    if (both)
        to[(*bytes)++] = ':';
    memcpy(to + *bytes, text + right->begin, right->bytes);
    *bytes += right->bytes;
    return to;
}

bool pl_csv_cross_row(pl_block *block) {
    const pl_csv *csv = block->state;
    pl_csv_scratch *scratch = &csv->scratch[block->number];
    for (unsigned i = 0; i < csv->cross_count; i++) {
        const pl_csv_cross *cross = &csv->crosses[i];
        const pl_csv_cell *left = &scratch->cells[cross->left], *right = &scratch->cells[cross->right];
        double value = pl_csv_rounded(csv, left->value * right->value);
        block->rounded = UINT64_MAX;
        if (!left->there || !right->there || value == 0)
            continue;
        if (!isfinite(value)) {
            block->fault = (pl_fault){.format = "%.0sthe product %s is too large for a 64-bit float; scale its columns",
                                      .word = "",
                                      .stop = "",
                                      .name = csv->columns[cross->column].name,
                                      .wide = !csv->wide};
            return false;
        }
        if (csv->columns[cross->column].role == PL_NUMBERS)
            pl_csv_emit(block, csv->columns[cross->column].id, value);
        else if (csv->columns[cross->column].role == PL_CATEGORIES) {
            uint64_t bytes;
            bool both = is_category(csv, cross->left) && is_category(csv, cross->right);
            const char *word = join_words(scratch, left, right, both, &bytes);
            if (!word)
                return pl_csv_no_memory(block);
            if (!pl_csv_category(block, cross->column, word, bytes, value))
                return false;
        }
    }
    scratch->cell_used = 0;
    return true;
}
