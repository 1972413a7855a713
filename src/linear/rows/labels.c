/* labels.c: finds the distinct labels, and from them the loss, where it is auto, and the classes. A binary loss on more
 * than two labels is trained as one against the rest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/label_sets.h"
#include "engine/collective.h"
#include "linear/glm.h"
#include "math/softmax_kernel.h"
#include "shard/distributed.h"

#define REPEATS 2 /* rows of each label, on average, that show classes */

static bool all_whole(const double *kinds, unsigned count) {
    for (unsigned k = 0; k < count; k++)
        if (kinds[k] != floor(kinds[k]))
            return false;
    return true;
}

/* The loss that `auto` chooses for these labels. Whole numbers with gaps that hardly repeat are amounts, not classes.
 */
static const pl_loss *choose_loss(const parley_data *data, const double *kinds, unsigned count) {
    bool classes = count > 2 && count <= PL_LABEL_KINDS && all_whole(kinds, count);
    bool gaps = classes && kinds[count - 1] - kinds[0] + 1 > count;
    if (gaps && data->classes.count == 0 && pl_all_rows(data) < (uint64_t)REPEATS * count)
        classes = false;
    return pl_loss_for(count <= 2 ? PL_LABELS_BINARY : classes ? PL_LABELS_CLASSES : PL_LABELS_REAL);
}

static parley_status number_rows(pl_glm *glm, parley_error *error) {
    uint64_t rows = glm->base.data->x.rows;
    parley_status status = pl_take(&glm->class_of, rows, sizeof *glm->class_of, "the rows' classes", error);
    for (uint64_t i = 0; i < rows && status == PARLEY_OK; i++)
        glm->class_of[i] =
            glm->member ? (uint16_t)glm->base.data->label[i]
                        : (uint16_t)pl_label_place(glm->labels, (unsigned)glm->classes, glm->base.data->label[i]);
    return status;
}

static parley_status keep_classes(pl_glm *glm, const double *kinds, unsigned count, parley_error *error) {
    parley_status status = pl_take(&glm->labels, count, sizeof *glm->labels, "the classes", error);
    if (status != PARLEY_OK)
        return status;
    glm->classes = count;
    memcpy(glm->labels, kinds, count * sizeof *kinds);
    return number_rows(glm, error);
}

parley_status pl_glm_move(pl_glm *glm, const parley_data *data, parley_error *error) {
    bool numbered = glm->class_of != NULL;
    pl_free(glm->class_of);
    glm->class_of = NULL;
    glm->base.data = data;
    return numbered ? number_rows(glm, error) : PARLEY_OK;
}

/* Finds the first of the rows that the ranks found, with its label. */
static parley_status agree_first(pl_engine *engine, double found[2], parley_error *error) {
    double *all;
    uint64_t *bounds;
    parley_status status = pl_take(&bounds, engine->ranks + 1, sizeof *bounds, "labels", error);
    if (status != PARLEY_OK)
        return status;
    status = pl_gather_lists(engine, found, 2, &all, bounds, error);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        if (all[2 * r] < found[0])
            memcpy(found, all + 2 * r, 2 * sizeof *found);
    pl_free(all);
    pl_free(bounds);
    return status;
}

static parley_status check_range(pl_engine *engine, const parley_data *data, const pl_loss *loss, parley_error *error) {
    double found[2] = {INFINITY, 0}; /* row and label */
    parley_status status = PARLEY_OK;
    for (uint64_t i = 0; i < data->x.rows; i++)
        if (!pl_loss_takes(loss, data->label[i])) {
            found[0] = (double)pl_whole_row(data, i);
            found[1] = data->label[i];
            break;
        }
    if (pl_is_parted(data) && loss->log_link)
        status = agree_first(engine, found, error);
    if (status == PARLEY_OK && isfinite(found[0]))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: row %llu has label %.17g, but loss %s needs labels %s; --loss squared takes any number",
                       data->path, (unsigned long long)found[0] + !data->from_arrays, found[1], loss->name,
                       pl_loss_range(loss));
    return status;
}

parley_status pl_positive_label(const parley_data *data, const char *word, double *label, parley_error *error) {
    char *end;
    for (uint64_t c = 0; c < data->classes.count; c++) {
        pl_name name = pl_names_at(&data->classes, c);
        if (name.bytes == strlen(word) && memcmp(name.text, word, name.bytes) == 0) {
            *label = (double)c;
            return PARLEY_OK;
        }
    }
    *label = strtod(word, &end);
    if (data->classes.count > 0 || end == word || *end || !isfinite(*label))
        return pl_fail(error, PARLEY_BAD_USAGE, "--positive: %s has no label %.60s; the labels are %s", data->path,
                       word, data->classes.count > 0 ? "names" : "numbers");
    return PARLEY_OK;
}

/* Orders two labels so that the positive one is the upper one. */
static parley_status choose_positive(pl_glm *glm, const char *word, parley_error *error) {
    double label, low = glm->low;
    if (!*word)
        return PARLEY_OK;
    parley_status status = pl_positive_label(glm->base.data, word, &label, error);
    if (status != PARLEY_OK || label == glm->high)
        return status;
    if (label != low)
        return pl_fail(error, PARLEY_BAD_USAGE, "--positive: no row has label %.60s; the labels are %.17g and %.17g",
                       word, glm->low, glm->high);
    glm->low = glm->high;
    glm->high = low;
    return PARLEY_OK;
}

/* Rejects --positive where there are not two labels. */
static parley_status without_positive(const pl_glm *glm, const parley_settings *settings, parley_error *error) {
    if (!*pl_linear_settings_of(settings)->positive)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE, "--positive names one of two labels, but loss %s has %s here; leave it out",
                   glm->loss->name, glm->loss->labels == PL_LABELS_REAL ? "numbers" : "several classes");
}

/* Sets of labels are learnt label by label, each against the rest. */
static parley_status check_sets(pl_glm *glm, const pl_label_sets *sets, const parley_settings *settings,
                                parley_error *error) {
    const char *path = glm->base.data->path, *loss = pl_linear_settings_of(settings)->loss;
    glm->loss = strcmp(loss, "auto") == 0 ? pl_loss_for(PL_LABELS_BINARY) : pl_loss_find(loss);
    if (!glm->loss)
        return pl_fail(error, PARLEY_BAD_USAGE, "there is no loss %s", loss);
    if (glm->loss->labels != PL_LABELS_BINARY)
        return pl_fail(
            error, PARLEY_BAD_USAGE,
            "--loss %s takes one label per row, but rows of %s have several; use a loss of two classes, such "
            "as logistic",
            loss, path);
    if (*pl_linear_settings_of(settings)->class_weights)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--class-weights has no effect where rows have several labels; leave it out");
    if (sets->labels < 2 || sets->labels > PL_MOST_CLASSES)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: rows have %llu different labels; sets of labels need 2 to %d of them", path,
                       (unsigned long long)sets->labels, PL_MOST_CLASSES);
    return without_positive(glm, settings, error);
}

/* Keeps the labels of rows whose weight is not 0, on any rank. A fold has the sets of all folds, but not all rows. */
static parley_status keep_learnt(pl_engine *engine, const parley_data *data, pl_label_sets *sets, parley_error *error) {
    double *rows, *all = NULL;
    parley_status status = pl_take(&rows, sets->sets, sizeof *rows, "label sets", error);
    if (status == PARLEY_OK)
        status = pl_take(&all, sets->sets, sizeof *all, "label sets", error);
    for (uint64_t i = 0; i < data->x.rows && status == PARLEY_OK; i++)
        if (!data->weight || data->weight[i] > 0)
            rows[(uint64_t)data->label[i]] = 1.0;
    if (status == PARLEY_OK && engine->ranks > 1)
        status = pl_sum_workers(engine, PL_EACH_RANK, rows, (unsigned)sets->sets, all, error);
    if (status == PARLEY_OK)
        status = pl_label_sets_keep(sets, engine->ranks > 1 ? all : rows, error);
    pl_free(rows);
    pl_free(all);
    return status;
}

static parley_status read_sets(pl_glm *glm, pl_engine *engine, const parley_settings *settings, parley_error *error) {
    pl_label_sets sets;
    parley_status status = pl_label_sets_read(&glm->base.data->classes, &sets, error);
    if (status != PARLEY_OK)
        return status;
    status = keep_learnt(engine, glm->base.data, &sets, error);
    if (status == PARLEY_OK)
        status = check_sets(glm, &sets, settings, error);
    if (status == PARLEY_OK)
        status = pl_take(&glm->member, sets.sets * sets.labels, sizeof *glm->member, "label sets", error);
    for (uint64_t s = 0; s < sets.sets && status == PARLEY_OK; s++)
        for (uint64_t m = sets.start[s]; m < sets.start[s + 1]; m++)
            glm->member[s * sets.labels + sets.member[m]] = 1;
    if (status == PARLEY_OK)
        status = keep_classes(glm, sets.label, (unsigned)sets.labels, error);
    pl_label_sets_free(&sets);
    return status;
}

parley_status pl_glm_read_labels(pl_glm *glm, pl_engine *engine, const parley_settings *settings, parley_error *error) {
    double kinds[PL_MOST_CLASSES + 1];
    const parley_data *data = glm->base.data;
    const char *loss = pl_linear_settings_of(settings)->loss;
    bool open = strcmp(loss, "auto") == 0;
    if (pl_has_label_sets(data))
        return read_sets(glm, engine, settings, error);
    if (!open) {
        glm->loss = pl_loss_find(loss);
        if (!glm->loss)
            return pl_fail(error, PARLEY_BAD_USAGE, "there is no loss %s", loss);
        if (glm->loss->labels == PL_LABELS_REAL)
            return check_range(engine, data, glm->loss, error);
    }
    unsigned most = open ? PL_LABEL_KINDS : PL_MOST_CLASSES;
    unsigned count;
    parley_status status = pl_label_kinds(engine, data, most, kinds, &count, error);
    if (status != PARLEY_OK)
        return status;
    if (count == 1 && data->classes.count > 0) {
        pl_name name = pl_names_at(&data->classes, (uint64_t)kinds[0]);
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: all labels are %.*s; there is nothing to learn", data->path,
                       (int)(name.bytes < 60 ? name.bytes : 60), name.text);
    }
    if (count == 1)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: all labels are %.17g; there is nothing to learn", data->path,
                       kinds[0]);
    if (open)
        glm->loss = choose_loss(glm->base.data, kinds, count);
    if (glm->loss->labels == PL_LABELS_REAL)
        return without_positive(glm, settings, error);
    if (count > most)
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: more than %u different labels, which is the most that loss %s takes; --loss squared takes any number",
            data->path, most, glm->loss->name);
    if (count > 2 || glm->loss->labels == PL_LABELS_CLASSES) {
        status = without_positive(glm, settings, error);
        return status == PARLEY_OK ? keep_classes(glm, kinds, count, error) : status;
    }
    glm->low = kinds[0];
    glm->high = kinds[1];
    return choose_positive(glm, pl_linear_settings_of(settings)->positive, error);
}
