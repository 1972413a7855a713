/* label_kinds.c: see label_kinds.h. */
#include "shard/label_kinds.h"

#include <string.h>

#include "base/memory.h"
#include "engine/collective.h"

unsigned pl_label_place(const double *kinds, unsigned count, double label) {
    unsigned low = 0, high = count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (kinds[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the distinct labels of `rows` rows to the `count` increasing labels in `kinds`. Returns the new count, or most +
 * 1 if there are more. */
static unsigned distinct_labels(const double *label, uint64_t rows, double *kinds, unsigned count, unsigned most) {
    for (uint64_t i = 0; i < rows; i++) {
        unsigned k = pl_label_place(kinds, count, label[i]);
        if (k < count && kinds[k] == label[i])
            continue;
        if (count >= most)
            return most + 1;
        memmove(kinds + k + 1, kinds + k, (count - k) * sizeof *kinds);
        kinds[k] = label[i];
        count++;
    }
    return count;
}

/* Merges the labels of all ranks: each rank sends its list to all others. */
static parley_status agree_labels(pl_engine *engine, double *kinds, unsigned *count, unsigned most,
                                  parley_error *error) {
    unsigned ranks = engine->ranks, all = 0, slot = most + 2; /* a slot holds the count, then the labels */
    double *mine, *sums = NULL;
    if (ranks == 1)
        return PARLEY_OK;
    parley_status status = pl_take(&mine, (uint64_t)ranks * slot, sizeof *mine, "labels", error);
    if (status == PARLEY_OK)
        status = pl_take(&sums, (uint64_t)ranks * slot, sizeof *sums, "labels", error);
    if (status == PARLEY_OK) {
        unsigned listed = *count > most ? most : *count;
        mine[engine->rank * slot] = *count;
        memcpy(mine + engine->rank * slot + 1, kinds, listed * sizeof *kinds);
        status = pl_sum_workers(engine, PL_EACH_RANK, mine, ranks * slot, sums, error);
    }
    for (unsigned r = 0; r < ranks && status == PARLEY_OK && all <= most; r++) {
        unsigned listed = (unsigned)sums[r * slot];
        all = listed > most ? listed : distinct_labels(sums + r * slot + 1, listed, kinds, all, most);
    }
    pl_free(mine);
    pl_free(sums);
    *count = all;
    return status;
}

parley_status pl_label_kinds(pl_engine *engine, const parley_data *data, unsigned most, double *kinds, unsigned *count,
                             parley_error *error) {
    *count = distinct_labels(data->label, data->x.rows, kinds, 0, most);
    return agree_labels(engine, kinds, count, most, error);
}
