/* sdca_setup.c: allocates the sdca solver, and prepares the order of rows. */
#include <math.h>
#include <string.h>

#include "engine/shared_memory.h"
#include "linear/dual/sdca.h"

#define WIDE 4 /* an update that touches more than one entry in this many has room for all entries of v */

void pl_sdca_close(pl_local *local) {
    pl_sdca *self = (pl_sdca *)local;
    if (!self)
        return;
    for (unsigned k = 0; self->turns && k < self->team->hosted; k++)
        pl_block_order_close(&self->turns[k]);
    for (unsigned k = 0; self->workers && k < self->team->hosted; k++) {
        pl_shared_free(self->team->engine, self->workers[k].previous);
        if (self->team->workers > 1)
            pl_shared_free(self->team->engine, self->workers[k].change);
        pl_shared_free(self->team->engine, self->workers[k].support);
    }
    pl_free(self->v_previous);
    pl_span_free(&self->copies);
    void *owned[] = {self->t,       self->t_round, self->t_piece, self->rest, self->z,     self->buckets,
                     self->workers, self->lanes,   self->b0,      self->b,    self->turns, self};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
}

/* With --block, rows are visited block by block. */
static parley_status open_turns(pl_sdca *self, const parley_settings *settings, parley_error *error) {
    const pl_team *team = self->team;
    if (!(settings->block > 0))
        return PARLEY_OK;
    parley_status status = pl_take(&self->turns, team->hosted, sizeof *self->turns, "the order of rows", error);
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++) {
        self->workers[k].turns = &self->turns[k];
        status = pl_block_order_open(&self->turns[k], team, k, self->glm->base.data, settings->block,
                                     settings->local_epochs, error);
    }
    return status;
}

/* Whether most of the worker's rows soon rest, at a kink of the loss, and leave too little work for several lanes. */
static bool shares_few_rows(const pl_sdca *self, unsigned k) {
    const pl_team *team = self->team;
    return team->lanes > 1 && !self->delayed && self->rest && !self->glm->loss->smooth &&
           team->nonzeros[k] < (uint64_t)team->lanes * PL_RESTING_NONZEROS;
}

static parley_status open_buckets(pl_sdca *self, const parley_settings *settings, parley_error *error) {
    const pl_team *team = self->team;
    uint64_t rows = pl_bucket_rows(self->glm->base.data), total = 0;
    parley_status status = open_turns(self, settings, error);
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++)
        total += self->workers[k].count =
            self->turns ? pl_block_order_buckets(&self->turns[k]) : pl_bucket_count(team, k, rows);
    if (status == PARLEY_OK)
        status = pl_take(&self->buckets, total, sizeof *self->buckets, "the order of rows", error);
    uint64_t *next = self->buckets;
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++) {
        pl_sdca_worker *worker = &self->workers[k];
        worker->buckets = next;
        if (self->turns)
            pl_block_order_fill(&self->turns[k], next);
        else
            pl_bucket_fill(team, k, rows, next);
        next += worker->count;
        worker->active = worker->count;
        worker->activity = (pl_sdca_activity){.bound = INFINITY, .reference = INFINITY, .patience = PL_SDCA_PATIENCE};
        worker->syncs = pl_lane_syncs(self, (double)team->nonzeros[k]);
        worker->one_lane = shares_few_rows(self, k);
        worker->lane_sigma = self->delayed || worker->one_lane ? 1 : team->lanes;
    }
    return status;
}

static bool steps_in_place(const pl_setup *setup) { return setup->owns_v && setup->settings->updates != PL_DELAYED; }

static uint64_t copies_of_u(const pl_setup *setup) {
    const pl_team *team = setup->team;
    uint64_t workers = steps_in_place(setup) ? 0 : 1, lanes = team->lanes > 1 ? team->lanes : 0;
    return (uint64_t)team->hosted * (workers + lanes);
}

static void place_copies(pl_sdca *self) {
    const pl_team *team = self->team;
    double *next = self->copies.data;
    for (unsigned k = 0; k < team->hosted; k++) {
        pl_sdca_worker *worker = &self->workers[k];
        worker->current = next; /* in place: see `work` */
        worker->change = team->workers == 1 ? next : NULL;
        worker->supported = self->glm->base.size / self->glm->classes;
        self->lanes[k * team->lanes].u = next;
        next += self->in_place ? 0 : self->glm->base.size;
        for (unsigned l = 0; l < team->lanes && team->lanes > 1; l++, next += self->glm->base.size)
            self->lanes[k * team->lanes + l].u = next;
    }
}

/* A worker whose rows touch few columns sends only those. An update with room for all of v is faster to add up, and is
 * used unless most entries would be 0. */
static parley_status open_change(pl_sdca *self, unsigned k, uint8_t *touched, parley_error *error) {
    pl_sdca_worker *worker = &self->workers[k];
    pl_engine *engine = self->team->engine;
    parley_status status = PARLEY_OK;
    if (self->team->lanes == 1)
        status = pl_support_take(self->glm, self->team, k, touched, &worker->support, &worker->supported, error);
    worker->wide = worker->supported * self->glm->classes * WIDE > self->glm->base.size;
    uint64_t places = pl_sdca_places(self, worker);
    if (status == PARLEY_OK)
        status = pl_shared_take(engine, &worker->change, places, sizeof *worker->change, "changes", error);
    if (status == PARLEY_OK)
        status = pl_shared_take(engine, &worker->previous, places, sizeof *worker->previous, "momentum", error);
    return status;
}

static parley_status open_changes(pl_sdca *self, parley_error *error) {
    uint8_t *touched;
    if (self->team->workers == 1)
        return PARLEY_OK;
    parley_status status = pl_take(&self->v_previous, self->glm->base.size, sizeof(double), "momentum", error);
    if (status == PARLEY_OK)
        status = pl_take(&touched, self->glm->base.size, 1, "sparse updates", error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned k = 0; k < self->team->hosted && status == PARLEY_OK; k++)
        status = open_change(self, k, touched, error);
    pl_free(touched);
    return status;
}

/* Touches a lane's rows and its copy of u on the thread that will use them. */
static void touch_lane(void *context, unsigned task) {
    pl_sdca *self = context;
    const pl_part *part = &self->team->parts[task];
    const pl_sdca_worker *worker = &self->workers[task / self->team->lanes];
    uint64_t row = self->glm->classes * sizeof *self->t, u = self->glm->base.size * sizeof *worker->current;
    for (uint64_t r = 0; r < part->count; r++) {
        uint64_t begin = part->ranges[r].begin, bytes = (part->ranges[r].end - begin) * row;
        memset(self->t + begin * self->glm->classes, 0, bytes);
        memset(self->z + begin * self->glm->classes, 0, bytes);
        if (!self->in_place)
            memset(self->t_round + begin * self->glm->classes, 0, bytes);
    }
    if (!self->in_place || self->team->lanes > 1)
        memset(self->lanes[task].u, 0, u);
    if (task % self->team->lanes != 0 || !worker->previous)
        return;
    if (self->team->lanes > 1)
        memset(worker->current, 0, u);
    memset(worker->change, 0, pl_sdca_places(self, worker) * sizeof *worker->change);
    memset(worker->previous, 0, pl_sdca_places(self, worker) * sizeof *worker->previous);
}

/* Page faults should happen during setup, not in the first round. */
static void touch(pl_sdca *self) {
    pl_team_run(self->team, touch_lane, self);
    if (self->v_previous)
        memset(self->v_previous, 0, self->glm->base.size * sizeof *self->v_previous);
}

uint64_t pl_sdca_bytes(const pl_setup *setup) {
    uint64_t rows = setup->problem->data->x.rows;
    uint64_t changes = setup->team->workers > 1 ? 2u * setup->team->hosted + 1u : 0; /* at most; and the last v */
    return rows * (4 * pl_glm_of(setup->problem)->classes * sizeof(double) + 1) +
           (copies_of_u(setup) + changes) * setup->problem->size * sizeof(double);
}

parley_status pl_sdca_open(const pl_setup *setup, pl_local **out, parley_error *error) {
    const pl_team *team = setup->team;
    uint64_t classes = pl_glm_of(setup->problem)->classes, rows = setup->problem->data->x.rows,
             size = setup->problem->size, lanes = (uint64_t)team->hosted * team->lanes;
    pl_sdca *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "sdca", error);
    if (status != PARLEY_OK)
        return status;
    self->base.type = &pl_local_sdca;
    self->glm = pl_glm_of(setup->problem);
    self->team = team;
    self->target = setup->target;
    self->delayed = setup->settings->updates == PL_DELAYED;
    self->in_place = steps_in_place(setup);
    self->b0 = pl_alloc(classes, sizeof *self->b0);
    self->b = pl_alloc(classes, sizeof *self->b);
    self->t = pl_alloc(rows * classes, sizeof *self->t);
    self->t_round = pl_alloc(rows * classes, sizeof *self->t_round);
    self->t_piece = team->lanes > 1 ? pl_alloc(rows * classes, sizeof *self->t_piece) : NULL;
    self->rest = pl_glm_of(setup->problem)->loss->depth ? pl_alloc(rows, 1) : NULL;
    self->z = pl_alloc(rows * classes, sizeof *self->z);
    bool copies = pl_span_reserve(&self->copies, (copies_of_u(setup) * size + 1) * sizeof(double));
    self->workers = pl_alloc(team->hosted, sizeof *self->workers);
    self->lanes = pl_alloc(lanes, sizeof *self->lanes);
    if (!self->b0 || !self->b || !self->t || !self->t_round || (team->lanes > 1 && !self->t_piece) ||
        (pl_glm_of(setup->problem)->loss->depth && !self->rest) || !self->z || !copies || !self->workers ||
        !self->lanes)
        status = pl_fail_memory(error, "sdca", pl_sdca_bytes(setup));
    if (status == PARLEY_OK) {
        if (pl_glm_of(setup->problem)->intercept != PL_NO_INTERCEPT)
            memcpy(self->b0, setup->first + setup->problem->data->x.columns * classes, classes * sizeof *self->b0);
        memcpy(self->b, self->b0, classes * sizeof *self->b);
        status = open_buckets(self, setup->settings, error);
    }
    if (status == PARLEY_OK) {
        place_copies(self);
        status = open_changes(self, error);
    }
    if (status != PARLEY_OK) {
        pl_sdca_close(&self->base);
        return status;
    }
    touch(self);
    *out = &self->base;
    return PARLEY_OK;
}
