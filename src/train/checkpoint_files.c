/* checkpoint_files.c: the files in a folder of checkpoints: round-N.safetensors (the manifest) and
 * round-N.rank-R.safetensors. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/checkpoint.h"

#define FORMAT "parley-checkpoint-1"

void pl_manifest_path(char *path, size_t size, const char *folder, uint64_t round) {
    snprintf(path, size, "%s/round-%" PRIu64 ".safetensors", folder, round);
}

/* Parses the round in a file name and returns the rest of the name, or NULL for other files. */
static const char *round_of(const char *name, uint64_t *round) {
    char *rest;
    if (strncmp(name, "round-", 6) != 0 || name[6] < '1' || name[6] > '9')
        return NULL;
    errno = 0;
    *round = strtoull(name + 6, &rest, 10);
    return errno == 0 && *round <= PL_MOST_ROUND && *rest == '.' ? rest : NULL;
}

unsigned pl_checkpoint_list(const char *folder, uint64_t *rounds) {
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    unsigned count = 0;
    while (directory && (entry = readdir(directory))) {
        uint64_t round;
        const char *rest = round_of(entry->d_name, &round);
        unsigned at = 0;
        if (!rest || strcmp(rest, ".safetensors") != 0)
            continue;
        while (at < count && rounds[at] > round)
            at++;
        if (at == PL_RECENT)
            continue;
        count -= count == PL_RECENT;
        memmove(&rounds[at + 1], &rounds[at], (count - at) * sizeof *rounds);
        rounds[at] = round;
        count++;
    }
    if (directory)
        closedir(directory);
    return count;
}

bool pl_same_folder(const char *a, const char *b) {
    struct stat first, second;
    return strcmp(a, b) == 0 || (stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
                                 first.st_ino == second.st_ino);
}

parley_status pl_checkpoint_folder(const char *folder, parley_error *error) {
    struct stat there;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return pl_fail_file(error, folder, "create the folder");
    if (stat(folder, &there) != 0 || !S_ISDIR(there.st_mode))
        return pl_fail(error, PARLEY_NO_FILE, "%s: not a folder; --checkpoint needs one", folder);
    return access(folder, W_OK | X_OK) == 0 ? PARLEY_OK : pl_fail_file(error, folder, "write to the folder");
}

parley_status pl_checkpoint_look(const char *folder, const char *resume, parley_error *error) {
    uint64_t rounds[PL_RECENT];
    parley_status status = *folder ? pl_checkpoint_folder(folder, error) : PARLEY_OK;
    bool same = *folder && pl_same_folder(folder, resume);
    if (status == PARLEY_OK && *folder && !same && pl_checkpoint_list(folder, rounds) > 0)
        status = pl_fail(error, PARLEY_BAD_USAGE,
                         "--checkpoint %s: the folder already has a checkpoint of round %" PRIu64
                         "; continue from it with --resume %s, or give another folder",
                         folder, rounds[0], folder);
    if (status == PARLEY_OK && *resume && !same && pl_checkpoint_list(resume, rounds) == 0)
        status = pl_fail(error, PARLEY_NO_FILE, "--resume %s: there is no checkpoint in this folder", resume);
    return status;
}

void pl_checkpoint_prune(const char *folder, uint64_t newest, uint64_t before) {
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        uint64_t round;
        const char *rest = round_of(entry->d_name, &round);
        bool ours = rest && (strcmp(rest, ".safetensors") == 0 || strncmp(rest, ".rank-", 6) == 0 ||
                             strncmp(rest, ".safetensors.tmp-", 17) == 0);
        if (ours && ((round != newest && round != before) || strstr(rest, ".tmp-")))
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory)
        closedir(directory);
}

uint64_t pl_manifest_number(const pl_container *manifest, const char *key) {
    const char *text = pl_container_meta(manifest, key);
    return text ? strtoull(text, NULL, 10) : 0;
}

static parley_status check_manifest(const pl_container *manifest, const char *path, uint64_t round,
                                    parley_error *error) {
    const char *format = pl_container_meta(manifest, "format");
    if (!format || strcmp(format, FORMAT) != 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a checkpoint of this version of Parley", path);
    uint64_t ranks = pl_manifest_number(manifest, "ranks");
    if (pl_manifest_number(manifest, "round") != round || ranks == 0 || ranks > UINT32_MAX ||
        !pl_container_meta(manifest, "run"))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: not the manifest of a checkpoint", path);
    return PARLEY_OK;
}

static parley_status check_part(const char *folder, uint64_t round, unsigned rank, const char *run,
                                parley_error *error) {
    char path[PL_TEXT + 64];
    pl_container *part;
    pl_part_path(path, sizeof path, folder, round, rank);
    parley_status status = pl_checked_open(path, &part, error);
    if (status != PARLEY_OK)
        return status;
    const char *of = pl_container_meta(part, "run");
    if (!of || strcmp(of, run) != 0)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: belongs to another run than the manifest", path);
    pl_container_close(part);
    return status;
}

parley_status pl_checkpoint_verify(const char *folder, uint64_t round, unsigned first, unsigned step,
                                   pl_container **manifest, parley_error *error) {
    char path[PL_TEXT + 64];
    pl_manifest_path(path, sizeof path, folder, round);
    parley_status status = pl_checked_open(path, manifest, error);
    if (status == PARLEY_OK)
        status = check_manifest(*manifest, path, round, error);
    uint64_t ranks = status == PARLEY_OK ? pl_manifest_number(*manifest, "ranks") : 0;
    for (uint64_t r = first; r < ranks && status == PARLEY_OK; r += step)
        status = check_part(folder, round, (unsigned)r, pl_container_meta(*manifest, "run"), error);
    if (status != PARLEY_OK) {
        pl_container_close(*manifest);
        *manifest = NULL;
    }
    return status;
}
