/* eval.c: `parley eval`: rows stream through a meter. Weights from a file need all rows at once. */
#include <math.h>

#include "cli.h"
#include "model/model.h"

typedef struct evaluation {
    const parley_model *model;
    pl_meter *meter;
    pl_pool *pool;
    double *decisions;
    uint64_t room;
} evaluation;

static parley_status add_batch(evaluation *evaluation, const parley_data *batch, parley_error *error) {
    if (batch->x.rows > evaluation->room) {
        pl_free(evaluation->decisions);
        evaluation->room = 0;
        parley_status status =
            pl_take(&evaluation->decisions, batch->x.rows, sizeof(double), "the decision values", error);
        if (status != PARLEY_OK)
            return status;
        evaluation->room = batch->x.rows;
    }
    pl_model_decide_all(evaluation->model, batch, evaluation->pool, evaluation->decisions);
    return pl_meter_add(evaluation->meter, batch, evaluation->decisions, error);
}

static parley_status add_stream(evaluation *evaluation, const char *path, const pl_reading *reading,
                                parley_error *error) {
    pl_reader *reader;
    const parley_data *batch = NULL;
    parley_status status = pl_reader_open_as(path, reading, evaluation->pool, &reader, error);
    if (status != PARLEY_OK)
        return status;
    do {
        status = pl_reader_next(reader, &batch, error);
        if (status == PARLEY_OK && batch)
            status = add_batch(evaluation, batch, error);
    } while (status == PARLEY_OK && batch);
    pl_reader_close(reader);
    return status;
}

static parley_status add_weighted(evaluation *evaluation, const char *path, const pl_reading *reading,
                                  const char *weights, parley_error *error) {
    parley_data *data = NULL;
    parley_status status = pl_data_read_as(path, reading, evaluation->pool, &data, error);
    if (status == PARLEY_OK)
        status = pl_data_read_weights(data, weights, error);
    if (status == PARLEY_OK)
        status = add_batch(evaluation, data, error);
    parley_data_free(data);
    return status;
}

static parley_status evaluate(const parley_model *model, const char *path, const parley_settings *settings,
                              pl_metrics *metrics, parley_error *error) {
    evaluation evaluation = {.model = model};
    pl_reading reading;
    parley_status status = pl_reading_of(settings, &reading, error);
    if (status != PARLEY_OK)
        return status;
    pl_model_reading(model, &reading);
    reading.warn = tell_error_output;
    status = pl_pool_open(&evaluation.pool, (unsigned)settings->threads, error);
    if (status == PARLEY_OK)
        status = pl_meter_open(model, &evaluation.meter, error);
    if (status == PARLEY_OK)
        status = *settings->weights ? add_weighted(&evaluation, path, &reading, settings->weights, error)
                                    : add_stream(&evaluation, path, &reading, error);
    if (status == PARLEY_OK)
        pl_meter_read(evaluation.meter, metrics);
    pl_meter_close(evaluation.meter);
    pl_free(evaluation.decisions);
    pl_pool_close(evaluation.pool);
    return status;
}

typedef struct measure {
    const char *name;
    double value;
} measure;

/* The metrics that apply to the loss, in `measures`; returns how many. One that the data leave open is NaN. */
static unsigned choose(const pl_loss *loss, const pl_metrics *metrics, measure *measures) {
    unsigned count = 0;
    if (loss->labels == PL_LABELS_BINARY) {
        measures[count++] = (measure){"accuracy", metrics->accuracy};
        measures[count++] = (measure){"auc", metrics->auc};
        if (loss->probability)
            measures[count++] = (measure){"log_loss", metrics->log_loss};
        measures[count++] = (measure){"hinge", metrics->hinge};
    } else {
        measures[count++] = (measure){"rmse", metrics->rmse};
        measures[count++] = (measure){"r2", metrics->r2};
        measures[count++] = (measure){"mae", metrics->mae};
        if (loss->parameter)
            measures[count++] = (measure){"mean_loss", metrics->mean_loss};
        if (loss->counts) {
            measures[count++] = (measure){"deviance", metrics->deviance};
            measures[count++] = (measure){"d2", metrics->d2};
        }
    }
    return count;
}

static int print_metrics(const arguments *arguments, const pl_loss *loss, const pl_metrics *metrics) {
    measure measures[8];
    unsigned count = choose(loss, metrics, measures);
    if (arguments->settings.json) {
        json_t *object = json_object();
        json_put(&object, "loss", json_string(loss->name));
        json_put(&object, "rows", json_count(metrics->rows));
        for (unsigned i = 0; i < count; i++)
            json_put(&object, measures[i].name, json_number(measures[i].value));
        return json_print(arguments->command, object);
    }
    print_field(stdout, "loss", "%s", loss->name);
    print_field(stdout, "rows", "%llu", (unsigned long long)metrics->rows);
    for (unsigned i = 0; i < count; i++)
        if (isnan(measures[i].value))
            print_field(stdout, measures[i].name, "not defined: all labels are the same");
        else
            print_field(stdout, measures[i].name, "%.6g", measures[i].value);
    return EXIT_DONE;
}

int eval_run(const arguments *arguments) {
    parley_model *model;
    pl_metrics metrics;
    parley_error error;
    parley_status status = parley_model_load(arguments->operands[0], &model, &error);
    if (status == PARLEY_OK)
        status = evaluate(model, arguments->operands[1], &arguments->settings, &metrics, &error);
    int code = status == PARLEY_OK ? print_metrics(arguments, model->loss, &metrics) : fail(arguments->command, &error);
    parley_model_free(model);
    return code;
}
