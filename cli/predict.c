/* predict.c: `parley predict`: rows stream through; blocks of them are decided and put into text on all threads, and
 * written in order. */
#include <math.h>
#include <string.h>

#include "cli.h"
#include "model/model.h"

#define BLOCK_ROWS 2048
#define BLOCKS 32     /* put into text before they are written */
#define PREDICTION 32 /* most bytes of one number and what follows it */

typedef struct printer {
    const parley_model *model;
    pl_output output;
    const parley_data *batch;
    uint64_t first;  /* row of the batch with which the blocks begin */
    uint64_t rows;   /* of a block */
    char **lines;    /* of the labels: the lower and upper one, or those of all classes; NULL: they are numbers */
    uint64_t labels; /* how many */
    size_t width;    /* most bytes of one line */
    uint64_t used[BLOCKS];
    char *text;        /* BLOCKS x rows x width bytes */
    double *decisions; /* BLOCKS x outputs */
} printer;

static size_t put_number(char *text, double value, char end) {
    pl_number_text(value, text, PREDICTION - 1);
    size_t length = strlen(text);
    text[length] = end;
    return length + 1;
}

static size_t put_label(const printer *printer, char *text, const double *decisions) {
    const parley_model *model = printer->model;
    double label = pl_model_predict(model, decisions);
    if (!printer->lines)
        return put_number(text, label, '\n');
    const char *line = printer->lines[model->outputs > 1 ? pl_model_class(model, label) : label == model->high];
    size_t length = strlen(line);
    memcpy(text, line, length);
    return length;
}

/* A label, or a number for each output with blanks between them. */
static size_t put_prediction(const printer *printer, char *text, double *decisions) {
    uint64_t outputs = printer->model->outputs;
    size_t used = 0;
    if (printer->output == PL_LABEL)
        return put_label(printer, text, decisions);
    if (printer->output == PL_PROBABILITY)
        pl_model_probabilities(printer->model, decisions);
    for (uint64_t output = 0; output < outputs; output++)
        used += put_number(text + used, decisions[output], output + 1 < outputs ? ' ' : '\n');
    return used;
}

static void put_block(void *context, unsigned block) {
    printer *printer = context;
    const pl_matrix *x = &printer->batch->x;
    char *text = printer->text + block * printer->rows * printer->width;
    double *decisions = printer->decisions + block * printer->model->outputs;
    uint64_t row = printer->first + block * printer->rows, used = 0;
    uint64_t end = row + printer->rows < x->rows ? row + printer->rows : x->rows;
    for (; row < end; row++) {
        pl_model_decide_row(printer->model, x, row, decisions);
        used += put_prediction(printer, text + used, decisions);
    }
    printer->used[block] = used;
}

/* False: standard output takes no more, which `main` reports. */
static bool print_batch(printer *printer, pl_pool *pool) {
    uint64_t rows = printer->batch->x.rows;
    for (printer->first = 0; printer->first < rows; printer->first += BLOCKS * printer->rows) {
        uint64_t left = (rows - printer->first + printer->rows - 1) / printer->rows;
        unsigned blocks = left < BLOCKS ? (unsigned)left : BLOCKS;
        pl_pool_run(pool, put_block, printer, blocks);
        for (unsigned i = 0; i < blocks; i++)
            if (fwrite(printer->text + i * printer->rows * printer->width, 1, printer->used[i], stdout) <
                printer->used[i])
                return false;
    }
    return true;
}

static parley_status print_all(printer *printer, const char *path, const parley_settings *settings, pl_pool *pool,
                               parley_error *error) {
    pl_reader *reader;
    pl_reading reading;
    parley_status status = pl_reading_of(settings, &reading, error);
    if (status != PARLEY_OK)
        return status;
    pl_model_reading(printer->model, &reading);
    reading.unlabelled = true;
    reading.warn = tell_error_output;
    status = pl_reader_open_as(path, &reading, pool, &reader, error);
    if (status != PARLEY_OK)
        return status;
    do
        status = pl_reader_next(reader, &printer->batch, error);
    while (status == PARLEY_OK && printer->batch && print_batch(printer, pool));
    pl_reader_close(reader);
    return status;
}

/* The line of a label: the name of its class, or the number. */
static parley_status put_line(printer *printer, double label, char **line, parley_error *error) {
    const pl_names *classes = &printer->model->classes;
    bool named = label >= 0 && label < (double)classes->count;
    pl_name name = pl_names_at(classes, named ? (uint64_t)label : UINT64_MAX);
    size_t width = named && name.bytes + 2 > PREDICTION ? (size_t)name.bytes + 2 : PREDICTION;
    parley_status status = pl_take(line, width, 1, "the predictions", error);
    if (status != PARLEY_OK)
        return status;
    if (named) {
        memcpy(*line, name.text, name.bytes);
        (*line)[name.bytes] = '\n';
    } else
        put_number(*line, label, '\n');
    printer->width = width > printer->width ? width : printer->width;
    return PARLEY_OK;
}

/* The lines of all labels that the model knows, which are many rows'. */
static parley_status put_lines(printer *printer, parley_error *error) {
    const parley_model *model = printer->model;
    uint64_t labels = model->outputs > 1 ? model->outputs : 2;
    if (model->loss->labels == PL_LABELS_REAL)
        return PARLEY_OK;
    parley_status status = pl_take(&printer->lines, labels, sizeof *printer->lines, "the predictions", error);
    for (uint64_t i = 0; i < labels && status == PARLEY_OK; i++, printer->labels++)
        status = put_line(printer,
                          model->outputs > 1 ? model->labels[i]
                          : i                ? model->high
                                             : model->low,
                          &printer->lines[i], error);
    return status;
}

static parley_status open_printer(printer *printer, const parley_settings *settings, const char *path,
                                  const parley_model *model, parley_error *error) {
    *printer = (struct printer){.model = model, .output = (pl_output)settings->output, .width = PREDICTION};
    if (printer->output == PL_PROBABILITY && !pl_loss_gives_probabilities(model->loss))
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: a model of %s loss gives no probabilities; use --output decision, or train with --loss logistic", path,
            model->loss->name);
    parley_status status = put_lines(printer, error);
    printer->rows = model->outputs < BLOCK_ROWS ? BLOCK_ROWS / model->outputs : 1;
    if (printer->width < model->outputs * PREDICTION)
        printer->width = model->outputs * PREDICTION;
    if (status == PARLEY_OK)
        status = pl_take(&printer->decisions, BLOCKS * model->outputs, sizeof(double), "the predictions", error);
    if (status == PARLEY_OK)
        status = pl_take(&printer->text, BLOCKS * printer->rows, printer->width, "the predictions", error);
    return status;
}

static parley_status work(const arguments *arguments, parley_error *error) {
    const parley_settings *settings = &arguments->settings;
    const char *model_path = arguments->operands[0], *data_path = arguments->operands[1];
    printer printer = {0};
    parley_model *model = NULL;
    pl_pool *pool = NULL;
    parley_status status = parley_model_load(model_path, &model, error);
    if (status == PARLEY_OK)
        status = open_printer(&printer, settings, model_path, model, error);
    if (status == PARLEY_OK)
        status = pl_pool_open(&pool, (unsigned)settings->threads, error);
    if (status == PARLEY_OK)
        status = print_all(&printer, data_path, settings, pool, error);
    pl_pool_close(pool);
    pl_free(printer.text);
    for (uint64_t i = 0; i < printer.labels; i++)
        pl_free(printer.lines[i]);
    pl_free(printer.lines);
    pl_free(printer.decisions);
    parley_model_free(model);
    return status;
}

int predict_run(const arguments *arguments) {
    parley_error error;
    return work(arguments, &error) == PARLEY_OK ? EXIT_DONE : fail(arguments->command, &error);
}
