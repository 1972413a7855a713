/* status.c: status codes and error messages. */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/available_memory.h"

#ifndef PARLEY_VERSION
#define PARLEY_VERSION "0.0.0"
#endif

static const char *const status_texts[] = {
#define PARLEY_ROW(name, text) text,
    PARLEY_STATUSES(PARLEY_ROW)
#undef PARLEY_ROW
};

static const char *const stop_texts[] = {"converged", "rounds", "seconds",   "stalled", "interrupted",
                                         "patience",  "passed", "validated", "diverged"};

parley_status pl_fail(parley_error *error, parley_status status, const char *format, ...) {
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        error->status = status;
        vsnprintf(error->sentence, sizeof error->sentence, format, arguments);
        va_end(arguments);
    }
    return status;
}

parley_status pl_fail_memory(parley_error *error, const char *what, uint64_t bytes) {
    uint64_t there = bytes >= PL_LARGE_MEMORY ? pl_available_memory() : UINT64_MAX;
    if (there < bytes)
        return pl_fail(error, PARLEY_NO_MEMORY, "out of memory: %.1f MB for %s, but %.1f MB are available",
                       (double)bytes / 1e6, what, (double)there / 1e6);
    return pl_fail(error, PARLEY_NO_MEMORY, "out of memory: %.1f MB for %s", (double)bytes / 1e6, what);
}

parley_status pl_fail_file(parley_error *error, const char *path, const char *action) {
    return pl_fail(error, PARLEY_NO_FILE, "%s: cannot %s: %s", path, action, strerror(errno));
}

parley_status pl_fail_changed(parley_error *error, const char *path) {
    return pl_fail(error, PARLEY_BAD_INPUT, "%s changed while it was read; read it again when it is complete", path);
}

const char *parley_status_text(parley_status status) {
    size_t count = sizeof status_texts / sizeof *status_texts;
    return (size_t)status < count ? status_texts[status] : "unknown status";
}

const char *parley_stop_text(parley_stop stop) {
    size_t count = sizeof stop_texts / sizeof *stop_texts;
    return (size_t)stop < count ? stop_texts[stop] : "unknown stop";
}

const char *parley_version(void) { return PARLEY_VERSION; }
