/* mapped_file.c: a handler of SIGBUS maps a page of zeros where a mapped file lost a page. All other addresses are left
 * to the handler that was there before. The handler is installed while any file is mapped. */
#define _GNU_SOURCE /* mremap, F_GET_SEALS */
#include "base/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* The thread that receives SIGBUS was reading a mapped file, so it does not hold this lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pl_mapped_file *mapped; /* all mapped files */
static struct sigaction before;

bool pl_stamp_take(int file, pl_stamp *stamp) {
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return false;
    *stamp = (pl_stamp){facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
    return true;
}

parley_status pl_stamp_check(int file, const pl_stamp *stamp, const char *path, parley_error *error) {
    pl_stamp now;
    if (!pl_stamp_take(file, &now))
        return pl_fail_file(error, path, "read");
    bool same = now.bytes == stamp->bytes && now.seconds == stamp->seconds && now.nanoseconds == stamp->nanoseconds;
    return same ? PARLEY_OK : pl_fail_changed(error, path);
}

/* Replaces the page at `address` if it belongs to a mapped file. */
static bool replace_page(const void *address) {
    uintptr_t at = (uintptr_t)address, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    bool replaced = false;
    pthread_mutex_lock(&lock);
    for (pl_mapped_file *map = mapped; map && !replaced; map = map->next) {
        uintptr_t begin = (uintptr_t)map->data;
        if (at < begin || at - begin >= map->bytes)
            continue;
        void *to = (void *)(at & ~(page - 1));
        replaced = mmap(to, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
        atomic_store(&map->cut, true);
    }
    pthread_mutex_unlock(&lock);
    return replaced;
}

static void on_missing_page(int number, siginfo_t *facts, void *context) {
    int kept = errno;
    bool ours = facts->si_code > 0 && replace_page(facts->si_addr); /* sent by the kernel, not by kill */
    errno = kept;
    if (ours)
        return;
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, facts, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else {
        signal(SIGBUS, SIG_DFL); /* the read is repeated and ends the process, as it would without this handler */
        if (facts->si_code <= 0)
            raise(SIGBUS);
    }
}

static void watch(pl_mapped_file *map) {
    struct sigaction action = {.sa_sigaction = on_missing_page, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&lock);
    if (!mapped)
        sigaction(SIGBUS, &action, &before);
    map->next = mapped;
    mapped = map;
    pthread_mutex_unlock(&lock);
}

/* Restores the handler that was there before, unless another one was installed since. */
static void unwatch(pl_mapped_file *map) {
    struct sigaction now;
    pthread_mutex_lock(&lock);
    pl_mapped_file **link = &mapped;
    while (*link && *link != map)
        link = &(*link)->next;
    if (*link)
        *link = map->next;
    if (!mapped && sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == on_missing_page)
        sigaction(SIGBUS, &before, NULL);
    pthread_mutex_unlock(&lock);
}

static parley_status map_pages(pl_mapped_file *map, const char *path, parley_error *error) {
    struct stat facts;
    if (fstat(map->file, &facts) != 0 || !pl_stamp_take(map->file, &map->stamp))
        return pl_fail_file(error, path, "open");
    if (!S_ISREG(facts.st_mode))
        return pl_fail(error, PARLEY_NO_FILE, "%s: not a regular file", path);
    map->bytes = (uint64_t)map->stamp.bytes;
    if (map->bytes == 0)
        return PARLEY_OK;
    void *data = mmap(NULL, map->bytes, PROT_READ, MAP_PRIVATE, map->file, 0);
    if (data == MAP_FAILED)
        return pl_fail_file(error, path, "map");
    map->data = data;
    watch(map);
    return PARLEY_OK;
}

parley_status pl_mapped_open(pl_mapped_file *map, const char *path, parley_error *error) {
    *map = (pl_mapped_file){.file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)}; /* a pipe must not block */
    if (map->file < 0)
        return pl_fail_file(error, path, "open");
    parley_status status = map_pages(map, path, error);
    if (status != PARLEY_OK)
        pl_mapped_close(map);
    return status;
}

static parley_status read_copy(const pl_mapped_file *map, char *copy, const char *path, parley_error *error) {
    for (uint64_t at = 0; at < map->bytes;) {
        ssize_t got = pread(map->file, copy + at, (size_t)(map->bytes - at), (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return pl_fail_file(error, path, "read");
        if (got == 0)
            return pl_fail_changed(error, path);
        at += (uint64_t)got;
    }
    return pl_stamp_check(map->file, &map->stamp, path, error);
}

/* Whether the kernel lets nobody change the file any more, as memory files may ask for. */
static bool is_sealed(int file) {
    const int all = F_SEAL_WRITE | F_SEAL_SHRINK;
    int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & all) == all;
}

parley_status pl_mapped_keep(pl_mapped_file *map, const char *path, parley_error *error) {
    pl_span copy = {0};
    if (is_sealed(map->file))
        return PARLEY_OK;
    if (!pl_span_reserve(&copy, map->bytes > PL_PAGED_SPAN ? map->bytes : PL_PAGED_SPAN)) /* pages that can be moved */
        return pl_fail_memory(error, path, map->bytes);
    parley_status status = read_copy(map, copy.data, path, error);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes = (map->bytes + page - 1) & ~(page - 1);
    if (status == PARLEY_OK) {
        pl_span_trim(&copy, bytes);
        unwatch(map);
        if (mremap(copy.data, copy.bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, map->data) == MAP_FAILED) {
            watch(map);
            status = pl_fail_memory(error, path, bytes);
        }
    }
    if (status != PARLEY_OK) {
        pl_span_free(&copy);
        return status;
    }
    close(map->file);
    map->file = -1;
    return PARLEY_OK;
}

parley_status pl_mapped_check(const pl_mapped_file *map, const char *path, parley_error *error) {
    if (map->file < 0)
        return PARLEY_OK;
    return atomic_load(&map->cut) ? pl_fail_changed(error, path) : pl_stamp_check(map->file, &map->stamp, path, error);
}

void pl_mapped_close(pl_mapped_file *map) {
    if (map->data && map->file >= 0)
        unwatch(map);
    if (map->data)
        munmap(map->data, map->bytes);
    if (map->file >= 0)
        close(map->file);
    map->data = NULL;
    map->file = -1;
}
