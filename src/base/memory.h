/* memory.h: all allocation of the library goes through these functions, so that tests can make the n-th one fail. */
#ifndef PL_MEMORY_H
#define PL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Returns zeroed memory, or NULL if memory runs out. A request of 0 bytes returns a pointer that can be freed. */
void *pl_alloc(uint64_t count, uint64_t size);
void *pl_realloc(void *old, uint64_t count, uint64_t size);
char *pl_strdup(const char *text);
void pl_free(void *memory);

/* Like pl_alloc, but stores the memory in `*out` and reports a failure with a message that names `what`. */
parley_status pl_take(void *out, uint64_t count, uint64_t size, const char *what, parley_error *error);

/* An array that begins with zeros. A large one can grow without copying, and is on huge pages if the kernel has them.
 * Pages that were never written cost nothing. */
#define PL_PAGED_SPAN ((uint64_t)32 << 10) /* bytes from which on a span has pages of its own */
typedef struct pl_span {
    void *data;
    uint64_t bytes; /* reserved */
    int file;       /* 1 + the descriptor of the file that holds it; 0: it is in memory */
    bool heap;      /* it is so small that it comes from the heap */
} pl_span;

bool pl_span_reserve(pl_span *span, uint64_t bytes); /* grows to at least `bytes`; false: out of memory */
void pl_span_trim(pl_span *span, uint64_t bytes);    /* releases everything above `bytes` */
void pl_span_free(pl_span *span);
/* Moves the span, which may be empty, to a file without a name in a folder. It may then be larger than memory: pages
 * that are not in use are on disk. False: the file cannot be made. */
bool pl_span_spill(pl_span *span, const char *folder);
/* Releases the pages that lie entirely below `bytes`. Their content is lost. */
void pl_span_drop(const pl_span *span, uint64_t bytes);
/* Releases the pages of a mapped file that lie entirely in [begin, end). They are read again on the next access. */
void pl_pages_drop(const void *begin, const void *end);
/* The same for a part [begin, end) of an array that is surely a mapped file, with up to `margin` bytes around it, which
 * the kernel may have mapped as well. They are read again too. */
void pl_pages_leave(const void *array, uint64_t bytes, const void *begin, const void *end, uint64_t margin);
/* Keeps pages of a mapped file small, so that a byte that is read brings no megabytes around it into memory. */
void pl_pages_small(const void *begin, const void *end);
/* Begins to read the pages of a mapped file that [begin, end) lies in, and does not wait for them. */
void pl_pages_ahead(const void *begin, const void *end);

/* Saves memory for many threads of which only one runs at a time: one heap for all of them, and no huge pages until it
 * is called with false. */
void pl_memory_for_many(bool many);

/* Peak resident memory of this process so far. */
uint64_t pl_peak_bytes(void);

/* For tests: lets `count` allocations succeed and the next one fail, once; a negative count: none fails. Returns the
 * number of allocations since the last call. */
int64_t pl_memory_fail_after(int64_t count);

#endif
