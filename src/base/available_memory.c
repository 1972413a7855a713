/* available_memory.c: reads /proc and the files of control groups, versions 1 and 2. */
#define _POSIX_C_SOURCE 200809L
#include "base/available_memory.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define PATH_BYTES 4096

/* One version of control groups: where its files are, and their names. */
typedef struct groups {
    const char *mount, *limit, *usage, *cached;
} groups;

static const groups version1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                "total_inactive_file "};
static const groups version2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};

static _Atomic uint64_t own_limit;

void pl_memory_limit(uint64_t bytes) { atomic_store(&own_limit, bytes); }

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* Finds the number after `key` at the beginning of a line. An empty key finds the first line. */
static bool read_number(const char *path, const char *key, uint64_t *number) {
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%" SCNu64, number) == 1;
    if (file)
        fclose(file);
    return found;
}

/* What one group leaves. Pages of files that nobody uses can be taken back. */
static uint64_t group_leaves(const groups *version, const char *group) {
    char path[PATH_BYTES + 128];
    uint64_t limit, usage, cached = 0;
    snprintf(path, sizeof path, "%s%s/%s", version->mount, group, version->limit);
    if (!read_number(path, "", &limit)) /* it may be the word max */
        return UINT64_MAX;
    snprintf(path, sizeof path, "%s%s/%s", version->mount, group, version->usage);
    if (!read_number(path, "", &usage))
        return UINT64_MAX;
    snprintf(path, sizeof path, "%s%s/memory.stat", version->mount, group);
    read_number(path, version->cached, &cached);
    return less(limit, less(usage, cached));
}

/* The least over a group and all groups that contain it. In a container, the group's path may not exist. */
static uint64_t groups_leave(const groups *version, char *group) {
    uint64_t left = UINT64_MAX;
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = '\0';
        left = least(left, group_leaves(version, group));
    }
    return left;
}

static uint64_t control_groups_leave(void) {
    char line[PATH_BYTES];
    uint64_t left = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) { /* number:controllers:path */
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        line[strcspn(line, "\n")] = '\0';
        if (path == controllers + 1)
            left = least(left, groups_leave(&version2, path + 1));
        else if (strstr(controllers, "memory"))
            left = least(left, groups_leave(&version1, path + 1));
    }
    if (file)
        fclose(file);
    return left;
}

/* What a limit of this process leaves of an amount that /proc/self/status gives. */
static uint64_t limit_leaves(int resource, const char *key) {
    struct rlimit limit;
    uint64_t used = 0;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    read_number("/proc/self/status", key, &used);
    return less(limit.rlim_cur, used * 1024);
}

static uint64_t machine_leaves(void) {
    uint64_t available, swap = 0;
    if (!read_number("/proc/meminfo", "MemAvailable:", &available))
        return UINT64_MAX;
    read_number("/proc/meminfo", "SwapFree:", &swap);
    return (available + swap) * 1024;
}

uint64_t pl_available_memory(void) {
    uint64_t own = atomic_load(&own_limit), used = 0;
    if (own > 0) {
        read_number("/proc/self/status", "VmRSS:", &used);
        return less(own, used * 1024);
    }
    uint64_t left = least(machine_leaves(), control_groups_leave());
    return least(left, least(limit_leaves(RLIMIT_AS, "VmSize:"), limit_leaves(RLIMIT_DATA, "VmData:")));
}

bool pl_memory_has_room(uint64_t held, uint64_t bytes) {
    return bytes < PL_LARGE_MEMORY || bytes - held <= pl_available_memory();
}

parley_status pl_memory_check(uint64_t bytes, const char *who, const char *remedy, parley_error *error) {
    uint64_t there = bytes < PL_LARGE_MEMORY ? UINT64_MAX : pl_available_memory();
    if (bytes <= there)
        return PARLEY_OK;
    return pl_fail(
        error, PARLEY_NO_MEMORY,
        "out of memory: %s needs about %.0f MB, but %.0f MB are available; %s; or set --memory, if more may be "
        "used",
        who, (double)bytes / 1e6, (double)there / 1e6, remedy);
}
