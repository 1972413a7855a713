/* memory.h: the one way to get memory. Every allocation of the library passes here, so that the tests can
 * make the n-th one fail. */
#ifndef PL_MEMORY_H
#define PL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* NULL when there is none; zeroed when `count` > 0. A request of 0 gives a pointer that can be freed. */
void *pl_alloc(uint64_t count, uint64_t size);
void *pl_realloc(void *old, uint64_t count, uint64_t size);
char *pl_strdup(const char *text);
void pl_free(void *memory);

/* pl_alloc that records the failure: `*out` gets the memory, the sentence names `what`. */
parley_status pl_take(void *out, uint64_t count, uint64_t size, const char *what, parley_error *error);

/* A large array that can grow without copying, on huge pages where the kernel has them. Pages that were
 * never written cost nothing. */
typedef struct pl_span {
    void *data;
    uint64_t bytes; /* reserved */
} pl_span;

bool pl_span_reserve(pl_span *span, uint64_t bytes); /* grows to at least `bytes`; false: out of memory */
void pl_span_trim(pl_span *span, uint64_t bytes);    /* gives back all above `bytes` */
void pl_span_free(pl_span *span);
/* Gives back the pages that lie wholly below `bytes`; what was in them is lost. */
void pl_span_drop(const pl_span *span, uint64_t bytes);
/* Likewise those of a mapped file that lie wholly in [begin, end): they are read again when they are looked at. */
void pl_pages_drop(const void *begin, const void *end);

/* Peak resident memory of this process so far. */
uint64_t pl_peak_bytes(void);

/* For tests: the allocation after `count` more fails, once; a negative count: none. Returns how many were
 * made since the last call. */
int64_t pl_memory_fail_after(int64_t count);

#endif
