/* online.c: one step per row, with normalised adaptive rates (adaptive.h), as in Vowpal Wabbit's default.
 *
 * Penalties are lazy: an entry that was not touched for m steps is penalised for all of them when it is touched next,
 *     w <- soft(w, m eta rate l1) / (1 + m eta rate l2)
 * and once more at the end. Columns are kept as they are, in a table that grows, or folded into 2^bits columns.
 * Predictions on the scale of the targets are clipped to the range of 0 and the targets seen so far. */
#include "linear/sgd/online.h"
#include "data/label_sets.h"

#include <math.h>
#include <string.h>

#include "data/format.h"
#include "linear/model/fold.h"
#include "linear/model/linear_model.h"
#include "linear/sgd/adaptive.h"
#include "math/sparse.h"
#include "shard/saved_state.h"

#define FIRST_RATE 0.5
#define CELL_WORDS (sizeof(pl_cell) / sizeof(uint32_t))
#define NUMBERS 19   /* numbers in the state of a learner */
#define MOST_BITS 31 /* of hashes */

struct pl_online {
    pl_online_state state;
    pl_loss const *loss;
    pl_loss own_loss; /* the loss with its parameter, if it has one */
    bool normalised;
    pl_intercept intercept;
    double rate, l1, l2;
    unsigned bits;          /* of the folded table; 0 if it is not folded */
    pl_span table;          /* cells */
    uint64_t size;          /* number of cells */
    pl_cell constant;       /* the cell of the intercept */
    uint32_t step;          /* rows so far, compared with `last` */
    double rows, norms;     /* of normalised rates, weighted */
    double least, most;     /* range of 0 and the targets seen */
    bool told;              /* binary losses: the labels were given in advance */
    char positive[PL_TEXT]; /* or the name of the positive one; empty: neither */
    float *rates;           /* for the entries of a row */
    uint32_t *folded;       /* the columns of a row, if they are folded */
    uint64_t room;          /* size of both arrays */
};

static parley_status grow_table(pl_online *online, uint64_t columns, parley_error *error) {
    uint64_t wanted = online->bits ? (uint64_t)1 << online->bits : columns;
    if (wanted > online->size && wanted * sizeof(pl_cell) > online->table.bytes &&
        !pl_span_reserve(&online->table, (wanted + (online->bits ? 0 : wanted / 2)) * sizeof(pl_cell)))
        return pl_fail_memory(error, "the weights; --hash-bits bounds them", wanted * sizeof(pl_cell));
    online->size = wanted > online->size ? wanted : online->size;
    return PARLEY_OK;
}

static parley_status grow_row(pl_online *online, uint64_t count, parley_error *error) {
    if (count <= online->room)
        return PARLEY_OK;
    uint64_t room = count + count / 2;
    float *rates = pl_realloc(online->rates, room, sizeof *rates);
    online->rates = rates ? rates : online->rates;
    uint32_t *folded = pl_realloc(online->folded, room, sizeof *folded);
    online->folded = folded ? folded : online->folded;
    if (!rates || !folded)
        return pl_fail_memory(error, "a row", room * 8);
    online->room = room;
    return PARLEY_OK;
}

static bool binary_label(double label) { return label == 1.0 || label == 0.0 || label == -1.0; }

/* For loss auto: chooses by the labels of the first rows. */
static void choose_loss(pl_online *online, const parley_data *batch) {
    bool binary = true;
    if (*online->positive) {
        online->loss = pl_loss_for(PL_LABELS_BINARY);
        return;
    }
    for (uint64_t i = 0; i < batch->x.rows && binary; i++)
        binary = binary_label(batch->label[i]);
    online->loss = pl_loss_for(binary ? PL_LABELS_BINARY : PL_LABELS_REAL);
}

/* With a positive label: the other one is the first that differs. */
static parley_status side_of(pl_online_state *state, const parley_data *batch, double label, uint64_t number, double *y,
                             parley_error *error) {
    *y = label == state->high ? 1.0 : -1.0;
    if (label != state->high && isnan(state->low))
        state->low = label;
    if (label == state->high || label == state->low)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "%s: row %llu has label %.17g after rows with label %.17g; with --positive a stream has two labels",
                   batch->path, (unsigned long long)number, label, state->low);
}

/* Finds the target of row i, which messages call `number`. */
static parley_status target_of(pl_online *online, const parley_data *batch, uint64_t i, uint64_t number, double *y,
                               parley_error *error) {
    pl_online_state *state = &online->state;
    double label = *y = batch->label[i];
    if (!pl_loss_takes(online->loss, label))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: row %llu has label %g, but loss %s needs labels %s", batch->path,
                       (unsigned long long)number, label, online->loss->name, pl_loss_range(online->loss));
    if (online->loss->labels == PL_LABELS_REAL)
        return PARLEY_OK;
    if (*online->positive)
        return side_of(state, batch, label, number, y, error);
    if (online->told && (label == state->low || label == state->high)) {
        *y = label == state->high ? 1.0 : -1.0;
        return PARLEY_OK;
    }
    if (online->told)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: row %llu has label %.17g, which is neither %.17g nor %.17g",
                       batch->path, (unsigned long long)number, label, state->low, state->high);
    if (!binary_label(label))
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: row %llu has label %g; the labels of a stream must be -1 and +1, or 0 and 1, or two of which "
            "--positive names one; for more classes, use --preset gd",
            batch->path, (unsigned long long)number, label);
    if (label <= 0 && isnan(state->low))
        state->low = label;
    if (label <= 0 && label != state->low)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: row %llu has label %g after rows with label %g; use only one of them", batch->path,
                       (unsigned long long)number, label, state->low);
    *y = label > 0 ? 1.0 : -1.0;
    return PARLEY_OK;
}

static pl_cell *cells_of(const pl_online *online) { return online->table.data; }

static pl_cell_row row_of(pl_online *online, const pl_matrix *x, uint64_t i) {
    uint64_t begin = x->start[i];
    pl_cell_row row = {x->index + begin, pl_values_from(x->values, begin), x->start[i + 1] - begin, online->rates};
    if (!online->bits)
        return row;
    for (uint64_t e = 0; e < row.count; e++)
        online->folded[e] = pl_fold(row.index[e], online->bits);
    row.index = online->folded;
    return row;
}

/* Applies the penalties of all steps since a weight was last touched. */
static void penalise(const pl_online *online, pl_cell *cell, double eta) {
    float missed = (float)(online->step - cell->last), rate = (float)eta;
    cell->last = online->step;
    if (!(cell->sum > 0))
        return;
    rate *= missed / ((online->normalised && cell->scale > 0 ? cell->scale : 1.0F) * sqrtf(cell->sum));
    float cut = rate * (float)online->l1, w = cell->w;
    w = w > cut ? w - cut : w < -cut ? w + cut : 0.0F;
    cell->w = w / (1.0F + rate * (float)online->l2);
}

static double eta_of(const pl_online *online) {
    return online->rate * (online->normalised && online->norms > 0 ? sqrt(online->rows / online->norms) : 1.0);
}

static void penalise_row(pl_online *online, const pl_cell_row *row) {
    double eta = eta_of(online);
    for (uint64_t e = 0; e < row->count; e++)
        penalise(online, &cells_of(online)[row->index[e]], eta);
    if (online->intercept == PL_PENALISED)
        penalise(online, &online->constant, eta);
}

static double predict(pl_online *online, const pl_cell_row *row) {
    double z = pl_cells_dot(cells_of(online), row) + (double)online->constant.w;
    bool bounded = !online->loss->log_link && !online->loss->probability;
    return bounded ? fmin(online->most, fmax(online->least, z)) : z;
}

static void step(pl_online *online, const pl_cell_row *row, double z, double y, double slope, double weight) {
    uint32_t zero = 0;
    float rate_b = 0;
    pl_cell *cells = cells_of(online);
    pl_cell_row constant = {&zero, {NULL, NULL}, online->intercept == PL_NO_INTERCEPT ? 0 : 1, &rate_b};
    float slope2 = (float)(slope * slope * weight);
    double norm = 0, reach = pl_cells_rates(cells, row, slope2, online->normalised, &norm);
    reach += pl_cells_rates(&online->constant, &constant, slope2, online->normalised, &norm);
    online->norms += weight * norm;
    online->rows += weight;
    double eta = eta_of(online) * weight, h = eta * reach;
    float t = (float)(eta * pl_adaptive_slope(online->loss, z, y, slope, h));
    for (uint64_t e = 0; e < row->count; e++)
        cells[row->index[e]].w += t * row->rate[e] * pl_cell_value(row, e);
    if (constant.count)
        online->constant.w += t * rate_b;
}

static parley_status learn_row(pl_online *online, const parley_data *batch, uint64_t i, parley_error *error) {
    pl_online_state *state = &online->state;
    double y, weight = batch->weight ? batch->weight[i] : 1.0, slope, curvature;
    parley_status status = target_of(online, batch, i, state->rows + 1, &y, error);
    if (status == PARLEY_OK)
        status = grow_row(online, batch->x.start[i + 1] - batch->x.start[i], error);
    if (status != PARLEY_OK)
        return status;
    online->least = fmin(online->least, y);
    online->most = fmax(online->most, y);
    pl_cell_row row = row_of(online, &batch->x, i);
    if (online->l1 > 0 || online->l2 > 0)
        penalise_row(online, &row);
    double z = predict(online, &row), loss = online->loss->expand(online->loss, z, y, &slope, &curvature);
    if (slope != 0 && weight > 0)
        step(online, &row, z, y, slope, weight);
    online->step++;
    state->rows++;
    state->nonzeros += row.count;
    state->weight += weight;
    state->loss += weight * loss;
    state->label = batch->label[i];
    state->prediction = z;
    state->features = row.count + (online->intercept != PL_NO_INTERCEPT);
    return PARLEY_OK;
}

/* Prefetches the cells of a later row. */
static void look_ahead(const pl_online *online, const pl_matrix *x, uint64_t i) {
    const pl_cell *cells = cells_of(online);
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
        pl_prefetch(cells + (online->bits ? pl_fold(x->index[e], online->bits) : x->index[e]));
}

static parley_status begin_batch(pl_online *online, const parley_data *batch, parley_error *error) {
    if (batch->format == &pl_format_multilabel || pl_has_label_sets(batch))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "preset online takes one label per row, but rows of %s have several; use another preset",
                       batch->path);
    if (!online->loss)
        choose_loss(online, batch);
    return *online->positive ? pl_positive_label(batch, online->positive, &online->state.high, error) : PARLEY_OK;
}

parley_status pl_online_admit(pl_online *online, const parley_data *batch, parley_error *error) {
    double low = online->state.low, y;
    const pl_loss *loss = online->loss;
    uint64_t longest = 0;
    parley_status status = begin_batch(online, batch, error);
    for (uint64_t i = 0; i < batch->x.rows && status == PARLEY_OK; i++) {
        uint64_t count = batch->x.start[i + 1] - batch->x.start[i];
        longest = count > longest ? count : longest;
        status = target_of(online, batch, i, i + !batch->from_arrays, &y, error);
    }
    if (status == PARLEY_OK)
        status = grow_row(online, longest, error);
    if (status == PARLEY_OK)
        status = grow_table(online, batch->x.columns, error);
    if (status != PARLEY_OK) {
        online->loss = loss;
        online->state.low = low;
    }
    return status;
}

parley_status pl_online_learn(pl_online *online, const parley_data *batch, uint64_t begin, uint64_t end,
                              parley_error *error) {
    parley_status begun = begin_batch(online, batch, error);
    if (begun != PARLEY_OK)
        return begun;
    if (batch->format == &pl_format_csv)
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: streams keep no names, so CSV cannot be streamed; write it to a cache with parley convert first",
            batch->path);
    online->state.hash_bits = batch->hash_bits;
    if (batch->hash_bits)
        online->bits = 0; /* the columns were hashed when they were read */
    online->state.learns = online->loss;
    online->state.columns = batch->x.columns > online->state.columns ? batch->x.columns : online->state.columns;
    parley_status status = grow_table(online, batch->x.columns, error);
    for (uint64_t i = begin; i < end && status == PARLEY_OK; i++) {
        if (i + 1 < end)
            look_ahead(online, &batch->x, i + 1);
        status = learn_row(online, batch, i, error);
    }
    return status;
}

const pl_online_state *pl_online_look(const pl_online *online) { return &online->state; }

parley_status pl_online_model(const pl_online *online, parley_model **out, parley_error *error) {
    const pl_online_state *state = &online->state;
    pl_linear_model *model;
    *out = NULL;
    parley_status status = pl_linear_new(1, online->size, online->loss, &model, error);
    if (status != PARLEY_OK)
        return status;
    double eta = eta_of(online);
    for (uint64_t j = 0; j < online->size; j++) {
        pl_cell cell = cells_of(online)[j];
        if (online->l1 > 0 || online->l2 > 0)
            penalise(online, &cell, eta);
        model->coef[j] = (double)cell.w;
    }
    model->intercept[0] = (double)online->constant.w;
    model->fold_bits = online->bits;
    model->low = !isnan(state->low) ? state->low : state->high == -1.0 ? 1.0 : -1.0;
    model->high = state->high;
    *out = &model->base;
    return status;
}

void pl_online_tell(pl_online *online, double low, double high) {
    online->told = true;
    online->state.low = low;
    online->state.high = high;
}

/* Lists the state, without the table and the settings. */
static void list(pl_online *online, pl_value values[NUMBERS]) {
    pl_online_state *state = &online->state;
    const pl_value all[NUMBERS] = {
        PL_WITHIN(online->size, 0, UINT32_MAX),
        PL_VALUE(state->rows),
        PL_VALUE(state->nonzeros),
        PL_WITHIN(state->columns, 0, UINT32_MAX),
        PL_VALUE(state->features),
        PL_WITHIN(state->hash_bits, 0, MOST_BITS),
        PL_VALUE(online->step),
        PL_WITHIN(online->bits, 0, MOST_BITS),
        PL_VALUE(online->told),
        PL_UNSURE(state->weight),
        PL_UNSURE(state->loss),
        PL_UNSURE(state->label),
        PL_UNSURE(state->prediction),
        PL_UNSURE(state->low),
        PL_UNSURE(state->high),
        PL_UNSURE(online->rows),
        PL_UNSURE(online->norms),
        PL_UNSURE(online->least),
        PL_UNSURE(online->most),
    };
    memcpy(values, all, sizeof all);
}

parley_status pl_online_pack(const pl_online *online, const pl_pair *metas, unsigned meta_count, void **bytes,
                             uint64_t *count, parley_error *error) {
    pl_online copy = *online; /* because the list contains pointers to non-const values */
    pl_value values[NUMBERS];
    double numbers[NUMBERS];
    list(&copy, values);
    for (unsigned i = 0; i < NUMBERS; i++)
        numbers[i] = pl_value_get(&values[i]);
    uint32_t constant[CELL_WORDS];
    memcpy(constant, &online->constant, sizeof constant);
    pl_tensor tensors[] = {{"numbers", PL_F64, 1, {NUMBERS, 0}, numbers},
                           {"constant", PL_U32, 1, {CELL_WORDS, 0}, constant},
                           {"cells", PL_U32, 2, {online->size, CELL_WORDS}, online->table.data}};
    return pl_container_pack(tensors, online->size > 0 ? 3 : 2, metas, meta_count, bytes, count, error);
}

static const void *words_of(const pl_container *container, const char *name, pl_dtype type, uint64_t count) {
    const pl_tensor *tensor = pl_container_tensor(container, name);
    bool fits =
        tensor && tensor->type == type && tensor->shape[0] * (tensor->dims == 2 ? tensor->shape[1] : 1) == count;
    return fits ? tensor->data : NULL;
}

static bool restore_numbers(pl_online *online, const pl_container *container) {
    const double *numbers = words_of(container, "numbers", PL_F64, NUMBERS);
    pl_value values[NUMBERS];
    list(online, values);
    for (unsigned i = 0; numbers && i < NUMBERS; i++) {
        if (!pl_value_fits(&values[i], numbers[i]))
            return false;
        pl_value_set(&values[i], numbers[i]);
    }
    return numbers && (online->bits == 0 || online->size == (uint64_t)1 << online->bits);
}

parley_status pl_online_unpack(pl_online *online, const pl_container *container, const char *learns,
                               parley_error *error) {
    const void *cells = NULL, *constant = words_of(container, "constant", PL_U32, CELL_WORDS);
    bool good = restore_numbers(online, container) && constant;
    uint64_t size = online->size;
    if (good && size > 0)
        cells = words_of(container, "cells", PL_U32, size * CELL_WORDS);
    if (!online->loss && *learns)
        online->loss = pl_loss_find(learns);
    if (!good || (size > 0 && !cells) || (!online->loss && online->state.rows > 0))
        return pl_fail(error, PARLEY_BAD_INPUT, "the bytes of a learner are incomplete");
    online->state.learns = online->loss;
    online->size = 0;
    parley_status status = grow_table(online, size, error);
    if (status != PARLEY_OK)
        return status;
    online->size = size;
    memcpy(&online->constant, constant, sizeof online->constant);
    if (size > 0)
        memcpy(online->table.data, cells, size * sizeof(pl_cell));
    return PARLEY_OK;
}

void pl_online_close(pl_online *online) {
    if (!online)
        return;
    pl_span_free(&online->table);
    pl_free(online->rates);
    pl_free(online->folded);
    pl_free(online);
}

parley_status pl_online_open(const parley_settings *settings, pl_online **out, parley_error *error) {
    parley_status status = pl_take(out, 1, sizeof **out, "online learning", error);
    if (status != PARLEY_OK)
        return status;
    pl_online *online = *out;
    double lambda = isnan(pl_linear_settings_of(settings)->lambda) ? 0.0 : pl_linear_settings_of(settings)->lambda;
    online->loss = pl_loss_find(pl_linear_settings_of(settings)->loss);
    if (online->loss)
        online->loss = pl_loss_tuned(online->loss, settings, &online->own_loss);
    online->normalised = (pl_schedule)settings->schedule != PL_ADAGRAD;
    online->intercept = (pl_intercept)pl_linear_settings_of(settings)->intercept;
    online->rate = isnan(settings->rate) ? FIRST_RATE : settings->rate;
    online->l1 = lambda * pl_linear_settings_of(settings)->l1_ratio;
    online->l2 = lambda * (1.0 - pl_linear_settings_of(settings)->l1_ratio);
    online->bits = pl_setting_given(settings, "hash_bits") ? (unsigned)settings->hash_bits : 0;
    snprintf(online->positive, sizeof online->positive, "%s", pl_linear_settings_of(settings)->positive);
    online->state.low = NAN;
    online->state.high = 1.0;
    return PARLEY_OK;
}

/* Rejects settings about rounds, shards or certificates, which a stream does not have. */
parley_status pl_online_check(const parley_settings *settings, parley_error *error) {
    static const char *const not_read[] = {"gap",
                                           "rounds",
                                           "evaluate_every",
                                           "workers",
                                           "worker_per",
                                           "weights",
                                           "log",
                                           "trace",
                                           "engine",
                                           "combine",
                                           "exchange",
                                           "seed",
                                           "C",
                                           "alpha",
                                           "class_weights",
                                           "penalty_factors",
                                           "non_negative",
                                           "validation",
                                           "validation_fraction"};
    if (settings->inference)
        return pl_linear_refuse_inference("--preset online", error);
    for (unsigned i = 0; i < sizeof not_read / sizeof *not_read; i++)
        if (pl_setting_given(settings, not_read[i])) {
            char flag[48];
            pl_setting_flag(pl_setting_find(not_read[i]), flag, sizeof flag);
            return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect with --preset online; leave it out", flag);
        }
    const pl_loss *loss = pl_loss_find(pl_linear_settings_of(settings)->loss);
    if (loss && loss->together)
        return pl_fail(error, PARLEY_BAD_USAGE, "--preset online supports at most two classes; use --preset gd");
    if (settings->standardise)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--standardise needs a pass over all rows in advance, but a stream is read once; leave it out, "
                       "since the rates of "
                       "--preset online do not depend on the units of columns, or use --preset ma-sgd");
    if (*settings->offset_column)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--offset-column does not work with --preset online; use --preset ma-sgd, or auto");
    if (settings->schedule != PL_ANY && settings->schedule < PL_ADAGRAD)
        return pl_fail(error, PARLEY_BAD_USAGE, "--preset online supports only --schedule normalised or adagrad");
    return PARLEY_OK;
}

const char *const pl_online_settings[] = {"rate", "schedule", "passes", NULL};
