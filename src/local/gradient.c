/* gradient.c: the gradient of the mean loss at v = w, over all rows or over a sample of them.
 *
 *     g = sum_i q_i loss'(x_i.w + b) x_i
 *
 * In a sample each row has probability `batch_fraction`, and the gradient is scaled up by its inverse.
 *
 * For second-order combines the update has one more column for each entry, the curvature sum_i q_i loss''(z_i) x_i
 * x_i', or one column for its diagonal. Then products with the curvature are computed on request. Over all rows the
 * free intercept is solved first, and the same passes give the certificate: t = -loss'(z), u = -g. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "engine/collective.h"
#include "engine/shared_memory.h"
#include "local/gradient.h"
#include "local/order.h"
#include "math/outer.h"
#include "math/sparse.h"
#include "model/classes.h"

#define CARRIES 16 /* rounds for which margins are updated along followed steps before they are recomputed */

typedef struct gradient {
    pl_local base;
    const pl_glm *glm;
    pl_team *team;
    double fraction;
    double *centre; /* of the smoothing, by row; NULL: it has none */
    pl_softening soft;
    uint64_t round, width;
    bool curved;            /* the curvature is needed */
    bool slopes_only;       /* probes need only slopes */
    double *z, *dz;         /* margins without intercept, at v and along the direction; one entry per class */
    double *bend;           /* of each row: q loss''(z), for products */
    bool followed, stepped; /* dz is along the latest direction; v moved only by `step` along it */
    double step;
    unsigned carried; /* rounds since z was computed from v */
    bool diagonal;
    bool by_class; /* the curvature is a block for each class */
    double *sums;  /* hosted x lanes x width columns of `size` entries */
    double *sides; /* of each lane: `sides_each` sums of the evaluation */
    uint64_t sides_each;
    double *seconds;     /* of each lane */
    pl_outer *outer;     /* of each lane: collects rows for the curvature */
    double *curvature;   /* several classes: of one row, per lane */
    double *b, *db;      /* intercepts at v and along the direction */
    const double *w;     /* where a sample is taken, or what is multiplied by the curvature */
    const double *t;     /* the owner's dual point, instead of the slopes; or NULL */
    uint32_t **support;  /* of each worker that works alone: the columns of its rows; NULL: all */
    uint64_t *supported; /* how many */
} gradient;

static double *lane_sum(const gradient *this, unsigned task) {
    return this->sums + (uint64_t)task * this->width * this->glm->size;
}

/* Values of the loss on a stretch of rows. */
typedef struct stretch {
    double z[PL_STRETCH], y[PL_STRETCH], q[PL_STRETCH], loss[PL_STRETCH], slope[PL_STRETCH], curvature[PL_STRETCH];
} stretch;

static void expand_stretch(const gradient *this, uint64_t begin, uint64_t count, bool slopes_only, stretch *rows) {
    const pl_loss *loss = this->glm->loss;
    for (uint64_t k = 0; k < count; k++) {
        rows->y[k] = pl_target(this->glm, begin + k);
        rows->q[k] = pl_share(this->glm, begin + k);
    }
    bool soft = this->soft.mu > 0;
    if (!soft || !slopes_only)
        pl_expand_rows(loss, rows->z, rows->y, count, slopes_only ? NULL : rows->loss, rows->slope, rows->curvature);
    if (soft)
        pl_soften(loss, &this->soft, begin, count, rows->z, rows->y, rows->slope, rows->curvature);
}

/* The number of columns of the update in this round. */
static uint64_t columns_now(const gradient *this) { return this->curved || this->diagonal ? this->width : 1; }

static void add_row(gradient *this, unsigned task, uint64_t i, double slope, double curvature) {
    const pl_glm *glm = this->glm;
    const pl_matrix *x = &glm->data->x;
    uint64_t begin = x->start[i], count = x->start[i + 1] - begin;
    double *sum = lane_sum(this, task);
    if (slope != 0) {
        pl_plain_add(glm, i, slope, sum); /* scaled after all rows are added */
        if (glm->intercept != PL_NO_INTERCEPT)
            sum[x->columns] += slope;
    }
    if (this->bend)
        this->bend[i] = curvature;
    if (this->diagonal) {
        pl_plain_add_squares(glm, i, curvature, sum + glm->size);
        if (glm->intercept != PL_NO_INTERCEPT)
            sum[glm->size + x->columns] += curvature;
    } else if (this->curved && this->width > 1 && curvature > 0)
        pl_outer_add(&this->outer[task], x->index + begin, x->value ? x->value + begin : NULL, count, &curvature,
                     sum + glm->size);
}

/* Adds the rows' part of the certificate. Only a free intercept needs the sides of t. */
static void add_sides(gradient *this, unsigned task, uint64_t begin, uint64_t count, const stretch *rows) {
    const pl_glm *glm = this->glm;
    const pl_loss *loss = glm->loss;
    bool own = this->soft.mu == 0 && !this->t; /* the slope is that of the loss itself at z */
    double *sums = this->sides + (uint64_t)task * PL_ROW_SUMS, losses = 0, conjugates = 0;
    for (uint64_t k = 0; k < count; k++) {
        double slope = rows->slope[k],
               conjugate = own ? pl_loss_conjugate_at(loss, rows->z[k], rows->y[k], rows->loss[k], slope)
                               : loss->conjugate(loss, -slope, rows->y[k]);
        if (glm->intercept == PL_FREE)
            pl_add_sides(glm, begin + k, -slope, rows->z[k] - this->b[0], rows->loss[k], conjugate, sums);
        else {
            losses += rows->q[k] * rows->loss[k];
            conjugates += rows->q[k] * conjugate;
        }
    }
    sums[PL_SIDE_SUMS - 1] += conjugates;
    sums[2 * PL_SIDE_SUMS] += losses;
}

/* Adds rows [begin, end), at most PL_STRETCH of them, at their margins. */
static void add_stretch(gradient *this, unsigned task, uint64_t begin, uint64_t end) {
    stretch rows;
    for (uint64_t i = begin; i < end; i++)
        rows.z[i - begin] = this->z[i] + this->b[0];
    expand_stretch(this, begin, end - begin, false, &rows);
    for (uint64_t i = begin; i < end && this->t; i++)
        rows.slope[i - begin] = -this->t[i];
    add_sides(this, task, begin, end - begin, &rows);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t k = i - begin;
        add_row(this, task, i, rows.q[k] * rows.slope[k], rows.q[k] * rows.curvature[k]);
    }
}

/* Adds a row of several classes, at margins z without intercepts. */
static void add_classes(gradient *this, unsigned task, uint64_t i, const double *z, double scale) {
    const pl_glm *glm = this->glm;
    const pl_matrix *x = &glm->data->x;
    uint64_t classes = glm->classes, begin = x->start[i], count = x->start[i + 1] - begin;
    double slope[PL_MOST_CLASSES], q = scale * pl_share(glm, i), *sum = lane_sum(this, task);
    pl_classes_visit(glm, i, z, this->b, slope, scale == 1.0 ? this->sides + task * this->sides_each : NULL);
    for (uint64_t c = 0; c < classes; c++)
        slope[c] *= q;
    pl_plain_adds(glm, i, slope, sum); /* scaled after all rows are added */
    for (uint64_t c = 0; c < classes && glm->intercept != PL_NO_INTERCEPT; c++)
        sum[x->columns * classes + c] += slope[c];
    if (this->width == 1 || !this->curved)
        return;
    double *curvature = this->curvature + task * classes * classes;
    const float *value = x->value ? x->value + begin : NULL;
    pl_classes_curve(glm, i, z, this->b, curvature);
    for (uint64_t c = 0; c < classes && this->by_class; c++)
        curvature[c] = q * curvature[c * (classes + 1)];
    if (this->by_class)
        pl_outer_add(&this->outer[task], x->index + begin, value, count, curvature, sum + glm->size);
    else
        pl_outer_blocks(&this->outer[task], x->index + begin, value, count, q, curvature, classes, sum + glm->size);
}

/* Applies the scales of columns to the sums of a lane, which are for unscaled columns. */
static void scale_sums(const gradient *this, double *sum) {
    const pl_glm *glm = this->glm;
    if (!glm->scale)
        return;
    pl_scale_columns(glm, sum);
    for (unsigned side = 0; side < 2 && this->diagonal; side++)
        pl_scale_columns(glm, sum + glm->size);
    if (columns_now(this) > 1 && !this->diagonal)
        pl_scale_curvature(glm, this->by_class, sum + glm->size);
}

static void full_task(void *context, unsigned task) {
    gradient *this = context;
    const pl_part *part = &this->team->parts[task];
    double began = pl_engine_now(this->team->engine);
    memset(lane_sum(this, task), 0, columns_now(this) * this->glm->size * sizeof *this->sums);
    memset(this->sides + task * this->sides_each, 0, this->sides_each * sizeof *this->sides);
    bool several = this->glm->classes > 1;
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);) {
        for (uint64_t i = rows.begin; i < rows.end && several; i++)
            add_classes(this, task, i, this->z + i * this->glm->classes, 1.0);
        if (!several)
            add_stretch(this, task, rows.begin, rows.end);
    }
    if (this->outer && (this->glm->classes == 1 || this->by_class))
        pl_outer_flush(&this->outer[task], lane_sum(this, task) + this->glm->size);
    scale_sums(this, lane_sum(this, task));
    this->seconds[task] += pl_engine_now(this->team->engine) - began;
}

static void sample_row(gradient *this, unsigned task, uint64_t i, double scale) {
    double z[PL_MOST_CLASSES], q = scale * pl_share(this->glm, i);
    stretch row;
    if (this->glm->classes > 1) {
        pl_row_dots(this->glm, i, this->w, z);
        add_classes(this, task, i, z, scale);
        return;
    }
    row.z[0] = this->b[0] + pl_row_dot(this->glm, i, this->w);
    expand_stretch(this, i, 1, true, &row);
    add_row(this, task, i, q * row.slope[0], q * row.curvature[0]); /* a sample gives no certificate */
}

/* Visits each row with probability `fraction`, by drawing the gaps between visits. */
static void sample_task(void *context, unsigned task) {
    gradient *this = context;
    const pl_team *team = this->team;
    const pl_part *part = &team->parts[task];
    unsigned worker = team->first + task / team->lanes;
    pl_stream stream = pl_stream_make(team->seed, (uint64_t)worker * team->lanes + task % team->lanes, this->round);
    double began = pl_engine_now(this->team->engine), scale = 1.0 / this->fraction, log_miss = log1p(-this->fraction),
           skip;
    memset(lane_sum(this, task), 0, this->glm->size * sizeof *this->sums);
    skip = floor(log1p(-pl_random_unit(&stream)) / log_miss);
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            if (skip-- > 0)
                continue;
            sample_row(this, task, i, scale);
            skip = floor(log1p(-pl_random_unit(&stream)) / log_miss);
        }
    scale_sums(this, lane_sum(this, task));
    this->seconds[task] += pl_engine_now(this->team->engine) - began;
}

/* Reports the first `columns` columns of the sums of worker k's lanes. */
static void report_one(const gradient *this, unsigned k, uint64_t columns, double passes, double waited,
                       pl_update *update) {
    const pl_team *team = this->team;
    uint64_t size = columns * this->glm->size;
    double *sum = lane_sum(this, k * team->lanes), seconds = 0;
    pl_tree_add(sum, team->lanes, this->width * this->glm->size, size);
    for (unsigned l = 0; l < team->lanes; l++)
        seconds = fmax(seconds, this->seconds[k * team->lanes + l]);
    *update = (pl_update){.shrink = 1.0,
                          .weight = team->weight[k],
                          .count = size,
                          .value = sum,
                          .seconds = seconds + waited,
                          .passes = passes};
}

static void report(const gradient *this, uint64_t columns, double passes, double waited, pl_update *update) {
    for (unsigned k = 0; k < this->team->hosted; k++)
        report_one(this, k, columns, passes, waited, &update[k]);
}

/* Copies the intercepts of v, if there are any, to b. */
static void take_intercepts(const gradient *this, const double *v, double *b) {
    const pl_glm *glm = this->glm;
    if (glm->intercept != PL_NO_INTERCEPT)
        memcpy(b, v + glm->data->x.columns * glm->classes, glm->classes * sizeof *b);
}

/* Copies solved intercepts into v. */
static void put_intercepts(const gradient *this, double *v) {
    const pl_glm *glm = this->glm;
    if (glm->intercept == PL_FREE)
        memcpy(v + glm->data->x.columns * glm->classes, this->b, glm->classes * sizeof *v);
}

static parley_status sum_sides(gradient *this, pl_evaluation *evaluation, parley_error *error) {
    const pl_team *team = this->team;
    uint64_t each = this->sides_each;
    double *workers = this->sides + (uint64_t)team->hosted * team->lanes * each, *sums = workers + team->hosted * each;
    for (unsigned k = 0; k < team->hosted; k++) {
        double *lanes = this->sides + k * team->lanes * each;
        pl_tree_add(lanes, team->lanes, each, each);
        memcpy(workers + k * each, lanes, each * sizeof *lanes);
    }
    parley_status status = pl_team_sum(team, workers, (unsigned)each, sums, error);
    if (status != PARLEY_OK)
        return status;
    if (this->glm->classes > 1)
        pl_classes_fill(this->glm, sums, evaluation);
    else
        pl_evaluation_fill(this->glm, sums, this->b[0], evaluation);
    evaluation->softened = this->soft.mu > 0;
    return status;
}

static void carry_task(void *context, unsigned task) {
    const gradient *this = context;
    const pl_part *part = &this->team->parts[task];
    uint64_t classes = this->glm->classes;
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);)
        for (uint64_t e = rows.begin * classes; e < rows.end * classes; e++)
            this->z[e] += this->step * this->dz[e];
}

static bool is_zero(const double *v, uint64_t size) {
    uint64_t j = 0;
    while (j < size && v[j] == 0)
        j++;
    return j == size;
}

/* Computes z at v. If the step to v was followed, or v is 0, this needs no pass over the data. Returns the passes made.
 */
static double find_margins(gradient *this, const double *v) {
    const pl_glm *glm = this->glm;
    bool carry = this->stepped && this->carried < CARRIES, zero = !carry && is_zero(v, glm->size);
    this->followed = this->stepped = false;
    this->carried = carry ? this->carried + 1 : 0;
    if (carry)
        pl_team_run(this->team, carry_task, this);
    else if (zero)
        memset(this->z, 0, glm->data->x.rows * glm->classes * sizeof *this->z);
    else
        pl_margins(glm, this->team, v, this->z);
    return carry || zero ? 0.0 : 1.0;
}

static void recentre_task(void *context, unsigned task) {
    const gradient *this = context;
    const pl_part *part = &this->team->parts[task];
    stretch at;
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);) {
        for (uint64_t i = rows.begin; i < rows.end; i++)
            at.z[i - rows.begin] = this->z[i] + this->b[0];
        expand_stretch(this, rows.begin, rows.end - rows.begin, true, &at);
        for (uint64_t i = rows.begin; i < rows.end; i++)
            this->centre[i] = -at.slope[i - rows.begin];
    }
}

/* Takes the smoothing that the round asks for. The centres move to the dual points of the last one. */
static void soften(gradient *this, const double *v, const pl_round *round) {
    if (this->centre && round->recentre) {
        take_intercepts(this, v, this->b);
        pl_team_run(this->team, recentre_task, this);
    }
    this->soft.mu = round->softness;
}

/* Computes gradient and evaluation at v, where the margins are known, over all rows. */
static parley_status visit_all(gradient *this, const double *v, double passes, pl_update *update,
                               pl_evaluation *evaluation, parley_error *error) {
    const pl_glm *glm = this->glm;
    parley_status status = PARLEY_OK;
    double began = pl_engine_now(this->team->engine);
    memset(this->seconds, 0, (uint64_t)this->team->hosted * this->team->lanes * sizeof *this->seconds);
    take_intercepts(this, v, this->b);
    if (pl_centres(glm) || (glm->intercept == PL_FREE && this->soft.mu > 0))
        status = glm->classes > 1 ? pl_classes_centre(glm, this->team, this->z, 1e-14, this->b, error)
                                  : pl_centre_soft(glm, this->team, this->z, &this->soft, 1e-14, this->b, error);
    double centred = pl_engine_now(this->team->engine) - began;
    if (status == PARLEY_OK) {
        pl_team_run(this->team, full_task, this);
        report(this, columns_now(this), 1.0 + passes, centred, update);
        status = sum_sides(this, evaluation, error);
    }
    return status;
}

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    memcpy(w, v, ((const gradient *)local)->glm->size * sizeof *w);
    return PARLEY_OK;
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    gradient *this = (gradient *)local;
    parley_status status = primal(local, v, w, error);
    this->stepped = false;
    if (status == PARLEY_OK)
        status = visit_all(this, v, find_margins(this, v), update, evaluation, error);
    put_intercepts(this, w);
    return status;
}

static parley_status rescale(pl_local *local, double scale, pl_evaluation *evaluation, parley_error *error) {
    gradient *this = (gradient *)local;
    if (this->glm->classes > 1)
        return pl_classes_conjugate(this->glm, this->team, this->z, this->b, NULL, scale, evaluation, error);
    return pl_conjugate_rows(this->glm, this->team, this->z, this->t, &this->soft, scale, evaluation, error);
}

/* Nothing to do: the combine handles the penalty. */
static parley_status renew(pl_local *local, double *v, parley_error *error) {
    (void)v, (void)error;
    ((gradient *)local)->stepped = false;
    return PARLEY_OK;
}

static bool certifies(const pl_local *local) { return ((const gradient *)local)->fraction >= 1.0; }

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    gradient *this = (gradient *)local;
    this->round = round->number;
    this->curved = round->curved;
    if (certifies(local)) {
        double passes = find_margins(this, v);
        soften(this, v, round);
        parley_status status = visit_all(this, v, passes, update, evaluation, error);
        if (status == PARLEY_OK)
            put_intercepts(this, v);
        return status;
    }
    this->soft.mu = round->softness;
    memset(this->seconds, 0, (uint64_t)this->team->hosted * this->team->lanes * sizeof *this->seconds);
    this->w = v;
    take_intercepts(this, v, this->b);
    pl_team_run(this->team, sample_task, this);
    report(this, this->width, 2.0 * this->fraction, 0.0, update);
    return PARLEY_OK;
}

/* Finds the columns of each worker's rows, once. */
static parley_status prepare_alone(pl_local *local, double *v, parley_error *error) {
    gradient *this = (gradient *)local;
    unsigned hosted = this->team->hosted;
    uint8_t *touched = NULL;
    (void)v;
    this->soft.mu = 0;
    this->curved = this->stepped = false;
    if (this->support || this->glm->classes > 1)
        return PARLEY_OK;
    parley_status status = pl_take(&this->support, hosted, sizeof *this->support, "sparse updates", error);
    if (status == PARLEY_OK)
        status = pl_take(&this->supported, hosted, sizeof *this->supported, "sparse updates", error);
    if (status == PARLEY_OK)
        status = pl_take(&touched, this->glm->size, 1, "sparse updates", error);
    for (unsigned k = 0; k < hosted && status == PARLEY_OK; k++)
        status = pl_support_take(this->glm, this->team, k, touched, &this->support[k], &this->supported[k], error);
    pl_free(touched);
    return status;
}

/* The worker's lanes one after another, with fields of its own where those of all workers would be shared. */
static parley_status work_alone(pl_local *local, unsigned k, const pl_round *round, double *v, pl_update *update,
                                parley_error *error) {
    gradient own = *(gradient *)local;
    double b[PL_MOST_CLASSES] = {0};
    (void)error;
    own.round = round->number;
    own.w = v;
    own.b = b;
    take_intercepts(&own, v, b);
    for (unsigned task = k * own.team->lanes; task < (k + 1) * own.team->lanes; task++) {
        own.seconds[task] = 0;
        sample_task(&own, task);
    }
    report_one(&own, k, 1, 2.0 * own.fraction, 0.0, update);
    return PARLEY_OK;
}

static const uint32_t *entries_read(const pl_local *local, unsigned worker, uint64_t *count) {
    const gradient *this = (const gradient *)local;
    bool sparse = this->support && this->support[worker];
    *count = sparse ? this->supported[worker] : this->glm->size;
    return sparse ? this->support[worker] : NULL;
}

static double evaluate_passes(const pl_local *local) {
    (void)local;
    return 2.0;
}

static void follow(pl_local *local, const double *v, const double *direction) {
    gradient *this = (gradient *)local;
    (void)v;
    pl_margins(this->glm, this->team, direction, this->dz);
    take_intercepts(this, direction, this->db);
    this->followed = true;
}

static void product_task(void *context, unsigned task) {
    gradient *this = context;
    const pl_glm *glm = this->glm;
    const pl_part *part = &this->team->parts[task];
    double *sum = lane_sum(this, task), b = 0, total = 0;
    take_intercepts(this, this->w, &b);
    memset(sum, 0, glm->size * sizeof *sum);
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            if (this->bend[i] == 0)
                continue;
            double a = this->bend[i] * (pl_row_dot(glm, i, this->w) + b);
            pl_row_add(glm, i, a, sum);
            total += a;
        }
    if (glm->intercept != PL_NO_INTERCEPT)
        sum[glm->data->x.columns] += total;
}

static void product(pl_local *local, const double *p, pl_update *update) {
    gradient *this = (gradient *)local;
    this->w = p;
    pl_team_run(this->team, product_task, this);
    report(this, 1, 1.0, 0.0, update);
}

typedef struct trial {
    const gradient *of;
    double gamma;
} trial;

static void probe_stretch(const void *context, uint64_t begin, uint64_t end, double *sums) {
    const trial *trial = context;
    const gradient *this = trial->of;
    stretch rows;
    double losses = 0, along = 0;
    for (uint64_t i = begin; i < end; i++)
        rows.z[i - begin] = this->z[i] + this->b[0] + trial->gamma * (this->dz[i] + this->db[0]);
    expand_stretch(this, begin, end - begin, this->slopes_only, &rows);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t k = i - begin;
        losses += this->slopes_only ? 0.0 : rows.q[k] * rows.loss[k];
        along += rows.q[k] * rows.slope[k] * (this->dz[i] + this->db[0]);
    }
    sums[0] += losses;
    sums[1] += along;
}

static void probe_classes(const void *context, uint64_t i, double *sums) {
    const trial *trial = context;
    const gradient *this = trial->of;
    uint64_t classes = this->glm->classes;
    double z[PL_MOST_CLASSES], dz[PL_MOST_CLASSES], slope[PL_MOST_CLASSES], q = pl_share(this->glm, i), along = 0;
    pl_classes_ahead(this->glm, this->dz + i * classes, 1.0, this->db, dz);
    pl_classes_ahead(this->glm, this->z + i * classes, trial->gamma, dz, z);
    sums[0] += q * pl_classes_visit(this->glm, i, z, this->b, slope, NULL);
    for (uint64_t c = 0; c < classes; c++)
        along += slope[c] * dz[c];
    sums[1] += q * along;
}

static void probe(pl_local *local, double gamma, pl_update *update) {
    gradient *this = (gradient *)local;
    trial trial = {this, gamma};
    double *sums = this->team->worker_sums;
    if (this->glm->classes > 1)
        pl_sum_rows(this->team, probe_classes, &trial, 2, sums);
    else
        pl_sum_stretches(this->team, probe_stretch, &trial, 2, sums);
    for (unsigned k = 0; k < this->team->hosted; k++) {
        update[k].scalars[PL_SUM_LOSS] = sums[2 * k];
        update[k].scalars[PL_SUM_SLOPE] = sums[2 * k + 1];
    }
}

static parley_status start(pl_local *local, const double *w, double *v, parley_error *error) {
    ((gradient *)local)->stepped = false;
    return primal(local, w, v, error); /* v is the model */
}

static void commit(pl_local *local, unsigned worker, double gamma) {
    gradient *this = (gradient *)local;
    (void)worker;
    if (!this->followed) /* workers alone commit at the same time, and never follow */
        return;
    this->stepped = true;
    this->step = gamma;
}

/* Updated margins depend on the steps taken. Every worker saves the values that are common to all, because a rank may
 * have no worker. */
static void state(pl_local *local, pl_state *state) {
    gradient *this = (gradient *)local;
    for (unsigned k = 0; k < this->team->hosted; k++) {
        pl_state_of(state, "local", k);
        PL_STATE_VALUES(state, "margins", PL_WITHIN(this->stepped, 0, this->dz != NULL), PL_VALUE(this->step),
                        PL_WITHIN(this->carried, 0, CARRIES));
        if (this->centre) {
            PL_STATE_VALUES(state, "softness", PL_WITHIN(this->soft.mu, 0, DBL_MAX));
            pl_state_rows(state, this->team, "centre", this->centre, PL_F64, 1);
        }
        if (!this->stepped || this->carried >= CARRIES)
            continue;
        pl_state_rows(state, this->team, "z", this->z, PL_F64, this->glm->classes);
        pl_state_rows(state, this->team, "dz", this->dz, PL_F64, this->glm->classes);
    }
}

/* Losses with kinks are smoothed for combines that use the curvature. */
static bool has_centres(const pl_setup *setup) {
    const pl_loss *loss = pl_glm_of(setup->problem)->loss;
    return loss->soften && !loss->smooth && setup->width > 1;
}

static uint64_t bytes(const pl_setup *setup) {
    uint64_t lanes = (uint64_t)setup->team->hosted * setup->team->lanes;
    return (pl_glm_of(setup->problem)->data->x.rows * pl_glm_of(setup->problem)->classes *
                (1u + setup->searches + setup->asks + has_centres(setup)) +
            lanes * setup->width * pl_glm_of(setup->problem)->size) *
           sizeof(double);
}

static void close_gradient(pl_local *local) {
    gradient *this = (gradient *)local;
    if (!this)
        return;
    for (unsigned i = 0; this->outer && i < this->team->hosted * this->team->lanes; i++)
        pl_outer_close(&this->outer[i]);
    pl_free(this->dz);
    pl_free(this->centre);
    pl_free(this->bend);
    pl_free(this->b);
    pl_free(this->db);
    pl_free(this->curvature);
    pl_free(this->outer);
    pl_free(this->z);
    pl_free(this->sums);
    pl_free(this->sides);
    pl_free(this->seconds);
    for (unsigned k = 0; this->support && k < this->team->hosted; k++)
        pl_shared_free(this->team->engine, this->support[k]);
    pl_free(this->support);
    pl_free(this->supported);
    pl_free(this);
}

static parley_status open_outer(gradient *this, parley_error *error) {
    unsigned lanes = this->team->hosted * this->team->lanes;
    uint64_t classes = this->glm->classes, rows = this->glm->size / classes;
    parley_status status = pl_take(&this->outer, lanes, sizeof *this->outer, "curvature", error);
    if (status == PARLEY_OK && classes > 1)
        status = pl_take(&this->curvature, lanes * classes * classes, sizeof *this->curvature, "curvature", error);
    for (unsigned i = 0; i < lanes && status == PARLEY_OK; i++)
        status = pl_outer_open(&this->outer[i], rows, this->glm->intercept != PL_NO_INTERCEPT,
                               this->by_class ? classes : 1, error);
    return status;
}

static parley_status open_gradient(const pl_setup *setup, pl_local **out, parley_error *error) {
    uint64_t classes = pl_glm_of(setup->problem)->classes, rows = pl_glm_of(setup->problem)->data->x.rows * classes,
             lanes = (uint64_t)setup->team->hosted * setup->team->lanes;
    gradient *this;
    parley_status status = pl_take(&this, 1, sizeof *this, "gradients", error);
    if (status != PARLEY_OK)
        return status;
    this->base.type = &pl_local_gradient;
    this->glm = pl_glm_of(setup->problem);
    this->team = setup->team;
    this->fraction = setup->settings->batch_fraction;
    this->width = setup->width;
    this->by_class = classes > 1 && setup->width == 1 + this->glm->size / classes && !setup->diagonal;
    this->z = pl_alloc(rows, sizeof *this->z);
    this->diagonal = setup->diagonal;
    this->slopes_only = setup->slopes_only;
    this->bend = setup->asks ? pl_alloc(rows, sizeof *this->bend) : NULL;
    this->dz = setup->searches ? pl_alloc(rows, sizeof *this->dz) : NULL;
    this->centre = has_centres(setup) ? pl_alloc(rows, sizeof *this->centre) : NULL;
    this->soft.centre = this->centre;
    this->sums = pl_alloc(lanes * setup->width * pl_glm_of(setup->problem)->size, sizeof *this->sums);
    this->seconds = pl_alloc(lanes, sizeof *this->seconds);
    this->sides_each = classes > 1 ? pl_classes_sums(pl_glm_of(setup->problem)) : PL_ROW_SUMS;
    this->sides = pl_alloc((lanes + setup->team->hosted + 1) * this->sides_each, sizeof *this->sides);
    this->b = pl_alloc(classes, sizeof *this->b);
    this->db = pl_alloc(classes, sizeof *this->db);
    if (!this->b || !this->db || !this->sides || !this->z || (setup->searches && !this->dz) ||
        (has_centres(setup) && !this->centre) || (setup->asks && !this->bend) || !this->sums || !this->seconds)
        status = pl_fail_memory(error, "gradients", bytes(setup));
    if (status == PARLEY_OK && setup->width > 1 && !setup->diagonal)
        status = open_outer(this, error);
    if (status != PARLEY_OK) {
        close_gradient(&this->base);
        return status;
    }
    *out = &this->base;
    return PARLEY_OK;
}

void pl_gradient_at(pl_local *local, const double *t) { ((gradient *)local)->t = t; }

static const char *const reads[] = {"batch_fraction", "lanes", NULL};

static const pl_local_search search = {follow, probe, product};
static const pl_local_restart restart = {start, renew};
static const pl_local_certificate certificate = {certifies, rescale};
static const pl_local_alone alone = {prepare_alone, work_alone, entries_read};

const pl_local_type pl_local_gradient = {
    .name = "gradient",
    .help = "gradient over all rows or a sample of them",
    .problem = &pl_problem_linear,
    .traits = PL_GIVES_GRADIENTS | PL_EVALUATES_GRADIENT,
    .settings = reads,
    .search = &search,
    .restart = &restart,
    .certificate = &certificate,
    .alone = &alone,
    .bytes = bytes,
    .open = open_gradient,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = evaluate_passes,
    .commit = commit,
    .primal = primal,
    .state = state,
    .close = close_gradient,
};
