/* run_state.c: lists the state of a run between two rounds. */
#include "train/run.h"

#define MOST_SECONDS 1e15

static void list_certificate(pl_run *run, pl_state *state) {
    pl_certificate *best = &run->best;
    PL_STATE_VALUES(state, "best", PL_UNSURE(best->scale), PL_UNSURE(best->objective), PL_UNSURE(best->value),
                    PL_UNSURE(best->dual), PL_UNSURE(best->measure), PL_UNSURE(best->reference));
    if (run->type->noise > 0)
        PL_STATE_VALUES(state, "least", PL_UNSURE(best->least));
    if (best->w != run->tables.v)
        pl_state_array(state, "best_w", best->w, PL_F64, run->problem->size);
}

static void list_pace(pl_pace *pace, uint64_t round, pl_state *state) {
    PL_STATE_VALUES(state, "pace", PL_WITHIN(pace->passes, 0, PL_MOST_WHOLE), PL_UNSURE(pace->threshold),
                    PL_UNSURE(pace->estimate), PL_VALUE(pace->trusted), PL_UNSURE(pace->seen_gap),
                    PL_UNSURE(pace->seen_epochs), PL_UNSURE(pace->look_after), PL_UNSURE(pace->residual),
                    PL_UNSURE(pace->watched), PL_UNSURE(pace->watched_objective), PL_WITHIN(pace->window, 0, round),
                    PL_UNSURE(pace->slow_gap), PL_UNSURE(pace->slow_epochs), PL_UNSURE(pace->last_gap),
                    PL_WITHIN(pace->told, 0, round));
}

static void list_validation(pl_run *run, uint64_t round, pl_state *state) {
    pl_validation *validation = &run->validation;
    if (!validation->rows)
        return;
    PL_STATE_VALUES(state, "validation", PL_UNSURE(validation->latest), PL_UNSURE(validation->best),
                    PL_WITHIN(validation->best_round, 0, round), PL_VALUE(validation->worse),
                    PL_UNSURE(validation->objective));
    pl_state_array(state, "validation_w", validation->w, PL_F64, run->problem->size);
}

static void list_block(pl_pacing_block *block, uint64_t round, pl_state *state) {
    PL_STATE_VALUES(state, "block", PL_WITHIN(block->rounds, 0, round), PL_WITHIN(block->points, 0, round),
                    PL_VALUE(block->x), PL_VALUE(block->y), PL_VALUE(block->xx), PL_VALUE(block->xy),
                    PL_VALUE(block->yy));
}

/* H if it is auto. The reason for it is only for the log, and is not saved. */
static void list_pacing(pl_pacing *pacing, uint64_t round, pl_state *state) {
    PL_STATE_VALUES(
        state, "pacing", PL_WITHIN(pacing->epochs, pacing->least, PL_PACING_MOST), PL_UNSURE(pacing->fall),
        PL_UNSURE(pacing->epoch_seconds), PL_UNSURE(pacing->round_seconds), PL_UNSURE(pacing->fixed_seconds),
        PL_WITHIN(pacing->reach, PL_PACING_FEWEST, 1.0 / PL_PACING_FEWEST), PL_UNSURE(pacing->most_fall),
        PL_WITHIN(pacing->base, pacing->least, PL_PACING_MOST), PL_UNSURE(pacing->before.mean),
        PL_UNSURE(pacing->before.variance), PL_UNSURE(pacing->tried.mean), PL_UNSURE(pacing->tried.variance),
        PL_WITHIN(pacing->trial, 0, PL_PACING_MOST), PL_WITHIN(pacing->direction, -1, 1), PL_VALUE(pacing->wins),
        PL_WITHIN(pacing->failures, 0, round), PL_WITHIN(pacing->wait, 0, PL_PACING_WAIT), PL_VALUE(pacing->on_trial),
        PL_WITHIN(pacing->rounds, 0, round));
    list_block(&pacing->block, round, state);
    pl_state_array(state, "pacing_work", pacing->work, PL_F64, PL_PACING_ROUNDS);
    pl_state_array(state, "pacing_local", pacing->local, PL_F64, PL_PACING_ROUNDS);
    pl_state_array(state, "pacing_rest", pacing->rest, PL_F64, PL_PACING_ROUNDS);
    pacing->why = state->restoring ? "resumed" : pacing->why;
}

/* Counts that are the same on all ranks. Where they differ, those of rank 0, which reports them. Unless H is auto, the
 * settings have decided it. */
static void list_progress(pl_run *run, uint64_t round, pl_state *state) {
    parley_summary *summary = &run->summary;
    pl_local_work *work = &run->work;
    double seconds = pl_engine_now(run->engine) - run->began;
    pl_value epochs = PL_WITHIN(work->epochs, work->paced ? work->pacing.least : work->epochs,
                                work->paced ? PL_PACING_MOST : work->epochs);
    epochs.unknown = isnan(work->epochs);
    PL_STATE_VALUES(state, "progress", PL_WITHIN(run->round, round, round), PL_WITHIN(seconds, 0, MOST_SECONDS),
                    PL_WITHIN(summary->epochs, 0, PL_MOST_WHOLE), PL_WITHIN(summary->compute_seconds, 0, MOST_SECONDS),
                    PL_WITHIN(summary->exchange_seconds, 0, MOST_SECONDS),
                    PL_WITHIN(summary->wait_seconds, 0, MOST_SECONDS),
                    PL_WITHIN(summary->evaluate_seconds, 0, MOST_SECONDS), PL_VALUE(summary->bytes_sent),
                    PL_UNSURE(run->asked.sigma), PL_UNSURE(run->gamma), epochs, PL_UNSURE(work->gap_seen),
                    PL_WITHIN(work->local, 0, MOST_SECONDS), PL_WITHIN(work->rest, 0, MOST_SECONDS),
                    PL_WITHIN(work->noted, 0, round), PL_VALUE(run->evaluated));
    if (state->restoring)
        run->began = pl_engine_now(run->engine) - seconds;
}

/* The fingerprint of the data does not depend on the order of rows, so that is compared separately. */
static void list_order(pl_run *run, pl_state *state) {
    for (unsigned k = 0; k < run->rows.team.hosted; k++) {
        uint64_t order = run->order[k];
        pl_state_of(state, "run", k);
        pl_state_array(state, "order", &order, PL_U64, 1);
        if (order != run->order[k])
            pl_state_fail(
                state, PARLEY_BAD_INPUT,
                "--resume: these data have the rows of that run in another order; give them in the same order");
    }
}

void pl_run_state(pl_run *run, pl_state *state) {
    uint64_t round = state->restoring ? state->parts->round : run->round;
    list_order(run, state);
    pl_state_of(state, "run", PL_STATE_ALL);
    pl_state_array(state, "v", state->restoring ? pl_next_v(run) : run->tables.v, PL_F64, run->tables.entries);
    list_certificate(run, state);
    list_pace(&run->pace, round, state);
    list_validation(run, round, state);
    list_pacing(&run->work.pacing, round, state);
    list_progress(run, round, state);
    pl_state_of(state, "local", PL_STATE_ALL);
    run->method.local->state(run->local, state);
    pl_state_of(state, "combine", PL_STATE_ALL);
    run->method.combine->state(run->combine, state);
    if (run->method.exchange->state) {
        pl_state_of(state, "exchange", PL_STATE_ALL);
        run->method.exchange->state(run->exchange, state);
    }
}
