/* arrays.c: compressed sparse rows in the caller's arrays. Blocks of rows are checked at the speed of memory: within a
 * block, column numbers may decrease only between rows, so decreases are counted and compared with those at row
 * boundaries. Rows are checked one by one only if their block fails this test. */
#include "data/arrays.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "data/read.h"
#include "data/row.h"
#include "math/scan.h"
#include "math/sparse.h"

#define BLOCK_ENTRIES ((uint64_t)1 << 17)
#define BLOCK_ROWS ((uint64_t)1 << 16)
#define LOOKED_AT 256
#define WORTH_THREADS ((uint64_t)1 << 19) /* entries; starting threads takes as long as checking this many */

enum { FALLING_START = 1, WRONG_ID = 2, FALLING_IDS = 4, WRONG_VALUE = 8, NO_ROOM = 16, LOST_DIGITS = 32 };

typedef struct csr {
    uint64_t rows, columns;
    const void *given_start, *given_index, *given_value;
    parley_type start_type, index_type, value_type;
    const uint64_t *start;
    const uint32_t *index;
    pl_values values;
    uint64_t *own_start; /* converted copies; NULL: the caller's arrays are used */
    uint32_t *own_index;
    pl_value_room own_value;
    uint64_t *kept; /* by row: entries left after sorting */
    atomic_uint faults;
} csr;

parley_status pl_arrays_reserve(pl_span *span, uint64_t count, uint64_t size, parley_error *error) {
    uint64_t bytes = count < UINT64_MAX / 16 ? (count + 1) * size : UINT64_MAX;
    if (!pl_span_reserve(span, bytes))
        return pl_fail_memory(error, "a copy of the arrays", bytes);
    return PARLEY_OK;
}

unsigned pl_arrays_threads(uint64_t entries, unsigned threads) { return entries < WORTH_THREADS ? 1 : threads; }

static parley_status check_rows(const parley_data *data, parley_error *error) {
    uint64_t rows = data->x.rows;
    const double *label = data->label, *weight = data->weight;
    if (label && !pl_scan_finite_double(label, rows))
        for (uint64_t i = 0; i < rows; i++)
            if (!isfinite(label[i]))
                return pl_fail(error, PARLEY_BAD_INPUT, "data: row %llu: the label is not a finite number",
                               (unsigned long long)i);
    for (uint64_t i = 0; weight && i < rows; i++)
        if (!(weight[i] >= 0 && isfinite(weight[i])))
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "data: row %llu: the weight is %g; a weight must be finite and not negative",
                           (unsigned long long)i, weight[i]);
    return PARLEY_OK;
}

parley_status pl_arrays_open(uint64_t rows, uint64_t columns, const double *label, const double *weight,
                             parley_data **out, parley_error *error) {
    static const uint32_t no_entry = 0; /* a valid address for empty data */
    *out = NULL;
    if (columns > UINT32_MAX)
        return pl_fail(error, PARLEY_BAD_INPUT, "data: %llu columns; at most %llu are supported",
                       (unsigned long long)columns, (unsigned long long)UINT32_MAX);
    parley_data *data;
    parley_status status = pl_data_make("data", &data, error);
    if (status != PARLEY_OK)
        return status;
    data->x = (pl_matrix){.rows = rows, .columns = columns, .index = &no_entry};
    data->from_arrays = true;
    data->label = label;
    data->weight = weight;
    status = check_rows(data, error);
    if (status == PARLEY_OK)
        *out = data;
    else
        parley_data_free(data);
    return status;
}

/* Reads an offset of any type. */
static int64_t start_at(const csr *csr, uint64_t row) {
    return csr->start_type == PARLEY_INT32 ? ((const int32_t *)csr->given_start)[row]
                                           : ((const int64_t *)csr->given_start)[row];
}

/* Checks the offsets of a block of rows and converts them to 64 bits. */
static void start_task(void *context, unsigned task) {
    csr *csr = context;
    uint64_t begin = task * BLOCK_ROWS, end = begin + BLOCK_ROWS < csr->rows ? begin + BLOCK_ROWS : csr->rows;
    uint32_t falls = 0;
    if (csr->start_type == PARLEY_INT64) {
        const int64_t *start = csr->given_start;
        for (uint64_t i = begin; i < end; i++)
            falls |= start[i] > start[i + 1];
    } else {
        const int32_t *start = csr->given_start;
        for (uint64_t i = begin; i < end; i++) {
            falls |= start[i] > start[i + 1];
            csr->own_start[i] = (uint64_t)start[i];
        }
    }
    if (falls)
        atomic_fetch_or(&csr->faults, FALLING_START);
}

static parley_status take_start(csr *csr, parley_data *data, pl_pool *pool, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (csr->start_type == PARLEY_INT32)
        status = pl_arrays_reserve(&data->spans[PL_SPAN_START], csr->rows + 1, sizeof *csr->own_start, error);
    if (status != PARLEY_OK)
        return status;
    csr->own_start = data->spans[PL_SPAN_START].data;
    csr->start = csr->own_start ? csr->own_start : csr->given_start;
    if (start_at(csr, 0) != 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "data: the row offsets begin with %lld; they must begin with 0",
                       (long long)start_at(csr, 0));
    pl_pool_run(pool, start_task, csr, (unsigned)((csr->rows + BLOCK_ROWS - 1) / BLOCK_ROWS));
    for (uint64_t i = 0; csr->faults && i < csr->rows; i++)
        if (start_at(csr, i) > start_at(csr, i + 1))
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "data: row %llu ends at entry %lld but begins at %lld; row offsets must not decrease",
                           (unsigned long long)i, (long long)start_at(csr, i + 1), (long long)start_at(csr, i));
    if (csr->own_start)
        csr->own_start[csr->rows] = (uint64_t)start_at(csr, csr->rows);
    data->x.nonzeros = csr->start[csr->rows];
    return PARLEY_OK;
}

/* The first row that begins at or after this entry. */
static uint64_t row_from(const csr *csr, uint64_t entry) { return pl_rising_first(csr->start, csr->rows, entry); }

static unsigned blocks_of(const csr *csr) {
    return (unsigned)((csr->start[csr->rows] + BLOCK_ENTRIES - 1) / BLOCK_ENTRIES);
}

/* Converts 64-bit column numbers. Returns false if one is out of range. */
static bool narrow_ids(const csr *csr, uint64_t begin, uint64_t end) {
    const uint64_t *from = csr->given_index; /* as unsigned numbers, negative ones are very large */
    uint64_t wrong = 0;
    for (uint64_t e = begin; e < end; e++) {
        wrong |= from[e] >> 32;
        csr->own_index[e] = (uint32_t)from[e];
    }
    return wrong == 0;
}

/* 32-bit column numbers are signed as well. */
static uint64_t id_limit(const csr *csr) {
    uint64_t most = (uint64_t)INT32_MAX + 1;
    return csr->index_type == PARLEY_INT32 && csr->columns > most ? most : csr->columns;
}

static bool good_ids(const csr *csr, uint64_t first, uint64_t last, bool *rise) {
    uint64_t begin = csr->start[first], end = csr->start[last], falls = 0;
    if (csr->own_index && csr->index_type == PARLEY_INT64 && !narrow_ids(csr, begin, end))
        return false;
    pl_ids ids = pl_scan_ids(csr->index + begin, end - begin);
    for (uint64_t i = first + 1; i < last; i++) {
        uint64_t e = csr->start[i];
        if (e > csr->start[i - 1] && e < end) /* otherwise a row is empty */
            falls += csr->index[e - 1] >= csr->index[e];
    }
    *rise = ids.falls == falls;
    return ids.largest < id_limit(csr);
}

/* Converts doubles to floats. Returns whether floats would lose digits. */
static bool narrow_values(const csr *csr, uint64_t begin, uint64_t end) {
    const double *from = csr->given_value;
    uint32_t lost = 0;
    for (uint64_t e = begin; e < end; e++) {
        float narrow = (float)from[e];
        lost |= (double)narrow != from[e];
        csr->own_value.narrow[e] = narrow;
    }
    return lost;
}

static bool are_finite(pl_values values, uint64_t begin, uint64_t end) {
    return values.wide     ? pl_scan_finite_double(values.wide + begin, end - begin)
           : values.narrow ? pl_scan_finite(values.narrow + begin, end - begin)
                           : true;
}

static void entries_task(void *context, unsigned task) {
    csr *csr = context;
    uint64_t first = row_from(csr, task * BLOCK_ENTRIES), last = row_from(csr, (task + 1) * BLOCK_ENTRIES);
    uint64_t begin = csr->start[first], end = csr->start[last];
    bool rise = true;
    if (begin == end)
        return;
    if (!good_ids(csr, first, last, &rise))
        atomic_fetch_or(&csr->faults, WRONG_ID);
    if (!rise)
        atomic_fetch_or(&csr->faults, FALLING_IDS);
    if (csr->own_value.narrow && narrow_values(csr, begin, end))
        atomic_fetch_or(&csr->faults, LOST_DIGITS);
    if (!are_finite(csr->values, begin, end))
        atomic_fetch_or(&csr->faults, WRONG_VALUE);
}

static int64_t id_at(const csr *csr, uint64_t entry) {
    return csr->index_type == PARLEY_INT32 ? ((const int32_t *)csr->given_index)[entry]
                                           : ((const int64_t *)csr->given_index)[entry];
}

/* Fails with the message for the first invalid entry. */
static parley_status explain(const csr *csr, parley_error *error) {
    for (uint64_t i = 0; i < csr->rows; i++)
        for (uint64_t e = csr->start[i]; e < csr->start[i + 1]; e++) {
            int64_t id = id_at(csr, e);
            if (id < 0 || (uint64_t)id >= csr->columns)
                return pl_fail(error, PARLEY_BAD_INPUT,
                               "data: row %llu: column index %lld; there are %llu columns, counted from 0",
                               (unsigned long long)i, (long long)id, (unsigned long long)csr->columns);
            if (!isfinite(pl_value_at(csr->values, e)))
                return pl_fail(error, PARLEY_BAD_INPUT,
                               "data: row %llu: the value in column %lld is not a finite number", (unsigned long long)i,
                               (long long)id);
        }
    return pl_fail(error, PARLEY_BAD_INPUT, "data: the arrays changed while they were read");
}

/* Whether the first doubles show that floats would lose digits of them. */
static bool are_wide(const csr *csr, uint64_t entries) {
    const double *from = csr->given_value;
    bool wide = false;
    for (uint64_t e = 0; csr->value_type == PARLEY_FLOAT64 && from && e < entries && e < LOOKED_AT; e++)
        wide |= (double)(float)from[e] != from[e];
    return wide;
}

/* Doubles that floats hold are converted. */
static parley_status take_values(csr *csr, parley_data *data, bool wide, parley_error *error) {
    bool narrowed = csr->given_value && csr->value_type == PARLEY_FLOAT64 && !wide;
    parley_status status = PARLEY_OK;
    if (narrowed)
        status = pl_arrays_reserve(&data->spans[PL_SPAN_VALUE], data->x.nonzeros, sizeof(float), error);
    csr->own_value = (pl_value_room){.narrow = narrowed ? data->spans[PL_SPAN_VALUE].data : NULL};
    csr->values = narrowed ? pl_values_of(csr->own_value) : pl_values_in(csr->given_value, wide);
    return status;
}

static parley_status take_entries(csr *csr, parley_data *data, pl_pool *pool, parley_error *error) {
    uint64_t entries = data->x.nonzeros;
    parley_status status = PARLEY_OK;
    if (csr->index_type == PARLEY_INT64)
        status = pl_arrays_reserve(&data->spans[PL_SPAN_INDEX], entries, sizeof *csr->own_index, error);
    if (status == PARLEY_OK)
        status = take_values(csr, data, are_wide(csr, entries), error);
    if (status != PARLEY_OK)
        return status;
    csr->own_index = data->spans[PL_SPAN_INDEX].data;
    csr->index = csr->own_index ? csr->own_index : csr->given_index;
    pl_pool_run(pool, entries_task, csr, blocks_of(csr));
    if (csr->faults & LOST_DIGITS) {
        pl_span_free(&data->spans[PL_SPAN_VALUE]);
        take_values(csr, data, true, error);
        atomic_fetch_and(&csr->faults, ~(unsigned)WRONG_VALUE);
        if (!are_finite(csr->values, 0, entries))
            atomic_fetch_or(&csr->faults, WRONG_VALUE);
    }
    return csr->faults & (WRONG_ID | WRONG_VALUE) ? explain(csr, error) : PARLEY_OK;
}

/* Copies the caller's entries [begin, end) to memory where they can be sorted. */
static void copy_entries(const csr *csr, uint64_t begin, uint64_t end) {
    if (csr->own_index != csr->index)
        memcpy(csr->own_index + begin, csr->index + begin, (end - begin) * sizeof *csr->own_index);
    if (pl_value_memory(pl_values_of(csr->own_value)) != pl_value_memory(csr->values))
        for (uint64_t e = begin; e < end; e++)
            pl_value_put(csr->own_value, e, pl_value_at(csr->values, e));
}

static void sort_task(void *context, unsigned task) {
    csr *csr = context;
    uint64_t first = row_from(csr, task * BLOCK_ENTRIES), last = row_from(csr, (task + 1) * BLOCK_ENTRIES);
    pl_sorter sorter = {0};
    copy_entries(csr, csr->start[first], csr->start[last]);
    for (uint64_t i = first; i < last; i++) {
        uint64_t begin = csr->start[i], count = csr->start[i + 1] - begin;
        csr->kept[i] = pl_row_sort(&sorter, csr->own_index + begin, pl_value_room_from(csr->own_value, begin), count);
        if (csr->kept[i] == UINT64_MAX)
            atomic_fetch_or(&csr->faults, NO_ROOM);
        else if (csr->kept[i] < count && !are_finite(pl_values_of(csr->own_value), begin, begin + csr->kept[i]))
            atomic_fetch_or(&csr->faults, WRONG_VALUE);
    }
    pl_sorter_free(&sorter);
}

/* Closes the gaps left by entries that were added to others. */
static parley_status close_gaps(csr *csr, parley_data *data, parley_error *error) {
    uint64_t at = 0;
    parley_status status = pl_arrays_reserve(&data->spans[PL_SPAN_START], csr->rows + 1, sizeof *csr->own_start, error);
    if (status != PARLEY_OK)
        return status;
    const uint64_t *from = csr->start; /* may be the same array: each offset is read before it is overwritten */
    csr->own_start = data->spans[PL_SPAN_START].data;
    char *values = data->spans[PL_SPAN_VALUE].data;
    uint64_t size = pl_value_size(csr->own_value.wide != NULL);
    for (uint64_t i = 0; i < csr->rows; i++) {
        uint64_t begin = from[i];
        memmove(csr->own_index + at, csr->own_index + begin, csr->kept[i] * sizeof *csr->own_index);
        memmove(values + at * size, values + begin * size, csr->kept[i] * size);
        csr->own_start[i] = at;
        at += csr->kept[i];
    }
    csr->own_start[csr->rows] = at;
    csr->start = csr->own_start;
    data->x.nonzeros = at;
    return PARLEY_OK;
}

static parley_status sort_rows(csr *csr, parley_data *data, pl_pool *pool, parley_error *error) {
    uint64_t entries = data->x.nonzeros;
    parley_status status = pl_arrays_reserve(&data->spans[PL_SPAN_INDEX], entries, sizeof *csr->own_index, error);
    if (status == PARLEY_OK)
        status =
            pl_arrays_reserve(&data->spans[PL_SPAN_VALUE], entries, pl_value_size(csr->values.wide != NULL), error);
    csr->own_index = data->spans[PL_SPAN_INDEX].data;
    csr->own_value = pl_value_room_in(data->spans[PL_SPAN_VALUE].data, csr->values.wide != NULL);
    if (status == PARLEY_OK)
        status = pl_take(&csr->kept, csr->rows, sizeof *csr->kept, "sorting rows", error);
    if (status != PARLEY_OK)
        return status;
    pl_pool_run(pool, sort_task, csr, blocks_of(csr));
    csr->index = csr->own_index;
    csr->values = pl_values_of(csr->own_value);
    if (csr->faults & NO_ROOM)
        return pl_fail_memory(error, "sorting rows", entries * 24 / blocks_of(csr));
    if (csr->faults & WRONG_VALUE)
        return pl_fail(error, PARLEY_BAD_INPUT, "data: entries of one column add up to more than a float holds");
    for (uint64_t i = 0; i < csr->rows; i++)
        if (csr->kept[i] != csr->start[i + 1] - csr->start[i])
            return close_gaps(csr, data, error);
    return PARLEY_OK;
}

static parley_status check_types(const csr *csr, parley_error *error) {
    bool whole = (csr->start_type == PARLEY_INT32 || csr->start_type == PARLEY_INT64) &&
                 (csr->index_type == PARLEY_INT32 || csr->index_type == PARLEY_INT64);
    bool real = !csr->given_value || csr->value_type == PARLEY_FLOAT32 || csr->value_type == PARLEY_FLOAT64;
    if (!whole || !real)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "offsets and indices must be int32 or int64, values float32 or float64");
    return csr->given_start ? PARLEY_OK : pl_fail(error, PARLEY_BAD_USAGE, "data: the row offsets are missing");
}

static parley_status take(csr *csr, parley_data *data, unsigned threads, parley_error *error) {
    pl_pool *pool;
    int64_t end = start_at(csr, csr->rows);
    uint64_t work = (end > 0 ? (uint64_t)end : 0) + csr->rows;
    parley_status status = pl_pool_open(&pool, pl_arrays_threads(work, threads), error);
    if (status != PARLEY_OK)
        return status;
    status = take_start(csr, data, pool, error);
    if (status == PARLEY_OK && data->x.nonzeros > 0 && !csr->given_index)
        status = pl_fail(error, PARLEY_BAD_USAGE, "data: the column indices are missing");
    if (status == PARLEY_OK && data->x.nonzeros > 0)
        status = take_entries(csr, data, pool, error);
    if (status == PARLEY_OK && csr->faults & FALLING_IDS)
        status = sort_rows(csr, data, pool, error);
    pl_pool_close(pool);
    data->x.start = csr->start;
    if (data->x.nonzeros > 0) {
        data->x.index = csr->index;
        data->x.values = csr->values;
    }
    return status;
}

parley_status parley_data_from_csr(uint64_t rows, uint64_t columns, const void *start, parley_type start_type,
                                   const void *index, parley_type index_type, const void *value, parley_type value_type,
                                   const double *label, const double *weight, unsigned threads, parley_data **out,
                                   parley_error *error) {
    csr csr = {.rows = rows,
               .columns = columns,
               .given_start = start,
               .given_index = index,
               .given_value = value,
               .start_type = start_type,
               .index_type = index_type,
               .value_type = value_type};
    parley_data *data = NULL;
    *out = NULL;
    parley_status status = check_types(&csr, error);
    if (status == PARLEY_OK)
        status = pl_arrays_open(rows, columns, label, weight, &data, error);
    if (status == PARLEY_OK)
        status = take(&csr, data, threads, error);
    pl_free(csr.kept);
    if (status == PARLEY_OK)
        *out = data;
    else
        parley_data_free(data);
    return status;
}

parley_status pl_data_teaches(const parley_data *data, bool labels, parley_error *error) {
    if (pl_all_rows(data) == 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: there are no rows to train on", data->path);
    if (labels && !data->label)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: there are no labels to train on; give one for each row",
                       data->path);
    return PARLEY_OK;
}

void parley_data_arrays(const parley_data *data, parley_arrays *out) {
    *out = (parley_arrays){.start = data->x.start,
                           .index = data->x.index,
                           .value = data->x.values.narrow,
                           .wide = data->x.values.wide,
                           .label = data->label,
                           .weight = data->weight};
}

static const char *name_of(const pl_names *names, uint64_t number, uint64_t *bytes) {
    pl_name name = pl_names_at(names, number);
    if (bytes)
        *bytes = name.bytes;
    return name.text;
}

const char *parley_data_column_name(const parley_data *data, uint64_t column, uint64_t *bytes) {
    return name_of(&data->names, column, bytes);
}

const char *parley_data_class_name(const parley_data *data, uint64_t label, uint64_t *bytes) {
    return name_of(&data->classes, label, bytes);
}

parley_status parley_data_set_classes(parley_data *data, const char *const *names, uint64_t count,
                                      parley_error *error) {
    uint64_t bytes = 0;
    pl_names classes;
    for (uint64_t i = 0; i < data->x.rows && data->label; i++)
        if (!(data->label[i] >= 0 && data->label[i] < (double)count && data->label[i] == floor(data->label[i])))
            return pl_fail(error, PARLEY_BAD_USAGE,
                           "%s: row %llu has label %.17g, but there are %llu names for 0, 1, ...", data->path,
                           (unsigned long long)i, data->label[i], (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++)
        bytes += strlen(names[i]);
    parley_status status = pl_names_make(count, bytes, &classes, error);
    if (status != PARLEY_OK)
        return status;
    uint64_t *start = (uint64_t *)classes.start;
    for (uint64_t i = 0; i < count; i++) {
        memcpy((char *)classes.text + start[i], names[i], strlen(names[i]));
        start[i + 1] = start[i] + strlen(names[i]);
    }
    pl_names_free(&data->classes);
    data->classes = classes;
    return PARLEY_OK;
}
