/* blas.c: see blas.h. */
#include "math/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

enum { BY_ROWS = 101, AS_IS = 111, TURNED = 112 }; /* of the C interface of BLAS */

typedef void (*sgemm_call)(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float *a, int lda,
                           const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*threads_call)(int threads);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sgemm_call sgemm;

static void load(void) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    void *library = NULL;
    for (unsigned i = 0; i < 2 && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    void *product = dlsym(library, "cblas_sgemm"), *threads = dlsym(library, "openblas_set_num_threads");
    if (!product || !threads)
        return;
    (*(threads_call *)&threads)(1); /* ISO C has no cast from an object to a function */
    sgemm = *(sgemm_call *)&product;
}

parley_status pl_blas_open(parley_error *error) {
    pthread_once(&once, load);
    if (sgemm)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_NO_FILE,
                   "networks need OpenBLAS, but libopenblas.so.0 cannot be loaded; install the package libopenblas0");
}

void pl_multiply(pl_floats_of a, pl_floats_of b, uint64_t rows, uint64_t inner, uint64_t columns, bool add, float *c,
                 uint64_t stride) {
    if (rows > 0 && columns > 0)
        sgemm(BY_ROWS, a.turned ? TURNED : AS_IS, b.turned ? TURNED : AS_IS, (int)rows, (int)columns, (int)inner, 1.0F,
              a.at, (int)a.stride, b.at, (int)b.stride, add ? 1.0F : 0.0F, c, (int)stride);
}
