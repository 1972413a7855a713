/* keep.c: saves a model. Training may have taken days, so a model that cannot be written to its file, because the disk
 * is full or gone, is kept in another folder if possible. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fit.h"
#include "method/model.h"

#define FOLDERS 4

parley_status save_model(const void *model, const char *path, parley_error *error) {
    return parley_model_save(model, path, error);
}

/* Saves to a new folder in `place`, since others may create files with known names in /tmp. */
static bool keep_in(const char *place, saver save, const void *result, const char *name, char kept[PL_TEXT]) {
    char folder[PL_TEXT];
    if (!place || *place != '/' || snprintf(folder, sizeof folder, "%s/parley-XXXXXX", place) >= (int)sizeof folder ||
        !mkdtemp(folder))
        return false;
    if (snprintf(kept, PL_TEXT, "%s/%s", folder, name) < PL_TEXT && save(result, kept, NULL) == PARLEY_OK)
        return true;
    rmdir(folder);
    return false;
}

parley_status save_or_keep(saver save, const void *result, const char *path, parley_error *error) {
    parley_status status = save(result, path, error);
    if (status == PARLEY_OK)
        return PARLEY_OK;
    const char *places[FOLDERS] = {getenv("TMPDIR"), "/tmp", "/dev/shm", getenv("HOME")};
    const char *slash = strrchr(path, '/');
    char kept[PL_TEXT];
    parley_error why = *error;
    for (unsigned i = 0; i < FOLDERS; i++)
        if (keep_in(places[i], save, result, slash ? slash + 1 : path, kept))
            return pl_fail(error, status, "%s; the model is kept in %s", why.sentence, kept);
    return status;
}
