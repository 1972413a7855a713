/* fuzz_weights.c: any bytes as weights of three rows: refused with a sentence that names the file, or three numbers. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "data/read.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static parley_data *data;
    parley_error error = {0};
    if (!data) {
        pl_pool *pool;
        check(pl_pool_open(&pool, 1, &error) == PARLEY_OK);
        check(pl_data_parse("1 1:1\n2 2:1\n3 3:1\n", 18, "rows", pool, 0, &data, &error) == PARLEY_OK);
        pl_pool_close(pool);
    }
    if (pl_data_parse_weights(data, bytes, count, "fuzz", &error) == PARLEY_OK) {
        double total = 0;
        for (unsigned i = 0; i < 3; i++) {
            check(isfinite(data->weight[i]) && data->weight[i] >= 0);
            total += data->weight[i];
        }
        check(total > 0);
    } else
        check(strncmp(error.sentence, "fuzz:", 5) == 0);
    return 0;
}
