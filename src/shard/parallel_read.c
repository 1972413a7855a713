/* parallel_read.c: distributes the reading. Rank 0 inspects the inputs and chooses the method: text is split by bytes
 * or by blocks of lines (parallel_read_text.c), caches are split by rows, and everything else is read by rank 0 alone.
 */
#define _POSIX_C_SOURCE 200809L
#include "shard/parallel_read.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/cache.h"
#include "data/format.h"
#include "data/precision.h"
#include "data/read.h"
#include "engine/agree.h"
#include "shard/partition.h"
#include "shard/rank_precision.h"

#define SAME_FILES "every rank must see the same files"

typedef enum way { ON_RANK_0, BY_TEXT, BY_ROWS } way;

/* What rank 0 decides and broadcasts. */
typedef struct plan {
    way way;
    unsigned inputs, format;
    uint64_t bytes;
} plan;

/* Can inputs of this format be split between lines or records? The name of a hashed column is the first one in the
 * text, so with `keep_names` ranks must read in the order of the text; IDX numbers records by their position. Both need
 * `plain` files. `first` is the input with the first rows: CSV takes its columns from the first input named. */
static bool can_be_cut(const pl_format *format, const pl_reading *reading, const pl_inputs *inputs, bool plain,
                       unsigned first) {
    if (format == &pl_format_libsvm)
        return true;
    if (format == &pl_format_idx)
        return plain && inputs->count == 1; /* IDX has one input at a time */
    if (format == &pl_format_csv && reading->missing == PL_MISSING_MEDIAN)
        return false; /* a median needs all values of a column in one place */
    return (plain || !reading->keep_names) && (format == &pl_format_vw || first == 0);
}

/* Rank 0 inspects every input and makes the plan. */
static parley_status inspect(const pl_inputs *inputs, const pl_reading *reading, bool *mapped, plan *plan,
                             parley_error *error) {
    pl_look all;
    unsigned first;
    bool regular = true;
    plan->inputs = inputs->count;
    for (unsigned i = 0; i < inputs->count; i++) {
        plan->bytes += inputs->list[i].bytes;
        regular &= inputs->list[i].regular;
    }
    parley_status status = pl_inputs_look(inputs, reading, mapped, &all, &first, error);
    if (status != PARLEY_OK || all.empty || !regular)
        return status; /* rank 0 alone reads input that can be read only once */
    plan->way = all.cache ? BY_ROWS : can_be_cut(all.format, reading, inputs, all.mapped, first) ? BY_TEXT : ON_RANK_0;
    while (all.format && pl_formats[plan->format] != all.format)
        plan->format++;
    return PARLEY_OK;
}

/* Can this rank open the inputs, and do their sizes match the plan? */
static parley_status check_files(const pl_inputs *inputs, const plan *plan, unsigned *which, parley_error *error) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < inputs->count; i++) {
        *which = i;
        bytes += inputs->list[i].bytes;
        if (strcmp(inputs->list[i].path, "-") != 0 && access(inputs->list[i].path, R_OK) != 0)
            return pl_fail_file(error, inputs->list[i].path, "open");
    }
    *which = inputs->count;
    if (plan && (plan->inputs != inputs->count || plan->bytes != bytes))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %u files of %llu bytes, but rank 0 sees %u of %llu", inputs->title,
                       inputs->count, (unsigned long long)bytes, plan->inputs, (unsigned long long)plan->bytes);
    return PARLEY_OK;
}

/* Opens the inputs on all ranks and makes the plan. */
static parley_status prepare(pl_engine *engine, const char *const *words, unsigned count, const pl_reading *reading,
                             pl_inputs *inputs, bool **mapped, plan *plan, parley_error *error) {
    unsigned which = 0;
    parley_status status = pl_inputs_open(inputs, words, count, error);
    if (status == PARLEY_OK)
        status = check_files(inputs, NULL, &which, error);
    status = pl_agree_status(engine, status, which, SAME_FILES, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_take(mapped, inputs->count, sizeof **mapped, "inputs", error);
    if (status == PARLEY_OK && engine->rank == 0)
        status = inspect(inputs, reading, *mapped, plan, error);
    status = pl_agree_status(engine, status, 0, NULL, error);
    if (status == PARLEY_OK)
        status = pl_broadcast(engine, 0, plan, sizeof *plan, error);
    if (status != PARLEY_OK)
        return status;
    status = check_files(inputs, plan, &which, error);
    status = pl_agree_status(engine, status, which, SAME_FILES, error);
    return status == PARLEY_OK ? pl_broadcast(engine, 0, *mapped, inputs->count * sizeof **mapped, error) : status;
}

/* Broadcasts the names from rank 0. */
static parley_status broadcast_names(pl_engine *engine, pl_names *names, parley_error *error) {
    uint64_t sizes[2] = {names->count, names->count ? names->start[names->count] : 0};
    parley_status status = pl_broadcast(engine, 0, sizes, sizeof sizes, error);
    if (status != PARLEY_OK || sizes[0] == 0)
        return status;
    if (engine->rank != 0)
        status = pl_names_make(sizes[0], sizes[1], names, error);
    if (status == PARLEY_OK)
        status = pl_broadcast(engine, 0, (void *)names->start, (sizes[0] + 1) * sizeof *names->start, error);
    return status == PARLEY_OK ? pl_broadcast(engine, 0, (void *)names->text, sizes[1], error) : status;
}

/* Broadcasts the description of the table from rank 0. */
static parley_status broadcast_table(pl_engine *engine, parley_data *data, parley_error *error) {
    uint64_t bytes = data->table ? strlen(data->table) + 1 : 0;
    parley_status status = pl_broadcast(engine, 0, &bytes, sizeof bytes, error);
    if (status != PARLEY_OK || bytes == 0)
        return status;
    if (engine->rank != 0) {
        status = pl_take(&data->own_table, bytes, 1, "the description of the table", error);
        data->table = data->own_table;
    }
    return status == PARLEY_OK ? pl_broadcast(engine, 0, (void *)data->table, bytes, error) : status;
}

/* Empty data, for ranks other than 0. */
static parley_status make_empty(const char *title, parley_data **out, parley_error *error) {
    parley_status status = pl_data_make(title, out, error);
    if (status != PARLEY_OK)
        return status;
    parley_data *data = *out;
    if (!pl_span_reserve(&data->spans[0], sizeof(uint64_t)) || !pl_span_reserve(&data->spans[1], sizeof(double)) ||
        !pl_span_reserve(&data->spans[3], sizeof(uint32_t)))
        return pl_fail_memory(error, "an empty data set", sizeof(uint64_t));
    data->x.start = data->spans[0].data;
    data->label = data->spans[1].data;
    data->x.index = data->spans[3].data;
    return PARLEY_OK;
}

/* Allocates `count` pieces, which the caller fills in. */
static parley_status make_spread(parley_data *data, uint64_t count, parley_error *error) {
    parley_status status = pl_take(&data->spread, 1, sizeof *data->spread, "the table of distributed rows", error);
    if (status == PARLEY_OK)
        status =
            pl_take(&data->spread->pieces, count, sizeof *data->spread->pieces, "the table of distributed rows", error);
    if (status == PARLEY_OK)
        data->spread->count = count;
    return status;
}

static parley_status read_on_rank_0(pl_engine *engine, const pl_inputs *inputs, const pl_reading *reading,
                                    pl_pool *pool, parley_data **out, parley_error *error) {
    uint64_t shape[3] = {0};
    parley_status status =
        engine->rank == 0 ? pl_data_read_all(inputs, reading, pool, out, error) : make_empty(inputs->title, out, error);
    status = pl_agree_status(engine, status, engine->rank, NULL, error);
    if (status != PARLEY_OK)
        return status;
    parley_data *data = *out;
    if (engine->rank == 0)
        memcpy(shape, (uint64_t[3]){data->x.rows, data->x.columns, data->hash_bits}, sizeof shape);
    status = pl_broadcast(engine, 0, shape, sizeof shape, error);
    data->x.columns = shape[1];
    data->hash_bits = (unsigned)shape[2];
    if (status == PARLEY_OK)
        status = broadcast_names(engine, &data->names, error);
    if (status == PARLEY_OK)
        status = broadcast_names(engine, &data->classes, error);
    if (status == PARLEY_OK)
        status = broadcast_table(engine, data, error);
    if (status == PARLEY_OK)
        status = make_spread(data, 1, error);
    if (status == PARLEY_OK)
        data->spread->pieces[0] = (pl_piece){0, shape[0], 0, 0, 0};
    return status;
}

/* Mapped caches, read as if they were one. */
typedef struct caches {
    unsigned count;
    parley_data **list;
    uint64_t cost, columns;
    pl_range *shares; /* by cache and rank */
} caches;

static parley_status map_caches(const pl_inputs *inputs, caches *caches, parley_error *error) {
    parley_status status = pl_take(&caches->list, inputs->count, sizeof *caches->list, "caches", error);
    for (unsigned i = 0; i < inputs->count && status == PARLEY_OK; i++) {
        status = pl_cache_open(inputs->list[i].path, PL_UNCHECKED, &caches->list[i], error);
        if (status != PARLEY_OK)
            break;
        const pl_matrix *x = &caches->list[i]->x;
        caches->count++;
        caches->cost += x->rows + x->nonzeros;
        caches->columns = x->columns > caches->columns ? x->columns : caches->columns;
    }
    return status;
}

static void close_caches(caches *caches) {
    for (unsigned i = 0; i < caches->count; i++)
        parley_data_free(caches->list[i]);
    pl_free(caches->list);
    pl_free(caches->shares);
}

/* The rows of cache i that a rank reads. A row belongs to the rank whose share of the total cost contains the cost of
 * all rows before it. */
static pl_range share_of(const caches *caches, unsigned i, unsigned rank, unsigned ranks) {
    uint64_t before = 0, bounds[2];
    const pl_matrix *x = &caches->list[i]->x;
    for (unsigned c = 0; c < i; c++)
        before += caches->list[c]->x.rows + caches->list[c]->x.nonzeros;
    for (unsigned b = 0; b < 2; b++) {
        uint64_t due = (uint64_t)((double)caches->cost * (double)(rank + b) / (double)ranks);
        bounds[b] = rank + b == ranks ? x->rows : pl_cost_row(x->start, 0, x->rows, before, due);
    }
    return (pl_range){bounds[0], bounds[1] > bounds[0] ? bounds[1] : bounds[0]};
}

/* Restricts a mapped cache to some of its rows. */
static void narrow(parley_data *data, pl_range rows) {
    data->x.start += rows.begin;
    data->x.rows = rows.end - rows.begin;
    data->x.nonzeros = data->x.start[data->x.rows] - data->x.start[0];
    data->label += rows.begin;
    data->weight = data->weight ? data->weight + rows.begin : NULL;
}

static parley_status share_out(caches *caches, unsigned ranks, parley_error *error) {
    parley_status status = pl_take(&caches->shares, (uint64_t)caches->count * ranks, sizeof *caches->shares,
                                   "the table of distributed rows", error);
    for (unsigned i = 0; i < caches->count && status == PARLEY_OK; i++)
        for (unsigned r = 0; r < ranks; r++)
            caches->shares[(uint64_t)i * ranks + r] = share_of(caches, i, r, ranks);
    return status;
}

/* Turns the shares of all ranks into pieces. */
static parley_status list_shares(const caches *caches, unsigned count, unsigned ranks, parley_data *data,
                                 parley_error *error) {
    uint64_t *held, row = 0, pieces = 0;
    parley_status status = make_spread(data, (uint64_t)count * ranks, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_take(&held, ranks, sizeof *held, "the table of distributed rows", error);
    for (uint64_t s = 0; s < (uint64_t)count * ranks && status == PARLEY_OK; s++) {
        uint64_t rows = caches->shares[s].end - caches->shares[s].begin;
        unsigned rank = (unsigned)(s % ranks);
        if (rows == 0)
            continue;
        data->spread->pieces[pieces++] = (pl_piece){row, row + rows, held[rank], 0, rank};
        held[rank] += rows;
        row += rows;
    }
    data->spread->count = pieces;
    pl_free(held);
    return status;
}

static parley_status read_rows(pl_engine *engine, const pl_inputs *inputs, pl_pool *pool, caches *caches,
                               parley_data **out, parley_error *error) {
    parley_status status = map_caches(inputs, caches, error);
    status = pl_agree_status(engine, status, caches->count, SAME_FILES, error);
    if (status != PARLEY_OK)
        return status;
    status = share_out(caches, engine->ranks, error);
    for (unsigned i = 0; i < caches->count && status == PARLEY_OK; i++) {
        pl_range rows = caches->shares[(uint64_t)i * engine->ranks + engine->rank];
        status = pl_cache_check(caches->list[i], rows.begin, rows.end, pool, error);
    }
    status = pl_agree_status(engine, status, engine->rank, NULL, error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned i = 0; i < caches->count; i++)
        narrow(caches->list[i], caches->shares[(uint64_t)i * engine->ranks + engine->rank]);
    if (caches->count > 1)
        status = pl_data_join(caches->list, caches->count, inputs->title, pool, out, error);
    else {
        *out = caches->list[0];
        caches->count = 0;
    }
    if (status == PARLEY_OK)
        status = list_shares(caches, inputs->count, engine->ranks, *out, error);
    if (status == PARLEY_OK)
        (*out)->x.columns = caches->columns;
    return status;
}

static parley_status read_caches(pl_engine *engine, const pl_inputs *inputs, pl_pool *pool, parley_data **out,
                                 parley_error *error) {
    caches caches = {0};
    parley_status status = read_rows(engine, inputs, pool, &caches, out, error);
    close_caches(&caches);
    return status;
}

/* Has this rank a row at all? An empty file stands for none. */
static bool has_rows(const pl_inputs *inputs) {
    return inputs->count > 1 || !inputs->list[0].regular || inputs->list[0].bytes > 0;
}

/* Column numbers mean the same on all ranks only where they are those of the input. */
static parley_status check_numbered(const parley_data *data, parley_error *error) {
    if (data->names.count == 0 && data->classes.count == 0 && data->hash_bits == 0 && !data->table)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "%s: --inputs own takes only columns that are numbered alike on all ranks, as in LIBSVM text and "
                   "in caches without names",
                   data->path);
}

/* Judges the values of one process. Other programs write doubles into caches. */
static parley_status judge_own(parley_data *data, parley_error *error) {
    bool again;
    data->read_wide = true;
    return pl_precision_settle(data, false, &again, error);
}

/* Reads rows that only this rank has. */
static parley_status read_own(pl_engine *engine, const pl_inputs *inputs, const pl_reading *reading, pl_pool *pool,
                              parley_data **out, parley_error *error) {
    uint64_t *bounds = NULL;
    double *all = NULL, mine[2];
    bool again = false;
    pl_reading as = *reading;
    as.wide = as.unjudged = true; /* the ranks judge together */
    parley_status status =
        has_rows(inputs) ? pl_data_read_all(inputs, &as, pool, out, error) : make_empty(inputs->title, out, error);
    if (status == PARLEY_OK)
        status = check_numbered(*out, error);
    status = pl_agree_status(engine, status, engine->rank, NULL, error);
    if (status != PARLEY_OK)
        return status;
    parley_data *data = *out;
    mine[0] = (double)data->x.rows;
    mine[1] = (double)data->x.columns;
    status = pl_take(&bounds, engine->ranks + 1, sizeof *bounds, "the table of distributed rows", error);
    if (status == PARLEY_OK)
        status = pl_gather_lists(engine, mine, 2, &all, bounds, error);
    if (status == PARLEY_OK)
        status = make_spread(data, engine->ranks, error);
    uint64_t row = 0, pieces = 0;
    for (unsigned rank = 0; rank < engine->ranks && status == PARLEY_OK; rank++) {
        uint64_t rows = (uint64_t)all[2 * rank], columns = (uint64_t)all[2 * rank + 1];
        if (rows > 0)
            data->spread->pieces[pieces++] = (pl_piece){row, row + rows, 0, 0, rank};
        row += rows;
        data->x.columns = columns > data->x.columns ? columns : data->x.columns;
    }
    if (status == PARLEY_OK) {
        data->spread->count = pieces;
        data->spread->rank = engine->rank;
    }
    pl_free(bounds);
    pl_free(all);
    if (status == PARLEY_OK && row == 0)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: no rank has a row", inputs->title);
    if (status != PARLEY_OK)
        return status;
    data->read_wide = true;
    return reading->unjudged ? PARLEY_OK : pl_precision_of_ranks(engine, data, &again, error);
}

static void announce(const pl_engine *engine, const pl_inputs *inputs, const plan *plan, const pl_reading *reading) {
    char sentence[512];
    snprintf(sentence, sizeof sentence, "reading %s: %.1f MB in parallel on %u ranks", inputs->title,
             (double)plan->bytes / 1e6, engine->ranks);
    if (reading->tell)
        reading->tell(reading->user, sentence);
}

static parley_status read_shared(pl_engine *engine, const char *const *words, unsigned count, const pl_reading *reading,
                                 pl_pool *pool, pl_inputs *inputs, parley_data **out, parley_error *error) {
    bool *mapped = NULL;
    plan plan = {0};
    pl_reading as = *reading;
    parley_status status = prepare(engine, words, count, reading, inputs, &mapped, &plan, error);
    if (status == PARLEY_OK && plan.way != ON_RANK_0)
        announce(engine, inputs, &plan, &as);
    if (status == PARLEY_OK && plan.way == BY_TEXT)
        as.format = pl_formats[plan.format];
    if (status == PARLEY_OK)
        status = plan.way == BY_TEXT   ? pl_ranks_text(engine, inputs, mapped, &as, pool, out, error)
                 : plan.way == BY_ROWS ? read_caches(engine, inputs, pool, out, error)
                                       : read_on_rank_0(engine, inputs, &as, pool, out, error);
    pl_free(mapped);
    return status;
}

parley_status pl_ranks_read(pl_engine *engine, const char *const *words, unsigned count, const pl_reading *reading,
                            pl_pool *pool, parley_data **out, parley_error *error) {
    pl_inputs inputs = {0};
    pl_reading as = *reading;
    bool own = reading->settings && reading->settings->inputs == PL_INPUTS_OWN;
    parley_status status = PARLEY_OK;
    *out = NULL;
    if (engine->rank > 0)
        as.tell = as.warn = NULL; /* only rank 0 reports */
    if (own || engine->ranks == 1)
        status = pl_inputs_open(&inputs, words, count, error);
    if (own && engine->ranks > 1)
        status = pl_agree_status(engine, status, engine->rank, NULL, error);
    if (status == PARLEY_OK)
        status = engine->ranks == 1 ? pl_data_read_all(&inputs, reading, pool, out, error)
                 : own              ? read_own(engine, &inputs, &as, pool, out, error)
                                    : read_shared(engine, words, count, &as, pool, &inputs, out, error);
    if (status == PARLEY_OK && engine->ranks > 1)
        status = pl_spread_measure(engine, *out, error);
    else if (status == PARLEY_OK && own && !reading->unjudged)
        status = judge_own(*out, error);
    pl_inputs_close(&inputs);
    if (status != PARLEY_OK) {
        parley_data_free(*out);
        *out = NULL;
    }
    return status;
}
