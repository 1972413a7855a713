/* presets.c: the presets table, the rule behind `auto`, and the lists of all members. */
#include "train/presets.h"

#include <math.h>
#include <string.h>

#include "data/format.h"

#define MANY_COUNTS 2000        /* columns, up to which Newton's method is for counts whatever their share */
#define MOSTLY_L1 0.75          /* share of the penalty from which columns are faster than rows, whatever the shape */
#define WIDE 2.0                /* l1_ratio x columns for each row, likewise */
#define CLASS_ENTRIES 200       /* of a model of several classes, where Newton beats dual ascent */
#define DENSE_CLASS_ENTRIES 600 /* where it is safer on dense data */

const pl_preset pl_presets[] = {
    {.name = "auto", .help = "the method for the data's shape and the loss"},
    {"cocoa",
     "coordinate steps on shards of rows or columns, averaged",
     &pl_local_sdca,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{0}}},
    {"cocoa+",
     "coordinate steps on shards of rows or columns, added as far as is safe",
     &pl_local_sdca,
     &pl_combine_add,
     &pl_exchange_allreduce,
     {{0}}},
    {"cocoa-newton",
     "cocoa+, and where that is slow newton from there on",
     &pl_local_sdca,
     &pl_combine_add,
     &pl_exchange_allreduce,
     {{0}}},
    {"minibatch-cd",
     "coordinate steps that do not see each other, added as far as is safe",
     &pl_local_sdca,
     &pl_combine_add,
     &pl_exchange_allreduce,
     {{"updates", "delayed"}}},
    {"gd", "gradient descent", &pl_local_gradient, &pl_combine_step, &pl_exchange_allreduce, {{0}}},
    {"newton",
     "Newton's method: by Cholesky for few columns, else truncated",
     &pl_local_gradient,
     &pl_combine_newton,
     &pl_exchange_allreduce,
     {{0}}},
    {"lbfgs",
     "L-BFGS; with an L1 penalty OWL-QN",
     &pl_local_gradient,
     &pl_combine_lbfgs,
     &pl_exchange_allreduce,
     {{0}}},
    {"spark-ml",
     "the same through a driver, as Spark's ml does",
     &pl_local_gradient,
     &pl_combine_lbfgs,
     &pl_exchange_driver,
     {{0}}},
    {"minibatch-sgd",
     "gradients of a tenth of the rows, allreduce",
     &pl_local_gradient,
     &pl_combine_step,
     &pl_exchange_allreduce,
     {{"batch_fraction", "0.1"}, {"schedule", "inverse-sqrt"}}},
    {"mllib-sgd",
     "the same through a driver, as Spark's MLlib does",
     &pl_local_gradient,
     &pl_combine_step,
     &pl_exchange_driver,
     {{"batch_fraction", "0.1"}, {"schedule", "inverse-sqrt"}}},
    {"hybrid", "one epoch of ma-sgd, then lbfgs", &pl_local_sgd, &pl_combine_average, &pl_exchange_allreduce, {{0}}},
    {"ma-sgd",
     "sgd on shards, averaged after each epoch",
     &pl_local_sgd,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{0}}},
    {"mllib-ma", "the same through a driver", &pl_local_sgd, &pl_combine_average, &pl_exchange_driver, {{0}}},
    {"splash",
     "the same with rows that count as often as there are workers",
     &pl_local_sgd,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{"reweight", "true"}}},
    {"oneshot",
     "sgd on shards, averaged once at the end",
     &pl_local_sgd,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{"rounds", "1"}, {"local_epochs", "20"}, {"gap", "0"}}},
    {"replicas",
     "ma-sgd with a worker for each core",
     &pl_local_sgd,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{"worker_per", "core"}}},
    {"online",
     "one pass over a stream, a step for each row, as Vowpal Wabbit does",
     &pl_local_online,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{"gap", "0"}}},
    {"hogwild",
     "sgd of all workers on one model in memory, without locks",
     &pl_local_sgd,
     &pl_combine_average,
     &pl_exchange_shared,
     {{0}}},
};
const unsigned pl_presets_count = sizeof pl_presets / sizeof *pl_presets;

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
static bool bounded(const pl_loss *loss) { return loss->smooth && isfinite(loss->curvature_bound) && !loss->together; }

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
    if (glm->l1_ratio > 0 || (!loss->smooth && !(loss->soften && glm->lambda != 0)))
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

const char *const pl_list_kinds[] = {"losses",  "solvers", "combines", "exchanges",
                                     "engines", "presets", "formats",  NULL};

unsigned pl_list(const char *kind, pl_entry *entries) {
    unsigned i = 0;
    if (strcmp(kind, "losses") == 0)
        for (; i < pl_losses_count; i++)
            entries[i] = (pl_entry){pl_losses[i]->name, pl_losses[i]->help};
    else if (strcmp(kind, "solvers") == 0)
        for (; i < pl_locals_count; i++)
            entries[i] = (pl_entry){pl_locals[i]->name, pl_locals[i]->help};
    else if (strcmp(kind, "combines") == 0)
        for (; i < pl_combines_count; i++)
            entries[i] = (pl_entry){pl_combines[i]->name, pl_combines[i]->help};
    else if (strcmp(kind, "exchanges") == 0)
        for (; i < pl_exchanges_count; i++)
            entries[i] = (pl_entry){pl_exchanges[i]->name, pl_exchanges[i]->help};
    else if (strcmp(kind, "engines") == 0)
        for (; i < pl_engines_count; i++)
            entries[i] = (pl_entry){pl_engines[i]->name, pl_engines[i]->help};
    else if (strcmp(kind, "presets") == 0)
        for (; i < pl_presets_count; i++)
            entries[i] = (pl_entry){pl_presets[i].name, pl_presets[i].help};
    else if (strcmp(kind, "formats") == 0)
        for (; i < pl_formats_count; i++)
            entries[i] = (pl_entry){pl_formats[i]->name, pl_formats[i]->help};
    return i;
}

const char *parley_list_at(const char *kind, unsigned number, const char **help) {
    pl_entry entries[PL_ENTRIES];
    bool is_one = number < pl_list(kind, entries);
    if (help)
        *help = is_one ? entries[number].help : NULL;
    return is_one ? entries[number].name : NULL;
}
