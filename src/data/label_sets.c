/* label_sets.c: see label_sets.h. */
#include "data/label_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/numeral.h"

/* Reads the next label of a set and moves `*p` past it and its comma. Returns false at the end or if it is none. */
static bool next_label(const char **p, const char *end, double *label) {
    char text[32];
    size_t bytes = 0;
    while (*p + bytes < end && (*p)[bytes] != ',')
        bytes++;
    if (bytes == 0 || bytes >= sizeof text)
        return false;
    memcpy(text, *p, bytes);
    text[bytes] = '\0';
    pl_numeral numeral;
    if (!pl_numeral_scan(text, &numeral) || *numeral.end)
        return false;
    *label = pl_numeral_double(&numeral);
    *p += bytes;
    *p += *p < end;
    return isfinite(*label);
}

static bool is_set(pl_name name) {
    const char *p = name.text + 1, *end = name.text + name.bytes - 1;
    double label, last = -INFINITY;
    if (name.bytes < 2 || *name.text != '{' || *end != '}')
        return false;
    for (; p < end; last = label)
        if (!next_label(&p, end, &label) || label <= last)
            return false;
    return name.bytes == 2 || end[-1] != ',';
}

bool pl_has_label_sets(const parley_data *data) {
    for (uint64_t i = 0; i < data->classes.count; i++)
        if (!is_set(pl_names_at(&data->classes, i)))
            return false;
    return data->classes.count > 0 && !data->table;
}

parley_status pl_fail_label_sets(const parley_data *data, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "%s: its rows have several labels, which only linear models, LIBSVM text and caches take",
                   data->path);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Calls for each label of each set: with `out` NULL it counts them, otherwise it lists them in `out`. */
static uint64_t list_labels(const pl_names *classes, double *out) {
    uint64_t count = 0;
    for (uint64_t s = 0; s < classes->count; s++) {
        pl_name name = pl_names_at(classes, s);
        const char *p = name.text + 1, *end = name.text + name.bytes - 1;
        for (double label; p < end && next_label(&p, end, &label); count++)
            if (out)
                out[count] = label;
    }
    return count;
}

parley_status pl_label_sets_read(const pl_names *classes, pl_label_sets *out, parley_error *error) {
    uint64_t all = list_labels(classes, NULL), at = 0;
    *out = (pl_label_sets){.sets = classes->count};
    parley_status status = pl_take(&out->label, all + 1, sizeof *out->label, "label sets", error);
    if (status == PARLEY_OK)
        status = pl_take(&out->start, out->sets + 1, sizeof *out->start, "label sets", error);
    if (status == PARLEY_OK)
        status = pl_take(&out->member, all + 1, sizeof *out->member, "label sets", error);
    if (status != PARLEY_OK) {
        pl_label_sets_free(out);
        return status;
    }
    list_labels(classes, out->label);
    qsort(out->label, all, sizeof *out->label, by_value);
    for (uint64_t i = 0; i < all; i++)
        if (i == 0 || out->label[i] != out->label[i - 1])
            out->label[out->labels++] = out->label[i];
    for (uint64_t s = 0; s < out->sets; s++) {
        pl_name name = pl_names_at(classes, s);
        const char *p = name.text + 1, *end = name.text + name.bytes - 1;
        for (double label; p < end && next_label(&p, end, &label);) {
            const double *found = bsearch(&label, out->label, out->labels, sizeof label, by_value);
            out->member[at++] = (uint32_t)(found - out->label);
        }
        out->start[s + 1] = at;
    }
    return PARLEY_OK;
}

parley_status pl_label_sets_keep(pl_label_sets *sets, const double *rows, parley_error *error) {
    uint64_t labels = 0, at = 0, from = 0;
    uint32_t *number; /* of a label that is kept, from 1; others have 0 */
    parley_status status = pl_take(&number, sets->labels + 1, sizeof *number, "label sets", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t s = 0; s < sets->sets; s++)
        for (uint64_t m = sets->start[s]; m < sets->start[s + 1] && rows[s] > 0; m++)
            number[sets->member[m]] = 1;
    for (uint64_t l = 0; l < sets->labels; l++)
        if (number[l]) {
            sets->label[labels++] = sets->label[l];
            number[l] = (uint32_t)labels;
        }
    sets->labels = labels;
    for (uint64_t s = 0; s < sets->sets; s++) {
        uint64_t to = sets->start[s + 1];
        for (; from < to; from++)
            if (number[sets->member[from]])
                sets->member[at++] = number[sets->member[from]] - 1;
        sets->start[s + 1] = at;
    }
    pl_free(number);
    return PARLEY_OK;
}

void pl_label_sets_free(pl_label_sets *sets) {
    pl_free(sets->label);
    pl_free(sets->start);
    pl_free(sets->member);
    *sets = (pl_label_sets){0};
}
