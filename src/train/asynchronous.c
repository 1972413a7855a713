/* asynchronous.c: a round of asynchronous exchanges is several clocks that every worker makes at its own pace:
 *
 *   prepare -> (swap -> work) per worker, and serve per rank -> park -> sums
 *
 * The tasks of a rank may wait for each other, and for those of other ranks, in the engine only. */
#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "engine/blocking_tasks.h"
#include "train/coordinator.h"
#include "train/costs.h"
#include "train/straggler.h"

/* What the tasks of this rank share. */
typedef struct tasks {
    pl_run *run;
    pl_async_round round;
    pl_straggler straggler;
    atomic_bool failed;    /* a task of this rank */
    double *waited;        /* by worker: seconds in `swap` */
    parley_status *status; /* by task: of each worker, of the server, and of the coordinator */
    parley_error *error;
} tasks;

/* Clocks of a worker that are about a pass over its rows, unless they are given. */
static uint64_t clocks_of(const pl_run *run) {
    const parley_settings *settings = run->settings;
    const pl_local_type *local = run->method.local;
    double epochs = run->work.epochs, each = local->round_passes ? local->round_passes(run->local, epochs) : epochs;
    return settings->clocks ? settings->clocks : (uint64_t)fmax(1.0, round(1.0 / each));
}

static double share_of(const pl_run *run, double weight, double *fraction) {
    const pl_team *owners = pl_owners(run);
    double total = owners == &run->rows.team ? run->problem->total : (double)owners->all_rows;
    *fraction = weight / total;
    return pl_combine_share(run->method.combine, weight, total);
}

/* Adds what the worker did in this clock to its part of the round. */
static void count_clock(pl_update *sum, const pl_update *update) {
    sum->passes += update->passes;
    sum->seconds += update->seconds;
    sum->fixed += update->fixed;
}

/* One clock of a worker: its turn with the exchange, and the work of the next one. */
static parley_status one_clock(tasks *tasks, unsigned k, pl_turn *turn, pl_update *update, parley_error *error) {
    pl_run *run = tasks->run;
    pl_engine *engine = run->engine;
    pl_worker_trace *trace = &run->spans.worker[k];
    double began = pl_engine_now(engine);
    pl_blocking_yield();
    parley_status status = run->method.exchange->async->swap(run->exchange, k, turn, error);
    tasks->waited[k] += pl_engine_now(engine) - began;
    if (status != PARLEY_OK)
        return status;
    if (turn->update)
        run->method.local->commit(run->local, k, turn->gamma * turn->share);
    turn->update = NULL;
    if (turn->clock >= tasks->round.until || turn->ended || pl_stop_asked())
        return status;
    trace->mean_behind += (double)turn->behind; /* a sum until the park; nothing is computed from the last read */
    trace->most_behind = turn->behind > trace->most_behind ? turn->behind : trace->most_behind;
    pl_round round = run->asked;
    round.number = turn->clock + 1;
    status = run->method.local->async->work(run->local, k, &round, turn->v, update, error);
    if (status != PARLEY_OK)
        return status;
    pl_charge_update(run, k, update);
    pl_straggle(&tasks->straggler, engine, run->rows.team.first + k, turn->clock, update, &tasks->failed);
    count_clock(&run->update[k], update);
    turn->share = share_of(run, update->weight, &turn->fraction);
    turn->last = turn->clock + 1 >= tasks->round.until;
    turn->update = update;
    return status;
}

static parley_status run_worker(tasks *tasks, unsigned k, parley_error *error) {
    pl_run *run = tasks->run;
    pl_worker_trace *trace = &run->spans.worker[k];
    pl_turn turn = {.clock = tasks->round.from};
    pl_update update = {0};
    uint64_t turns = 0;
    double began = pl_engine_now(run->engine);
    parley_status status = PARLEY_OK;
    do {
        status = one_clock(tasks, k, &turn, &update, error);
        turns += turn.update != NULL;
    } while (status == PARLEY_OK && turn.update);
    trace->clock = turn.clock;
    trace->finished = pl_engine_now(run->engine) - began;
    trace->sent = turn.sent;
    trace->received = turn.received;
    trace->messages = turn.messages;
    trace->mean_behind /= turns ? (double)turns : 1.0;
    return status == PARLEY_OK ? run->method.exchange->async->leave(run->exchange, k, error) : status;
}

/* The tasks of the hosted workers, then that of the server, and perhaps that of the coordinator. A failure ends the
 * waits of all. */
static void run_task(void *context, unsigned task) {
    tasks *tasks = context;
    pl_run *run = tasks->run;
    parley_error *error = &tasks->error[task];
    unsigned hosted = run->rows.team.hosted;
    tasks->status[task] = task < hosted    ? run_worker(tasks, task, error)
                          : task == hosted ? run->method.exchange->async->serve(run->exchange, error)
                                           : pl_coordinate(run, &tasks->round, error);
    if (tasks->status[task] == PARLEY_OK)
        return;
    atomic_store(&tasks->failed, true);
    run->engine->type->fail(run->engine, error); /* which leaves the first cause there */
}

static unsigned count_tasks(const pl_run *run) { return run->rows.team.hosted + 1 + pl_coordinates(run); }

static parley_status run_tasks(pl_run *run, tasks *tasks, parley_error *error) {
    pl_engine *engine = run->engine;
    unsigned count = count_tasks(run);
    uint64_t sent = engine->bytes_sent, received = engine->bytes_received;
    parley_status status = run->method.exchange->async->begin(run->exchange, &tasks->round, error);
    if (status == PARLEY_OK)
        status = engine->type->run_blocking(engine, run_task, tasks, count, error);
    for (unsigned task = 0; task < count && status == PARLEY_OK; task++)
        if (tasks->status[task] != PARLEY_OK)
            status = pl_fail(error, tasks->error[task].status, "%s", tasks->error[task].sentence);
    run->exchange->sent += engine->bytes_sent - sent;
    run->exchange->received += engine->bytes_received - received;
    return status;
}

static parley_status prepare(pl_run *run, parley_error *error) {
    run->asked =
        (pl_round){.number = run->round, .epochs = run->work.epochs, .steps = run->settings->local_steps, .sigma = 1.0};
    run->gamma = 1.0;
    run->at = (pl_evaluation){0};
    for (unsigned k = 0; k < run->rows.team.hosted; k++) {
        run->update[k] = (pl_update){.shrink = 1.0};
        run->share[k] = 1.0;
    }
    return run->method.local->async->prepare(run->local, run->tables.v, error);
}

static parley_status run_clocks(pl_run *run, parley_error *error) {
    unsigned hosted = run->rows.team.hosted;
    uint64_t from = run->exchange->clock, clocks = clocks_of(run);
    tasks tasks = {.run = run,
                   .round = {.local = run->local,
                             .combine = run->combine,
                             .from = from,
                             .until = from + clocks,
                             .slice = {.begin = pl_exchange_begin(run->exchange),
                                       .end = pl_exchange_end(run->exchange),
                                       .v = run->tables.v,
                                       .change = run->tables.change,
                                       .direction = run->tables.direction,
                                       .sums = pl_exchange_sums(run->exchange)}},
                   .waited = pl_alloc(hosted, sizeof(double)),
                   .status = pl_alloc(count_tasks(run), sizeof(parley_status)),
                   .error = pl_alloc(count_tasks(run), sizeof(parley_error))};
    parley_status status = tasks.waited && tasks.status && tasks.error
                               ? pl_straggler_parse(run->settings, hosted, &tasks.straggler, error)
                               : pl_fail_memory(error, "tasks", hosted * sizeof(parley_error));
    if (status == PARLEY_OK)
        status = run_tasks(run, &tasks, error);
    run->exchange->clock = from + clocks;
    pl_free(tasks.waited);
    pl_free(tasks.status);
    pl_free(tasks.error);
    return status;
}

static parley_status park(pl_run *run, parley_error *error) {
    for (unsigned k = 0; k < run->rows.team.hosted; k++)
        pl_spans_worked(&run->spans, k, run->update[k].seconds, run->update[k].fixed);
    pl_spans_served(&run->spans);
    parley_status status = run->method.exchange->async->park(run->exchange, run->tables.v, error);
    return status == PARLEY_OK ? pl_coordinator_tell(run, error) : status;
}

static parley_status count(pl_run *run, parley_error *error) {
    parley_status status = pl_sum_round(run, error);
    run->summary.epochs += status == PARLEY_OK ? run->sums.passes : 0.0;
    run->pace.passes += status == PARLEY_OK ? run->sums.passes : 0.0;
    return status;
}

static const struct {
    pl_phase phase;
    parley_status (*run)(pl_run *run, parley_error *error);
} phases[] = {{PL_IN_EXCHANGE, prepare}, {PL_IN_WORK, run_clocks}, {PL_IN_EXCHANGE, park}, {PL_IN_BARRIER, count}};

parley_status pl_advance_asynchronous(pl_run *run, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < sizeof phases / sizeof *phases && status == PARLEY_OK; i++) {
        pl_phase_begin(&run->spans, phases[i].phase);
        status = phases[i].run(run, error);
        pl_phase_end(&run->spans);
    }
    return status;
}
