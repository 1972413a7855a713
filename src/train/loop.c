/* loop.c: the loop. A round is
 *
 *   work -> reduce to the owners -> propose a direction -> probe trial steps -> accept gamma -> commit gamma -> spread
 *
 * and everything else here is looking, telling and stopping. No member prints, times or stops anything. */
#include <math.h>
#include <string.h>

#include "engine/shared_memory.h"
#include "train/run.h"

/* Does `work` itself evaluate v? */
static bool certifies(const pl_run *run) {
    return run->method.local->certifies && run->method.local->certifies(run->local);
}

static void add_evaluation(pl_run *run, double seconds, double cpu) {
    run->summary.evaluate_seconds += seconds;
    run->rank_trace.evaluate += seconds;
    run->rank_trace.evaluate_cpu += cpu;
    for (unsigned k = 0; k < run->team.hosted; k++)
        run->trace[k].evaluate += seconds;
}

/* What the workers own: rows or columns. */
static const pl_team *owners_of(const pl_run *run) {
    return run->method.local->by_columns ? &run->columns : &run->team;
}

/* Worker k's part of all non-zeros; of all rows where there are none. */
static double share_of_data(const pl_run *run, unsigned k) {
    const pl_team *team = owners_of(run);
    return team->all_nonzeros ? (double)team->nonzeros[k] / (double)team->all_nonzeros
                              : (double)team->rows[k] / (double)team->all_rows;
}

/* What worker k will send and receive, and the part that its update counts for. */
static void weigh_update(pl_run *run, unsigned k) {
    const pl_combine_type *combine = run->method.combine;
    const pl_update *update = &run->update[k];
    double total = run->method.local->by_columns ? (double)run->columns.all_rows : run->problem.total;
    uint64_t rows = update->index ? update->count / (update->row ? update->row : 1) : 0;
    uint64_t bytes = update->count * sizeof(double) + rows * sizeof(uint32_t);
    run->share[k] = combine->share ? combine->share(run->combine, update->weight, total) : 1.0;
    run->method.exchange->traffic(run->team.workers, run->team.first + k, bytes, run->entries * sizeof(double),
                                  &run->trace[k].sent, &run->trace[k].received);
}

/* Is the gradient all there is to reduce? */
static bool is_flat(const pl_run *run) {
    return run->method.combine->curved && !run->method.combine->curved(run->combine);
}

/* A lone worker's change, taken whole, needs no reducing and no owner: one pass over v does for all of it. */
static bool is_alone(const pl_run *run) {
    const pl_update *update = run->update;
    return run->team.workers == 1 && run->engine->ranks == 1 && run->method.combine->propose == pl_propose_change &&
           !update->index && update->count == run->entries;
}

/* What will be reduced, where ranks that meet see it. */
static void offer(pl_run *run) {
    double began = pl_engine_now(run->engine);
    if (!run->method.exchange->in_place && !is_flat(run))
        pl_exchange_offer(run->exchange, run->update, run->share);
    run->offer_seconds = pl_engine_now(run->engine) - began;
}

/* Local steps of all workers; the slowest one's time is the round's compute, the rest of the phase is waiting, and so
 * is what passes until all ranks have done theirs. */
static parley_status work(pl_run *run, pl_evaluation *at, parley_error *error) {
    const pl_combine_type *combine = run->method.combine;
    run->sigma = combine->sigma ? combine->sigma(run->combine) : 1.0;
    pl_round round = {.number = run->round,
                      .sigma = run->sigma,
                      .momentum = combine->momentum ? combine->momentum(run->combine) : 0.0,
                      .epochs = run->local_epochs,
                      .steps = run->settings->local_steps,
                      .curved = !combine->curved || combine->curved(run->combine),
                      .softness = combine->softness ? combine->softness(run->combine) : 0.0};
    parley_status status = pl_shared_wait_read(run->engine, error);
    double began = pl_engine_now(run->engine), cpu = pl_engine_cpu(run->engine), slowest = 0, computed = 0, fixed = 0;
    at->seconds = 0;
    if (status == PARLEY_OK)
        status = run->method.local->work(run->local, &round, run->v, run->update, at, error);
    double phase = pl_engine_now(run->engine) - began - at->seconds;
    run->rank_trace.local = phase;
    run->rank_trace.cpu = fmax(0.0, pl_engine_cpu(run->engine) - cpu - at->seconds);
    for (unsigned k = 0; k < run->team.hosted; k++) {
        const pl_update *update = &run->update[k];
        double compute = fmin(update->seconds, phase);
        run->trace[k].compute = compute;
        slowest = fmax(slowest, compute);
        computed += compute;
        fixed += fmin(update->fixed, compute);
        run->team.worker_sums[k] = update->passes * share_of_data(run, k);
        weigh_update(run, k);
    }
    if (status == PARLEY_OK) {
        offer(run);
        status = pl_traces_meet(run, slowest, error);
    }
    double until = pl_engine_now(run->engine) - began - at->seconds - run->offer_seconds;
    run->fixed_seconds = computed > 0 ? fixed / computed * until : 0.0;
    run->local_seconds = until - run->fixed_seconds;
    for (unsigned k = 0; k < run->team.hosted; k++)
        run->trace[k].wait = until - run->trace[k].compute;
    run->rank_trace.wait = until - slowest;
    run->summary.compute_seconds += run->met.slowest;
    run->summary.wait_seconds += fmax(0.0, until - run->met.slowest);
    run->summary.epochs += run->met.passes;
    run->pace.passes += run->met.passes;
    add_evaluation(run, at->seconds, at->seconds);
    return status;
}

static parley_status reduce(pl_run *run, parley_error *error) {
    if (is_flat(run))
        return pl_exchange_reduce_first(run->exchange, run->update, run->share, run->change, error);
    return pl_exchange_reduce(run->exchange, run->update, run->share, run->change, error);
}

typedef struct measurement {
    pl_run *run;
    const pl_slice *slice;
    double gamma;
} measurement;

static void measure_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const measurement *measurement = context;
    pl_slice slice = *measurement->slice;
    slice.begin = begin;
    slice.end = end;
    measurement->run->method.combine->measure(measurement->run->combine, &slice, measurement->gamma, sums);
}

/* Brings the direction to all workers, who prepare for probes along it. */
static parley_status follow(pl_run *run, parley_error *error) {
    parley_status status = pl_exchange_spread(run->exchange, run->direction, error);
    double began = pl_engine_now(run->engine);
    if (status == PARLEY_OK)
        run->method.local->follow(run->local, run->v, run->direction);
    run->probe_seconds += pl_engine_now(run->engine) - began;
    run->summary.epochs += 1.0;
    return status;
}

static bool bends(const pl_run *run) { return run->method.combine->bends && run->method.combine->bends(run->combine); }

/* Leaves the workers' sums at the trial step in their updates. */
static parley_status probe(pl_run *run, const pl_slice *slice, parley_error *error) {
    const pl_combine_type *combine = run->method.combine;
    parley_status status = PARLEY_OK;
    if (bends(run)) {
        status = combine->bend(run->combine, slice, run->gamma, error);
        if (status == PARLEY_OK)
            status = follow(run, error);
    }
    double began = pl_engine_now(run->engine);
    if (status == PARLEY_OK)
        run->method.local->probe(run->local, bends(run) ? 1.0 : run->gamma, run->update);
    run->probe_seconds += pl_engine_now(run->engine) - began;
    return status;
}

/* The sums of the updates' scalars, which a probe has changed. */
static parley_status sum_scalars(pl_run *run, double *sums, parley_error *error) {
    for (unsigned k = 0; k < run->team.hosted; k++)
        memcpy(run->scalars + k * PL_SCALARS, run->update[k].scalars, sizeof run->update[k].scalars);
    return pl_team_sum(&run->team, run->scalars, PL_SCALARS, sums, error);
}

static void move_v(const pl_run *run, double gamma, uint64_t begin, uint64_t end) {
    for (uint64_t j = begin; j < end; j++)
        run->v[j] += gamma * run->direction[j];
}

static void commit(pl_run *run, double gamma) {
    for (unsigned k = 0; k < run->team.hosted; k++)
        run->method.local->commit(run->local, k, gamma * run->share[k]);
}

/* Tries steps along the direction until the combine accepts one, by which v moves: everywhere, because the direction
 * was spread. */
static parley_status search(pl_run *run, const pl_slice *slice, parley_error *error) {
    const pl_combine_type *combine = run->method.combine;
    double workers[PL_SCALARS], owners[PL_OWN_SCALARS];
    parley_status status = PARLEY_OK;
    if (!bends(run))
        status = follow(run, error);
    for (bool accepted = false; !accepted && status == PARLEY_OK;) {
        status = probe(run, slice, error);
        measurement measurement = {run, slice, run->gamma};
        if (status == PARLEY_OK)
            status = sum_scalars(run, workers, error);
        if (status == PARLEY_OK)
            status = pl_exchange_sum(run->exchange, measure_entries, &measurement, owners, error);
        if (status == PARLEY_OK)
            accepted = combine->judge(run->combine, workers, owners, &run->gamma);
    }
    if (status != PARLEY_OK)
        return status;
    double gamma = bends(run) ? 1.0 : run->gamma, cpu = pl_engine_cpu(run->engine);
    move_v(run, gamma, 0, run->entries);
    run->engine->adding += pl_engine_cpu(run->engine) - cpu;
    commit(run, gamma);
    return status;
}

static void leap_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const measurement *measurement = context;
    measure_entries(context, begin, end, sums);
    move_v(measurement->run, 1.0, begin, end);
}

/* Without a search: v moves by the whole direction at its owners, who measure that on the way, and then spread v. Where
 * it turns out to be too far, which is rare, they take the rest of the step back first. */
static parley_status leap(pl_run *run, const pl_slice *slice, parley_error *error) {
    const pl_combine_type *combine = run->method.combine;
    measurement measurement = {run, slice, 1.0};
    double owners[PL_OWN_SCALARS];
    bool judged = combine->judge && run->team.workers > 1; /* a lone worker's change is taken whole */
    parley_status status = PARLEY_OK;
    if (judged) {
        pl_gather_offer(run->engine, run->v);
        status = pl_exchange_sum(run->exchange, leap_entries, &measurement, owners, error);
    }
    if (status != PARLEY_OK)
        return status;
    if (judged)
        combine->judge(run->combine, run->met.scalars, owners, &run->gamma);
    double rest = judged ? run->gamma - 1.0 : 1.0, cpu = pl_engine_cpu(run->engine);
    if (rest != 0) {
        pl_gather_offer(run->engine, run->v); /* again: it is not as the ranks met for it */
        move_v(run, rest, slice->begin, slice->end);
        run->engine->adding += pl_engine_cpu(run->engine) - cpu;
    }
    commit(run, run->gamma);
    return pl_exchange_spread(run->exchange, run->v, error);
}

/* The workers' own estimate of the gap. Their residuals are from when they visited their rows, on average in the middle
 * of the round; by its end the gap has fallen further, and the last rounds tell how far. (On text and census data, four
 * losses: right within a third.) */
static void estimate_gap(pl_run *run) {
    double residual = fmax(0.0, run->met.residual), last = run->pace.residual;
    if (!run->method.local->estimates)
        return;
    run->pace.residual = residual;
    run->pace.estimate = residual * (residual < last ? pow(residual / last, 0.75) : 1.0);
}

static parley_status sum_over_owners(const pl_slice *slice, pl_entry_sum f, void *context, double *sums,
                                     parley_error *error) {
    return pl_exchange_sum(slice->exchange, f, context, sums, error);
}

/* Products with the curvature, as many as the combine asks for: their sums take the place of the gradient. */
static parley_status answer(pl_run *run, const pl_slice *slice, parley_error *error) {
    const pl_combine_type *combine = run->method.combine;
    parley_status status = PARLEY_OK;
    while (status == PARLEY_OK && combine->asks && combine->asks(run->combine)) {
        status = pl_exchange_spread(run->exchange, run->direction, error);
        double began = pl_engine_now(run->engine);
        if (status == PARLEY_OK)
            run->method.local->product(run->local, run->direction, run->update);
        run->probe_seconds += pl_engine_now(run->engine) - began;
        run->summary.epochs += 1.0;
        if (status == PARLEY_OK)
            status = pl_exchange_reduce_first(run->exchange, run->update, run->share, run->change, error);
        if (status == PARLEY_OK)
            status = combine->next(run->combine, slice, error);
    }
    return status;
}

static void move_task(void *context, unsigned block) {
    const pl_run *run = context;
    const pl_update *update = run->update;
    uint64_t begin = (uint64_t)block * PL_BLOCK,
             end = begin + PL_BLOCK < run->entries ? begin + PL_BLOCK : run->entries;
    for (uint64_t j = begin; j < end; j++)
        run->v[j] = update->shrink * run->v[j] + update->value[j];
}

static void step_alone(pl_run *run) {
    estimate_gap(run);
    if (run->update->value != run->v) /* else it has stepped in v */
        run->engine->type->run(run->engine, move_task, run, (unsigned)((run->entries + PL_BLOCK - 1) / PL_BLOCK));
    run->gamma = run->share[0] = 1.0;
    run->method.local->commit(run->local, 0, 1.0);
}

/* Where the reduced update is the direction as it is, it need not be copied. */
static bool takes_change(pl_run *run) {
    if (run->method.combine->propose != pl_propose_change || run->met.shrink != 1.0 || run->exchange->width != 1)
        return false;
    double *direction = run->change;
    run->change = run->direction;
    run->direction = direction;
    return true;
}

static parley_status step(pl_run *run, const pl_evaluation *at, parley_error *error) {
    bool taken = takes_change(run);
    pl_slice slice = {.begin = pl_exchange_begin(run->exchange),
                      .end = pl_exchange_end(run->exchange),
                      .v = run->v,
                      .change = run->change,
                      .direction = run->direction,
                      .shrink = run->met.shrink,
                      .loss = at->loss,
                      .metric = run->method.local->metric ? run->method.local->metric(run->local) : NULL,
                      .sum = sum_over_owners,
                      .exchange = run->exchange};
    estimate_gap(run);
    double cpu =
        pl_engine_cpu(run->engine) - run->engine->adding; /* it may ask for sums, which are counted themselves */
    parley_status status = taken ? PARLEY_OK : run->method.combine->propose(run->combine, &slice, run->round, error);
    run->engine->adding = pl_engine_cpu(run->engine) - cpu;
    if (status == PARLEY_OK)
        status = answer(run, &slice, error);
    run->gamma = 1.0;
    if (status != PARLEY_OK)
        return status;
    return run->method.combine->searches ? search(run, &slice, error) : leap(run, &slice, error);
}

static void count_exchange(pl_run *run, double seconds) {
    for (unsigned k = 0; k < run->team.hosted; k++)
        run->trace[k].exchange = seconds;
    run->summary.exchange_seconds += seconds;
    run->rank_trace.exchange = seconds;
    run->rank_trace.sent = run->exchange->sent;
    run->rank_trace.received = run->exchange->received;
    run->rank_bytes_sent += run->exchange->sent;
    run->exchange->sent = run->exchange->received = 0;
}

/* Following a direction and probing along it is the workers' work, in step with each other. */
static void add_probes(pl_run *run) {
    run->summary.compute_seconds += run->probe_seconds;
    run->rank_trace.local += run->probe_seconds;
    run->rank_trace.cpu += run->probe_seconds;
    for (unsigned k = 0; k < run->team.hosted; k++)
        run->trace[k].compute += run->probe_seconds;
    run->probe_seconds = 0;
}

static bool reached(const pl_run *run) {
    return run->settings->gap > 0 && pl_relative_gap(&run->best) <= run->settings->gap;
}

/* One round. Solvers that certify as they work may find, before they step, that there is no need to. */
static parley_status one_round(pl_run *run, parley_error *error) {
    pl_evaluation at = {0};
    double books = run->round > 1 ? pl_engine_now(run->engine) - run->ended : 0; /* the log's and decisions' */
    memset(run->trace, 0, run->team.hosted * sizeof *run->trace);
    run->rank_trace = (pl_rank_trace){.kept = run->engine->pinned};
    run->engine->adding = 0;
    run->evaluated = false;
    parley_status status = work(run, &at, error);
    double began = pl_engine_now(run->engine), looked = 0, looked_cpu = 0;
    pl_engine_spend(run->engine, run->settings->exchange_delay);
    bool in_place = run->method.exchange->in_place; /* the workers' steps are in v already */
    bool alone = status == PARLEY_OK && is_alone(run);
    if (status == PARLEY_OK && !in_place && !alone)
        status = reduce(run, error);
    if (status == PARLEY_OK && certifies(run)) {
        double looking = pl_engine_now(run->engine), cpu = pl_engine_cpu(run->engine);
        status = run->method.local->primal(run->local, run->v, run->w, error);
        if (status == PARLEY_OK)
            status = pl_certify(run, &at, true, error);
        looked = pl_engine_now(run->engine) - looking;
        looked_cpu = pl_engine_cpu(run->engine) - cpu;
    }
    if (status == PARLEY_OK && run->diverged)
        status = pl_recover(run, error);
    else if (status == PARLEY_OK && !in_place && !reached(run)) {
        if (alone)
            step_alone(run);
        else
            status = step(run, &at, error);
    }
    run->rest_seconds = pl_engine_now(run->engine) - began - looked + run->offer_seconds;
    count_exchange(run, run->rest_seconds - run->probe_seconds);
    run->rest_seconds += books + run->fixed_seconds;
    add_probes(run);
    run->rank_trace.master_cpu = run->engine->adding;
    add_evaluation(run, looked, looked_cpu);
    bool due = !run->evaluated && pl_evaluation_due(run), forced = !run->evaluated && !due && pl_evaluation_forced(run);
    if (status == PARLEY_OK && forced) /* a run with a later limit would not look here: it has to find what it left */
        status = pl_checkpoint_last(run, error);
    if (status == PARLEY_OK && (due || forced)) {
        double cpu = pl_engine_cpu(run->engine);
        began = pl_engine_now(run->engine);
        status = pl_evaluate(run, error);
        if (status == PARLEY_OK && run->diverged)
            status = pl_recover(run, error);
        add_evaluation(run, pl_engine_now(run->engine) - began, pl_engine_cpu(run->engine) - cpu);
    }
    run->ended = pl_engine_now(run->engine);
    return status;
}

/* The line of this round, but for what the ranks tell of it. */
static pl_round_trace trace_round(const pl_run *run, pl_pace_trace *pace) {
    pl_clocked_trace(run, pace);
    return (pl_round_trace){.round = run->round,
                            .seconds = pl_engine_now(run->engine) - run->began,
                            .epochs = run->summary.epochs,
                            .sigma = run->sigma,
                            .gamma = run->gamma,
                            .local_epochs = run->local_epochs,
                            .local_steps = pl_clocked_steps(run),
                            .pace = run->paced ? pace : NULL,
                            .evaluated = run->evaluated,
                            .objective = run->best.objective,
                            .dual = run->best.exists ? run->best.dual : NAN,
                            .gap = pl_gap(&run->best),
                            .relative_gap = pl_relative_gap(&run->best),
                            .validation = run->validation.rows ? run->validation.latest : NAN,
                            .first = 0,
                            .workers = run->team.workers,
                            .worker = run->worker_traces,
                            .ranks = run->engine->ranks,
                            .rank = run->rank_traces};
}

static parley_status log_round(pl_run *run, const pl_round_trace *trace, parley_error *error) {
    parley_error lost;
    parley_status status = pl_traces_hear(run, error);
    if (status == PARLEY_OK && run->log && pl_log_round(run->log, trace, &lost) != PARLEY_OK)
        pl_give_up_log(run, &lost);
    return status;
}

parley_status pl_agree(pl_run *run, double *flags, unsigned count, parley_error *error) {
    double sums[PL_DECISIONS] = {0};
    parley_status status = pl_sum_workers(run->engine, run->engine->ranks, flags, count, sums, error);
    memcpy(flags, sums, count * sizeof *flags);
    return status;
}

static parley_status check_stop(pl_run *run, bool *stop, parley_error *error) {
    double flags[PL_DECISIONS] = {0};
    parley_status status = pl_clocked_decide(run, flags, error);
    *stop = true;
    if (status != PARLEY_OK)
        return status;
    if (reached(run))
        run->summary.stop = PARLEY_CONVERGED;
    else if (flags[PL_BY_USER] > 0)
        run->summary.stop = PARLEY_INTERRUPTED;
    else if (flags[PL_BY_SECONDS] > 0)
        run->summary.stop = PARLEY_SECONDS;
    else if (run->round >= run->settings->rounds)
        run->summary.stop = PARLEY_ROUNDS;
    else if (run->validation.rows && run->validation.worse >= run->settings->patience)
        run->summary.stop = PARLEY_PATIENCE;
    else if (status == PARLEY_OK) {
        status = pl_stalls(run, stop, error);
        run->summary.stop = PARLEY_STALLED;
    }
    return *stop || status != PARLEY_OK ? status : pl_clocked_goes_on(run, error);
}

/* A last look, where the last rounds were not evaluated. It may even find the target reached. */
static parley_status look_again(pl_run *run, parley_error *error) {
    if (run->evaluated && !certifies(run))
        return PARLEY_OK;
    double began = pl_engine_now(run->engine);
    parley_status status = pl_evaluate(run, error);
    run->summary.evaluate_seconds += pl_engine_now(run->engine) - began;
    if (reached(run) && run->summary.stop != PARLEY_INTERRUPTED)
        run->summary.stop = PARLEY_CONVERGED;
    return status;
}

/* Is the end out of sight? Looked at once in so many passes, by how far the gap fell since the last look. */
static bool is_slow(pl_run *run, double passes) {
    pl_pace *pace = &run->pace;
    double gap = pl_relative_gap(&run->best), last = pace->slow_gap, epochs = run->summary.epochs;
    if (!run->evaluated || run->settings->gap == 0 || epochs < pace->slow_epochs + passes)
        return false;
    double left = log(gap / run->settings->gap) / log(last / gap) * (epochs - pace->slow_epochs);
    bool first = pace->slow_epochs == 0; /* the beginning says nothing of the rest */
    pace->slow_epochs = epochs;
    pace->slow_gap = gap;
    return !first && !(gap < last && left <= 2 * passes);
}

/* A preset may go on as another one. */
static parley_status go_on_when_due(pl_run *run, parley_error *error) {
    const pl_sequel *sequel = run->method.sequel;
    bool due = sequel->if_slow ? is_slow(run, sequel->epochs) : run->summary.epochs >= sequel->epochs * (1.0 - 1e-9);
    return due ? pl_go_on(run, error) : PARLEY_OK;
}

parley_status pl_loop(pl_run *run, parley_error *error) {
    bool stop = false;
    parley_status status = check_stop(run, &stop, error);
    while (status == PARLEY_OK && !stop) {
        if (run->method.sequel && run->round > 0)
            status = go_on_when_due(run, error);
        if (status != PARLEY_OK)
            break;
        run->round++;
        status = one_round(run, error);
        if (status != PARLEY_OK)
            break;
        pl_pace_trace pace;
        pl_round_trace trace = trace_round(run, &pace);
        status = pl_traces_tell(run, error);
        if (status != PARLEY_OK)
            break;
        pl_checkpoint_round(run);
        status = check_stop(run, &stop, error);
        if (status == PARLEY_OK)
            status = log_round(run, &trace, error);
    }
    run->summary.rounds = run->round;
    if (status == PARLEY_OK)
        status = pl_checkpoint_last(run, error);
    if (status == PARLEY_OK && run->summary.stop != PARLEY_CONVERGED)
        status = look_again(run, error);
    return status == PARLEY_OK ? pl_checkpoint_settle(run, error) : status;
}
