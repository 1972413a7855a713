/* fuzz_libsvm.c: any bytes as LIBSVM text. What is accepted must be the same for any blocks and threads, and every
 * refusal must name a line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/read.h"

static pl_pool *pools[2];

static void check(int good) {
    if (!good)
        abort();
}

static void check_rows(const parley_data *data) {
    const pl_matrix *x = &data->x;
    check(x->rows > 0 && x->start[0] == 0 && x->start[x->rows] == x->nonzeros);
    for (uint64_t i = 0; i < x->rows; i++)
        for (uint64_t k = x->start[i]; k < x->start[i + 1]; k++)
            check(x->index[k] < x->columns && (k == x->start[i] || x->index[k] > x->index[k - 1]));
}

static void check_same(const parley_data *a, const parley_data *b) {
    check(a->x.rows == b->x.rows && a->x.columns == b->x.columns && a->x.nonzeros == b->x.nonzeros);
    check(memcmp(a->x.start, b->x.start, (a->x.rows + 1) * 8) == 0 && memcmp(a->label, b->label, a->x.rows * 8) == 0);
    check(a->x.nonzeros == 0 || memcmp(a->x.index, b->x.index, a->x.nonzeros * 4) == 0);
    check(!a->x.value == !b->x.value);
    check(!a->x.value || memcmp(a->x.value, b->x.value, a->x.nonzeros * 4) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    parley_data *data[2];
    parley_error errors[2];
    parley_status status[2];
    for (unsigned i = 0; i < 2; i++) {
        if (!pools[i])
            check(pl_pool_open(&pools[i], i + 1, &errors[i]) == PARLEY_OK);
        status[i] = pl_data_parse(bytes, count, "fuzz", pools[i], i ? 5 : 0, &data[i], &errors[i]);
    }
    check(status[0] == status[1]);
    if (status[0] == PARLEY_OK) {
        check_rows(data[0]);
        check_same(data[0], data[1]);
    } else
        check(strcmp(errors[0].sentence, errors[1].sentence) == 0 && strncmp(errors[0].sentence, "fuzz:", 5) == 0);
    parley_data_free(data[0]);
    parley_data_free(data[1]);
    return 0;
}
