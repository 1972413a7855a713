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
    uint64_t values = batch->x.rows * evaluation->model->outputs;
    if (values > evaluation->room) {
        pl_free(evaluation->decisions);
        evaluation->room = 0;
        parley_status status = pl_take(&evaluation->decisions, values, sizeof(double), "the decision values", error);
        if (status != PARLEY_OK)
            return status;
        evaluation->room = values;
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

/* Leaves the meter open: its counts by class are still to be printed. */
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
        status = pl_meter_open(evaluation->model, &evaluation->meter, error);
    if (status == PARLEY_OK)
        status = *settings->weights ? add_weighted(evaluation, path, &reading, settings->weights, error)
                                    : add_stream(evaluation, path, &reading, error);
    return status;
}

typedef struct measure {
    const char *name;
    double value;
} measure;

/* The metrics that apply to the model, in `measures`; returns how many. One that the data leave open is NaN. */
static unsigned choose(const parley_model *model, const pl_metrics *metrics, measure *measures) {
    const pl_loss *loss = model->loss;
    unsigned count = 0;
    if (loss->labels == PL_LABELS_REAL) {
        measures[count++] = (measure){"rmse", metrics->rmse};
        measures[count++] = (measure){"r2", metrics->r2};
        measures[count++] = (measure){"mae", metrics->mae};
        if (loss->parameter)
            measures[count++] = (measure){"mean_loss", metrics->mean_loss};
        if (loss->counts) {
            measures[count++] = (measure){"deviance", metrics->deviance};
            measures[count++] = (measure){"d2", metrics->d2};
        }
        return count;
    }
    measures[count++] = (measure){"accuracy", metrics->accuracy};
    if (model->outputs > 1)
        measures[count++] = (measure){"macro_f1", metrics->macro_f1};
    else
        measures[count++] = (measure){"auc", metrics->auc};
    if (pl_loss_gives_probabilities(loss))
        measures[count++] = (measure){"log_loss", metrics->log_loss};
    if (!loss->together)
        measures[count++] = (measure){"hinge", metrics->hinge};
    return count;
}

static double ratio(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

/* The label of a class: its name, where labels were words. */
static void label_text(const parley_model *model, uint64_t c, char *text, size_t size) {
    double label = model->labels[c];
    bool named = label >= 0 && label < (double)model->classes.count;
    pl_name name = pl_names_at(&model->classes, named ? (uint64_t)label : UINT64_MAX);
    if (named)
        snprintf(text, size, "%.*s", (int)name.bytes, name.text);
    else
        pl_number_text(label, text, size);
}

static json_t *classes_json(const parley_model *model, const pl_class_count *classes) {
    json_t *list = json_array();
    for (uint64_t c = 0; c < model->outputs; c++) {
        char label[256];
        json_t *one = json_object();
        label_text(model, c, label, sizeof label);
        json_put(&one, "label", json_string(label));
        json_put(&one, "weight", json_number(classes[c].rows));
        json_put(&one, "precision", json_number(ratio(classes[c].right, classes[c].predicted)));
        json_put(&one, "recall", json_number(ratio(classes[c].right, classes[c].rows)));
        json_append(&list, one);
    }
    return list;
}

static void print_classes(const parley_model *model, const pl_class_count *classes) {
    printf("\n%-14s %10s %10s %10s %10s\n", "label", "weight", "precision", "recall", "f1");
    for (uint64_t c = 0; c < model->outputs; c++) {
        char label[256];
        label_text(model, c, label, sizeof label);
        printf("%-14s %10.6g %10.4f %10.4f %10.4f\n", label, classes[c].rows,
               ratio(classes[c].right, classes[c].predicted), ratio(classes[c].right, classes[c].rows),
               ratio(2.0 * classes[c].right, classes[c].rows + classes[c].predicted));
    }
}

static int print_metrics(const arguments *arguments, const parley_model *model, pl_meter *meter) {
    measure measures[8];
    pl_metrics metrics;
    pl_meter_read(meter, &metrics);
    unsigned count = choose(model, &metrics, measures);
    if (arguments->settings.json) {
        json_t *object = json_object();
        json_put(&object, "loss", json_string(model->loss->name));
        json_put(&object, "rows", json_count(metrics.rows));
        for (unsigned i = 0; i < count; i++)
            json_put(&object, measures[i].name, json_number(measures[i].value));
        if (model->outputs > 1)
            json_put(&object, "classes", classes_json(model, pl_meter_classes(meter)));
        return json_print(arguments->command, object);
    }
    print_field(stdout, "loss", "%s", model->loss->name);
    print_field(stdout, "rows", "%llu", (unsigned long long)metrics.rows);
    for (unsigned i = 0; i < count; i++)
        if (isnan(measures[i].value))
            print_field(stdout, measures[i].name, "not defined: all labels are the same");
        else
            print_field(stdout, measures[i].name, "%.6g", measures[i].value);
    if (model->outputs > 1)
        print_classes(model, pl_meter_classes(meter));
    return EXIT_DONE;
}

int eval_run(const arguments *arguments) {
    parley_model *model;
    evaluation evaluation = {0};
    parley_error error;
    parley_status status = parley_model_load(arguments->operands[0], &model, &error);
    evaluation.model = model;
    if (status == PARLEY_OK)
        status = evaluate(&evaluation, arguments->operands[1], &arguments->settings, &error);
    int code =
        status == PARLEY_OK ? print_metrics(arguments, model, evaluation.meter) : fail(arguments->command, &error);
    pl_meter_close(evaluation.meter);
    pl_free(evaluation.decisions);
    pl_pool_close(evaluation.pool);
    parley_model_free(model);
    return code;
}
