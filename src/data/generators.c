/* generators.c: generates data. Only integer draws, + - * / and sqrt are used, which round in the same way everywhere,
 * so that the data are the same on every machine.
 *
 * text: column c has a popularity of about 1 / (c + 16). Octaves of columns, each twice as wide as the one before, are
 * drawn equally often. A value is (1 + ln count) idf, the row is normalised, and the label is the side of a hidden
 * hyperplane. Each row prefers one side and avoids words of the other.
 *
 * text with topics: half of the words beyond the most common ones come from a few topics of the row. A topic has one in
 * TOPIC_RARITY columns of each octave, found by a hash. Octaves beyond the common columns are drawn less and less
 * often, so that most columns occur in a few rows only, and every column may affect labels. The constants are
 * those with which IMDB's shape gives about its frequencies of columns, lengths of rows and eigenvalues of the
 * covariance. Fewer columns occur only once (18 % against 46 %), so that standardised eigenvalues are a third of
 * IMDB's.
 *
 * dense: x = scale (mean + loadings . factors + noise), where scale varies by column from 1e-3 to 1e3. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "data/format.h"
#include "data/read.h"

enum { START, LABEL, WEIGHT, INDEX, VALUE };                                   /* indices of parley_data's spans */
enum { ROW_STREAM, COLUMN_STREAM, HIDDEN_STREAM, LABEL_STREAM, TOPIC_STREAM }; /* purposes of random streams */

#define FIRST_OCTAVE 16 /* columns in it */
#define OCTAVES 32
#define MOST_COUNT 64       /* larger counts of a word in a row are set to this */
#define COMMON 1008         /* columns of the first six octaves; without topics, only these may affect labels */
#define HIDDEN_SHARE 0.3    /* share of the columns that may affect labels and do */
#define AVERSION 0.7        /* probability that a row rejects a word of the other side */
#define FLIPPED 0.07        /* share of wrong labels */
#define ROW_TOPICS 3        /* topics of a row */
#define TOPICAL 0.5         /* share of the words from FIRST_TOPICAL on that come from the row's topics */
#define FIRST_TOPICAL 2     /* octaves before it have words of every topic */
#define TOPIC_RARITY 16     /* a topic has one of so many columns of an octave */
#define LONG_ROWS 0.17      /* with topics, rows have LENGTH_RATIO mean / (LONG_ROWS + u) words, u uniform */
#define LENGTH_RATIO 0.5184 /* 1 / ln((1 + LONG_ROWS) / LONG_ROWS) */
#define LONGEST 3.05        /* the longest row by the mean: LENGTH_RATIO / LONG_ROWS */
#define TAIL 0.68           /* with topics, how often an octave of rarer columns is drawn, relative to the one before */
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
    uint64_t seed, columns, topics;
    double mean, spread; /* of the number of entries in a row */
    bool skewed;         /* a few rows are much longer than the others */
    double octaves;      /* the last one may be incomplete */
    double idf[OCTAVES + 1], log_count[MOST_COUNT + 1];
    double drawn[OCTAVES + 1];       /* with topics, how often an octave or one before it is drawn; 1 for the last */
    uint64_t row_topics[ROW_TOPICS]; /* of the current row */
    double hidden[COMMON];           /* effects of the common columns on the label */
    word *words;                     /* of the current row; finally sorted by column */
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

/* A column of the octave: half of the time one of all, otherwise one that a topic of the row has. */
static uint64_t draw_in_octave(const text_maker *maker, pl_stream *stream, unsigned octave) {
    uint64_t width = (uint64_t)FIRST_OCTAVE << octave;
    if (octave < FIRST_TOPICAL || pl_random_unit(stream) >= TOPICAL)
        return octave_first(octave) + pl_random_below(stream, width);
    uint64_t topic = maker->row_topics[pl_random_below(stream, ROW_TOPICS)];
    uint64_t place = pl_random_below(stream, width / TOPIC_RARITY);
    pl_stream columns = pl_stream_make(maker->seed, topic << 40 | (width + place), TOPIC_STREAM);
    return octave_first(octave) + pl_random_below(&columns, width);
}

static uint32_t draw_topical(const text_maker *maker, pl_stream *stream) {
    for (;;) {
        double drawn = pl_random_unit(stream);
        unsigned octave = 0;
        while (drawn >= maker->drawn[octave])
            octave++;
        uint64_t column = draw_in_octave(maker, stream, octave);
        if (column < maker->columns)
            return (uint32_t)column;
    }
}

/* Early topics are more frequent. */
static void draw_topics(text_maker *maker, pl_stream *stream) {
    for (unsigned t = 0; t < ROW_TOPICS; t++) {
        double place = pl_random_unit(stream);
        maker->row_topics[t] = (uint64_t)(place * place * (double)maker->topics);
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

/* Draws the effect of a column on labels, which is often none. */
static double draw_effect(pl_stream *stream) {
    double share = pl_random_unit(stream), size = 0.5 + pl_random_unit(stream);
    return share >= HIDDEN_SHARE ? 0 : share < HIDDEN_SHARE / 2 ? size : -size;
}

static double hidden_weight(const text_maker *maker, uint32_t column) {
    if (column < COMMON)
        return maker->hidden[column];
    if (!maker->topics)
        return 0;
    pl_stream stream = pl_stream_make(maker->seed, column, HIDDEN_STREAM);
    return draw_effect(&stream);
}

/* Draws words until the row has `wanted` different ones. If draws repeat too often, adds neighbouring columns. */
static void draw_words(text_maker *maker, pl_stream *stream, uint32_t wanted) {
    uint32_t words = 0;
    double side = pl_random_below(stream, 2) ? 1 : -1;
    if (maker->topics)
        draw_topics(maker, stream);
    memset(maker->slots, 0, ((size_t)maker->mask + 1) * sizeof *maker->slots);
    for (uint64_t tries = 0; words < wanted && tries < (uint64_t)wanted * 8; tries++) {
        uint32_t column = maker->topics ? draw_topical(maker, stream) : draw_column(maker, stream);
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

static double draw_length(const text_maker *maker, pl_stream *stream) {
    if (maker->skewed)
        return maker->mean * LENGTH_RATIO / (LONG_ROWS + pl_random_unit(stream));
    return maker->mean * (1 + maker->spread * (2 * pl_random_unit(stream) - 1));
}

/* Makes a row. Its label is for now the distance from the hidden hyperplane. */
static void make_text_row(text_maker *maker, uint64_t row) {
    pl_stream stream = pl_stream_make(maker->seed, row, ROW_STREAM);
    double length = draw_length(maker, &stream);
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

/* How often each octave is drawn, with topics. */
static void fill_tail(text_maker *maker, unsigned last) {
    double often = 1, sum = 0;
    for (unsigned octave = 0; octave <= last; octave++) {
        often *= octave_first(octave) < COMMON ? 1 : TAIL;
        sum += often;
        maker->drawn[octave] = sum;
    }
    for (unsigned octave = 0; octave < last; octave++)
        maker->drawn[octave] /= sum;
    maker->drawn[last] = 1;
}

static void fill_tables(text_maker *maker) {
    unsigned last = octave_of(maker->columns - 1);
    uint64_t covered = maker->columns - octave_first(last);
    maker->octaves = last + (double)covered / (double)((uint64_t)FIRST_OCTAVE << last);
    if (maker->topics)
        fill_tail(maker, last);
    for (unsigned octave = 0; octave <= last; octave++) {
        double width = (double)((uint64_t)FIRST_OCTAVE << octave), share = maker->mean / (maker->octaves * width);
        if (maker->topics)
            share = maker->mean * (maker->drawn[octave] - (octave ? maker->drawn[octave - 1] : 0)) / width;
        maker->idf[octave] = natural_log(1 + 1 / (share < 1 ? share + 1e-9 : 1));
    }
    for (unsigned count = 1; count <= MOST_COUNT; count++)
        maker->log_count[count] = 1 + natural_log(count);
    pl_stream stream = pl_stream_make(maker->seed, 0, HIDDEN_STREAM);
    for (unsigned column = 0; column < COMMON; column++)
        maker->hidden[column] = draw_effect(&stream);
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
    data->x.values = (pl_values){.narrow = data->spans[VALUE].data};
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
    text_maker maker = {
        .seed = settings->seed, .columns = count, .topics = settings->text_topics, .mean = mean, .spread = 0.5};
    if (mean * (1 + maker.spread) > columns)
        maker.spread = columns / mean - 1; /* keeps the mean */
    if (maker.topics && mean * LONGEST <= columns) {
        maker.spread = LONGEST - 1;
        maker.skewed = true;
    }
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
    {"text", "sparse rows like bags of words, labels -1 and +1: classification", make_text, true},
    {"dense", "every column filled, badly scaled and correlated, real labels: regression", make_dense, false},
};

const unsigned pl_generators_count = sizeof pl_generators / sizeof *pl_generators;
