/* paths.c: names of files and folders. */
#define _POSIX_C_SOURCE 200809L /* readlink */
#include "base/paths.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_LINKS 40

bool pl_folder_of(const char *path, char folder[PL_PATH]) {
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 2;
    return snprintf(folder, PL_PATH, "%.*s", length, slash ? path : "./") < PL_PATH;
}

bool pl_follow_links(const char *path, char target[PL_PATH]) {
    char link[PL_PATH], folder[PL_PATH];
    if (snprintf(target, PL_PATH, "%s", path) >= PL_PATH)
        return false;
    for (unsigned i = 0; i < MOST_LINKS; i++) {
        ssize_t length = readlink(target, link, sizeof link - 1);
        if (length < 0)
            return true; /* not a link */
        link[length] = '\0';
        if (!pl_folder_of(target, folder))
            return false;
        if (snprintf(target, PL_PATH, "%s%s", *link == '/' ? "" : folder, link) >= PL_PATH)
            return false;
    }
    return false;
}
