/* sdca_lanes.c: synchronises the lanes of a worker, each of which worked on a copy of u. With D_l the lanes' changes
 * and r = |sum D_l|^2 / sum |D_l|^2, their sum is taken with the safe step min(1, sigma / r), and sigma follows r. */
#include <math.h>

#include "linear/dual/sdca.h"

#define SYNC_COST 3      /* least non-zeros that a lane visits per entry that it synchronises */
#define CLASSES_COST 12  /* the same per row of a table of several classes, whose steps take four classes at a time */
#define SYNC_LEAST 10000 /* least non-zeros between two synchronisations */
#define STRIP 256        /* entries that are added at a time, in the first-level cache */

/* The entries of v that lane `l` adds up. */
static pl_range lane_entries(const pl_sdca *self, unsigned l) {
    return (pl_range){self->glm->base.size * l / self->team->lanes, self->glm->base.size * (l + 1) / self->team->lanes};
}

/* Adds the lanes' changes of entries [begin, end), at most STRIP, to the first lane's copy. Returns sum |D_l|^2, and
 * |sum D_l|^2 in `squared`. */
static double add_strip(pl_sdca_lane *first, unsigned lanes, const double *current, double inverse, uint64_t begin,
                        uint64_t end, double *squared) {
    double sum[STRIP] = {0}, spread[STRIP] = {0}, total = 0, total_squared = 0;
    uint64_t count = end - begin;
    for (unsigned l = 0; l < lanes; l++)
        for (uint64_t j = 0; j < count; j++) {
            double change = (first[l].u[begin + j] - current[begin + j]) * inverse;
            sum[j] += change;
            spread[j] += change * change;
        }
    for (uint64_t j = 0; j < count; j++) {
        first->u[begin + j] = sum[j];
        total += spread[j];
        total_squared += sum[j] * sum[j];
    }
    *squared = total_squared;
    return total;
}

static void add_task(void *context, unsigned task) {
    pl_sdca *self = context;
    unsigned lanes = self->team->lanes;
    const pl_sdca_worker *worker = &self->workers[task / lanes];
    pl_sdca_lane *mine = &self->lanes[task], *first = &self->lanes[task - task % lanes];
    double began = pl_engine_now(self->team->engine), inverse = 1.0 / worker->lane_sigma, squared;
    uint64_t columns = self->glm->base.data->x.columns * self->glm->classes;
    pl_range range = lane_entries(self, task % lanes);
    mine->spread = mine->sum_spread = 0;
    for (uint64_t begin = range.begin, end; begin < range.end && worker->piece; begin = end) {
        end = begin + STRIP < range.end ? begin + STRIP : range.end;
        end = begin < columns && end > columns ? columns : end; /* the intercept has its own metric */
        double metric = pl_metric(self->glm, begin);
        mine->spread += metric * add_strip(first, lanes, worker->current, inverse, begin, end, &squared);
        mine->sum_spread += metric * squared;
    }
    mine->seconds += pl_engine_now(self->team->engine) - began;
}

/* Takes the sum with the safe step. If that is below 1, the changes of the dual variables shrink by the same factor.
 * Those of rows that left the active set did not change. */
static void take_task(void *context, unsigned task) {
    pl_sdca *self = context;
    unsigned lanes = self->team->lanes, l = task % lanes;
    const pl_sdca_worker *worker = &self->workers[task / lanes];
    pl_sdca_lane *mine = &self->lanes[task], *first = &self->lanes[task - l];
    double began = pl_engine_now(self->team->engine), gamma = worker->lane_gamma, *current = worker->current;
    pl_range range = lane_entries(self, l);
    if (!worker->piece)
        range.end = range.begin;
    for (uint64_t j = range.begin; j < range.end; j++)
        first->u[j] = current[j] += gamma * first->u[j];
    for (unsigned m = 1; m < lanes; m++)
        for (uint64_t j = range.begin; j < range.end; j++)
            first[m].u[j] = current[j];
    uint64_t classes = self->glm->classes, begin = pl_lane_begin(worker, l, lanes),
             end = pl_lane_begin(worker, l + 1, lanes);
    for (uint64_t n = begin; n < end && gamma != 1.0; n++)
        for (uint64_t i = pl_bucket_row(worker->buckets[n]); i < pl_bucket_end(worker->buckets[n]); i++)
            for (uint64_t e = i * classes; e < (i + 1) * classes && !(self->rest && self->rest[i] == PL_SDCA_LEFT); e++)
                self->t[e] = self->t_piece[e] + gamma * (self->t[e] - self->t_piece[e]);
    mine->seconds += pl_engine_now(self->team->engine) - began;
}

static void judge_lanes(pl_sdca *self, unsigned k) {
    unsigned lanes = self->team->lanes;
    pl_sdca_worker *worker = &self->workers[k];
    double spread = 0, sum_spread = 0;
    worker->lane_gamma = 1.0;
    if (!worker->piece || self->delayed || worker->one_lane)
        return; /* it did not take part, sigma is safe for all its steps together, or one lane made them */
    for (unsigned l = 0; l < lanes; l++) {
        spread += self->lanes[k * lanes + l].spread;
        sum_spread += self->lanes[k * lanes + l].sum_spread;
    }
    double ratio = spread > 0 ? sum_spread / spread : 1.0;
    worker->lane_gamma = ratio > worker->lane_sigma ? worker->lane_sigma / ratio : 1.0;
    worker->lane_sigma = fmin(lanes, fmax(1.0, fmax(1.15 * ratio, 0.7 * worker->lane_sigma)));
}

uint64_t pl_lane_syncs(const pl_sdca *self, double nonzeros) {
    double cost = self->glm->classes > 1 ? CLASSES_COST : SYNC_COST;
    double least = fmax(SYNC_LEAST, cost * (double)(self->glm->base.size / self->glm->classes));
    double syncs = nonzeros / (least * (double)self->team->lanes);
    return self->team->lanes == 1 || syncs < 1 ? 1 : syncs > PL_SDCA_SYNCS ? PL_SDCA_SYNCS : (uint64_t)syncs;
}

void pl_lanes_sync(pl_sdca *self) {
    pl_team_run(self->team, add_task, self);
    for (unsigned k = 0; k < self->team->hosted; k++)
        judge_lanes(self, k);
    pl_team_run(self->team, take_task, self);
}
