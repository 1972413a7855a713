/* file.c: writes a file, perhaps through zlib or libzstd. */
#define _DEFAULT_SOURCE /* flock, gethostname */
#include "data/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY /* custom memory */
#include <zstd.h>
#include <zstd_errors.h>

#include "base/memory.h"
#include "base/paths.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define ATTEMPTS 100 /* temporary names to try */
#define LARGEST_WRITE ((uint64_t)1 << 30)
#define ABANDONED 3600 /* seconds after which a temporary file of another machine is no longer being written */

struct pl_file {
    char *path;              /* as it was given, for messages */
    char target[PL_PATH];    /* the same with symbolic links followed */
    char temporary[PL_PATH]; /* "" if the file is written directly */
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

/* A temporary file is TARGET.tmp-HOST-PROCESS-NUMBER, where HOST is a hash. Its writer keeps it locked, so that the
 * next run that writes the same file can tell whether the writer is dead. */
static unsigned host_hash(void) {
    char host[256] = "";
    unsigned hash = 2166136261u; /* FNV-1a */
    if (gethostname(host, sizeof host - 1) != 0)
        *host = '\0';
    for (const char *p = host; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    return hash;
}

/* Removes a temporary file if its writer is dead. Locks may not reach other machines: their files must also be old. */
static void sweep_one(int folder, const char *name, bool ours) {
    struct stat facts;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &facts) == 0 && facts.st_nlink > 0 &&
        S_ISREG(facts.st_mode) && (ours || time(NULL) - facts.st_mtime > ABANDONED))
        unlinkat(folder, name, 0);
    if (file >= 0)
        close(file);
}

/* Removes the temporary files of the target that killed runs have left. */
static void sweep(const char *target) {
    char folder[PL_PATH], prefix[PL_PATH];
    if (!pl_folder_of(target, folder))
        return;
    const char *slash = strrchr(target, '/');
    int length = snprintf(prefix, sizeof prefix, "%s.tmp-", slash ? slash + 1 : target);
    unsigned host;
    DIR *directory = length < (int)sizeof prefix ? opendir(folder) : NULL;
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (strncmp(entry->d_name, prefix, (size_t)length) == 0 && sscanf(entry->d_name + length, "%8x-", &host) == 1)
            sweep_one(dirfd(directory), entry->d_name, host == host_hash());
    if (directory)
        closedir(directory);
}

/* Another run may see the file before it is locked, and remove it. */
static bool hold(int descriptor) {
    struct stat facts;
    bool taken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    return !taken && fstat(descriptor, &facts) == 0 && facts.st_nlink > 0;
}

/* Gives the new file the owner and mode of the one that it replaces, as far as that is permitted. */
static void inherit(int descriptor, const struct stat *old) {
    struct stat new;
    bool differs = fstat(descriptor, &new) == 0 && (new.st_uid != old->st_uid || new.st_gid != old->st_gid);
    if (differs && fchown(descriptor, old->st_uid, old->st_gid) != 0 && fchown(descriptor, (uid_t)-1, old->st_gid) != 0)
        errno = 0; /* only root may give files away */
    if (fchmod(descriptor, old->st_mode & 0777) != 0)
        errno = 0;
}

/* Opens the first unused temporary name in the folder of the target. */
static parley_status open_temporary(pl_file *file, parley_error *error) {
    struct stat old;
    bool replaces = stat(file->target, &old) == 0;
    char name[PL_PATH];
    sweep(file->target);
    errno = ENAMETOOLONG;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (snprintf(name, sizeof name, "%s.tmp-%08x-%ld-%d", file->target, host_hash(), (long)getpid(), attempt) >=
            (int)sizeof name)
            break;
        file->descriptor =
            open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? old.st_mode & 0777 : (mode_t)0666);
        if (file->descriptor < 0 && errno != EEXIST)
            break;
        if (file->descriptor < 0)
            continue;
        memcpy(file->temporary, name, sizeof name);
        if (replaces)
            inherit(file->descriptor, &old);
        if (hold(file->descriptor))
            return PARLEY_OK;
        close(file->descriptor);
        file->descriptor = -1;
        *file->temporary = '\0';
    }
    return pl_fail_file(error, file->path, "write");
}

static parley_status open_target(pl_file *file, const char *path, parley_error *error) {
    bool standard = strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
    file->path = pl_strdup(standard ? "standard output" : path);
    if (!file->path)
        return pl_fail_memory(error, "a file name", strlen(path));
    if (!standard && !is_direct(path)) {
        if (pl_follow_links(path, file->target))
            return open_temporary(file, error);
        return pl_fail(error, PARLEY_NO_FILE, "%s: cannot write: its symbolic links form a loop or are too long", path);
    }
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
    char folder[PL_PATH];
    if (!pl_folder_of(path, folder))
        return;
    int file = open(folder, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    fsync(file);
    close(file);
}

/* The file gets its name while it is still open, since to close it ends its lock. */
static parley_status complete(pl_file *file, parley_error *error) {
    parley_status status = end_compression(file, error);
    bool temporary = *file->temporary;
    if (status == PARLEY_OK && temporary && fsync(file->descriptor) != 0 && errno != EINVAL)
        status = pl_fail_file(error, file->path, "write");
    if (status == PARLEY_OK && temporary && rename(file->temporary, file->target) != 0)
        status = pl_fail_file(error, file->path, "write");
    int closed = close(file->descriptor);
    file->descriptor = -1;
    if (status == PARLEY_OK && !temporary && closed != 0)
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
    if (*file->temporary && status != PARLEY_OK)
        unlink(file->temporary);
    else if (*file->temporary)
        sync_folder(file->target);
    if (file->compression == PL_TO_GZIP)
        deflateEnd(&file->gzip);
    ZSTD_freeCStream(file->zstd);
    pl_free(file->buffer);
    pl_free(file->path);
    pl_free(file);
    return status;
}
