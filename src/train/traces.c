/* traces.c: what the workers and ranks of a run did, brought together. Only rank 0 keeps a log; the others post to it
 * what they did in a round, and do not wait. */
#include <math.h>
#include <string.h>

#include "engine/shared_memory.h"
#include "train/run.h"

#define CHANNEL_TRACE 40

/* What a worker tells, and behind it a place for each rank, that adding up keeps apart. */
enum { PASSES, SHRINK, RESIDUAL, SENT, SCALARS, SLOWEST = SCALARS + PL_SCALARS };

static unsigned hosted_by(const pl_run *run, unsigned rank) {
    return pl_host_begin(run->team.workers, run->engine->ranks, rank + 1) -
           pl_host_begin(run->team.workers, run->engine->ranks, rank);
}

/* What a rank tells the first of a round: of itself, then of its workers. */
static uint64_t told_bytes(unsigned workers) { return sizeof(pl_rank_trace) + workers * sizeof(pl_worker_trace); }

parley_status pl_traces_open(pl_run *run, parley_error *error) {
    uint64_t ranks = run->engine->ranks, hosted = run->team.hosted, workers = run->logs ? run->team.workers : 0;
    run->phases = pl_alloc((hosted + 1) * (SLOWEST + ranks), sizeof *run->phases);
    run->worker_traces = pl_alloc(workers, sizeof *run->worker_traces);
    run->rank_traces = pl_alloc(ranks, sizeof *run->rank_traces);
    run->told = pl_alloc(1, told_bytes(run->team.workers / (unsigned)ranks + 1));
    if (run->phases && run->worker_traces && run->rank_traces && run->told)
        return PARLEY_OK;
    return pl_fail_memory(error, "the log",
                          workers * sizeof *run->worker_traces +
                              (hosted + 1) * (SLOWEST + ranks) * sizeof *run->phases);
}

void pl_traces_close(pl_run *run) {
    pl_free(run->phases);
    pl_free(run->worker_traces);
    pl_free(run->rank_traces);
    pl_free(run->told);
}

/* Where a rank writes it: its slot of shared memory, if there is one, because messages that nobody waits for would
 * still have to be carried. */
static char *place_of(const pl_run *run, unsigned rank) {
    char *note = pl_shared_slot(run->engine, rank, told_bytes(run->team.workers / run->engine->ranks + 1));
    return note && rank ? note : run->told;
}

parley_status pl_traces_tell(pl_run *run, parley_error *error) {
    pl_engine *engine = run->engine;
    uint64_t bytes = told_bytes(run->team.hosted);
    char *told = place_of(run, engine->rank);
    if (!run->logs || engine->rank == 0)
        return PARLEY_OK;
    memcpy(told, &run->rank_trace, sizeof run->rank_trace);
    memcpy(told + sizeof run->rank_trace, run->trace, bytes - sizeof run->rank_trace);
    return told == run->told ? engine->type->post(engine, 0, CHANNEL_TRACE, told, bytes, error) : PARLEY_OK;
}

static parley_status hear(pl_run *run, unsigned rank, parley_error *error) {
    pl_engine *engine = run->engine;
    uint64_t bytes = told_bytes(hosted_by(run, rank));
    char *told = place_of(run, rank);
    parley_status status =
        told == run->told ? engine->type->take(engine, rank, CHANNEL_TRACE, told, bytes, error) : PARLEY_OK;
    if (status != PARLEY_OK)
        return status;
    memcpy(&run->rank_traces[rank], told, sizeof run->rank_trace);
    memcpy(run->worker_traces + pl_host_begin(run->team.workers, engine->ranks, rank), told + sizeof run->rank_trace,
           bytes - sizeof run->rank_trace);
    return status;
}

parley_status pl_traces_hear(pl_run *run, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (!run->logs || run->engine->rank != 0)
        return status;
    run->rank_traces[0] = run->rank_trace;
    memcpy(run->worker_traces, run->trace, run->team.hosted * sizeof *run->trace);
    for (unsigned r = 1; r < run->engine->ranks && status == PARLEY_OK; r++)
        status = hear(run, r, error);
    return status;
}

static void tell_of_worker(const pl_run *run, unsigned k, double *told) {
    const pl_update *update = &run->update[k];
    told[PASSES] = run->team.worker_sums[k];
    told[SHRINK] = run->share[k] * (update->shrink - 1.0);
    told[RESIDUAL] = run->method.local->estimates ? update->scalars[PL_SUM_RESIDUAL] : 0.0;
    told[SENT] = (double)run->trace[k].sent;
    memcpy(told + SCALARS, update->scalars, sizeof update->scalars);
}

parley_status pl_traces_meet(pl_run *run, double slowest, parley_error *error) {
    unsigned count = SLOWEST + run->engine->ranks, hosted = run->team.hosted;
    double *sums = run->phases + (uint64_t)hosted * count;
    memset(run->phases, 0, (uint64_t)hosted * count * sizeof *run->phases);
    for (unsigned k = 0; k < hosted; k++)
        tell_of_worker(run, k, run->phases + (uint64_t)k * count);
    if (hosted)
        run->phases[SLOWEST + run->engine->rank] = slowest;
    parley_status status = pl_team_sum(&run->team, run->phases, count, sums, error);
    if (status != PARLEY_OK)
        return status;
    run->met = (pl_meeting){slowest, sums[PASSES], 1.0 + sums[SHRINK], sums[RESIDUAL], {0}};
    memcpy(run->met.scalars, sums + SCALARS, sizeof run->met.scalars);
    for (unsigned r = 0; r < run->engine->ranks; r++)
        run->met.slowest = fmax(run->met.slowest, sums[SLOWEST + r]);
    run->summary.bytes_sent += (uint64_t)sums[SENT];
    return status;
}
