/* precision.c: which columns floats would blur. Rounding to a float changes a value x by at most |x| 2^-24. A column
 * whose values other than 0 lie in [low, high] keeps less than 16 bits of its range if high - low < 2^-8 max |x|. The
 * range is that of sampled rows, of which at least one in 32 must have the column. */
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
#define TRIMMED 10         /* one of so many sampled values is left out at either end */
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

/* Has a float digits that a short decimal such as 2019 or 0.5 has not? */
static bool is_full(double value) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return (bits & LAST_BITS) != 0;
}

static bool is_near(double low, double high) { return high - low < (KEPT + ROUNDED) * fmax(fabs(low), fabs(high)); }

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

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* May floats blur a column with these sampled values, which are sorted? A tenth of them at either end may be something
 * else, such as -1 for unknown. `long_digits`: some of its numbers may have been cut. */
static bool may_blur(const double *value, uint64_t count, bool wide, bool long_digits) {
    uint64_t trimmed = count / TRIMMED;
    double low = value[trimmed], high = value[count - 1 - trimmed];
    for (uint64_t i = 0; i < count && !long_digits && !wide; i++)
        long_digits = is_full(value[i]);
    if (!wide && !long_digits)
        return false;
    bool alike = low == high; /* as floats they may all be alike because they were blurred */
    return is_near(value[0], value[count - 1]) || (is_near(low, high) && (!alike || !wide));
}

/* The sampled values, column by column. `end` gets where each column ends. */
static void sort_values(const pl_sampled *sample, uint64_t count, const uint32_t *place, uint64_t columns,
                        uint64_t *end, double *values) {
    for (uint64_t e = 0; e < count; e++) {
        uint32_t at = place[(uint64_t)sample[e].column];
        if (at > 0 && sample[e].value != 0)
            end[at]++;
    }
    for (uint64_t i = 1; i <= columns; i++)
        end[i] += end[i - 1];
    for (uint64_t e = count; e-- > 0;) {
        uint32_t at = place[(uint64_t)sample[e].column];
        if (at > 0 && sample[e].value != 0)
            values[end[at - 1]++] = sample[e].value;
    }
    for (uint64_t i = 0, begin = 0; i < columns; begin = end[i++])
        qsort(values + begin, end[i] - begin, sizeof *values, by_size);
}

/* Keeps the columns that floats may blur. */
static void keep_near(pl_bands *bands, const uint64_t *end, const double *values, bool wide, uint64_t rounded) {
    uint64_t kept = 0;
    for (uint64_t i = 0, begin = 0; i < bands->count; begin = end[i++])
        if (may_blur(values + begin, end[i] - begin, wide, rounded >> bands->list[i] % 64 & 1)) {
            bands->list[kept] = bands->list[i];
            bands->at[kept++] = values[begin];
        }
    bands->count = kept;
}

parley_status pl_bands_open(const pl_sampled *sample, uint64_t count, uint64_t size, uint64_t rounded,
                            const parley_data *data, pl_bands *out, parley_error *error) {
    static const char what[] = "the values of columns";
    uint32_t *place = NULL;
    uint64_t *end = NULL;
    double *values = NULL;
    *out = (pl_bands){0};
    parley_status status = pl_take(&out->list, count + 1, sizeof *out->list, what, error);
    if (status == PARLEY_OK)
        status = pl_take(&place, data->x.columns, sizeof *place, what, error);
    if (status == PARLEY_OK) {
        list_common(sample, count, size, place, out);
        status = pl_take(&out->at, 3 * out->count + 1, sizeof *out->at, what, error);
    }
    if (status == PARLEY_OK)
        status = pl_take(&end, out->count + 1, sizeof *end, what, error);
    if (status == PARLEY_OK)
        status = pl_take(&values, count + 1, sizeof *values, what, error);
    if (status == PARLEY_OK) {
        sort_values(sample, count, place, out->count, end, values);
        keep_near(out, end, values, data->read_wide, rounded);
        out->cut = out->at + out->count;
        out->other = out->cut + out->count;
    }
    pl_free(place);
    pl_free(end);
    pl_free(values);
    return status;
}

parley_status pl_bands_measure(pl_bands *bands, const parley_data *data, parley_error *error) {
    const pl_matrix *x = &data->x;
    uint32_t *place = NULL; /* by column: 1 + its place in the list */
    if (bands->count == 0 || !data->read_wide)
        return PARLEY_OK;
    parley_status status = pl_take(&place, x->columns, sizeof *place, "the values of columns", error);
    for (uint64_t i = 0; i < bands->count && status == PARLEY_OK; i++)
        place[bands->list[i]] = (uint32_t)i + 1;
    for (uint64_t e = x->start[0]; e < x->start[x->rows] && status == PARLEY_OK; e++) {
        uint32_t at = place[x->index[e]];
        double value = pl_value_at(x->values, e);
        if (at == 0 || value == 0)
            continue;
        bands->cut[at - 1] += (double)(float)value != value;
        bands->other[at - 1] += value != bands->at[at - 1];
    }
    pl_free(place);
    return status;
}

void pl_bands_close(pl_bands *bands) {
    pl_free(bands->list);
    pl_free(bands->at);
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
static unsigned name_columns(const pl_bands *bands, bool kept, parley_data *data) {
    unsigned count = 0;
    size_t room = sizeof data->wide_columns, used = 0;
    for (uint64_t i = 0; i < bands->count; i++) {
        char number[24];
        pl_name name = pl_names_at(&data->names, bands->list[i]);
        bool blurred = bands->cut[i] > 0 && (bands->other[i] > 0 || kept);
        if (!blurred || ++count > SHOWN)
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

parley_status pl_precision_decide(const pl_bands *bands, bool beyond, bool kept, parley_data *data, bool *again,
                                  parley_error *error) {
    *again = !data->read_wide && bands->count > 0;
    bool needless = data->read_wide && name_columns(bands, kept, data) == 0 && !beyond;
    return needless && data->x.values.wide ? make_narrow(data, error) : PARLEY_OK;
}

parley_status pl_precision_settle(parley_data *data, bool kept, bool *again, parley_error *error) {
    uint64_t count, rows = data->x.rows, size = pl_sample_size(rows, data->x.nonzeros);
    pl_sampled *sample = NULL;
    pl_bands bands = {0};
    *again = false;
    if (pl_are_ones(data->x.values))
        return PARLEY_OK;
    parley_status status = pl_sample_take(data, rows, size, &sample, &count, error);
    if (status == PARLEY_OK)
        status = pl_bands_open(sample, count, size, data->rounded, data, &bands, error);
    if (status == PARLEY_OK)
        status = pl_bands_measure(&bands, data, error);
    if (status == PARLEY_OK)
        status = pl_precision_decide(&bands, pl_is_beyond_floats(data), kept, data, again, error);
    pl_bands_close(&bands);
    pl_free(sample);
    return status;
}
