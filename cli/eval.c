/* eval.c: `parley eval`: rows are streamed through a meter. Weights in a file need all rows at once. */
#include "view.h"

#define KEY_WIDTH 17 /* of the metrics of classes */

typedef struct evaluation {
    const parley_model *model;
    pl_meter *meter;
    pl_pool *pool;
    double *values;
    uint64_t room;
} evaluation;

static parley_status add_batch(evaluation *evaluation, const parley_data *batch, parley_error *error) {
    uint64_t count = batch->x.rows * pl_meter_width(evaluation->model);
    if (count > evaluation->room) {
        pl_free(evaluation->values);
        evaluation->room = 0;
        parley_status status = pl_take(&evaluation->values, count, sizeof(double), "the model's outputs", error);
        if (status != PARLEY_OK)
            return status;
        evaluation->room = count;
    }
    pl_pool_run(evaluation->pool, pl_apply_task,
                &(pl_applying){evaluation->model, &batch->x, evaluation->values, evaluation->meter},
                pl_apply_tasks(&batch->x));
    return evaluation->model->type->meter->add(evaluation->meter, batch, evaluation->values, error);
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

/* Leaves the meter open, since its results are still to be shown. */
static parley_status evaluate(evaluation *evaluation, const char *path, const parley_settings *settings,
                              parley_error *error) {
    pl_reading reading;
    parley_status status = pl_reading_of(settings, &reading, error);
    if (status != PARLEY_OK)
        return status;
    pl_model_reading(evaluation->model, &reading);
    reading.warn = tell_error_output;
    status = pl_pool_open(&evaluation->pool, (unsigned)settings->threads, error);
    if (status == PARLEY_OK)
        status = evaluation->model->type->meter->open(evaluation->model, NULL, &evaluation->meter, error);
    if (status == PARLEY_OK)
        status = *settings->weights ? add_weighted(evaluation, path, &reading, settings->weights, error)
                                    : add_stream(evaluation, path, &reading, error);
    return status;
}

static int eval_run(const arguments *arguments) {
    parley_model *model;
    evaluation evaluation = {0};
    view view;
    parley_error error;
    parley_status status = load_model(arguments, &model, &error);
    if (status != PARLEY_OK)
        return fail(arguments->command, &error);
    evaluation.model = model;
    status = evaluate(&evaluation, arguments->operands[1], &arguments->settings, &error);
    pl_viewer *viewer = view_open(&view, arguments, VIEW_FIELDS, 6);
    view.width = pl_model_labels(model) > 0 ? KEY_WIDTH : FIELD_WIDTH;
    if (status == PARLEY_OK)
        model->type->meter->show(evaluation.meter, viewer);
    int code = view_close(&view, arguments, status, &error);
    model->type->meter->close(evaluation.meter);
    pl_free(evaluation.values);
    pl_pool_close(evaluation.pool);
    parley_model_free(model);
    return code;
}

const command eval_command = {
    .name = "eval",
    .operands = "MODEL DATA",
    .least = 2,
    .most = 2,
    .options = PL_FOR_EVAL,
    .summary = "evaluate a model on labelled data",
    .details = "Prints the metrics of the model on DATA (`parley list metrics` explains them), and figures by class "
               "where there are several. DATA may be larger than memory; - is standard input.",
    .run = eval_run,
};
