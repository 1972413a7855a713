/* file.c: writes a file, perhaps through zlib or libzstd. */
#define _POSIX_C_SOURCE 200809L
#include "data/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY /* custom memory */
#include <zstd.h>
#include <zstd_errors.h>

#include "base/memory.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define ATTEMPTS 100 /* temporary names to try */
#define LARGEST_WRITE ((uint64_t)1 << 30)

struct pl_file {
    char *path, *temporary; /* temporary: NULL if the file is written directly */
    int descriptor;
    pl_compression compression;
    unsigned char *buffer; /* compressed bytes */
    z_stream gzip;
    ZSTD_CStream *zstd;
};

static parley_status put(pl_file *file, const void *bytes, uint64_t count, parley_error *error) {
    for (const char *p = bytes; count > 0;) {
        ssize_t done = write(file->descriptor, p, (size_t)(count < LARGEST_WRITE ? count : LARGEST_WRITE));
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return pl_fail_file(error, file->path, "write");
        p += done;
        count -= (uint64_t)done;
    }
    return PARLEY_OK;
}

static parley_status put_gzip(pl_file *file, const void *bytes, uint64_t count, int flush, parley_error *error) {
    z_stream *gzip = &file->gzip;
    const unsigned char *p = bytes;
    parley_status status = PARLEY_OK;
    do {
        gzip->next_in = (unsigned char *)p; /* zlib does not write there */
        gzip->avail_in = count < BUFFER_BYTES ? (unsigned)count : (unsigned)BUFFER_BYTES;
        p += gzip->avail_in;
        count -= gzip->avail_in;
        do {
            gzip->next_out = file->buffer;
            gzip->avail_out = (unsigned)BUFFER_BYTES;
            deflate(gzip, count > 0 ? Z_NO_FLUSH : flush);
            status = put(file, file->buffer, BUFFER_BYTES - gzip->avail_out, error);
        } while (status == PARLEY_OK && gzip->avail_out == 0);
    } while (status == PARLEY_OK && count > 0);
    return status;
}

static parley_status put_zstd(pl_file *file, const void *bytes, uint64_t count, ZSTD_EndDirective end,
                              parley_error *error) {
    ZSTD_inBuffer from = {bytes, (size_t)count, 0};
    size_t left;
    do {
        ZSTD_outBuffer to = {file->buffer, BUFFER_BYTES, 0};
        left = ZSTD_compressStream2(file->zstd, &to, &from, end);
        if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
            return pl_fail_memory(error, "compression", 1 << 20);
        if (ZSTD_isError(left))
            return pl_fail(error, PARLEY_BROKEN, "%s: cannot compress: %s", file->path, ZSTD_getErrorName(left));
        parley_status status = put(file, file->buffer, to.pos, error);
        if (status != PARLEY_OK)
            return status;
    } while (from.pos < from.size || (end == ZSTD_e_end && left > 0));
    return PARLEY_OK;
}

parley_status pl_file_write(pl_file *file, const void *bytes, uint64_t count, parley_error *error) {
    switch (file->compression) {
    case PL_TO_GZIP: return put_gzip(file, bytes, count, Z_NO_FLUSH, error);
    case PL_TO_ZSTD: return put_zstd(file, bytes, count, ZSTD_e_continue, error);
    default: return put(file, bytes, count, error);
    }
}

/* Is this something that cannot be replaced by another file, such as a pipe? */
static bool is_direct(const char *path) {
    struct stat facts;
    return strcmp(path, "/dev/stderr") == 0 || strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/", 6) == 0 ||
           (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode));
}

/* Opens the first unused temporary name in the folder of the target. */
static parley_status open_temporary(pl_file *file, parley_error *error) {
    uint64_t bytes = strlen(file->path) + 64;
    parley_status status = pl_take(&file->temporary, bytes, 1, "a file name", error);
    if (status != PARLEY_OK)
        return status;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        snprintf(file->temporary, (size_t)bytes, "%s.tmp-%ld-%d", file->path, (long)getpid(), attempt);
        file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->descriptor >= 0)
            return PARLEY_OK;
        if (errno != EEXIST)
            break;
    }
    status = pl_fail_file(error, file->path, "write");
    pl_free(file->temporary);
    file->temporary = NULL;
    return status;
}

static parley_status open_target(pl_file *file, const char *path, parley_error *error) {
    bool standard = strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
    file->path = pl_strdup(standard ? "standard output" : path);
    if (!file->path)
        return pl_fail_memory(error, "a file name", strlen(path));
    if (!standard && !is_direct(path))
        return open_temporary(file, error);
    file->descriptor = standard ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    return file->descriptor >= 0 ? PARLEY_OK : pl_fail_file(error, file->path, "write");
}

void *pl_gzip_take(void *opaque, unsigned count, unsigned size) {
    (void)opaque;
    return pl_alloc(count, size);
}

void *pl_zstd_take(void *opaque, size_t bytes) {
    (void)opaque;
    return pl_alloc(bytes, 1);
}

void pl_packed_free(void *opaque, void *memory) {
    (void)opaque;
    pl_free(memory);
}

static parley_status start_compression(pl_file *file, parley_error *error) {
    if (file->compression == PL_NOT_COMPRESSED)
        return PARLEY_OK;
    parley_status status = pl_take(&file->buffer, BUFFER_BYTES, 1, "compression", error);
    if (status != PARLEY_OK)
        return status;
    file->gzip.zalloc = pl_gzip_take;
    file->gzip.zfree = pl_packed_free;
    bool started =
        file->compression == PL_TO_GZIP
            ? deflateInit2(&file->gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK
            : (file->zstd = ZSTD_createCStream_advanced((ZSTD_customMem){pl_zstd_take, pl_packed_free, NULL})) != NULL;
    return started ? PARLEY_OK : pl_fail_memory(error, "compression", 1 << 18);
}

parley_status pl_file_open(const char *path, pl_compression compression, pl_file **out, parley_error *error) {
    *out = NULL;
    pl_file *file;
    parley_status status = pl_take(&file, 1, sizeof *file, "writing", error);
    if (status != PARLEY_OK)
        return status;
    file->descriptor = -1;
    file->compression = compression;
    status = open_target(file, path, error);
    if (status == PARLEY_OK)
        status = start_compression(file, error);
    if (status != PARLEY_OK)
        return pl_file_close(file, status, error);
    *out = file;
    return PARLEY_OK;
}

static parley_status end_compression(pl_file *file, parley_error *error) {
    switch (file->compression) {
    case PL_TO_GZIP: return put_gzip(file, "", 0, Z_FINISH, error);
    case PL_TO_ZSTD: return put_zstd(file, "", 0, ZSTD_e_end, error);
    default: return PARLEY_OK;
    }
}

/* Makes the new name survive a power failure, if the file system supports it. */
static void sync_folder(const char *path) {
    char folder[4096] = ".";
    const char *slash = strrchr(path, '/');
    if (slash && (size_t)(slash - path) + 1 < sizeof folder)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    int file = open(folder, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    fsync(file);
    close(file);
}

static parley_status complete(pl_file *file, parley_error *error) {
    parley_status status = end_compression(file, error);
    if (status == PARLEY_OK && file->temporary && fsync(file->descriptor) != 0 && errno != EINVAL)
        status = pl_fail_file(error, file->path, "write");
    int closed = close(file->descriptor);
    file->descriptor = -1;
    if (status == PARLEY_OK && closed != 0)
        status = pl_fail_file(error, file->path, "write");
    if (status == PARLEY_OK && file->temporary && rename(file->temporary, file->path) != 0)
        status = pl_fail_file(error, file->path, "write");
    return status;
}

parley_status pl_file_close(pl_file *file, parley_status status, parley_error *error) {
    if (!file)
        return status;
    if (status == PARLEY_OK)
        status = complete(file, error);
    if (file->descriptor >= 0)
        close(file->descriptor);
    if (file->temporary && status != PARLEY_OK)
        unlink(file->temporary);
    else if (file->temporary)
        sync_folder(file->path);
    if (file->compression == PL_TO_GZIP)
        deflateEnd(&file->gzip);
    ZSTD_freeCStream(file->zstd);
    pl_free(file->buffer);
    pl_free(file->temporary);
    pl_free(file->path);
    pl_free(file);
    return status;
}
