/* predict.c: `parley predict`: rows are streamed. The model is applied to blocks of them, which are formatted on all
 * threads and written in order. */
#include <string.h>

#include "cli.h"
#include "model/model.h"

#define BLOCK_ROWS 2048
#define BLOCKS 32     /* formatted before they are written */
#define PREDICTION 32 /* most bytes of one number and its separator */

/* A label that predictions can have, and its output line: the name of its class, or the number. */
typedef struct label_line {
    double label;
    char *text;
} label_line;

typedef struct printer {
    const parley_model *model;
    pl_output output;
    const parley_data *batch;
    uint64_t first;    /* first row of the blocks in the batch */
    uint64_t rows;     /* rows per block */
    label_line *lines; /* in increasing order of labels */
    uint64_t labels;   /* number of lines; 0 if predictions are real numbers */
    size_t width;      /* most bytes of one line */
    uint64_t used[BLOCKS];
    char *text;     /* BLOCKS x rows x width bytes */
    double *values; /* BLOCKS x rows x outputs */
} printer;

static size_t put_number(char *text, double value, char end) {
    pl_number_text(value, text, PREDICTION - 1);
    size_t length = strlen(text);
    text[length] = end;
    return length + 1;
}

static size_t put_label(const printer *printer, char *text, const double *values) {
    double label = printer->model->type->predict(printer->model, values);
    uint64_t low = 0, high = printer->labels;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (printer->lines[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == printer->labels)
        return put_number(text, label, '\n');
    size_t length = strlen(printer->lines[low].text);
    memcpy(text, printer->lines[low].text, length);
    return length;
}

/* Formats a label, or one number per output separated by blanks. */
static size_t put_prediction(const printer *printer, char *text, double *values) {
    uint64_t outputs = printer->model->outputs;
    size_t used = 0;
    if (printer->output == PL_LABEL)
        return put_label(printer, text, values);
    printer->model->type->finish(printer->model, printer->output, values, NULL);
    for (uint64_t output = 0; output < outputs; output++)
        used += put_number(text + used, values[output], output + 1 < outputs ? ' ' : '\n');
    return used;
}

static void put_block(void *context, unsigned block) {
    printer *printer = context;
    const pl_matrix *x = &printer->batch->x;
    uint64_t outputs = printer->model->outputs, used = 0;
    char *text = printer->text + block * printer->rows * printer->width;
    double *values = printer->values + block * printer->rows * outputs;
    uint64_t row = printer->first + block * printer->rows;
    uint64_t end = row + printer->rows < x->rows ? row + printer->rows : x->rows;
    printer->model->type->apply(printer->model, x, row, end, values);
    for (; row < end; row++, values += outputs)
        used += put_prediction(printer, text + used, values);
    printer->used[block] = used;
}

/* Returns false if standard output accepts no more, which `main` reports. */
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

static parley_status put_line(printer *printer, label_line *line, parley_error *error) {
    char number[PREDICTION];
    pl_name name = pl_model_label(printer->model, line->label, number, sizeof number);
    size_t width = name.bytes + 2 > PREDICTION ? (size_t)name.bytes + 2 : PREDICTION;
    parley_status status = pl_take(&line->text, width, 1, "the predictions", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(line->text, name.text, name.bytes);
    line->text[name.bytes] = '\n';
    printer->width = width > printer->width ? width : printer->width;
    return PARLEY_OK;
}

/* Formats the lines of all labels once, since many rows share them. */
static parley_status put_lines(printer *printer, parley_error *error) {
    const pl_model_type *type = printer->model->type;
    uint64_t labels = 0;
    double label;
    while (type->label(printer->model, labels, &label))
        labels++;
    parley_status status = pl_take(&printer->lines, labels, sizeof *printer->lines, "the predictions", error);
    for (; printer->labels < labels && status == PARLEY_OK; printer->labels++) {
        label_line *line = &printer->lines[printer->labels];
        type->label(printer->model, printer->labels, &line->label);
        status = put_line(printer, line, error);
    }
    return status;
}

static parley_status open_printer(printer *printer, const parley_settings *settings, const char *path,
                                  const parley_model *model, parley_error *error) {
    parley_error reason;
    *printer = (struct printer){.model = model, .output = (pl_output)settings->output, .width = PREDICTION};
    parley_status status = model->type->finish(model, printer->output, NULL, &reason);
    if (status != PARLEY_OK)
        return pl_fail(error, status, "%s: %s", path, reason.sentence);
    status = put_lines(printer, error);
    printer->rows = model->outputs < BLOCK_ROWS ? BLOCK_ROWS / model->outputs : 1;
    if (printer->width < model->outputs * PREDICTION)
        printer->width = model->outputs * PREDICTION;
    if (status == PARLEY_OK)
        status = pl_take(&printer->values, BLOCKS * printer->rows * model->outputs, sizeof(double), "the predictions",
                         error);
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
        pl_free(printer.lines[i].text);
    pl_free(printer.lines);
    pl_free(printer.values);
    parley_model_free(model);
    return status;
}

static int predict_run(const arguments *arguments) {
    parley_error error;
    return work(arguments, &error) == PARLEY_OK ? EXIT_DONE : fail(arguments->command, &error);
}

const command predict_command = {
    .name = "predict",
    .operands = "MODEL DATA",
    .least = 2,
    .most = 2,
    .options = PL_FOR_PREDICT,
    .summary = "print one prediction per row",
    .details = "Prints one prediction per row of DATA on standard output. DATA may be larger than memory; - is "
               "standard input.",
    .run = predict_run,
};
