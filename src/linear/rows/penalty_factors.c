/* penalty_factors.c: factors of the penalty by column, as glmnet has them: column j is penalised by lambda f_j. A
 * factor of 0 leaves the column without penalty. The words are NAME=F,NAME=F, where NAME is the name of a column or its
 * number, or the name of a file with one factor per column. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/source.h"
#include "linear/glm.h"

#define WINDOW_BYTES (1 << 16)
#define MOST_FACTOR 1e100

static parley_status check_factor(double factor, const char *of, int bytes, parley_error *error) {
    return factor >= 0 && factor <= MOST_FACTOR
               ? PARLEY_OK
               : pl_fail(error, PARLEY_BAD_USAGE,
                         "--penalty-factors: the factor of %.*s must be 0 or more, and at most 1e100", bytes, of);
}

bool pl_find_column(const parley_data *data, const char *word, uint64_t bytes, uint64_t *column) {
    for (uint64_t j = 0; j < data->names.count; j++) {
        pl_name name = pl_names_at(&data->names, j);
        if (name.bytes == bytes && memcmp(name.text, word, bytes) == 0) {
            *column = j;
            return true;
        }
    }
    char *end;
    unsigned long long number = strtoull(word, &end, 10), first = data->from_arrays ? 0 : 1;
    *column = number - first;
    return bytes > 0 && end == word + bytes && number >= first && *column < data->x.columns;
}

/* Reads one NAME=F, of which the name may contain `=`, and moves `*word` past it. */
static parley_status read_pair(const parley_data *data, const char **word, double *factor, parley_error *error) {
    const char *stop = *word + strcspn(*word, ","), *equals = stop;
    uint64_t column;
    char *end;
    while (equals > *word && equals[-1] != '=')
        equals--;
    double value = strtod(equals, &end);
    if (equals == *word || end == equals || end != stop)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--penalty-factors: %.40s is not NAME=F; give pairs such as age=0,income=2, or a file", *word);
    uint64_t bytes = (uint64_t)(equals - 1 - *word);
    if (!pl_find_column(data, *word, bytes, &column))
        return pl_fail(error, PARLEY_BAD_USAGE, "--penalty-factors: %s has no column %.*s", data->path, (int)bytes,
                       *word);
    parley_status status = check_factor(value, *word, (int)bytes, error);
    factor[column] = value;
    *word = *stop ? stop + 1 : stop;
    return status;
}

static parley_status read_line(const parley_data *data, const char *line, const char *path, uint64_t *count,
                               double *factor, parley_error *error) {
    char *end;
    double value = strtod(line, &end);
    if (end == line || end[strspn(end, " \t\r")] != '\n' || *count == data->x.columns)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: each line must be one factor, and %s has %llu columns", path,
                       data->path, (unsigned long long)data->x.columns);
    factor[(*count)++] = value;
    return check_factor(value, path, (int)strlen(path), error);
}

static parley_status read_file(const parley_data *data, const char *path, double *factor, parley_error *error) {
    pl_source *source;
    const char *text;
    uint64_t bytes = 1, count = 0;
    parley_status status = pl_source_open(path, WINDOW_BYTES, &source, error);
    if (status != PARLEY_OK)
        return status;
    while (bytes > 0 && status == PARLEY_OK) {
        status = pl_source_next(source, &text, &bytes, error);
        for (const char *p = text; status == PARLEY_OK && p < text + bytes; p += strcspn(p, "\n") + 1)
            status = read_line(data, p, path, &count, factor, error);
    }
    pl_source_close(source);
    if (status == PARLEY_OK && count != data->x.columns)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu factors for the %llu columns of %s", path,
                         (unsigned long long)count, (unsigned long long)data->x.columns, data->path);
    return status;
}

/* Copies the factors of columns to all entries of a model, and finds the smallest and the largest. */
static parley_status spread(pl_glm *glm, const double *by_column, parley_error *error) {
    uint64_t columns = glm->base.data->x.columns;
    parley_status status =
        pl_take(&glm->base.factor, glm->base.size, sizeof *glm->base.factor, "penalty factors", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t j = 0; j < glm->base.size; j++)
        glm->base.factor[j] = j < columns * glm->classes ? by_column[j / glm->classes] : 1.0;
    glm->least_factor = glm->most_factor = glm->intercept == PL_PENALISED || columns == 0 ? 1.0 : by_column[0];
    for (uint64_t j = 0; j < columns; j++) {
        glm->least_factor = fmin(glm->least_factor, by_column[j]);
        glm->most_factor = fmax(glm->most_factor, by_column[j]);
    }
    return glm->most_factor > 0
               ? PARLEY_OK
               : pl_fail(error, PARLEY_BAD_USAGE, "--penalty-factors: all factors are 0; use --lambda 0 instead");
}

parley_status pl_penalty_factors(pl_glm *glm, const char *words, parley_error *error) {
    double *by_column;
    glm->least_factor = glm->most_factor = 1.0;
    if (!*words)
        return PARLEY_OK;
    parley_status status = pl_take(&by_column, glm->base.data->x.columns, sizeof *by_column, "penalty factors", error);
    for (uint64_t j = 0; j < glm->base.data->x.columns && status == PARLEY_OK; j++)
        by_column[j] = 1.0;
    if (status == PARLEY_OK && !strchr(words, '='))
        status = read_file(glm->base.data, words, by_column, error);
    else
        while (status == PARLEY_OK && *words)
            status = read_pair(glm->base.data, &words, by_column, error);
    if (status == PARLEY_OK)
        status = spread(glm, by_column, error);
    pl_free(by_column);
    return status;
}
