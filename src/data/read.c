/* read.c: reads whole inputs into memory, and manages data in memory. */
#include "data/read.h"

#include <math.h>
#include <string.h>

#include "base/available_memory.h"
#include "base/stop.h"
#include "data/cache.h"
#include "data/container.h"
#include "data/model_columns.h"
#include "data/numeral.h"
#include "data/parser.h"
#include "data/precision.h"

enum { START, LABEL, WEIGHT, INDEX, VALUE }; /* indices of parley_data's spans */

#define AROUND ((uint64_t)1 << 20) /* bytes that the kernel maps around one that is read, at most */
#define SENTENCE 512
#define WEIGHT_WINDOW_BYTES ((uint64_t)1 << 20)

parley_status pl_data_make(const char *path, parley_data **out, parley_error *error) {
    *out = NULL;
    parley_data *data;
    parley_status status = pl_take(&data, 1, sizeof *data, "data", error);
    if (status != PARLEY_OK)
        return status;
    data->path = pl_strdup(path);
    if (!data->path) {
        pl_free(data);
        return pl_fail_memory(error, "a file name", strlen(path));
    }
    *out = data;
    return PARLEY_OK;
}

static const char *title(const pl_parser *parser) {
    return parser->title ? parser->title : pl_source_name(parser->source);
}

/* Reports how much memory the input will need, and makes the next reservation that large. Fails if there is less. */
static parley_status expect(pl_parser *parser, pl_tell tell, void *user, parley_error *error) {
    char sentence[SENTENCE];
    const char *name = title(parser);
    double size = (double)pl_parser_bytes(parser), used = (double)pl_parser_used(parser);
    double bytes = (double)parser->rows * 16 + (double)parser->entries * (double)pl_parser_entry_bytes(parser);
    bool known = size > 0 && used > 0;
    double times = known ? size / used : 8;
    parser->expected_rows = (uint64_t)((double)parser->rows * times * 1.02) + 1;
    parser->expected_entries = (uint64_t)((double)parser->entries * times * 1.02) + 1;
    if (known)
        snprintf(sentence, sizeof sentence, "reading %s: %.1f MB of %s; needs about %.*f MB of memory", name,
                 size / 1e6, pl_source_content(parser->source) == PL_PLAIN ? "text" : "compressed text",
                 bytes * times < 1e7, bytes * times / 1e6);
    else
        snprintf(sentence, sizeof sentence, "reading %s: size unknown; %.0f rows so far need %.1f MB of memory", name,
                 (double)parser->rows, bytes / 1e6);
    if (tell)
        tell(user, sentence);
    if (known && parser->spill && (uint64_t)(bytes * times) > pl_available_memory() / 2)
        return pl_parser_spill(parser, tell, user, error);
    return known ? pl_memory_check((uint64_t)(bytes * times), name, PL_LESS_DATA, error) : PARLEY_OK;
}

/* Moves the arrays from the parser to the data. */
static void hand_over(pl_parser *parser, parley_data *data) {
    static const uint32_t no_entry = 0; /* a valid address for data without entries */
    data->x.rows = parser->rows;
    data->x.columns = parser->columns;
    data->x.nonzeros = parser->entries;
    data->file_bytes = parser->source ? pl_parser_bytes(parser) : 0;
    pl_span_trim(&parser->start, (parser->rows + 1) * sizeof(uint64_t));
    pl_span_trim(&parser->label, parser->rows * sizeof(double));
    pl_span_trim(&parser->index, parser->entries * sizeof(uint32_t));
    pl_span_trim(&parser->value, parser->ones ? 0 : parser->entries * pl_value_size(parser->wide));
    data->x.start = (data->spans[START] = parser->start).data;
    data->label = (data->spans[LABEL] = parser->label).data;
    data->spans[INDEX] = parser->index;
    data->x.index = parser->index.data ? parser->index.data : &no_entry;
    data->x.values = pl_values_in((data->spans[VALUE] = parser->value).data, parser->wide);
    data->format = parser->format;
    data->read_wide = parser->wide;
    data->rounded = parser->rounded;
    data->large = data->spans[INDEX].file != 0 && (parser->ones || data->spans[VALUE].file != 0);
    if (parser->weighted && !parser->unweighted) {
        pl_span_trim(&parser->weight, parser->rows * sizeof(double));
        data->weight = (data->spans[WEIGHT] = parser->weight).data;
        parser->weight = (pl_span){0};
    }
    parser->start = parser->label = parser->index = parser->value = (pl_span){0};
}

parley_status pl_data_of_parser(pl_parser *parser, const pl_reading *reading, parley_data **out, parley_error *error) {
    const char *name = title(parser);
    bool more = true, first = true;
    parley_status status = PARLEY_OK;
    parser->spill = reading->spill;
    while (status == PARLEY_OK && more) {
        status = pl_parser_next(parser, &more, error);
        if (status == PARLEY_OK && more && first)
            status = expect(parser, reading->tell, reading->user, error);
        first = false;
    }
    if (status == PARLEY_OK && parser->rows == 0)
        status = pl_parser_no_rows(parser, name, error);
    return status == PARLEY_OK ? pl_data_take(parser, name, out, error) : status;
}

parley_status pl_data_judged(pl_parser *parser, const pl_reading *reading, bool *again, parley_data **out,
                             parley_error *error) {
    parley_status status = pl_data_of_parser(parser, reading, out, error);
    *again = status != PARLEY_OK && parser->fault.wide;
    if (status == PARLEY_OK && !reading->unjudged && parser->format->wide)
        status = pl_precision_settle(*out, reading->kept, again, error);
    if (*out && (*again || status != PARLEY_OK)) {
        parley_data_free(*out);
        *out = NULL;
    }
    return status;
}

void pl_read_wide(pl_reading *reading) {
    reading->wide = true;
    reading->tell = NULL; /* the sentences have been said */
}

parley_status pl_data_take(pl_parser *parser, const char *name, parley_data **out, parley_error *error) {
    *out = NULL;
    if (!pl_span_reserve(&parser->start, sizeof(uint64_t)) || !pl_span_reserve(&parser->label, sizeof(double)))
        return pl_fail_memory(error, "the rows of the data", sizeof(uint64_t));
    parley_status status = pl_data_make(name, out, error);
    if (status != PARLEY_OK)
        return status;
    if (parser->format->finish)
        status = parser->format->finish(parser, *out, error);
    hand_over(parser, *out);
    if (status != PARLEY_OK) {
        parley_data_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status pl_cache_of(const pl_source *source, const char *path, pl_pool *pool, const pl_reading *reading,
                          parley_data **out, parley_error *error) {
    if (pl_source_size(source) == 0 || strcmp(path, "-") == 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: a cache must be a file, because it is mapped; give its name",
                       pl_source_name(source));
    parley_status status = pl_cache_open(path, pool, out, error);
    if (status == PARLEY_OK)
        status = pl_model_columns_cache(reading, *out, error);
    if (status != PARLEY_OK) {
        parley_data_free(*out);
        *out = NULL;
    }
    return status;
}

static parley_status read_cache(const pl_source *source, const char *path, pl_pool *pool, const pl_reading *reading,
                                parley_data **out, parley_error *error) {
    parley_status status = pl_cache_of(source, path, pool, reading, out, error);
    if (status == PARLEY_OK && reading->tell) {
        char sentence[SENTENCE];
        snprintf(sentence, sizeof sentence, "reading %s: a cache of %.1f MB, mapped", path,
                 (double)(*out)->file_bytes / 1e6);
        reading->tell(reading->user, sentence);
    }
    return status;
}

/* Reads an input once. `*again`: it must be read again as doubles. */
static parley_status read_once(const char *path, const pl_reading *reading, pl_pool *pool, uint64_t block_bytes,
                               bool *again, parley_data **out, parley_error *error) {
    pl_parser parser;
    parley_status status = pl_parser_open(path, reading, pool, block_bytes, &parser, error);
    if (status != PARLEY_OK)
        return status;
    if (pl_source_content(parser.source) == PL_CACHE)
        status = read_cache(parser.source, path, pool, reading, out, error);
    else
        status = pl_data_judged(&parser, reading, again, out, error);
    pl_parser_close(&parser);
    return status;
}

parley_status pl_data_read_blocks_as(const char *path, const pl_reading *reading, pl_pool *pool, uint64_t block_bytes,
                                     parley_data **out, parley_error *error) {
    pl_reading as = *reading;
    bool again = false;
    *out = NULL;
    as.wide |= !pl_is_regular(path, &(uint64_t){0});
    parley_status status = read_once(path, &as, pool, block_bytes, &again, out, error);
    if (again) {
        pl_read_wide(&as);
        status = read_once(path, &as, pool, block_bytes, &again, out, error);
    }
    if (status == PARLEY_OK)
        pl_model_columns_warn(reading, (*out)->path, pl_model_columns_unseen(reading, *out));
    return status;
}

parley_status pl_data_parse_as(const void *text, uint64_t bytes, const char *name, const pl_reading *reading,
                               pl_pool *pool, uint64_t block_bytes, parley_data **out, parley_error *error) {
    pl_parser parser;
    pl_reading as = *reading;
    parley_status status = PARLEY_OK;
    bool again = true;
    *out = NULL;
    for (unsigned turn = 0; again; turn++) {
        if (turn > 0)
            pl_read_wide(&as);
        again = false;
        status = pl_parser_memory(text, bytes, name, &as, pool, block_bytes, &parser, error);
        if (status != PARLEY_OK)
            return status;
        status = pl_data_judged(&parser, &as, &again, out, error);
        pl_parser_close(&parser);
    }
    return status;
}

parley_status pl_data_parse(const void *text, uint64_t bytes, const char *name, pl_pool *pool, uint64_t block_bytes,
                            parley_data **out, parley_error *error) {
    return pl_data_parse_as(text, bytes, name, &(pl_reading){.format = &pl_format_libsvm}, pool, block_bytes, out,
                            error);
}

parley_status pl_data_read_blocks(const char *path, pl_pool *pool, uint64_t block_bytes, pl_tell tell, void *user,
                                  parley_data **out, parley_error *error) {
    return pl_data_read_blocks_as(path, &(pl_reading){.tell = tell, .user = user}, pool, block_bytes, out, error);
}

parley_status pl_data_read_as(const char *path, const pl_reading *reading, pl_pool *pool, parley_data **out,
                              parley_error *error) {
    return pl_data_read_blocks_as(path, reading, pool, 0, out, error);
}

parley_status pl_data_read(const char *path, pl_pool *pool, pl_tell tell, void *user, parley_data **out,
                           parley_error *error) {
    return pl_data_read_blocks(path, pool, 0, tell, user, out, error);
}

parley_status parley_data_read(const char *path, unsigned threads, parley_data **out, parley_error *error) {
    pl_pool *pool;
    *out = NULL;
    parley_status status = pl_pool_open(&pool, threads, error);
    if (status != PARLEY_OK)
        return status;
    pl_stop_enter();
    status = pl_data_read(path, pool, NULL, NULL, out, error);
    pl_pool_close(pool);
    return pl_stop_leave(status);
}

parley_status parley_data_read_with(const char *path, const parley_settings *settings, parley_data **out,
                                    parley_error *error) {
    pl_pool *pool;
    pl_reading reading;
    *out = NULL;
    parley_status status = pl_reading_of(settings, &reading, error);
    if (status == PARLEY_OK)
        status = pl_pool_open(&pool, (unsigned)settings->threads, error);
    if (status != PARLEY_OK)
        return status;
    pl_stop_enter();
    pl_memory_limit(settings->memory * 1000000);
    status = pl_data_read_as(path, &reading, pool, out, error);
    pl_pool_close(pool);
    return pl_stop_leave(status);
}

void parley_data_shape(const parley_data *data, uint64_t *rows, uint64_t *columns, uint64_t *nonzeros) {
    if (rows)
        *rows = data->x.rows;
    if (columns)
        *columns = data->x.columns;
    if (nonzeros)
        *nonzeros = data->x.nonzeros;
}

void parley_data_free(parley_data *data) {
    if (!data)
        return;
    for (unsigned i = 0; i < sizeof data->spans / sizeof *data->spans; i++)
        pl_span_free(&data->spans[i]);
    pl_names_free(&data->names);
    pl_names_free(&data->classes);
    pl_container_close(data->container);
    pl_spread_free(data->spread);
    pl_deal_free(data->own_deal);
    pl_free(data->own_table);
    pl_free(data->path);
    pl_free(data);
}

void pl_spread_free(pl_spread *spread) {
    if (spread)
        pl_free(spread->pieces);
    pl_free(spread);
}

void pl_deal_free(pl_deal *deal) {
    if (!deal)
        return;
    pl_free(deal->parts);
    pl_free(deal->ranges);
    pl_free(deal->pieces);
    pl_free(deal);
}

uint64_t pl_whole_row(const parley_data *data, uint64_t row) {
    const pl_spread *spread = data->spread;
    for (uint64_t p = 0; spread && p < spread->count; p++) {
        const pl_piece *piece = &spread->pieces[p];
        if (piece->rank == spread->rank && row >= piece->first && row - piece->first < piece->end - piece->begin)
            return piece->begin + (row - piece->first);
    }
    return row;
}

static void leave(const parley_data *data, uint64_t begin, uint64_t end, uint64_t margin) {
    const pl_matrix *x = &data->x;
    uint64_t first = x->start[begin], last = x->start[end], all = x->start[x->rows];
    if (!data->large)
        return;
    pl_pages_leave(x->index, all * sizeof *x->index, x->index + first, x->index + last, margin);
    uint64_t size = pl_value_bytes(x->values);
    const char *values = pl_value_memory(x->values);
    if (values)
        pl_pages_leave(values, all * size, values + first * size, values + last * size, margin);
}

void pl_data_release(const parley_data *data, uint64_t begin, uint64_t end) { leave(data, begin, end, 0); }
void pl_data_leave(const parley_data *data, uint64_t begin, uint64_t end) { leave(data, begin, end, AROUND); }

void pl_data_ahead(const parley_data *data, uint64_t begin, uint64_t end) {
    const pl_matrix *x = &data->x;
    if (!data->large)
        return;
    pl_pages_ahead(x->index + x->start[begin], x->index + x->start[end]);
    uint64_t size = pl_value_bytes(x->values);
    const char *values = pl_value_memory(x->values);
    if (values)
        pl_pages_ahead(values + x->start[begin] * size, values + x->start[end] * size);
}

uint64_t pl_data_bytes(const parley_data *data) {
    uint64_t rows = (data->x.rows + 1) * sizeof(uint64_t) + data->x.rows * sizeof(double);
    uint64_t weights = data->weight ? data->x.rows * sizeof(double) : 0;
    uint64_t names = data->names.count ? (data->names.count + 1) * 8 + data->names.start[data->names.count] : 0;
    uint64_t entries = data->x.index ? data->x.nonzeros : 0;
    return rows + weights + names + entries * (sizeof(uint32_t) + pl_value_bytes(data->x.values));
}

typedef struct weights {
    const char *name; /* of the file */
    double *weight;
    uint64_t rows, count, line;
    double total;
    const pl_spread *spread; /* NULL: this rank holds all rows */
    uint64_t piece;          /* the piece of the next row */
} weights;

static void put_weight(weights *to, double value) {
    const pl_spread *spread = to->spread;
    uint64_t row = to->count++, place = row;
    bool here = row < to->rows;
    if (here && spread) {
        while (spread->pieces[to->piece].end <= row)
            to->piece++;
        const pl_piece *piece = &spread->pieces[to->piece];
        here = piece->rank == spread->rank;
        place = piece->first + (row - piece->begin);
    }
    if (here)
        to->weight[place] = value;
    to->total += value;
}

/* Reads the line at `p`. Returns its end, or NULL on a fault. */
static const char *read_weight(weights *to, const char *p, parley_error *error) {
    const char *fault = NULL, *end = p + strcspn(p, "\n");
    pl_numeral numeral;
    to->line++;
    p += strspn(p, " \t\r");
    if (p == end || *p == '#')
        return end;
    if (!pl_numeral_scan(p, &numeral))
        fault = "not a number; each line must be one weight";
    else if (numeral.end + strspn(numeral.end, " \t\r") != end)
        fault = "text after the number; each line must be one weight";
    double value = fault ? 0 : pl_numeral_double(&numeral);
    if (isinf(value) || value < 0)
        fault = "a weight must be finite and not negative";
    if (fault) {
        pl_fail(error, PARLEY_BAD_INPUT, "%s:%llu: %s", to->name, (unsigned long long)to->line, fault);
        return NULL;
    }
    put_weight(to, value);
    return end;
}

static parley_status read_weights(pl_source *source, weights *to, const char *data_path, parley_error *error) {
    const char *text;
    uint64_t bytes = 1;
    while (bytes > 0) {
        parley_status status = pl_source_next(source, &text, &bytes, error);
        if (status != PARLEY_OK)
            return status;
        for (const char *p = text, *end = text + bytes; p < end; p++)
            if (!(p = read_weight(to, p, error)))
                return PARLEY_BAD_INPUT;
    }
    if (to->count != to->rows)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu weights for the %llu rows of %s", to->name,
                       (unsigned long long)to->count, (unsigned long long)to->rows, data_path);
    return to->total > 0
               ? PARLEY_OK
               : pl_fail(error, PARLEY_BAD_INPUT, "%s: every weight is 0; at least one must be positive", to->name);
}

/* Takes the weights from a source, which it closes. */
static parley_status take_weights(parley_data *data, pl_source *source, parley_error *error) {
    pl_span span = {0};
    weights to = {.name = pl_source_name(source), .rows = pl_all_rows(data), .spread = data->spread};
    parley_status status = PARLEY_OK;
    if (pl_source_content(source) == PL_CACHE)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: not text; weights are text with one number per line", to.name);
    else if (!pl_span_reserve(&span, data->x.rows * sizeof(double) + 1))
        status = pl_fail_memory(error, "weights", data->x.rows * sizeof(double));
    to.weight = span.data;
    if (status == PARLEY_OK)
        status = read_weights(source, &to, data->path, error);
    pl_source_close(source);
    if (status != PARLEY_OK) {
        pl_span_free(&span);
        return status;
    }
    pl_span_free(&data->spans[WEIGHT]);
    data->spans[WEIGHT] = span;
    data->weight = span.data;
    if (data->spread)
        data->spread->weighted = true;
    return PARLEY_OK;
}

parley_status pl_data_read_weights(parley_data *data, const char *path, parley_error *error) {
    pl_source *source;
    parley_status status = pl_source_open(path, WEIGHT_WINDOW_BYTES, &source, error);
    return status == PARLEY_OK ? take_weights(data, source, error) : status;
}

parley_status pl_data_parse_weights(parley_data *data, const void *text, uint64_t bytes, const char *name,
                                    parley_error *error) {
    pl_source *source;
    parley_status status = pl_source_memory(text, bytes, name, WEIGHT_WINDOW_BYTES, &source, error);
    return status == PARLEY_OK ? take_weights(data, source, error) : status;
}
