/* synchronous.c: one clock tick of synchronous exchanges is one round of all workers:
 *
 *   prepare -> work -> offer -> barrier -> reduce to the owners -> certify -> step
 *
 * Each phase is a span. No member prints, measures time or stops the run. */
#include "engine/shared_memory.h"
#include "train/costs.h"
#include "train/straggler.h"

static parley_status prepare(pl_run *run, parley_error *error) {
    run->asked = (pl_round){.number = run->round,
                            .epochs = run->work.epochs,
                            .steps = run->settings->local_steps,
                            .sigma = 1.0,
                            .columns = run->setup.width};
    if (run->method.combine->ask)
        run->method.combine->ask(run->combine, &run->asked);
    run->at = (pl_evaluation){0};
    return pl_shared_wait_read(run->engine, error);
}

/* Slow workers, of an experiment, work at the same time: the rank waits for the one that takes longest. */
static parley_status straggle(pl_run *run, parley_error *error) {
    pl_straggler straggler;
    parley_status status = pl_straggler_parse(run->settings, run->rows.team.hosted, &straggler, error);
    pl_update *slowest = NULL;
    double most = 0;
    unsigned worker = 0;
    for (unsigned k = 0; k < run->rows.team.hosted && status == PARLEY_OK; k++) {
        unsigned number = run->rows.team.first + k;
        double factor = pl_straggler_factor(&straggler, number, run->round - 1);
        double seconds = (run->update[k].seconds + straggler.pause) * factor;
        if (seconds > most) {
            most = seconds;
            slowest = &run->update[k];
            worker = number;
        }
    }
    if (slowest)
        pl_straggle(&straggler, run->engine, worker, run->round - 1, slowest, NULL);
    return status;
}

static parley_status work(pl_run *run, parley_error *error) {
    parley_status status =
        run->method.local->work(run->local, &run->asked, run->tables.v, run->update, &run->at, error);
    if (status == PARLEY_OK)
        pl_charge_updates(run);
    return status == PARLEY_OK && *run->settings->straggler ? straggle(run, error) : status;
}

/* Computes what worker k will send and receive, and the share of its update. */
static void weigh_update(pl_run *run, unsigned k) {
    const pl_team *team = &run->rows.team, *owners = pl_owners(run);
    const pl_update *update = &run->update[k];
    double total = owners == team ? run->problem->total : (double)owners->all_rows;
    uint64_t rows = update->index ? update->count / (update->row ? update->row : 1) : 0;
    uint64_t bytes = update->count * sizeof(double) + rows * sizeof(uint32_t);
    run->share[k] = pl_combine_share(run->method.combine, update->weight, total);
    run->method.exchange->traffic(team->workers, team->first + k, bytes, run->tables.entries * sizeof(double),
                                  &run->spans.worker[k].sent, &run->spans.worker[k].received);
}

/* Lays out the data to reduce, so that the barrier of the round's sums serves for the reduction too. */
static parley_status offer(pl_run *run, parley_error *error) {
    (void)error;
    for (unsigned k = 0; k < run->rows.team.hosted; k++) {
        pl_spans_worked(&run->spans, k, run->update[k].seconds, run->update[k].fixed);
        weigh_update(run, k);
    }
    if (!pl_method_in_place(&run->method) && run->asked.columns == run->setup.width)
        pl_exchange_offer(run->exchange, run->update, run->share);
    return PARLEY_OK;
}

/* The change of a single worker, taken whole, needs no reduction and no owner; one pass over v is enough. */
static bool is_alone(const pl_run *run) {
    const pl_update *update = run->update;
    return run->rows.team.workers == 1 && run->engine->ranks == 1 && !run->method.combine->propose && !update->index &&
           update->count == run->tables.entries;
}

static parley_status reduce(pl_run *run, parley_error *error) {
    run->summary.epochs += run->sums.passes;
    run->pace.passes += run->sums.passes;
    pl_engine_spend(run->engine, run->settings->exchange_delay);
    pl_charge_entries(run, run->rows.team.hosted + 2.0); /* laying out, adding, and moving v */
    if (pl_method_in_place(&run->method) || is_alone(run))
        return PARLEY_OK;
    return pl_exchange_reduce(run->exchange, run->asked.columns, run->update, run->share, run->tables.change, error);
}

/* Solvers that evaluate as they work may find, before the step, that none is needed. */
static parley_status certify(pl_run *run, parley_error *error) {
    if (!pl_local_certifies(run->local))
        return PARLEY_OK;
    parley_status status = run->method.local->primal(run->local, run->tables.v, run->w, error);
    return status == PARLEY_OK ? pl_certify(run, &run->at, true, error) : status;
}

static void move_task(void *context, unsigned block) {
    const pl_run *run = context;
    const pl_update *update = run->update;
    uint64_t entries = run->tables.entries, begin = (uint64_t)block * PL_BLOCK,
             end = begin + PL_BLOCK < entries ? begin + PL_BLOCK : entries;
    for (uint64_t j = begin; j < end; j++)
        run->tables.v[j] = update->shrink * run->tables.v[j] + update->value[j];
}

static void step_alone(pl_run *run) {
    if (run->update->value != run->tables.v) /* otherwise it has stepped in v */
        run->engine->type->run(run->engine, move_task, run,
                               (unsigned)((run->tables.entries + PL_BLOCK - 1) / PL_BLOCK));
    run->gamma = run->share[0] = 1.0;
    run->method.local->commit(run->local, 0, 1.0);
}

static parley_status step(pl_run *run, parley_error *error) {
    if (run->diverged)
        return pl_recover(run, error);
    if (pl_method_in_place(&run->method) ||
        pl_reached(run)) /* the workers' steps are already in v, or none is needed */
        return PARLEY_OK;
    pl_estimate_gap(run);
    if (!is_alone(run))
        return pl_step(run, error);
    step_alone(run);
    return PARLEY_OK;
}

static const struct {
    pl_phase phase;
    parley_status (*run)(pl_run *run, parley_error *error);
} phases[] = {{PL_IN_EXCHANGE, prepare},     {PL_IN_WORK, work},       {PL_IN_OFFER, offer},
              {PL_IN_BARRIER, pl_sum_round}, {PL_IN_EXCHANGE, reduce}, {PL_IN_EVALUATION, certify},
              {PL_IN_EXCHANGE, step}};

parley_status pl_advance_synchronous(pl_run *run, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < sizeof phases / sizeof *phases && status == PARLEY_OK; i++) {
        pl_phase_begin(&run->spans, phases[i].phase);
        status = phases[i].run(run, error);
        pl_phase_end(&run->spans);
    }
    return status;
}
