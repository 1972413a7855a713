/* convert.c: `parley convert` converts data from one format to another. */
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "cli.h"
#include "progress.h"

static parley_status check(const arguments *arguments, output *to, parley_error *error) {
    const char *out = arguments->operands[arguments->count - 1];
    parley_status status = find_output(out, arguments->settings.to, to, error);
    for (unsigned i = 0; i + 1 < arguments->count && status == PARLEY_OK; i++)
        status = check_different(arguments->operands[i], out, error);
    if (status == PARLEY_OK && *arguments->settings.weights && to->format == pl_format_find("libsvm"))
        status = pl_fail(error, PARLEY_BAD_USAGE,
                         "--weights has no effect: LIBSVM text cannot hold weights; write a cache, CSV or VW text");
    return status;
}

void report_written(const arguments *arguments, const parley_data *data, const char *path, double seconds) {
    FILE *file = strcmp(path, "-") == 0 ? stderr : stdout;
    char rows[32], columns[32], nonzeros[32], bytes[32];
    if (arguments->settings.quiet)
        return;
    print_count(data->x.rows, rows, sizeof rows);
    print_count(data->x.columns, columns, sizeof columns);
    print_count(data->x.nonzeros, nonzeros, sizeof nonzeros);
    print_count(file_bytes(path), bytes, sizeof bytes);
    fprintf(file, "%s rows, %s columns, %s nonzeros", rows, columns, nonzeros);
    if (file == stdout)
        fprintf(file, ", %s bytes", bytes);
    fprintf(file, ", %.2f seconds\n", seconds);
}

static int convert_run(const arguments *arguments) {
    const parley_settings *settings = &arguments->settings;
    const operands in = {arguments->operands, arguments->count - 1};
    const char *out = arguments->operands[arguments->count - 1];
    double started = pl_now();
    progress_view view;
    pl_watching writing;
    parley_data *data = NULL;
    parley_error error;
    output to;
    parley_status status = check(arguments, &to, &error);
    progress_open(&view, settings);
    if (status == PARLEY_OK)
        status = read_watched(&in, settings, NULL, settings->quiet ? NULL : tell_below_progress,
                              progress_part(&view, "reading"), &data, &error);
    writing = progress_part(&view, "writing");
    if (status == PARLEY_OK)
        status = write_data(data, out, to, &writing, &error);
    progress_clear(&view);
    if (status == PARLEY_OK)
        report_written(arguments, data, out, pl_now() - started);
    parley_data_free(data);
    return status == PARLEY_OK ? EXIT_DONE : fail(arguments->command, &error);
}

const command convert_command = {
    .name = "convert",
    .operands = "IN... OUT",
    .least = 2,
    .most = UINT_MAX,
    .options = PL_FOR_CONVERT,
    .summary = "convert data to another format or to a cache",
    .details =
        "Reads IN and writes OUT. The name of OUT selects the format: .svm, .libsvm, .txt or - (standard output) for "
        "LIBSVM text, .csv or .tsv for CSV, .vw for VW text (each may be followed by .gz or .zst), .parley or "
        ".safetensors for a cache, which loads at once.",
    .run = convert_run,
};
