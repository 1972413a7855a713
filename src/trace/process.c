/* process.c: see process.h. */
#define _POSIX_C_SOURCE 200809L
#include "trace/process.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static uint64_t resident_bytes(void) {
    unsigned long long size, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%llu %llu", &size, &pages) != 2)
        pages = 0;
    fclose(file);
    long page = sysconf(_SC_PAGESIZE);
    return page > 0 ? pages * (uint64_t)page : 0;
}

/* A line is `eth0: received packets errs drop fifo frame compressed multicast sent ...`. */
static void read_interfaces(pl_process *out) {
    char line[512], name[64];
    unsigned long long received, sent;
    FILE *file = fopen("/proc/self/net/dev", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = ' ';
        if (sscanf(line, "%63s %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &received, &sent) == 3 &&
            strcmp(name, "lo") != 0) {
            out->wire_received += received;
            out->wire_sent += sent;
        }
    }
    if (file)
        fclose(file);
}

void pl_process_read(pl_process *out) {
    *out = (pl_process){.cpu = pl_cpu_now(), .resident = resident_bytes()};
    read_interfaces(out);
}
