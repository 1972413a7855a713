/* validation.c: the split, the metric, and the model that is best by it. Every rank holds all validation rows and
 * computes the same numbers. */
#include "train/validation.h"
#include "data/label_sets.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/sort_numbers.h"
#include "base/stop.h"
#include "engine/collective.h"
#include "shard/distributed.h"

#define SPLIT_STREAM 0x73706c69u /* random stream of the split, distinct from those of workers */

bool pl_score_better(const pl_model_metric *score, double value, double than) {
    return isnan(than) ? !isnan(value) : score->larger ? value > than : value < than;
}

/* Applies the model to the rows, on this thread if there is no engine. */
static void apply(pl_engine *engine, pl_applying *applying) {
    unsigned tasks = pl_apply_tasks(applying->x);
    if (engine)
        engine->type->run(engine, pl_apply_task, applying, tasks);
    for (unsigned task = 0; task < tasks && !engine; task++)
        pl_apply_task(applying, task);
}

/* Opens a meter, for `score` or for all that it can show, and adds the rows to it. If all ranks do so, they agree
 * whether to stop. Rejects labels that the model does not have. */
static parley_status measure(const pl_model_metric *score, pl_engine *engine, bool all_ranks, const parley_model *model,
                             const parley_data *rows, pl_meter **meter, parley_error *error) {
    const pl_meter_type *type = model->type->meter;
    double *outputs;
    parley_status status = pl_take(&outputs, pl_meter_width(model) * rows->x.rows, sizeof *outputs,
                                   "the outputs for validation rows", error);
    if (status != PARLEY_OK)
        return status;
    status = type->open(model, score, meter, error);
    if (status == PARLEY_OK)
        apply(engine, &(pl_applying){model, &rows->x, outputs, *meter});
    if (status == PARLEY_OK) /* after a stop not all rows were visited */
        status = all_ranks ? pl_sum_passes(engine, PL_EACH_RANK, &(double){0}, 1, &(double){0}, error)
                           : pl_stop_check(error);
    if (status == PARLEY_OK)
        status = type->add(*meter, rows, outputs, error);
    pl_free(outputs);
    return status;
}

parley_status pl_score_model(const pl_model_metric *score, pl_engine *engine, const parley_model *model,
                             const parley_data *rows, double *value, parley_error *error) {
    char names[256];
    pl_meter *meter = NULL;
    parley_status status = measure(score, engine, true, model, rows, &meter, error);
    if (status == PARLEY_OK)
        *value = score->value(meter);
    model->type->meter->close(meter);
    if (status != PARLEY_OK || !isnan(*value))
        return status;
    pl_metric_names(model->type, model, names, sizeof names);
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "--metric %s is undefined for this model on these %llu rows; choose one of %s", score->name,
                   (unsigned long long)rows->x.rows, names);
}

parley_status pl_score_alone(const pl_model_metric *score, const parley_model *model, const parley_data *rows,
                             double *value, parley_error *error) {
    pl_meter *meter = NULL;
    parley_status status = measure(score, NULL, false, model, rows, &meter, error);
    *value = status == PARLEY_OK ? score->value(meter) : NAN;
    model->type->meter->close(meter);
    return status == PARLEY_STOPPED ? PARLEY_OK : status;
}

parley_status pl_score_show(pl_engine *engine, const parley_model *model, const parley_data *rows, pl_viewer *viewer,
                            parley_error *error) {
    pl_meter *meter = NULL;
    parley_status status = measure(NULL, engine, false, model, rows, &meter, error);
    if (status == PARLEY_OK)
        model->type->meter->show(meter, viewer);
    model->type->meter->close(meter);
    return status;
}

/* If rows are distributed, every rank gets all validation rows, and the others stay where they are. */
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

/* Sets aside a seeded share of the rows. Both parts keep the order of the data. */
static parley_status split(pl_validation *validation, pl_engine *engine, const parley_data *data,
                           const parley_settings *settings, parley_error *error) {
    uint64_t rows = pl_all_rows(data), aside = (uint64_t)(settings->validation_fraction * (double)rows + 0.5), *order;
    if (data->deal)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--validation-fraction needs all rows in every process; use --validation FILE");
    if (aside < 1 || aside >= rows)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--validation-fraction %g: of %llu rows this is %s; give another fraction",
                       settings->validation_fraction, (unsigned long long)rows, aside < 1 ? "none" : "all of them");
    parley_status status = pl_take(&order, rows, sizeof *order, "the split of rows", error);
    if (status != PARLEY_OK)
        return status;
    pl_stream stream = pl_stream_make(settings->seed, SPLIT_STREAM, 0);
    pl_draw(&stream, order, rows, aside);
    pl_sort_wholes(order + aside, rows - aside);
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

/* Reads validation rows as the training rows were read, with the same columns and classes. */
static parley_status read_rows(pl_validation *validation, const parley_data *data, const parley_settings *settings,
                               parley_error *error) {
    pl_pool *pool;
    pl_reading reading = {0};
    parley_status status = pl_reading_of(settings, &reading, error);
    if (status == PARLEY_OK)
        status = pl_pool_open(&pool, (unsigned)settings->threads, error);
    if (status != PARLEY_OK)
        return status;
    reading.labels = NULL; /* a file of labels belongs to the training rows */
    reading.model_columns = data->x.columns;
    reading.names = &data->names;
    reading.classes = &data->classes;
    reading.model_bits = data->hash_bits;
    reading.label_sets = pl_has_label_sets(data);
    reading.table = data->table;
    reading.wide = reading.unjudged = pl_is_wide(data);
    status = pl_data_read_as(settings->validation, &reading, pool, &validation->own, error);
    pl_pool_close(pool);
    return status;
}

parley_status pl_validation_open(pl_validation *validation, pl_engine *engine, const parley_data *data,
                                 const pl_model_type *type, const parley_settings *settings, parley_error *error) {
    *validation = (pl_validation){.score = pl_metric_find(type, settings->metric), .latest = NAN, .best = NAN};
    char names[256];
    parley_status status = PARLEY_OK;
    pl_metric_names(type, NULL, names, sizeof names);
    if (!validation->score)
        return pl_fail(error, PARLEY_BAD_USAGE, "--metric %s is not for %s models; choose one of %s", settings->metric,
                       type->name, names);
    if (*settings->validation)
        status = read_rows(validation, data, settings, error);
    else if (settings->validation_fraction > 0)
        status = split(validation, engine, data, settings, error);
    validation->rows = validation->own;
    return status;
}

parley_status pl_validation_begin(pl_validation *validation, uint64_t size, parley_error *error) {
    return validation->rows ? pl_take(&validation->w, size, sizeof(double), "the best model", error) : PARLEY_OK;
}

void pl_validation_note(pl_validation *validation, double value, const double *w, uint64_t size, double objective,
                        uint64_t round) {
    validation->worse++;
    if (!pl_score_better(validation->score, value, validation->best))
        return;
    validation->best = value;
    validation->best_round = round;
    validation->worse = 0;
    validation->objective = objective;
    memcpy(validation->w, w, size * sizeof *w);
}

parley_status pl_validation_look(pl_validation *validation, pl_engine *engine, const parley_model *model,
                                 const double *w, uint64_t size, double objective, uint64_t round,
                                 parley_error *error) {
    parley_status status =
        pl_score_model(validation->score, engine, model, validation->rows, &validation->latest, error);
    if (status != PARLEY_OK)
        return status;
    validation->latest_round = round;
    pl_validation_note(validation, validation->latest, w, size, objective, round);
    return PARLEY_OK;
}

void pl_validation_close(pl_validation *validation) {
    parley_data_free(validation->own);
    parley_data_free(validation->kept);
    pl_free(validation->w);
    *validation = (pl_validation){0};
}
