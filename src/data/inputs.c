/* inputs.c: reads several inputs as one. Text goes through one parser from file to file; caches, which are mapped, are
 * copied into one data set. */
#define _POSIX_C_SOURCE 200809L
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/csv/csv_table.h"
#include "data/parser.h"
#include "data/read.h"

#define LOOK_BYTES ((uint64_t)64 << 10)

enum { START, LABEL, WEIGHT, INDEX, VALUE }; /* indices of parley_data's spans */

bool pl_is_regular(const char *path, uint64_t *bytes) {
    struct stat facts;
    bool regular = strcmp(path, "-") != 0 && stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
    *bytes = regular ? (uint64_t)facts.st_size : 0;
    return regular;
}

static parley_status add_path(pl_inputs *inputs, const char *path, parley_error *error) {
    bool standard = strcmp(path, "-") == 0;
    for (unsigned i = 0; i < inputs->count && standard; i++)
        if (strcmp(inputs->list[i].path, "-") == 0)
            return pl_fail(error, PARLEY_BAD_USAGE, "standard input can be read only once; give - once");
    pl_input *list = pl_realloc(inputs->list, inputs->count + 1, sizeof *list);
    if (!list)
        return pl_fail_memory(error, "file names", (inputs->count + 1) * sizeof *list);
    inputs->list = list;
    list[inputs->count] = (pl_input){.path = pl_strdup(path)};
    if (!list[inputs->count].path)
        return pl_fail_memory(error, "a file name", strlen(path));
    list[inputs->count].regular = pl_is_regular(path, &list[inputs->count].bytes);
    inputs->count++;
    return PARLEY_OK;
}

static bool is_pattern(const char *word) {
    return strpbrk(word, "*?[") && access(word, F_OK) != 0; /* a file may have such a name */
}

static parley_status add_matches(pl_inputs *inputs, const char *pattern, parley_error *error) {
    glob_t found = {0};
    parley_status status = PARLEY_OK;
    int code = glob(pattern, 0, NULL, &found);
    if (code == GLOB_NOSPACE)
        status = pl_fail_memory(error, "file names", strlen(pattern));
    else if (code != 0 || found.gl_pathc == 0)
        status = pl_fail(error, PARLEY_NO_FILE, "%s: no file matches this pattern", pattern);
    for (size_t i = 0; i < found.gl_pathc && status == PARLEY_OK; i++)
        status = add_path(inputs, found.gl_pathv[i], error);
    globfree(&found);
    return status;
}

parley_status pl_inputs_fail(const pl_input *first, const pl_format *format, const pl_input *other,
                             const pl_format *of_other, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "%s is %s and %s is %s; inputs that are read together must have the same format", first->path,
                   format ? format->title : "a cache", other->path, of_other ? of_other->title : "a cache");
}

parley_status pl_input_look(const pl_input *input, const pl_reading *reading, pl_look *out, parley_error *error) {
    pl_source *source;
    *out = (pl_look){0};
    parley_status status = pl_source_open(input->path, LOOK_BYTES, &source, error);
    if (status != PARLEY_OK)
        return status;
    out->cache = pl_source_content(source) == PL_CACHE;
    out->mapped = pl_source_content(source) == PL_PLAIN && pl_source_size(source) > 0;
    out->empty = !out->cache && pl_source_is_empty(source);
    if (out->cache)
        status = pl_format_check(reading, NULL, pl_source_name(source), error);
    else if (!out->empty)
        status = pl_format_choose(reading, source, &out->format, error);
    pl_source_close(source);
    return status;
}

parley_status pl_inputs_look(const pl_inputs *inputs, const pl_reading *reading, bool *mapped, pl_look *all,
                             unsigned *first, parley_error *error) {
    *all = (pl_look){.mapped = true, .empty = true};
    *first = inputs->count;
    for (unsigned i = 0; i < inputs->count; i++) {
        const pl_input *input = &inputs->list[i];
        pl_look look;
        if (!input->regular)
            continue; /* it can be read only once */
        parley_status status = pl_input_look(input, reading, &look, error);
        if (status != PARLEY_OK)
            return status;
        if (mapped)
            mapped[i] = look.mapped;
        if (look.empty)
            continue;
        if (!all->empty && look.format != all->format)
            return pl_inputs_fail(&inputs->list[*first], all->format, input, look.format, error);
        *first = all->empty ? i : *first;
        *all = (pl_look){.cache = look.cache, .mapped = all->mapped && look.mapped, .format = look.format};
    }
    return PARLEY_OK;
}

static parley_status make_title(pl_inputs *inputs, parley_error *error) {
    const char *first = strcmp(inputs->list->path, "-") == 0 ? "standard input" : inputs->list->path;
    size_t bytes = strlen(first) + 32;
    parley_status status = pl_take(&inputs->title, bytes, 1, "a file name", error);
    if (status == PARLEY_OK && inputs->count == 1)
        snprintf(inputs->title, bytes, "%s", first);
    else if (status == PARLEY_OK)
        snprintf(inputs->title, bytes, "%s and %u more", first, inputs->count - 1);
    return status;
}

parley_status pl_inputs_open(pl_inputs *inputs, const char *const *words, unsigned count, parley_error *error) {
    parley_status status = PARLEY_OK;
    *inputs = (pl_inputs){0};
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++)
        status = is_pattern(words[i]) ? add_matches(inputs, words[i], error) : add_path(inputs, words[i], error);
    if (status == PARLEY_OK)
        status = make_title(inputs, error);
    /* report a missing file before the first of many is read */
    for (unsigned i = 0; i < inputs->count && inputs->count > 1 && status == PARLEY_OK; i++)
        if (strcmp(inputs->list[i].path, "-") != 0 && access(inputs->list[i].path, R_OK) != 0)
            status = pl_fail_file(error, inputs->list[i].path, "open");
    if (status != PARLEY_OK)
        pl_inputs_close(inputs);
    return status;
}

void pl_inputs_close(pl_inputs *inputs) {
    for (unsigned i = 0; i < inputs->count; i++)
        pl_free(inputs->list[i].path);
    pl_free(inputs->list);
    pl_free(inputs->title);
    *inputs = (pl_inputs){0};
}

static bool same_names(const pl_names *a, const pl_names *b) {
    return a->count == b->count &&
           (a->count == 0 || (memcmp(a->start, b->start, (a->count + 1) * sizeof *a->start) == 0 &&
                              memcmp(a->text, b->text, (size_t)a->start[a->count]) == 0));
}

/* Column numbers only mean the same if the names are the same, and values if the units are. */
static parley_status check_alike(const parley_data *first, const parley_data *other, parley_error *error) {
    pl_table_difference found;
    bool differ;
    if (!same_names(&first->names, &other->names) || !same_names(&first->classes, &other->classes) ||
        first->hash_bits != other->hash_bits)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s and %s have different column or class names; convert their sources together into one cache",
                       first->path, other->path);
    parley_status status = pl_table_compare(first->table, other->table, true, other->path, &differ, &found, error);
    if (status != PARLEY_OK || !differ)
        return status;
    return pl_fail(
        error, PARLEY_BAD_INPUT,
        "%s and %s: column %s holds %s in the first and %s in the second; convert their sources together into "
        "one cache",
        first->path, other->path, found.column, found.ours, found.theirs);
}

static parley_status reserve(parley_data *data, bool weighted, bool valued, bool wide, parley_error *error) {
    uint64_t rows = data->x.rows, entries = data->x.nonzeros;
    if (pl_span_reserve(&data->spans[START], (rows + 1) * sizeof(uint64_t)) &&
        pl_span_reserve(&data->spans[LABEL], (rows + 1) * sizeof(double)) &&
        (!weighted || pl_span_reserve(&data->spans[WEIGHT], (rows + 1) * sizeof(double))) &&
        pl_span_reserve(&data->spans[INDEX], (entries + 1) * sizeof(uint32_t)) &&
        (!valued || pl_span_reserve(&data->spans[VALUE], (entries + 1) * pl_value_size(wide))))
        return PARLEY_OK;
    return pl_fail_memory(error, "the rows of several caches", rows * 16 + entries * (4 + pl_value_size(wide)));
}

typedef struct joining {
    parley_data *to;
    parley_data *const *parts;
    const uint64_t *row, *entry; /* by part, the first one in `to` */
    bool wide;                   /* some part has doubles */
} joining;

static void append_rows(parley_data *data, const parley_data *from, uint64_t row, uint64_t entry) {
    uint64_t *start = (uint64_t *)data->spans[START].data + row, before = from->x.start[0];
    double *weight = data->spans[WEIGHT].data;
    for (uint64_t i = 0; i < from->x.rows; i++)
        start[i + 1] = entry + (from->x.start[i + 1] - before);
    memcpy((double *)data->spans[LABEL].data + row, from->label, (size_t)(from->x.rows * sizeof(double)));
    for (uint64_t i = 0; i < from->x.rows && weight; i++)
        weight[row + i] = from->weight ? from->weight[i] : 1.0;
}

/* Copies the rows of a mapped cache to their place. */
static void append_task(void *context, unsigned part) {
    const joining *joining = context;
    const parley_data *from = joining->parts[part];
    uint64_t entry = joining->entry[part], before = from->x.start[0], count = from->x.start[from->x.rows] - before;
    uint32_t *index = (uint32_t *)joining->to->spans[INDEX].data + entry;
    const pl_values values = from->x.values;
    void *own = joining->to->spans[VALUE].data;
    pl_value_room room = pl_value_room_from(pl_value_room_in(own, joining->wide), entry);
    append_rows(joining->to, from, joining->row[part], entry);
    memcpy(index, from->x.index + before, (size_t)(count * sizeof *index));
    pl_pages_drop(from->x.index + before, from->x.index + before + count);
    if (room.narrow && values.narrow)
        memcpy(room.narrow, values.narrow + before, (size_t)(count * sizeof *room.narrow));
    else
        for (uint64_t e = 0; e < count && own; e++)
            pl_value_put(room, e, pl_value_at(values, before + e));
    if (values.narrow)
        pl_pages_drop(values.narrow + before, values.narrow + before + count);
    if (values.wide)
        pl_pages_drop(values.wide + before, values.wide + before + count);
}

static parley_status copy_names(parley_data *data, const parley_data *from, parley_error *error) {
    data->hash_bits = from->hash_bits;
    parley_status status = pl_names_copy(&from->names, &data->names, error);
    if (status == PARLEY_OK && from->table) {
        data->table = data->own_table = pl_strdup(from->table);
        status = data->table ? PARLEY_OK : pl_fail_memory(error, "the description of the table", strlen(from->table));
    }
    return status == PARLEY_OK ? pl_names_copy(&from->classes, &data->classes, error) : status;
}

/* Adds up the sizes of the parts, and finds the places of their rows and entries. */
static parley_status add_up(parley_data *data, parley_data *const *parts, unsigned count, uint64_t *row,
                            uint64_t *entry, bool *wide, parley_error *error) {
    bool weighted = false, valued = false;
    parley_status status = PARLEY_OK;
    for (unsigned p = 0; p < count && status == PARLEY_OK; p++) {
        const pl_matrix *x = &parts[p]->x;
        status = check_alike(parts[0], parts[p], error);
        row[p] = data->x.rows;
        entry[p] = data->x.nonzeros;
        weighted |= parts[p]->weight != NULL;
        valued |= !pl_are_ones(x->values);
        *wide |= x->values.wide != NULL;
        data->x.rows += x->rows;
        data->x.nonzeros += x->start[x->rows] - x->start[0];
        data->x.columns = x->columns > data->x.columns ? x->columns : data->x.columns;
        data->file_bytes += parts[p]->file_bytes;
    }
    return status == PARLEY_OK ? reserve(data, weighted, valued, *wide, error) : status;
}

static void attach(parley_data *data, bool wide) {
    data->x.start = data->spans[START].data;
    data->x.index = data->spans[INDEX].data;
    data->x.values = pl_values_in(data->spans[VALUE].data, wide);
    data->label = data->spans[LABEL].data;
    data->weight = data->spans[WEIGHT].data;
    data->from_cache = true;
}

parley_status pl_data_join(parley_data *const *parts, unsigned count, const char *title, pl_pool *pool,
                           parley_data **out, parley_error *error) {
    uint64_t *places;
    bool wide = false;
    *out = NULL;
    parley_status status = pl_take(&places, 2 * (uint64_t)count, sizeof *places, "caches", error);
    if (status == PARLEY_OK)
        status = pl_data_make(title, out, error);
    if (status == PARLEY_OK)
        status = add_up(*out, parts, count, places, places + count, &wide, error);
    if (status == PARLEY_OK)
        status = copy_names(*out, parts[0], error);
    if (status == PARLEY_OK) {
        joining joining = {*out, parts, places, places + count, wide};
        pl_pool_run(pool, append_task, &joining, count);
        attach(*out, wide);
    } else {
        parley_data_free(*out);
        *out = NULL;
    }
    pl_free(places);
    return status;
}

static parley_status read_caches(const pl_inputs *inputs, const pl_reading *reading, pl_pool *pool, parley_data **out,
                                 parley_error *error) {
    parley_data **parts;
    parley_status status = pl_take(&parts, inputs->count, sizeof(parley_data *), "caches", error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned i = 0; i < inputs->count && status == PARLEY_OK; i++) {
        status = pl_data_read_as(inputs->list[i].path, reading, pool, &parts[i], error);
        if (status == PARLEY_OK && !parts[i]->from_cache)
            status = pl_inputs_fail(&inputs->list[0], NULL, &inputs->list[i], parts[i]->format, error);
    }
    if (status == PARLEY_OK)
        status = pl_data_join(parts, inputs->count, inputs->title, pool, out, error);
    for (unsigned i = 0; i < inputs->count; i++)
        parley_data_free(parts[i]);
    pl_free(parts);
    return status;
}

/* Reads several inputs once. `*again`: they must be read again as doubles. */
static parley_status read_once(const pl_inputs *inputs, const pl_reading *reading, pl_pool *pool, bool *again,
                               parley_data **out, parley_error *error) {
    pl_parser parser;
    *again = false;
    parley_status status = pl_parser_open_all(inputs->list, inputs->count, reading, pool, 0, &parser, error);
    if (status != PARLEY_OK)
        return status;
    parser.title = inputs->title;
    if (pl_source_content(parser.source) == PL_CACHE)
        status = read_caches(inputs, reading, pool, out, error);
    else
        status = pl_data_judged(&parser, reading, again, out, error);
    pl_parser_close(&parser);
    return status;
}

parley_status pl_data_read_all(const pl_inputs *inputs, const pl_reading *reading, pl_pool *pool, parley_data **out,
                               parley_error *error) {
    pl_look all;
    unsigned first;
    bool again;
    pl_reading as = *reading;
    *out = NULL;
    if (inputs->count == 1)
        return pl_data_read_as(inputs->list->path, reading, pool, out, error);
    parley_status status = pl_inputs_look(inputs, reading, NULL, &all, &first, error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned i = 0; i < inputs->count; i++)
        as.wide |= !inputs->list[i].regular; /* it can be read only once */
    status = read_once(inputs, &as, pool, &again, out, error);
    if (!again)
        return status;
    pl_read_wide(&as);
    return read_once(inputs, &as, pool, &again, out, error);
}
