/* names_text.c: names of columns and classes as metadata of a model. They are separated by commas, and %XX stands for
 * commas, % and bytes that are not printable ASCII. */
#include <string.h>

#include "math/softmax_kernel.h"
#include "method/model.h"

static parley_status write_names(parley_model *model, const char *key, const pl_names *names, parley_error *error) {
    static const char digits[] = "0123456789ABCDEF";
    char *text, *to;
    if (names->count == 0)
        return PARLEY_OK;
    parley_status status = pl_take(&text, 3 * names->start[names->count] + names->count + 1, 1, "the names", error);
    if (status != PARLEY_OK)
        return status;
    to = text;
    for (uint64_t i = 0; i < names->count; i++) {
        pl_name name = pl_names_at(names, i);
        if (i > 0)
            *to++ = ',';
        for (uint64_t j = 0; j < name.bytes; j++) {
            unsigned char c = (unsigned char)name.text[j];
            bool plain = c > ' ' && c < 127 && c != ',' && c != '%';
            *to++ = plain ? (char)c : '%';
            if (!plain) {
                *to++ = digits[c >> 4];
                *to++ = digits[c & 15];
            }
        }
    }
    status = pl_model_set_meta(model, key, text, error);
    pl_free(text);
    return status;
}

parley_status pl_names_to_metadata(parley_model *model, parley_error *error) {
    parley_status status = write_names(model, "column_names", &model->names, error);
    return status == PARLEY_OK ? write_names(model, "class_names", &model->classes, error) : status;
}

static unsigned hex(char c) {
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

static bool fill_names(const char *text, uint64_t *start, char *to) {
    uint64_t number = 0, at = 0;
    for (const char *c = text; *c; c++) {
        if (*c == ',')
            start[++number] = at;
        else if (*c != '%')
            to[at++] = *c;
        else if (hex(c[1]) < 16 && hex(c[2]) < 16) {
            to[at++] = (char)(hex(c[1]) << 4 | hex(c[2]));
            c += 2;
        } else
            return false;
    }
    start[number + 1] = at;
    return true;
}

/* Reads at most `most` names. */
static parley_status read_names(const parley_model *model, const char *path, const char *key, uint64_t most,
                                pl_names *out, parley_error *error) {
    const char *text = pl_model_meta(model, key);
    uint64_t count = 1;
    *out = (pl_names){0};
    for (const char *c = text; c && *c; c++)
        count += *c == ',';
    if (!text)
        return PARLEY_OK;
    parley_status status =
        count <= most ? pl_names_make(count, strlen(text), out, error)
                      : pl_fail(error, PARLEY_BAD_INPUT, "%s: its metadata `%s` have too many names", path, key);
    if (status != PARLEY_OK || fill_names(text, (uint64_t *)out->start, (char *)out->text))
        return status;
    pl_names_free(out);
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: its metadata `%s` are damaged", path, key);
}

parley_status pl_names_from_metadata(parley_model *model, const char *path, parley_error *error) {
    parley_status status = read_names(model, path, "column_names", model->columns, &model->names, error);
    return status == PARLEY_OK ? read_names(model, path, "class_names", PL_MOST_CLASSES, &model->classes, error)
                               : status;
}
