/* sdca_active.c: which rows sdca visits. A row whose dual variable stays at a bound rests for 1, 3, 7, then 15 epochs.
 * If its margin is also further from moving it than half the largest violation of the last epoch, the row leaves the
 * active set, as in LIBLINEAR (Hsieh et al. 2008). Rows that left are neither visited nor shuffled.
 *
 * All rows return for an epoch when the active ones have closed nearly all of their share of the gap since the last
 * such epoch, when they have reached the target, and after a while in any case. Rows that are still far from moving
 * leave again at once. */
#include <math.h>

#include "base/random.h"
#include "linear/dual/sdca.h"

#define BOUND 0.5         /* share of the largest violation; passes grow on either side */
#define FALL 0.01         /* of the active rows' share of the gap, after which all rows return */
#define MOST_PATIENCE 256 /* epochs */

static bool any_active(const pl_sdca *self, uint64_t bucket) {
    for (uint64_t i = pl_bucket_row(bucket); i < pl_bucket_end(bucket); i++)
        if (self->rest[i] != PL_SDCA_LEFT)
            return true;
    return false;
}

/* Moves buckets whose rows all rest behind the others. */
static void compact(const pl_sdca *self, pl_sdca_worker *worker) {
    for (uint64_t n = 0; n < worker->active;) {
        uint64_t bucket = worker->buckets[n];
        if (any_active(self, bucket)) {
            n++;
            continue;
        }
        worker->buckets[n] = worker->buckets[--worker->active];
        worker->buckets[worker->active] = bucket;
    }
}

/* Rows that rest for a while keep on resting. */
static void return_all(pl_sdca *self, unsigned k) {
    const pl_team *team = self->team;
    for (unsigned p = k * team->lanes; p < (k + 1) * team->lanes; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++)
            for (uint64_t i = team->parts[p].ranges[r].begin; i < team->parts[p].ranges[r].end; i++)
                self->rest[i] = self->rest[i] == PL_SDCA_LEFT ? 0 : self->rest[i];
    self->workers[k].active = self->workers[k].count;
}

/* Whether all rows must be visited in the epoch after one with these sums. */
static bool must_return(const pl_sdca *self, const pl_sdca_worker *worker) {
    const pl_sdca_activity *last = &worker->activity;
    double target = self->target / self->team->workers;
    if (worker->epoch == 1 || last->wake || worker->active == 0)
        return true;
    return !last->whole && (last->since >= last->patience || last->residual <= FALL * last->reference ||
                            (last->residual <= target && last->reference > target));
}

/* Chooses the rows of the next epoch. */
static void choose(pl_sdca *self, unsigned k) {
    pl_sdca_worker *worker = &self->workers[k];
    pl_sdca_activity *activity = &worker->activity;
    compact(self, worker);
    if (activity->whole)
        activity->reference = activity->residual;
    bool whole = must_return(self, worker);
    if (whole)
        return_all(self, k);
    if (whole && activity->since >= activity->patience)
        activity->patience *= activity->patience < MOST_PATIENCE ? 2 : 1;
    activity->since = whole ? 0 : activity->since + 1;
    activity->bound = worker->epoch == 1 || activity->stay ? INFINITY : BOUND * activity->worst;
    activity->whole = whole;
    activity->wake = false;
    activity->residual = activity->worst = 0;
}

/* The next turn over a block, of which no row leaves: that would be seen a whole reading of the file later. */
static void begin_turn(pl_sdca *self, unsigned k) {
    pl_sdca_worker *worker = &self->workers[k];
    worker->repeats = !pl_block_order_first(worker->turns, worker->epoch);
    pl_range range =
        pl_block_order_begin(worker->turns, self->team->seed, self->team->first + k, worker->epoch++, worker->buckets);
    worker->base = range.begin;
    worker->active = range.end - range.begin;
}

void pl_sdca_begin_epoch(pl_sdca *self, unsigned k) {
    pl_sdca_worker *worker = &self->workers[k];
    if (worker->turns) {
        begin_turn(self, k);
        return;
    }
    pl_stream stream = pl_stream_make(self->team->seed, self->team->first + k, worker->epoch++);
    if (self->rest)
        choose(self, k);
    pl_shuffle(&stream, worker->buckets, worker->active);
}

void pl_sdca_note_piece(pl_sdca *self, unsigned k) {
    pl_sdca_activity *activity = &self->workers[k].activity;
    const pl_sdca_lane *lanes = &self->lanes[k * self->team->lanes];
    for (unsigned l = 0; l < self->team->lanes && self->workers[k].piece; l++) {
        activity->residual += lanes[l].piece_residual;
        activity->worst = fmax(activity->worst, lanes[l].worst);
    }
}

bool pl_sdca_wake(pl_sdca *self) {
    bool any = false;
    for (uint64_t i = 0; self->rest && i < self->glm->base.data->x.rows; i++)
        any = any || self->rest[i];
    for (unsigned k = 0; self->rest && k < self->team->hosted; k++)
        self->workers[k].activity.wake = true;
    return any;
}
