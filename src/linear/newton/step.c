/* step.c: gradients are summed and the owner makes one proximal step:
 *
 *     v <- soft(v - eta (g + l2 v), eta l1)      eta = rate, rate / k or rate / sqrt k at round k
 *
 * For rate auto see step_rate.c; an intercept then has its own rate, and a schedule that decays begins to do so after
 * STEADY rounds: it is rate, then rate x STEADY / k or rate x sqrt(STEADY / k). A rate that was not given doubles while
 * the objective falls from one evaluation to the next, and is halved when it rises. If the schedule decays, which deals
 * with noise, both take a change of more than NOISE: sampled rows make the objective rise and fall by turns, and a rate
 * that was halved at each rise would be too small for directions of little curvature, where steps are missing. When
 * rounds no longer help, the rate is halved if it is constant or was not given.
 *
 * Asynchronous exchanges give it the gradient g_k of one worker at a time, which holds a fraction f_k of the rows:
 *
 *     v <- soft(v - eta (g_k + f_k l2 v), eta f_k l1)
 *
 * so that one gradient of every worker makes one step. With an L2 penalty only, the whole slice shrinks by a scale, and
 * the other entries are not touched. Gradients are late, so that a rate that was not given is divided by how late they
 * may be. */
#include <math.h>

#include "linear/newton/step.h"
#include "math/sparse.h"

#define HALVINGS 20
#define MUCH 3e-4    /* of the objective, to be gained between two evaluations */
#define NOISE 5e-4   /* of the objective: a change that a decaying schedule deals with */
#define AGAIN 1.2    /* growth of a rate that has been too large: noise makes the objective rise and fall by turns */
#define STEADY 100.0 /* rounds at the first rate, if it was not given */
#define LEAST_SHRINK 1e-3 /* by one worker's update: a rate at which it would be less diverges anyway */

typedef struct step {
    pl_combine base;
    const pl_problem *problem;
    uint64_t columns;  /* entries of v without intercepts */
    double rate, ease; /* `ease` is the factor of an intercept's rate */
    pl_schedule schedule;
    bool given; /* the rate was given */
    bool plain; /* the penalty is the same L2 penalty for all entries */
    unsigned halved;
    double last; /* objective that it was told */
    bool rose;   /* the objective, at least once: the rate has been too large */
} step;

static parley_status open_step(const pl_setup *setup, pl_combine **out, parley_error *error) {
    step *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "step", error);
    if (status != PARLEY_OK)
        return status;
    const pl_glm *glm = pl_glm_of(setup->problem);
    *self = (step){.base = {.type = &pl_combine_step},
                   .problem = setup->problem,
                   .columns = glm->base.data->x.columns * glm->classes,
                   .rate = isnan(setup->settings->rate) ? 1.0 : setup->settings->rate,
                   .ease = 1.0,
                   .last = INFINITY,
                   .given = !isnan(setup->settings->rate),
                   .plain = !setup->problem->non_negative && setup->problem->l1 == 0 && !setup->problem->factor,
                   .schedule = (pl_schedule)setup->settings->schedule};
    if (!self->given) {
        status = pl_step_rate(setup, &self->rate, &self->ease, error);
        self->rate /= 1.0 + setup->late;
    }
    if (status != PARLEY_OK)
        pl_free(self);
    else
        *out = &self->base;
    return status;
}

static double rate_at(const step *self, uint64_t round) {
    double k = self->given ? (double)round : fmax(1.0, (double)round / STEADY);
    return self->rate / (self->schedule == PL_INVERSE ? k : self->schedule == PL_INVERSE_SQRT ? sqrt(k) : 1.0);
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    const step *self = (step *)combine;
    const pl_problem *problem = self->problem;
    double rate = rate_at(self, round);
    (void)error;
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        double v = slice->v[j], eta = j < self->columns ? rate : rate * self->ease;
        double next = j < problem->penalised
                          ? pl_soft(v - eta * (slice->change[j] + pl_l2_at(problem, j) * v), eta * pl_l1_at(problem, j))
                          : v - eta * slice->change[j];
        if (j < problem->non_negative)
            next = fmax(0.0, next);
        slice->direction[j] = next - v;
    }
    return PARLEY_OK;
}

/* Multiplies the slice by `shrink`, except the entries without a penalty. */
static void shrink_slice(const pl_single *one, double shrink, uint64_t penalised) {
    *one->scale *= shrink;
    for (uint64_t j = penalised; j < one->slice->end; j++)
        one->slice->v[j] /= shrink;
}

/* The step on all entries of the slice. */
static void take_dense(const step *self, const pl_single *one, double rate) {
    const pl_problem *problem = self->problem;
    double *v = one->slice->v;
    for (uint64_t e = 0; e < one->count; e++)
        v[one->index[e]] -= (one->index[e] < self->columns ? rate : rate * self->ease) * one->value[e];
    for (uint64_t j = one->slice->begin; j < one->slice->end; j++) {
        double eta = one->fraction * (j < self->columns ? rate : rate * self->ease);
        if (j < problem->penalised)
            v[j] = pl_soft(v[j] * (1.0 - eta * pl_l2_at(problem, j)), eta * pl_l1_at(problem, j));
        if (j < problem->non_negative)
            v[j] = fmax(0.0, v[j]);
    }
}

static uint64_t single(pl_combine *combine, const pl_single *one) {
    const step *self = (step *)combine;
    const pl_slice *slice = one->slice;
    uint64_t penalised = self->problem->penalised > slice->begin ? self->problem->penalised : slice->begin;
    double rate = rate_at(self, one->clock);
    double shrink = fmax(LEAST_SHRINK, 1.0 - rate * one->fraction * self->problem->l2);
    if (!self->plain) {
        take_dense(self, one, rate);
        return slice->begin;
    }
    if (shrink != 1.0)
        shrink_slice(one, shrink, penalised);
    for (uint64_t e = 0; e < one->count; e++) {
        uint32_t j = one->index[e];
        slice->v[j] -= (j < self->columns ? rate : rate * self->ease) * one->value[e] / *one->scale;
    }
    return shrink != 1.0 ? penalised : slice->end;
}

/* A rate that was not given grows while much is left to gain, and falls when the objective rises. */
static void adjust(pl_combine *combine, double rate, double objective) {
    step *self = (step *)combine;
    (void)rate;
    if (self->given)
        return;
    double noise = self->schedule > PL_CONSTANT ? NOISE * fabs(objective) : 0.0;
    double much = self->rose && noise > 0 ? noise : MUCH * fabs(objective);
    bool fell = self->last - objective > much, rose = objective - self->last > noise;
    self->rose = self->rose || rose;
    self->rate *= rose ? 0.5 : fell && self->rose ? AGAIN : fell ? 2.0 : 1.0;
    self->last = objective;
}

static bool stalled(pl_combine *combine) {
    step *self = (step *)combine;
    if ((self->given && self->schedule > PL_CONSTANT) || self->halved == HALVINGS)
        return false;
    self->halved++;
    self->rate *= 0.5;
    return true;
}

static void state(pl_combine *combine, pl_state *state) {
    step *self = (step *)combine;
    PL_STATE_VALUES(state, "step", PL_WITHIN(self->rate, 0, DBL_MAX), PL_WITHIN(self->halved, 0, HALVINGS));
    if (!self->given)
        PL_STATE_VALUES(state, "objective", PL_UNSURE(self->last), PL_VALUE(self->rose));
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
    .problem = &pl_problem_linear,
    .takes = PL_GIVES_GRADIENTS,
    .settings = reads,
    .check = check,
    .open = open_step,
    .propose = propose,
    .single = single,
    .adjust = adjust,
    .stalled = stalled,
    .state = state,
    .close = close_step,
};
