/* convert.c: `parley convert`: data in one form to data in another. */
#include <string.h>

#include "base/clock.h"
#include "cli.h"

static parley_status check(const arguments *arguments, parley_error *error) {
    const char *in = arguments->operands[0], *out = arguments->operands[1];
    parley_status status = check_data_path(out, error);
    if (status == PARLEY_OK)
        status = check_different(in, out, error);
    if (status == PARLEY_OK && *arguments->settings.weights && is_text_path(out))
        status = pl_fail(error, PARLEY_BAD_USAGE, "--weights has no effect: text cannot hold weights; write a cache");
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

int convert_run(const arguments *arguments) {
    const parley_settings *settings = &arguments->settings;
    const char *in = arguments->operands[0], *out = arguments->operands[1];
    double started = pl_now();
    parley_data *data = NULL;
    parley_error error;
    parley_status status = check(arguments, &error);
    if (status == PARLEY_OK)
        status = read_data(in, settings->weights, (unsigned)settings->threads,
                           settings->quiet ? NULL : tell_error_output, &data, &error);
    if (status == PARLEY_OK)
        status = write_data(data, out, &error);
    if (status == PARLEY_OK)
        report_written(arguments, data, out, pl_now() - started);
    parley_data_free(data);
    return status == PARLEY_OK ? EXIT_DONE : fail(arguments->command, &error);
}
