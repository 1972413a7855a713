/* linear_rules.c: rules about a linear model that follow from its settings, and from the shape of its data once that is
 * known: contradictory settings, the facts that methods need, and the choice that `auto` makes. The measurements behind
 * that choice are in docs/auto.md. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linear/glm.h"
#include "method/local.h"

#define STIFF 0.5                 /* of the loss against the penalty; above it Newton's method */
#define MILD 0.01                 /* the same; below it L-BFGS, */
#define ROOMY 10.0                /* up to this many columns for each row */
#define STIFF_COLUMNS 500         /* up to here the matrix pays off on such problems */
#define BENT 2.0                  /* mean curvature of the loss against the penalty; above it truncated Newton, */
#define TALL 0.5                  /* up to this many columns for each row */
#define HEAVY 10.0                /* mean square of entries over that of the usual column; above it rows differ much, */
#define HEAVY_STIFF 30.0          /* and on problems as stiff as this Newton's method needs no start by dual ascent */
#define ONE_MATRIX_COLUMNS 500    /* up to here, on filled data with constant curvature */
#define SOFTENED_COLUMNS 2000     /* up to here, if the loss is smoothed and columns are filled or uneven; */
#define HINGE_COLUMNS 500         /* for two labels up to here, and beyond if dual ascent is slow, */
#define SHORT 1.0                 /* if rows are longer than this against the penalty or columns are few */
#define COLUMNS_TEXT "2000"       /* the same in a sentence */
#define FILLED 0.1                /* share of non-zeros in the matrix */
#define MANY_COUNTS 2000          /* with a log link, Newton's method up to this many columns, however sparse */
#define MOSTLY_L1 0.75            /* from this share of L1 on, columns are faster than rows for any shape */
#define WIDE 2.0                  /* l1_ratio x columns / rows from which columns are faster */
#define CLASS_ENTRIES 200         /* several classes: up to this many entries of a model Newton beats dual ascent */
#define DENSE_CLASS_ENTRIES 600   /* the same on dense data */
#define UNEVEN_CLASS_ENTRIES 1500 /* the same on columns of very different scale, for many classes */
#define SLOPING 10.0              /* between the scales of columns, from which L-BFGS takes many rounds on classes */
#define MANY_CLASSES 30           /* from which L-BFGS takes many rounds on such columns */
#define UNEVEN_COLUMNS 2000       /* the same on columns of very different scale */
#define L1_COLUMNS 500            /* with an L1 penalty, Newton's method up to here, */
#define DENSE_L1_COLUMNS 1000     /* and on filled data */
#define L1_CLASS_ENTRIES 800      /* several classes: the same for the entries of a model */
#define INFERENCE_GAP 1e-10       /* the usual gap is too large for errors of coefficients */
#define SMALL_LAMBDA "1e-6"

bool pl_is_filled(const pl_glm *glm) {
    const parley_data *data = glm->base.data;
    return (double)pl_all_nonzeros(data) >= FILLED * (double)pl_all_rows(data) * (double)data->x.columns;
}

bool pl_is_uneven(const pl_glm *glm) { return glm->centred.scales > PL_UNEVEN && !glm->standardise; }

/* Columns that Newton's method needs the whole curvature of: on uneven columns, those that are not apart. */
static uint64_t core_columns(const pl_glm *glm) { return glm->base.data->x.columns - glm->apart.count; }

/* The same for entries of a model, of all classes that the curvature joins. */
static uint64_t core_entries(const pl_glm *glm) { return glm->base.size - glm->apart.count * glm->classes; }

static bool is_kinked_binary(const pl_glm *glm) {
    return glm->loss->soften && !glm->loss->smooth && glm->loss->labels == PL_LABELS_BINARY;
}

/* How long rows are against the penalty: mean |x|^2 / (lambda n). */
static double length(const pl_glm *glm) {
    double rows = (double)pl_all_rows(glm->base.data), penalty = 1.0; /* lambda n, 1 unless given */
    double square = glm->standardise ? (double)glm->base.data->x.columns : glm->centred.mean_square;
    if (!isnan(glm->lambda))
        penalty = glm->lambda * rows;
    else if (!isnan(glm->c))
        penalty = 1.0 / glm->c;
    else if (!isnan(glm->alpha))
        penalty = glm->alpha * (glm->loss->quadratic ? 1.0 : rows);
    return square / penalty;
}

/* How much larger the curvature of the loss may be than that of the penalty. */
static double stiffness(const pl_glm *glm) { return glm->loss->curvature_bound * length(glm); }

/* Dual ascent takes few passes if the penalty is as strong as the loss. */
static bool is_stiff(const pl_glm *glm) {
    return pl_loss_bounded(glm->loss) && glm->classes == 1 && !glm->base.many && stiffness(glm) > STIFF;
}

bool pl_few_columns(const pl_glm *glm) {
    uint64_t columns = glm->base.data->x.columns;
    uint64_t most = glm->loss->soften ? SOFTENED_COLUMNS : glm->loss->quadratic ? ONE_MATRIX_COLUMNS : 0;
    if (!glm->loss->smooth && glm->loss->soften && pl_is_uneven(glm))
        return core_columns(glm) <= SOFTENED_COLUMNS;
    if (is_kinked_binary(glm))
        return columns <= PL_FEW_COLUMNS || (columns <= HINGE_COLUMNS && (glm->base.many || length(glm) > SHORT));
    if (columns <= STIFF_COLUMNS && is_stiff(glm))
        return true;
    return columns <= PL_FEW_COLUMNS || (columns <= most && pl_is_filled(glm));
}

/* The loss that was asked for, or that follows from the labels; NULL if it is not known yet. */
static const pl_loss *loss_of(const pl_problem *problem, const parley_settings *settings) {
    const pl_loss *loss = pl_loss_find(pl_linear_settings_of(settings)->loss);
    return loss || !problem ? loss : pl_glm_of(problem)->loss;
}

/* The problem that the settings describe, for looking up facts only. */
static pl_glm as_asked(const pl_problem *problem, const parley_settings *settings) {
    pl_glm glm = *pl_glm_of(problem);
    if (strcmp(glm.loss->name, loss_of(problem, settings)->name) != 0)
        glm.loss = loss_of(problem, settings);
    glm.lambda = pl_linear_settings_of(settings)->lambda;
    glm.l1_ratio = pl_linear_settings_of(settings)->l1_ratio;
    return glm;
}

/* Whether coordinate descent by columns can minimise this loss. */
static bool fits_columns(const pl_loss *loss) { return pl_loss_bounded(loss) && !loss->together; }

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
    if (status == PARLEY_OK && settings->schedule > PL_NORMALISED)
        return pl_fail(error, PARLEY_BAD_USAGE, "--schedule step and cosine are for networks; use another one");
    return status == PARLEY_OK ? check_parameters(settings, error) : status;
}

/* Columns of data that are larger than memory are all over the file. */
static bool is_large(const pl_glm *glm) { return glm->base.data->large && !glm->base.data->spread; }

/* Coordinate descent by columns can bound the sign of coefficients, and change the penalty of columns. */
static bool limits_columns(const pl_glm *glm) {
    return (glm->non_negative || (glm->base.factor && glm->l1_ratio > 0)) && glm->lambda != 0 &&
           glm->least_factor > 0 && fits_columns(glm->loss) && glm->classes == 1 && !is_large(glm);
}

/* L-BFGS can do the same for other smooth losses, and without a penalty. */
static bool limits_entries(const pl_glm *glm) {
    return (glm->non_negative || (glm->base.factor && glm->l1_ratio > 0)) && glm->loss->smooth;
}

/* Dual ascent, for filled data with more columns than rows: its problem is the smaller one, and rows that are nearly
 * orthogonal hardly affect each other. With constant curvature Newton's method is as fast. */
static bool is_wide(const pl_glm *glm) {
    uint64_t columns = glm->base.data->x.columns;
    return glm->lambda != 0 && glm->l1_ratio == 0 && glm->classes == 1 && !glm->base.many &&
           pl_loss_bounded(glm->loss) && !glm->loss->quadratic && columns > PL_FEW_COLUMNS &&
           columns > pl_all_rows(glm->base.data) && pl_is_filled(glm) && !pl_is_uneven(glm);
}

/* Newton's method, for smooth losses and those that can be smoothed. The limit on columns is higher with a log
 * link. */
static bool few_or_filled(const pl_glm *glm) {
    const pl_loss *loss = glm->loss;
    if (glm->l1_ratio > 0 || !(loss->smooth || loss->soften))
        return false;
    if (glm->classes > 1 && !loss->together && (pl_is_filled(glm) || pl_is_uneven(glm)))
        return core_columns(glm) <= PL_FEW_COLUMNS;
    if (glm->classes > 1)
        return core_entries(glm) <= (!pl_is_uneven(glm) ? pl_is_filled(glm) ? DENSE_CLASS_ENTRIES : CLASS_ENTRIES
                                     : glm->classes >= MANY_CLASSES ? UNEVEN_CLASS_ENTRIES
                                                                    : DENSE_CLASS_ENTRIES);
    return pl_few_columns(glm) || (loss->smooth && pl_is_filled(glm)) ||
           (loss->log_link && (glm->base.data->x.columns <= MANY_COUNTS || pl_is_uneven(glm)));
}

/* With softmax and an L1 penalty: where dual ascent applies and columns are even, it is faster. */
static uint64_t few_class_entries(const pl_glm *glm) {
    return pl_is_uneven(glm) || glm->l1_ratio == 1 ? L1_CLASS_ENTRIES : CLASS_ENTRIES;
}

/* Newton's method with an L1 penalty. On a path, coordinate descent by columns visits few columns for most of the
 * penalties, and is faster unless the curvature is constant or in few rows. */
static bool few_with_l1(const pl_glm *glm) {
    const pl_loss *loss = glm->loss;
    uint64_t columns = core_columns(glm);
    if (glm->lambda == 0 || glm->l1_ratio == 0 || glm->non_negative)
        return false;
    if (!loss->smooth && !(loss->soften && glm->l1_ratio < 1))
        return false;
    if (glm->classes > 1)
        return !loss->together ? columns <= L1_COLUMNS : core_entries(glm) <= few_class_entries(glm);
    if (pl_is_uneven(glm) && columns <= UNEVEN_COLUMNS)
        return true;
    if (glm->base.many && fits_columns(loss) && !loss->quadratic && !loss->soften)
        return false;
    return columns <= L1_COLUMNS || (columns <= DENSE_L1_COLUMNS && pl_is_filled(glm));
}

/* A loss with kinks must be smoothed if there is no L2 penalty. */
static bool is_kinked(const pl_glm *glm) { return !glm->loss->smooth && (glm->lambda == 0 || glm->l1_ratio == 1); }

/* Truncated Newton for several classes: the matrix is too large, and the scales of columns differ so much that L-BFGS
 * takes many rounds. If columns are uneven, L-BFGS scales them, which is enough for softmax. */
static bool sloping_classes(const pl_glm *glm) {
    bool takes = pl_is_uneven(glm) ? !glm->loss->together : pl_is_filled(glm);
    return glm->classes > 1 && glm->loss->smooth && glm->l1_ratio == 0 && !glm->base.factor && !glm->non_negative &&
           !glm->standardise && glm->centred.scales > SLOPING && takes;
}

/* L-BFGS, for filled data and uneven columns, on which dual ascent may not converge, and whose matrix is too large for
 * Newton's method. */
static bool filled_classes(const pl_glm *glm) {
    return glm->classes > 1 && glm->loss->smooth && (pl_is_uneven(glm) || (glm->l1_ratio == 0 && pl_is_filled(glm)));
}

/* L-BFGS where the penalty is so strong that it takes a few rounds, if there are not so many columns that its history
 * is the largest table by far. And on standardised sparse columns: rare columns make rows long, which slows dual ascent
 * and Newton's method unless there are more columns than rows. */
static bool is_mild_or_stretched(const pl_glm *glm) {
    double shape = (double)glm->base.data->x.columns / (double)pl_all_rows(glm->base.data);
    if (glm->lambda == 0 || glm->l1_ratio > 0 || !glm->loss->smooth || !pl_loss_bounded(glm->loss) ||
        glm->classes > 1 || glm->base.many)
        return false;
    return (stiffness(glm) < MILD && shape <= ROOMY) || (glm->standardise && shape <= 1);
}

/* Truncated Newton, where rows have so many columns in common that dual ascent takes dozens of passes. */
static bool is_tall_and_bent(const pl_glm *glm) {
    double shape = (double)glm->base.data->x.columns / (double)pl_all_rows(glm->base.data);
    return glm->lambda != 0 && glm->l1_ratio == 0 && glm->classes == 1 && !glm->base.many && glm->loss->smooth &&
           pl_loss_bounded(glm->loss) && !glm->base.factor && !glm->standardise && shape <= TALL &&
           stiffness(glm) > BENT * shape;
}

/* Truncated Newton on raw counts, where some entries are so much larger than most that the lengths of rows differ by
 * orders of magnitude. The models of dual ascent fit the longest rows badly there, and are a worse start than 0, unless
 * the curvature of rows jumps. */
static bool is_heavy_tailed(const pl_glm *glm) {
    const parley_data *data = glm->base.data;
    double each = (double)pl_all_nonzeros(data) / (double)pl_all_rows(data), usual = glm->centred.usual;
    return glm->lambda != 0 && glm->l1_ratio == 0 && pl_loss_bounded(glm->loss) && !glm->loss->depth &&
           !glm->base.many && !glm->standardise && !glm->base.factor && !glm->non_negative &&
           glm->centred.mean_square > HEAVY * each * usual * usual && stiffness(glm) > HEAVY_STIFF;
}

/* Dual ascent can start, and Newton's method can finish if necessary. */
static bool is_smooth_dual(const pl_glm *glm) {
    bool softened = is_kinked_binary(glm) && core_columns(glm) <= SOFTENED_COLUMNS && glm->classes == 1;
    return glm->lambda != 0 && glm->l1_ratio == 0 && (glm->loss->smooth || softened);
}

/* Dual ascent or, for losses of bounded curvature, coordinate descent by columns applies. */
static bool is_penalised(const pl_glm *glm) {
    return glm->lambda != 0 && (glm->l1_ratio < 1 || (fits_columns(glm->loss) && glm->classes == 1 && !is_large(glm)));
}

static bool is_smooth(const pl_glm *glm) { return glm->loss->smooth; }

static bool always(const pl_glm *glm) {
    (void)glm;
    return true;
}

/* `auto` chooses the preset of the first rule that holds. */
static const struct {
    bool (*holds)(const pl_glm *glm);
    const char *preset;
    bool in_memory; /* it is not for data that are visited by blocks, which other presets read less often */
} choices[] = {
    {limits_columns, "cocoa+", false},  {few_with_l1, "newton", false},     {limits_entries, "lbfgs", false},
    {is_kinked, "newton", false},       {is_wide, "cocoa-newton", false},   {few_or_filled, "newton", false},
    {sloping_classes, "newton", false}, {filled_classes, "lbfgs", false},   {is_mild_or_stretched, "lbfgs", false},
    {is_heavy_tailed, "newton", false}, {is_tall_and_bent, "newton", true}, {is_smooth_dual, "cocoa-newton", false},
    {is_penalised, "cocoa+", false},    {is_smooth, "lbfgs", false},        {always, "gd", false},
};

static const char *choose(const pl_problem *problem, const parley_settings *settings, parley_error *error) {
    bool named = strcmp(settings->local, "auto") != 0 || strcmp(settings->combine, "auto") != 0;
    if (!problem)
        return "auto";
    pl_glm glm = as_asked(problem, settings);
    unsigned i = 0;
    if (is_kinked(&glm) && !named && core_columns(&glm) > SOFTENED_COLUMNS) {
        pl_fail(error, PARLEY_BAD_USAGE,
                "no method that auto can choose reaches the optimum of loss %s with more than " COLUMNS_TEXT
                " columns and without an L2 penalty",
                glm.loss->name);
        return NULL;
    }
    bool blocks = is_large(&glm) || settings->block > 0;
    while (!choices[i].holds(&glm) || (choices[i].in_memory && blocks))
        i++;
    return choices[i].preset;
}

/* Whether coordinate steps on columns are faster than on rows. */
static bool by_columns(const pl_problem *problem, const parley_settings *settings) {
    const pl_loss *loss = loss_of(problem, settings);
    double ratio = pl_linear_settings_of(settings)->l1_ratio;
    bool limited = *pl_linear_settings_of(settings)->penalty_factors || pl_linear_settings_of(settings)->non_negative;
    if ((ratio == 0 && !limited) || (loss && !fits_columns(loss)) || (problem && problem->row > 1))
        return false;
    if (problem && is_large(pl_glm_of(problem)))
        return false;
    if (limited)
        return true;
    if (ratio >= MOSTLY_L1 || !problem)
        return ratio >= MOSTLY_L1;
    const pl_glm *glm = pl_glm_of(problem);
    return ratio * (double)glm->base.data->x.columns > WIDE * (double)pl_all_rows(glm->base.data) ||
           pl_is_filled(glm) || pl_is_uneven(glm);
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

/* Labels that have not been read yet may turn out to be several classes. */
static unsigned unsure(const pl_loss *loss) {
    if (loss && loss->labels == PL_LABELS_REAL)
        return 0;
    return PL_FACT_ONE_OUTPUT | (loss && !loss->smooth ? PL_FACT_SOFTENS : 0);
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
    .check = check, .choose = choose, .facts = facts, .why = why, .ways = ways, .sample = sample};
