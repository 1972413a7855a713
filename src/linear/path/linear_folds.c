/* linear_folds.c: which row is in which fold of a cross-validation. */
#include <stdlib.h>

#include <string.h>

#include "base/random.h"
#include "data/source.h"
#include "linear/path/linear_cv.h"
#include "shard/distributed.h"

#define FOLD_STREAM 0x666f6c64u /* random stream of the folds, distinct from those of workers */
#define FOLD_WAVE_BYTES (1u << 20)
#define MOST_FOLDS 1000

typedef struct labelled {
    double label;
    uint64_t place, row; /* the position after the shuffle */
} labelled;

static int by_label(const void *a, const void *b) {
    const labelled *left = a, *right = b;
    if (left->label != right->label)
        return left->label > right->label ? 1 : -1;
    return (left->place > right->place) - (left->place < right->place);
}

/* Shuffles the rows, sorts them by label and assigns them to folds in turn, so that every fold gets its share of each
 * label. This also balances folds of real labels. */
static parley_status assign_folds(const double *label, uint64_t rows, uint64_t seed, unsigned folds, uint32_t *fold,
                                  parley_error *error) {
    uint64_t *order;
    labelled *items = NULL;
    parley_status status = pl_take(&order, rows, sizeof *order, "folds", error);
    if (status == PARLEY_OK)
        status = pl_take(&items, rows, sizeof *items, "folds", error);
    if (status == PARLEY_OK) {
        for (uint64_t i = 0; i < rows; i++)
            order[i] = i;
        pl_stream stream = pl_stream_make(seed, FOLD_STREAM, folds);
        pl_shuffle(&stream, order, rows);
        for (uint64_t i = 0; i < rows; i++)
            items[i] = (labelled){label[order[i]], i, order[i]};
        qsort(items, rows, sizeof *items, by_label);
        for (uint64_t i = 0; i < rows; i++)
            fold[items[i].row] = (uint32_t)(i % folds);
    }
    pl_free(items);
    pl_free(order);
    return status;
}

/* Reads one number per line. `count` is the number of lines so far. */
static parley_status read_lines(const char *name, const char *text, const char *end, uint32_t *fold, uint64_t rows,
                                uint64_t *count, parley_error *error) {
    while (text < end) {
        uint64_t number = 0;
        const char *digit = text;
        for (; digit < end && *digit >= '0' && *digit <= '9' && number < MOST_FOLDS; digit++)
            number = 10 * number + (uint64_t)(*digit - '0');
        const char *rest = digit;
        while (rest < end && (*rest == ' ' || *rest == '\r' || *rest == '\t'))
            rest++;
        if (digit == text || number >= MOST_FOLDS || (rest < end && *rest != '\n'))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s:%llu: a fold must be a whole number below %d, one per line",
                           name, (unsigned long long)*count + 1, MOST_FOLDS);
        if (*count < rows)
            fold[*count] = (uint32_t)number;
        ++*count;
        text = rest < end ? rest + 1 : end;
    }
    return PARLEY_OK;
}

/* Renumbers the folds that occur from 0, keeping their order. */
static unsigned number_folds(uint32_t *fold, uint64_t rows) {
    uint32_t number[MOST_FOLDS] = {0};
    unsigned folds = 0;
    for (uint64_t i = 0; i < rows; i++)
        number[fold[i]] = 1;
    for (unsigned f = 0; f < MOST_FOLDS; f++)
        if (number[f])
            number[f] = folds++;
    for (uint64_t i = 0; i < rows; i++)
        fold[i] = number[fold[i]];
    return folds;
}

/* Reads the folds from a source, which it closes. */
static parley_status take_folds(const parley_data *data, pl_source *source, uint32_t *fold, unsigned *folds,
                                parley_error *error) {
    const char *text, *name = pl_source_name(source);
    uint64_t bytes = 1, count = 0, rows = pl_all_rows(data);
    parley_status status = PARLEY_OK;
    while (bytes > 0 && status == PARLEY_OK) {
        status = pl_source_next(source, &text, &bytes, error);
        if (status == PARLEY_OK)
            status = read_lines(name, text, text + bytes, fold, rows, &count, error);
    }
    if (status == PARLEY_OK && count != rows)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu lines for the %llu rows of %s; give one fold per row", name,
                         (unsigned long long)count, (unsigned long long)rows, data->path);
    if (status == PARLEY_OK && (*folds = number_folds(fold, rows)) < 2)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: all rows are in one fold; at least two folds are needed", name);
    pl_source_close(source);
    return status;
}

parley_status pl_cv_parse_folds(const parley_data *data, const void *text, uint64_t bytes, const char *name,
                                uint32_t *fold, unsigned *folds, parley_error *error) {
    pl_source *source;
    parley_status status = pl_source_memory(text, bytes, name, FOLD_WAVE_BYTES, &source, error);
    return status == PARLEY_OK ? take_folds(data, source, fold, folds, error) : status;
}

/* The labels of all rows, in the order of the data; the caller frees them. They are gathered by rank. */
static parley_status gather_labels(pl_engine *engine, const parley_data *data, double **out, parley_error *error) {
    uint64_t *bounds;
    double *by_rank = NULL;
    parley_status status = pl_take(out, pl_all_rows(data), sizeof **out, "the labels of all rows", error);
    if (status == PARLEY_OK)
        status = pl_take(&bounds, (uint64_t)engine->ranks + 1, sizeof *bounds, "the labels of all rows", error);
    if (status != PARLEY_OK)
        return status;
    status = pl_gather_lists(engine, data->label, data->x.rows, &by_rank, bounds, error);
    for (uint64_t p = 0; p < data->spread->count && status == PARLEY_OK; p++) {
        const pl_piece *piece = &data->spread->pieces[p];
        memcpy(*out + piece->begin, by_rank + bounds[piece->rank] + piece->first,
               (piece->end - piece->begin) * sizeof **out);
    }
    pl_free(by_rank);
    pl_free(bounds);
    return status;
}

parley_status pl_cv_folds(pl_engine *engine, const parley_data *data, const parley_settings *settings, uint32_t *fold,
                          unsigned *folds, parley_error *error) {
    uint64_t rows = pl_all_rows(data);
    pl_source *source;
    *folds = (unsigned)pl_linear_settings_of(settings)->folds;
    if (*pl_linear_settings_of(settings)->fold_file) {
        parley_status status =
            pl_source_open(pl_linear_settings_of(settings)->fold_file, FOLD_WAVE_BYTES, &source, error);
        return status == PARLEY_OK ? take_folds(data, source, fold, folds, error) : status;
    }
    if (pl_linear_settings_of(settings)->folds > rows)
        return pl_fail(error, PARLEY_BAD_USAGE, "--folds %llu: there are only %llu rows",
                       (unsigned long long)pl_linear_settings_of(settings)->folds, (unsigned long long)rows);
    if (!data->spread)
        return assign_folds(data->label, rows, settings->seed, *folds, fold, error);
    double *label = NULL;
    parley_status status = gather_labels(engine, data, &label, error);
    if (status == PARLEY_OK)
        status = assign_folds(label, rows, settings->seed, *folds, fold, error);
    pl_free(label);
    return status;
}
