/* memory.c: malloc for small objects, mapped spans for arrays that grow with the data. */
#define _GNU_SOURCE /* mremap */
#include "base/memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/available_memory.h"

#define HUGE_PAGE ((uint64_t)2 << 20)
#define WORTH_HUGE ((uint64_t)256 << 10) /* bytes in random access that pay for clearing a huge page */
#define CACHE_LINE 64
#define PAGE ((uint64_t)64 << 10) /* the largest default page size of common systems */

static atomic_int_fast64_t allocations;
static atomic_int_fast64_t fail_at = -1;

static bool must_fail(void) { return atomic_fetch_add(&allocations, 1) == atomic_load(&fail_at); }

int64_t pl_memory_fail_after(int64_t count) {
    int64_t made = atomic_exchange(&allocations, 0);
    atomic_store(&fail_at, count);
    return made;
}

/* Asks for huge pages if whole ones fit, because page faults are most of the initial cost of a large table. */
static void advise(void *memory, uint64_t bytes) {
    uintptr_t begin = ((uintptr_t)memory + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)memory + bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
    madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

void *pl_alloc(uint64_t count, uint64_t size) {
    uint64_t bytes;
    if (must_fail() || __builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX ||
        !pl_memory_has_room(0, bytes))
        return NULL;
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (memory && bytes >= 2 * HUGE_PAGE)
        advise(memory, bytes);
    return memory;
}

void *pl_realloc(void *old, uint64_t count, uint64_t size) {
    uint64_t bytes;
    if (must_fail() || __builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX ||
        !pl_memory_has_room(0, bytes))
        return NULL;
    return realloc(old, bytes ? bytes : 1);
}

char *pl_strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = pl_alloc(bytes, 1);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void pl_free(void *memory) { free(memory); }

parley_status pl_take(void *out, uint64_t count, uint64_t size, const char *what, parley_error *error) {
    void *memory = pl_alloc(count, size);
    memcpy(out, &memory, sizeof memory);
    return memory ? PARLEY_OK : pl_fail_memory(error, what, count * size);
}

/* Grows the file first, so that a full disk is noticed here and not when a page is written. */
static bool reserve_in_file(pl_span *span, uint64_t bytes) {
    bytes = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    if (must_fail() || bytes > PTRDIFF_MAX || posix_fallocate(span->file - 1, 0, (off_t)bytes) != 0)
        return false;
    void *data = span->data ? mremap(span->data, span->bytes, bytes, MREMAP_MAYMOVE)
                            : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, span->file - 1, 0);
    if (data == MAP_FAILED)
        return false;
    span->data = data;
    span->bytes = bytes;
    return true;
}

/* A small span would spend more time in system calls than its user does. */
static bool reserve_on_heap(pl_span *span, uint64_t bytes) {
    bytes = (bytes + 2 * CACHE_LINE - 1) & ~(uint64_t)(CACHE_LINE - 1);
    char *data = aligned_alloc(CACHE_LINE, bytes);
    if (!data)
        return false;
    if (span->bytes > 0)
        memcpy(data, span->data, span->bytes);
    memset(data + span->bytes, 0, bytes - span->bytes);
    free(span->data);
    *span = (pl_span){data, bytes, 0, true};
    return true;
}

/* Moves a span that has become large from the heap to pages of its own. */
static bool leave_heap(pl_span *span, uint64_t bytes) {
    pl_span large = {0};
    if (!pl_span_reserve(&large, bytes))
        return false;
    memcpy(large.data, span->data, span->bytes);
    free(span->data);
    *span = large;
    return true;
}

bool pl_span_reserve(pl_span *span, uint64_t bytes) {
    if (bytes <= span->bytes)
        return true;
    if (span->file)
        return reserve_in_file(span, bytes);
    if (bytes < PL_PAGED_SPAN && (span->heap || !span->data))
        return !must_fail() && pl_memory_has_room(span->bytes, bytes) && reserve_on_heap(span, bytes);
    if (span->heap)
        return leave_heap(span, bytes);
    if (must_fail() || bytes > PTRDIFF_MAX - HUGE_PAGE || !pl_memory_has_room(span->bytes, bytes))
        return false;
    bool huge = bytes >= WORTH_HUGE;
    bytes = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    void *data = span->data
                     ? mremap(span->data, span->bytes, bytes, MREMAP_MAYMOVE)
                     : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return false;
    if (huge)
        madvise(data, bytes, MADV_HUGEPAGE);
    *span = (pl_span){data, bytes, 0, false};
    return true;
}

void pl_span_trim(pl_span *span, uint64_t bytes) {
    bytes = (bytes + 4095) & ~(uint64_t)4095;
    if (bytes >= span->bytes || (span->heap && bytes > 0))
        return;
    if (bytes == 0) {
        pl_span_free(span);
        return;
    }
    if (span->file && ftruncate(span->file - 1, (off_t)bytes) != 0)
        return; /* it keeps its size */
    munmap((char *)span->data + bytes, span->bytes - bytes);
    span->bytes = bytes;
}

void pl_span_free(pl_span *span) {
    if (span->heap)
        free(span->data);
    else if (span->data)
        munmap(span->data, span->bytes);
    if (span->file)
        close(span->file - 1);
    *span = (pl_span){0};
}

bool pl_span_spill(pl_span *span, const char *folder) {
    char name[4096];
    pl_span spilt = {0};
    if (must_fail() || snprintf(name, sizeof name, "%s/.parley-rows-XXXXXX", folder) >= (int)sizeof name)
        return false;
    int file = mkostemp(name, O_CLOEXEC);
    if (file < 0)
        return false;
    unlink(name);
    spilt.file = file + 1;
    if (span->bytes > 0 && !reserve_in_file(&spilt, span->bytes)) {
        pl_span_free(&spilt);
        return false;
    }
    if (span->bytes > 0)
        memcpy(spilt.data, span->data, span->bytes);
    pl_span_free(span);
    *span = spilt;
    return true;
}

void pl_span_drop(const pl_span *span, uint64_t bytes) {
    bytes = (bytes < span->bytes ? bytes : span->bytes) & ~(HUGE_PAGE - 1);
    if (span->data && bytes > 0)
        madvise(span->data, bytes, MADV_DONTNEED);
}

void pl_pages_drop(const void *begin, const void *end) {
    uintptr_t low = ((uintptr_t)begin + PAGE - 1) & ~(uintptr_t)(PAGE - 1),
              high = (uintptr_t)end & ~(uintptr_t)(PAGE - 1);
    if (low < high)
        madvise((void *)low, high - low, MADV_DONTNEED);
}

void pl_pages_leave(const void *array, uint64_t bytes, const void *begin, const void *end, uint64_t margin) {
    uintptr_t low = (uintptr_t)array, high = low + bytes, from = (uintptr_t)begin, to = (uintptr_t)end;
    from = from - low < margin + PAGE ? low : (from - margin) & ~(uintptr_t)(PAGE - 1);
    pl_pages_drop((const void *)from, (const void *)(high - to < margin ? high : to + margin));
}

void pl_pages_small(const void *begin, const void *end) {
    uintptr_t low = ((uintptr_t)begin + PAGE - 1) & ~(uintptr_t)(PAGE - 1), high = (uintptr_t)end;
    if (low < high)
        madvise((void *)low, high - low, MADV_NOHUGEPAGE);
}

void pl_pages_ahead(const void *begin, const void *end) {
    uintptr_t low = (uintptr_t)begin & ~(uintptr_t)(PAGE - 1), high = (uintptr_t)end;
    if (low < high)
        madvise((void *)low, high - low, MADV_WILLNEED);
}

uint64_t pl_peak_bytes(void) {
    unsigned long long kilobytes = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r"); /* getrusage would include what the parent held before exec */
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %llu", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

void pl_memory_for_many(bool many) {
#ifdef M_ARENA_MAX
    if (many)
        mallopt(M_ARENA_MAX, 1);
#endif
    prctl(PR_SET_THP_DISABLE, many ? 1UL : 0UL, 0UL, 0UL, 0UL);
}
