/* validation.c: the split, the metric, and the model that is best by it. Every rank holds all validation rows and comes
 * to the same numbers. */
#include "train/validation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "model/linear_model.h"
#include "shard/distributed.h"

#define SPLIT_STREAM 0x73706c69u /* stream number of the split, apart from any worker's */

/* In the order of the setting's choices. */
static const pl_score scores[] = {{"loss", false},     {"accuracy", true}, {"auc", true},     {"log_loss", false},
                                  {"hinge", false},    {"rmse", false},    {"r2", true},      {"mae", false},
                                  {"deviance", false}, {"d2", true},       {"macro_f1", true}};

const pl_score *pl_score_of(const parley_settings *settings) { return &scores[settings->metric]; }

bool pl_score_better(const pl_score *score, double value, double than) {
    return isnan(than) ? !isnan(value) : score->larger ? value > than : value < than;
}

static double pick(const pl_score *score, const pl_metrics *metrics) {
    const double values[] = {
        NAN,         metrics->accuracy, metrics->auc,      metrics->log_loss, metrics->hinge,   metrics->rmse,
        metrics->r2, metrics->mae,      metrics->deviance, metrics->d2,       metrics->macro_f1};
    return values[score - scores];
}

/* The mean of the model's own loss, in the order of rows. */
static double mean_loss(const parley_model *model, const parley_data *rows, const double *decisions) {
    double sum = 0, total = 0;
    for (uint64_t i = 0; i < rows->x.rows; i++) {
        double weight = rows->weight ? rows->weight[i] : 1.0;
        sum += weight * pl_linear_loss(pl_linear(model), decisions + i * model->outputs, rows->label[i]);
        total += weight;
    }
    return sum / total;
}

parley_status pl_score_model(const pl_score *score, pl_engine *engine, const parley_model *model,
                             const parley_data *rows, double *decisions, double *value, parley_error *error) {
    pl_metrics metrics = {0};
    pl_meter *meter;
    engine->type->run(engine, pl_apply_task, &(pl_applying){model, &rows->x, decisions}, pl_apply_tasks(&rows->x));
    parley_status status = pl_meter_open(model, &meter, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_meter_add(meter, rows, decisions, error); /* which also refuses labels that are not the model's */
    if (status == PARLEY_OK && score != scores)
        pl_meter_read(meter, &metrics);
    pl_meter_close(meter);
    if (status != PARLEY_OK)
        return status;
    *value = score == scores ? mean_loss(model, rows, decisions) : pick(score, &metrics);
    if (isnan(*value))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--metric %s has no value with loss %s on these %llu rows; choose another, or none for the loss",
                       score->name, pl_linear(model)->loss->name, (unsigned long long)rows->x.rows);
    return PARLEY_OK;
}

static int by_number(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Of rows that lie on several ranks, every rank gets all that are set aside; the others stay where they are. */
static parley_status split_spread(pl_validation *validation, pl_engine *engine, const parley_data *data,
                                  const uint64_t *order, uint64_t aside, parley_error *error) {
    parley_data *own;
    uint64_t rows = pl_all_rows(data);
    parley_status status = pl_spread_subset(engine, data, order, aside, &own, error);
    if (status == PARLEY_OK)
        status = pl_spread_to_all(engine, own, &validation->own, error);
    parley_data_free(own);
    if (status == PARLEY_OK)
        status = pl_spread_subset(engine, data, order + aside, rows - aside, &validation->kept, error);
    return status;
}

/* A seeded share of the rows is set aside; both parts keep the order of the data. */
static parley_status split(pl_validation *validation, pl_engine *engine, const parley_data *data,
                           const parley_settings *settings, parley_error *error) {
    uint64_t rows = pl_all_rows(data), aside = (uint64_t)(settings->validation_fraction * (double)rows + 0.5), *order;
    if (data->deal)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--validation-fraction needs all rows in every process; use --validation FILE");
    if (aside < 1 || aside >= rows)
        return pl_fail(error, PARLEY_BAD_USAGE, "--validation-fraction %g of %llu rows is %s",
                       settings->validation_fraction, (unsigned long long)rows, aside < 1 ? "none" : "all of them");
    parley_status status = pl_take(&order, rows, sizeof *order, "the split of rows", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t i = 0; i < rows; i++)
        order[i] = i;
    pl_stream stream = pl_stream_make(settings->seed, SPLIT_STREAM, 0);
    pl_shuffle(&stream, order, rows);
    qsort(order, aside, sizeof *order, by_number);
    qsort(order + aside, rows - aside, sizeof *order, by_number);
    if (data->spread)
        status = split_spread(validation, engine, data, order, aside, error);
    else {
        status = pl_data_subset(data, order, aside, &validation->own, error);
        if (status == PARLEY_OK)
            status = pl_data_subset(data, order + aside, rows - aside, &validation->kept, error);
    }
    pl_free(order);
    return status;
}

/* Read as the training rows were, and with their columns and classes. */
static parley_status read_rows(pl_validation *validation, const parley_data *data, const parley_settings *settings,
                               parley_error *error) {
    pl_pool *pool;
    pl_reading reading = {0};
    parley_status status = pl_reading_of(settings, &reading, error);
    if (status == PARLEY_OK)
        status = pl_pool_open(&pool, (unsigned)settings->threads, error);
    if (status != PARLEY_OK)
        return status;
    reading.labels = NULL; /* a file of labels is the training rows' own */
    reading.model_columns = data->x.columns;
    reading.names = &data->names;
    reading.classes = &data->classes;
    reading.model_bits = data->hash_bits;
    status = pl_data_read_as(settings->validation, &reading, pool, &validation->own, error);
    pl_pool_close(pool);
    return status;
}

parley_status pl_validation_open(pl_validation *validation, pl_engine *engine, const parley_data *data,
                                 const parley_settings *settings, parley_error *error) {
    *validation = (pl_validation){.score = pl_score_of(settings), .latest = NAN, .best = NAN};
    parley_status status = PARLEY_OK;
    if (*settings->validation)
        status = read_rows(validation, data, settings, error);
    else if (settings->validation_fraction > 0)
        status = split(validation, engine, data, settings, error);
    validation->rows = validation->own;
    return status;
}

parley_status pl_validation_begin(pl_validation *validation, uint64_t size, uint64_t outputs, parley_error *error) {
    if (!validation->rows)
        return PARLEY_OK;
    parley_status status = pl_take(&validation->w, size, sizeof(double), "the best model", error);
    if (status == PARLEY_OK)
        status = pl_take(&validation->decisions, outputs * validation->rows->x.rows, sizeof(double),
                         "decisions on validation rows", error);
    return status;
}

parley_status pl_validation_look(pl_validation *validation, pl_engine *engine, const pl_problem *problem,
                                 const double *w, double objective, uint64_t round, parley_error *error) {
    parley_model *model;
    if (!isfinite(objective))
        return PARLEY_OK; /* diverged; the loop goes back */
    parley_status status = problem->type->model(problem, w, &model, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_score_model(validation->score, engine, model, validation->rows, validation->decisions,
                            &validation->latest, error);
    parley_model_free(model);
    if (status != PARLEY_OK)
        return status;
    validation->worse++;
    if (pl_score_better(validation->score, validation->latest, validation->best)) {
        validation->best = validation->latest;
        validation->best_round = round;
        validation->worse = 0;
        validation->objective = objective;
        memcpy(validation->w, w, problem->size * sizeof *w);
    }
    return PARLEY_OK;
}

void pl_validation_close(pl_validation *validation) {
    parley_data_free(validation->own);
    parley_data_free(validation->kept);
    pl_free(validation->decisions);
    pl_free(validation->w);
    *validation = (pl_validation){0};
}
