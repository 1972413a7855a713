/* wide_floats.h: operations on sixteen floats at a time, and functions in three versions, for every processor, for
 * those with AVX2 and for those with AVX-512, chosen at run time. All versions do the same operations in the same
 * order. */
#ifndef PL_WIDE_FLOATS_H
#define PL_WIDE_FLOATS_H

#include "math/wide.h"

#if defined(__x86_64__) && !defined(PARLEY_COVERAGE)
#define PL_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#define PL_HAS_AVX512                                                                                                  \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#else
#define PL_AVX512
#define PL_HAS_AVX512 0
#endif

#define PL_FLOATS 16
#define PL_LN2_HIGH 0.693145751953125F
#define PL_LN2_LOW 1.42860677e-6F

typedef float pl_floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t pl_floats_bits __attribute__((vector_size(64), aligned(4), may_alias));

#define PL_ALL_FLOATS(x) ((pl_floats){0} + (x))
#define PL_LARGER_FLOATS(a, b) ((pl_floats)(((pl_floats_bits)(a) & ((a) > (b))) | ((pl_floats_bits)(b) & ~((a) > (b)))))

/* exp(x) for x <= 0. Results below 2^-80 become 2^-80, so that products of two of them do not vanish. */
PL_INLINE void pl_exponential_floats(pl_floats *value) {
    pl_floats x = PL_LARGER_FLOATS(*value, PL_ALL_FLOATS(-80.0F * 0.693147F));
    pl_floats shifted = x * 1.44269504F + 0x1.8p23F, n = shifted - 0x1.8p23F;
    pl_floats r = x - n * PL_LN2_HIGH - n * PL_LN2_LOW;
    pl_floats sum = 1.0F + r * (1.0F + r * (0.5F + r * (1.6666667e-1F + r * (4.1666668e-2F + r * 8.3333333e-3F))));
    pl_floats_bits power = __builtin_convertvector(n, pl_floats_bits) << 23;
    *value = (pl_floats)((pl_floats_bits)sum + power);
}

/* Defines a function with a version for each kind of processor. `wide` is its body for AVX-512. */
#define PL_VERSIONS_OF(name, wide, narrow, parameters, arguments)                                                      \
    PL_AVX512 static void name##_avx512 parameters { wide arguments; }                                                 \
    PL_AVX2 static void name##_avx2 parameters { narrow arguments; }                                                   \
    static void name##_plain parameters { narrow arguments; }                                                          \
    void name parameters {                                                                                             \
        if (PL_HAS_AVX512)                                                                                             \
            name##_avx512 arguments;                                                                                   \
        else if (PL_HAS_AVX2)                                                                                          \
            name##_avx2 arguments;                                                                                     \
        else                                                                                                           \
            name##_plain arguments;                                                                                    \
    }
#define PL_VERSIONS(name, body, parameters, arguments) PL_VERSIONS_OF(name, body, body, parameters, arguments)

#endif
