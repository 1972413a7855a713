/* sdca.c: dual coordinate ascent on rows, the local solver of CoCoA and CoCoA+ (Smith et al. 2016; Ma et al. 2015).
 *
 * v is u = sum_i q_i t_i x_i, and w = soft(u, l1) / l2. A worker owns the dual variables t_i of its rows. With D the
 * change that it has made to u so far this round, a step on row i is
 *
 *     z = x_i . soft(u + sigma D, l1) / l2 + b,   h = sigma q_i |x_i|^2 / l2,   t_i <- loss.dual_step(z, y_i, t_i, h)
 *
 * where sigma says how much the changes of those who work at the same time may add up.
 *
 * Lanes. A worker's rows are re-dealt to its lanes every epoch; each lane works on a copy of u; a few times an epoch
 * the lanes' changes D_l are added. With r = |sum D_l|^2 / sum |D_l|^2, the added change is safe at step min(1,
 * sigma/r), because the sub-problems' quadratic bound then holds for it; and sigma follows r.
 *
 * A free intercept has no step of its own on sum q t = 0: the method of multipliers gives it one, b = b0 + (1/mu) sum q
 * t, mu = l2 / mean |x|^2, as one more entry of u, and moves b0 to b every few rounds.
 *
 * Order. Rows are visited in buckets of neighbours, shuffled every epoch: random access costs, and a fixed order never
 * converges. A row whose t stays at a bound rests for 1, 3, 7, then 15 epochs. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "engine/collective.h"
#include "local/local.h"
#include "math/sparse.h"

#define BUCKET_BYTES 16384      /* of a bucket of rows, where the data outgrow the caches */
#define BUCKET_ROWS 16          /* and at most so many */
#define CACHED_BYTES (4u << 20) /* of a matrix that needs no buckets */
#define SYNCS 4                 /* of lanes per epoch, at most */
#define SYNC_COST 8             /* non-zeros that a lane visits for each entry it synchronises, at least */
#define MULTIPLIER_ROUNDS 2     /* between two moves of b0 */
#define MOST_REST 4             /* levels of rest: 2^level - 1 epochs */

/* A bucket is packed as first row << 8 | rows. */
static uint64_t bucket_row(uint64_t bucket) { return bucket >> 8; }
static uint64_t bucket_end(uint64_t bucket) { return (bucket >> 8) + (bucket & 255); }

typedef struct worker {
    uint64_t *buckets, count; /* in the order of this epoch */
    uint64_t cursor, epoch;   /* next bucket; epochs begun */
    uint64_t left;            /* buckets to visit in this round */
    uint64_t piece;           /* buckets of the current piece */
    uint64_t syncs;           /* per epoch */
    double lane_sigma, lane_gamma;
    double *current;    /* u as this worker sees it: v + sigma D */
    uint32_t *support;  /* entries of v that its rows touch; NULL: take all */
    uint64_t supported; /* how many */
    double *change;     /* what the update points at: `current` where support is NULL */
    double *previous;   /* its change of the last round, as it was taken; NULL: one worker needs no momentum */
    double spread, squared, turn; /* see PL_SUM_SPREAD, PL_SUM_CHANGE, PL_SUM_TURN */
} worker;

typedef struct lane {
    double *u; /* its copy; where there is one lane, the worker's `current` */
    double residual, spread, sum_spread, seconds;
    uint64_t visited; /* rows, resting ones included */
} lane;

typedef struct sdca {
    pl_local base;
    const pl_glm *glm;
    const pl_team *team;
    const parley_settings *settings;
    double *t, *t_round, *t_piece; /* now; when the round began; when the piece began (more lanes than one) */
    uint8_t *rest;                 /* level << 4 | epochs left */
    double *z, *w;
    uint64_t *buckets;
    double *copies; /* what workers and lanes call u, current */
    worker *workers;
    lane *lanes;
    double b0, sigma, momentum;
    const double *v;
    double *v_previous; /* v when the last round began; NULL as above */
} sdca;

static double intercept(const sdca *this, const double *u) {
    const pl_glm *glm = this->glm;
    uint64_t at = glm->data->x.columns;
    if (glm->intercept == PL_NO_INTERCEPT)
        return 0.0;
    double pull = u[at] + glm->mu * this->b0;
    return (glm->intercept == PL_PENALISED ? pl_soft(pull, glm->l1) : pull) * pl_metric(glm, at);
}

/* One step on one row of a lane. */
typedef struct stepper {
    const pl_glm *glm;
    const pl_loss *loss;
    double *u, sigma;
    double inverse, intercept_metric; /* 1 / l2; h's part for the intercept */
    double residual;
} stepper;

static void step_row(sdca *this, stepper *stepper, uint64_t i) {
    const pl_glm *glm = stepper->glm;
    const pl_matrix *x = &glm->data->x;
    uint64_t begin = x->start[i], count = x->start[i + 1] - begin;
    const uint32_t *index = x->index + begin;
    const float *value = x->value ? x->value + begin : NULL;
    double q = pl_share(glm, i), y = pl_target(glm, i), t0 = this->t[i], u_sum;
    u_sum = glm->l1 > 0 ? pl_sparse_dot_soft(index, value, count, stepper->u, glm->l1)
                        : pl_sparse_dot(index, value, count, stepper->u);
    double z = u_sum * stepper->inverse + intercept(this, stepper->u);
    double h = stepper->sigma * q * ((double)glm->norm2[i] * stepper->inverse + stepper->intercept_metric);
    double t = stepper->loss->dual_step(z, y, t0, h);
    stepper->residual += q * stepper->loss->residual(z, y, t0, t, h);
    if (this->t_piece)
        this->t_piece[i] = t0;
    if (t == t0) {
        if (this->rest) {
            unsigned level = this->rest[i] >> 4;
            level += level < MOST_REST;
            this->rest[i] = (uint8_t)(level << 4 | ((1u << level) - 1));
        }
        return;
    }
    if (this->rest)
        this->rest[i] = 0;
    this->t[i] = t;
    double a = stepper->sigma * q * (t - t0);
    pl_sparse_add(index, value, count, a, stepper->u);
    if (glm->intercept != PL_NO_INTERCEPT)
        stepper->u[x->columns] += a;
}

static void visit(sdca *this, stepper *stepper, const uint64_t *buckets, uint64_t count) {
    const pl_matrix *x = &stepper->glm->data->x;
    for (uint64_t n = 0; n < count; n++) {
        if (n + 1 < count)
            pl_sparse_prefetch(x->index, x->value, x->start[bucket_row(buckets[n + 1])]);
        for (uint64_t i = bucket_row(buckets[n]); i < bucket_end(buckets[n]); i++)
            if (this->rest && (this->rest[i] & 15)) {
                this->rest[i]--;
                if (this->t_piece)
                    this->t_piece[i] = this->t[i];
            } else {
                step_row(this, stepper, i);
            }
    }
}

/* The buckets of lane `l` in the worker's current piece. */
static uint64_t lane_begin(const worker *worker, unsigned l, unsigned lanes) {
    return worker->cursor + worker->piece * l / lanes;
}

static void lane_task(void *context, unsigned task) {
    sdca *this = context;
    const pl_glm *glm = this->glm;
    unsigned lanes = this->team->lanes, l = task % lanes;
    worker *worker = &this->workers[task / lanes];
    lane *lane = &this->lanes[task];
    double began = pl_now();
    uint64_t begin = lane_begin(worker, l, lanes), end = lane_begin(worker, l + 1, lanes);
    stepper stepper = {.glm = glm,
                       .loss = glm->loss,
                       .u = lane->u,
                       .sigma = this->sigma * worker->lane_sigma,
                       .inverse = 1.0 / glm->l2};
    if (glm->intercept != PL_NO_INTERCEPT)
        stepper.intercept_metric = pl_metric(glm, glm->data->x.columns);
    visit(this, &stepper, worker->buckets + begin, end - begin);
    lane->residual += stepper.residual;
    lane->seconds += pl_now() - began;
}

/* Entries of v that lane `l` looks after when the lanes' changes are added. */
static pl_range lane_entries(const sdca *this, unsigned l) {
    return (pl_range){this->glm->size * l / this->team->lanes, this->glm->size * (l + 1) / this->team->lanes};
}

/* Leaves the sum of the lanes' changes in the first lane's copy, and the norms that tell how they add up. */
static void add_task(void *context, unsigned task) {
    sdca *this = context;
    unsigned lanes = this->team->lanes;
    worker *worker = &this->workers[task / lanes];
    lane *mine = &this->lanes[task], *first = &this->lanes[task - task % lanes];
    double began = pl_now(), inverse = 1.0 / worker->lane_sigma;
    mine->spread = mine->sum_spread = 0;
    if (worker->piece) {
        pl_range range = lane_entries(this, task % lanes);
        for (uint64_t j = range.begin; j < range.end; j++) {
            double sum = 0, spread = 0, metric = pl_metric(this->glm, j);
            for (unsigned l = 0; l < lanes; l++) {
                double change = (first[l].u[j] - worker->current[j]) * inverse;
                sum += change;
                spread += change * change;
            }
            first->u[j] = sum;
            mine->spread += metric * spread;
            mine->sum_spread += metric * sum * sum;
        }
    }
    mine->seconds += pl_now() - began;
}

/* Takes the added change, with the step that is safe for it; where that is below 1 the rows' changes shrink alike. */
static void take_task(void *context, unsigned task) {
    sdca *this = context;
    unsigned lanes = this->team->lanes, l = task % lanes;
    worker *worker = &this->workers[task / lanes];
    lane *mine = &this->lanes[task], *first = &this->lanes[task - l];
    double began = pl_now(), gamma = worker->lane_gamma;
    pl_range range = lane_entries(this, l);
    for (uint64_t j = range.begin; j < range.end && worker->piece; j++) {
        double u = worker->current[j] += gamma * first->u[j];
        for (unsigned m = 0; m < lanes; m++)
            first[m].u[j] = u;
    }
    uint64_t begin = lane_begin(worker, l, lanes), end = lane_begin(worker, l + 1, lanes);
    for (uint64_t n = begin; n < end && gamma != 1.0; n++)
        for (uint64_t i = bucket_row(worker->buckets[n]); i < bucket_end(worker->buckets[n]); i++)
            this->t[i] = this->t_piece[i] + gamma * (this->t[i] - this->t_piece[i]);
    mine->seconds += pl_now() - began;
}

static void judge_lanes(sdca *this, unsigned k) {
    unsigned lanes = this->team->lanes;
    worker *worker = &this->workers[k];
    double spread = 0, sum_spread = 0;
    for (unsigned l = 0; l < lanes; l++) {
        spread += this->lanes[k * lanes + l].spread;
        sum_spread += this->lanes[k * lanes + l].sum_spread;
    }
    double ratio = spread > 0 ? sum_spread / spread : 1.0;
    worker->lane_gamma = ratio > worker->lane_sigma ? worker->lane_sigma / ratio : 1.0;
    worker->lane_sigma = fmin(lanes, fmax(1.0, fmax(1.15 * ratio, 0.7 * worker->lane_sigma)));
}

/* Sets up the next piece of every worker; false when the round is done. */
static bool next_pieces(sdca *this) {
    bool more = false;
    for (unsigned k = 0; k < this->team->hosted; k++) {
        worker *worker = &this->workers[k];
        worker->cursor += worker->piece;
        if (worker->cursor >= worker->count)
            worker->cursor = 0;
        if (worker->cursor == 0 && worker->left) {
            pl_stream stream = pl_stream_make(this->team->seed, this->team->first + k, worker->epoch++);
            pl_shuffle(&stream, worker->buckets, worker->count);
        }
        uint64_t piece = (worker->count + worker->syncs - 1) / worker->syncs;
        uint64_t most = worker->count - worker->cursor;
        piece = piece < most ? piece : most;
        worker->piece = piece < worker->left ? piece : worker->left;
        worker->left -= worker->piece;
        more = more || worker->piece;
    }
    return more;
}

/* Entry j of v, number s of the worker's, as it sees it when the round begins. With momentum m the round starts at t +
 * m (t - last t): u is ahead for all workers, and the worker's own part of that is in its sub-problem sigma times. */
static double first_u(const sdca *this, const worker *worker, uint64_t s, uint64_t j) {
    if (this->momentum == 0)
        return this->v[j];
    return this->v[j] + this->momentum * ((this->v[j] - this->v_previous[j]) - this->sigma * worker->previous[s]);
}

static void begin_task(void *context, unsigned k) {
    sdca *this = context;
    const pl_team *team = this->team;
    worker *worker = &this->workers[k];
    for (unsigned l = 0; l < team->lanes; l++) {
        lane *lane = &this->lanes[k * team->lanes + l];
        lane->residual = lane->seconds = 0;
        const pl_part *part = &team->parts[k * team->lanes + l];
        for (uint64_t r = 0; r < part->count; r++) {
            uint64_t begin = part->ranges[r].begin, rows = part->ranges[r].end - begin;
            memcpy(this->t_round + begin, this->t + begin, rows * sizeof *this->t);
        }
        for (uint64_t s = 0; s < worker->supported; s++) {
            uint64_t j = worker->support ? worker->support[s] : s;
            lane->u[j] = worker->current[j] = first_u(this, worker, s, j);
        }
    }
}

/* Turns u as the worker sees it into its change of u, and measures it. */
static void end_task(void *context, unsigned k) {
    sdca *this = context;
    worker *worker = &this->workers[k];
    double inverse = 1.0 / this->sigma;
    worker->spread = worker->squared = worker->turn = 0;
    for (uint64_t s = 0; s < worker->supported; s++) {
        uint64_t j = worker->support ? worker->support[s] : s;
        double change = (worker->current[j] - first_u(this, worker, s, j)) * inverse;
        double last = worker->previous ? worker->previous[s] : 0.0, metric = pl_metric(this->glm, j);
        double ahead = change - this->momentum * last;
        worker->change[s] = change;
        worker->spread += metric * ahead * ahead;
        worker->squared += metric * change * change;
        worker->turn += metric * change * last;
    }
}

static void set_steps(sdca *this, pl_update *update) {
    const parley_settings *settings = this->settings;
    for (unsigned k = 0; k < this->team->hosted; k++) {
        worker *worker = &this->workers[k];
        double rows = (double)this->team->rows[k];
        double steps = settings->local_steps ? (double)settings->local_steps : settings->local_epochs * rows;
        double buckets = rows > 0 ? ceil(steps / rows * (double)worker->count - 1e-9) : 0;
        worker->left = buckets < 1 && rows > 0 ? 1 : (uint64_t)buckets;
        worker->piece = 0;
        if (worker->cursor >= worker->count)
            worker->cursor = 0;
        update[k].passes = worker->count ? (double)worker->left / (double)worker->count : 0;
    }
}

static void report(sdca *this, pl_update *update) {
    const pl_team *team = this->team;
    for (unsigned k = 0; k < team->hosted; k++) {
        worker *worker = &this->workers[k];
        lane *first = &this->lanes[k * team->lanes];
        double residual = 0, seconds = 0;
        for (unsigned l = 0; l < team->lanes; l++) {
            residual += first[l].residual;
            seconds = fmax(seconds, first[l].seconds);
        }
        update[k].shrink = 1.0;
        update[k].weight = team->weight[k];
        update[k].count = worker->supported;
        update[k].index = worker->support;
        update[k].value = worker->change;
        update[k].seconds = seconds;
        update[k].scalars[PL_SUM_RESIDUAL] = update[k].passes > 0 ? residual / update[k].passes : 0;
        update[k].scalars[PL_SUM_SPREAD] = worker->spread;
        update[k].scalars[PL_SUM_CHANGE] = worker->squared;
        update[k].scalars[PL_SUM_TURN] = worker->turn;
    }
}

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    sdca *this = (sdca *)local;
    const pl_team *team = this->team;
    pl_engine *engine = team->engine;
    (void)evaluation, (void)error;
    this->v = v;
    this->sigma = round->sigma;
    this->momentum = this->v_previous ? round->momentum : 0.0;
    if (this->glm->intercept != PL_NO_INTERCEPT && round->number % MULTIPLIER_ROUNDS == 0)
        this->b0 = intercept(this, v);
    engine->type->run(engine, begin_task, this, team->hosted);
    set_steps(this, update);
    while (next_pieces(this)) {
        pl_team_run(team, lane_task, this);
        if (team->lanes == 1)
            continue;
        pl_team_run(team, add_task, this);
        for (unsigned k = 0; k < team->hosted; k++)
            judge_lanes(this, k);
        pl_team_run(team, take_task, this);
    }
    engine->type->run(engine, end_task, this, team->hosted);
    report(this, update);
    if (this->v_previous)
        memcpy(this->v_previous, v, this->glm->size * sizeof *v);
    return PARLEY_OK;
}

static void primal(const pl_local *local, const double *v, double *w) {
    const sdca *this = (const sdca *)local;
    const pl_glm *glm = this->glm;
    double inverse = 1.0 / glm->l2;
    for (uint64_t j = 0; j < glm->data->x.columns; j++)
        w[j] = pl_soft(v[j], glm->l1) * inverse;
    if (glm->intercept != PL_NO_INTERCEPT)
        w[glm->data->x.columns] = intercept(this, v);
}

static parley_status evaluate(pl_local *local, double *v, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    sdca *this = (sdca *)local;
    const pl_glm *glm = this->glm;
    (void)update;
    primal(local, v, this->w);
    pl_margins(glm, this->team, this->w, this->z);
    double b = intercept(this, v);
    if (glm->intercept == PL_FREE && glm->loss->smooth) {
        parley_status status = pl_centre(glm, this->team, this->z, &b, error);
        if (status != PARLEY_OK)
            return status;
    }
    return pl_evaluate_rows(glm, this->team, this->z, b, this->t, evaluation, error);
}

/* A pass that only reads, in order, costs two fifths of one that steps. */
static double evaluate_passes(const pl_local *local) {
    (void)local;
    return 0.4;
}

static void commit(pl_local *local, unsigned k, double gamma) {
    sdca *this = (sdca *)local;
    worker *worker = &this->workers[k];
    for (uint64_t s = 0; worker->previous && s < worker->supported; s++)
        worker->previous[s] = gamma * worker->change[s];
    if (gamma == 1.0)
        return;
    for (unsigned l = 0; l < this->team->lanes; l++) {
        const pl_part *part = &this->team->parts[k * this->team->lanes + l];
        for (uint64_t r = 0; r < part->count; r++)
            for (uint64_t i = part->ranges[r].begin; i < part->ranges[r].end; i++)
                this->t[i] = this->t_round[i] + gamma * (this->t[i] - this->t_round[i]);
    }
}

/* Rows that rest may have woken up unseen. */
static bool stalled(pl_local *local) {
    sdca *this = (sdca *)local;
    bool any = false;
    for (uint64_t i = 0; this->rest && i < this->glm->data->x.rows; i++) {
        any = any || this->rest[i];
        this->rest[i] = 0;
    }
    return any;
}

static void close_sdca(pl_local *local) {
    sdca *this = (sdca *)local;
    if (!this)
        return;
    for (unsigned k = 0; this->workers && k < this->team->hosted; k++) {
        pl_free(this->workers[k].previous);
        pl_free(this->workers[k].support);
        if (this->workers[k].support)
            pl_free(this->workers[k].change);
    }
    pl_free(this->v_previous);
    void *owned[] = {this->t,       this->t_round, this->t_piece, this->rest,  this->z, this->w,
                     this->buckets, this->copies,  this->workers, this->lanes, this};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
}

static uint64_t rows_in_bucket(const pl_matrix *x) {
    uint64_t bytes = x->nonzeros * (x->value ? 8 : 4);
    if (bytes <= CACHED_BYTES)
        return 1;
    uint64_t rows = BUCKET_BYTES / (bytes / x->rows + 1);
    return rows < 1 ? 1 : rows > BUCKET_ROWS ? BUCKET_ROWS : rows;
}

static uint64_t count_buckets(const pl_team *team, unsigned k, uint64_t rows) {
    uint64_t count = 0;
    for (unsigned p = k * team->lanes; p < (k + 1) * team->lanes; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++)
            count += (team->parts[p].ranges[r].end - team->parts[p].ranges[r].begin + rows - 1) / rows;
    return count;
}

static void fill_buckets(const pl_team *team, unsigned k, uint64_t rows, uint64_t *buckets) {
    for (unsigned p = k * team->lanes; p < (k + 1) * team->lanes; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++) {
            pl_range range = team->parts[p].ranges[r];
            for (uint64_t i = range.begin; i < range.end; i += rows)
                *buckets++ = i << 8 | (range.end - i < rows ? range.end - i : rows);
        }
}

static parley_status open_buckets(sdca *this, parley_error *error) {
    const pl_team *team = this->team;
    const pl_matrix *x = &this->glm->data->x;
    uint64_t rows = rows_in_bucket(x), total = 0;
    for (unsigned k = 0; k < team->hosted; k++)
        total += this->workers[k].count = count_buckets(team, k, rows);
    parley_status status = pl_take(&this->buckets, total, sizeof *this->buckets, "the order of rows", error);
    uint64_t *next = this->buckets;
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++) {
        worker *worker = &this->workers[k];
        worker->buckets = next;
        fill_buckets(team, k, rows, next);
        next += worker->count;
        uint64_t syncs = team->nonzeros[k] / (SYNC_COST * (uint64_t)team->lanes * (this->glm->size + 1));
        worker->syncs = team->lanes == 1 || syncs < 1 ? 1 : syncs > SYNCS ? SYNCS : syncs;
        worker->lane_sigma = team->lanes;
    }
    return status;
}

static uint64_t copies_of_u(const pl_team *team) {
    return (uint64_t)team->hosted * (team->lanes + (team->lanes > 1 ? 1 : 0));
}

static void place_copies(sdca *this) {
    const pl_team *team = this->team;
    double *next = this->copies;
    for (unsigned k = 0; k < team->hosted; k++) {
        worker *worker = &this->workers[k];
        worker->current = worker->change = next;
        worker->supported = this->glm->size;
        next += team->lanes > 1 ? this->glm->size : 0;
        for (unsigned l = 0; l < team->lanes; l++, next += this->glm->size)
            this->lanes[k * team->lanes + l].u = next;
    }
}

/* Marks the entries of v that worker k's rows touch, and counts them. */
static uint64_t mark_support(const sdca *this, unsigned k, uint8_t *touched) {
    const pl_matrix *x = &this->glm->data->x;
    const pl_part *part = &this->team->parts[k];
    uint64_t count = 0;
    memset(touched, 0, this->glm->size);
    for (uint64_t r = 0; r < part->count; r++)
        for (uint64_t e = x->start[part->ranges[r].begin]; e < x->start[part->ranges[r].end]; e++)
            touched[x->index[e]] = 1;
    if (this->glm->intercept != PL_NO_INTERCEPT)
        touched[x->columns] = 1;
    for (uint64_t j = 0; j < this->glm->size; j++)
        count += touched[j];
    return count;
}

/* A worker whose rows touch few columns sends only those: where an id and a value cost less than all values do. */
static parley_status open_support(sdca *this, unsigned k, uint8_t *touched, parley_error *error) {
    worker *worker = &this->workers[k];
    uint64_t size = this->glm->size, count = mark_support(this, k, touched);
    if (count * 12 > size * 8)
        return PARLEY_OK;
    uint32_t *support = pl_alloc(count, sizeof *support);
    double *change = pl_alloc(count, sizeof *change);
    if (!support || !change) {
        pl_free(support);
        pl_free(change);
        return pl_fail_memory(error, "a sparse update", count * 12);
    }
    worker->support = support;
    worker->change = change;
    worker->supported = count;
    for (uint64_t j = 0, s = 0; j < size; j++)
        if (touched[j])
            support[s++] = (uint32_t)j;
    return PARLEY_OK;
}

static parley_status open_supports(sdca *this, parley_error *error) {
    uint8_t *touched;
    if (this->team->workers == 1)
        return PARLEY_OK;
    parley_status status = pl_take(&this->v_previous, this->glm->size, sizeof(double), "momentum", error);
    if (status == PARLEY_OK)
        status = pl_take(&touched, this->glm->size, 1, "sparse updates", error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned k = 0; k < this->team->hosted && status == PARLEY_OK; k++) {
        worker *worker = &this->workers[k];
        if (this->team->lanes == 1)
            status = open_support(this, k, touched, error);
        if (status == PARLEY_OK)
            status = pl_take(&worker->previous, worker->supported, sizeof *worker->previous, "momentum", error);
    }
    pl_free(touched);
    return status;
}

static uint64_t bytes(const pl_setup *setup) {
    uint64_t rows = setup->glm->data->x.rows;
    return rows * (4 * sizeof(double) + 1) + (copies_of_u(setup->team) + 1) * setup->glm->size * sizeof(double);
}

static parley_status open_sdca(const pl_setup *setup, pl_local **out, parley_error *error) {
    const pl_team *team = setup->team;
    uint64_t rows = setup->glm->data->x.rows, size = setup->glm->size, lanes = (uint64_t)team->hosted * team->lanes;
    sdca *this;
    parley_status status = pl_take(&this, 1, sizeof *this, "sdca", error);
    if (status != PARLEY_OK)
        return status;
    this->base.type = &pl_local_sdca;
    this->glm = setup->glm;
    this->team = team;
    this->settings = setup->settings;
    this->t = pl_alloc(rows, sizeof *this->t);
    this->t_round = pl_alloc(rows, sizeof *this->t_round);
    this->t_piece = team->lanes > 1 ? pl_alloc(rows, sizeof *this->t_piece) : NULL;
    this->rest = setup->glm->loss->rests ? pl_alloc(rows, 1) : NULL;
    this->z = pl_alloc(rows, sizeof *this->z);
    this->w = pl_alloc(size, sizeof *this->w);
    this->copies = pl_alloc(copies_of_u(team) * size, sizeof *this->copies);
    this->workers = pl_alloc(team->hosted, sizeof *this->workers);
    this->lanes = pl_alloc(lanes, sizeof *this->lanes);
    if (!this->t || !this->t_round || (team->lanes > 1 && !this->t_piece) || (setup->glm->loss->rests && !this->rest) ||
        !this->z || !this->w || !this->copies || !this->workers || !this->lanes)
        status = pl_fail_memory(error, "sdca", bytes(setup));
    if (status == PARLEY_OK)
        status = open_buckets(this, error);
    if (status == PARLEY_OK) {
        place_copies(this);
        status = open_supports(this, error);
    }
    if (status != PARLEY_OK) {
        close_sdca(&this->base);
        return status;
    }
    *out = &this->base;
    return PARLEY_OK;
}

static const char *const reads[] = {"local_epochs", "local_steps", "lanes", NULL};

const pl_local_type pl_local_sdca = {
    .name = "sdca",
    .help = "dual coordinate ascent on rows; needs an L2 penalty",
    .needs = PL_NEEDS_L2,
    .gives = PL_NEEDS_DUAL,
    .settings = reads,
    .bytes = bytes,
    .open = open_sdca,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = evaluate_passes,
    .commit = commit,
    .primal = primal,
    .stalled = stalled,
    .close = close_sdca,
};
