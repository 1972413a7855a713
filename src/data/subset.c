/* subset.c: copies some of the rows, or narrows their values. Rows that are left out then cost neither time nor a test
 * in inner loops, at the price of memory for the copy. */
#include <string.h>

#include "base/stop.h"
#include "data/data.h"

enum { START, LABEL, WEIGHT, INDEX, VALUE };

parley_data pl_data_part(const parley_data *whole, uint64_t rows) {
    parley_data part = {.x = {.rows = rows, .columns = whole->x.columns},
                        .names = whole->names,
                        .classes = whole->classes,
                        .hash_bits = whole->hash_bits,
                        .table = whole->table,
                        .format = whole->format};
    part.names.owned = part.classes.owned = NULL;
    return part;
}

static parley_status reserve(parley_data *data, const parley_data *from, parley_error *error) {
    uint64_t rows = data->x.rows, entries = data->x.nonzeros;
    data->path = pl_strdup(from->path);
    if (data->path && pl_span_reserve(&data->spans[START], (rows + 1) * sizeof(uint64_t)) &&
        (!from->label || pl_span_reserve(&data->spans[LABEL], (rows + 1) * sizeof(double))) &&
        (!from->weight || pl_span_reserve(&data->spans[WEIGHT], (rows + 1) * sizeof(double))) &&
        pl_span_reserve(&data->spans[INDEX], (entries + 1) * sizeof(uint32_t)) &&
        (pl_are_ones(from->x.values) ||
         pl_span_reserve(&data->spans[VALUE], (entries + 1) * pl_value_bytes(from->x.values))))
        return PARLEY_OK;
    return pl_fail_memory(error, "a subset of the rows", rows * 16 + entries * (4 + pl_value_bytes(from->x.values)));
}

static parley_status copy_rows(parley_data *data, const parley_data *from, const uint64_t *rows, parley_error *error) {
    uint64_t *start = data->spans[START].data, at = 0;
    double *label = data->spans[LABEL].data, *weight = data->spans[WEIGHT].data;
    uint32_t *index = data->spans[INDEX].data;
    const pl_values values = from->x.values;
    void *to = pl_are_ones(values) ? NULL : data->spans[VALUE].data;
    pl_value_room room = pl_value_room_in(to, values.wide != NULL);
    for (uint64_t i = 0; i < data->x.rows && !pl_stop_due(); i++) {
        uint64_t begin = from->x.start[rows[i]], count = from->x.start[rows[i] + 1] - begin;
        start[i] = at;
        if (from->label)
            label[i] = from->label[rows[i]];
        if (from->weight)
            weight[i] = from->weight[rows[i]];
        memcpy(index + at, from->x.index + begin, count * sizeof *index);
        if (room.narrow)
            memcpy(room.narrow + at, values.narrow + begin, count * sizeof *room.narrow);
        if (room.wide)
            memcpy(room.wide + at, values.wide + begin, count * sizeof *room.wide);
        at += count;
    }
    start[data->x.rows] = at;
    data->x.start = start;
    data->x.index = index;
    data->x.values = pl_values_of(room);
    data->label = from->label ? label : NULL;
    data->weight = from->weight ? weight : NULL;
    return pl_stop_check(error);
}

parley_status pl_data_subset(const parley_data *from, const uint64_t *rows, uint64_t count, parley_data **out,
                             parley_error *error) {
    parley_data *data;
    *out = NULL;
    parley_status status = pl_take(&data, 1, sizeof *data, "a subset of the rows", error);
    if (status != PARLEY_OK)
        return status;
    *data = pl_data_part(from, count);
    for (uint64_t i = 0; i < count; i++)
        data->x.nonzeros += from->x.start[rows[i] + 1] - from->x.start[rows[i]];
    status = reserve(data, from, error);
    if (status == PARLEY_OK)
        status = copy_rows(data, from, rows, error);
    if (status == PARLEY_OK)
        *out = data;
    else
        parley_data_free(data);
    return status;
}

parley_status pl_narrow(const parley_data *data, pl_narrowed *out, parley_error *error) {
    const pl_matrix *x = &data->x;
    uint64_t begin = x->start[0], count = x->start[x->rows] - begin;
    *out = (pl_narrowed){.data = *data};
    if (data->spread) {
        out->spread = *data->spread;
        out->spread.wide = false;
        out->data.spread = &out->spread;
    }
    if (!x->values.wide)
        return PARLEY_OK;
    if (!pl_span_reserve(&out->values, (count + 1) * sizeof(float)))
        return pl_fail_memory(error, "values", count * sizeof(float));
    float *narrow = out->values.data;
    for (uint64_t e = 0; e < count; e++)
        narrow[e] = (float)x->values.wide[begin + e];
    out->data.x.values = pl_values_before((pl_values){.narrow = narrow}, begin);
    return PARLEY_OK;
}
