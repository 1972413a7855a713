/* files.c: reads data for a command, and checks early whether its result can be written. */
#define _POSIX_C_SOURCE 200809L /* access, stat */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "data/format.h"
#include "data/vocabulary.h"
#include "shard/parallel_read.h"
#include "train/train.h"

static const char *const cache_endings[] = {".parley", ".safetensors", NULL};

static bool is_cache_path(const char *path) {
    for (unsigned i = 0; cache_endings[i]; i++) {
        size_t length = strlen(path), size = strlen(cache_endings[i]);
        if (length > size && strcmp(path + length - size, cache_endings[i]) == 0)
            return true;
    }
    return false;
}

const pl_format *format_of_path(const char *path) {
    for (unsigned i = 0; i < pl_formats_count; i++)
        if (pl_formats[i]->write && pl_format_ends(pl_formats[i], path))
            return pl_formats[i];
    return strcmp(path, "-") == 0 ? pl_format_find("libsvm") : NULL;
}

void tell_error_output(void *user, const char *sentence) {
    (void)user;
    print_text(stderr, sentence);
    fputc('\n', stderr);
}

static parley_status read_inputs(const operands *paths, pl_engine *engine, const pl_reading *reading, pl_pool *pool,
                                 parley_data **out, parley_error *error) {
    pl_inputs inputs;
    if (engine && engine->ranks > 1)
        return pl_ranks_read(engine, paths->words, paths->count, reading, pool, out, error);
    parley_status status = pl_inputs_open(&inputs, paths->words, paths->count, error);
    if (status == PARLEY_OK)
        status = pl_data_read_all(&inputs, reading, pool, out, error);
    pl_inputs_close(&inputs);
    return status;
}

/* The folder for the rows of text that needs too much memory, if the command has one. */
static const char *spill_of(const parley_settings *settings, char folder[PL_TEXT]) {
    const char *slash = strrchr(settings->model, '/');
    if (!(pl_settings_problem(settings)->commands & pl_setting_find("spill")->commands))
        return NULL;
    if (*settings->spill)
        return settings->spill;
    snprintf(folder, PL_TEXT, "%.*s", slash ? (int)(slash - settings->model) + 1 : 1, slash ? settings->model : ".");
    return folder;
}

static parley_status read_with(const operands *paths, const parley_settings *settings, pl_engine *engine,
                               pl_reading reading, parley_data **out, parley_error *error) {
    pl_pool *pool = engine ? engine->pool : NULL;
    parley_data *data = NULL;
    char folder[PL_TEXT];
    *out = NULL;
    parley_status status = PARLEY_OK;
    if (!engine)
        status = pl_pool_open(&pool, (unsigned)settings->threads, error);
    if (status != PARLEY_OK)
        return status;
    reading.spill = spill_of(settings, folder);
    status = read_inputs(paths, engine, &reading, pool, &data, error);
    if (!engine)
        pl_pool_close(pool);
    if (status == PARLEY_OK && *settings->weights)
        status = pl_data_read_weights(data, settings->weights, error);
    if (status == PARLEY_OK && *settings->vocabulary)
        status = pl_data_read_vocabulary(data, settings->vocabulary, error);
    if (status == PARLEY_OK) {
        *out = data;
        return PARLEY_OK;
    }
    parley_data_free(data);
    return status;
}

parley_status read_data(const operands *paths, const parley_settings *settings, pl_engine *engine, pl_tell tell,
                        parley_data **out, parley_error *error) {
    pl_reading reading;
    *out = NULL;
    parley_status status = pl_reading_of(settings, &reading, error);
    reading.tell = tell;
    reading.needs_labels = pl_settings_problem(settings)->labels;
    reading.documents = !reading.needs_labels;
    return status == PARLEY_OK ? read_with(paths, settings, engine, reading, out, error) : status;
}

parley_status read_watched(const operands *paths, const parley_settings *settings, pl_engine *engine, pl_tell tell,
                           pl_watching watching, parley_data **out, parley_error *error) {
    pl_reading reading;
    *out = NULL;
    parley_status status = pl_reading_of(settings, &reading, error);
    reading.tell = tell;
    reading.user = watching.user;
    reading.watching = watching;
    reading.kept = true;
    return status == PARLEY_OK ? read_with(paths, settings, engine, reading, out, error) : status;
}

parley_status check_writable(const char *path, parley_error *error) {
    char folder[PL_TEXT] = ".";
    const char *slash = strrchr(path, '/');
    struct stat there;
    if (strlen(path) >= sizeof folder)
        return pl_fail(error, PARLEY_BAD_USAGE, "the path %.60s... is too long", path);
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode))
        return pl_fail(error, PARLEY_NO_FILE, "%s: cannot write: this is a folder; name a file", path);
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) /* a pipe or a device: nothing is made in its folder */
        return access(path, W_OK) == 0 ? PARLEY_OK : pl_fail_file(error, path, "write");
    if (access(folder, W_OK | X_OK) != 0)
        return pl_fail(error, PARLEY_NO_FILE, "%s: cannot write to folder %s: %s", path, folder, strerror(errno));
    return PARLEY_OK;
}

/* Overwriting a file that is mapped would destroy the data and the run. */
parley_status check_different(const char *a, const char *b, parley_error *error) {
    struct stat first, second;
    bool files = *a && *b && strcmp(a, "-") != 0 && strcmp(b, "-") != 0;
    bool same = files && (strcmp(a, b) == 0 || (stat(a, &first) == 0 && stat(b, &second) == 0 &&
                                                first.st_dev == second.st_dev && first.st_ino == second.st_ino));
    if (!same || (stat(a, &first) == 0 && !S_ISREG(first.st_mode)))
        return PARLEY_OK;
    if (strcmp(a, b) == 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s is used twice and would be overwritten; name another file", a);
    return pl_fail(error, PARLEY_BAD_USAGE, "%s and %s are the same file; name another for one of them", a, b);
}

parley_status find_output(const char *path, const char *to, output *out, parley_error *error) {
    const char *remedy = to ? "; or choose the format with --to" : "";
    to = to ? to : "";
    *out = (output){strcmp(to, "cache") == 0 || (!*to && is_cache_path(path)), NULL};
    if (!out->cache)
        out->format = *to ? pl_format_find(to) : format_of_path(path);
    if (!out->cache && !out->format && *to)
        return pl_fail(error, PARLEY_BAD_USAGE, "--to %.60s: unknown format; use libsvm, csv, vw or cache", to);
    if (!out->cache && !out->format)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "%s: the name must end in .svm, .libsvm or .txt for LIBSVM text, .csv or .tsv, .vw (each may be "
                       "followed by .gz or .zst), or in .parley or .safetensors for a cache%s",
                       path, remedy);
    if (out->format && !out->format->write)
        return pl_fail(error, PARLEY_BAD_USAGE, "--to %s: Parley reads %s but does not write it; write a cache or CSV",
                       out->format->name, out->format->title);
    if (out->cache && strcmp(path, "-") == 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--to cache: a cache can only be written to a file");
    return strcmp(path, "-") == 0 ? PARLEY_OK : check_writable(path, error);
}

parley_status write_data(const parley_data *data, const char *path, output to, const pl_watching *watching,
                         parley_error *error) {
    return to.cache ? pl_data_write_cache(data, path, error) : to.format->write(data, path, watching, error);
}

uint64_t file_bytes(const char *path) {
    struct stat there;
    return strcmp(path, "-") != 0 && stat(path, &there) == 0 ? (uint64_t)there.st_size : 0;
}
