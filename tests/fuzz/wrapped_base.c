/* wrapped_base.c: what the linker puts in the place of some functions of src/base in a fuzzer (--wrap). Spans come from
 * the heap in the size that was asked for, so that AddressSanitizer sees a read or write behind them; it also saves the
 * system calls. Tasks of a pool run on the calling thread, the last one first: what is found can be repeated, and a
 * task that relies on an earlier one is found too. */
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"

bool __wrap_pl_span_reserve(pl_span *span, uint64_t bytes);
void __wrap_pl_span_trim(pl_span *span, uint64_t bytes);
void __wrap_pl_span_free(pl_span *span);
void __wrap_pl_span_drop(const pl_span *span, uint64_t bytes);
void __wrap_pl_pages_drop(const void *begin, const void *end);
void __wrap_pl_pool_run(pl_pool *pool, pl_task task, void *context, unsigned tasks);

bool __wrap_pl_span_reserve(pl_span *span, uint64_t bytes) {
    if (bytes <= span->bytes)
        return true;
    char *data = pl_alloc(bytes, 1);
    if (!data)
        return false;
    if (span->data)
        memcpy(data, span->data, span->bytes);
    pl_free(span->data);
    *span = (pl_span){data, bytes, 0, false};
    return true;
}

void __wrap_pl_span_free(pl_span *span) {
    pl_free(span->data);
    *span = (pl_span){0};
}

void __wrap_pl_span_trim(pl_span *span, uint64_t bytes) {
    pl_span smaller = {0};
    if (bytes >= span->bytes)
        return;
    if (bytes > 0 && (!__wrap_pl_span_reserve(&smaller, bytes)))
        return;
    if (bytes > 0)
        memcpy(smaller.data, span->data, bytes);
    __wrap_pl_span_free(span);
    *span = smaller;
}

/* These give memory back that is not needed for a while, which must not be done to a part of the heap. */
void __wrap_pl_span_drop(const pl_span *span, uint64_t bytes) {
    (void)span;
    (void)bytes;
}

void __wrap_pl_pages_drop(const void *begin, const void *end) {
    (void)begin;
    (void)end;
}

void __wrap_pl_pool_run(pl_pool *pool, pl_task task, void *context, unsigned tasks) {
    (void)pool;
    while (tasks > 0)
        task(context, --tasks);
}
