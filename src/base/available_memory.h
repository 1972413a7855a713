/* available_memory.h: how much memory this process can still get. Asked before large allocations, because the kernel
 * grants more than it has and kills processes when the memory is used. */
#ifndef PL_AVAILABLE_MEMORY_H
#define PL_AVAILABLE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Smaller amounts are not worth asking for. */
#define PL_LARGE_MEMORY ((uint64_t)64 << 20)

/* The least of: free memory and swap space of the machine, what the control groups of this process leave, and what
 * RLIMIT_AS and RLIMIT_DATA leave. UINT64_MAX if nothing is known. */
uint64_t pl_available_memory(void);
/* Replaces all of this by a limit on the resident memory of this process; 0: no such limit. */
void pl_memory_limit(uint64_t bytes);
/* Fails if there is no room for so many bytes, with a sentence that says who needs them and what to do instead. */
parley_status pl_memory_check(uint64_t bytes, const char *who, const char *remedy, parley_error *error);
/* Is there room for an object of so many bytes, of which it holds some already? Always true if it has fewer than
 * PL_LARGE_MEMORY: what the kernel would grant but does not have is refused only to large objects, and small ones cost
 * nothing. */
bool pl_memory_has_room(uint64_t held, uint64_t bytes);

#endif
