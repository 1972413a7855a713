/* predict.c: `parley predict`: rows are streamed. The model is applied to blocks of them, which are formatted on all
 * threads and written in order. */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include <string.h>
#include <unistd.h>

#include "prediction_lines.h"
#include "progress.h"

#define BLOCK_ROWS 2048
#define BLOCKS 32 /* formatted before they are written */

/* The formatted lines of a block of rows. */
typedef struct block_text {
    char *text;
    uint64_t room, used;
    bool lost;        /* memory ran out */
    uint64_t strange; /* 1 + the first row in the batch whose outputs are not finite; 0: none */
} block_text;

typedef struct printer {
    const parley_model *model;
    prediction_lines lines;
    const parley_data *batch;
    uint64_t first;   /* first row of the blocks in the batch */
    uint64_t rows;    /* rows per block */
    uint64_t printed; /* rows of the batches before */
    bool begun;       /* the header line is printed */
    block_text blocks[BLOCKS];
    double *values; /* BLOCKS x (rows x outputs and a scratch of outputs + 1) */
} printer;

/* Makes room for the lines of rows [row, end). */
static bool make_room(printer *printer, block_text *block, uint64_t row, uint64_t end) {
    uint64_t needed = (end - row) * printer->lines.width;
    for (uint64_t i = row; i < end && printer->batch->ids.count > 0; i++)
        needed += lines_room(pl_names_at(&printer->batch->ids, i).bytes);
    if (needed <= block->room)
        return true;
    pl_free(block->text);
    block->text = pl_alloc(needed, 1);
    block->room = block->text ? needed : 0;
    block->lost = !block->text;
    return block->text;
}

static void put_block(void *context, unsigned number) {
    printer *printer = context;
    const pl_matrix *x = &printer->batch->x;
    block_text *block = &printer->blocks[number];
    uint64_t outputs = printer->model->outputs;
    double *values = printer->values + number * (printer->rows * outputs + outputs + 1);
    double *scratch = values + printer->rows * outputs;
    uint64_t row = printer->first + number * printer->rows;
    uint64_t end = row + printer->rows < x->rows ? row + printer->rows : x->rows;
    block->used = 0;
    block->strange = 0;
    if (!make_room(printer, block, row, end))
        return;
    printer->model->type->apply(printer->model, x, row, end, values);
    for (; row < end; row++, values += outputs) {
        if (!pl_model_is_finite(printer->model, values)) {
            block->strange = row + 1;
            return;
        }
        pl_name id = printer->batch->ids.count > 0 ? pl_names_at(&printer->batch->ids, row) : (pl_name){"", 0};
        block->used += lines_put(&printer->lines, id, values, scratch, block->text + block->used);
    }
}

/* Prints a batch. Clears `*more` if standard output accepts no more, which `main` reports. */
static parley_status print_batch(printer *printer, pl_pool *pool, bool *more, parley_error *error) {
    uint64_t rows = printer->batch->x.rows;
    parley_status status = PARLEY_OK;
    if (!printer->begun)
        status = lines_head(&printer->lines, printer->batch->id_name, stdout, error);
    printer->begun = true;
    if (status != PARLEY_OK)
        return status;
    for (printer->first = 0; printer->first < rows; printer->first += BLOCKS * printer->rows) {
        uint64_t left = (rows - printer->first + printer->rows - 1) / printer->rows;
        unsigned blocks = left < BLOCKS ? (unsigned)left : BLOCKS;
        pl_pool_run(pool, put_block, printer, blocks);
        for (unsigned i = 0; i < blocks && *more; i++) {
            const block_text *block = &printer->blocks[i];
            if (block->lost)
                return pl_fail_memory(error, "the predictions", printer->rows * printer->lines.width);
            *more = fwrite(block->text, 1, block->used, stdout) == block->used;
            if (block->strange)
                return printer->model->type->explain(printer->model, printer->batch, block->strange - 1,
                                                     printer->printed + block->strange, error);
        }
    }
    printer->printed += rows;
    return PARLEY_OK;
}

static parley_status print_all(printer *printer, const char *path, const parley_settings *settings, pl_pool *pool,
                               parley_error *error) {
    pl_reader *reader;
    pl_reading reading;
    progress_view view;
    bool more = true;
    parley_status status = pl_reading_of(settings, &reading, error);
    if (status != PARLEY_OK)
        return status;
    pl_model_reading(printer->model, &reading);
    reading.unlabelled = true;
    progress_open(&view, settings);
    reading.warn = tell_below_progress;
    reading.user = &view;
    view.quiet = isatty(STDOUT_FILENO); /* where the predictions themselves are seen */
    reading.watching = progress_part(&view, "predicting");
    status = pl_reader_open_as(path, &reading, pool, &reader, error);
    if (status != PARLEY_OK)
        return status;
    while (status == PARLEY_OK && more) {
        status = pl_reader_next(reader, &printer->batch, error);
        more = printer->batch != NULL;
        if (status == PARLEY_OK && more)
            status = print_batch(printer, pool, &more, error);
    }
    progress_clear(&view);
    pl_reader_close(reader);
    return status;
}

static parley_status open_printer(printer *printer, const parley_settings *settings, const char *path,
                                  const parley_model *model, parley_error *error) {
    uint64_t outputs = model->outputs;
    printer->model = model;
    printer->rows = outputs < BLOCK_ROWS ? BLOCK_ROWS / outputs : 1;
    parley_status status = lines_open(&printer->lines, settings, path, model, error);
    if (status == PARLEY_OK)
        status = pl_take(&printer->values, BLOCKS * (printer->rows * outputs + outputs + 1), sizeof(double),
                         "the predictions", error);
    return status;
}

/* The settings for reading. JSON is a format of predictions and not of data. */
static parley_status reading_settings(const parley_settings *given, parley_settings **out, parley_error *error) {
    parley_status status = pl_settings_copy(given, out, error);
    if (status == PARLEY_OK && strcmp(given->format, "json") == 0)
        (*out)->format = "auto";
    return status;
}

static parley_status work(const arguments *arguments, parley_error *error) {
    const parley_settings *settings = &arguments->settings;
    printer printer = {0};
    parley_model *model = NULL;
    parley_settings *reading = NULL;
    pl_pool *pool = NULL;
    parley_status status = load_model(arguments, &model, error);
    if (status == PARLEY_OK)
        status = open_printer(&printer, settings, arguments->operands[0], model, error);
    if (status == PARLEY_OK)
        status = reading_settings(settings, &reading, error);
    if (status == PARLEY_OK)
        status = pl_pool_open(&pool, (unsigned)settings->threads, error);
    if (status == PARLEY_OK)
        status = print_all(&printer, arguments->operands[1], reading, pool, error);
    pl_pool_close(pool);
    for (unsigned i = 0; i < BLOCKS; i++)
        pl_free(printer.blocks[i].text);
    lines_close(&printer.lines);
    pl_free(printer.values);
    parley_settings_free(reading);
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
    .details =
        "Prints one prediction per row of DATA on standard output, as text, CSV or JSON. DATA may be larger than "
        "memory; - is standard input. --format is the format of DATA, except that --format json prints JSON, and "
        "--header without a value asks for a header line.",
    .json = "use --format json, which prints one object per row",
    .run = predict_run,
};
