/* add.c: CoCoA+ (Ma et al. 2015), accelerated: the workers' changes of u are added.
 *
 * Each worker assumed that all changes together weigh at most sigma times their sum of squares. With D_k the changes
 * and r = |sum D_k|^2 / sum |D_k|^2 <= K, that holds if r <= sigma; otherwise the step sigma / r makes it hold. So
 * without momentum the dual objective does not decrease, at the cost of two scalars. sigma starts at the safe K and
 * follows r down, which recovers most of what the safe value loses.
 *
 * A round is a proximal gradient step on D in the metric sigma blockdiag(X_k X_k'), so Nesterov's momentum applies: the
 * next round starts at t + m (t - last t). Momentum restarts when it points against the step (O'Donoghue and Candes
 * 2015). On badly conditioned data this saves nine rounds in ten. */
#include <math.h>
#include <string.h>

#include "linear/columns/scd.h"
#include "method/combine.h"

#define DECAY 0.98 /* of sigma, per round */
#define FIRST_LEVEL 5
#define MOST_LEVEL 10
#define RETREATS 20

typedef struct add {
    pl_combine base;
    const pl_glm *glm;
    double sigma, most;     /* the current value, and K */
    double theta, momentum; /* Nesterov's sequence, from 1; (theta - 1) / next theta */
    unsigned retreats;      /* how often momentum was dropped because rounds no longer helped */
    int level, climb;       /* momentum is at most 1 - 2^-level; the next change of level */
    double rate;            /* the last reported speed of progress */
    bool steady;            /* the solver has no momentum */
    double *last;           /* the last proposed change of v */
    double gamma;           /* the step with which it was taken */
    const double *metric;   /* of a squared change, by entry of v; NULL: the problem's own */
} add;

static uint64_t bytes(const pl_setup *setup) { return setup->entries * sizeof(double); }

static void close_add(pl_combine *combine) {
    if (combine)
        pl_free(((add *)combine)->last);
    pl_free(combine);
}

static parley_status open_add(const pl_setup *setup, pl_combine **out, parley_error *error) {
    add *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "add", error);
    if (status != PARLEY_OK)
        return status;
    *self = (add){.base = {.type = &pl_combine_add},
                  .glm = pl_glm_of(setup->problem),
                  .metric = pl_scd_metric(setup->local),
                  .sigma = setup->team->workers,
                  .most = setup->team->workers,
                  .theta = 1.0,
                  .steady = !setup->accelerates,
                  .level = FIRST_LEVEL,
                  .climb = -1};
    status = pl_take(&self->last, setup->entries, sizeof *self->last, "add", error);
    if (status != PARLEY_OK) {
        close_add(&self->base);
        return status;
    }
    memset(self->last + setup->begin, 0, (setup->end - setup->begin) * sizeof *self->last); /* page faults */
    *out = &self->base;
    return status;
}

static void ask(const pl_combine *combine, pl_round *round) {
    const add *self = (const add *)combine;
    round->sigma = self->sigma;
    round->momentum = self->momentum;
}

/* |ahead|^2 of an entry, which is stored as the last. */
static inline double measure_entry(double direction, double back, double *last, double metric) {
    double ahead = direction - back * *last;
    *last = direction;
    return metric * ahead * ahead;
}

/* The same for entries [begin, end). */
static double measure_part(add *self, const double *direction, uint64_t begin, uint64_t end, const double *metric) {
    double back = self->momentum * self->gamma, sums[4] = {0}; /* four sums add in parallel */
    double *restrict last = self->last;
    uint64_t j = begin;
    for (; j < end && j % 4; j++)
        sums[j % 4] += measure_entry(direction[j], back, &last[j], metric ? metric[j] : 1.0);
    for (; j + 4 <= end; j += 4)
        for (unsigned i = 0; i < 4; i++)
            sums[i] += measure_entry(direction[j + i], back, &last[j + i], metric ? metric[j + i] : 1.0);
    for (; j < end; j++)
        sums[j % 4] += measure_entry(direction[j], back, &last[j], metric ? metric[j] : 1.0);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static void measure(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars) {
    add *self = (add *)combine;
    const double *direction = slice->direction;
    (void)gamma;
    if (self->metric) {
        *scalars += measure_part(self, direction, slice->begin, slice->end, self->metric);
        return;
    }
    uint64_t columns = self->glm->base.data->x.columns * self->glm->classes, j = slice->begin;
    if (j < columns) { /* they have the same metric */
        uint64_t end = slice->end < columns ? slice->end : columns;
        *scalars += pl_metric(self->glm, j) * measure_part(self, direction, j, end, NULL);
        j = end;
    }
    for (; j < slice->end; j++)
        *scalars += pl_metric(self->glm, j) * measure_part(self, direction, j, j + 1, NULL);
}

/* Momentum close to 1 pays if rounds are exact, but overshoots if solvers make few steps in a round. Only the progress
 * shows how much is best: raise it while progress grows, reverse when progress falls, and restart far lower when there
 * is none, because the iterates then swing around the optimum. */
static void adjust(pl_combine *combine, double rate, double objective) {
    add *self = (add *)combine;
    (void)objective;
    if (rate < self->rate || rate <= 0)
        self->climb = rate <= 0 ? -1 : -self->climb;
    self->rate = rate;
    int level = rate <= 0 ? self->level / 2 : self->level + self->climb;
    if (rate <= 0) {
        self->theta = 1.0;
        self->momentum = 0.0;
    }
    self->level = level < 0 ? 0 : level > MOST_LEVEL ? MOST_LEVEL : level;
}

static bool judge(pl_combine *combine, const double *workers, const double *owners, double *gamma) {
    add *self = (add *)combine;
    double ratio = workers[PL_SUM_SPREAD] > 0 ? *owners / workers[PL_SUM_SPREAD] : 1.0;
    *gamma = self->gamma = ratio <= self->sigma * (1.0 + 1e-12) ? 1.0 : self->sigma / ratio;
    self->sigma = fmin(self->most, fmax(1.0, fmax(1.05 * ratio, DECAY * self->sigma)));
    if (self->momentum * workers[PL_SUM_TURN] > workers[PL_SUM_CHANGE])
        self->theta = 1.0;
    double next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * self->theta * self->theta));
    self->momentum = self->steady ? 0.0 : fmin(1.0 - ldexp(1.0, -self->level), (self->theta - 1.0) / next);
    self->theta = next;
    return true;
}

/* Returns to what always works: no momentum and the safe sigma. */
static bool stalled(pl_combine *combine) {
    add *self = (add *)combine;
    if (self->most == 1.0 || self->retreats == RETREATS)
        return false;
    self->retreats++;
    self->level = 0;
    self->climb = 1;
    self->theta = 1.0;
    self->momentum = 0.0;
    self->sigma = self->most;
    return true;
}

static void state(pl_combine *combine, pl_state *state) {
    add *self = (add *)combine;
    PL_STATE_VALUES(state, "add", PL_WITHIN(self->sigma, 1, self->most), PL_WITHIN(self->theta, 1, DBL_MAX),
                    PL_WITHIN(self->momentum, 0, 1), PL_WITHIN(self->retreats, 0, RETREATS),
                    PL_WITHIN(self->level, 0, MOST_LEVEL), PL_WITHIN(self->climb, -1, 1), PL_UNSURE(self->rate),
                    PL_VALUE(self->gamma));
    pl_state_slice(state, "last", self->last + state->begin, 1);
}

static const pl_combine_trial trial = {measure, judge};

const pl_combine_type pl_combine_add = {
    .name = "add",
    .help = "adds the workers' changes, as far as it is safe, with momentum (CoCoA+)",
    .problem = &pl_problem_linear,
    .takes = PL_GIVES_CHANGES | PL_KNOWS_SIGMA,
    .trial = &trial,
    .bytes = bytes,
    .open = open_add,
    .ask = ask,
    .adjust = adjust,
    .stalled = stalled,
    .state = state,
    .close = close_add,
};
