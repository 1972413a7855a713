/* add.c: CoCoA+ (Ma et al. 2015): the workers' changes of u are added.
 *
 * Each worker assumed that all changes together weigh at most sigma times their sum of squares. With D_k the changes
 * and r = |sum D_k|^2 / sum |D_k|^2 <= K, that held if r <= sigma; else the step sigma / r makes it hold. So the dual
 * objective never falls, at the price of two scalars. sigma starts at the safe K and follows r down, which gives back
 * most of what the safe value loses. */
#include <math.h>

#include "combine/combine.h"

typedef struct add {
    pl_combine base;
    const pl_glm *glm;
    double sigma, most;
} add;

static parley_status open_add(const pl_setup *setup, pl_combine **out, parley_error *error) {
    add *this;
    parley_status status = pl_take(&this, 1, sizeof *this, "add", error);
    if (status != PARLEY_OK)
        return status;
    *this = (add){{&pl_combine_add}, setup->glm, setup->team->workers, setup->team->workers};
    *out = &this->base;
    return PARLEY_OK;
}

static double sigma(const pl_combine *combine) { return ((const add *)combine)->sigma; }

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    (void)combine, (void)round, (void)error;
    for (uint64_t j = slice->begin; j < slice->end; j++)
        slice->direction[j] = (slice->shrink - 1.0) * slice->v[j] + slice->change[j];
    return PARLEY_OK;
}

static void measure(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars) {
    const pl_glm *glm = ((add *)combine)->glm;
    (void)gamma;
    for (uint64_t j = slice->begin; j < slice->end; j++)
        scalars[PL_OWN_NORM] += pl_metric(glm, j) * slice->direction[j] * slice->direction[j];
}

static bool judge(pl_combine *combine, const double *workers, const double *owners, double *gamma) {
    add *this = (add *)combine;
    double ratio = workers[PL_SUM_SPREAD] > 0 ? owners[PL_OWN_NORM] / workers[PL_SUM_SPREAD] : 1.0;
    *gamma = ratio > this->sigma * (1.0 + 1e-12) ? this->sigma / ratio : 1.0;
    this->sigma = fmin(this->most, fmax(1.0, fmax(1.15 * ratio, 0.7 * this->sigma)));
    return true;
}

static void close_add(pl_combine *combine) { pl_free(combine); }

const pl_combine_type pl_combine_add = {
    .name = "add",
    .help = "adds the workers' changes, as far as is safe (CoCoA+)",
    .needs = PL_NEEDS_DUAL,
    .open = open_add,
    .sigma = sigma,
    .propose = propose,
    .measure = measure,
    .judge = judge,
    .close = close_add,
};
