/* wide.h: operations on four doubles at a time, and functions in two versions, for every processor and for those with
 * AVX2, chosen at run time. Both versions do the same operations in the same order. */
#ifndef PL_WIDE_H
#define PL_WIDE_H

#include <stdint.h>
#include <string.h>

typedef double pl_wide __attribute__((vector_size(32), may_alias));
typedef int64_t pl_wide_bits __attribute__((vector_size(32)));

/* A build that counts branches has one version, as functions of their own, so that every branch is counted once. */
#if defined(PARLEY_COVERAGE)
#define PL_INLINE static __attribute__((noinline))
#else
#define PL_INLINE static inline __attribute__((always_inline))
#endif

#if defined(__x86_64__) && !defined(PARLEY_COVERAGE)
#define PL_AVX2 __attribute__((target("avx2")))
#define PL_HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define PL_AVX2
#define PL_HAS_AVX2 0
#endif

/* These are macros, because a wide value must not be passed between functions compiled for different processors. */
#define PL_LOAD(wide, from) memcpy(&(wide), (from), sizeof(pl_wide))
#define PL_STORE(to, wide) memcpy((to), &(wide), sizeof(pl_wide))
#define PL_LARGER(a, b) ((pl_wide)(((pl_wide_bits)(a) & ((a) > (b))) | ((pl_wide_bits)(b) & ~((a) > (b)))))
#define PL_ALL(x) ((pl_wide){(x), (x), (x), (x)})

#endif
