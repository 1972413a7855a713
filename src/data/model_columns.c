/* model_columns.c: compares the columns of data with those of a model. */
#include "data/model_columns.h"

#include <string.h>

#include "data/csv/csv_table.h"
#include "data/format.h"
#include "data/terms.h"

#define SHOWN 60 /* bytes of a name in a message */

parley_status pl_model_columns_format(const pl_reading *reading, const pl_format *format, const char *path,
                                      parley_error *error) {
    bool table = reading->model_columns && reading->table && reading->names && reading->names->count > 0;
    if (table && pl_terms_alone(reading->table)) {
        if (!format || format == &pl_format_text)
            return PARLEY_OK;
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s is %s, but the model was trained on plain text; give it text, one document per line", path,
                       format->title);
    }
    if (!table || !format || format == &pl_format_csv || (format == &pl_format_vw && reading->model_bits > 0))
        return PARLEY_OK;
    pl_name first = pl_names_at(reading->names, 0);
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "%s is %s, whose columns have no names, but the model was trained on a table with columns such as "
                   "%.*s; give a table with these names",
                   path, format->title, (int)(first.bytes < SHOWN ? first.bytes : SHOWN), first.text);
}

/* Fails if the cache has a column in another unit, or dates that were read in another order. */
static parley_status check_units(const pl_reading *reading, const parley_data *cache, parley_error *error) {
    pl_table_difference found;
    bool differ;
    parley_status status = pl_table_compare(reading->table, cache->table, false, cache->path, &differ, &found, error);
    if (status != PARLEY_OK || !differ)
        return status;
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "%s: column %s holds %s, but %s in the model; give the file that the cache was made from",
                   cache->path, found.column, found.theirs, found.ours);
}

parley_status pl_model_columns_cache(const pl_reading *reading, const parley_data *cache, parley_error *error) {
    const pl_names *ours = reading->names, *theirs = &cache->names;
    if (!reading->model_columns || !ours || ours->count == 0 || (theirs->count == 0 && !reading->table))
        return PARLEY_OK;
    uint64_t most = ours->count > theirs->count ? ours->count : theirs->count;
    for (uint64_t i = 0; i < most; i++) {
        pl_name a = pl_names_at(ours, i), b = pl_names_at(theirs, i);
        if (a.bytes == b.bytes && memcmp(a.text, b.text, (size_t)a.bytes) == 0)
            continue;
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: column %llu is %.*s, but %.*s in the model; give the file that the cache was made from",
                       cache->path, (unsigned long long)i + 1, (int)(b.bytes < SHOWN ? b.bytes : SHOWN),
                       b.bytes ? b.text : "", (int)(a.bytes < SHOWN ? a.bytes : SHOWN), a.bytes ? a.text : "");
    }
    return check_units(reading, cache, error);
}

/* Whether the data are plain text whose words are looked up in the model. */
static bool looks_words_up(const pl_reading *reading) {
    return reading->format == &pl_format_text && reading->model_columns && reading->names && reading->names->count > 0;
}

uint64_t pl_model_columns_unseen(const pl_reading *reading, const parley_data *data) {
    const pl_matrix *x = &data->x;
    uint64_t rows = 0;
    if (looks_words_up(reading)) {
        for (uint64_t row = 0; row < x->rows; row++)
            rows += x->start[row + 1] == x->start[row];
        return rows;
    }
    if (!reading->model_columns || x->columns <= reading->model_columns)
        return 0;
    for (uint64_t row = 0; row < x->rows; row++)
        rows += x->start[row + 1] > x->start[row] && x->index[x->start[row + 1] - 1] >= reading->model_columns;
    return rows;
}

void pl_model_columns_warn(const pl_reading *reading, const char *path, uint64_t rows) {
    char sentence[320];
    if (rows == 0 || !reading->warn)
        return;
    if (looks_words_up(reading))
        snprintf(sentence, sizeof sentence, "reading %.200s: %llu document%s no word that the model knows", path,
                 (unsigned long long)rows, rows == 1 ? " has" : "s have");
    else
        snprintf(sentence, sizeof sentence,
                 "reading %.200s: %llu row%s columns above %llu, which the model has never seen; they are not used",
                 path, (unsigned long long)rows, rows == 1 ? " has" : "s have",
                 (unsigned long long)reading->model_columns);
    reading->warn(reading->user, sentence);
}
