/* mlp_setup.c: memory and constants of back-propagation. */
#include <math.h>
#include <string.h>

#include "network/mlp.h"

#define MOST_ROWS 1024 /* that a lane computes at a time */

/* Batches of a pass: by all workers together, of which each takes its share. */
static uint64_t batches_of(const pl_setup *setup) {
    return pl_net_batches(setup->settings, (double)setup->team->all_rows);
}

static uint64_t rows_of_a_lane(const pl_setup *setup) {
    const pl_team *team = setup->team;
    uint64_t batches = batches_of(setup);
    uint64_t each = team->all_rows / team->workers / team->lanes / batches + 2;
    return each < MOST_ROWS ? each : MOST_ROWS;
}

uint64_t pl_mlp_bytes(const pl_setup *setup) {
    const pl_net_shape *shape = &pl_net_of(setup->problem)->shape;
    uint64_t hosted = setup->team->hosted, lanes = setup->team->lanes;
    uint64_t lane = shape->room * sizeof(float) + pl_net_room_bytes(shape, rows_of_a_lane(setup));
    return hosted *
           (lanes * lane + 3 * shape->room * sizeof(float) + (setup->owns_v ? 0 : shape->size * sizeof(double)));
}

void pl_mlp_close(pl_local *local) {
    pl_mlp *self = (pl_mlp *)local;
    for (unsigned k = 0; self->worker && k < self->team->hosted; k++) {
        pl_mlp_worker *worker = &self->worker[k];
        if (worker->w != self->shared)
            pl_free(worker->w);
        pl_free(worker->first);
        pl_free(worker->second);
        pl_free(worker->value);
    }
    for (unsigned i = 0; self->lane && i < self->team->hosted * self->team->lanes; i++) {
        pl_mlp_lane *lane = &self->lane[i];
        void *owned[] = {lane->gradient, lane->order, lane->kind, lane->real, lane->weight};
        for (unsigned j = 0; j < sizeof owned / sizeof *owned; j++)
            pl_free(owned[j]);
        pl_net_room_close(&lane->room);
    }
    pl_free(self->shared);
    pl_free(self->worker);
    pl_free(self->lane);
    pl_free(self->sums);
    pl_free(self);
}

static parley_status open_lane(pl_mlp *self, unsigned task, uint64_t most, parley_error *error) {
    pl_mlp_lane *lane = &self->lane[task];
    const pl_net_shape *shape = &self->net->shape;
    uint64_t outputs = shape->width[shape->layers];
    lane->rows = self->team->parts[task].rows;
    parley_status status = pl_net_room_open(&lane->room, shape, &self->net->inputs, most, true, error);
    if (status == PARLEY_OK)
        status = pl_take(&lane->gradient, shape->room + PL_NET_PAD, sizeof(float), "a gradient", error);
    if (status == PARLEY_OK)
        status = pl_take(&lane->order, lane->rows, sizeof *lane->order, "the order of rows", error);
    if (status == PARLEY_OK)
        status = pl_take(&lane->kind, most, sizeof *lane->kind, "a batch", error);
    if (status == PARLEY_OK)
        status = pl_take(&lane->real, most * outputs, sizeof *lane->real, "a batch", error);
    if (status == PARLEY_OK)
        status = pl_take(&lane->weight, most, sizeof *lane->weight, "a batch", error);
    return status;
}

static parley_status open_worker(pl_mlp *self, unsigned k, parley_error *error) {
    pl_mlp_worker *worker = &self->worker[k];
    const pl_net_shape *shape = &self->net->shape;
    uint64_t room = shape->room + PL_OPTIMISER_BLOCK;
    parley_status status = PARLEY_OK;
    if (self->shared)
        worker->w = self->shared;
    else
        status = pl_take(&worker->w, room, sizeof(float), "a copy of the network", error);
    if (status == PARLEY_OK && !self->owns_v)
        status = pl_take(&worker->value, shape->size, sizeof(double), "an update", error);
    if (status == PARLEY_OK && !self->gradients && pl_optimiser_has_first(&self->optimiser))
        status = pl_take(&worker->first, room, sizeof(float), "the optimiser", error);
    if (status == PARLEY_OK && !self->gradients && pl_optimiser_has_second(&self->optimiser))
        status = pl_take(&worker->second, room, sizeof(float), "the optimiser", error);
    return status;
}

static parley_status open_all(pl_mlp *self, bool shares, uint64_t most, parley_error *error) {
    unsigned hosted = self->team->hosted, tasks = hosted * self->team->lanes;
    parley_status status = pl_take(&self->worker, hosted, sizeof *self->worker, "mlp", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->lane, tasks, sizeof *self->lane, "mlp", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->sums, 2 * (uint64_t)hosted, sizeof *self->sums, "mlp", error);
    if (status == PARLEY_OK && shares)
        status = pl_take(&self->shared, self->net->shape.room + PL_NET_PAD, sizeof(float), "the network", error);
    for (unsigned k = 0; k < hosted && status == PARLEY_OK; k++)
        status = open_worker(self, k, error);
    for (unsigned task = 0; task < tasks && status == PARLEY_OK; task++)
        status = open_lane(self, task, most, error);
    return status;
}

/* Adds the mean of the first or the second tables of all workers' optimisers, if they have any. */
static void add_mean(const pl_mlp *self, bool second, double *one, double *mean) {
    const pl_net_shape *shape = &self->net->shape;
    double share = 1.0 / self->team->hosted;
    for (unsigned k = 0; k < self->team->hosted; k++) {
        const float *from = second ? self->worker[k].second : self->worker[k].first;
        if (!from)
            continue;
        pl_net_unpad(shape, from, 0, shape->size, one);
        for (uint64_t i = 0; i < shape->size; i++)
            mean[i] += share * one[i];
    }
}

/* The memory of its optimisers, or their mean, if this rank has all workers. */
static parley_status add(const void *member, parley_model *model, parley_error *error) {
    const pl_mlp *self = member;
    pl_net_model *net = pl_net_model_of(model);
    uint64_t steps = self->team->hosted < self->team->workers ? 0 : self->worker[0].step;
    double *one = NULL;
    if (self->gradients) /* then the combine has the optimiser */
        return PARLEY_OK;
    parley_status status =
        pl_net_model_remember(net, self->optimiser.step.kind, steps > 0 ? self->before + steps : 0, error);
    if (status == PARLEY_OK && steps > 0)
        status = pl_take(&one, self->net->shape.size, sizeof *one, "the optimiser", error);
    if (one) {
        add_mean(self, false, one, net->remembered.first);
        add_mean(self, true, one, net->remembered.second);
    }
    pl_free(one);
    return status;
}

static void take(void *member, const parley_model *model) {
    pl_mlp *self = member;
    const pl_net_shape *shape = &self->net->shape;
    const pl_net_memory *memory = pl_net_model_memory(model, self->optimiser.step.kind);
    if (!memory)
        return;
    self->before = memory->steps;
    for (unsigned k = 0; k < self->team->hosted; k++) {
        if (self->worker[k].first)
            pl_net_pad(shape, memory->first, 0, shape->size, self->worker[k].first);
        if (self->worker[k].second)
            pl_net_pad(shape, memory->second, 0, shape->size, self->worker[k].second);
    }
}

const pl_addition pl_mlp_addition = {.add = add, .take = take, .for_runs = true};

parley_status pl_mlp_open(const pl_setup *setup, pl_local **out, parley_error *error) {
    const pl_net *net = pl_net_of(setup->problem);
    pl_mlp *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "mlp", error);
    if (status != PARLEY_OK)
        return status;
    uint64_t batches = batches_of(setup);
    *self = (pl_mlp){.base = {&pl_local_mlp},
                     .net = net,
                     .team = setup->team,
                     .optimiser = pl_optimiser_make(setup->settings, (double)batches),
                     .gradients = setup->gradients,
                     .owns_v = setup->owns_v,
                     .batches = batches,
                     .latest = NAN};
    status = open_all(self, setup->gradients && !setup->asynchronous, rows_of_a_lane(setup), error);
    if (status != PARLEY_OK)
        pl_mlp_close(&self->base);
    else
        *out = &self->base;
    return status;
}
