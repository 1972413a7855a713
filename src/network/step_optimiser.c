/* step_optimiser.c: the combine `step` of networks. The owner of a slice moves it by its optimiser, which keeps its
 * state there, along the sum of the workers' gradients and the penalty's:
 *
 *     v <- v + optimiser(g + l2 v)
 *
 * Asynchronous exchanges give it the gradient g_k of one worker at a time, which holds a fraction f_k of the rows. It
 * then makes f_k of a step along g_k / f_k + l2 v, so that one gradient of every worker makes one step.
 *
 * A lone worker makes the same steps by itself, which saves the way to an owner and back. */
#include <math.h>
#include <string.h>

#include "method/combine.h"
#include "network/net.h"
#include "network/optimiser.h"

#define BLOCK PL_OPTIMISER_BLOCK

typedef struct optimising {
    pl_combine base;
    const pl_problem *problem;
    pl_optimiser optimiser;
    uint64_t begin, end;
    double *first, *second; /* of the slice; NULL: none */
    uint64_t before;        /* steps of the run that made the model at which this one starts */
    uint64_t steps;         /* with the gradients of all workers, so far */
    uint64_t taken;         /* single gradients so far */
} optimising;

static uint64_t bytes(const pl_setup *setup) { return 2 * (setup->end - setup->begin) * sizeof(double); }

static void close_combine(pl_combine *combine) {
    optimising *self = (optimising *)combine;
    pl_free(self->first);
    pl_free(self->second);
    pl_free(self);
}

/* Its memory, if it owns the whole of v. */
static parley_status add(const void *member, parley_model *model, parley_error *error) {
    const optimising *self = member;
    pl_net_model *net = pl_net_model_of(model);
    uint64_t owned = self->end - self->begin, steps = self->steps ? self->steps : self->taken;
    bool known = owned == self->problem->size && steps > 0;
    parley_status status =
        pl_net_model_remember(net, self->optimiser.step.kind, known ? self->before + steps : 0, error);
    if (status == PARLEY_OK && known && self->first)
        memcpy(net->remembered.first, self->first, owned * sizeof *self->first);
    if (status == PARLEY_OK && known && self->second)
        memcpy(net->remembered.second, self->second, owned * sizeof *self->second);
    return status;
}

static void take(void *member, const parley_model *model) {
    optimising *self = member;
    const pl_net_memory *memory = pl_net_model_memory(model, self->optimiser.step.kind);
    uint64_t owned = self->end - self->begin;
    if (!memory)
        return;
    self->before = memory->steps;
    if (self->first)
        memcpy(self->first, memory->first + self->begin, owned * sizeof *self->first);
    if (self->second)
        memcpy(self->second, memory->second + self->begin, owned * sizeof *self->second);
}

static const pl_addition addition = {.add = add, .take = take, .for_runs = true};

static parley_status open_combine(const pl_setup *setup, pl_combine **out, parley_error *error) {
    optimising *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "step", error);
    if (status != PARLEY_OK)
        return status;
    double batches = (double)pl_net_batches(setup->settings, (double)setup->team->all_rows);
    *self = (optimising){.base = {.type = &pl_combine_step_optimiser},
                         .problem = setup->problem,
                         .optimiser = pl_optimiser_make(setup->settings, batches),
                         .begin = setup->begin,
                         .end = setup->end};
    uint64_t owned = setup->end - setup->begin;
    if (pl_optimiser_has_first(&self->optimiser))
        status = pl_take(&self->first, owned, sizeof(double), "the optimiser", error);
    if (status == PARLEY_OK && pl_optimiser_has_second(&self->optimiser))
        status = pl_take(&self->second, owned, sizeof(double), "the optimiser", error);
    if (status != PARLEY_OK)
        close_combine(&self->base);
    else
        *out = &self->base;
    return status;
}

typedef struct norm_of {
    const pl_problem *problem;
    const pl_slice *slice;
} norm_of;

static void add_squares(void *context, uint64_t begin, uint64_t end, double *sums) {
    const norm_of *all = context;
    for (uint64_t j = begin; j < end; j++) {
        double g = all->slice->change[j] + pl_l2_at(all->problem, j) * all->slice->v[j];
        sums[0] += g * g;
    }
}

static void load(const double *from, uint64_t count, float *to) {
    for (uint64_t i = 0; i < count; i++)
        to[i] = (float)from[i];
}

static void store(const float *from, uint64_t count, double *to) {
    for (uint64_t i = 0; i < count; i++)
        to[i] = (double)from[i];
}

/* Moves the state of a block from entry j on, whose gradient and change are in `gradient` and `change`. */
static void move_block(optimising *self, const pl_net_step *step, uint64_t j, uint64_t count, const float *gradient,
                       float *change) {
    float first[BLOCK] = {0}, second[BLOCK] = {0};
    if (self->first)
        load(self->first + (j - self->begin), count, first);
    if (self->second)
        load(self->second + (j - self->begin), count, second);
    pl_net_optimise(step, gradient, count, first, second, change);
    if (self->first)
        store(first, count, self->first + (j - self->begin));
    if (self->second)
        store(second, count, self->second + (j - self->begin));
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    optimising *self = (optimising *)combine;
    float gradient[BLOCK + PL_NET_PAD] = {0}, change[BLOCK + PL_NET_PAD];
    double sums[PL_OWN_SCALARS] = {0};
    parley_status status = PARLEY_OK;
    if (self->optimiser.clip > 0)
        status = pl_slice_sum(slice, add_squares, &(norm_of){self->problem, slice}, sums, error);
    uint64_t t = self->before + round;
    pl_net_step step = pl_optimiser_at(&self->optimiser, t, t, sqrt(sums[0]));
    self->steps = round;
    for (uint64_t j = slice->begin; j < slice->end && status == PARLEY_OK; j += BLOCK) {
        uint64_t count = slice->end - j < BLOCK ? slice->end - j : BLOCK;
        for (uint64_t i = 0; i < count; i++)
            gradient[i] = (float)(slice->change[j + i] + pl_l2_at(self->problem, j + i) * slice->v[j + i]);
        move_block(self, &step, j, count, gradient, change);
        store(change, count, slice->direction + j);
    }
    return status;
}

static uint64_t single(pl_combine *combine, const pl_single *one) {
    optimising *self = (optimising *)combine;
    const pl_slice *slice = one->slice;
    float gradient[BLOCK + PL_NET_PAD], change[BLOCK + PL_NET_PAD];
    double scale = 1.0 / one->fraction;
    pl_net_step step = pl_optimiser_at(&self->optimiser, self->before + one->clock, self->before + ++self->taken, 0);
    step.rate *= (float)one->fraction;
    for (uint64_t j = slice->begin, e = 0; j < slice->end; j += BLOCK) {
        uint64_t count = slice->end - j < BLOCK ? slice->end - j : BLOCK;
        memset(gradient, 0, sizeof gradient);
        for (; e < one->count && one->index[e] < j + count; e++)
            gradient[one->index[e] - j] = (float)(one->value[e] * scale);
        for (uint64_t i = 0; i < count; i++)
            gradient[i] += (float)(pl_l2_at(self->problem, j + i) * slice->v[j + i]);
        move_block(self, &step, j, count, gradient, change);
        for (uint64_t i = 0; i < count; i++)
            slice->v[j + i] += (double)change[i];
    }
    return slice->begin;
}

static void state(pl_combine *combine, pl_state *state) {
    optimising *self = (optimising *)combine;
    PL_STATE_VALUES(state, "optimiser", PL_VALUE(self->taken));
    if (self->first)
        pl_state_slice(state, "first", self->first, 1);
    if (self->second)
        pl_state_slice(state, "second", self->second, 1);
}

static parley_status check(const parley_settings *settings, const pl_problem *problem, parley_error *error) {
    (void)problem;
    bool steps = pl_setting_given(settings, "local_steps");
    if (!steps && !pl_setting_given(settings, "local_epochs"))
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "--local-%s has no effect with combine step, to which workers give the gradient of one batch; use "
                   "--preset ma-sgd",
                   steps ? "steps" : "epochs");
}

static const char *const reads[] = {PL_OPTIMISER_SETTINGS, NULL};

/* For a lone worker. */

static parley_status open_own(const pl_setup *setup, pl_combine **out, parley_error *error) {
    (void)setup;
    parley_status status = pl_take(out, 1, sizeof **out, "step", error);
    if (status == PARLEY_OK)
        (*out)->type = &pl_combine_own_steps;
    return status;
}

static void no_state(pl_combine *combine, pl_state *state) { (void)combine, (void)state; }

static void close_own(pl_combine *combine) { pl_free(combine); }

const pl_combine_type pl_combine_own_steps = {
    .name = "step",
    .help = "the steps of a lone worker",
    .problem = &pl_problem_network,
    .takes = PL_GIVES_CHANGES,
    .settings = reads,
    .open = open_own,
    .state = no_state,
    .close = close_own,
};

const pl_combine_type pl_combine_step_optimiser = {
    .name = "step",
    .help = "one step along the summed gradient, with a rate and a schedule",
    .problem = &pl_problem_network,
    .takes = PL_GIVES_GRADIENTS,
    .settings = reads,
    .for_one_worker = &pl_combine_own_steps,
    .addition = &addition,
    .check = check,
    .bytes = bytes,
    .open = open_combine,
    .propose = propose,
    .single = single,
    .state = state,
    .close = close_combine,
};
