/* cache.c: data as safetensors: `start` U64 [rows + 1], `label` F64 [rows], `weight` F64 [rows] if there are weights,
 * `index` U32 [nonzeros], `value` F32 or F64 [nonzeros] unless all are 1; `name_start` U64 and `name` U8 if columns
 * have names, `class_start` and `class` if classes have. Wide types come first, which aligns all tensors. */
#define _POSIX_C_SOURCE 200809L /* stat */
#include "data/cache.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/available_memory.h"
#include "base/stop.h"
#include "data/container.h"
#include "data/read.h"

#define FORMAT "parley-data-1"
#define LARGEST_COLUMNS 2147483647
#define MOST_HASH_BITS 30
#define MOST_CLASSES ((uint64_t)1 << 20)
#define TASK_ROWS ((uint64_t)1 << 16)    /* checked by one task */
#define STEP_ENTRIES ((uint64_t)1 << 19) /* of data larger than memory, checked and given back at a time */
#define MOST_TASKS ((uint64_t)1 << 20)
#define MOST_COPIED                                                                                                    \
    ((uint64_t)16 << 20) /* bytes of a cache that take a few milliseconds; larger caches stay mapped                   \
                          */

parley_status pl_data_write_cache(const parley_data *data, const char *path, parley_error *error) {
    uint64_t rows = data->x.rows, nonzeros = data->x.nonzeros;
    char numbers[3][24];
    snprintf(numbers[0], sizeof numbers[0], "%" PRIu64, rows);
    snprintf(numbers[1], sizeof numbers[1], "%" PRIu64, data->x.columns);
    snprintf(numbers[2], sizeof numbers[2], "%" PRIu64, nonzeros);
    char bits[24];
    snprintf(bits, sizeof bits, "%u", data->hash_bits);
    pl_pair metas[6] = {{"format", FORMAT}, {"rows", numbers[0]}, {"columns", numbers[1]}, {"nonzeros", numbers[2]}};
    unsigned meta_count = 4;
    if (data->hash_bits)
        metas[meta_count++] = (pl_pair){"hash_bits", bits};
    if (data->table)
        metas[meta_count++] = (pl_pair){"table", data->table};
    pl_tensor tensors[9];
    unsigned count = 0;
    tensors[count++] = (pl_tensor){"start", PL_U64, 1, {rows + 1}, data->x.start};
    pl_names_put_starts(&data->names, &data->classes, tensors, &count);
    tensors[count++] = (pl_tensor){"label", PL_F64, 1, {rows}, data->label};
    if (data->weight)
        tensors[count++] = (pl_tensor){"weight", PL_F64, 1, {rows}, data->weight};
    if (data->x.values.wide)
        tensors[count++] = (pl_tensor){"value", PL_F64, 1, {nonzeros}, data->x.values.wide};
    tensors[count++] = (pl_tensor){"index", PL_U32, 1, {nonzeros}, data->x.index};
    if (data->x.values.narrow)
        tensors[count++] = (pl_tensor){"value", PL_F32, 1, {nonzeros}, data->x.values.narrow};
    pl_names_put_texts(&data->names, &data->classes, tensors, &count);
    return pl_container_write(path, tensors, count, metas, meta_count, error);
}

static parley_status bad(const char *path, const char *what, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a valid data cache: %s", path, what);
}

/* Reads a number from the metadata. */
static bool meta_number(const pl_container *container, const char *key, uint64_t *number) {
    const char *text = pl_container_meta(container, key);
    if (!text || *text == '\0')
        return false;
    *number = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || *number > UINT64_MAX / 10 - 1)
            return false;
        *number = *number * 10 + (uint64_t)(*text - '0');
    }
    return true;
}

/* Returns the data of a tensor. Clears `*fits` if the tensor exists with another type or length. */
static const void *column(const pl_container *container, const char *name, pl_dtype type, uint64_t length, bool *fits) {
    const pl_tensor *tensor = pl_container_tensor(container, name);
    if (tensor)
        *fits &= tensor->type == type && tensor->dims == 1 && tensor->shape[0] == length;
    return tensor ? tensor->data : NULL;
}

static bool is_kind(const char *format, const char *begin) {
    return format && strncmp(format, begin, strlen(begin)) == 0;
}

/* Points the data into the container. Checks the shapes but not the values of the tensors. */
static parley_status attach(const pl_container *container, const char *path, parley_data *data, parley_error *error) {
    const char *format = pl_container_meta(container, "format");
    if (is_kind(format, "parley-") && !is_kind(format, "parley-data-"))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: this is a %s, not data; give a file of rows here", path,
                       is_kind(format, "parley-path-")         ? "path of models"
                       : is_kind(format, "parley-checkpoint-") ? "checkpoint"
                                                               : "model");
    if (!format || strcmp(format, FORMAT) != 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: a safetensors file, but not a data cache; its format is not %s",
                       path, FORMAT);
    pl_matrix *x = &data->x;
    if (!meta_number(container, "rows", &x->rows) || !meta_number(container, "columns", &x->columns) ||
        !meta_number(container, "nonzeros", &x->nonzeros) || x->columns > LARGEST_COLUMNS || x->rows == UINT64_MAX)
        return bad(path, "its metadata lack valid rows, columns and nonzeros", error);
    if (x->rows == 0)
        return bad(path, "it has no rows", error);
    bool fits = true;
    x->start = column(container, "start", PL_U64, x->rows + 1, &fits);
    data->label = column(container, "label", PL_F64, x->rows, &fits);
    data->weight = column(container, "weight", PL_F64, x->rows, &fits);
    x->index = column(container, "index", PL_U32, x->nonzeros, &fits);
    const pl_tensor *value = pl_container_tensor(container, "value");
    bool wide = value && value->type == PL_F64;
    x->values = pl_values_in(column(container, "value", wide ? PL_F64 : PL_F32, x->nonzeros, &fits), wide);
    uint64_t bits = 0;
    bool has_bits = pl_container_meta(container, "hash_bits") != NULL;
    if (has_bits && (!meta_number(container, "hash_bits", &bits) || bits > MOST_HASH_BITS || x->columns >> bits == 0))
        return bad(path, "its metadata lack a valid hash_bits", error);
    data->hash_bits = (unsigned)bits;
    data->table = pl_container_meta(container, "table");
    fits &= pl_names_get(container, "name", x->columns, &data->names) &&
            pl_names_get(container, "class", MOST_CLASSES, &data->classes);
    unsigned known = 3 + (data->weight != NULL) + !pl_are_ones(x->values) + 2 * (data->names.count > 0) +
                     2 * (data->classes.count > 0);
    const pl_tensor *first;
    if (!fits || !x->start || !data->label || !x->index || pl_container_tensors(container, &first) != known)
        return bad(path, "its tensors are not start, label, weight, index, value and names of the right shape", error);
    return PARLEY_OK;
}

static bool finite_double(double value) { return fabs(value) <= 1.7976931348623157e308; }

/* If classes have names, a label is the number of one. */
static bool is_class(const parley_data *data, double label) {
    return data->classes.count == 0 ||
           (label >= 0 && label < (double)data->classes.count && label == (double)(uint64_t)label);
}

/* Returns what is wrong with a row, or NULL. This is the definition; good_rows is a fast test for the same. */
static const char *row_fault(const parley_data *data, uint64_t row) {
    const pl_matrix *x = &data->x;
    uint64_t begin = x->start[row], end = x->start[row + 1];
    if (begin > end || end > x->nonzeros)
        return "its offsets do not increase";
    for (uint64_t i = begin; i < end; i++) {
        if (x->index[i] >= x->columns)
            return "a column index is too large";
        if (i > begin && x->index[i] <= x->index[i - 1])
            return "its column indices do not increase";
        if (!isfinite(pl_value_at(x->values, i)))
            return "a value is not finite";
    }
    if (!isfinite(data->label[row]))
        return "its label is not finite";
    if (!is_class(data, data->label[row]))
        return "its label is not the number of a class";
    if (data->weight && !(isfinite(data->weight[row]) && data->weight[row] >= 0))
        return "its weight is negative or not finite";
    return NULL;
}

static bool good_indices(const uint32_t *index, uint64_t count, uint64_t columns) {
    uint32_t wrong = 0;
    for (uint64_t i = 1; i < count; i++)
        wrong |= index[i] <= index[i - 1];
    return !wrong && (count == 0 || index[count - 1] < columns);
}

static bool good_doubles(const double *value, uint64_t count) {
    uint32_t wrong = 0;
    for (uint64_t i = 0; i < count; i++)
        wrong |= !finite_double(value[i]);
    return !wrong;
}

static bool good_values(const float *value, uint64_t count) {
    uint32_t wrong = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        wrong |= (bits & 0x7f800000) == 0x7f800000;
    }
    return !wrong;
}

static bool good_rows(const parley_data *data, uint64_t first, uint64_t end) {
    const pl_matrix *x = &data->x;
    for (uint64_t row = first; row < end; row++) {
        uint64_t from = x->start[row], to = x->start[row + 1];
        if (from > to || to > x->nonzeros || !good_indices(x->index + from, to - from, x->columns) ||
            !finite_double(data->label[row]) || !is_class(data, data->label[row]))
            return false;
        if (data->weight && !(finite_double(data->weight[row]) && data->weight[row] >= 0))
            return false;
    }
    uint64_t from = x->start[first], to = x->start[end];
    return x->values.wide     ? good_doubles(x->values.wide + from, to - from)
           : x->values.narrow ? good_values(x->values.narrow + from, to - from)
                              : true;
}

typedef struct check {
    const parley_data *data;
    uint64_t first, end; /* rows */
    unsigned tasks;
    bool *good; /* by task */
} check;

static uint64_t task_row(const check *checked, unsigned task) {
    uint64_t rows = checked->end - checked->first;
    return checked->first + rows / checked->tasks * task +
           (task < rows % checked->tasks ? task : rows % checked->tasks);
}

/* Begins to read the entries of rows whose offsets have not been checked yet. */
static void read_ahead(const parley_data *data, uint64_t begin, uint64_t end) {
    const uint64_t *start = data->x.start;
    if (start[begin] <= start[end] && start[end] <= data->x.nonzeros)
        pl_data_ahead(data, begin, end);
}

static bool good_step(const parley_data *data, uint64_t begin, uint64_t end) {
    bool good = good_rows(data, begin, end);
    if (good)
        pl_data_release(data, begin, end);
    return good;
}

/* Checks rows in steps, so that data larger than memory are read ahead. A request to stop ends it; the caller reports
 * that. */
static void check_task(void *context, unsigned task) {
    check *checked = context;
    const parley_data *data = checked->data;
    uint64_t begin = task_row(checked, task), end = task_row(checked, task + 1), step = end - begin;
    uint64_t mean = data->x.nonzeros / data->x.rows + 1;
    if (data->large)
        step = STEP_ENTRIES / mean + 1;
    checked->good[task] = true;
    if (begin < end)
        read_ahead(data, begin, begin + step < end ? begin + step : end);
    for (uint64_t row = begin, next; row < end && checked->good[task] && !pl_stop_asked(); row = next) {
        next = row + step < end ? row + step : end;
        if (next < end)
            read_ahead(data, next, next + step < end ? next + step : end);
        checked->good[task] = good_step(data, row, next);
    }
}

/* Fails with the message for the first bad row of a task. */
static parley_status explain(const check *checked, unsigned task, parley_error *error) {
    const parley_data *data = checked->data;
    uint64_t row = task_row(checked, task), end = task_row(checked, task + 1);
    while (row + 1 < end && !row_fault(data, row))
        row++;
    const char *fault = row_fault(data, row);
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a valid data cache: row %" PRIu64 ": %s", data->path, row + 1,
                   fault ? fault : "it is not what it was");
}

parley_status pl_cache_check(const parley_data *data, uint64_t first, uint64_t end, pl_pool *pool,
                             parley_error *error) {
    const pl_matrix *x = &data->x;
    if (x->start[0] != 0 || x->start[x->rows] != x->nonzeros)
        return bad(data->path, "its offsets do not run from 0 to the number of nonzeros", error);
    uint64_t rows = end - first, tasks = rows / TASK_ROWS + (uint64_t)pl_pool_threads(pool) * 4;
    tasks = tasks < rows ? tasks : rows;
    check checked = {data, first, end, (unsigned)(tasks < MOST_TASKS ? tasks : MOST_TASKS), NULL};
    parley_status status = pl_take(&checked.good, checked.tasks, sizeof *checked.good, "checking", error);
    if (status != PARLEY_OK)
        return status;
    pl_pool_run(pool, check_task, &checked, checked.tasks);
    for (unsigned task = 0; task < checked.tasks && status == PARLEY_OK; task++)
        if (!checked.good[task])
            status = explain(&checked, task, error);
    pl_free(checked.good);
    if (status == PARLEY_OK && pl_stop_asked())
        status = pl_fail_stopped(error);
    parley_status unchanged = pl_data_unchanged(data, error);
    return unchanged == PARLEY_OK ? status : unchanged;
}

/* Makes data from a container, which it closes on failure. Without a pool, rows are not checked. */
static parley_status adopt(pl_container *container, const char *path, uint64_t size, pl_pool *pool, parley_data **out,
                           parley_error *error) {
    parley_data *data;
    parley_status status = pl_data_make(path, &data, error);
    if (status != PARLEY_OK) {
        pl_container_close(container);
        return status;
    }
    data->container = container;
    data->from_cache = true;
    data->file_bytes = size;
    data->large = size > MOST_COPIED && size > pl_available_memory() / 2;
    if (size <= MOST_COPIED)
        status = pl_container_keep(container, path, error);
    if (status == PARLEY_OK)
        status = attach(container, path, data, error);
    if (status == PARLEY_OK && data->large) {
        pl_pages_small(data->x.index, data->x.index + data->x.nonzeros);
        const char *values = pl_value_memory(data->x.values);
        if (values)
            pl_pages_small(values, values + data->x.nonzeros * pl_value_bytes(data->x.values));
    }
    if (status == PARLEY_OK && pool)
        status = pl_cache_check(data, 0, data->x.rows, pool, error);
    if (status == PARLEY_OK)
        *out = data;
    else
        parley_data_free(data);
    return status;
}

parley_status pl_data_unchanged(const parley_data *data, parley_error *error) {
    return data->container ? pl_container_unchanged(data->container, data->path, error) : PARLEY_OK;
}

parley_status pl_cache_open(const char *path, pl_pool *pool, parley_data **out, parley_error *error) {
    pl_container *container;
    struct stat facts;
    *out = NULL;
    parley_status status = pl_container_open(path, &container, error);
    uint64_t size = status == PARLEY_OK && stat(path, &facts) == 0 ? (uint64_t)facts.st_size : 0;
    return status == PARLEY_OK ? adopt(container, path, size, pool, out, error) : status;
}

parley_status pl_cache_parse(const void *bytes, uint64_t size, const char *path, pl_pool *pool, parley_data **out,
                             parley_error *error) {
    pl_container *container;
    *out = NULL;
    parley_status status = pl_container_parse(bytes, size, path, &container, error);
    return status == PARLEY_OK ? adopt(container, path, size, pool, out, error) : status;
}
