/* failing_main.c: the command line of Parley in which the allocation with the number in PARLEY_FAIL_AT fails, once. The
 * number of allocations made is added as a line to the file named in PARLEY_ALLOCATIONS. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json_memory.h"
#include "base/memory.h"

int parley_main(int count, char **words);

static void report(void) {
    const char *path = getenv("PARLEY_ALLOCATIONS");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (file < 0)
        return;
    dprintf(file, "%lld\n", (long long)pl_memory_fail_after(-1));
    close(file);
}

int main(int count, char **words) {
    const char *number = getenv("PARLEY_FAIL_AT");
    pl_json_watch(); /* from the first allocation on */
    pl_memory_fail_after(number ? strtoll(number, NULL, 10) : -1);
    atexit(report);
    return parley_main(count, words);
}
