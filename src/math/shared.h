/* shared.h: a vector that several threads change at once, without locks. Loads and stores are relaxed atomics, so that
 * no value is ever torn; a change that another thread overwrites is lost, as in Hogwild. */
#ifndef PL_SHARED_H
#define PL_SHARED_H

static inline double pl_shared_get(const double *at) {
    double value;
    __atomic_load(at, &value, __ATOMIC_RELAXED);
    return value;
}

static inline void pl_shared_put(double *at, double value) { __atomic_store(at, &value, __ATOMIC_RELAXED); }

#endif
