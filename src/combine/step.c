/* step.c: gradients are summed and the owner makes one proximal step:
 *
 *     v <- soft(v - eta (g + l2 v), eta l1)      eta = rate, rate / k or rate / sqrt k at round k
 *
 * rate auto: 1 / (bound of loss'' x mean |x|^2 + l2), which no data can make unstable. When rounds stop helping, a
 * constant rate is halved. */
#include <math.h>

#include "combine/combine.h"
#include "math/sparse.h"

#define HALVINGS 20

typedef struct step {
    pl_combine base;
    const pl_problem *problem;
    double rate;
    pl_schedule schedule;
    unsigned halved;
} step;

static double safe_rate(const pl_glm *glm) {
    if (!glm)
        return 1.0;
    double norm2 = glm->mean_norm2 + (glm->intercept == PL_NO_INTERCEPT ? 0.0 : 1.0);
    double bound = glm->loss->counts ? glm->mean_label : glm->loss->smooth ? glm->loss->curvature_bound : 1.0;
    return 1.0 / (bound * norm2 + glm->l2);
}

static parley_status open_step(const pl_setup *setup, pl_combine **out, parley_error *error) {
    step *this;
    parley_status status = pl_take(&this, 1, sizeof *this, "step", error);
    if (status != PARLEY_OK)
        return status;
    double rate = setup->settings->rate;
    *this = (step){{&pl_combine_step},
                   setup->problem,
                   isnan(rate) ? safe_rate(setup->glm) : rate,
                   (pl_schedule)setup->settings->schedule,
                   0};
    *out = &this->base;
    return PARLEY_OK;
}

static double rate_at(const step *this, uint64_t round) {
    double k = (double)round;
    return this->rate / (this->schedule == PL_INVERSE ? k : this->schedule == PL_INVERSE_SQRT ? sqrt(k) : 1.0);
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    const step *this = (step *)combine;
    const pl_problem *problem = this->problem;
    double eta = rate_at(this, round);
    (void)error;
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        double v = slice->v[j];
        double next = j < problem->penalised
                          ? pl_soft(v - eta * (slice->change[j] + problem->l2 * v), eta * problem->l1)
                          : v - eta * slice->change[j];
        slice->direction[j] = next - v;
    }
    return PARLEY_OK;
}

static bool stalled(pl_combine *combine) {
    step *this = (step *)combine;
    if (this->schedule > PL_CONSTANT || this->halved == HALVINGS)
        return false;
    this->halved++;
    this->rate *= 0.5;
    return true;
}

static void close_step(pl_combine *combine) { pl_free(combine); }

static const char *const reads[] = {"rate", "schedule", NULL};

const pl_combine_type pl_combine_step = {
    .name = "step",
    .help = "one step along the summed gradient, by a rate and its schedule",
    .needs = PL_NEEDS_GRADIENT,
    .settings = reads,
    .open = open_step,
    .propose = propose,
    .stalled = stalled,
    .close = close_step,
};
