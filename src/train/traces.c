/* traces.c: what the workers and ranks of a run did, brought together. Only rank 0 keeps a log; the others post to it
 * what they did in a round, and do not wait. */
#include <math.h>
#include <string.h>

#include "engine/collective.h"
#include "train/run.h"

#define CHANNEL_TRACE 40

static unsigned hosted_by(const pl_run *run, unsigned rank) {
    return pl_host_begin(run->team.workers, run->engine->ranks, rank + 1) -
           pl_host_begin(run->team.workers, run->engine->ranks, rank);
}

parley_status pl_traces_open(pl_run *run, parley_error *error) {
    uint64_t ranks = run->engine->ranks, hosted = run->team.hosted, workers = run->logs ? run->team.workers : 0;
    run->phases = pl_alloc((hosted + 1) * (1 + ranks), sizeof *run->phases);
    run->worker_traces = pl_alloc(workers, sizeof *run->worker_traces);
    run->rank_traces = pl_alloc(ranks, sizeof *run->rank_traces);
    if (run->phases && run->worker_traces && run->rank_traces)
        return PARLEY_OK;
    return pl_fail_memory(error, "the log",
                          workers * sizeof *run->worker_traces + hosted * (1 + ranks) * sizeof *run->phases);
}

void pl_traces_close(pl_run *run) {
    pl_free(run->phases);
    pl_free(run->worker_traces);
    pl_free(run->rank_traces);
}

static parley_status take_traces(pl_run *run, unsigned rank, parley_error *error) {
    pl_engine *engine = run->engine;
    unsigned first = pl_host_begin(run->team.workers, engine->ranks, rank);
    parley_status status =
        engine->type->take(engine, rank, CHANNEL_TRACE, &run->rank_traces[rank], sizeof *run->rank_traces, error);
    if (status == PARLEY_OK)
        status = engine->type->take(engine, rank, CHANNEL_TRACE, run->worker_traces + first,
                                    hosted_by(run, rank) * sizeof *run->worker_traces, error);
    return status;
}

parley_status pl_traces_gather(pl_run *run, parley_error *error) {
    pl_engine *engine = run->engine;
    uint64_t bytes = run->team.hosted * sizeof *run->trace;
    if (!run->logs)
        return PARLEY_OK;
    if (engine->rank > 0) {
        parley_status status =
            engine->type->post(engine, 0, CHANNEL_TRACE, &run->rank_trace, sizeof run->rank_trace, error);
        return status == PARLEY_OK ? engine->type->post(engine, 0, CHANNEL_TRACE, run->trace, bytes, error) : status;
    }
    run->rank_traces[0] = run->rank_trace;
    memcpy(run->worker_traces, run->trace, bytes);
    parley_status status = PARLEY_OK;
    for (unsigned r = 1; r < engine->ranks && status == PARLEY_OK; r++)
        status = take_traces(run, r, error);
    return status;
}

parley_status pl_traces_meet(pl_run *run, double *slowest, double *passes, parley_error *error) {
    unsigned rank = run->engine->rank, count = 1 + run->engine->ranks, hosted = run->team.hosted;
    double *sums = run->phases + (uint64_t)hosted * count;
    memset(run->phases, 0, (uint64_t)hosted * count * sizeof *run->phases);
    for (unsigned k = 0; k < hosted; k++)
        run->phases[k * count] = run->team.worker_sums[k];
    if (hosted)
        run->phases[1 + rank] = *slowest; /* a place for each rank: adding up keeps them apart */
    parley_status status = pl_team_sum(&run->team, run->phases, count, sums, error);
    *passes = sums[0];
    for (unsigned r = 0; r + 1 < count && status == PARLEY_OK; r++)
        *slowest = fmax(*slowest, sums[1 + r]);
    return status;
}

parley_status pl_traces_total(pl_run *run, parley_error *error) {
    double mine[] = {(double)run->bytes_sent, (double)run->rank_bytes_sent}, all[2];
    parley_status status = pl_sum_workers(run->engine, run->engine->ranks, mine, 2, all, error);
    if (status == PARLEY_OK) {
        run->summary.bytes_sent = (uint64_t)all[0];
        run->summary.rank_bytes_sent = (uint64_t)all[1];
    }
    return status;
}
