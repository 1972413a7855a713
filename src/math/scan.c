/* scan.c: simple loops that compilers vectorise, in two versions (wide.h). Chunks are short, so that 32-bit sums
 * suffice and the loops have no branches. */
#include "math/scan.h"

#include "math/wide.h"

#define CHUNK ((uint64_t)4096)
#define EXPONENT 0x7f800000u
#define WIDE_EXPONENT 0x7ff0000000000000u

PL_INLINE pl_ids scan_ids(const uint32_t *id, uint64_t count) {
    pl_ids found = {count > 0 ? id[count - 1] : 0, 0};
    uint64_t pairs = count > 0 ? count - 1 : 0;
    for (uint64_t begin = 0; begin < pairs; begin += CHUNK) {
        uint64_t length = pairs - begin < CHUNK ? pairs - begin : CHUNK;
        const uint32_t *at = id + begin;
        uint32_t largest = 0, falls = 0;
        for (uint64_t e = 0; e < length; e++) {
            largest = at[e] > largest ? at[e] : largest;
            falls += at[e] >= at[e + 1];
        }
        found.largest = largest > found.largest ? largest : found.largest;
        found.falls += falls;
    }
    return found;
}

PL_INLINE bool scan_finite(const float *value, uint64_t count) {
    uint32_t wrong = 0;
    for (uint64_t e = 0; e < count; e++) {
        uint32_t bits;
        memcpy(&bits, &value[e], sizeof bits);
        wrong |= (bits & EXPONENT) == EXPONENT;
    }
    return !wrong;
}

PL_INLINE bool scan_finite_double(const double *value, uint64_t count) {
    uint64_t wrong = 0;
    for (uint64_t e = 0; e < count; e++) {
        uint64_t bits;
        memcpy(&bits, &value[e], sizeof bits);
        wrong |= (bits & WIDE_EXPONENT) == WIDE_EXPONENT;
    }
    return !wrong;
}

PL_AVX2 static pl_ids scan_ids_avx2(const uint32_t *id, uint64_t count) { return scan_ids(id, count); }
PL_AVX2 static bool scan_finite_avx2(const float *value, uint64_t count) { return scan_finite(value, count); }

pl_ids pl_scan_ids(const uint32_t *id, uint64_t count) {
    return PL_HAS_AVX2 ? scan_ids_avx2(id, count) : scan_ids(id, count);
}

bool pl_scan_finite(const float *value, uint64_t count) {
    return PL_HAS_AVX2 ? scan_finite_avx2(value, count) : scan_finite(value, count);
}

bool pl_scan_finite_double(const double *value, uint64_t count) { return scan_finite_double(value, count); }
