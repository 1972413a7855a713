/* sdca_state.c: the state of sdca between two rounds: dual variables, resting rows, the order of this epoch, and the
 * last changes, for momentum. */
#include "linear/dual/sdca.h"

static void list_activity(pl_sdca *self, pl_state *state, pl_sdca_worker *worker) {
    pl_sdca_activity *activity = &worker->activity;
    pl_state_rows(state, self->team, "rest", self->rest, PL_U8, 1);
    if (!pl_state_has(state, "activity")) {
        activity->stay = true;
        return;
    }
    PL_STATE_VALUES(state, "activity", PL_WITHIN(worker->active, 0, worker->count),
                    PL_WITHIN(activity->residual, -DBL_MAX, DBL_MAX), PL_WITHIN(activity->worst, 0, DBL_MAX),
                    PL_UNSURE(activity->bound), PL_UNSURE(activity->reference), PL_VALUE(activity->since),
                    PL_WITHIN(activity->patience, 1, PL_MOST_WHOLE), PL_VALUE(activity->whole),
                    PL_VALUE(activity->wake), PL_VALUE(activity->stay));
}

void pl_sdca_state(pl_local *local, pl_state *state) {
    pl_sdca *self = (pl_sdca *)local;
    const pl_glm *glm = self->glm;
    pl_state_array(state, "b0", self->b0, PL_F64, glm->classes);
    if (pl_state_has(state, "plain"))
        PL_STATE_VALUES(state, "plain", PL_VALUE(self->plain));
    else
        self->plain = true;
    if (self->v_previous)
        pl_state_array(state, "v_previous", self->v_previous, PL_F64, glm->base.size);
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_sdca_worker *worker = &self->workers[k];
        pl_state_of(state, "local", k);
        PL_STATE_VALUES(state, "worker", PL_WITHIN(worker->cursor, 0, worker->count), PL_VALUE(worker->epoch),
                        PL_WITHIN(worker->syncs, 1, PL_SDCA_SYNCS),
                        PL_WITHIN(worker->lane_sigma, 1, self->team->lanes));
        if (pl_state_has(state, "alone"))
            PL_STATE_VALUES(state, "alone", PL_VALUE(worker->one_lane));
        else
            worker->one_lane = false; /* the run began with a version in which lanes always shared their rows */
        pl_bucket_state(state, self->team, k, worker->buckets, worker->count);
        if (worker->turns && state->restoring && worker->epoch > 0) {
            pl_block_order_restore(worker->turns, state, self->team, k, worker->epoch - 1, worker->cursor,
                                   &worker->base, &worker->active);
            worker->repeats = !pl_block_order_first(worker->turns, worker->epoch - 1);
        }
        pl_state_rows(state, self->team, "t", self->t, PL_F64, glm->classes);
        if (self->rest)
            list_activity(self, state, worker);
        if (worker->previous)
            pl_state_array(state, "previous", worker->previous, PL_F64, pl_sdca_places(self, worker));
    }
    if (self->rest && self->team->hosted)
        pl_rest_check(state, self->rest, glm->base.data->x.rows, PL_SDCA_LEFT);
}
