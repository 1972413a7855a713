/* mlp.c: rounds of back-propagation. With G the gradient of the worker's batch, summed over its lanes in order, a round
 * either gives (weight of the worker / weight of all) G to the combine, or makes H steps w += optimiser(G + lambda w).
 */
#include "network/mlp.h"

#include <math.h>
#include <string.h>

#define TASK_ENTRIES 65536 /* of v, that one task copies */
#define WORSE 2.0          /* the loss of a sample, relative to that of the pass, which shows that steps led astray */

/* Tables: from v to the padded layout and back, by many threads. */

typedef struct copying {
    const pl_net_shape *shape;
    double *v;
    float *padded;
} copying;

static void pad_task(void *context, unsigned task) {
    const copying *all = context;
    uint64_t begin = (uint64_t)task * TASK_ENTRIES, end = begin + TASK_ENTRIES;
    pl_net_pad(all->shape, all->v, begin, end < all->shape->size ? end : all->shape->size, all->padded);
}

static void unpad_task(void *context, unsigned task) {
    const copying *all = context;
    uint64_t begin = (uint64_t)task * TASK_ENTRIES, end = begin + TASK_ENTRIES;
    pl_net_unpad(all->shape, all->padded, begin, end < all->shape->size ? end : all->shape->size, all->v);
}

static void copy_all(const pl_mlp *self, pl_task task, const double *v, float *padded) {
    const pl_net_shape *shape = &self->net->shape;
    pl_engine *engine = self->team->engine;
    engine->type->run(engine, task, &(copying){shape, (double *)v, padded},
                      (unsigned)((shape->size + TASK_ENTRIES - 1) / TASK_ENTRIES));
}

/* The lanes' gradients become one, in the first lane. A lane does its share of the parameters. */

static void share_of(const pl_mlp *self, unsigned lane, uint64_t *begin, uint64_t *end) {
    uint64_t blocks = (self->net->shape.room + PL_OPTIMISER_BLOCK - 1) / PL_OPTIMISER_BLOCK, lanes = self->team->lanes;
    *begin = blocks * lane / lanes * PL_OPTIMISER_BLOCK;
    *end = blocks * (lane + 1) / lanes * PL_OPTIMISER_BLOCK;
    *end = *end < self->net->shape.room ? *end : self->net->shape.room;
}

/* Adds up a block of the gradient, and the penalty of the worker's parameters if `w` is given. */
static void merge_block(const pl_mlp *self, unsigned k, uint64_t begin, uint64_t count, const float *w) {
    pl_mlp_lane *lanes = &self->lane[k * self->team->lanes];
    float *sum = lanes[0].gradient + begin;
    uint64_t penalised = self->net->shape.bias_in[0];
    for (unsigned l = 1; l < self->team->lanes; l++)
        pl_net_add(lanes[l].gradient + begin, count, sum);
    float l2 = (float)self->net->base.l2;
    for (uint64_t i = 0; w && l2 > 0 && i < count && begin + i < penalised; i++)
        sum[i] += l2 * w[begin + i];
}

static double square(const float *x, uint64_t count) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/* Steps that a worker makes by itself */

static void optimise_block(pl_mlp_worker *worker, const pl_net_step *step, const float *gradient, uint64_t begin,
                           uint64_t count) {
    float change[PL_OPTIMISER_BLOCK];
    pl_net_optimise(step, gradient + begin, count, worker->first ? worker->first + begin : NULL,
                    worker->second ? worker->second + begin : NULL, change);
    pl_net_add(change, count, worker->w + begin);
}

typedef enum pl_mlp_phase { MERGE, MERGE_AND_MOVE, MOVE } pl_mlp_phase;

/* Adds up the share of a lane, takes its norm if gradients are clipped, and moves its parameters. */
static void merge_lane(pl_mlp *self, unsigned task, pl_mlp_phase phase, double norm) {
    unsigned k = task / self->team->lanes;
    pl_mlp_worker *worker = &self->worker[k];
    float *gradient = self->lane[k * self->team->lanes].gradient;
    uint64_t t = self->before + worker->step + 1;
    pl_net_step step = pl_optimiser_at(&self->optimiser, t, t, norm);
    uint64_t begin, end;
    double sum = 0;
    share_of(self, task % self->team->lanes, &begin, &end);
    for (uint64_t i = begin; i < end; i += PL_OPTIMISER_BLOCK) {
        uint64_t count = end - i < PL_OPTIMISER_BLOCK ? end - i : PL_OPTIMISER_BLOCK;
        if (phase != MOVE)
            merge_block(self, k, i, count, worker->w);
        if (phase == MERGE)
            sum += square(gradient + i, count);
        else
            optimise_block(worker, &step, gradient, i, count);
    }
    self->lane[task].norm2 = sum;
}

static void merge_task(void *context, unsigned task) { merge_lane(context, task, MERGE, 0); }
static void merge_and_move_task(void *context, unsigned task) { merge_lane(context, task, MERGE_AND_MOVE, 0); }

static double norm_of(const pl_mlp *self, unsigned k) {
    double sum = 0;
    for (unsigned l = 0; l < self->team->lanes; l++)
        sum += self->lane[k * self->team->lanes + l].norm2;
    return sqrt(sum);
}

static void move_task(void *context, unsigned task) {
    pl_mlp *self = context;
    merge_lane(self, task, MOVE, norm_of(self, task / self->team->lanes));
}

/* Adds what the lanes saw to the objective of the pass. */
static void note(pl_mlp *self, unsigned k) {
    for (unsigned l = 0; l < self->team->lanes; l++) {
        self->sums[2 * k] += self->lane[k * self->team->lanes + l].loss;
        self->sums[2 * k + 1] += self->lane[k * self->team->lanes + l].seen;
    }
}

static void choose_batch(pl_mlp *self, unsigned k) {
    pl_mlp_worker *worker = &self->worker[k];
    double weight = pl_mlp_choose(self, k, worker->step);
    worker->factor = weight > 0 ? (float)(1.0 / weight) : 0.0F;
}

static void visit_task(void *context, unsigned task) {
    pl_mlp *self = context;
    pl_mlp_visit(self, task, self->worker[task / self->team->lanes].step);
}

static void end_step(pl_mlp *self, unsigned k) {
    note(self, k);
    self->worker[k].step++;
}

/* One step of every hosted worker, by all of their lanes. */
static void step_together(pl_mlp *self) {
    pl_engine *engine = self->team->engine;
    unsigned hosted = self->team->hosted, tasks = hosted * self->team->lanes;
    for (unsigned k = 0; k < hosted; k++)
        choose_batch(self, k);
    engine->type->run(engine, visit_task, self, tasks);
    if (self->optimiser.clip > 0) {
        engine->type->run(engine, merge_task, self, tasks);
        engine->type->run(engine, move_task, self, tasks);
    } else
        engine->type->run(engine, merge_and_move_task, self, tasks);
    for (unsigned k = 0; k < hosted; k++)
        end_step(self, k);
}

typedef struct own_steps {
    pl_mlp *mlp;
    uint64_t steps;
} own_steps;

/* All steps of a worker with one lane, which waits for nobody. */
static void steps_task(void *context, unsigned k) {
    const own_steps *all = context;
    pl_mlp *self = all->mlp;
    for (uint64_t i = 0; i < all->steps && !self->lost && !pl_stop_due(); i++) {
        choose_batch(self, k);
        visit_task(self, k);
        if (self->optimiser.clip > 0) {
            merge_task(self, k);
            move_task(self, k);
        } else
            merge_and_move_task(self, k);
        end_step(self, k);
    }
}

static uint64_t steps_of(const pl_mlp *self, const pl_round *round) {
    double wanted = round->steps ? (double)round->steps : floor(round->epochs * (double)self->batches + 0.5);
    return wanted < 1 ? 1 : (uint64_t)wanted;
}

static void own_work(pl_mlp *self, const pl_round *round, double *v, pl_update *update) {
    pl_engine *engine = self->team->engine;
    uint64_t steps = steps_of(self, round);
    unsigned hosted = self->team->hosted;
    for (unsigned k = 0; k < hosted; k++)
        copy_all(self, pad_task, v, self->worker[k].w);
    if (self->team->lanes == 1)
        engine->type->run(engine, steps_task, &(own_steps){self, steps}, hosted);
    else
        for (uint64_t i = 0; i < steps && !self->lost && !pl_stop_due(); i++)
            step_together(self);
    for (unsigned k = 0; k < hosted; k++) {
        pl_mlp_worker *worker = &self->worker[k];
        double *value = self->owns_v ? v : worker->value;
        copy_all(self, unpad_task, value, worker->w);
        update[k] = (pl_update){.weight = self->team->weight[k],
                                .count = self->net->base.size,
                                .value = value,
                                .passes = (double)steps / (double)self->batches};
    }
}

/* Gradients */

/* The gradient of worker k at its parameters, as an update. */
static void choose_share(pl_mlp *self, unsigned k, uint64_t step) {
    double weight = pl_mlp_choose(self, k, step), share = self->team->weight[k] / self->net->base.total;
    self->worker[k].factor = weight > 0 ? (float)(share / weight) : 0.0F;
    self->worker[k].step = step;
}

static void merge_gradient_task(void *context, unsigned task) {
    pl_mlp *self = context;
    unsigned k = task / self->team->lanes;
    uint64_t begin, end;
    share_of(self, task % self->team->lanes, &begin, &end);
    for (uint64_t i = begin; i < end; i += PL_OPTIMISER_BLOCK)
        merge_block(self, k, i, end - i < PL_OPTIMISER_BLOCK ? end - i : PL_OPTIMISER_BLOCK, NULL);
}

static void give_gradient(pl_mlp *self, unsigned k, pl_update *update) {
    note(self, k);
    *update = (pl_update){.shrink = 1.0,
                          .weight = self->team->weight[k],
                          .count = self->net->base.size,
                          .value = self->worker[k].value,
                          .passes = 1.0 / (double)self->batches};
}

static void gradient_work(pl_mlp *self, const pl_round *round, const double *v, pl_update *update) {
    pl_engine *engine = self->team->engine;
    unsigned hosted = self->team->hosted, tasks = hosted * self->team->lanes;
    if (hosted > 0)
        copy_all(self, pad_task, v, self->shared);
    for (unsigned k = 0; k < hosted; k++)
        choose_share(self, k, round->number - 1);
    engine->type->run(engine, visit_task, self, tasks);
    engine->type->run(engine, merge_gradient_task, self, tasks);
    for (unsigned k = 0; k < hosted; k++) {
        copy_all(self, unpad_task, self->worker[k].value, self->lane[k * self->team->lanes].gradient);
        give_gradient(self, k, &update[k]);
    }
}

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    pl_mlp *self = (pl_mlp *)local;
    double began = pl_engine_now(self->team->engine);
    (void)evaluation;
    if (self->gradients)
        gradient_work(self, round, v, update);
    else
        own_work(self, round, v, update);
    for (unsigned k = 0; k < self->team->hosted; k++)
        update[k].seconds = pl_engine_now(self->team->engine) - began;
    return self->lost ? pl_fail_memory(error, "a batch", 0) : PARLEY_OK;
}

/* Workers that do not wait for each other: the lanes of one after another. */

static parley_status prepare_async(pl_local *local, double *v, parley_error *error) {
    (void)local, (void)v, (void)error;
    return PARLEY_OK;
}

/* Late gradients are clipped before they are sent, since their receivers have only slices of them. */
static void clip(const pl_mlp *self, unsigned k) {
    const pl_net_shape *shape = &self->net->shape;
    float *gradient = self->lane[k * self->team->lanes].gradient;
    double share = self->team->weight[k] / self->net->base.total;
    double norm = sqrt(square(gradient, shape->room)) / share;
    if (!(self->optimiser.clip > 0) || !(norm > self->optimiser.clip))
        return;
    float factor = (float)(self->optimiser.clip / norm);
    for (uint64_t i = 0; i < shape->room; i++)
        gradient[i] *= factor;
}

static parley_status work_async(pl_local *local, unsigned k, const pl_round *round, double *v, pl_update *update,
                                parley_error *error) {
    pl_mlp *self = (pl_mlp *)local;
    const pl_net_shape *shape = &self->net->shape;
    unsigned lanes = self->team->lanes, first = k * lanes;
    double began = pl_engine_now(self->team->engine);
    pl_net_pad(shape, v, 0, shape->size, self->worker[k].w);
    choose_share(self, k, round->number - 1);
    for (unsigned l = 0; l < lanes; l++)
        visit_task(self, first + l);
    for (unsigned l = 0; l < lanes; l++)
        merge_gradient_task(self, first + l);
    clip(self, k);
    pl_net_unpad(shape, self->lane[first].gradient, 0, shape->size, self->worker[k].value);
    give_gradient(self, k, update);
    update->seconds = pl_engine_now(self->team->engine) - began;
    return self->lost ? pl_fail_memory(error, "a batch", 0) : PARLEY_OK;
}

static const uint32_t *entries_read(const pl_local *local, unsigned worker, uint64_t *count) {
    (void)worker;
    *count = ((const pl_mlp *)local)->net->base.size;
    return NULL;
}

/* Evaluating */

/* The mean loss of the pass, which was seen before its steps; if they led to a v that is much worse on a sample of the
 * rows, the loss there. */
static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    pl_mlp *self = (pl_mlp *)local;
    double sums[2], now = 0;
    (void)update;
    if (w != v)
        memcpy(w, v, self->net->base.size * sizeof *w);
    parley_status status = pl_team_sum(self->team, self->sums, 2, sums, error);
    memset(self->sums, 0, 2 * (uint64_t)self->team->hosted * sizeof *self->sums);
    if (status == PARLEY_OK && (sums[1] > 0 || isnan(self->latest)))
        status = pl_mlp_sample(self, v, &now, error);
    if (status == PARLEY_OK && (sums[1] > 0 || isnan(self->latest)))
        self->latest = sums[1] > 0 && now <= WORSE * sums[0] / sums[1] ? sums[0] / sums[1] : now;
    *evaluation = (pl_evaluation){.value = self->latest};
    return status;
}

/* Losses are those that batches had anyway. */
static double evaluate_passes(const pl_local *local) {
    (void)local;
    return 0.25;
}

static void commit(pl_local *local, unsigned worker, double gamma) { (void)local, (void)worker, (void)gamma; }

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    if (w != v)
        memcpy(w, v, ((const pl_mlp *)local)->net->base.size * sizeof *w);
    return PARLEY_OK;
}

static parley_status start(pl_local *local, const double *w, const double *rows, double *v, parley_error *error) {
    (void)rows;
    ((pl_mlp *)local)->latest = NAN;
    return primal(local, w, v, error);
}

/* The objective is noisy, so that rounds without progress say nothing. */
static bool stalled(pl_local *local) {
    (void)local;
    return true;
}

static double round_passes(const pl_local *local, double epochs) {
    const pl_mlp *self = (const pl_mlp *)local;
    return self->gradients ? 1.0 / (double)self->batches : epochs;
}

static void state(pl_local *local, pl_state *state) {
    pl_mlp *self = (pl_mlp *)local;
    PL_STATE_VALUES(state, "mlp", PL_UNSURE(self->latest));
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_mlp_worker *worker = &self->worker[k];
        pl_state_of(state, "local", k);
        pl_state_array(state, "mlp_sums", self->sums + 2 * (uint64_t)k, PL_F64, 2);
        PL_STATE_VALUES(state, "mlp_worker", PL_VALUE(worker->step));
        if (worker->first)
            pl_state_array(state, "mlp_first", worker->first, PL_F32, self->net->shape.room);
        if (worker->second)
            pl_state_array(state, "mlp_second", worker->second, PL_F32, self->net->shape.room);
    }
}

static const char *const reads[] = {"batch", "lanes", "local_epochs", "local_steps", PL_OPTIMISER_SETTINGS, NULL};
static const pl_local_restart restart = {.start = start};
static const pl_local_async async = {.prepare = prepare_async, .work = work_async, .reads = entries_read};

const pl_local_type pl_local_mlp = {
    .name = "mlp",
    .help = "back-propagation on mini-batches of rows, for networks",
    .problem = &pl_problem_network,
    .traits = PL_GIVES_CHANGES | PL_GIVES_GRADIENTS | PL_STEPS_IN_V,
    .settings = reads,
    .usual_passes = 10,
    .restart = &restart,
    .async = &async,
    .addition = &pl_mlp_addition,
    .bytes = pl_mlp_bytes,
    .open = pl_mlp_open,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = evaluate_passes,
    .round_passes = round_passes,
    .commit = commit,
    .primal = primal,
    .stalled = stalled,
    .state = state,
    .close = pl_mlp_close,
};
