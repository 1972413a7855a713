/* run_state.c: lists the state of a run between two rounds. */
#include "train/run.h"

static void list_certificate(pl_run *run, pl_state *state) {
    pl_certificate *best = &run->best;
    PL_STATE_VALUES(state, "best", PL_VALUE(best->scale), PL_VALUE(best->objective), PL_VALUE(best->value),
                    PL_VALUE(best->dual), PL_VALUE(best->measure), PL_VALUE(best->reference));
    pl_state_array(state, "best_w", best->w, PL_F64, run->problem->size);
}

static void list_pace(pl_pace *pace, pl_state *state) {
    PL_STATE_VALUES(state, "pace", PL_VALUE(pace->passes), PL_VALUE(pace->threshold), PL_VALUE(pace->estimate),
                    PL_VALUE(pace->trusted), PL_VALUE(pace->seen_gap), PL_VALUE(pace->seen_epochs),
                    PL_VALUE(pace->look_after), PL_VALUE(pace->residual), PL_VALUE(pace->watched),
                    PL_VALUE(pace->watched_objective), PL_VALUE(pace->window), PL_VALUE(pace->slow_gap),
                    PL_VALUE(pace->slow_epochs), PL_VALUE(pace->last_gap), PL_VALUE(pace->told));
}

static void list_validation(pl_run *run, pl_state *state) {
    pl_validation *validation = &run->validation;
    if (!validation->rows)
        return;
    PL_STATE_VALUES(state, "validation", PL_VALUE(validation->latest), PL_VALUE(validation->best),
                    PL_VALUE(validation->best_round), PL_VALUE(validation->worse), PL_VALUE(validation->objective));
    pl_state_array(state, "validation_w", validation->w, PL_F64, run->problem->size);
}

/* H if it is auto. The reason for it is only for the log, and is not saved. */
static void list_pacing(pl_pacing *pacing, pl_state *state) {
    pl_pacing_block *block = &pacing->block;
    PL_STATE_VALUES(state, "pacing", PL_VALUE(pacing->epochs), PL_VALUE(pacing->fall), PL_VALUE(pacing->epoch_seconds),
                    PL_VALUE(pacing->round_seconds), PL_VALUE(pacing->fixed_seconds), PL_VALUE(pacing->reach),
                    PL_VALUE(pacing->most_fall), PL_VALUE(pacing->base), PL_VALUE(pacing->before.mean),
                    PL_VALUE(pacing->before.variance), PL_VALUE(pacing->tried.mean), PL_VALUE(pacing->tried.variance),
                    PL_VALUE(pacing->trial), PL_VALUE(pacing->direction), PL_VALUE(pacing->wins),
                    PL_VALUE(pacing->failures), PL_VALUE(pacing->wait), PL_VALUE(pacing->on_trial),
                    PL_VALUE(pacing->rounds));
    PL_STATE_VALUES(state, "block", PL_VALUE(block->rounds), PL_VALUE(block->points), PL_VALUE(block->x),
                    PL_VALUE(block->y), PL_VALUE(block->xx), PL_VALUE(block->xy), PL_VALUE(block->yy));
    pl_state_array(state, "pacing_work", pacing->work, PL_F64, PL_PACING_ROUNDS);
    pl_state_array(state, "pacing_local", pacing->local, PL_F64, PL_PACING_ROUNDS);
    pl_state_array(state, "pacing_rest", pacing->rest, PL_F64, PL_PACING_ROUNDS);
    pacing->why = state->restoring ? "resumed" : pacing->why;
}

/* Counts that are the same on all ranks. Where they differ, those of rank 0, which reports them. */
static void list_progress(pl_run *run, pl_state *state) {
    parley_summary *summary = &run->summary;
    double seconds = pl_engine_now(run->engine) - run->began;
    PL_STATE_VALUES(state, "progress", PL_VALUE(run->round), PL_VALUE(seconds), PL_VALUE(summary->epochs),
                    PL_VALUE(summary->compute_seconds), PL_VALUE(summary->exchange_seconds),
                    PL_VALUE(summary->wait_seconds), PL_VALUE(summary->evaluate_seconds), PL_VALUE(summary->bytes_sent),
                    PL_VALUE(run->asked.sigma), PL_VALUE(run->gamma), PL_VALUE(run->work.epochs),
                    PL_VALUE(run->work.gap_seen), PL_VALUE(run->work.local), PL_VALUE(run->work.rest),
                    PL_VALUE(run->work.noted), PL_VALUE(run->evaluated));
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
    list_order(run, state);
    pl_state_of(state, "run", PL_STATE_ALL);
    pl_state_array(state, "v", state->restoring ? pl_next_v(run) : run->tables.v, PL_F64, run->tables.entries);
    list_certificate(run, state);
    list_pace(&run->pace, state);
    list_validation(run, state);
    list_pacing(&run->work.pacing, state);
    list_progress(run, state);
    pl_state_of(state, "local", PL_STATE_ALL);
    run->method.local->state(run->local, state);
    pl_state_of(state, "combine", PL_STATE_ALL);
    run->method.combine->state(run->combine, state);
    if (run->method.exchange->state) {
        pl_state_of(state, "exchange", PL_STATE_ALL);
        run->method.exchange->state(run->exchange, state);
    }
}
