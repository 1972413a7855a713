/* json_memory.c: the allocation functions of jansson. Some of its functions crash when memory runs out. After the first
 * failure they therefore get memory from a reserve, and the caller learns that the result is of no use. Other memory is
 * that of malloc, so objects that were made before or by others stay valid. */
#include "base/json_memory.h"

#include <jansson.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"

#define RESERVE_BYTES (64 << 10)
#define ALIGNMENT 16

static alignas(ALIGNMENT) _Thread_local char reserve[RESERVE_BYTES];
static _Thread_local size_t used; /* of the reserve */
static _Thread_local bool lost;

static void *take_reserve(size_t bytes) {
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (bytes > sizeof reserve - used)
        return NULL;
    used += bytes;
    return reserve + used - bytes;
}

static void *take(size_t bytes) {
    void *memory = lost ? NULL : pl_alloc(bytes, 1);
    lost |= !memory;
    return memory ? memory : take_reserve(bytes);
}

/* Objects that use the reserve are released on the thread that made them, because they are of no use. */
static void release(void *memory) {
    uintptr_t at = (uintptr_t)memory, begin = (uintptr_t)reserve;
    if (at < begin || at - begin >= sizeof reserve)
        pl_free(memory);
}

void pl_json_watch(void) {
    json_malloc_t now;
    json_free_t before;
    json_get_alloc_funcs(&now, &before);
    if (now == malloc && before == free)
        json_set_alloc_funcs(take, release);
    lost = false;
    used = 0;
}

bool pl_json_lost(void) { return lost; }

void pl_json_free(void *text) {
    json_malloc_t now;
    json_free_t free_text;
    json_get_alloc_funcs(&now, &free_text);
    free_text(text);
}
