/* fuzz_cache.c: any bytes as a cache. What is accepted must be safe to use. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/cache.h"
#include "fuzz_check.h"

static pl_pool *pool;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    parley_data *data;
    parley_error error;
    if (!pool)
        check(pl_pool_open(&pool, 1, &error) == PARLEY_OK);
    uint64_t *copy = malloc(count + 8); /* aligned as a mapping is */
    check(copy != NULL);
    if (count > 0)
        memcpy(copy, bytes, count);
    if (pl_cache_parse(copy, count, "fuzz", pool, &data, &error) == PARLEY_OK) {
        const pl_matrix *x = &data->x;
        for (uint64_t i = 0; i < x->rows; i++) {
            check(isfinite(data->label[i]) && x->start[i] <= x->start[i + 1]);
            for (uint64_t k = x->start[i]; k < x->start[i + 1]; k++)
                check(x->index[k] < x->columns && (!x->values.narrow || isfinite(x->values.narrow[k])));
        }
        check(pl_data_bytes(data) <= count);
        parley_data_free(data);
    } else
        check(strncmp(error.sentence, "fuzz: ", 6) == 0);
    free(copy);
    return 0;
}
