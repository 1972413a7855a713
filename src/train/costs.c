/* costs.c: see costs.h. */
#include "train/costs.h"

static double nonzeros_of(const pl_run *run, unsigned worker) {
    const pl_team *team = pl_owners(run);
    double rows = (double)team->rows[worker], nonzeros = (double)team->nonzeros[worker];
    return (nonzeros > 0 ? nonzeros : rows) + rows * run->problem->row_cost;
}

static void spend_update(void *context, unsigned worker) {
    pl_run *run = context;
    pl_charge_update(run, worker, &run->update[worker]);
}

void pl_charge_update(pl_run *run, unsigned worker, pl_update *update) {
    double each = run->engine->nonzero_seconds;
    if (each == 0)
        return;
    update->seconds = update->passes * nonzeros_of(run, worker) * each;
    update->fixed = 0;
    pl_engine_compute(run->engine, update->seconds);
}

void pl_charge_updates(pl_run *run) {
    if (run->engine->nonzero_seconds > 0)
        run->engine->type->run(run->engine, spend_update, run, run->rows.team.hosted);
}

static void spend_evaluation(void *context, unsigned worker) {
    pl_run *run = context;
    double passes = run->method.local->evaluate_passes(run->local);
    pl_engine_compute(run->engine, passes * nonzeros_of(run, worker) * run->engine->nonzero_seconds);
}

void pl_charge_evaluation(pl_run *run) {
    if (run->engine->nonzero_seconds > 0)
        run->engine->type->run(run->engine, spend_evaluation, run, run->rows.team.hosted);
}

void pl_charge_entries(pl_run *run, double passes) {
    pl_engine_compute(run->engine, passes * (double)run->tables.entries * run->engine->entry_seconds);
}
