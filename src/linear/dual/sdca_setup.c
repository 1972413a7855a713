/* sdca_setup.c: allocates the sdca solver, and prepares the order of rows. */
#include <math.h>
#include <string.h>

#include "engine/shared_memory.h"
#include "linear/dual/sdca.h"

#define WIDE 4 /* an update that touches more than one entry in this many has room for all entries of v */

void pl_sdca_close(pl_local *local) {
    pl_sdca *this = (pl_sdca *)local;
    if (!this)
        return;
    for (unsigned k = 0; this->turns && k < this->team->hosted; k++)
        pl_turns_close(&this->turns[k]);
    for (unsigned k = 0; this->workers && k < this->team->hosted; k++) {
        pl_shared_free(this->team->engine, this->workers[k].previous);
        if (this->team->workers > 1)
            pl_shared_free(this->team->engine, this->workers[k].change);
        pl_shared_free(this->team->engine, this->workers[k].support);
    }
    pl_free(this->v_previous);
    pl_span_free(&this->copies);
    void *owned[] = {this->t,       this->t_round, this->t_piece, this->rest, this->z,     this->buckets,
                     this->workers, this->lanes,   this->b0,      this->b,    this->turns, this};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
}

/* With --block, rows are visited block by block. */
static parley_status open_turns(pl_sdca *this, const parley_settings *settings, parley_error *error) {
    const pl_team *team = this->team;
    if (!(settings->block > 0))
        return PARLEY_OK;
    parley_status status = pl_take(&this->turns, team->hosted, sizeof *this->turns, "the order of rows", error);
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++) {
        this->workers[k].turns = &this->turns[k];
        status =
            pl_turns_open(&this->turns[k], team, k, this->glm->data, settings->block, settings->local_epochs, error);
    }
    return status;
}

/* Whether most of the worker's rows soon rest, at a kink of the loss, and leave too little work for several lanes. */
static bool shares_few_rows(const pl_sdca *this, unsigned k) {
    const pl_team *team = this->team;
    return team->lanes > 1 && !this->delayed && this->rest && !this->glm->loss->smooth &&
           team->nonzeros[k] < (uint64_t)team->lanes * PL_RESTING_NONZEROS;
}

static parley_status open_buckets(pl_sdca *this, const parley_settings *settings, parley_error *error) {
    const pl_team *team = this->team;
    uint64_t rows = pl_bucket_rows(this->glm->data), total = 0;
    parley_status status = open_turns(this, settings, error);
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++)
        total += this->workers[k].count =
            this->turns ? pl_turns_buckets(&this->turns[k]) : pl_bucket_count(team, k, rows);
    if (status == PARLEY_OK)
        status = pl_take(&this->buckets, total, sizeof *this->buckets, "the order of rows", error);
    uint64_t *next = this->buckets;
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++) {
        pl_sdca_worker *worker = &this->workers[k];
        worker->buckets = next;
        if (this->turns)
            pl_turns_fill(&this->turns[k], next);
        else
            pl_bucket_fill(team, k, rows, next);
        next += worker->count;
        worker->active = worker->count;
        worker->activity = (pl_sdca_activity){.bound = INFINITY, .reference = INFINITY, .patience = PL_SDCA_PATIENCE};
        worker->syncs = pl_lane_syncs(this, (double)team->nonzeros[k]);
        worker->alone = shares_few_rows(this, k);
        worker->lane_sigma = this->delayed || worker->alone ? 1 : team->lanes;
    }
    return status;
}

static bool steps_in_place(const pl_setup *setup) { return setup->alone && setup->settings->updates != PL_DELAYED; }

static uint64_t copies_of_u(const pl_setup *setup) {
    const pl_team *team = setup->team;
    uint64_t workers = steps_in_place(setup) ? 0 : 1, lanes = team->lanes > 1 ? team->lanes : 0;
    return (uint64_t)team->hosted * (workers + lanes);
}

static void place_copies(pl_sdca *this) {
    const pl_team *team = this->team;
    double *next = this->copies.data;
    for (unsigned k = 0; k < team->hosted; k++) {
        pl_sdca_worker *worker = &this->workers[k];
        worker->current = next; /* in place: see `work` */
        worker->change = team->workers == 1 ? next : NULL;
        worker->supported = this->glm->size / this->glm->classes;
        this->lanes[k * team->lanes].u = next;
        next += this->in_place ? 0 : this->glm->size;
        for (unsigned l = 0; l < team->lanes && team->lanes > 1; l++, next += this->glm->size)
            this->lanes[k * team->lanes + l].u = next;
    }
}

/* A worker whose rows touch few columns sends only those. An update with room for all of v is faster to add up, and is
 * used unless most entries would be 0. */
static parley_status open_change(pl_sdca *this, unsigned k, uint8_t *touched, parley_error *error) {
    pl_sdca_worker *worker = &this->workers[k];
    pl_engine *engine = this->team->engine;
    parley_status status = PARLEY_OK;
    if (this->team->lanes == 1)
        status = pl_support_take(this->glm, this->team, k, touched, &worker->support, &worker->supported, error);
    worker->wide = worker->supported * this->glm->classes * WIDE > this->glm->size;
    uint64_t places = pl_sdca_places(this, worker);
    if (status == PARLEY_OK)
        status = pl_shared_take(engine, &worker->change, places, sizeof *worker->change, "changes", error);
    if (status == PARLEY_OK)
        status = pl_shared_take(engine, &worker->previous, places, sizeof *worker->previous, "momentum", error);
    return status;
}

static parley_status open_changes(pl_sdca *this, parley_error *error) {
    uint8_t *touched;
    if (this->team->workers == 1)
        return PARLEY_OK;
    parley_status status = pl_take(&this->v_previous, this->glm->size, sizeof(double), "momentum", error);
    if (status == PARLEY_OK)
        status = pl_take(&touched, this->glm->size, 1, "sparse updates", error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned k = 0; k < this->team->hosted && status == PARLEY_OK; k++)
        status = open_change(this, k, touched, error);
    pl_free(touched);
    return status;
}

/* Touches a lane's rows and its copy of u on the thread that will use them. */
static void touch_lane(void *context, unsigned task) {
    pl_sdca *this = context;
    const pl_part *part = &this->team->parts[task];
    const pl_sdca_worker *worker = &this->workers[task / this->team->lanes];
    uint64_t row = this->glm->classes * sizeof *this->t, u = this->glm->size * sizeof *worker->current;
    for (uint64_t r = 0; r < part->count; r++) {
        uint64_t begin = part->ranges[r].begin, bytes = (part->ranges[r].end - begin) * row;
        memset(this->t + begin * this->glm->classes, 0, bytes);
        memset(this->z + begin * this->glm->classes, 0, bytes);
        if (!this->in_place)
            memset(this->t_round + begin * this->glm->classes, 0, bytes);
    }
    if (!this->in_place || this->team->lanes > 1)
        memset(this->lanes[task].u, 0, u);
    if (task % this->team->lanes != 0 || !worker->previous)
        return;
    if (this->team->lanes > 1)
        memset(worker->current, 0, u);
    memset(worker->change, 0, pl_sdca_places(this, worker) * sizeof *worker->change);
    memset(worker->previous, 0, pl_sdca_places(this, worker) * sizeof *worker->previous);
}

/* Page faults should happen during setup, not in the first round. */
static void touch(pl_sdca *this) {
    pl_team_run(this->team, touch_lane, this);
    if (this->v_previous)
        memset(this->v_previous, 0, this->glm->size * sizeof *this->v_previous);
}

uint64_t pl_sdca_bytes(const pl_setup *setup) {
    uint64_t rows = pl_glm_of(setup->problem)->data->x.rows;
    uint64_t changes = setup->team->workers > 1 ? 2u * setup->team->hosted + 1u : 0; /* at most; and the last v */
    return rows * (4 * pl_glm_of(setup->problem)->classes * sizeof(double) + 1) +
           (copies_of_u(setup) + changes) * pl_glm_of(setup->problem)->size * sizeof(double);
}

parley_status pl_sdca_open(const pl_setup *setup, pl_local **out, parley_error *error) {
    const pl_team *team = setup->team;
    uint64_t classes = pl_glm_of(setup->problem)->classes, rows = pl_glm_of(setup->problem)->data->x.rows,
             size = pl_glm_of(setup->problem)->size, lanes = (uint64_t)team->hosted * team->lanes;
    pl_sdca *this;
    parley_status status = pl_take(&this, 1, sizeof *this, "sdca", error);
    if (status != PARLEY_OK)
        return status;
    this->base.type = &pl_local_sdca;
    this->glm = pl_glm_of(setup->problem);
    this->team = team;
    this->target = setup->target;
    this->delayed = setup->settings->updates == PL_DELAYED;
    this->in_place = steps_in_place(setup);
    this->b0 = pl_alloc(classes, sizeof *this->b0);
    this->b = pl_alloc(classes, sizeof *this->b);
    this->t = pl_alloc(rows * classes, sizeof *this->t);
    this->t_round = pl_alloc(rows * classes, sizeof *this->t_round);
    this->t_piece = team->lanes > 1 ? pl_alloc(rows * classes, sizeof *this->t_piece) : NULL;
    this->rest = pl_glm_of(setup->problem)->loss->depth ? pl_alloc(rows, 1) : NULL;
    this->z = pl_alloc(rows * classes, sizeof *this->z);
    bool copies = pl_span_reserve(&this->copies, (copies_of_u(setup) * size + 1) * sizeof(double));
    this->workers = pl_alloc(team->hosted, sizeof *this->workers);
    this->lanes = pl_alloc(lanes, sizeof *this->lanes);
    if (!this->b0 || !this->b || !this->t || !this->t_round || (team->lanes > 1 && !this->t_piece) ||
        (pl_glm_of(setup->problem)->loss->depth && !this->rest) || !this->z || !copies || !this->workers ||
        !this->lanes)
        status = pl_fail_memory(error, "sdca", pl_sdca_bytes(setup));
    if (status == PARLEY_OK) {
        if (pl_glm_of(setup->problem)->intercept != PL_NO_INTERCEPT)
            memcpy(this->b0, setup->first + pl_glm_of(setup->problem)->data->x.columns * classes,
                   classes * sizeof *this->b0);
        memcpy(this->b, this->b0, classes * sizeof *this->b);
        status = open_buckets(this, setup->settings, error);
    }
    if (status == PARLEY_OK) {
        place_copies(this);
        status = open_changes(this, error);
    }
    if (status != PARLEY_OK) {
        pl_sdca_close(&this->base);
        return status;
    }
    touch(this);
    *out = &this->base;
    return PARLEY_OK;
}
