/* loop.c: runs rounds until something stops them. The clock of the exchange decides how a round is made; this file
 * evaluates, reports and stops. */
#include <math.h>
#include <string.h>

#include "engine/collective.h"
#include "train/coordinator.h"

#define PATIENCE 2.0 /* how many times as long as later a first method may seem to take at its first measurement */

/* One function per clock. */
static parley_status (*const advance[PL_CLOCKS])(pl_run *run, parley_error *error) = {
    [PL_SYNCHRONOUS] = pl_advance_synchronous,
    [PL_ASYNCHRONOUS] = pl_advance_asynchronous,
};

/* Whether this round evaluated v as it is now. Solvers that evaluate as they work did so before their step. */
static bool is_seen(const pl_run *run) {
    bool measured = run->validation.rows && run->validation.latest_round == run->round;
    return run->evaluated && (measured || !pl_local_certifies(run->local));
}

/* Evaluates v if that is due and the round did not do it. With validation rows, the model after the step counts. */
static parley_status look(pl_run *run, parley_error *error) {
    bool seen = run->validation.rows ? is_seen(run) : run->evaluated;
    bool due = !seen && (pl_evaluation_due(run) || pl_reached(run));
    bool forced = !seen && !due && pl_evaluation_forced(run);
    parley_status status = PARLEY_OK;
    if (forced) /* undone afterwards, because a run with a later limit would not evaluate here */
        status = pl_checkpoint_last(run, error);
    if (status != PARLEY_OK || (!due && !forced))
        return status;
    pl_phase_begin(&run->spans, PL_IN_EVALUATION);
    status = pl_evaluate(run, error);
    if (status == PARLEY_OK && run->diverged && run->type->noise == 0)
        status = pl_recover(run, error);
    pl_phase_end(&run->spans);
    return status;
}

/* For the log, once a second. Simulated hosts have no process of their own. */
static void read_process(pl_run *run) {
    double now = pl_engine_now(run->engine);
    if (!run->told.wanted || run->engine->is_virtual)
        return;
    if (!run->told.process.resident || now - run->told.read >= 1.0) {
        pl_process_read(&run->told.process);
        run->told.read = now;
    }
    run->spans.rank.process = run->told.process;
}

/* Adds the spans of this round to the totals. */
static void count_times(pl_run *run) {
    pl_round_times times = pl_spans_end_round(&run->spans, run->sums.slowest);
    parley_summary *summary = &run->summary;
    summary->compute_seconds += times.compute;
    summary->wait_seconds += times.wait;
    summary->exchange_seconds += times.exchange;
    summary->evaluate_seconds += times.evaluate;
    run->work.local = times.local;
    run->work.rest = times.rest;
    run->spans.rank.sent = run->exchange->sent;
    run->spans.rank.received = run->exchange->received;
    run->rank_bytes_sent += run->exchange->sent;
    read_process(run);
    run->exchange->sent = run->exchange->received = 0;
}

static parley_status one_round(pl_run *run, parley_error *error) {
    run->round++;
    run->evaluated = false;
    run->engine->adding = 0;
    pl_spans_begin_round(&run->spans);
    parley_status status = advance[run->method.exchange->clock](run, error);
    run->at_start = false;
    if (status == PARLEY_OK)
        status = look(run, error);
    count_times(run);
    return status == PARLEY_OK ? pl_data_unchanged(run->rows.given, error) : status;
}

/* The log line of this round, without the parts of other ranks. */
static pl_round_trace trace_round(const pl_run *run, pl_pace_trace *pace, pl_plan_trace *plan) {
    double round = (double)run->round;
    pl_timed_trace(run, pace);
    *plan = (pl_plan_trace){pl_forecast_seconds(&run->forecast, round), pl_forecast_gap(&run->forecast, round)};
    return (pl_round_trace){.round = run->round,
                            .seconds = pl_engine_now(run->engine) - run->began,
                            .epochs = run->summary.epochs,
                            .sigma = run->asked.sigma,
                            .gamma = run->gamma,
                            .local_epochs = run->work.epochs,
                            .local_steps = pl_timed_steps(run),
                            .pace = run->work.paced ? pace : NULL,
                            .plan = run->forecast.count && run->evaluated ? plan : NULL,
                            .evaluated = run->evaluated,
                            .objective = run->evaluated ? run->best.objective : NAN,
                            .dual = run->evaluated && run->best.exists ? run->best.dual : NAN,
                            .gap = run->evaluated ? pl_gap(&run->best) : NAN,
                            .relative_gap = run->evaluated ? pl_relative_gap(&run->best) : NAN,
                            .estimate = pl_estimate_now(run),
                            .validation = pl_validation_now(run),
                            .workers = run->rows.team.workers,
                            .worker = run->told.worker,
                            .ranks = run->engine->ranks,
                            .rank = run->told.rank};
}

static parley_status log_round(pl_run *run, const pl_round_trace *trace, parley_error *error) {
    parley_error lost;
    parley_status status = pl_traces_receive(run, error);
    if (status == PARLEY_OK && run->log && pl_log_round(run->log, trace, &lost) != PARLEY_OK)
        pl_give_up_log(run, &lost);
    if (status == PARLEY_OK && run->span_file && pl_span_file_round(run->span_file, trace, &lost) != PARLEY_OK)
        pl_give_up_spans(run, &lost);
    return status;
}

parley_status pl_sum_flags(pl_run *run, double *flags, unsigned count, parley_error *error) {
    double sums[PL_DECISIONS] = {0};
    parley_status status = pl_sum_workers(run->engine, PL_EACH_RANK, flags, count, sums, error);
    memcpy(flags, sums, count * sizeof *flags);
    return status;
}

/* Problems without a certificate may have a limit on passes. */
static bool has_passed(const pl_run *run) {
    return run->type->by_change && run->settings->passes > 0 &&
           run->summary.epochs >= (double)run->settings->passes * (1.0 - 1e-9);
}

static parley_status check_stop(pl_run *run, bool *stop, parley_error *error) {
    double flags[PL_DECISIONS] = {0};
    parley_status status = pl_timed_decide(run, flags, error);
    *stop = true;
    if (status != PARLEY_OK)
        return status;
    if (run->diverged && run->type->noise > 0)
        run->summary.stop = PARLEY_DIVERGED;
    else if (pl_reached(run))
        run->summary.stop = PARLEY_CONVERGED;
    else if (flags[PL_BY_USER] > 0)
        run->summary.stop = PARLEY_INTERRUPTED;
    else if (flags[PL_BY_SECONDS] > 0)
        run->summary.stop = PARLEY_SECONDS;
    else if (has_passed(run))
        run->summary.stop = PARLEY_PASSED;
    else if (run->round >= run->settings->rounds)
        run->summary.stop = PARLEY_ROUNDS;
    else if (run->validation.rows && run->validation.worse >= run->settings->patience)
        run->summary.stop = PARLEY_PATIENCE;
    else {
        status = pl_stalls(run, stop, error);
        run->summary.stop = PARLEY_STALLED;
    }
    return *stop || status != PARLEY_OK ? status : pl_timed_goes_on(run, error);
}

/* Evaluates once more if the last rounds were not evaluated. This may even find the target reached. If a request to
 * stop cuts it short, the best model so far stays. */
static parley_status look_again(pl_run *run, parley_error *error) {
    if (is_seen(run))
        return PARLEY_OK;
    double began = pl_engine_now(run->engine);
    parley_status status = pl_evaluate(run, error);
    run->summary.evaluate_seconds += pl_engine_now(run->engine) - began;
    if (status == PARLEY_STOPPED) {
        run->summary.stop = PARLEY_INTERRUPTED;
        return PARLEY_OK;
    }
    if (pl_reached(run) && run->summary.stop != PARLEY_INTERRUPTED)
        run->summary.stop = PARLEY_CONVERGED;
    return status;
}

/* Evaluates the model `w`, which replaces the best one if it reaches the target too. */
static parley_status replace_best(pl_run *run, const double *w, parley_error *error) {
    pl_certificate best = run->best;
    double *kept;
    uint64_t bytes = run->problem->size * sizeof *kept;
    parley_status status = pl_take(&kept, run->problem->size, sizeof *kept, "the best model", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(kept, run->best.w, bytes);
    run->best.objective = INFINITY;
    status = pl_move_to(run, w, NULL, error);
    if (status == PARLEY_OK)
        status = pl_evaluate(run, error);
    if (status != PARLEY_OK || !(pl_relative_gap(&run->best) <= run->target)) {
        run->best = best;
        memcpy(run->best.w, kept, bytes);
    }
    pl_free(kept);
    return status == PARLEY_STOPPED ? PARLEY_OK : status;
}

/* Lets the combine simplify the best model. */
static parley_status polish(pl_run *run, parley_error *error) {
    uint64_t size = run->problem->size;
    double *w;
    if (run->combine->reserve == 0 || run->validation.rows)
        return PARLEY_OK;
    parley_status status = pl_take(&w, size, sizeof *w, "the model", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(w, run->best.w, size * sizeof *w);
    if (run->method.combine->polish(run->combine, run->target * run->best.scale, w))
        status = replace_best(run, w, error);
    pl_free(w);
    return status;
}

/* Whether the target is out of reach, measured every `passes` passes by how far the gap fell since. The gap at the
 * beginning, where w = 0, is 1. */
static bool is_slow(pl_run *run, double passes) {
    pl_pace *pace = &run->pace;
    double gap = pl_relative_gap(&run->best), last = pace->slow_gap, epochs = run->summary.epochs;
    if (!run->evaluated || run->target == 0 || epochs < pace->slow_epochs + passes)
        return false;
    double left = log(gap / run->target) / log(last / gap) * (epochs - pace->slow_epochs);
    double most = 2 * passes * (last < 1.0 ? 1.0 : PATIENCE); /* the beginning says little about the rest */
    pace->slow_epochs = epochs;
    pace->slow_gap = gap;
    return !(gap < last && left <= most);
}

/* Switches to the preset's second method when that is due. */
static parley_status go_on_when_due(pl_run *run, parley_error *error) {
    if (run->adapts.sequel.then && run->round > 0) {
        char preset[sizeof run->adapts.preset];
        memcpy(preset, run->adapts.preset, sizeof preset);
        return pl_change_method(run, preset, run->adapts.workers, run->adapts.lanes, true, error);
    }
    const pl_sequel *sequel = run->method.sequel;
    if (!sequel || run->round == 0)
        return PARLEY_OK;
    bool due = sequel->if_slow ? is_slow(run, sequel->epochs) : run->summary.epochs >= sequel->epochs * (1.0 - 1e-9);
    return due ? pl_go_on(run, error) : PARLEY_OK;
}

/* Ends the run after `round`, without the latest one, which all ranks left early. The solvers are in the middle of it,
 * so their state is of no use. */
static parley_status drop_round(pl_run *run, uint64_t round, bool *stop, parley_error *error) {
    double flags[PL_DECISIONS] = {0};
    run->round = round;
    run->sums.dropped = true;
    run->summary.stop = PARLEY_INTERRUPTED;
    *stop = true;
    return pl_timed_decide(run, flags, error); /* also tells the callback */
}

/* Makes a round, writes its checkpoint and its log line, and decides whether it was the last. */
static parley_status advance_and_tell(pl_run *run, bool *stop, parley_error *error) {
    pl_pace_trace pace;
    pl_plan_trace plan;
    uint64_t before = run->round;
    parley_status status = go_on_when_due(run, error);
    if (status == PARLEY_OK)
        status = one_round(run, error);
    if (status == PARLEY_STOPPED)
        return drop_round(run, before, stop, error);
    if (status != PARLEY_OK)
        return status;
    pl_round_trace trace = trace_round(run, &pace, &plan);
    status = pl_traces_send(run, error);
    if (status != PARLEY_OK)
        return status;
    pl_checkpoint_round(run);
    status = check_stop(run, stop, error);
    const pl_adaptation *adapts = &run->adapts;
    pl_adapt_trace adapt = {.preset = adapts->preset,
                            .workers = adapts->workers ? adapts->workers : run->rows.team.workers,
                            .lanes = adapts->workers ? adapts->lanes : run->rows.team.lanes,
                            .left = adapts->change.left,
                            .predicted = adapts->change.predicted,
                            .cost = adapts->change.cost};
    if (status == PARLEY_OK && run->adapts.sequel.then && !*stop)
        trace.adapt = &adapt;
    return status == PARLEY_OK ? log_round(run, &trace, error) : status;
}

/* If the objective was lost before any model was better than the first, there is no result. */
static parley_status refuse_first(const pl_run *run, parley_error *error) {
    if (run->summary.stop != PARLEY_DIVERGED ||
        memcmp(run->best.w, run->first, run->problem->size * sizeof *run->first) != 0)
        return PARLEY_OK;
    return pl_fail(
        error, PARLEY_BAD_INPUT,
        "training diverged: the objective became infinite before any model was better than the first; give a "
        "smaller --rate");
}

parley_status pl_loop(pl_run *run, parley_error *error) {
    bool stop = run->sums.dropped = false;
    parley_status status = check_stop(run, &stop, error);
    while (status == PARLEY_OK && !stop)
        status = advance_and_tell(run, &stop, error);
    run->summary.rounds = run->round;
    if (status == PARLEY_OK)
        status = refuse_first(run, error);
    if (status == PARLEY_OK && !run->sums.dropped)
        status = pl_checkpoint_last(run, error);
    bool ended = run->sums.dropped || run->summary.stop == PARLEY_DIVERGED;
    if (status == PARLEY_OK && !ended && run->summary.stop != PARLEY_CONVERGED)
        status = look_again(run, error);
    if (status == PARLEY_OK && !ended)
        status = pl_coordinator_settle(run, error);
    if (status == PARLEY_OK && !run->sums.dropped && run->summary.stop == PARLEY_CONVERGED)
        status = polish(run, error);
    return status == PARLEY_OK ? pl_checkpoint_settle(run, error) : status;
}
