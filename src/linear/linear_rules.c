/* linear_rules.c: rules about a linear model that follow from its settings: contradictory settings, the facts that
 * methods need, and changes that avoid an error. What `auto` chooses is in auto.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linear/glm.h"
#include "method/local.h"

#define INFERENCE_GAP 1e-10 /* the usual gap is too large for errors of coefficients */
#define SMALL_LAMBDA "1e-6"

/* The loss that was asked for, or that follows from the labels; NULL if it is not known yet. */
static const pl_loss *loss_of(const pl_problem *problem, const parley_settings *settings) {
    const pl_loss *loss = pl_loss_find(pl_linear_settings_of(settings)->loss);
    return loss || !problem ? loss : pl_glm_of(problem)->loss;
}

/* Allows only one form of the strength of the penalty. An alpha of 0 means a lambda of 0, whatever the weights. */
static parley_status check_penalty(parley_settings *settings, parley_error *error) {
    static const char *const names[] = {"lambda", "C", "alpha"};
    const double values[] = {pl_linear_settings_of(settings)->lambda, pl_linear_settings_of(settings)->c,
                             pl_linear_settings_of(settings)->alpha};
    const char *given = NULL;
    for (unsigned i = 0; i < 3; i++) {
        if (isnan(values[i]))
            continue;
        if (given)
            return pl_fail(error, PARLEY_BAD_USAGE,
                           "--%s and --%s both set the strength of the penalty; give only one of them", given,
                           names[i]);
        given = names[i];
    }
    if (pl_linear_settings_of(settings)->alpha == 0) {
        pl_linear_settings_in(settings)->lambda = 0;
        pl_linear_settings_in(settings)->alpha = NAN;
    }
    if (pl_linear_settings_of(settings)->lambda == 0 && pl_linear_settings_of(settings)->l1_ratio > 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--l1-ratio has no effect with --lambda 0; leave one of them out");
    if (pl_linear_settings_of(settings)->lambda == 0 && *pl_linear_settings_of(settings)->penalty_factors)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--penalty-factors has no effect with --lambda 0; leave one of them out");
    return PARLEY_OK;
}

/* Rejects the parameter of a loss that is not used. `auto` never chooses a loss with a parameter. */
static parley_status check_parameters(const parley_settings *settings, parley_error *error) {
    const pl_loss *loss = pl_loss_find(pl_linear_settings_of(settings)->loss);
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        const pl_loss *reader = settings->given[i] ? pl_loss_of(pl_setting_at(i)->name) : NULL;
        char flag[48];
        if (!reader || (loss && pl_loss_reads(loss, pl_setting_at(i)->name)))
            continue;
        pl_setting_flag(pl_setting_at(i), flag, sizeof flag);
        return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect with --loss %s; it is a parameter of --loss %s", flag,
                       pl_linear_settings_of(settings)->loss, reader->name);
    }
    return PARLEY_OK;
}

/* Only a loss of two classes has a positive one. */
static parley_status check_positive(const parley_settings *settings, parley_error *error) {
    const pl_loss *loss = pl_loss_find(pl_linear_settings_of(settings)->loss);
    if (!*pl_linear_settings_of(settings)->positive || !loss || loss->labels == PL_LABELS_BINARY)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE, "--positive has no effect with --loss %s; it names one of two labels",
                   loss->name);
}

/* Standard errors need a model near the optimum, and rows to compute the curvature. */
static parley_status check_inference(parley_settings *settings, parley_error *error) {
    if (!settings->inference)
        return PARLEY_OK;
    if (pl_linear_settings_of(settings)->l1_ratio > 0 || pl_linear_settings_of(settings)->non_negative)
        return pl_linear_refuse_inference(
            pl_linear_settings_of(settings)->l1_ratio > 0 ? "--l1-ratio" : "--non-negative", error);
    for (unsigned i = 0; i < pl_locals_count; i++)
        if (strcmp(pl_locals[i]->name, settings->local) == 0 && (pl_locals[i]->traits & PL_OWNS_COLUMNS)) {
            char option[48];
            snprintf(option, sizeof option, "--local %.20s", settings->local);
            return pl_linear_refuse_inference(option, error);
        }
    if (!pl_setting_given(settings, "gap"))
        settings->gap = INFERENCE_GAP;
    return PARLEY_OK;
}

static parley_status check(parley_settings *settings, parley_error *error) {
    parley_status status = check_penalty(settings, error);
    if (status == PARLEY_OK)
        status = check_inference(settings, error);
    if (status == PARLEY_OK)
        status = check_positive(settings, error);
    settings->passes = settings->passes ? settings->passes : 1; /* only streams read it */
    if (status == PARLEY_OK && pl_linear_settings_of(settings)->scale_indicators && !settings->standardise)
        return pl_fail(error, PARLEY_BAD_USAGE, "--scale-indicators has no effect without --standardise; give both");
    if (status == PARLEY_OK && settings->schedule > PL_NORMALISED)
        return pl_fail(error, PARLEY_BAD_USAGE, "--schedule step and cosine are for networks; use another one");
    return status == PARLEY_OK ? check_parameters(settings, error) : status;
}

/* Whether coordinate steps on columns are faster than on rows. */
static bool by_columns(const pl_problem *problem, const parley_settings *settings) {
    return pl_linear_takes(PL_AUTO_LOCAL, "scd", problem, settings);
}

unsigned pl_glm_facts(const pl_loss *loss, double lambda, double l1_ratio, bool several) {
    bool penalty = lambda != 0;
    bool l2 = penalty && l1_ratio < 1;
    bool softens = loss && loss->soften;
    unsigned found = penalty ? PL_FACT_PENALTY | PL_FACT_DUAL : softens && !loss->smooth ? PL_FACT_DUAL : 0;
    found |= l2 ? PL_FACT_L2 : 0;
    found |= l1_ratio > 0 ? 0 : PL_FACT_NO_L1;
    found |= !loss || loss->smooth ? PL_FACT_SMOOTH : 0;
    found |= softens && (penalty || !loss->smooth) ? PL_FACT_SOFTENS : 0;
    found |= !loss || pl_loss_bounded(loss) ? PL_FACT_BOUNDED : 0;
    found |= !loss || loss->quadratic ? PL_FACT_QUADRATIC : 0;
    return found | (several ? 0 : PL_FACT_ONE_OUTPUT);
}

static unsigned column_facts(bool factors, bool non_negative) {
    return (factors ? 0 : PL_FACT_EVEN) | (non_negative ? 0 : PL_FACT_SIGNED);
}

unsigned pl_glm_all_facts(const pl_glm *glm) {
    unsigned found = pl_glm_facts(glm->loss, glm->lambda, glm->l1_ratio, glm->classes > 1);
    return (glm->least_factor > 0 ? found : found & ~(unsigned)PL_FACT_DUAL) |
           column_facts(glm->base.factor, glm->non_negative);
}

/* Labels that have not been read yet may turn out to be classes, and several of them. */
static unsigned unsure(const pl_loss *loss) {
    if (loss && loss->labels == PL_LABELS_REAL)
        return 0;
    return PL_FACT_ONE_OUTPUT | (!loss ? PL_FACT_QUADRATIC : loss->smooth ? 0 : PL_FACT_SOFTENS);
}

static unsigned facts(const pl_problem *problem, const parley_settings *settings) {
    const pl_loss *loss = loss_of(problem, settings);
    bool several = problem ? problem->row > 1 : loss && loss->together;
    unsigned found =
        pl_glm_facts(loss, pl_linear_settings_of(settings)->lambda, pl_linear_settings_of(settings)->l1_ratio, several);
    if (problem && !(pl_glm_of(problem)->least_factor > 0))
        found &= ~(unsigned)PL_FACT_DUAL;
    found |= by_columns(problem, settings) ? PL_FACT_BY_COLUMNS : 0;
    found |= problem ? 0 : unsure(loss) << PL_FACT_UNSURE;
    return found | column_facts(*pl_linear_settings_of(settings)->penalty_factors,
                                pl_linear_settings_of(settings)->non_negative);
}

static void why(const pl_problem *problem, const parley_settings *settings, unsigned fact, char *text, size_t size) {
    const pl_loss *loss = loss_of(problem, settings);
    const char *name = loss ? loss->name : pl_linear_settings_of(settings)->loss;
    switch (fact) {
    case PL_FACT_L2:
        snprintf(text, size, "%s leaves none",
                 pl_linear_settings_of(settings)->lambda == 0 ? "--lambda 0" : "--l1-ratio 1");
        break;
    case PL_FACT_NO_L1: snprintf(text, size, "--l1-ratio adds one"); break;
    case PL_FACT_PENALTY: snprintf(text, size, "--lambda 0 leaves none"); break;
    case PL_FACT_SMOOTH: snprintf(text, size, "%s is not", name); break;
    case PL_FACT_EVEN: snprintf(text, size, "--penalty-factors changes it"); break;
    case PL_FACT_SIGNED: snprintf(text, size, "--non-negative allows one"); break;
    case PL_FACT_DUAL:
        snprintf(text, size, "%s leaves none",
                 pl_linear_settings_of(settings)->lambda == 0 ? "--lambda 0" : "a penalty factor of 0");
        break;
    case PL_FACT_QUADRATIC: snprintf(text, size, "the loss is %s", name); break;
    case PL_FACT_BOUNDED: snprintf(text, size, "%s is not", name); break;
    default: snprintf(text, size, "there are more"); break;
    }
}

/* Ways out of an error, and of a stall. */

static bool has_no_penalty(const pl_problem *problem, const parley_settings *settings) {
    (void)problem;
    return pl_linear_settings_of(settings)->lambda == 0;
}

static bool has_l1(const pl_problem *problem, const parley_settings *settings) {
    (void)problem;
    return pl_linear_settings_of(settings)->l1_ratio > 0;
}

/* Whether another loss takes the same kind of labels. */
static bool takes(const parley_settings *settings, const char *loss) {
    const pl_loss *from = pl_loss_find(pl_linear_settings_of(settings)->loss), *to = pl_loss_find(loss);
    return from && from != to && from->labels == to->labels;
}

static bool takes_squared_hinge(const pl_problem *problem, const parley_settings *settings) {
    (void)problem;
    return takes(settings, "squared-hinge");
}

static bool takes_huber(const pl_problem *problem, const parley_settings *settings) {
    (void)problem;
    return takes(settings, "huber");
}

/* Columns of very different scale slow most methods down. Before the columns change, so should a method that was not
 * chosen for them. */
static bool is_slowed(const pl_problem *problem, const parley_settings *settings) {
    const pl_glm *glm = pl_glm_of(problem);
    return strcmp(settings->preset, "auto") == 0 && pl_is_uneven(glm) && glm->lambda > 0;
}

/* Without a penalty there may be no optimum. */
static bool may_have_no_optimum(const pl_problem *problem, const parley_settings *settings) {
    (void)settings;
    return pl_glm_of(problem)->lambda == 0;
}

static const pl_way ways[] = {
    {"a small --lambda", {{"lambda", SMALL_LAMBDA}}, PL_AVOIDS, has_no_penalty},
    {"--l1-ratio 0.99", {{"l1_ratio", "0.99"}}, PL_AVOIDS, has_l1},
    {"--l1-ratio 0", {{"l1_ratio", "0"}}, PL_AVOIDS, has_l1},
    {"--loss squared-hinge", {{"loss", "squared-hinge"}}, PL_AVOIDS, takes_squared_hinge},
    {"--loss huber", {{"loss", "huber"}}, PL_AVOIDS, takes_huber},
    {"--local sdca with --l1-ratio 0.99", {{"local", "sdca"}, {"l1_ratio", "0.99"}}, PL_AVOIDS_LAST, has_l1},
    {"--standardise", {{"standardise", "true"}}, PL_HASTENS, is_slowed},
    {"a small --lambda, such as " SMALL_LAMBDA, {{"lambda", SMALL_LAMBDA}}, PL_HASTENS, may_have_no_optimum},
    {0}};

/* C and alpha are relative to the sum of the losses, and the default is 1 over the sum of the weights. */
static void sample(parley_settings *settings, double total, double part) {
    pl_linear_settings *linear = pl_linear_settings_in(settings);
    if (!isnan(linear->lambda))
        return;
    if (!isnan(linear->c))
        linear->c *= total / part;
    else if (isnan(linear->alpha))
        linear->lambda = 1.0 / total;
    else if (strcmp(linear->loss, "squared") == 0 && linear->l1_ratio == 0)
        linear->alpha *= part / total;
}

const pl_problem_rules pl_linear_rules = {
    .check = check,
    .decisions = pl_linear_decisions,
    .shape = pl_linear_shape,
    .facts = facts,
    .why = why,
    .ways = ways,
    .sample = sample,
};
