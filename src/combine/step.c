/* step.c: gradients are summed and the owner makes one proximal step:
 *
 *     v <- soft(v - eta (g + l2 v), eta l1)      eta = rate, rate / k or rate / sqrt k at round k
 *
 * For rate auto see step_rate.c; an intercept then has its own rate. When rounds no longer help, the rate is halved if
 * it is constant or was not given. */
#include <math.h>

#include "combine/step.h"
#include "math/sparse.h"

#define HALVINGS 20

typedef struct step {
    pl_combine base;
    const pl_problem *problem;
    uint64_t columns;  /* entries of v without intercepts */
    double rate, ease; /* `ease` is the factor of an intercept's rate */
    pl_schedule schedule;
    bool given; /* the rate was given */
    unsigned halved;
} step;

static parley_status open_step(const pl_setup *setup, pl_combine **out, parley_error *error) {
    step *this;
    parley_status status = pl_take(&this, 1, sizeof *this, "step", error);
    if (status != PARLEY_OK)
        return status;
    const pl_glm *glm = pl_glm_of(setup->problem);
    *this = (step){.base = {&pl_combine_step},
                   .problem = setup->problem,
                   .columns = glm ? glm->data->x.columns * glm->classes : setup->entries,
                   .rate = isnan(setup->settings->rate) ? 1.0 : setup->settings->rate,
                   .ease = 1.0,
                   .given = !isnan(setup->settings->rate),
                   .schedule = (pl_schedule)setup->settings->schedule};
    if (glm && isnan(setup->settings->rate))
        status = pl_step_rate(setup, &this->rate, &this->ease, error);
    if (status != PARLEY_OK)
        pl_free(this);
    else
        *out = &this->base;
    return status;
}

static double rate_at(const step *this, uint64_t round) {
    double k = (double)round;
    return this->rate / (this->schedule == PL_INVERSE ? k : this->schedule == PL_INVERSE_SQRT ? sqrt(k) : 1.0);
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    const step *this = (step *)combine;
    const pl_problem *problem = this->problem;
    double rate = rate_at(this, round);
    (void)error;
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        double v = slice->v[j], eta = j < this->columns ? rate : rate * this->ease;
        double next = j < problem->penalised
                          ? pl_soft(v - eta * (slice->change[j] + pl_l2_at(problem, j) * v), eta * pl_l1_at(problem, j))
                          : v - eta * slice->change[j];
        if (j < problem->non_negative)
            next = fmax(0.0, next);
        slice->direction[j] = next - v;
    }
    return PARLEY_OK;
}

static bool stalled(pl_combine *combine) {
    step *this = (step *)combine;
    if ((this->given && this->schedule > PL_CONSTANT) || this->halved == HALVINGS)
        return false;
    this->halved++;
    this->rate *= 0.5;
    return true;
}

static void state(pl_combine *combine, pl_state *state) {
    step *this = (step *)combine;
    PL_STATE_VALUES(state, "step", PL_WITHIN(this->rate, 0, DBL_MAX), PL_WITHIN(this->halved, 0, HALVINGS));
}

static void close_step(pl_combine *combine) { pl_free(combine); }

static parley_status check(const parley_settings *settings, const pl_problem *problem, parley_error *error) {
    (void)problem;
    if (settings->schedule < PL_ADAGRAD)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "combine step has one rate for all columns; use --schedule constant, inverse or inverse-sqrt, or "
                   "--local sgd");
}

static const char *const reads[] = {"rate", "schedule", NULL};

const pl_combine_type pl_combine_step = {
    .name = "step",
    .help = "one step along the summed gradient, with a rate and a schedule",
    .takes = PL_GIVES_GRADIENTS,
    .settings = reads,
    .check = check,
    .open = open_step,
    .propose = propose,
    .stalled = stalled,
    .state = state,
    .close = close_step,
};
