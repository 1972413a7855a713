/* info_checkpoint.c: `parley info` for a checkpoint: the newest in a folder, or one of its files. */
#define _POSIX_C_SOURCE 200809L /* stat */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "train/checkpoint.h"

static bool is_folder(const char *path) {
    struct stat there;
    return stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

bool is_checkpoint(const char *path) {
    pl_container *container;
    if (is_folder(path))
        return true;
    if (strcmp(path, "-") == 0 || pl_container_open(path, &container, NULL) != PARLEY_OK)
        return false;
    const char *format = pl_container_meta(container, "format");
    bool is = format && strncmp(format, "parley-checkpoint-", 18) == 0;
    pl_container_close(container);
    return is;
}

/* Opens the newest complete checkpoint in a folder, and warns of those that are incomplete. */
static parley_status open_newest(const char *folder, pl_container **out, parley_error *error) {
    uint64_t rounds[PL_RECENT];
    unsigned count = pl_checkpoint_list(folder, rounds);
    parley_status status = pl_fail(error, PARLEY_NO_FILE, "%s: there is no checkpoint in this folder", folder);
    for (unsigned i = 0; i < count && status != PARLEY_OK; i++) {
        status = pl_checkpoint_verify(folder, rounds[i], 0, 1, out, error);
        if (status != PARLEY_OK && i + 1 < count)
            fprintf(stderr, "warning: %s\n", error->sentence);
    }
    return status;
}

static uint64_t bytes_of(const char *path, const pl_container *manifest, bool folder) {
    uint64_t round = pl_manifest_number(manifest, "round"), ranks = pl_manifest_number(manifest, "ranks"), sum = 0;
    char name[PL_TEXT + 64];
    if (!folder)
        return file_bytes(path);
    pl_manifest_path(name, sizeof name, path, round);
    sum += file_bytes(name);
    for (uint64_t r = 0; r < ranks; r++) {
        pl_part_path(name, sizeof name, path, round, (unsigned)r);
        sum += file_bytes(name);
    }
    return sum;
}

/* Prints the checkpoint as text or JSON, with the settings under their own heading. */
static int print(const arguments *arguments, const pl_container *manifest, uint64_t bytes) {
    static const char *const names[] = {"problem", "round", "objective", "gap",      "local",       "combine",
                                        "ranks",   "rows",  "columns",   "nonzeros", "fingerprint", "version"};
    json_t *object = json_object(), *settings = json_object();
    const pl_pair *metas;
    unsigned count = pl_container_metas(manifest, &metas);
    bool json = arguments->settings.json;
    json_put(&object, "kind", json_string("checkpoint"));
    if (!json)
        print_field(stdout, "kind", "checkpoint");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = pl_container_meta(manifest, names[i]);
        json_put(&object, names[i], text ? json_string(text) : json_null());
        if (!json && text)
            print_field(stdout, names[i], "%s", text);
    }
    json_put(&object, "bytes", json_count(bytes));
    if (!json) {
        print_field(stdout, "bytes", "%" PRIu64, bytes);
        puts("\nsettings");
    }
    for (unsigned i = 0; i < count; i++)
        if (strncmp(metas[i].key, "settings.", 9) == 0) {
            json_put(&settings, metas[i].key + 9, json_string(metas[i].value));
            if (json || !*metas[i].value)
                continue;
            fputs("  ", stdout);
            print_field(stdout, metas[i].key + 9, "%s", metas[i].value);
        }
    json_put(&object, "settings", settings);
    if (json)
        return json_print(arguments->command, object);
    json_decref(object);
    return EXIT_DONE;
}

int print_checkpoint(const arguments *arguments) {
    const char *path = arguments->operands[0];
    bool folder = is_folder(path);
    parley_error error;
    pl_container *manifest = NULL;
    parley_status status = folder ? open_newest(path, &manifest, &error) : pl_checked_open(path, &manifest, &error);
    if (status != PARLEY_OK)
        return fail(arguments->command, &error);
    int code = print(arguments, manifest, bytes_of(path, manifest, folder));
    pl_container_close(manifest);
    return code;
}
