/* traces.c: gathers what the workers and ranks of a run did: the sums that all ranks need after local work and, for the
 * log on rank 0, what each did in a round. Ranks send the latter to rank 0 without waiting. */
#include <math.h>
#include <string.h>

#include "engine/collective.h"
#include "engine/shared_memory.h"
#include "train/run.h"

#define CHANNEL_TRACE 40
#define MANY_RANKS 64 /* with more ranks, the sums would have more entries for their seconds than for all else */

/* The sums of a round by worker, followed by one entry for each rank that only this rank adds to. */
enum { PASSES, SHRINK, RESIDUAL, SENT, SCALARS, SLOWEST = SCALARS + PL_SCALARS };

/* Ranks whose slowest worker is known to all: every one or, if there are many, rank 0, which reports. */
static unsigned timed_ranks(const pl_run *run) { return run->engine->ranks <= MANY_RANKS ? run->engine->ranks : 1; }

static unsigned hosted_by(const pl_run *run, unsigned rank) {
    unsigned workers = run->rows.team.workers, hosts = pl_engine_hosts(run->engine);
    return pl_host_begin(workers, hosts, rank + 1) - pl_host_begin(workers, hosts, rank);
}

/* A message about a round: first the rank, then its workers. */
static uint64_t message_bytes(unsigned workers) { return sizeof(pl_rank_trace) + workers * sizeof(pl_worker_trace); }

static double now(void *engine) { return pl_engine_now(engine); }
static double cpu(void *engine) { return pl_engine_cpu(engine); }

parley_status pl_traces_open(pl_run *run, parley_error *error) {
    const pl_team *team = &run->rows.team;
    uint64_t ranks = run->engine->ranks, workers = run->told.wanted ? team->workers : 0,
             sums = (uint64_t)(team->hosted + 1) * (SLOWEST + timed_ranks(run));
    parley_status status =
        pl_spans_open(&run->spans, (pl_span_clock){now, cpu, run->engine}, &run->engine->adding, team->hosted, error);
    if (status != PARLEY_OK)
        return status;
    run->spans.rank.pinned = run->engine->pinned;
    run->engine->counts_cpu = run->told.wanted;
    run->sums_room = pl_alloc(sums, sizeof *run->sums_room);
    run->told.worker = pl_alloc(workers, sizeof *run->told.worker);
    run->told.rank = pl_alloc(ranks, sizeof *run->told.rank);
    run->told.message = pl_alloc(1, message_bytes(team->workers / (unsigned)ranks + 1));
    if (run->sums_room && run->told.worker && run->told.rank && run->told.message)
        return PARLEY_OK;
    return pl_fail_memory(error, "the log", workers * sizeof *run->told.worker + sums * sizeof *run->sums_room);
}

void pl_traces_close(pl_run *run) {
    pl_spans_close(&run->spans);
    pl_free(run->sums_room);
    pl_free(run->told.worker);
    pl_free(run->told.rank);
    pl_free(run->told.message);
    run->sums_room = NULL;
    run->told.worker = NULL;
    run->told.rank = NULL;
    run->told.message = NULL;
}

/* Where a rank writes its message. Shared memory is used if there is some, because messages cost time even if nobody
 * waits for them. */
static char *message_of(const pl_run *run, unsigned rank) {
    uint64_t most = message_bytes(run->rows.team.workers / run->engine->ranks + 1);
    char *slot = pl_shared_slot(run->engine, rank, most);
    return slot && rank ? slot : run->told.message;
}

parley_status pl_traces_send(pl_run *run, parley_error *error) {
    pl_engine *engine = run->engine;
    uint64_t bytes = message_bytes(run->rows.team.hosted);
    char *message = message_of(run, engine->rank);
    if (!run->told.wanted || engine->rank == 0)
        return PARLEY_OK;
    memcpy(message, &run->spans.rank, sizeof run->spans.rank);
    memcpy(message + sizeof run->spans.rank, run->spans.worker, bytes - sizeof run->spans.rank);
    return message == run->told.message ? engine->type->post(engine, 0, CHANNEL_TRACE, message, bytes, error)
                                        : PARLEY_OK;
}

static parley_status receive(pl_run *run, unsigned rank, parley_error *error) {
    pl_engine *engine = run->engine;
    uint64_t bytes = message_bytes(hosted_by(run, rank));
    char *message = message_of(run, rank);
    parley_status status = PARLEY_OK;
    if (message == run->told.message)
        status = engine->type->take(engine, rank, CHANNEL_TRACE, message, bytes, error);
    if (status != PARLEY_OK)
        return status;
    memcpy(&run->told.rank[rank], message, sizeof *run->told.rank);
    memcpy(run->told.worker + pl_host_begin(run->rows.team.workers, pl_engine_hosts(engine), rank),
           message + sizeof *run->told.rank, bytes - sizeof *run->told.rank);
    return status;
}

parley_status pl_traces_receive(pl_run *run, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (!run->told.wanted || run->engine->rank != 0)
        return status;
    run->told.rank[0] = run->spans.rank;
    memcpy(run->told.worker, run->spans.worker, run->rows.team.hosted * sizeof *run->told.worker);
    for (unsigned r = 1; r < run->engine->ranks && status == PARLEY_OK; r++)
        status = receive(run, r, error);
    return status;
}

/* Worker k's share of all non-zeros, or of all rows if there are no non-zeros. */
static double share_of_data(const pl_run *run, unsigned k) {
    const pl_team *team = pl_owners(run);
    return team->all_nonzeros ? (double)team->nonzeros[k] / (double)team->all_nonzeros
                              : (double)team->rows[k] / (double)team->all_rows;
}

static void fill_sums(const pl_run *run, unsigned k, double *sums) {
    const pl_update *update = &run->update[k];
    sums[PASSES] = update->passes * share_of_data(run, k);
    sums[SHRINK] = run->share[k] * (update->shrink - 1.0);
    sums[RESIDUAL] = run->method.local->traits & PL_ESTIMATES_GAP ? update->residual : 0.0;
    sums[SENT] = (double)run->spans.worker[k].sent;
    memcpy(sums + SCALARS, update->scalars, sizeof update->scalars);
}

parley_status pl_sum_round(pl_run *run, parley_error *error) {
    unsigned count = SLOWEST + timed_ranks(run), hosted = run->rows.team.hosted;
    double *sums = run->sums_room + (uint64_t)hosted * count;
    memset(run->sums_room, 0, (uint64_t)hosted * count * sizeof *run->sums_room);
    for (unsigned k = 0; k < hosted; k++)
        fill_sums(run, k, run->sums_room + (uint64_t)k * count);
    if (hosted && run->engine->rank < timed_ranks(run))
        run->sums_room[SLOWEST + run->engine->rank] = run->spans.slowest;
    parley_status status = pl_team_sum(&run->rows.team, run->sums_room, count, sums, error);
    if (status != PARLEY_OK)
        return status;
    run->sums = (pl_round_sums){run->spans.slowest, sums[PASSES], 1.0 + sums[SHRINK], sums[RESIDUAL], {0}, false};
    memcpy(run->sums.scalars, sums + SCALARS, sizeof run->sums.scalars);
    for (unsigned r = 0; r < timed_ranks(run); r++)
        run->sums.slowest = fmax(run->sums.slowest, sums[SLOWEST + r]);
    run->summary.bytes_sent += (uint64_t)sums[SENT];
    return status;
}
