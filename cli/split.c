/* split.c: `parley split` divides the rows of a file among a file to train on and one to test on. */
#define _XOPEN_SOURCE 700 /* lstat */
#include <string.h>
#include <sys/stat.h>

#include "base/paths.h"
#include "cli.h"
#include "data/split_rows.h"
#include "progress.h"

/* Makes DATA.train.csv of DATA.csv, and DATA.train.csv.gz of DATA.csv.gz. Returns false if the name is too long. */
static bool name_part(const char *path, const char *part, char name[PL_PATH]) {
    static const char *const kept[] = {".gz", ".zst"}, *const unpacked[] = {".bz2", ".xz"};
    size_t length = strlen(path), end = length;
    const char *packed = "", *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    for (unsigned i = 0; i < 2; i++) {
        size_t one = strlen(kept[i]), other = strlen(unpacked[i]);
        if (length > one && strcmp(path + length - one, kept[i]) == 0) {
            packed = kept[i];
            end = length - one;
        } else if (length > other && strcmp(path + length - other, unpacked[i]) == 0)
            end = length - other;
    }
    size_t dot = end;
    while (path + dot > base && path[dot - 1] != '.')
        dot--;
    dot = path + dot > base + 1 ? dot - 1 : end; /* a name such as .data has no ending */
    int used = snprintf(name, PL_PATH, "%.*s.%s%.*s%s", (int)dot, path, part, (int)(end - dot), path + dot, packed);
    return used < PL_PATH;
}

static parley_status check_output(const char *path, const char *out, parley_error *error) {
    struct stat there;
    if (lstat(out, &there) == 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s exists; remove it, or give %s another name", out, path);
    return check_writable(out, error);
}

static parley_status check(const arguments *arguments, const char *path, char out[2][PL_PATH], parley_error *error) {
    static const char *const parts[] = {"train", "test"};
    const parley_settings *settings = &arguments->settings;
    struct stat there;
    parley_status status = PARLEY_OK;
    if (!settings->stratify && pl_setting_given(settings, "label_column"))
        return pl_fail(error, PARLEY_BAD_USAGE, "--label-column has no effect without --stratify");
    if (strcmp(path, "-") == 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "split writes files beside DATA and reads it twice; name a file");
    if (stat(path, &there) != 0)
        return pl_fail_file(error, path, "open");
    if (!S_ISREG(there.st_mode))
        return pl_fail(error, PARLEY_BAD_USAGE, "%s is not a regular file; split reads it twice", path);
    for (unsigned i = 0; i < 2 && status == PARLEY_OK; i++) {
        if (!name_part(path, parts[i], out[i]))
            return pl_fail(error, PARLEY_BAD_USAGE, "the path %.60s... is too long", path);
        status = check_output(path, out[i], error);
    }
    return status;
}

static void report(const parley_settings *settings, char out[2][PL_PATH], const pl_split *split) {
    char rows[32], labels[48] = "";
    if (settings->quiet)
        return;
    if (settings->stratify)
        snprintf(labels, sizeof labels, ", %llu label%s", (unsigned long long)split->labels,
                 split->labels == 1 ? "" : "s");
    for (unsigned i = 0; i < 2; i++) {
        print_count(split->rows[i], rows, sizeof rows);
        print_text(stdout, out[i]);
        printf(": %s row%s%s\n", rows, split->rows[i] == 1 ? "" : "s", labels);
    }
}

static int split_run(const arguments *arguments) {
    const parley_settings *settings = &arguments->settings;
    const char *path = arguments->operands[0];
    char out[2][PL_PATH];
    const char *const outs[] = {out[0], out[1]};
    pl_split split = {.share = settings->test, .stratified = settings->stratify, .seed = settings->seed};
    progress_view view;
    pl_reading reading;
    parley_error error;
    parley_status status = check(arguments, path, out, &error);
    if (status == PARLEY_OK)
        status = pl_reading_of(settings, &reading, &error);
    progress_open(&view, settings);
    split.watching = progress_part(&view, "splitting");
    if (status == PARLEY_OK)
        status = pl_split_rows(path, &reading, outs, &split, &error);
    progress_clear(&view);
    if (status == PARLEY_OK)
        report(settings, out, &split);
    return status == PARLEY_OK ? EXIT_DONE : fail(arguments->command, &error);
}

const command split_command = {
    .name = "split",
    .operands = "DATA",
    .least = 1,
    .most = 1,
    .options = PL_FOR_SPLIT,
    .summary = "divide rows among a file to train on and one to test on",
    .details =
        "Draws rows of DATA.csv and writes them, byte by byte and in their order, to DATA.test.csv, and the others "
        "to DATA.train.csv; both have the header. The same for LIBSVM, VW and plain text. DATA may be larger "
        "than memory and compressed. Existing files are never replaced.",
    .run = split_run,
};
