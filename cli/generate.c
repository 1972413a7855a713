/* generate.c: `parley generate` makes data from a seed. */
#include <string.h>

#include "base/clock.h"
#include "cli.h"

static parley_status find(const char *name, const pl_generator **out, parley_error *error) {
    const char *names[16];
    unsigned count = pl_generators_count < 16 ? pl_generators_count : 16;
    for (unsigned i = 0; i < count; i++) {
        names[i] = pl_generators[i].name;
        if (strcmp(names[i], name) == 0) {
            *out = &pl_generators[i];
            return PARLEY_OK;
        }
    }
    return fail_unknown("kind of data", name, names, count, error);
}

static int generate_run(const arguments *arguments) {
    const char *path = arguments->operands[1];
    const pl_generator *generator = NULL;
    double started = pl_now();
    parley_data *data = NULL;
    output to;
    parley_error error;
    parley_status status = find(arguments->operands[0], &generator, &error);
    if (status == PARLEY_OK && !generator->sparse && pl_setting_given(&arguments->settings, "nonzeros"))
        status = pl_fail(&error, PARLEY_BAD_USAGE, "--nonzeros has no effect: dense data fill every column");
    if (status == PARLEY_OK && !generator->sparse && pl_setting_given(&arguments->settings, "text_topics"))
        status = pl_fail(&error, PARLEY_BAD_USAGE, "--text-topics has no effect: only text has topics");
    if (status == PARLEY_OK)
        status = find_output(path, NULL, &to, &error);
    if (status == PARLEY_OK)
        status = generator->make(&arguments->settings, &data, &error);
    if (status == PARLEY_OK)
        status = write_data(data, path, to, NULL, &error);
    if (status == PARLEY_OK)
        report_written(arguments, data, path, pl_now() - started);
    parley_data_free(data);
    return status == PARLEY_OK ? EXIT_DONE : fail(arguments->command, &error);
}

const command generate_command = {
    .name = "generate",
    .operands = "KIND OUT",
    .least = 2,
    .most = 2,
    .options = PL_FOR_GENERATE,
    .summary = "generate example data",
    .details = "Generates data and writes them to OUT, as `parley convert` does. The same settings give the same data "
               "on every "
               "machine.",
    .run = generate_run,
};
