/* class_weights.c: weights by label. With `balanced`, a row of label c gets the factor n / (k n_c) as in scikit-learn,
 * where n is the number of rows, k the number of classes and n_c the number of rows of class c. Rows of weight 0 are
 * not counted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/collective.h"
#include "linear/glm.h"

typedef struct classes {
    unsigned count;
    double label[PL_LABEL_KINDS + 1], weight[PL_LABEL_KINDS + 1];
} classes;

static unsigned class_of(const classes *classes, double label) {
    unsigned c = 0;
    while (c < classes->count && classes->label[c] != label)
        c++;
    return c;
}

/* Counts are whole numbers, so their sum does not depend on the number of ranks. */
static parley_status balance(classes *classes, pl_engine *engine, const parley_data *data, parley_error *error) {
    double rows[PL_LABEL_KINDS + 1] = {0}, sums[PL_LABEL_KINDS + 1], total = 0;
    parley_status status = PARLEY_OK;
    for (uint64_t i = 0; i < data->x.rows; i++)
        if (!data->weight || data->weight[i] > 0)
            rows[class_of(classes, data->label[i])]++;
    if (pl_is_parted(data)) {
        status = pl_sum_workers(engine, PL_EACH_RANK, rows, classes->count, sums, error);
        memcpy(rows, sums, sizeof rows);
    }
    for (unsigned c = 0; c < classes->count; c++)
        total += rows[c];
    for (unsigned c = 0; c < classes->count; c++)
        classes->weight[c] = rows[c] > 0 ? total / (classes->count * rows[c]) : 0.0;
    return status;
}

static parley_status unknown_label(const classes *classes, double label, parley_error *error) {
    char all[256] = "";
    for (unsigned c = 0; c < classes->count && strlen(all) < sizeof all - 40; c++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%.17g", c ? ", " : "", classes->label[c]);
    return pl_fail(error, PARLEY_BAD_USAGE, "--class-weights: no row has label %.17g; the labels are %s", label, all);
}

/* The message for a word that is not the name of a class, with the nearest name. */
static parley_status unknown_name(const parley_data *data, const char *word, uint64_t bytes, parley_error *error) {
    char names[PL_LABEL_KINDS][64], given[64], all[256] = "";
    const char *words[PL_LABEL_KINDS];
    unsigned count = 0;
    snprintf(given, sizeof given, "%.*s", (int)(bytes < 60 ? bytes : 60), word);
    for (; count < data->classes.count && count < PL_LABEL_KINDS; count++) {
        pl_name name = pl_names_at(&data->classes, count);
        snprintf(names[count], sizeof names[count], "%.*s", (int)(name.bytes < 60 ? name.bytes : 60), name.text);
        words[count] = names[count];
        if (strlen(all) < sizeof all - 70)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", count ? ", " : "", names[count]);
    }
    const char *near = pl_nearest(given, words, count);
    return pl_fail(error, PARLEY_BAD_USAGE, "--class-weights: no row has label %s%s%s%s (the labels are %s)", given,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "", all);
}

/* Reads the label before a `=` in `word`: a class name if the data have names, otherwise a number. */
static bool read_label(const parley_data *data, const char *word, double *label, char **end) {
    const char *equals = strchr(word, '=');
    for (uint64_t c = 0; equals && c < data->classes.count; c++) {
        pl_name name = pl_names_at(&data->classes, c);
        if (name.bytes == (uint64_t)(equals - word) && memcmp(name.text, word, name.bytes) == 0) {
            *label = (double)c;
            *end = (char *)equals;
            return true;
        }
    }
    *label = strtod(word, end);
    return *end != word && **end == '=';
}

/* Reads one LABEL=W and moves `*word` past it. */
static parley_status read_pair(classes *classes, const parley_data *data, const char **word, bool *named,
                               parley_error *error) {
    char *end;
    double label, weight = NAN;
    bool good = read_label(data, *word, &label, &end);
    if (!good && data->classes.count > 0 && strchr(*word, '='))
        return unknown_name(data, *word, (uint64_t)(strchr(*word, '=') - *word), error);
    if (good) {
        const char *value = end + 1;
        weight = strtod(value, &end);
        good = end != value && (!*end || *end == ',');
    }
    if (!good)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--class-weights: %.40s is not LABEL=W; use balanced, or pairs such as -1=1,1=2.5", *word);
    unsigned c = class_of(classes, label);
    if (c == classes->count)
        return unknown_label(classes, label, error);
    if (!(weight >= 0) || !isfinite(weight) || named[c])
        return pl_fail(error, PARLEY_BAD_USAGE,
                       named[c] ? "--class-weights: label %.17g is given twice"
                                : "--class-weights: the weight of label %.17g must be a non-negative number",
                       label);
    classes->weight[c] = weight;
    named[c] = true;
    *word = *end ? end + 1 : end;
    return PARLEY_OK;
}

static parley_status read_words(classes *classes, const parley_data *data, const char *words, parley_error *error) {
    bool named[PL_LABEL_KINDS + 1] = {0};
    parley_status status = PARLEY_OK;
    for (unsigned c = 0; c < classes->count; c++)
        classes->weight[c] = 1.0;
    do
        status = read_pair(classes, data, &words, named, error);
    while (status == PARLEY_OK && *words);
    return status;
}

parley_status pl_class_weights(pl_engine *engine, const parley_data *data, const char *words, double **out,
                               parley_error *error) {
    classes classes;
    *out = NULL;
    parley_status status = pl_label_kinds(engine, data, PL_LABEL_KINDS, classes.label, &classes.count, error);
    if (status == PARLEY_OK && classes.count > PL_LABEL_KINDS)
        status = pl_fail(error, PARLEY_BAD_INPUT,
                         "%s: --class-weights takes at most %d different labels, and the data have more", data->path,
                         PL_LABEL_KINDS);
    if (status == PARLEY_OK)
        status = strcmp(words, "balanced") == 0 ? balance(&classes, engine, data, error)
                                                : read_words(&classes, data, words, error);
    if (status == PARLEY_OK)
        status = pl_take(out, data->x.rows, sizeof **out, "class weights", error);
    for (uint64_t i = 0; i < data->x.rows && status == PARLEY_OK; i++)
        (*out)[i] = classes.weight[class_of(&classes, data->label[i])] * (data->weight ? data->weight[i] : 1.0);
    return status;
}
