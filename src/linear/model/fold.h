/* fold.h: folds column ids into 2^bits ids. Smaller ids stay as they are, the others are hashed. */
#ifndef PL_FOLD_H
#define PL_FOLD_H

#include <stdint.h>

static inline uint32_t pl_fold(uint32_t column, unsigned bits) {
    uint32_t above = bits < 32 ? column >> bits : 0;
    return (uint32_t)((column + (uint64_t)above * 0x9e3779b1u) & (((uint64_t)1 << bits) - 1));
}

#endif
