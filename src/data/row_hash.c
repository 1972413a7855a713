/* row_hash.c: a hash of everything that a row says. */
#include "data/row_hash.h"

#include <string.h>

uint64_t pl_stir(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

uint64_t pl_row_hash(const parley_data *data, uint64_t i) {
    const pl_matrix *x = &data->x;
    uint64_t label, weight, hash;
    double zero = 0.0, one = 1.0;
    memcpy(&label, data->label ? &data->label[i] : &zero, sizeof label);
    memcpy(&weight, data->weight ? &data->weight[i] : &one, sizeof weight);
    hash = pl_stir(pl_stir(x->start[i + 1] - x->start[i], label), weight);
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
        double wide = pl_value_at(x->values, e);
        float value = (float)wide;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        hash = pl_stir(hash, (uint64_t)x->index[e] << 32 | bits);
        if (x->values.wide) {
            uint64_t all;
            memcpy(&all, &wide, sizeof all);
            hash = pl_stir(hash, all);
        }
    }
    return pl_stir(hash, hash >> 32);
}
