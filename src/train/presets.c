/* presets.c: the rule behind `auto`, and looking presets up. */
#include "train/presets.h"

#include <string.h>

#define MANY_COUNTS 2000        /* columns, up to which Newton's method is for counts whatever their share */
#define MOSTLY_L1 0.75          /* share of the penalty from which columns are faster than rows, whatever the shape */
#define WIDE 2.0                /* l1_ratio x columns for each row, likewise */
#define CLASS_ENTRIES 200       /* of a model of several classes, where Newton beats dual ascent */
#define DENSE_CLASS_ENTRIES 600 /* where it is safer on dense data */

static const pl_sequel sequels[] = {{"hybrid", "lbfgs", 1.0, false}, {"cocoa-newton", "newton", 12.0, true}};

const pl_preset *pl_preset_find(const char *name) {
    for (unsigned i = 0; i < pl_presets_count; i++)
        if (strcmp(pl_presets[i].name, name) == 0)
            return &pl_presets[i];
    return NULL;
}

const pl_sequel *pl_sequel_find(const char *name) {
    for (unsigned i = 0; i < sizeof sequels / sizeof *sequels; i++)
        if (strcmp(sequels[i].preset, name) == 0)
            return &sequels[i];
    return NULL;
}

/* Can scd take it? */
static bool bounded(const pl_loss *loss) { return pl_loss_bounded(loss) && !loss->together; }

const pl_local_type *pl_preset_local(const pl_preset *preset, const parley_settings *settings, const pl_glm *glm) {
    const pl_loss *loss = glm ? glm->loss : pl_loss_find(settings->loss);
    double ratio = settings->l1_ratio;
    if (preset->local != &pl_local_sdca || ratio == 0 || (loss && !bounded(loss)) || (glm && glm->classes > 1))
        return preset->local;
    bool wide = glm && ratio * (double)glm->data->x.columns > WIDE * (double)pl_all_rows(glm->data);
    return ratio >= MOSTLY_L1 || wide || (glm && pl_is_filled(glm)) ? &pl_local_scd : &pl_local_sdca;
}

/* Newton's method: smooth losses, and those that can be softened. Large counts are stiff: 1e3 / lambda. */
static bool few_or_filled(const pl_glm *glm) {
    const pl_loss *loss = glm->loss;
    if (glm->l1_ratio > 0 || !pl_loss_curves(loss, glm->lambda != 0))
        return false;
    if (glm->classes > 1)
        return glm->size <= (pl_is_filled(glm) ? DENSE_CLASS_ENTRIES : CLASS_ENTRIES);
    return pl_few_columns(glm) || (loss->smooth && pl_is_filled(glm)) ||
           (loss->counts && glm->data->x.columns <= MANY_COUNTS);
}

/* L-BFGS: filled data on which dual ascent may never end, with a matrix that is too large for Newton's method. */
static bool filled_classes(const pl_glm *glm) {
    return glm->classes > 1 && glm->loss->smooth && glm->l1_ratio == 0 && pl_is_filled(glm);
}

/* What dual ascent can begin and Newton's method, if need be, end. */
static bool is_smooth_dual(const pl_glm *glm) {
    return glm->lambda != 0 && glm->l1_ratio == 0 && glm->loss->smooth && glm->classes == 1;
}

/* What dual ascent, or by columns a loss of bounded curvature, needs. */
static bool is_penalised(const pl_glm *glm) {
    return glm->lambda != 0 && (glm->l1_ratio < 1 || (bounded(glm->loss) && glm->classes == 1));
}

static bool is_smooth(const pl_glm *glm) { return glm->loss->smooth; }

static bool always(const pl_glm *glm) {
    (void)glm;
    return true;
}

/* What `auto` chooses: the first rule that holds. The measurements behind them are in docs/auto.md. */
static const struct {
    bool (*holds)(const pl_glm *glm);
    const char *preset;
} rules[] = {{few_or_filled, "newton"}, {filled_classes, "lbfgs"}, {is_smooth_dual, "cocoa-newton"},
             {is_penalised, "cocoa+"},  {is_smooth, "lbfgs"},      {always, "gd"}};

const pl_preset *pl_preset_choose(const pl_glm *glm) {
    unsigned i = 0;
    while (!rules[i].holds(glm))
        i++;
    return pl_preset_find(rules[i].preset);
}
