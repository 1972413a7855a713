/* fuzz_format.h: reads bytes in one block and in many, and compares. */
#ifndef PL_FUZZ_FORMAT_H
#define PL_FUZZ_FORMAT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "data/format.h"
#include "data/read.h"
#include "fuzz_check.h"

static inline void check_rows(const parley_data *data) {
    const pl_matrix *x = &data->x;
    check(x->rows > 0 && x->start[0] == 0 && x->start[x->rows] == x->nonzeros && data->names.count <= x->columns);
    for (uint64_t i = 0; i < x->rows; i++) {
        check(isfinite(data->label[i]) && (!data->weight || (isfinite(data->weight[i]) && data->weight[i] >= 0)));
        for (uint64_t k = x->start[i]; k < x->start[i + 1]; k++)
            check(x->index[k] < x->columns && (k == x->start[i] || x->index[k] > x->index[k - 1]) &&
                  (!x->values.narrow || isfinite(x->values.narrow[k])));
    }
}

static inline void check_names(const pl_names *a, const pl_names *b) {
    check(a->count == b->count);
    for (uint64_t i = 0; i < a->count; i++) {
        pl_name one = pl_names_at(a, i), other = pl_names_at(b, i);
        check(one.bytes == other.bytes && memcmp(one.text, other.text, one.bytes) == 0);
    }
}

static inline void check_same(const parley_data *a, const parley_data *b) {
    check(a->x.rows == b->x.rows && a->x.columns == b->x.columns && a->x.nonzeros == b->x.nonzeros);
    check(memcmp(a->x.start, b->x.start, (a->x.rows + 1) * 8) == 0 && memcmp(a->label, b->label, a->x.rows * 8) == 0);
    check(!a->weight == !b->weight && (!a->weight || memcmp(a->weight, b->weight, a->x.rows * 8) == 0));
    check(a->x.nonzeros == 0 || memcmp(a->x.index, b->x.index, a->x.nonzeros * 4) == 0);
    check(!a->x.values.narrow == !b->x.values.narrow);
    check(!a->x.values.narrow || memcmp(a->x.values.narrow, b->x.values.narrow, a->x.nonzeros * 4) == 0);
    check_names(&a->names, &b->names);
    check_names(&a->classes, &b->classes);
}

/* A refusal names the input, or else the model or the option that is wrong. */
static inline int names_its_cause(const char *sentence) {
    return strncmp(sentence, "fuzz", 4) == 0 || strncmp(sentence, "the model: ", 11) == 0 ||
           strncmp(sentence, "--interactions ", 15) == 0;
}

static inline void try_format(const uint8_t *bytes, size_t count, const pl_reading *reading) {
    static pl_pool *pools[2];
    parley_data *data[2];
    parley_error errors[2];
    parley_status status[2];
    for (unsigned i = 0; i < 2; i++) {
        if (!pools[i])
            check(pl_pool_open(&pools[i], i + 1, &errors[i]) == PARLEY_OK);
        status[i] = pl_data_parse_as(bytes, count, "fuzz", reading, pools[i], i ? 5 : 0, &data[i], &errors[i]);
    }
    check(status[0] == status[1]);
    if (status[0] == PARLEY_OK) {
        check_rows(data[0]);
        check_same(data[0], data[1]);
    } else {
        check(strcmp(errors[0].sentence, errors[1].sentence) == 0);
        check(names_its_cause(errors[0].sentence));
    }
    parley_data_free(data[0]);
    parley_data_free(data[1]);
}

#endif
