/* precision.c: which columns floats would blur. Rounding to a float changes a value x by at most |x| 2^-24. A column
 * whose values other than 0 lie in [low, high] keeps less than 16 bits of its range if high - low < 2^-8 max |x|. A
 * column is judged if at least one in 32 sampled rows has it, and if the sample does not already span such a range. */
#include "data/precision.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define SAMPLE_ROWS 256
#define SAMPLE_ENTRIES 3e4 /* beyond these, fewer rows are sampled, */
#define LEAST_ROWS 16      /* though as many as these */
#define LEAST_SHARE 32     /* a judged column has an entry in at least one of so many sampled rows */
#define KEPT 0x1p-8        /* of the largest value: the range from which floats keep 16 bits */
#define ROUNDED 0x1p-22    /* of the largest value: what rounding both ends of a range changes at most */
#define LAST_BITS 0xff     /* of a float: they are 0 in short decimals such as 2019 or 0.5 */
#define LONGEST 20         /* bytes of a name in a sentence */
#define SHOWN 3            /* columns that it names */

enum { VALUE = 4 }; /* of the spans of data */

uint64_t pl_sample_size(uint64_t rows, uint64_t nonzeros) {
    double mean = rows ? (double)nonzeros / (double)rows : 0;
    double size = fmin(SAMPLE_ROWS, fmax(LEAST_ROWS, SAMPLE_ENTRIES / fmax(mean, 1)));
    return (double)rows < size ? rows : (uint64_t)size;
}

/* The local numbers of the sampled rows that this process holds. Returns how many there are. */
static uint64_t held_rows(const parley_data *data, uint64_t rows, uint64_t size, uint64_t *held) {
    const pl_spread *spread = data->spread;
    uint64_t count = 0, piece = 0;
    for (uint64_t k = 0; k < size; k++) {
        uint64_t row = (uint64_t)((double)rows * (double)k / (double)size);
        while (spread && piece < spread->count && spread->pieces[piece].end <= row)
            piece++;
        const pl_piece *of = spread && piece < spread->count ? &spread->pieces[piece] : NULL;
        if (!spread)
            held[count++] = row;
        else if (of && of->rank == spread->rank)
            held[count++] = of->first + (row - of->begin);
    }
    return count;
}

parley_status pl_sample_take(const parley_data *data, uint64_t rows, uint64_t size, pl_sampled **out, uint64_t *count,
                             parley_error *error) {
    const pl_matrix *x = &data->x;
    uint64_t held[SAMPLE_ROWS], here = held_rows(data, rows, size, held), room = 0;
    *count = 0;
    for (uint64_t k = 0; k < here; k++)
        room += x->start[held[k] + 1] - x->start[held[k]];
    parley_status status = pl_take(out, room + 1, sizeof **out, "sampled rows", error);
    for (uint64_t k = 0; k < here && status == PARLEY_OK; k++)
        for (uint64_t e = x->start[held[k]]; e < x->start[held[k] + 1]; e++)
            (*out)[(*count)++] = (pl_sampled){x->index[e], pl_value_at(x->values, e)};
    return status;
}

/* Is a value not the one of the text? Of a float that is not known, but short decimals are exact. */
static bool is_cut(double value, bool wide) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return wide ? (double)narrow != value : (bits & LAST_BITS) != 0;
}

static void include(pl_bands *bands, uint64_t i, double value, bool wide) {
    bands->low[i] = fmin(bands->low[i], value);
    bands->high[i] = fmax(bands->high[i], value);
    bands->cut[i] += is_cut(value, wide);
}

static void clear(pl_bands *bands, uint64_t i) {
    bands->low[i] = INFINITY;
    bands->high[i] = -INFINITY;
    bands->cut[i] = 0;
}

/* May floats blur a column, as far as is known? */
static bool is_near(const pl_bands *bands, uint64_t i) {
    double most = fmax(fabs(bands->low[i]), fabs(bands->high[i]));
    return bands->high[i] - bands->low[i] < (KEPT + ROUNDED) * most;
}

static bool is_blurred(const pl_bands *bands, uint64_t i) {
    double range = bands->high[i] - bands->low[i], most = fmax(fabs(bands->low[i]), fabs(bands->high[i]));
    return range > 0 && bands->cut[i] > 0 && range < KEPT * most;
}

static int by_number(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Lists the columns that enough sampled rows have, and stores 1 + their places. */
static void list_common(const pl_sampled *sample, uint64_t count, uint64_t size, uint32_t *place, pl_bands *bands) {
    for (uint64_t e = 0; e < count; e++)
        place[(uint64_t)sample[e].column] += sample[e].value != 0;
    for (uint64_t e = 0; e < count; e++) {
        uint32_t *of = &place[(uint64_t)sample[e].column];
        if ((uint64_t)*of * LEAST_SHARE >= size && *of >= 2)
            bands->list[bands->count++] = (uint32_t)sample[e].column;
        *of = 0;
    }
    qsort(bands->list, bands->count, sizeof *bands->list, by_number);
    for (uint64_t i = 0; i < bands->count; i++)
        place[bands->list[i]] = (uint32_t)i + 1;
}

/* Keeps the columns that floats may blur. */
static void keep_near(pl_bands *bands, bool wide) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < bands->count; i++)
        if (is_near(bands, i) && (wide || bands->cut[i] > 0))
            bands->list[kept++] = bands->list[i];
    bands->count = kept;
}

parley_status pl_bands_open(const pl_sampled *sample, uint64_t count, uint64_t size, uint64_t columns, bool wide,
                            pl_bands *out, parley_error *error) {
    uint32_t *place = NULL;
    *out = (pl_bands){0};
    parley_status status = pl_take(&out->low, 3 * (count + 1), sizeof *out->low, "the ranges of columns", error);
    if (status == PARLEY_OK)
        status = pl_take(&out->list, count + 1, sizeof *out->list, "the ranges of columns", error);
    if (status == PARLEY_OK)
        status = pl_take(&place, columns, sizeof *place, "the ranges of columns", error);
    if (status != PARLEY_OK)
        return status;
    out->high = out->low + count + 1;
    out->cut = out->high + count + 1;
    list_common(sample, count, size, place, out);
    for (uint64_t i = 0; i < out->count; i++)
        clear(out, i);
    for (uint64_t e = 0; e < count; e++) {
        uint32_t at = place[(uint64_t)sample[e].column];
        if (at > 0 && sample[e].value != 0)
            include(out, at - 1, sample[e].value, wide);
    }
    pl_free(place);
    keep_near(out, wide);
    return PARLEY_OK;
}

parley_status pl_bands_measure(pl_bands *bands, const parley_data *data, parley_error *error) {
    const pl_matrix *x = &data->x;
    uint32_t *place = NULL; /* by column: 1 + its place in the list */
    if (bands->count == 0)
        return PARLEY_OK;
    parley_status status = pl_take(&place, x->columns, sizeof *place, "the ranges of columns", error);
    for (uint64_t i = 0; i < bands->count && status == PARLEY_OK; i++) {
        place[bands->list[i]] = (uint32_t)i + 1;
        clear(bands, i);
    }
    for (uint64_t e = x->start[0]; e < x->start[x->rows] && status == PARLEY_OK; e++) {
        uint32_t at = place[x->index[e]];
        double value = pl_value_at(x->values, e);
        if (at > 0 && value != 0)
            include(bands, at - 1, value, data->read_wide);
    }
    pl_free(place);
    return status;
}

void pl_bands_close(pl_bands *bands) {
    pl_free(bands->low);
    pl_free(bands->list);
    *bands = (pl_bands){0};
}

bool pl_is_beyond_floats(const parley_data *data) {
    const pl_matrix *x = &data->x;
    bool beyond = false;
    for (uint64_t e = x->start[0]; e < x->start[x->rows] && x->values.wide; e++) {
        double size = fabs(x->values.wide[e]);
        beyond |= size > (double)FLT_MAX || (size < (double)FLT_MIN && size > 0);
    }
    return beyond;
}

/* Names the columns that need doubles. Returns how many there are. */
static unsigned name_columns(const pl_bands *bands, parley_data *data) {
    unsigned count = 0;
    size_t room = sizeof data->wide_columns, used = 0;
    for (uint64_t i = 0; i < bands->count; i++) {
        char number[24];
        pl_name name = pl_names_at(&data->names, bands->list[i]);
        if (!is_blurred(bands, i) || ++count > SHOWN)
            continue;
        if (name.bytes == 0)
            name = (pl_name){number, (uint64_t)snprintf(number, sizeof number, "%llu", bands->list[i] + 1ULL)};
        used += (size_t)snprintf(data->wide_columns + used, room - used, "%s%.*s", count > 1 ? ", " : "",
                                 (int)(name.bytes < LONGEST ? name.bytes : LONGEST), name.text);
    }
    if (count > SHOWN)
        snprintf(data->wide_columns + used, room - used, " and %u more", count - SHOWN);
    return count;
}

/* In the memory of the doubles, unless they are in a mapped cache. */
static parley_status make_narrow(parley_data *data, parley_error *error) {
    const pl_matrix *x = &data->x;
    pl_span *span = &data->spans[VALUE];
    uint64_t first = x->start[0], count = x->start[x->rows] - first;
    const double *from = x->values.wide + first;
    if (!span->data && !pl_span_reserve(span, (count + 1) * sizeof(float)))
        return pl_fail_memory(error, "values", count * sizeof(float));
    char *to = span->data;
    for (uint64_t e = 0; e < count; e++) {
        float value = (float)from[e];
        memcpy(to + e * sizeof value, &value, sizeof value);
    }
    pl_span_trim(span, count * sizeof(float));
    data->x.values = pl_values_before((pl_values){.narrow = span->data}, first);
    return PARLEY_OK;
}

parley_status pl_precision_decide(const pl_bands *bands, bool beyond, parley_data *data, bool *again,
                                  parley_error *error) {
    *again = false;
    for (uint64_t i = 0; i < bands->count && !data->read_wide; i++)
        *again |= is_near(bands, i);
    bool needless = data->read_wide && name_columns(bands, data) == 0 && !beyond;
    return needless && data->x.values.wide ? make_narrow(data, error) : PARLEY_OK;
}

parley_status pl_precision_settle(parley_data *data, bool *again, parley_error *error) {
    uint64_t count, rows = data->x.rows, size = pl_sample_size(rows, data->x.nonzeros);
    pl_sampled *sample = NULL;
    pl_bands bands = {0};
    *again = false;
    if (pl_are_ones(data->x.values))
        return PARLEY_OK;
    parley_status status = pl_sample_take(data, rows, size, &sample, &count, error);
    if (status == PARLEY_OK)
        status = pl_bands_open(sample, count, size, data->x.columns, data->read_wide, &bands, error);
    if (status == PARLEY_OK)
        status = pl_bands_measure(&bands, data, error);
    if (status == PARLEY_OK)
        status = pl_precision_decide(&bands, pl_is_beyond_floats(data), data, again, error);
    pl_bands_close(&bands);
    pl_free(sample);
    return status;
}
