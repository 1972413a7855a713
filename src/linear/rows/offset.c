/* offset.c: the offset of every row, a column whose coefficient is known to be 1: z_i = x_i.w + b + o_i.
 *
 * The column stays in the data, so that it moves with the rows, and its scale is 0, so that no solver sees it. A loss
 * of z - y needs no more than labels y - o. The others are computed at z + o, and since the conjugate of loss(. + o) is
 * loss*(-t) + t o, the dual objective is D = - sum q (loss*(-t) + t o) - r*(u). */
#include <string.h>

#include "linear/glm.h"

/* The value of a row in the column. */
static double value_of(const parley_data *data, uint64_t row, uint64_t column) {
    const pl_matrix *x = &data->x;
    for (uint64_t e = x->start[row]; e < x->start[row + 1] && x->index[e] <= column; e++)
        if (x->index[e] == column)
            return pl_value_at(x->values, e);
    return 0.0;
}

/* Subtracts the offsets from the labels, which is all that a loss of z - y needs. */
static parley_status shift_labels(pl_glm *glm, parley_error *error) {
    const parley_data *data = glm->base.data;
    parley_status status = pl_take(&glm->rest, data->x.rows, sizeof *glm->rest, "labels less offsets", error);
    for (uint64_t i = 0; i < data->x.rows && status == PARLEY_OK; i++)
        glm->rest[i] = data->label[i] - value_of(data, i, glm->offset_column);
    if (status == PARLEY_OK) {
        pl_data_release(data, 0, data->x.rows);
        glm->own = *data;
        glm->own.label = glm->rest;
        glm->base.data = &glm->own;
    }
    return status;
}

parley_status pl_offset_open(pl_glm *glm, const char *word, parley_error *error) {
    const parley_data *data = glm->base.data;
    glm->offset_column = PL_NO_OFFSET;
    if (!*word)
        return PARLEY_OK;
    if (!pl_find_column(data, word, strlen(word), &glm->offset_column)) {
        glm->offset_column = PL_NO_OFFSET;
        return pl_fail(error, PARLEY_BAD_USAGE, "--offset-column %.60s: %s has no such column%s", word, data->path,
                       data->hash_bits > 0 ? " of numbers; hashed columns cannot be offsets" : "");
    }
    if (glm->classes > 1)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--offset-column works for models of one output, and this one has %llu classes; leave it out, "
                       "or train on two classes",
                       (unsigned long long)glm->classes);
    return pl_loss_of_difference(glm->loss) ? shift_labels(glm, error) : PARLEY_OK;
}

void pl_offset_take(const pl_glm *glm, uint64_t row) {
    if (glm->offset)
        glm->offset[row] = value_of(glm->base.data, row, glm->offset_column);
}

/* Hides the column from all solvers. */
static parley_status hide(pl_glm *glm, parley_error *error) {
    uint64_t columns = glm->base.data->x.columns;
    parley_status status = PARLEY_OK;
    if (!glm->scale) {
        status = pl_take(&glm->scale, columns, sizeof *glm->scale, "the columns' scales", error);
        if (status == PARLEY_OK)
            status = pl_take(&glm->scaled, glm->base.size, sizeof *glm->scaled, "the columns' scales", error);
        for (uint64_t j = 0; j < columns && status == PARLEY_OK; j++)
            glm->scale[j] = 1.0;
    }
    if (status == PARLEY_OK)
        glm->scale[glm->offset_column] = 0.0;
    return status;
}

parley_status pl_offset_measure(pl_glm *glm, parley_error *error) {
    pl_free(glm->offset); /* the workers may have changed */
    glm->offset = NULL;
    if (glm->offset_column == PL_NO_OFFSET)
        return PARLEY_OK;
    parley_status status = hide(glm, error);
    if (status == PARLEY_OK && !pl_loss_of_difference(glm->loss))
        status = pl_take(&glm->offset, glm->base.data->x.rows, sizeof *glm->offset, "the offsets", error);
    return status;
}

void pl_offset_close(pl_glm *glm) {
    pl_free(glm->rest);
    pl_free(glm->offset);
    glm->rest = glm->offset = NULL;
}
