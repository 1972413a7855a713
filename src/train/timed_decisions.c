/* timed_decisions.c: all decisions that read the clock or ask the user: H if it is auto, and stopping by --seconds or
 * by the callback. Rank 0 chooses H, and any rank may stop; all ranks agree on the result. With --replay a log makes
 * these decisions. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/callback.h"
#include "base/stop.h"
#include "train/run.h"

static double items_of_a_worker(const pl_run *run) {
    return (double)pl_owners(run)->all_rows / (double)run->rows.team.workers;
}

/* Whether pacing can have chosen this H. */
static bool is_paced(double epochs) { return epochs > 0 && epochs <= PL_PACING_MOST; }

void pl_timed_open(pl_run *run) {
    const parley_settings *settings = run->settings;
    const pl_local_type *local = run->method.local;
    run->work.paced = pl_local_reads(local, "local_steps") && !run->setup.gradients && !settings->local_steps &&
                      isnan(settings->local_epochs);
    pl_pacing_open(&run->work.pacing, run->rows.team.workers, 1.0 / items_of_a_worker(run));
    const pl_alternative *planned = run->adapts.state.now;
    if (!planned)
        planned = pl_forecast_find(&run->forecast, settings->preset, run->rows.team.workers);
    if (run->work.paced && planned && is_paced(planned->epochs) && run->rows.team.workers > 1)
        pl_pacing_begin(&run->work.pacing, planned->epochs, planned->compute / planned->epochs, planned->exchange);
    bool has_steps = pl_local_reads(local, "local_epochs") && !run->setup.gradients;
    run->work.epochs = !has_steps              ? NAN
                       : run->work.paced       ? run->work.pacing.epochs
                       : settings->local_steps ? (double)settings->local_steps / items_of_a_worker(run)
                                               : settings->local_epochs;
    if (run->work.paced && run->round < run->replay.rounds && is_paced(run->replay.epochs[run->round]))
        run->work.epochs = run->replay.epochs[run->round];
    run->work.gap_seen = run->best.scale;
}

uint64_t pl_timed_steps(const pl_run *run) {
    if (isnan(run->work.epochs) || run->settings->local_steps)
        return isnan(run->work.epochs) ? 0 : run->settings->local_steps;
    return (uint64_t)fmax(1.0, round(run->work.epochs * items_of_a_worker(run)));
}

/* The gap after the latest round, or an estimate of it; NaN if it is unknown. */
static double gap_after(const pl_run *run) {
    if (run->method.local->traits & PL_ESTIMATES_GAP)
        return run->pace.residual;
    return run->evaluated ? pl_relative_gap(&run->best) : NAN;
}

void pl_timed_trace(const pl_run *run, pl_pace_trace *trace) {
    const pl_pacing *pacing = &run->work.pacing;
    bool replay = *run->settings->replay;
    double known = isnan(pacing->epoch_seconds) ? NAN : 1.0;
    *trace =
        (pl_pace_trace){.why = replay ? "replay" : pacing->why,
                        .epoch_seconds = pacing->epoch_seconds,
                        .round_seconds = pacing->round_seconds,
                        .predicted_seconds = known * (pacing->epoch_seconds * pacing->epochs + pacing->round_seconds),
                        .seconds = run->work.local + run->work.rest,
                        .predicted_fall = pacing->fall,
                        .fall = log(run->work.gap_seen / gap_after(run))};
}

static parley_status check_replay(const pl_run *run, parley_error *error) {
    const pl_replay *replay = &run->replay;
    double was = run->round ? replay->objective[run->round - 1] : NAN;
    if (isfinite(was) && was != run->best.objective)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "--replay %s: after round %" PRIu64
                       " the objective is %.17g, but it was %.17g in that run; the log was "
                       "written by another version of Parley, or on a machine with another mathematical library",
                       run->settings->replay, run->round, run->best.objective, was);
    bool changes = pl_replay_changed(replay, run->round) != NULL; /* the next preset may have no H */
    if (run->work.paced && !changes && run->round < replay->rounds && !is_paced(replay->epochs[run->round]))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "--replay %s: local_epochs of round %" PRIu64
                       " is %g, but H was chosen by the run and is never above %g; the log is damaged",
                       run->settings->replay, run->round + 1, replay->epochs[run->round], PL_PACING_MOST);
    return PARLEY_OK;
}

/* Whether the plan has several H of the method, so that it chooses between them. Otherwise pacing does. */
static bool is_paced_by_plan(const pl_run *run) {
    return run->work.paced && run->settings->adapt && run->rows.team.workers > 1 &&
           pl_forecast_paces(&run->forecast, run->settings->preset, run->rows.team.workers);
}

/* After --resume the run may have another H than the plan begins with. */
static void find_now(const pl_run *run, pl_adapt *state) {
    for (unsigned a = 0; a < run->forecast.alternatives; a++) {
        const pl_alternative *one = &run->forecast.alternative[a];
        if (state->now && pl_same_method(one, state->now) && one->epochs == run->work.epochs)
            state->now = one;
    }
}

/* Goes on with the H of the plan that reaches the target soonest at what rounds cost now. */
static void pace_by_plan(pl_run *run, double gap) {
    pl_pacing *pacing = &run->work.pacing;
    pl_adapt *state = &run->adapts.state;
    const pl_alternative *to = pl_adapt_pace(state, &run->forecast, gap, run->target);
    pacing->why = "hold";
    if (!to || !is_paced(to->epochs))
        return;
    pacing->why = to->epochs > state->now->epochs ? "longer pays" : "shorter pays";
    pacing->epochs = pacing->base = fmax(pacing->least, to->epochs);
    pl_adapt_paced(state, to);
}

/* Whether to go on as another preset or with other workers: 1 + the number of that method in the plan, or 0. */
static double judge_change(pl_run *run, double estimate) {
    pl_adaptation *adapts = &run->adapts;
    double gap = run->evaluated ? pl_relative_gap(&run->best) : estimate; /* NaN if there is none */
    if (!run->settings->adapt || !run->forecast.alternatives || run->round == 0 || run->round == run->work.noted)
        return 0;
    find_now(run, &adapts->state);
    pl_adapt_note(&adapts->state, run->work.epochs, run->work.local, run->work.rest, (double)run->round, gap);
    if (is_paced_by_plan(run))
        pace_by_plan(run, gap);
    adapts->change = (pl_change){0};
    adapts->state.divided = !pl_can_place_again(run);
    if (gap > 0)
        adapts->change = pl_adapt_judge(&adapts->state, &run->forecast, gap, run->target);
    return adapts->change.to ? (double)(adapts->change.to - run->forecast.alternative) + 1 : 0;
}

/* All ranks note as what the run goes on. */
static void note_change(pl_run *run, double number) {
    pl_adaptation *adapts = &run->adapts;
    const pl_replay_change *replayed = *run->settings->replay ? pl_replay_changed(&run->replay, run->round) : NULL;
    const pl_alternative *to = NULL;
    if (number >= 1 && number <= run->forecast.alternatives)
        to = &run->forecast.alternative[(unsigned)number - 1];
    adapts->sequel.then = NULL;
    if (!replayed && !to)
        return;
    snprintf(adapts->preset, sizeof adapts->preset, "%s", replayed ? replayed->preset : to->preset);
    adapts->sequel.then = adapts->preset;
    adapts->workers = replayed ? replayed->workers : to->workers;
    adapts->lanes = replayed ? replayed->lanes : to->lanes;
    if (!adapts->workers || !adapts->lanes || adapts->workers > pl_all_rows(run->rows.data) || !pl_can_place_again(run))
        adapts->workers = adapts->lanes = 0;
}

/* Takes the decisions of the log after this round. */
static void take_decisions(const pl_run *run, double *flags) {
    const pl_replay *replay = &run->replay;
    bool last = run->round >= replay->rounds;
    flags[PL_BY_SECONDS] = last && replay->seconds;
    if (last && (replay->interrupted || !replay->ended))
        flags[PL_BY_USER] = 1;
    flags[PL_EPOCHS] = run->work.paced && !last ? replay->epochs[run->round] : 0;
}

parley_status pl_timed_decide(pl_run *run, double *flags, parley_error *error) {
    bool replay = *run->settings->replay;
    parley_progress progress;
    parley_status status = replay ? check_replay(run, error) : PARLEY_OK;
    if (status != PARLEY_OK)
        return status;
    pl_progress(run, &progress);
    double gap = gap_after(run);
    if (run->work.paced && run->round > run->work.noted && !replay && !is_paced_by_plan(run))
        pl_pacing_note(&run->work.pacing, run->work.local, run->work.rest, gap);
    flags[PL_CHANGE] = run->engine->rank == 0 && !replay ? judge_change(run, progress.estimate) : 0;
    run->work.noted = run->round;
    run->work.gap_seen = isfinite(gap) && run->round ? gap : run->work.gap_seen;
    flags[PL_BY_USER] = run->callback && pl_call_back(run->callback, run->user, &progress, NULL) != 0;
    flags[PL_BY_USER] += pl_stop_asked();
    flags[PL_BY_SECONDS] = pl_engine_now(run->engine) - run->began >= run->settings->seconds;
    flags[PL_EPOCHS] = run->work.paced ? run->work.pacing.epochs : 0;
    if (replay)
        take_decisions(run, flags);
    flags[PL_EPOCHS] = run->engine->rank == 0 ? flags[PL_EPOCHS] : 0;
    flags[PL_SENT] = (double)run->rank_bytes_sent;
    run->rank_bytes_sent = 0;
    pl_checkpoint_report(run, flags);
    status = pl_sum_flags(run, flags, PL_DECISIONS, error);
    run->summary.rank_bytes_sent += (uint64_t)flags[PL_SENT];
    if (status == PARLEY_OK)
        pl_checkpoint_agreed(run, flags);
    if (status == PARLEY_OK)
        note_change(run, flags[PL_CHANGE]);
    if (run->work.paced && flags[PL_EPOCHS] > 0)
        run->work.epochs = flags[PL_EPOCHS];
    return status;
}

parley_status pl_timed_goes_on(const pl_run *run, parley_error *error) {
    if (!*run->settings->replay || run->round < run->replay.rounds)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "--replay %s: that run ended after round %" PRIu64
                   ", but this one would continue; the log was written by "
                   "another version of Parley, or on a machine with another mathematical library",
                   run->settings->replay, run->replay.rounds);
}
