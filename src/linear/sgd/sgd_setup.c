/* sgd_setup.c: what sgd allocates, and what it counts beforehand. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "engine/shared_memory.h"
#include "linear/newton/gradient.h"
#include "linear/sgd/sgd.h"

#define SAMPLE_ROWS 2000 /* at least, by which rounds are watched, where there are as many */
#define UNEVEN 1.0       /* deviation of the logarithm of columns' sizes */
#define SAMPLE_STRIDE 8  /* of all rows one in this many, at least */

void pl_sgd_close(pl_local *local) {
    pl_sgd *sgd = (pl_sgd *)local;
    if (!sgd)
        return;
    for (unsigned k = 0; sgd->workers && k < sgd->team->hosted; k++) {
        pl_shared_free(sgd->team->engine, sgd->workers[k].support);
        pl_shared_free(sgd->team->engine, sgd->workers[k].change);
        pl_free(sgd->workers[k].row_rates);
        pl_free(sgd->workers[k].scaled);
    }
    for (unsigned k = 0; sgd->turns && k < sgd->team->hosted; k++)
        pl_block_order_close(&sgd->turns[k]);
    if (sgd->gradient)
        pl_local_gradient.close(sgd->gradient);
    pl_span_free(&sgd->copies);
    void *owned[] = {sgd->workers, sgd->buckets, sgd->rare, sgd->t, sgd->t_even, sgd->v_least, sgd->turns, sgd};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
}

bool pl_sgd_may_adapt(const pl_setup *setup) {
    pl_schedule schedule = (pl_schedule)setup->settings->schedule;
    return !setup->in_place && (schedule >= PL_ADAGRAD ||
                                (schedule == PL_ANY && !pl_linear_settings_of(setup->settings)->average_iterates &&
                                 !pl_linear_settings_of(setup->settings)->reweight));
}

/* Doubles of a worker's copies of the model, for each entry. A cell is two. */
static uint64_t copies(const pl_setup *setup) {
    if (setup->in_place)
        return 0;
    uint64_t lazy = 1 + (setup->problem->l1 > 0) + pl_linear_settings_of(setup->settings)->average_iterates;
    return pl_sgd_may_adapt(setup) && lazy < 2 ? 2 : lazy;
}

uint64_t pl_sgd_bytes(const pl_setup *setup) {
    uint64_t size = setup->problem->size, hosted = setup->team->hosted, rows = setup->problem->data->x.rows;
    bool smooth = pl_glm_of(setup->problem)->loss->smooth;
    return (hosted * size * (copies(setup) + 1) + 3 * size + rows * (smooth ? 1 : 3)) * sizeof(double) +
           pl_local_gradient.bytes(setup);
}

void pl_sgd_place(pl_sgd *sgd, pl_schedule schedule) {
    uint64_t size = sgd->glm->base.size;
    double *next = sgd->copies.data;
    sgd->schedule = schedule;
    for (unsigned k = 0; k < sgd->team->hosted && !sgd->in_place; k++) {
        pl_sgd_worker *worker = &sgd->workers[k];
        worker->u = next;
        worker->cells = pl_sgd_adapts(sgd) ? (pl_cell *)next : NULL;
        worker->clock = !worker->cells && sgd->glm->base.l1 > 0 ? next + size : NULL;
        worker->mean = sgd->average ? next + size : NULL;
        for (uint64_t j = 0; worker->cells && j < size; j++)
            worker->cells[j] = (pl_cell){.rare = sgd->rare[j]};
        next += sgd->copied * size;
    }
}

void pl_sgd_fill(pl_sgd *sgd, unsigned k) {
    if (sgd->turns)
        pl_block_order_fill(&sgd->turns[k], sgd->workers[k].buckets);
    else
        pl_bucket_fill(sgd->team, k, pl_bucket_rows(sgd->glm->base.data), sgd->workers[k].buckets);
}

void pl_sgd_mix(pl_sgd *sgd, unsigned k, uint64_t seed, uint64_t trial) {
    pl_sgd_worker *worker = &sgd->workers[k];
    if (sgd->turns) {
        if (worker->count)
            pl_block_order_begin(&sgd->turns[k], seed, sgd->team->first + k, 0, worker->buckets);
        return;
    }
    pl_stream stream = pl_stream_make(seed, sgd->team->first + k, trial);
    pl_shuffle(&stream, worker->buckets, worker->count);
}

/* With --block, rows are visited block by block. */
static parley_status open_turns(pl_sgd *sgd, const parley_settings *settings, parley_error *error) {
    const pl_team *team = sgd->team;
    if (!(settings->block > 0))
        return PARLEY_OK;
    parley_status status = pl_take(&sgd->turns, team->hosted, sizeof *sgd->turns, "the order of rows", error);
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++) {
        sgd->workers[k].turns = &sgd->turns[k];
        status = pl_block_order_open(&sgd->turns[k], team, k, sgd->glm->base.data, settings->block,
                                     settings->local_epochs, error);
    }
    return status;
}

static parley_status open_buckets(pl_sgd *sgd, const parley_settings *settings, parley_error *error) {
    const pl_team *team = sgd->team;
    uint64_t rows = pl_bucket_rows(sgd->glm->base.data), total = 0;
    parley_status status = open_turns(sgd, settings, error);
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++)
        total += sgd->workers[k].count = sgd->workers[k].length =
            sgd->turns ? pl_block_order_buckets(&sgd->turns[k]) : pl_bucket_count(team, k, rows);
    if (status == PARLEY_OK)
        status = pl_take(&sgd->buckets, total, sizeof *sgd->buckets, "the order of rows", error);
    uint64_t *next = sgd->buckets;
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++) {
        sgd->workers[k].buckets = next;
        pl_sgd_fill(sgd, k);
        next += sgd->workers[k].count;
    }
    return status;
}

static uint64_t longest_row(const pl_matrix *x) {
    uint64_t longest = 0;
    for (uint64_t i = 0; i < x->rows; i++)
        longest = x->start[i + 1] - x->start[i] > longest ? x->start[i + 1] - x->start[i] : longest;
    return longest;
}

/* With a lazy L1 penalty a worker changes all entries, touched or not. */
static parley_status open_worker(pl_sgd *sgd, unsigned k, const pl_setup *setup, uint8_t *touched, uint64_t longest,
                                 parley_error *error) {
    pl_sgd_worker *worker = &sgd->workers[k];
    bool dense = sgd->glm->base.l1 > 0 && (pl_schedule)setup->settings->schedule < PL_ADAGRAD;
    parley_status status = PARLEY_OK;
    worker->supported = sgd->glm->base.size;
    worker->row_weight = sgd->team->weight[k] > 0 ? (double)sgd->team->rows[k] / sgd->team->weight[k] : 0.0;
    if (sgd->team->workers > 1 && !dense && !sgd->in_place)
        status = pl_support_take(sgd->glm, sgd->team, k, touched, &worker->support, &worker->supported, error);
    if (status == PARLEY_OK && !sgd->in_place)
        status = pl_shared_take(sgd->team->engine, &worker->change, worker->supported, sizeof *worker->change,
                                "an update", error);
    if (status == PARLEY_OK && pl_sgd_may_adapt(setup))
        status = pl_take(&worker->row_rates, longest, sizeof *worker->row_rates, "rates", error);
    if (status == PARLEY_OK && pl_sgd_may_adapt(setup) && sgd->glm->scale)
        status = pl_take(&worker->scaled, longest, sizeof *worker->scaled, "scaled rows", error);
    return status;
}

static parley_status open_workers(pl_sgd *sgd, const pl_setup *setup, parley_error *error) {
    uint8_t *touched;
    uint64_t longest = longest_row(&sgd->glm->base.data->x);
    parley_status status = pl_take(&touched, sgd->glm->base.size, 1, "sparse updates", error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned k = 0; k < sgd->team->hosted && status == PARLEY_OK; k++)
        status = open_worker(sgd, k, setup, touched, longest, error);
    pl_free(touched);
    return status;
}

/* Rows that hold an entry, over all workers; whole numbers, so that the order of adding does not matter. */
static parley_status count_rows(pl_sgd *sgd, parley_error *error) {
    const pl_matrix *x = &sgd->glm->base.data->x;
    const pl_team *team = sgd->team;
    double *counts, *sums = NULL;
    parley_status status = pl_take(&counts, sgd->glm->base.size, sizeof *counts, "counts of columns", error);
    if (status == PARLEY_OK)
        status = pl_take(&sums, sgd->glm->base.size, sizeof *sums, "counts of columns", error);
    for (unsigned p = 0; status == PARLEY_OK && p < team->hosted * team->lanes; p++)
        for (pl_walk rows = pl_walk_entries(sgd->glm->base.data); pl_walk_on(&team->parts[p], &rows);)
            for (uint64_t e = x->start[rows.begin]; e < x->start[rows.end]; e++)
                counts[x->index[e]] += 1;
    if (status == PARLEY_OK)
        status = pl_sum_passes(team->engine, PL_EACH_RANK, counts, (unsigned)sgd->glm->base.size, sums, error);
    if (status == PARLEY_OK)
        status = pl_take(&sgd->rare, sgd->glm->base.size, sizeof *sgd->rare, "counts of columns", error);
    for (uint64_t j = 0; status == PARLEY_OK && j < sgd->glm->base.size; j++)
        sgd->rare[j] = j == x->columns ? (float)(sgd->glm->intercept == PL_PENALISED)
                       : sums[j] > 0   ? (float)((double)team->all_rows / sums[j])
                                       : 0.0F;
    pl_free(counts);
    pl_free(sums);
    return status;
}

/* Sizes of columns. The free intercept's rate: the mean square of a column, each by its part in the rows' norms. */
static parley_status measure_columns(pl_sgd *sgd, parley_error *error) {
    const pl_glm *glm = sgd->glm;
    double *squares, sum = 0, sum2 = 0, logs[3] = {0};
    sgd->ease = glm->intercept == PL_NO_INTERCEPT ? 0.0 : 1.0;
    if (glm->base.data->x.columns == 0)
        return PARLEY_OK;
    parley_status status = pl_take(&squares, glm->base.data->x.columns, sizeof *squares, "squares of columns", error);
    if (status == PARLEY_OK)
        status = pl_column_squares(glm, sgd->team, squares, error);
    for (uint64_t j = 0; status == PARLEY_OK && j < glm->base.data->x.columns; j++) {
        double scale = pl_column_scale(glm, j), square = squares[j] * scale * scale;
        sum += square;
        sum2 += square * square;
        if (square > 0 && sgd->rare) { /* root mean square of the values that are there, by how many they are */
            double there = 1.0 / (double)sgd->rare[j], size = 0.5 * log(square / there);
            logs[0] += there;
            logs[1] += there * size;
            logs[2] += there * size * size;
        }
    }
    sgd->uneven = logs[0] * logs[2] - logs[1] * logs[1] > UNEVEN * UNEVEN * logs[0] * logs[0];
    if (sum2 > 0 && glm->intercept == PL_FREE)
        sgd->ease = sum2 / sum;
    pl_free(squares);
    return status;
}

static parley_status open_arrays(pl_sgd *sgd, const pl_setup *setup, parley_error *error) {
    uint64_t rows = setup->problem->data->x.rows, size = setup->problem->size, hosted = setup->team->hosted;
    bool smooth = pl_glm_of(setup->problem)->loss->smooth;
    sgd->workers = pl_alloc(hosted, sizeof *sgd->workers);
    sgd->v_least = pl_alloc(size, sizeof *sgd->v_least);
    sgd->t = smooth ? NULL : pl_alloc(rows, sizeof *sgd->t);
    sgd->t_even = smooth ? NULL : pl_alloc(rows, sizeof *sgd->t_even);
    bool copied = pl_span_reserve(&sgd->copies, (copies(setup) * hosted * size + 1) * sizeof(double));
    if (!sgd->workers || !sgd->v_least || (!smooth && (!sgd->t || !sgd->t_even)) || !copied)
        return pl_fail_memory(error, "sgd", pl_sgd_bytes(setup));
    return PARLEY_OK;
}

parley_status pl_sgd_open(const pl_setup *setup, pl_local **out, parley_error *error) {
    pl_sgd *sgd;
    if (setup->in_place && setup->team->engine->ranks > 1)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "exchange shared keeps one model in the memory of one process, and there are %u; use --preset "
                       "ma-sgd, or start one process",
                       setup->team->engine->ranks);
    parley_status status = pl_take(&sgd, 1, sizeof *sgd, "sgd", error);
    if (status != PARLEY_OK)
        return status;
    sgd->base.type = &pl_local_sgd;
    sgd->glm = pl_glm_of(setup->problem);
    sgd->team = setup->team;
    sgd->copied = copies(setup);
    sgd->asked = (pl_schedule)setup->settings->schedule;
    sgd->may_adapt = pl_sgd_may_adapt(setup);
    sgd->average = pl_linear_settings_of(setup->settings)->average_iterates;
    sgd->in_place = setup->in_place;
    sgd->importance = pl_linear_settings_of(setup->settings)->reweight ? setup->team->workers : 1.0;
    sgd->least = INFINITY;
    sgd->stride = setup->team->all_rows / SAMPLE_ROWS;
    sgd->stride = sgd->stride < 1 ? 1 : sgd->stride > SAMPLE_STRIDE ? SAMPLE_STRIDE : sgd->stride;
    status = open_arrays(sgd, setup, error);
    if (status == PARLEY_OK)
        status = pl_local_gradient.open(setup, &sgd->gradient, error);
    if (status == PARLEY_OK && sgd->t)
        pl_gradient_at(sgd->gradient, sgd->t_even);
    if (status == PARLEY_OK)
        status = open_buckets(sgd, setup->settings, error);
    if (status == PARLEY_OK)
        status = open_workers(sgd, setup, error);
    if (status == PARLEY_OK && (pl_sgd_may_adapt(setup) || sgd->in_place))
        status = count_rows(sgd, error);
    if (status == PARLEY_OK)
        status = measure_columns(sgd, error);
    if (status == PARLEY_OK)
        status = pl_sgd_settle(sgd, setup, error);
    if (status != PARLEY_OK) {
        pl_sgd_close(&sgd->base);
        return status;
    }
    *out = &sgd->base;
    return PARLEY_OK;
}
