/* linear_rules.c: what can be said of a linear model by its settings, and by the shape of its data once that is known:
 * settings that contradict each other, the facts that methods need, and the rule behind `auto`. The measurements behind
 * the rule are in docs/auto.md. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/glm.h"

#define FEW_COLUMNS 200         /* up to here the matrix of second derivatives pays */
#define ONE_MATRIX_COLUMNS 500  /* and up to here on filled data whose curvature is the same everywhere */
#define SOFTENED_COLUMNS 2000   /* and up to here where the loss is softened, which the truncated form does not */
#define FILLED 0.1              /* share of the matrix that is not 0 */
#define MANY_COUNTS 2000        /* columns up to which Newton's method is for counts, whatever their share */
#define MOSTLY_L1 0.75          /* share of the penalty from which columns are faster than rows, whatever the shape */
#define WIDE 2.0                /* l1_ratio x columns for each row, likewise */
#define CLASS_ENTRIES 200       /* of a model of several classes, where Newton beats dual ascent */
#define DENSE_CLASS_ENTRIES 600 /* where it is safer on dense data */
#define SMALL_LAMBDA "1e-6"

bool pl_is_filled(const pl_glm *glm) {
    const parley_data *data = glm->data;
    return (double)pl_all_nonzeros(data) >= FILLED * (double)pl_all_rows(data) * (double)data->x.columns;
}

bool pl_few_columns(const pl_glm *glm) {
    uint64_t columns = glm->data->x.columns;
    uint64_t most = glm->loss->soften ? SOFTENED_COLUMNS : glm->loss->quadratic ? ONE_MATRIX_COLUMNS : 0;
    return columns <= FEW_COLUMNS || (columns <= most && pl_is_filled(glm));
}

/* The loss that was asked for, or that the labels decided; NULL: it is not known yet. */
static const pl_loss *loss_of(const pl_problem *problem, const parley_settings *settings) {
    const pl_loss *loss = pl_loss_find(settings->loss);
    return loss || !problem ? loss : pl_glm_of(problem)->loss;
}

/* The problem as the settings would have it, to be looked at only. */
static pl_glm as_asked(const pl_problem *problem, const parley_settings *settings) {
    pl_glm glm = *pl_glm_of(problem);
    if (strcmp(glm.loss->name, loss_of(problem, settings)->name) != 0)
        glm.loss = loss_of(problem, settings);
    glm.lambda = settings->lambda;
    glm.l1_ratio = settings->l1_ratio;
    return glm;
}

/* Can coordinate descent by columns take it? */
static bool fits_columns(const pl_loss *loss) { return pl_loss_bounded(loss) && !loss->together; }

/* One way to say how strong the penalty is; an alpha of 0 is a lambda of 0 whatever the rows weigh. */
static parley_status check_penalty(parley_settings *settings, parley_error *error) {
    static const char *const names[] = {"lambda", "C", "alpha"};
    const double values[] = {settings->lambda, settings->c, settings->alpha};
    const char *given = NULL;
    for (unsigned i = 0; i < 3; i++) {
        if (isnan(values[i]))
            continue;
        if (given)
            return pl_fail(error, PARLEY_BAD_USAGE, "--%s and --%s say the same thing; give one of them", given,
                           names[i]);
        given = names[i];
    }
    if (settings->alpha == 0) {
        settings->lambda = 0;
        settings->alpha = NAN;
    }
    if (settings->lambda == 0 && settings->l1_ratio > 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--l1-ratio has no effect with --lambda 0; leave one of them out");
    return PARLEY_OK;
}

/* A loss's parameter, given with another loss. auto chooses none that has one. */
static parley_status check_parameters(const parley_settings *settings, parley_error *error) {
    const pl_loss *loss = pl_loss_find(settings->loss);
    for (unsigned i = 0; i < pl_settings_count; i++) {
        const pl_loss *reader = pl_loss_of(pl_settings[i].name);
        char flag[48];
        if (!reader || !settings->given[i] || (loss && pl_loss_reads(loss, pl_settings[i].name)))
            continue;
        pl_setting_flag(&pl_settings[i], flag, sizeof flag);
        return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect with --loss %s; --loss %s reads it", flag,
                       settings->loss, reader->name);
    }
    return PARLEY_OK;
}

static parley_status check(parley_settings *settings, parley_error *error) {
    parley_status status = check_penalty(settings, error);
    settings->passes = settings->passes ? settings->passes : 1; /* only streams read it */
    return status == PARLEY_OK ? check_parameters(settings, error) : status;
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
    return glm->lambda != 0 && (glm->l1_ratio < 1 || (fits_columns(glm->loss) && glm->classes == 1));
}

static bool is_smooth(const pl_glm *glm) { return glm->loss->smooth; }

static bool always(const pl_glm *glm) {
    (void)glm;
    return true;
}

/* What `auto` chooses: the first rule that holds. */
static const struct {
    bool (*holds)(const pl_glm *glm);
    const char *preset;
} choices[] = {{few_or_filled, "newton"}, {filled_classes, "lbfgs"}, {is_smooth_dual, "cocoa-newton"},
               {is_penalised, "cocoa+"},  {is_smooth, "lbfgs"},      {always, "gd"}};

static const char *choose(const pl_problem *problem, const parley_settings *settings, parley_error *error) {
    const pl_loss *loss = pl_loss_find(settings->loss);
    bool named = strcmp(settings->local, "auto") != 0 || strcmp(settings->combine, "auto") != 0;
    if (loss && !loss->smooth && !named && !(settings->lambda != 0 && settings->l1_ratio < 1)) {
        pl_fail(error, PARLEY_BAD_USAGE, "auto knows no method that ends at the optimum of %s loss without L2 penalty",
                loss->name);
        return NULL;
    }
    if (!problem)
        return "auto";
    pl_glm glm = as_asked(problem, settings);
    unsigned i = 0;
    while (!choices[i].holds(&glm))
        i++;
    return choices[i].preset;
}

static bool by_columns(const pl_problem *problem, const parley_settings *settings) {
    const pl_loss *loss = loss_of(problem, settings);
    double ratio = settings->l1_ratio;
    if (ratio == 0 || (loss && !fits_columns(loss)) || (problem && problem->row > 1))
        return false;
    if (ratio >= MOSTLY_L1 || !problem)
        return ratio >= MOSTLY_L1;
    const pl_glm *glm = pl_glm_of(problem);
    return ratio * (double)glm->data->x.columns > WIDE * (double)pl_all_rows(glm->data) || pl_is_filled(glm);
}

static unsigned facts(const pl_problem *problem, const parley_settings *settings) {
    const pl_loss *loss = loss_of(problem, settings);
    bool penalty = settings->lambda != 0; /* NaN is auto, which is above 0 */
    bool several = problem ? problem->row > 1 : loss && loss->together;
    unsigned found = penalty ? PL_FACT_PENALTY | PL_FACT_DUAL : 0;
    found |= penalty && settings->l1_ratio < 1 ? PL_FACT_L2 : 0;
    found |= settings->l1_ratio > 0 ? 0 : PL_FACT_NO_L1;
    found |= !loss || loss->smooth ? PL_FACT_SMOOTH : 0;
    found |= loss && loss->soften && penalty ? PL_FACT_SOFTENS : 0;
    found |= !loss || pl_loss_bounded(loss) ? PL_FACT_BOUNDED : 0;
    return found | (several ? 0 : PL_FACT_ONE_OUTPUT);
}

/* Labels that are not read yet may turn out to be several classes. */
static unsigned uncertain(const parley_settings *settings) {
    const pl_loss *loss = pl_loss_find(settings->loss);
    return !loss || loss->labels != PL_LABELS_REAL ? PL_FACT_ONE_OUTPUT : 0;
}

static void why(const pl_problem *problem, const parley_settings *settings, unsigned fact, char *text, size_t size) {
    const pl_loss *loss = loss_of(problem, settings);
    const char *name = loss ? loss->name : settings->loss;
    switch (fact) {
    case PL_FACT_L2:
        snprintf(text, size, "%s leaves none", settings->lambda == 0 ? "--lambda 0" : "--l1-ratio 1");
        break;
    case PL_FACT_NO_L1: snprintf(text, size, "--l1-ratio adds one"); break;
    case PL_FACT_PENALTY: snprintf(text, size, "--lambda 0 leaves none"); break;
    case PL_FACT_SMOOTH:
        snprintf(text, size,
                 loss && loss->soften && settings->lambda == 0 ? "%s is not, nor is it softened without a penalty"
                                                               : "%s is not",
                 name);
        break;
    case PL_FACT_BOUNDED: snprintf(text, size, "%s is not", name); break;
    default: snprintf(text, size, "there are more"); break;
    }
}

/* Does a change of loss keep the kind of labels, and a change of penalty change anything? */
static bool is_a_change(const parley_settings *settings, const pl_pair *change) {
    if (strcmp(change->key, "loss") == 0) {
        const pl_loss *from = pl_loss_find(settings->loss), *to = pl_loss_find(change->value);
        return from && from != to && from->labels == to->labels;
    }
    if (strcmp(change->key, "lambda") == 0)
        return settings->lambda == 0;
    return strcmp(change->key, "l1_ratio") != 0 || settings->l1_ratio > 0;
}

/* A penalty that was given as C or alpha is a lambda when the rows' weights are known. */
static bool is_restated(const parley_settings *settings, const char *name) {
    return strcmp(name, "lambda") == 0 && (!isnan(settings->c) || !isnan(settings->alpha));
}

static const pl_way ways[] = {{"a small --lambda", {{"lambda", SMALL_LAMBDA}}},
                              {"--l1-ratio 0.99", {{"l1_ratio", "0.99"}}},
                              {"--l1-ratio 0", {{"l1_ratio", "0"}}},
                              {"--loss squared-hinge", {{"loss", "squared-hinge"}}},
                              {"--loss huber", {{"loss", "huber"}}},
                              {NULL, {{0}}}};
static const pl_way last_ways[] = {{"--local sdca with --l1-ratio 0.99", {{"local", "sdca"}, {"l1_ratio", "0.99"}}},
                                   {NULL, {{0}}}};

const pl_problem_rules pl_linear_rules = {
    .check = check,
    .choose = choose,
    .by_columns = by_columns,
    .facts = facts,
    .uncertain = uncertain,
    .why = why,
    .ways = ways,
    .last_ways = last_ways,
    .is_a_change = is_a_change,
    .is_restated = is_restated,
};
