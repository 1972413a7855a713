/* shared.h: a vector that several threads update without locks, as in Hogwild. Loads and stores are relaxed atomics, so
 * no value is ever torn, but an update that another thread overwrites is lost. */
#ifndef PL_SHARED_H
#define PL_SHARED_H

static inline double pl_shared_get(const double *at) {
    double value;
    __atomic_load(at, &value, __ATOMIC_RELAXED);
    return value;
}

static inline void pl_shared_put(double *at, double value) { __atomic_store(at, &value, __ATOMIC_RELAXED); }

#endif
