/* kept_model.c: see kept_model.h. */
#include "linear/path/kept_model.h"

#include <string.h>

#include "base/memory.h"

parley_status pl_kept_open(pl_kept_model *kept, const double *values, uint64_t size, parley_error *error) {
    *kept = (pl_kept_model){0};
    for (uint64_t j = 0; j < size; j++)
        kept->count += values[j] != 0;
    bool is_short = kept->count < size / 2; /* a place takes as much room as a value */
    parley_status status = pl_take(&kept->value, is_short ? kept->count : size, sizeof(double), "a model", error);
    if (status == PARLEY_OK && is_short)
        status = pl_take(&kept->index, kept->count, sizeof *kept->index, "a model", error);
    if (status != PARLEY_OK) {
        pl_kept_close(kept);
        return status;
    }
    if (!is_short && size > 0)
        memcpy(kept->value, values, size * sizeof *values);
    for (uint64_t j = 0, at = 0; j < size && is_short; j++)
        if (values[j] != 0) {
            kept->index[at] = j;
            kept->value[at++] = values[j];
        }
    return PARLEY_OK;
}

/* The first place in the list that is not before `begin`. */
static uint64_t first_from(const pl_kept_model *kept, uint64_t begin) {
    uint64_t low = 0, high = kept->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (kept->index[middle] < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pl_kept_copy(const pl_kept_model *kept, uint64_t begin, uint64_t count, double *out) {
    if (count == 0)
        return;
    if (!kept->index && kept->value) {
        memcpy(out, kept->value + begin, count * sizeof *out);
        return;
    }
    memset(out, 0, count * sizeof *out);
    for (uint64_t at = first_from(kept, begin); at < kept->count && kept->index[at] < begin + count; at++)
        out[kept->index[at] - begin] = kept->value[at];
}

void pl_kept_close(pl_kept_model *kept) {
    pl_free(kept->index);
    pl_free(kept->value);
    *kept = (pl_kept_model){0};
}
