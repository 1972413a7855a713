/* kmeans_local.c: the local solvers of k-means. Each worker goes through its rows, adds them up by their nearest
 * centre, and from the sums makes new centres (`lloyd`) or the gradient of its part of the objective (`means`). */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "kmeans.h"
#include "shard/row_sums.h"

typedef struct solver {
    pl_local base;
    const pl_problem *problem;
    const pl_team *team;
    bool gradient;
    double *c;      /* hosted copies of v */
    double *sums;   /* hosted x size: sums of rows by centre */
    double *weight; /* hosted x centres: of those rows */
    double *value;  /* hosted: the objective's part */
    double *change; /* hosted x size: what updates point at */
    const double *v;
    const pl_round *round;
} solver;

static uint64_t bytes(const pl_setup *setup) { return 3 * setup->team->hosted * setup->problem->size * sizeof(double); }

static void close_solver(pl_local *local) {
    solver *self = (solver *)local;
    void *owned[] = {self->c, self->sums, self->weight, self->value, self->change};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
    pl_free(self);
}

static parley_status open_solver(const pl_setup *setup, const pl_local_type *type, pl_local **out,
                                 parley_error *error) {
    uint64_t hosted = setup->team->hosted, size = setup->problem->size;
    solver *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "k-means", error);
    if (status != PARLEY_OK)
        return status;
    *self = (solver){
        .base = {type}, .problem = setup->problem, .team = setup->team, .gradient = type->traits & PL_GIVES_GRADIENTS};
    self->c = pl_alloc(hosted * size, sizeof *self->c);
    self->sums = pl_alloc(hosted * size, sizeof *self->sums);
    self->weight = pl_alloc(hosted * KMEANS_CENTRES, sizeof *self->weight);
    self->value = pl_alloc(hosted, sizeof *self->value);
    self->change = pl_alloc(hosted * size, sizeof *self->change);
    if (!self->c || !self->sums || !self->weight || !self->value || !self->change) {
        close_solver(&self->base);
        return pl_fail_memory(error, "k-means", bytes(setup));
    }
    *out = &self->base;
    return status;
}

/* Adds up worker k's rows by their nearest centre. */
static void pass(const solver *self, unsigned k) {
    const parley_data *data = self->problem->data;
    const pl_team *team = self->team;
    uint64_t size = self->problem->size;
    double *c = self->c + k * size, *sums = self->sums + k * size, *weight = self->weight + k * KMEANS_CENTRES;
    double norm2[KMEANS_CENTRES], distance[KMEANS_CENTRES];
    memset(sums, 0, size * sizeof *sums);
    memset(weight, 0, KMEANS_CENTRES * sizeof *weight);
    self->value[k] = 0;
    kmeans_norms(data->x.columns, c, norm2);
    for (unsigned p = k * team->lanes; p < (k + 1) * team->lanes; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++)
            for (uint64_t i = team->parts[p].ranges[r].begin; i < team->parts[p].ranges[r].end; i++) {
                double s = data->weight ? data->weight[i] : 1.0;
                kmeans_distances(&data->x, i, data->x.columns, c, norm2, distance);
                unsigned nearest = kmeans_nearest(distance);
                weight[nearest] += s;
                self->value[k] += 0.5 * s / self->problem->total * distance[nearest];
                for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++)
                    sums[(uint64_t)data->x.index[e] * KMEANS_CENTRES + nearest] += s * (pl_value_at(data->x.values, e));
            }
}

/* A centre without rows stays where it is. */
static void move_to_means(const solver *self, unsigned k) {
    uint64_t size = self->problem->size;
    double *c = self->c + k * size, *sums = self->sums + k * size, *weight = self->weight + k * KMEANS_CENTRES;
    for (uint64_t j = 0; j < size; j++)
        if (weight[j % KMEANS_CENTRES] > 0)
            c[j] = sums[j] / weight[j % KMEANS_CENTRES];
}

static void work_task(void *context, unsigned k) {
    const solver *self = context;
    uint64_t size = self->problem->size;
    double *c = self->c + k * size, *change = self->change + k * size, *sums = self->sums + k * size,
           *weight = self->weight + k * KMEANS_CENTRES;
    memcpy(c, self->v, size * sizeof *c);
    double passes = self->gradient ? 1.0 : fmax(1.0, round(self->round->epochs));
    for (double p = 0; p < passes; p++) {
        pass(self, k);
        if (!self->gradient)
            move_to_means(self, k);
    }
    for (uint64_t j = 0; j < size; j++)
        change[j] =
            self->gradient ? (weight[j % KMEANS_CENTRES] * c[j] - sums[j]) / self->problem->total : c[j] - self->v[j];
}

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    solver *self = (solver *)local;
    double began = pl_engine_now(self->team->engine);
    self->v = v;
    self->round = round;
    self->team->engine->type->run(self->team->engine, work_task, self, self->team->hosted);
    double seconds = pl_engine_now(self->team->engine) - began;
    for (unsigned k = 0; k < self->team->hosted; k++)
        update[k] = (pl_update){.shrink = 1.0,
                                .weight = self->team->weight[k],
                                .count = self->problem->size,
                                .value = self->change + k * self->problem->size,
                                .seconds = seconds,
                                .passes = self->gradient ? 1.0 : fmax(1.0, floor(round->epochs + 0.5))};
    return self->gradient ? pl_team_sum(self->team, self->value, 1, &evaluation->value, error) : PARLEY_OK;
}

static void look_task(void *context, unsigned k) {
    const solver *self = context;
    memcpy(self->c + k * self->problem->size, self->v, self->problem->size * sizeof *self->v);
    pass(self, k);
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    solver *self = (solver *)local;
    (void)update;
    self->v = v;
    *evaluation = (pl_evaluation){0};
    memcpy(w, v, self->problem->size * sizeof *w);
    self->team->engine->type->run(self->team->engine, look_task, self, self->team->hosted);
    return pl_team_sum(self->team, self->value, 1, &evaluation->value, error);
}

static double evaluate_passes(const pl_local *local) {
    (void)local;
    return 1.0;
}

static void commit(pl_local *local, unsigned worker, double gamma) { (void)local, (void)worker, (void)gamma; }

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    memcpy(w, v, ((const solver *)local)->problem->size * sizeof *w);
    return PARLEY_OK;
}

static parley_status start(pl_local *local, const double *w, const double *rows, double *v, parley_error *error) {
    (void)rows;
    (void)error;
    memcpy(v, w, ((const solver *)local)->problem->size * sizeof *v);
    return PARLEY_OK;
}

/* Everything is made from v in each round. */
static void state(pl_local *local, pl_state *state) { (void)local, (void)state; }

static bool certifies(const pl_local *local) {
    (void)local;
    return true;
}

static parley_status open_lloyd(const pl_setup *setup, pl_local **out, parley_error *error) {
    return open_solver(setup, &kmeans_lloyd, out, error);
}

static parley_status open_means(const pl_setup *setup, pl_local **out, parley_error *error) {
    return open_solver(setup, &kmeans_means, out, error);
}

static const char *const reads[] = {"local_epochs", NULL};
static const pl_local_restart restart = {.start = start};

const pl_local_type kmeans_lloyd = {
    .name = "lloyd",
    .help = "moves centres to the means of the worker's rows",
    .problem = &kmeans_problem,
    .traits = PL_GIVES_CHANGES,
    .settings = reads,
    .restart = &restart,
    .bytes = bytes,
    .open = open_lloyd,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = evaluate_passes,
    .commit = commit,
    .primal = primal,
    .state = state,
    .close = close_solver,
};

const pl_local_type kmeans_means = {
    .name = "gradient",
    .help = "the gradient of the objective by the centres",
    .problem = &kmeans_problem,
    .traits = PL_GIVES_GRADIENTS,
    .restart = &restart,
    .certifies = certifies,
    .bytes = bytes,
    .open = open_means,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = evaluate_passes,
    .commit = commit,
    .primal = primal,
    .state = state,
    .close = close_solver,
};
