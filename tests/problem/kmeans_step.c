/* kmeans_step.c: a combine for k-means. Gradients are summed and the owner makes one step v <- v - rate g, at --rate or
 * at 1, which is halved whenever rounds no longer help. */
#include <float.h>
#include <math.h>

#include "kmeans.h"

#define HALVINGS 20

typedef struct step {
    pl_combine base;
    double rate;
    unsigned halved;
} step;

static parley_status open_step(const pl_setup *setup, pl_combine **out, parley_error *error) {
    double rate = setup->settings->rate;
    step *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "step", error);
    if (status != PARLEY_OK)
        return status;
    *self = (step){.base = {.type = &kmeans_step}, .rate = isnan(rate) ? 1.0 : rate};
    *out = &self->base;
    return status;
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    (void)round, (void)error;
    for (uint64_t j = slice->begin; j < slice->end; j++)
        slice->direction[j] = -((step *)combine)->rate * slice->change[j];
    return PARLEY_OK;
}

static bool stalled(pl_combine *combine) {
    step *self = (step *)combine;
    self->rate *= self->halved < HALVINGS ? 0.5 : 1.0;
    return self->halved++ < HALVINGS;
}

static void state(pl_combine *combine, pl_state *state) {
    step *self = (step *)combine;
    PL_STATE_VALUES(state, "step", PL_WITHIN(self->rate, 0, DBL_MAX), PL_VALUE(self->halved));
}

static void close_step(pl_combine *combine) { pl_free(combine); }

static const char *const reads[] = {"rate", NULL};

const pl_combine_type kmeans_step = {
    .name = "step",
    .help = "one step along the summed gradient",
    .problem = &kmeans_problem,
    .takes = PL_GIVES_GRADIENTS,
    .settings = reads,
    .open = open_step,
    .propose = propose,
    .stalled = stalled,
    .state = state,
    .close = close_step,
};
