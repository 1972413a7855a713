/* generators.c: generates data. Only integer draws, + - * / and sqrt are used, which round in the same way everywhere,
 * so that the data are the same on every machine.
 *
 * text: column c has a popularity of about 1 / (c + 16). Octaves of columns, each twice as wide as the one before, are
 * drawn equally often. A value is (1 + ln count) idf, the row is normalised, and the label is the side of a hidden
 * hyperplane. Each row prefers one side and avoids words of the other.
 *
 * dense: x = scale (mean + loadings . factors + noise), where scale varies by column from 1e-3 to 1e3. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "data/format.h"
#include "data/read.h"

enum { START, LABEL, WEIGHT, INDEX, VALUE };                     /* indices of parley_data's spans */
enum { ROW_STREAM, COLUMN_STREAM, HIDDEN_STREAM, LABEL_STREAM }; /* purposes of random streams */

#define FIRST_OCTAVE 16 /* columns in it */
#define OCTAVES 32
#define MOST_COUNT 64    /* larger counts of a word in a row are set to this */
#define COMMON 1008      /* columns of the first six octaves, which may affect labels */
#define HIDDEN_SHARE 0.3 /* share of the common columns that affect labels */
#define AVERSION 0.7     /* probability that a row rejects a word of the other side */
#define FLIPPED 0.07     /* share of wrong labels */
#define FACTORS 3
#define USUAL_COLUMNS 1000

/* ln x for x > 0: x = m 2^e, ln m = 2 artanh((m - 1) / (m + 1)). */
static double natural_log(double x) {
    int exponent;
    double m = frexp(x, &exponent), t, square, sum = 0;
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    t = (m - 1) / (m + 1);
    square = t * t;
    for (int k = 21; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2 * t * sum + exponent * 0.69314718055994531;
}

/* Draws from an approximate normal distribution with mean 0 and variance 1: the sum of four uniform numbers. */
static double bell(pl_stream *stream) {
    uint64_t bits = pl_random(stream);
    double sum =
        (double)(bits & 0xffff) + (double)(bits >> 16 & 0xffff) + (double)(bits >> 32 & 0xffff) + (double)(bits >> 48);
    return (sum / 65536.0 - 2.0) * 1.7320508075688772;
}

typedef struct word {
    uint32_t column, count;
} word;

typedef struct text_maker {
    uint64_t seed, columns;
    double mean, spread; /* of the number of entries in a row */
    double octaves;      /* the last one may be incomplete */
    double idf[OCTAVES + 1], log_count[MOST_COUNT + 1];
    double hidden[COMMON]; /* effect of a common column on the label; other columns have none */
    word *words;           /* of the current row; finally sorted by column */
    uint32_t *slots, mask;
    uint64_t *start;
    double *label;
    uint32_t *index;
    float *value;
} text_maker;

static unsigned octave_of(uint64_t column) {
    unsigned octave = 0;
    while (FIRST_OCTAVE * (((uint64_t)2 << octave) - 1) <= column)
        octave++;
    return octave;
}

static uint64_t octave_first(unsigned octave) { return FIRST_OCTAVE * (((uint64_t)1 << octave) - 1); }

static uint32_t draw_column(const text_maker *maker, pl_stream *stream) {
    for (;;) {
        unsigned octave = (unsigned)(pl_random_unit(stream) * maker->octaves);
        uint64_t column = octave_first(octave) + pl_random_below(stream, (uint64_t)FIRST_OCTAVE << octave);
        if (column < maker->columns)
            return (uint32_t)column;
    }
}

/* Adds a word to the row or increases its count. Returns the number of different words. */
static uint32_t add_word(text_maker *maker, uint32_t column, uint32_t words) {
    uint32_t slot = column * 2654435769u & maker->mask;
    for (; maker->slots[slot]; slot = (slot + 1) & maker->mask) {
        word *known = &maker->words[maker->slots[slot] - 1];
        if (known->column == column) {
            known->count += known->count < MOST_COUNT;
            return words;
        }
    }
    maker->words[words] = (word){column, 1};
    maker->slots[slot] = words + 1;
    return words + 1;
}

/* Shell sort: rows are short, and no two keys are equal. */
static void sort_words(word *words, uint32_t count) {
    static const uint32_t gaps[] = {1968, 861, 336, 112, 48, 21, 7, 3, 1};
    for (unsigned g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (uint32_t i = gaps[g]; i < count; i++) {
            word moved = words[i];
            uint32_t j = i;
            for (; j >= gaps[g] && words[j - gaps[g]].column > moved.column; j -= gaps[g])
                words[j] = words[j - gaps[g]];
            words[j] = moved;
        }
}

static double hidden_weight(const text_maker *maker, uint32_t column) {
    return column < COMMON ? maker->hidden[column] : 0;
}

/* Draws words until the row has `wanted` different ones. If draws repeat too often, adds neighbouring columns. */
static void draw_words(text_maker *maker, pl_stream *stream, uint32_t wanted) {
    uint32_t words = 0;
    double side = pl_random_below(stream, 2) ? 1 : -1;
    memset(maker->slots, 0, ((size_t)maker->mask + 1) * sizeof *maker->slots);
    for (uint64_t tries = 0; words < wanted && tries < (uint64_t)wanted * 8; tries++) {
        uint32_t column = draw_column(maker, stream);
        if (hidden_weight(maker, column) * side >= 0 || pl_random_unit(stream) >= AVERSION)
            words = add_word(maker, column, words);
    }
    for (uint64_t column = pl_random_below(stream, maker->columns); words < wanted; column++)
        words = add_word(maker, (uint32_t)(column % maker->columns), words);
    sort_words(maker->words, words);
}

/* The value of a word before the row is normalised. */
static double weigh_word(const text_maker *maker, const word *word) {
    pl_stream stream = pl_stream_make(maker->seed, word->column, COLUMN_STREAM);
    double rarity = maker->idf[octave_of(word->column)] * (0.75 + 0.5 * pl_random_unit(&stream));
    return maker->log_count[word->count] * rarity;
}

/* Makes a row. Its label is for now the distance from the hidden hyperplane. */
static void make_text_row(text_maker *maker, uint64_t row) {
    pl_stream stream = pl_stream_make(maker->seed, row, ROW_STREAM);
    double length = maker->mean * (1 + maker->spread * (2 * pl_random_unit(&stream) - 1));
    uint64_t wanted = (uint64_t)(length + pl_random_unit(&stream));
    uint32_t words = (uint32_t)(wanted < maker->columns ? wanted : maker->columns);
    uint32_t *index = maker->index + maker->start[row];
    float *value = maker->value + maker->start[row];
    double squares = 0, margin = 0;
    draw_words(maker, &stream, words);
    for (uint32_t i = 0; i < words; i++) {
        double size = weigh_word(maker, &maker->words[i]);
        index[i] = maker->words[i].column;
        value[i] = (float)size;
        squares += size * size;
        margin += size * hidden_weight(maker, index[i]);
    }
    double norm = squares > 0 ? 1.0 / sqrt(squares) : 0;
    for (uint32_t i = 0; i < words; i++) { /* six decimals, as in typical files */
        double millionths = floor((double)value[i] * norm * 1e6 + 0.5);
        value[i] = (float)((millionths > 1 ? millionths : 1) / 1e6);
    }
    maker->start[row + 1] = maker->start[row] + words;
    maker->label[row] = margin * norm;
}

/* Turns margins into labels: half of each sign, a few of them wrong. */
static void label_text(text_maker *maker, uint64_t rows) {
    double mean = 0;
    for (uint64_t row = 0; row < rows; row++)
        mean += maker->label[row] / (double)rows;
    pl_stream stream = pl_stream_make(maker->seed, 0, LABEL_STREAM);
    for (uint64_t row = 0; row < rows; row++) {
        bool positive = maker->label[row] >= mean, flipped = pl_random_unit(&stream) < FLIPPED;
        maker->label[row] = positive != flipped ? 1 : -1;
    }
}

static void fill_tables(text_maker *maker) {
    unsigned last = octave_of(maker->columns - 1);
    uint64_t covered = maker->columns - octave_first(last);
    maker->octaves = last + (double)covered / (double)((uint64_t)FIRST_OCTAVE << last);
    for (unsigned octave = 0; octave <= last; octave++) {
        double share = maker->mean / (maker->octaves * (double)((uint64_t)FIRST_OCTAVE << octave));
        maker->idf[octave] = natural_log(1 + 1 / (share < 1 ? share + 1e-9 : 1));
    }
    for (unsigned count = 1; count <= MOST_COUNT; count++)
        maker->log_count[count] = 1 + natural_log(count);
    pl_stream stream = pl_stream_make(maker->seed, 0, HIDDEN_STREAM);
    for (unsigned column = 0; column < COMMON; column++) {
        double share = pl_random_unit(&stream), size = 0.5 + pl_random_unit(&stream);
        maker->hidden[column] = share >= HIDDEN_SHARE ? 0 : share < HIDDEN_SHARE / 2 ? size : -size;
    }
}

/* Reserves the arrays of `data`. */
static parley_status reserve(parley_data *data, double rows, double entries, parley_error *error) {
    double bytes = rows * 16 + 8 + entries * 8;
    if (bytes > 1e18 || !pl_span_reserve(&data->spans[START], (uint64_t)(rows + 1) * sizeof(uint64_t)) ||
        !pl_span_reserve(&data->spans[LABEL], (uint64_t)rows * sizeof(double)) ||
        !pl_span_reserve(&data->spans[INDEX], (uint64_t)(entries + 1) * sizeof(uint32_t)) ||
        !pl_span_reserve(&data->spans[VALUE], (uint64_t)(entries + 1) * sizeof(float)))
        return pl_fail_memory(error, "the generated rows", bytes < 1e18 ? (uint64_t)bytes : UINT64_MAX);
    return PARLEY_OK;
}

/* Trims the arrays to their content and points the data at them. */
static void finish(parley_data *data, uint64_t rows, uint64_t columns) {
    data->x.rows = rows;
    data->x.columns = columns;
    data->x.start = data->spans[START].data;
    data->x.nonzeros = data->x.start[rows];
    pl_span_trim(&data->spans[INDEX], (data->x.nonzeros + 1) * sizeof(uint32_t));
    pl_span_trim(&data->spans[VALUE], (data->x.nonzeros + 1) * sizeof(float));
    data->label = data->spans[LABEL].data;
    data->x.index = data->spans[INDEX].data;
    data->x.value = data->spans[VALUE].data;
}

static parley_status fill_text(const parley_settings *settings, parley_data *data, text_maker *maker,
                               parley_error *error) {
    double most = floor(maker->mean * (1 + maker->spread)) + 2;
    uint64_t slots = 16;
    while ((double)slots < 2 * most)
        slots *= 2;
    maker->mask = (uint32_t)(slots - 1);
    parley_status status = reserve(data, (double)settings->rows, (double)settings->rows * most, error);
    if (status == PARLEY_OK)
        status = pl_take(&maker->words, (uint64_t)most, sizeof *maker->words, "a row", error);
    if (status == PARLEY_OK)
        status = pl_take(&maker->slots, slots, sizeof *maker->slots, "a row", error);
    if (status != PARLEY_OK)
        return status;
    maker->start = data->spans[START].data;
    maker->label = data->spans[LABEL].data;
    maker->index = data->spans[INDEX].data;
    maker->value = data->spans[VALUE].data;
    fill_tables(maker);
    maker->start[0] = 0;
    for (uint64_t row = 0; row < settings->rows; row++)
        make_text_row(maker, row);
    label_text(maker, settings->rows);
    finish(data, settings->rows, maker->columns);
    return PARLEY_OK;
}

/* The setting `columns` is a list where data are read, so it is text. */
static parley_status count_columns(const parley_settings *settings, uint64_t *columns, parley_error *error) {
    char *end = (char *)settings->columns;
    double number = *settings->columns ? strtod(settings->columns, &end) : USUAL_COLUMNS;
    bool valid = *end == '\0' && number >= 1 && number <= PL_LARGEST_COLUMN && number == floor(number);
    *columns = valid ? (uint64_t)number : 0;
    if (!valid)
        return pl_fail(error, PARLEY_BAD_USAGE, "--columns %.60s must be a whole number from 1 to %u",
                       settings->columns, PL_LARGEST_COLUMN);
    return PARLEY_OK;
}

static parley_status make_text(const parley_settings *settings, parley_data **out, parley_error *error) {
    double mean = settings->nonzeros;
    uint64_t count;
    *out = NULL;
    parley_status status = count_columns(settings, &count, error);
    if (status != PARLEY_OK)
        return status;
    double columns = (double)count;
    if (mean > columns)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "%g nonzeros do not fit in a row of %.0f columns; use fewer nonzeros or more columns", mean,
                       columns);
    parley_data *data;
    status = pl_data_make("generated data", &data, error);
    if (status != PARLEY_OK)
        return status;
    text_maker maker = {.seed = settings->seed, .columns = count, .mean = mean, .spread = 0.5};
    if (mean * (1 + maker.spread) > columns)
        maker.spread = columns / mean - 1; /* keeps the mean */
    status = fill_text(settings, data, &maker, error);
    pl_free(maker.words);
    pl_free(maker.slots);
    if (status == PARLEY_OK)
        *out = data;
    else
        parley_data_free(data);
    return status;
}

typedef struct dense_column {
    double scale, mean, weight, loadings[FACTORS];
} dense_column;

static dense_column make_column(uint64_t seed, uint64_t number) {
    static const double decades[] = {1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2};
    pl_stream stream = pl_stream_make(seed, number, COLUMN_STREAM);
    dense_column column;
    column.scale = decades[pl_random_below(&stream, 6)] * (1 + 9 * pl_random_unit(&stream));
    column.mean = 2 * bell(&stream);
    column.weight = bell(&stream);
    for (int f = 0; f < FACTORS; f++)
        column.loadings[f] = bell(&stream);
    return column;
}

static double make_dense_row(const dense_column *columns, uint64_t count, pl_stream *stream, uint32_t *index,
                             float *value) {
    double factors[FACTORS], target = 0;
    for (int f = 0; f < FACTORS; f++)
        factors[f] = bell(stream);
    for (uint64_t j = 0; j < count; j++) {
        double x = columns[j].mean + 0.5 * bell(stream);
        for (int f = 0; f < FACTORS; f++)
            x += columns[j].loadings[f] * factors[f];
        index[j] = (uint32_t)j;
        value[j] = (float)(columns[j].scale * x);
        target += columns[j].weight * x;
    }
    return target / sqrt((double)count) + 0.3 * bell(stream);
}

static parley_status fill_dense(const parley_settings *settings, parley_data *data, parley_error *error) {
    uint64_t rows = settings->rows, count;
    dense_column *columns = NULL;
    parley_status status = count_columns(settings, &count, error);
    if (status == PARLEY_OK)
        status = reserve(data, (double)rows, (double)rows * (double)count, error);
    if (status == PARLEY_OK)
        status = pl_take(&columns, count, sizeof *columns, "the generated columns", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t j = 0; j < count; j++)
        columns[j] = make_column(settings->seed, j);
    uint64_t *start = data->spans[START].data;
    double *label = data->spans[LABEL].data;
    start[0] = 0;
    for (uint64_t row = 0; row < rows; row++) {
        pl_stream stream = pl_stream_make(settings->seed, row, ROW_STREAM);
        label[row] = make_dense_row(columns, count, &stream, (uint32_t *)data->spans[INDEX].data + start[row],
                                    (float *)data->spans[VALUE].data + start[row]);
        start[row + 1] = start[row] + count;
    }
    pl_free(columns);
    finish(data, rows, count);
    return PARLEY_OK;
}

static parley_status make_dense(const parley_settings *settings, parley_data **out, parley_error *error) {
    parley_data *data;
    *out = NULL;
    parley_status status = pl_data_make("generated data", &data, error);
    if (status != PARLEY_OK)
        return status;
    status = fill_dense(settings, data, error);
    if (status == PARLEY_OK)
        *out = data;
    else
        parley_data_free(data);
    return status;
}

const pl_generator pl_generators[] = {
    {"text", "sparse rows like bags of words, labels -1 and +1: classification", make_text},
    {"dense", "every column filled, badly scaled and correlated, real labels: regression", make_dense},
};

const unsigned pl_generators_count = sizeof pl_generators / sizeof *pl_generators;
