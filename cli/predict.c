/* predict.c: `parley predict`: rows stream through; blocks of them are decided and put into text on all threads, and
 * written in order. */
#include <math.h>
#include <string.h>

#include "cli.h"
#include "model/model.h"

#define BLOCK_ROWS 2048
#define BLOCKS 32     /* put into text before they are written */
#define PREDICTION 32 /* most bytes of a number and its newline */

typedef struct printer {
    const parley_model *model;
    pl_output output;
    const parley_data *batch;
    uint64_t first;   /* row of the batch with which the blocks begin */
    char *low, *high; /* lines of the two labels */
    size_t width;     /* most bytes of one line */
    uint64_t used[BLOCKS];
    char *text; /* BLOCKS x BLOCK_ROWS x width bytes */
} printer;

static size_t put_number(char *text, double value) {
    pl_number_text(value, text, PREDICTION - 1);
    size_t length = strlen(text);
    text[length] = '\n';
    return length + 1;
}

static size_t put_prediction(const printer *printer, char *text, double decision) {
    const pl_loss *loss = printer->model->loss;
    if (printer->output == PL_PROBABILITY)
        return put_number(text, loss->probability(decision));
    if (printer->output == PL_DECISION)
        return put_number(text, decision);
    if (loss->labels != PL_LABELS_BINARY)
        return put_number(text, pl_model_label(printer->model, decision));
    const char *label = pl_model_label(printer->model, decision) == printer->model->high ? printer->high : printer->low;
    size_t length = strlen(label);
    memcpy(text, label, length);
    return length;
}

static void put_block(void *context, unsigned block) {
    printer *printer = context;
    const pl_matrix *x = &printer->batch->x;
    char *text = printer->text + (size_t)block * BLOCK_ROWS * printer->width;
    uint64_t row = printer->first + (uint64_t)block * BLOCK_ROWS, used = 0;
    uint64_t end = row + BLOCK_ROWS < x->rows ? row + BLOCK_ROWS : x->rows;
    for (; row < end; row++)
        used += put_prediction(printer, text + used, pl_model_decide(printer->model, x, row));
    printer->used[block] = used;
}

/* False: standard output takes no more, which `main` reports. */
static bool print_batch(printer *printer, pl_pool *pool) {
    uint64_t rows = printer->batch->x.rows;
    for (printer->first = 0; printer->first < rows; printer->first += BLOCKS * BLOCK_ROWS) {
        uint64_t left = (rows - printer->first + BLOCK_ROWS - 1) / BLOCK_ROWS;
        unsigned blocks = left < BLOCKS ? (unsigned)left : BLOCKS;
        pl_pool_run(pool, put_block, printer, blocks);
        for (unsigned i = 0; i < blocks; i++)
            if (fwrite(printer->text + (size_t)i * BLOCK_ROWS * printer->width, 1, printer->used[i], stdout) <
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
static parley_status put_label(printer *printer, double label, char **line, parley_error *error) {
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
        put_number(*line, label);
    printer->width = width > printer->width ? width : printer->width;
    return PARLEY_OK;
}

static parley_status open_printer(printer *printer, const parley_settings *settings, const char *path,
                                  const parley_model *model, parley_error *error) {
    *printer = (struct printer){.model = model, .output = (pl_output)settings->output, .width = PREDICTION};
    if (printer->output == PL_PROBABILITY && !model->loss->probability)
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: a model of %s loss gives no probabilities; use --output decision, or train with --loss logistic", path,
            model->loss->name);
    parley_status status = put_label(printer, model->low, &printer->low, error);
    if (status == PARLEY_OK)
        status = put_label(printer, model->high, &printer->high, error);
    if (status == PARLEY_OK)
        status = pl_take(&printer->text, (uint64_t)BLOCKS * BLOCK_ROWS, printer->width, "the predictions", error);
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
    pl_free(printer.low);
    pl_free(printer.high);
    parley_model_free(model);
    return status;
}

int predict_run(const arguments *arguments) {
    parley_error error;
    return work(arguments, &error) == PARLEY_OK ? EXIT_DONE : fail(arguments->command, &error);
}
