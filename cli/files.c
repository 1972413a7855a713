/* files.c: reading data for a command, and finding out early whether its result can be written. */
#define _POSIX_C_SOURCE 200809L /* access, stat */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static bool ends_in(const char *path, size_t length, const char *ending) {
    size_t size = strlen(ending);
    return length > size && memcmp(path + length - size, ending, size) == 0;
}

/* Is one of `endings` (the last is NULL) that of the path's first `length` characters? */
static bool ends_in_one(const char *path, size_t length, const char *const *endings) {
    while (*endings && !ends_in(path, length, *endings))
        endings++;
    return *endings != NULL;
}

static bool is_cache_path(const char *path) {
    static const char *const endings[] = {".parley", ".safetensors", NULL};
    return ends_in_one(path, strlen(path), endings);
}

bool is_text_path(const char *path) {
    static const char *const endings[] = {".svm", ".libsvm", ".txt", NULL};
    size_t length = strlen(path);
    if (ends_in(path, length, ".gz"))
        length -= 3;
    else if (ends_in(path, length, ".zst"))
        length -= 4;
    return strcmp(path, "-") == 0 || ends_in_one(path, length, endings);
}

void tell_error_output(void *user, const char *sentence) {
    (void)user;
    print_text(stderr, sentence);
    fputc('\n', stderr);
}

parley_status read_data(const char *path, const char *weights, unsigned threads, pl_tell tell, parley_data **out,
                        parley_error *error) {
    pl_pool *pool;
    parley_data *data = NULL;
    *out = NULL;
    parley_status status = pl_pool_open(&pool, threads, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_data_read(path, pool, tell, NULL, &data, error);
    pl_pool_close(pool);
    if (status == PARLEY_OK && *weights)
        status = pl_data_read_weights(data, weights, error);
    if (status == PARLEY_OK) {
        *out = data;
        return PARLEY_OK;
    }
    parley_data_free(data);
    return status;
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
        return pl_fail(error, PARLEY_NO_FILE, "%s: cannot write: it is a folder; name a file", path);
    if (access(folder, W_OK | X_OK) != 0)
        return pl_fail(error, PARLEY_NO_FILE, "%s: cannot write to folder %s: %s", path, folder, strerror(errno));
    return PARLEY_OK;
}

/* A file that is written over while it is mapped would be ruined, and so would the run. */
parley_status check_different(const char *a, const char *b, parley_error *error) {
    struct stat first, second;
    bool files = *a && *b && strcmp(a, "-") != 0 && strcmp(b, "-") != 0;
    bool same = files && (strcmp(a, b) == 0 || (stat(a, &first) == 0 && stat(b, &second) == 0 &&
                                                first.st_dev == second.st_dev && first.st_ino == second.st_ino));
    if (same && (stat(a, &first) != 0 || S_ISREG(first.st_mode)))
        return pl_fail(error, PARLEY_BAD_USAGE, "%s and %s are the same file", a, b);
    return PARLEY_OK;
}

parley_status check_data_path(const char *path, parley_error *error) {
    if (strcmp(path, "-") == 0)
        return PARLEY_OK;
    if (!is_text_path(path) && !is_cache_path(path))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "%s: the name must end in .svm, .libsvm or .txt (then perhaps .gz or .zst) for text, or in "
                       ".parley or .safetensors for a cache",
                       path);
    return check_writable(path, error);
}

parley_status write_data(const parley_data *data, const char *path, parley_error *error) {
    return is_text_path(path) ? pl_data_write_libsvm(data, path, error) : pl_data_write_cache(data, path, error);
}

uint64_t file_bytes(const char *path) {
    struct stat there;
    return strcmp(path, "-") != 0 && stat(path, &there) == 0 ? (uint64_t)there.st_size : 0;
}
