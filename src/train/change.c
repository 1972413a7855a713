/* change.c: changes the method of a run between two rounds: to another preset, or to another number of workers, or to
 * both (--adapt). The run keeps its model, its certificate, its log and its count of rounds. Rows go to the ranks of
 * their next workers without being read again. Where the solver stays, the private state of the rows goes with them, so
 * that nothing is lost but the order in which they are visited; otherwise the next solver starts from the model. */
#include <stdio.h>
#include <string.h>

#include "train/run.h"

/* Copies the private state of the rows, before the solver is closed. */
static parley_status keep_rows(pl_run *run, parley_error *error) {
    const pl_local_restart *restart = run->method.local->restart;
    if (!restart || !restart->by_row)
        return PARLEY_OK;
    const double *values = restart->by_row(run->local, &run->kept.width);
    uint64_t count = run->rows.data->x.rows * run->kept.width;
    parley_status status = pl_take(&run->kept.values, count + 1, sizeof *values, "the state of rows", error);
    if (status == PARLEY_OK && count > 0)
        memcpy(run->kept.values, values, count * sizeof *values);
    return status;
}

static void drop_rows(pl_run *run) {
    pl_free(run->kept.values);
    run->kept = (pl_row_table){0};
}

/* Moves the opened solver to where the run was. */
static parley_status go_on_from(pl_run *run, const pl_local_type *before, parley_error *error) {
    bool worse = run->evaluated && run->best.latest > run->best.objective;
    if (run->kept.values && run->method.local == before)
        return pl_move_to(run, run->w, run->kept.values, error);
    return pl_move_to(run, worse ? run->best.w : run->w, NULL, error);
}

/* Closes the members and opens the next ones, in new shards if the workers change. */
static parley_status reopen(pl_run *run, bool moves, parley_error *error) {
    const pl_local_type *before = run->method.local;
    parley_status status = PARLEY_OK;
    if (moves)
        status = run->method.local->primal(run->local, run->tables.v, run->w, error);
    if (status == PARLEY_OK && moves)
        status = keep_rows(run, error);
    if (status == PARLEY_OK)
        status = pl_open_next(run, error);
    if (status == PARLEY_OK && moves)
        status = go_on_from(run, before, error);
    drop_rows(run);
    return status;
}

parley_status pl_change_method(pl_run *run, const char *preset, unsigned workers, unsigned lanes, bool moves,
                               parley_error *error) {
    pl_adaptation *adapts = &run->adapts;
    const pl_team *team = &run->rows.team;
    parley_status status = pl_checkpoint_settle(run, error);
    if (status != PARLEY_OK)
        return status;
    snprintf(adapts->preset, sizeof adapts->preset, "%s", preset);
    bool same = !workers || (workers == team->workers && lanes == team->lanes);
    adapts->workers = same ? 0 : workers;
    adapts->lanes = same ? 0 : lanes;
    adapts->sequel.then = adapts->preset;
    run->method.sequel = &adapts->sequel;
    run->later->local = "auto"; /* a replayed log names those of the old preset */
    run->later->combine = run->later->exchange = "auto";
    const pl_alternative *to = adapts->change.to;
    if (!moves || !to) /* of a checkpoint, or on a rank that did not decide */
        to = pl_forecast_find(&run->forecast, preset, workers ? workers : team->workers);
    pl_adapt_open(&adapts->state, to);
    status = reopen(run, moves, error);
    run->method.sequel = NULL;
    adapts->sequel.then = NULL;
    adapts->workers = adapts->lanes = 0;
    return status;
}
