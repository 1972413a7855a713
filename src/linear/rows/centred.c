/* centred.c: shifts columns by their mean over a sample of rows, which is accurate enough, and compares the scales of
 * columns in that sample. Rows count with their weights: a row of weight 2 is like two rows. */
#include "linear/rows/centred.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort_numbers.h"
#include "base/stop.h"
#include "shard/distributed.h"

#define SAMPLE 64          /* rows */
#define SAMPLE_ENTRIES 1e5 /* beyond these, fewer rows are sampled, */
#define WIDE_ROWS 16       /* though as many as these */
#define MOST_ENTRIES 1e6   /* beyond these, even fewer, */
#define LEAST_ROWS 8       /* or none */
#define LEAST_SHARE 0.9    /* of sampled rows with an entry in the column */
#define COMMON 0.5         /* share of sampled rows from which a column counts as common */
#define FAR 1.0            /* standard deviations between the mean and 0 */
#define LARGE_PART 0.25    /* of the squared norm of rows */
#define UNSHIFTED UINT32_MAX

enum { VALUE = 4 }; /* of the spans of data */

/* An entry of a sampled row. */
typedef struct sampled {
    double column, value, weight;
} sampled;

#define SAMPLED 3   /* numbers of an entry */
#define OF_ROW -1.0 /* the column of an entry that stands for a row, whose place in the sample is its value */

static unsigned sample_size(const parley_data *data) {
    double rows = (double)pl_all_rows(data), mean = (double)pl_all_nonzeros(data) / rows;
    double wide = fmin(MOST_ENTRIES / fmax(mean, 1), fmax(WIDE_ROWS, SAMPLE_ENTRIES / fmax(mean, 1)));
    double size = fmin(SAMPLE, fmin(rows, wide));
    return size < LEAST_ROWS ? 0 : (unsigned)size;
}

static uint64_t sampled_row(const parley_data *data, unsigned size, unsigned k) {
    return (uint64_t)((double)pl_all_rows(data) * k / size);
}

/* Adds the entries of a row to the sample, in which it is at place k. Only counts them if `to` is NULL. */
static uint64_t take_row(const parley_data *data, uint64_t row, unsigned k, sampled *to) {
    const pl_matrix *x = &data->x;
    double weight = data->weight ? data->weight[row] : 1.0;
    if (to)
        *to++ = (sampled){OF_ROW, k, weight};
    for (uint64_t e = x->start[row]; e < x->start[row + 1] && to; e++)
        *to++ = (sampled){x->index[e], pl_value_at(x->values, e), weight};
    return x->start[row + 1] - x->start[row] + 1;
}

/* Takes the sampled rows that this rank holds. Returns the number of entries. */
static uint64_t take_rows(const parley_data *data, unsigned rank, unsigned size, sampled *to) {
    const pl_spread *spread = data->spread;
    uint64_t count = 0, piece = 0;
    for (unsigned k = 0; k < size; k++) {
        uint64_t row = sampled_row(data, size, k);
        while (spread && piece < spread->count && spread->pieces[piece].end <= row)
            piece++;
        bool here = spread ? piece < spread->count && spread->pieces[piece].rank == rank : rank == 0;
        if (here)
            count += take_row(data, spread ? spread->pieces[piece].first + row - spread->pieces[piece].begin : row, k,
                              to ? to + count : NULL);
        pl_data_leave(data, 0, data->x.rows); /* with what the kernel maps around the row */
    }
    return count;
}

/* Sorts the sample by column, and within a column by the place of the row, so that the order does not depend on the
 * ranks that hold the rows. Entries of rows are at the beginning. Returns their number. */
static uint64_t sort_sample(const sampled *from, uint64_t count, uint64_t *next, sampled *to) {
    const sampled *begin[SAMPLE] = {NULL}, *end = from + count;
    uint64_t at = 0, rows = 0;
    for (const sampled *entry = from; entry < end; entry++)
        if (entry->column == OF_ROW) {
            begin[(unsigned)entry->value] = entry;
            rows++;
        } else {
            next[(uint64_t)entry->column]++;
        }
    at = rows;
    for (uint64_t j = 0; at < count; j++) {
        uint64_t entries = next[j];
        next[j] = at;
        at += entries;
    }
    for (unsigned k = 0, row = 0; k < SAMPLE; k++) {
        if (!begin[k])
            continue;
        to[row++] = *begin[k];
        for (const sampled *entry = begin[k] + 1; entry < end && entry->column != OF_ROW; entry++)
            to[next[(uint64_t)entry->column]++] = *entry;
    }
    return rows;
}

/* The entries of one column in the sample: those from `first` to `end`. */
typedef struct sampled_column {
    uint64_t first, end;
    double weight;
    double mean, deviation; /* over all rows of the sample */
} sampled_column;

static sampled_column describe(const sampled *all, uint64_t count, uint64_t first, double total) {
    sampled_column column = {first, first, 0, 0, 0};
    for (; column.end < count && all[column.end].column == all[first].column; column.end++) {
        column.mean += all[column.end].weight * all[column.end].value / total;
        column.weight += all[column.end].weight;
    }
    for (uint64_t i = first; i < column.end; i++)
        column.deviation += all[i].weight * (all[i].value - column.mean) * (all[i].value - column.mean);
    column.deviation += (total - column.weight) * column.mean * column.mean;
    column.deviation = sqrt(column.deviation / total);
    return column;
}

/* Compares the scales of columns, which are the root mean squares of their entries, with their median: of all columns,
 * and of those that have entries in many of the `size` sampled rows. */
static parley_status compare_scales(const sampled *all, uint64_t count, unsigned size, double total,
                                    pl_centred *centred, parley_error *error) {
    double *scale, most = 0, least = INFINITY, sum = 0;
    uint64_t columns = 0;
    parley_status status = pl_take(&scale, count, sizeof *scale, "the scales of columns", error);
    for (uint64_t first = 0, end; first < count && status == PARLEY_OK; first = end) {
        double squares = 0, weight = 0;
        bool ones = true;
        for (end = first; end < count && all[end].column == all[first].column; end++) {
            double value = all[end].value - centred->shift[(uint64_t)all[first].column];
            squares += all[end].weight * value * value;
            ones &= all[end].value == 1.0;
            weight += all[end].weight;
        }
        if ((uint64_t)all[first].column + 1 == centred->fixed)
            continue;
        sum += squares;
        if (squares > 0)
            scale[columns++] = sqrt(squares / weight);
        if (squares > 0 && !ones && (double)(end - first) >= COMMON * size) {
            most = fmax(most, scale[columns - 1]);
            least = fmin(least, scale[columns - 1]);
        }
    }
    if (status == PARLEY_OK && columns > 0) {
        pl_sort_numbers(scale, columns);
        centred->usual = scale[columns / 2];
        centred->scales = fmax(scale[columns - 1] / centred->usual, centred->usual / scale[0]);
        centred->common_scales = most > 0 ? fmax(most / centred->usual, centred->usual / least) : 1.0;
        centred->least = most > 0 ? least : 0.0;
        centred->mean_square = total > 0 ? sum / total : 0;
    }
    pl_free(scale);
    return status;
}

/* Rounds a mean to few digits, as many as the deviation needs, so that most differences of 32-bit floats are exact. */
static double rounded(double mean, double deviation) {
    double grid = deviation > 0 ? exp2(floor(log2(deviation / 2))) : 0;
    return grid > 0 ? (float)(nearbyint(mean / grid) * grid) : (float)mean;
}

/* Chooses the columns to shift, from the sampled entries of all ranks sorted by column. Returns their number. */
static uint64_t choose(const sampled *all, uint64_t count, double total, uint64_t fixed, double *shift) {
    uint64_t chosen = 0;
    sampled_column column;
    for (uint64_t first = 0; first < count; first = column.end) {
        column = describe(all, count, first, total);
        bool there = column.weight >= LEAST_SHARE * total && (uint64_t)all[first].column + 1 != fixed;
        if (!there || !(fabs(column.mean) > FAR * column.deviation))
            continue;
        shift[(uint64_t)all[first].column] = rounded(column.mean, column.deviation);
        chosen++;
    }
    return chosen;
}

/* Whether the shifts are a large part of the rows. The frequent words of texts are not. */
static bool is_worth_it(const sampled *all, uint64_t count, double total, const double *shift) {
    double norm2 = 0, shift2 = 0;
    for (uint64_t i = 0; i < count; i++) {
        double mean = shift[(uint64_t)all[i].column];
        norm2 += all[i].weight * all[i].value * all[i].value;
        if (i == 0 || all[i].column != all[i - 1].column)
            shift2 += mean * mean;
    }
    return shift2 * total >= LARGE_PART * norm2;
}

/* Gathers the sampled rows of all ranks. `all` gets `count` entries, by column; the first `rows` stand for rows. */
static parley_status gather(pl_engine *engine, const parley_data *data, unsigned size, sampled **all, uint64_t *count,
                            uint64_t *rows, parley_error *error) {
    uint64_t here = take_rows(data, engine->rank, size, NULL), *bounds = NULL, *next = NULL;
    sampled *mine = NULL;
    double *found = NULL;
    parley_status status = pl_take(&mine, here, sizeof *mine, "a sample of rows", error);
    if (status == PARLEY_OK)
        status = pl_take(&bounds, engine->ranks + 1, sizeof *bounds, "a sample of rows", error);
    if (status == PARLEY_OK) {
        take_rows(data, engine->rank, size, mine);
        status = pl_gather_lists(engine, (const double *)mine, SAMPLED * here, &found, bounds, error);
    }
    if (status == PARLEY_OK)
        status = pl_take(&next, data->x.columns, sizeof *next, "a sample of rows", error);
    *count = status == PARLEY_OK ? bounds[engine->ranks] / SAMPLED : 0;
    if (status == PARLEY_OK)
        status = pl_take(all, *count, sizeof **all, "a sample of rows", error);
    if (status == PARLEY_OK)
        *rows = sort_sample((const sampled *)found, *count, next, *all);
    pl_free(mine);
    pl_free(found);
    pl_free(bounds);
    pl_free(next);
    return status;
}

/* Looks at the sampled rows of all ranks. Shifts nothing if the intercept is not `free`. */
static parley_status find_shift(pl_centred *centred, pl_engine *engine, const parley_data *data, unsigned size,
                                bool free, uint64_t *chosen, parley_error *error) {
    double total = 0;
    uint64_t count = 0, rows = 0;
    sampled *all = NULL;
    parley_status status = gather(engine, data, size, &all, &count, &rows, error);
    if (status == PARLEY_OK)
        status = pl_take(&centred->shift, data->x.columns, sizeof *centred->shift, "the means of columns", error);
    for (uint64_t row = 0; row < rows; row++)
        total += all[row].weight;
    if (status == PARLEY_OK && free && total > 0)
        *chosen = choose(all + rows, count - rows, total, centred->fixed, centred->shift);
    if (*chosen > 0 && !is_worth_it(all + rows, count - rows, total, centred->shift)) {
        memset(centred->shift, 0, data->x.columns * sizeof *centred->shift);
        *chosen = 0;
    }
    if (status == PARLEY_OK)
        status = compare_scales(all + rows, count - rows, size, total, centred, error);
    pl_free(all);
    return status;
}

/* Whether every row has an entry in each of the `chosen` columns. */
static bool is_full(const pl_matrix *x, const double *shift, uint64_t chosen) {
    for (uint64_t row = 0; row < x->rows && !pl_stop_due(); row++) {
        uint64_t found = 0;
        for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++)
            found += shift[x->index[e]] != 0;
        if (found < chosen)
            return false;
    }
    return true;
}

/* Rows that this rank has read move to other ranks afterwards, so that their own memory can be used. */
static bool may_be_changed(const parley_data *data, bool wide) {
    const pl_values values = data->x.values;
    const void *own = data->spans[VALUE].data;
    return data->spread && own && (wide ? values.wide == own : values.narrow == own);
}

static parley_status shift_values(pl_centred *centred, const parley_data *data, bool wide, parley_data *out,
                                  parley_error *error) {
    const pl_matrix *x = &data->x;
    uint64_t first = x->start[0], count = x->start[x->rows] - first, size = pl_value_size(wide);
    char *memory = may_be_changed(data, wide) ? (char *)data->spans[VALUE].data + first * size : NULL;
    if (!memory && !pl_span_reserve(&centred->value, (count + 1) * size))
        return pl_fail_memory(error, "centred columns", count * size);
    memory = memory ? memory : centred->value.data;
    pl_value_room room = pl_value_room_in(memory, wide);
    for (uint64_t row = 0; row < x->rows && !pl_stop_due(); row++)
        for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++)
            pl_value_put(room, e - first, pl_value_at(x->values, e) - centred->shift[x->index[e]]);
    out->x.values = pl_values_before(pl_values_of(room), first);
    return pl_stop_check(error);
}

/* Writes the row with an entry for every shifted column, of which `columns` is the list. Returns its end. */
static uint64_t fill_row(const pl_matrix *x, uint64_t row, const double *shift, const uint32_t *columns,
                         uint64_t chosen, uint32_t *index, pl_value_room values, uint64_t at) {
    uint64_t e = x->start[row], c = 0;
    while (e < x->start[row + 1] || c < chosen) {
        uint32_t next = e < x->start[row + 1] ? x->index[e] : UNSHIFTED, wanted = c < chosen ? columns[c] : UNSHIFTED;
        double given = next <= wanted ? pl_value_at(x->values, e) : 0;
        uint32_t column = next < wanted ? next : wanted;
        index[at] = column;
        pl_value_put(values, at++, given - shift[column]);
        e += next <= wanted;
        c += wanted <= next;
    }
    return at;
}

/* Makes new rows in which every shifted column is full. */
static parley_status fill_rows(pl_centred *centred, const pl_matrix *x, uint64_t chosen, bool wide, parley_data *out,
                               parley_error *error) {
    uint64_t most = x->start[x->rows] - x->start[0] + x->rows * chosen, at = 0, found = 0;
    uint32_t *columns;
    parley_status status = pl_take(&columns, chosen, sizeof *columns, "centred columns", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t j = 0; j < x->columns; j++)
        if (centred->shift[j] != 0)
            columns[found++] = (uint32_t)j;
    if (!pl_span_reserve(&centred->start, (x->rows + 1) * sizeof(uint64_t)) ||
        !pl_span_reserve(&centred->index, (most + 1) * sizeof(uint32_t)) ||
        !pl_span_reserve(&centred->value, (most + 1) * pl_value_size(wide)))
        status = pl_fail_memory(error, "centred columns", most * (sizeof(uint32_t) + pl_value_size(wide)));
    uint64_t *start = centred->start.data;
    pl_value_room values = pl_value_room_in(centred->value.data, wide);
    for (uint64_t row = 0; row < x->rows && status == PARLEY_OK; row++) {
        status = pl_stop_check(error);
        start[row] = at;
        at = fill_row(x, row, centred->shift, columns, chosen, centred->index.data, values, at);
    }
    pl_free(columns);
    if (status != PARLEY_OK)
        return status;
    start[x->rows] = at;
    out->x.start = start;
    out->x.index = centred->index.data;
    out->x.values = pl_values_of(values);
    out->x.nonzeros = at;
    return status;
}

/* Copies the table of distributed rows, whose totals change with the rows. */
static parley_status copy_spread(pl_centred *centred, pl_engine *engine, parley_data *out, parley_error *error) {
    const pl_spread *spread = out->spread;
    if (!spread)
        return PARLEY_OK;
    parley_status status = pl_take(&centred->spread, 1, sizeof *spread, "the table of distributed rows", error);
    if (status == PARLEY_OK)
        status = pl_take(&centred->spread->pieces, spread->count, sizeof *spread->pieces,
                         "the table of distributed rows", error);
    if (status != PARLEY_OK)
        return status;
    pl_piece *pieces = centred->spread->pieces;
    memcpy(pieces, spread->pieces, spread->count * sizeof *pieces);
    *centred->spread = *spread;
    centred->spread->pieces = pieces;
    out->spread = centred->spread;
    return pl_spread_measure(engine, out, error);
}

parley_status pl_centred_open(pl_centred *centred, pl_engine *engine, const parley_data *data, bool free,
                              parley_data *out, parley_error *error) {
    unsigned size = sample_size(data);
    uint64_t chosen = 0;
    centred->scales = centred->common_scales = centred->usual = 1;
    double kinds[] = {!pl_are_ones(data->x.values), data->x.values.wide != NULL}, sparse;
    if (size == 0 || data->deal)
        return PARLEY_OK;
    parley_status status = pl_sum_ranks(engine, kinds, 2, error);
    if (kinds[0] == 0) /* all entries are 1 */
        centred->mean_square = (double)pl_all_nonzeros(data) / (double)pl_all_rows(data);
    if (status != PARLEY_OK || kinds[0] == 0)
        return status;
    status = find_shift(centred, engine, data, size, free, &chosen, error);
    if (status == PARLEY_OK && chosen > 0) {
        sparse = !is_full(&data->x, centred->shift, chosen);
        status = pl_sum_ranks(engine, &sparse, 1, error);
    }
    if (status == PARLEY_OK && chosen > 0)
        status = sparse > 0 ? fill_rows(centred, &data->x, chosen, kinds[1] > 0, out, error)
                            : shift_values(centred, data, kinds[1] > 0, out, error);
    if (status == PARLEY_OK && chosen > 0)
        status = copy_spread(centred, engine, out, error);
    if (chosen == 0) {
        pl_free(centred->shift);
        centred->shift = NULL;
    }
    return status;
}

void pl_centred_drop(pl_centred *centred) {
    pl_spread_free(centred->spread);
    centred->spread = NULL;
    pl_span_free(&centred->start);
    pl_span_free(&centred->index);
    pl_span_free(&centred->value);
}

void pl_centred_close(pl_centred *centred) {
    pl_centred_drop(centred);
    pl_free(centred->shift);
    centred->shift = NULL;
}
