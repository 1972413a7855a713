/* linear.c: linear models as a problem, such as logistic and linear regression and support vector machines. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linear/glm.h"
#include "linear/model/linear_model.h"
#include "linear/rows/classes.h"
#include "shard/columns.h"

#define MOST_EXCLUSIVE 50000 /* columns, and non-zeros, among which columns that are apart are looked for */
#define MOST_LOOKED_AT (1 << 24)
#define FEW_COLUMNS 200 /* for which Newton's method needs none that are apart */
#define SMALL 0.05      /* an L2 penalty that hardly changes the coefficient of a standardised column, */
#define SHRUNK 0.5      /* and one, relative to the curvature of a column, that changes it a lot */

/* Replaces the data by data with class weights. */
static parley_status weigh_classes(pl_glm *glm, pl_engine *engine, const char *words, parley_error *error) {
    if (!*words)
        return PARLEY_OK;
    if (glm->loss->labels == PL_LABELS_REAL)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--class-weights: loss %s takes numbers as labels, not classes; leave --class-weights out",
                       glm->loss->name);
    parley_status status = pl_class_weights(engine, glm->base.data, words, &glm->class_weight, error);
    glm->own = *glm->base.data;
    glm->own.weight = glm->class_weight;
    if (glm->own.spread)
        glm->own.spread->weighted = true;
    glm->base.data = &glm->own;
    return status;
}

/* Replaces the data by data with centred columns, unless they are visited by blocks. */
static parley_status centre_columns(pl_glm *glm, pl_engine *engine, const parley_settings *settings,
                                    parley_error *error) {
    const parley_data *data = glm->base.data;
    parley_data shifted = *data;
    glm->centred.fixed = glm->offset_column == PL_NO_OFFSET ? 0 : glm->offset_column + 1;
    if (data->cells) {
        glm->centred.scales = glm->centred.common_scales = glm->centred.usual = 1;
        return PARLEY_OK;
    }
    bool copies =
        (!data->large || data->spread) && !(settings->block > 0); /* what is larger than memory is not copied */
    parley_status status =
        pl_centred_open(&glm->centred, engine, data, copies && glm->intercept == PL_FREE, &shifted, error);
    glm->own = shifted;
    if (glm->centred.shift)
        glm->base.data = &glm->own;
    return status;
}

/* Decides whether data that are a table are used as they are, and otherwise replaces them by rows. */
static parley_status read_table(pl_glm *glm, pl_engine *engine, const parley_settings *settings, parley_error *error) {
    const parley_data *data = glm->base.data;
    bool as_is = data->cells && pl_takes_table(glm, settings);
    bool free = glm->intercept == PL_FREE && !*settings->offset_column; /* offsets must not be shifted */
    if (!data->cells)
        return PARLEY_OK;
    parley_status status = pl_whole_table_open(&glm->table, data, free, !as_is, error);
    if (status == PARLEY_OK && !as_is)
        status = pl_whole_table_convert(&glm->table, data, engine->threads, error);
    if (status == PARLEY_OK && !as_is)
        glm->base.data = glm->table.rows;
    return status;
}

/* Finds columns that are apart where Newton's method may be chosen and has many columns. */
static parley_status find_exclusive(pl_glm *glm, pl_engine *engine, parley_error *error) {
    uint64_t columns = glm->base.data->x.columns;
    bool kinked = !glm->loss->smooth && (glm->lambda == 0 || glm->l1_ratio == 1);
    bool small = columns <= MOST_EXCLUSIVE && pl_all_nonzeros(glm->base.data) <= MOST_LOOKED_AT;
    if (columns <= FEW_COLUMNS || !small || !(pl_is_uneven(glm) || kinked) || glm->base.data->deal)
        return PARLEY_OK;
    parley_status status =
        pl_exclusive_open(&glm->apart, engine, &glm->base.data->x, glm->intercept != PL_NO_INTERCEPT, error);
    pl_data_release(glm->base.data, 0, glm->base.data->x.rows);
    return status;
}

static void close_linear(pl_problem *problem) {
    pl_glm *glm = (pl_glm *)problem;
    pl_glm_close(glm);
    pl_free(glm->class_weight);
    pl_centred_close(&glm->centred);
    pl_whole_table_close(&glm->table);
    pl_exclusive_close(&glm->apart);
    pl_free(glm);
}

static parley_status open_linear(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                                 pl_problem **out, parley_error *error) {
    pl_glm *glm;
    *out = NULL;
    parley_status status = pl_take(&glm, 1, sizeof *glm, "the problem", error);
    if (status != PARLEY_OK)
        return status;
    status = pl_glm_open(glm, engine, data, settings, error);
    if (status == PARLEY_OK)
        status = weigh_classes(glm, engine, pl_linear_settings_of(settings)->class_weights, error);
    if (status == PARLEY_OK)
        status = read_table(glm, engine, settings, error);
    if (status == PARLEY_OK)
        status = pl_offset_open(glm, settings->offset_column, error);
    if (status == PARLEY_OK)
        status = centre_columns(glm, engine, settings, error);
    if (status == PARLEY_OK)
        status = find_exclusive(glm, engine, error);
    if (status == PARLEY_OK && settings->inference)
        status = pl_linear_can_infer(&glm->base, error);
    if (status != PARLEY_OK) {
        close_linear(&glm->base);
        return status;
    }
    *out = &glm->base;
    return status;
}

static parley_status move(pl_problem *problem, const parley_data *data, parley_error *error) {
    pl_glm *glm = pl_glm_of(problem);
    pl_free(glm->class_weight); /* replaced by the weights of the moved rows */
    glm->class_weight = NULL;
    pl_centred_drop(&glm->centred); /* the moved rows are shifted */
    pl_free(glm->rest);
    glm->rest = NULL;
    return pl_glm_move(glm, data, error);
}

static parley_status measure(pl_problem *problem, const pl_team *team, parley_error *error) {
    return pl_glm_measure(pl_glm_of(problem), team, error);
}

/* Gathers the offsets of all rows, as the norms of rows are. */
static parley_status collect_offsets(pl_glm *glm, pl_engine *engine, const parley_data *dealt, parley_error *error) {
    parley_data *rows = NULL;
    double *offset = NULL;
    if (!glm->offset)
        return PARLEY_OK;
    parley_status status = pl_columns_rows(engine, dealt, glm->offset, &rows, &offset, error);
    parley_data_free(rows);
    if (status != PARLEY_OK)
        return status;
    pl_free(glm->offset);
    glm->offset = offset;
    return status;
}

static parley_status collect(pl_problem *problem, pl_engine *engine, const parley_data *dealt, parley_data **out,
                             parley_error *error) {
    pl_glm *glm = pl_glm_of(problem);
    double *norm2;
    parley_status status = pl_columns_rows(engine, dealt, glm->norm2, out, &norm2, error);
    if (status != PARLEY_OK)
        return status;
    pl_free(glm->norm2);
    glm->norm2 = norm2;
    status = collect_offsets(glm, engine, dealt, error);
    glm->base.data = *out;
    return status;
}

static parley_status first(const pl_problem *problem, const pl_team *team, double *w, double *objective,
                           parley_error *error) {
    const pl_glm *glm = pl_glm_of(problem);
    double b, *intercepts = w + glm->base.data->x.columns * glm->classes;
    if (glm->base.data->cells) { /* squared loss */
        double mean = glm->mean_label, deviation = glm->label_deviation;
        *objective = 0.5 * (deviation * deviation + (glm->intercept == PL_FREE ? 0.0 : mean * mean));
        if (glm->intercept == PL_FREE)
            *intercepts = mean;
        return PARLEY_OK;
    }
    if (glm->classes > 1) {
        *objective = pl_classes_null(glm, glm->intercept == PL_FREE ? intercepts : NULL);
        return PARLEY_OK;
    }
    parley_status status = pl_null_objective(glm, team, objective, &b, error);
    if (status == PARLEY_OK && !isfinite(*objective))
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: labels are too large to square; scale them down",
                         glm->base.data->path);
    if (glm->intercept == PL_FREE)
        *intercepts = b;
    return status;
}

/* What the intercept absorbs of the shifts of columns. */
static double absorbed(const pl_glm *glm, const double *coef) {
    double sum = 0;
    for (uint64_t j = 0; j < glm->base.data->x.columns && (glm->centred.shift || glm->table.shift); j++)
        sum += coef[j] * pl_column_shift(glm, j);
    return sum;
}

static parley_status keep_model(const pl_problem *problem, const double *w, parley_model **out, parley_error *error) {
    const pl_glm *glm = pl_glm_of(problem);
    uint64_t columns = glm->base.data->x.columns, classes = glm->classes;
    pl_linear_model *model;
    *out = NULL;
    parley_status status = pl_linear_new(classes, columns, glm->loss, &model, error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t c = 0; c < classes; c++) {
        for (uint64_t j = 0; j < columns; j++) /* convert to the original columns */
            model->coef[c * columns + j] = pl_column_scale(glm, j) * w[j * classes + c];
        model->intercept[c] = glm->intercept == PL_NO_INTERCEPT ? 0.0 : w[columns * classes + c];
        model->intercept[c] -= absorbed(glm, model->coef + c * columns);
    }
    if (glm->offset_column != PL_NO_OFFSET)
        model->coef[glm->offset_column] = 1.0;
    if (classes > 1)
        memcpy(model->labels, glm->labels, classes * sizeof *model->labels);
    if (glm->loss->together && glm->intercept == PL_FREE)
        pl_classes_level(classes, model->intercept);
    model->low = glm->low;
    model->high = glm->high;
    model->base.label_sets = glm->member != NULL;
    *out = &model->base;
    return status;
}

static parley_status check_model(const pl_glm *glm, const parley_model *model, const char *name, parley_error *error) {
    const pl_linear_model *linear = pl_linear(model);
    if (model->columns != glm->base.data->x.columns)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has %llu columns, but the data have %llu", name,
                       (unsigned long long)model->columns, (unsigned long long)glm->base.data->x.columns);
    if (model->outputs != glm->classes)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has %llu outputs, but this problem has %llu", name,
                       (unsigned long long)model->outputs, (unsigned long long)glm->classes);
    if (linear->loss->labels != glm->loss->labels)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has loss %s, whose kind of labels differs from that of loss %s",
                       name, linear->loss->name, glm->loss->name);
    if (glm->classes > 1 && memcmp(linear->labels, glm->labels, glm->classes * sizeof *glm->labels) != 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has other class labels than the data", name);
    if (glm->classes == 1 && glm->loss->labels == PL_LABELS_BINARY &&
        (linear->low != glm->low || linear->high != glm->high))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has labels %.17g and %.17g, but the data have %.17g and %.17g",
                       name, linear->low, linear->high, glm->low, glm->high);
    return PARLEY_OK;
}

/* Copies a model into a table by rows, on scaled columns if there is a scale. */
static parley_status accept_model(const pl_problem *problem, const parley_model *model, const char *name, double *w,
                                  parley_error *error) {
    const pl_glm *glm = pl_glm_of(problem);
    const pl_linear_model *linear = pl_linear(model);
    parley_status status = check_model(glm, model, name, error);
    uint64_t columns = glm->base.data->x.columns, classes = glm->classes;
    for (uint64_t c = 0; c < classes && status == PARLEY_OK; c++) {
        for (uint64_t j = 0; j < columns; j++)
            w[j * classes + c] =
                glm->non_negative ? fmax(0.0, linear->coef[c * columns + j]) : linear->coef[c * columns + j];
        if (glm->intercept != PL_NO_INTERCEPT)
            w[columns * classes + c] = linear->intercept[c] + absorbed(glm, linear->coef + c * columns);
    }
    if (status == PARLEY_OK)
        pl_unscale_columns(glm, w);
    if (status == PARLEY_OK && glm->offset_column != PL_NO_OFFSET)
        w[glm->offset_column] = 0;
    return status;
}

static void record(const pl_problem *problem, parley_settings *settings) {
    const pl_glm *glm = pl_glm_of(problem);
    pl_linear_settings_in(settings)->loss = glm->loss->name;
    pl_linear_settings_in(settings)->lambda = glm->lambda;
    pl_linear_settings_in(settings)->c = pl_linear_settings_in(settings)->alpha = NAN;
}

/* Standard errors, for --inference. */
static parley_status conclude(const pl_problem *problem, const pl_result *result, pl_description *out,
                              parley_error *error) {
    (void)out;
    return result->settings->inference ? pl_linear_infer(problem, result->team, result->w, result->model, error)
                                       : PARLEY_OK;
}

/* The parameter of another loss does not apply. */
static bool applies(const pl_problem *problem, const char *setting) {
    return pl_loss_concerned(pl_glm_of(problem)->loss, setting);
}

static void describe_classes(const pl_glm *glm, const parley_settings *settings, pl_description *out) {
    bool open_loss = strcmp(pl_linear_settings_of(settings)->loss, "auto") == 0;
    pl_describe_line(out, "classes: %llu, from %.10g to %.10g, %s", (unsigned long long)glm->classes, glm->labels[0],
                     glm->labels[glm->classes - 1],
                     !glm->loss->together ? "each against the rest"
                     : open_loss && !glm->base.data->classes.count
                         ? "all together; --loss squared takes labels as numbers"
                         : "all together");
}

static const char *const intercepts[] = {"free", "penalised", "none"};

void pl_linear_facts(const char *loss, double lambda, double l1_ratio, pl_intercept intercept, pl_description *out) {
    pl_describe_text(out, "loss", loss);
    pl_describe_number(out, "lambda", lambda);
    pl_describe_number(out, "l1_ratio", l1_ratio);
    pl_describe_text(out, "intercept", intercepts[intercept]);
}

/* Whether an L2 penalty shrinks the coefficient of some number a lot, and would not if the number were standardised. */
static bool shrinks_numbers(const pl_glm *glm) {
    double least = glm->centred.least, l2 = glm->base.l2;
    return least > 0 && l2 < SMALL && l2 > SHRUNK * pl_loss_step_curvature(glm->loss) * least * least;
}

/* Says when the scale of columns makes the penalty act on them as users may not expect, and --standardise would help.
 * It leaves indicators alone. For texts, whose rare words differ in scale, this would be of no use. */
static void describe_scales(const pl_glm *glm, pl_description *out) {
    double factor = glm->centred.common_scales, digit = pow(10.0, floor(log10(factor)));
    bool shrinks = !out->many && shrinks_numbers(glm);
    if (glm->standardise || !(out->many || glm->lambda > 0))
        return;
    if (factor > PL_UNEVEN && (shrinks || out->many || glm->base.l1 > 0))
        pl_describe_line(out,
                         "scale: columns differ by a factor of about %.7g, so the penalty acts mostly on the small "
                         "ones; --standardise treats numbers alike",
                         round(factor / digit) * digit);
    else if (shrinks)
        pl_describe_line(out,
                         "scale: values of about %.1g are small for this lambda, which shrinks the model a lot; "
                         "--standardise or a smaller --lambda avoids it",
                         glm->centred.least);
}

static void describe(const pl_problem *problem, const parley_settings *settings, pl_description *out) {
    const pl_glm *glm = pl_glm_of(problem);
    char width[40] = "", lambda[40] = "falling", offset[80] = "";
    pl_linear_facts(glm->loss->name, glm->lambda, glm->l1_ratio, glm->intercept, out);
    if (glm->classes > 1)
        describe_classes(glm, settings, out);
    if (glm->loss->parameter)
        snprintf(width, sizeof width, " of %s %.6g", glm->loss->parameter_noun, glm->loss->parameter_value);
    if (*settings->offset_column)
        snprintf(offset, sizeof offset, ", offset %.60s", settings->offset_column);
    if (!out->many)
        snprintf(lambda, sizeof lambda, "%.6g", glm->lambda);
    describe_scales(glm, out);
    if (glm->base.factor)
        pl_describe_line(out, "penalty factors: from %.6g to %.6g", glm->least_factor, glm->most_factor);
    pl_describe_line(out, "problem: loss %s%s, lambda %s, l1-ratio %.6g, intercept %s, seed %llu%s%s", glm->loss->name,
                     width, lambda, glm->l1_ratio, intercepts[glm->intercept], (unsigned long long)settings->seed,
                     glm->non_negative ? ", non-negative" : "", offset);
}

/* Whether the setting is the parameter of a loss. */
static bool reads(const char *setting) { return pl_loss_of(setting) != NULL; }

static const pl_resolved resolved[] = {{"lambda", {"C", "alpha"}}, {NULL, {NULL}}};

const pl_problem_type pl_problem_linear = {
    .name = "linear",
    .help = "linear models: logistic and linear regression, support vector machines",
    .command = "train",
    .summary = "train a model and certify it",
    .details = "Trains a linear model on DATA and writes it with a certificate: the duality gap bounds how far its "
               "objective is from the optimum. DATA is text in one of the formats that `parley list formats` names "
               "(plain or compressed; - is standard input) or a cache that `parley convert` wrote. Several inputs of "
               "one format, and patterns such as 'part-*.svm', are read one after the other. Ctrl-C stops after the "
               "current round and writes the best model so far.",
    .commands = PL_FOR_LINEAR | PL_FOR_LINEAR_ONE,
    .reads = reads,
    .resolved = resolved,
    .labels = true,
    .tables = true,
    .model_type = &pl_model_linear,
    .rules = &pl_linear_rules,
    .open = open_linear,
    .move = move,
    .measure = measure,
    .collect = collect,
    .first = first,
    .bound = pl_linear_bound,
    .model = keep_model,
    .accept = accept_model,
    .record = record,
    .applies = applies,
    .conclude = conclude,
    .describe = describe,
    .close = close_linear,
};
