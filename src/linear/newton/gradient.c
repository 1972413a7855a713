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

#include "engine/collective.h"
#include "engine/shared_memory.h"
#include "linear/newton/gradient.h"
#include "linear/newton/gradient_rows.h"
#include "linear/newton/long_rows.h"
#include "linear/rows/classes.h"
#include "linear/rows/order.h"
#include "math/float_table.h"

#define MANY_ENTRIES (1u << 14) /* from which on adding lanes takes longer than waking a thread */
#define CARRIES 16 /* rounds for which margins are updated along followed steps before they are recomputed */

/* Adds the lanes' sums of their workers, of which task l of a worker has the l-th part of the entries. */
typedef struct adding {
    const pl_gradient *of;
    uint64_t size; /* entries of a lane's sums */
} adding;

static void add_lanes_task(void *context, unsigned task) {
    const adding *adding = context;
    const pl_gradient *this = adding->of;
    unsigned lanes = this->team->lanes, l = task % lanes;
    uint64_t begin = adding->size * l / lanes, end = adding->size * (l + 1) / lanes;
    pl_tree_add(pl_gradient_sum(this, task - l) + begin, lanes, this->width * this->glm->size, end - begin);
}

/* Reports the first `columns` columns of the sums of worker k's lanes, which have been added. */
static void report_one(const pl_gradient *this, unsigned k, uint64_t columns, double passes, double waited,
                       pl_update *update) {
    const pl_team *team = this->team;
    double seconds = 0;
    for (unsigned l = 0; l < team->lanes; l++)
        seconds = fmax(seconds, this->seconds[k * team->lanes + l]);
    *update = (pl_update){.shrink = 1.0,
                          .weight = team->weight[k],
                          .count = columns * this->glm->size,
                          .value = pl_gradient_sum(this, k * team->lanes),
                          .seconds = seconds + waited,
                          .passes = passes};
}

static void report(const pl_gradient *this, uint64_t columns, double passes, double waited, pl_update *update) {
    const pl_team *team = this->team;
    adding adding = {this, columns * this->glm->size};
    if (team->lanes > 1 && adding.size >= MANY_ENTRIES)
        pl_team_run(team, add_lanes_task, &adding);
    for (unsigned k = 0; k < team->hosted; k++) {
        if (adding.size < MANY_ENTRIES)
            pl_tree_add(pl_gradient_sum(this, k * team->lanes), team->lanes, this->width * this->glm->size,
                        adding.size);
        report_one(this, k, columns, passes, waited, &update[k]);
    }
}

/* Copies solved intercepts into v. */
static void put_intercepts(const pl_gradient *this, double *v) {
    const pl_glm *glm = this->glm;
    if (glm->intercept == PL_FREE)
        memcpy(v + glm->data->x.columns * glm->classes, this->b, glm->classes * sizeof *v);
}

/* Replaces the second column, where the diagonal or nothing is, by that of a preconditioned vector. */
static void precondition(pl_gradient *this, const double *v, pl_update *update) {
    double *y = pl_gradient_sum(this, 0);
    pl_long_rows_apply(this->long_rows, this->team, y, v, y + this->glm->size);
    update->count = 2 * this->glm->size;
}

static parley_status sum_sides(pl_gradient *this, pl_evaluation *evaluation, parley_error *error) {
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

static bool is_zero(const double *v, uint64_t size) {
    uint64_t j = 0;
    while (j < size && v[j] == 0)
        j++;
    return j == size;
}

/* Computes z at v. If the step to v was followed, or v is 0, this needs no pass over the data. Returns the passes made.
 */
static double find_margins(pl_gradient *this, const double *v) {
    const pl_glm *glm = this->glm;
    bool carry = this->stepped && this->carried < CARRIES, zero = !carry && is_zero(v, glm->size);
    this->followed = this->stepped = false;
    this->carried = carry ? this->carried + 1 : 0;
    if (carry)
        pl_team_run(this->team, pl_gradient_carry_task, this);
    else if (zero)
        memset(this->z, 0, glm->data->x.rows * glm->classes * sizeof *this->z);
    else
        pl_margins(glm, this->team, v, this->z);
    return carry || zero ? 0.0 : 1.0;
}

/* Takes the smoothing that the round asks for. The centres move to the dual points of the last one. */
static void soften(pl_gradient *this, const double *v, const pl_round *round) {
    if (this->centre && round->recentre) {
        pl_gradient_intercepts(this, v, this->b);
        pl_team_run(this->team, pl_gradient_recentre_task, this);
    }
    this->soft.mu = round->softness;
}

/* Computes gradient and evaluation at v, where the margins are known, over all rows. */
static parley_status visit_all(pl_gradient *this, const double *v, double passes, pl_update *update,
                               pl_evaluation *evaluation, parley_error *error) {
    const pl_glm *glm = this->glm;
    parley_status status = PARLEY_OK;
    double began = pl_engine_now(this->team->engine);
    memset(this->seconds, 0, (uint64_t)this->team->hosted * this->team->lanes * sizeof *this->seconds);
    pl_gradient_intercepts(this, v, this->b);
    if (pl_centres(glm) || (glm->intercept == PL_FREE && this->soft.mu > 0))
        status = glm->classes > 1
                     ? pl_classes_centre(glm, this->team, this->z, pl_gradient_softening(this), 1e-14, this->b, error)
                     : pl_centre_soft(glm, this->team, this->z, &this->soft, 1e-14, this->b, error);
    double centred = pl_engine_now(this->team->engine) - began;
    if (status == PARLEY_OK) {
        pl_team_run(this->team, pl_gradient_full_task, this);
        report(this, pl_gradient_columns(this), 1.0 + passes, centred, update);
        if (this->long_rows && this->team->hosted > 0) {
            pl_long_rows_factor(this->long_rows, this->bend, pl_gradient_sum(this, 0) + glm->size);
            precondition(this, v, update);
        }
        status = sum_sides(this, evaluation, error);
    }
    return status;
}

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    memcpy(w, v, ((const pl_gradient *)local)->glm->size * sizeof *w);
    return PARLEY_OK;
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    pl_gradient *this = (pl_gradient *)local;
    parley_status status = primal(local, v, w, error);
    this->stepped = false;
    if (status == PARLEY_OK)
        status = visit_all(this, v, find_margins(this, v), update, evaluation, error);
    put_intercepts(this, w);
    return status;
}

static parley_status rescale(pl_local *local, double scale, pl_evaluation *evaluation, parley_error *error) {
    pl_gradient *this = (pl_gradient *)local;
    if (this->glm->classes > 1)
        return pl_classes_conjugate(this->glm, this->team, this->z, this->b, NULL, pl_gradient_softening(this), scale,
                                    evaluation, error);
    return pl_conjugate_rows(this->glm, this->team, this->z, this->t, &this->soft, scale, evaluation, error);
}

/* Nothing to do: the combine handles the penalty. */
static parley_status renew(pl_local *local, double *v, parley_error *error) {
    (void)v, (void)error;
    ((pl_gradient *)local)->stepped = false;
    return PARLEY_OK;
}

static bool certifies(const pl_local *local) { return ((const pl_gradient *)local)->fraction >= 1.0; }

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    pl_gradient *this = (pl_gradient *)local;
    this->round = round->number;
    this->curved = round->curved;
    if (certifies(local)) {
        pl_gradient_remember(this);
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
    pl_gradient_intercepts(this, v, this->b);
    pl_team_run(this->team, pl_gradient_sample_task, this);
    report(this, this->width, 2.0 * this->fraction, 0.0, update);
    return PARLEY_OK;
}

/* Finds the columns of each worker's rows, once. */
static parley_status prepare_alone(pl_local *local, double *v, parley_error *error) {
    pl_gradient *this = (pl_gradient *)local;
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
    pl_gradient own = *(pl_gradient *)local;
    double b[PL_MOST_CLASSES] = {0};
    (void)error;
    own.round = round->number;
    own.w = v;
    own.b = b;
    pl_gradient_intercepts(&own, v, b);
    for (unsigned task = k * own.team->lanes; task < (k + 1) * own.team->lanes; task++) {
        own.seconds[task] = 0;
        pl_gradient_sample_task(&own, task);
    }
    pl_tree_add(pl_gradient_sum(&own, k * own.team->lanes), own.team->lanes, own.width * own.glm->size, own.glm->size);
    report_one(&own, k, 1, 2.0 * own.fraction, 0.0, update);
    return PARLEY_OK;
}

static const uint32_t *entries_read(const pl_local *local, unsigned worker, uint64_t *count) {
    const pl_gradient *this = (const pl_gradient *)local;
    bool sparse = this->support && this->support[worker];
    *count = sparse ? this->supported[worker] : this->glm->size;
    return sparse ? this->support[worker] : NULL;
}

static double evaluate_passes(const pl_local *local) {
    (void)local;
    return 2.0;
}

static parley_status follow(pl_local *local, const double *v, double *direction, parley_error *error) {
    pl_gradient *this = (pl_gradient *)local;
    pl_margins(this->glm, this->team, direction, this->dz);
    pl_gradient_intercepts(this, direction, this->db);
    this->followed = true;
    return this->ahead && !this->glm->loss->together ? pl_gradient_steps(this, v, direction, error) : PARLEY_OK;
}

static void product(pl_local *local, const double *p, pl_update *update) {
    pl_gradient *this = (pl_gradient *)local;
    this->w = pl_scaled(this->glm, p);
    if (this->turned)
        pl_float_table_take(this->w, this->glm->data->x.columns, this->glm->classes, this->turned);
    pl_team_run(this->team, pl_gradient_product_task, this);
    report(this, 1, 1.0, 0.0, update);
    if (this->long_rows && this->team->hosted > 0)
        precondition(this, p, update);
}

static void probe(pl_local *local, double gamma, pl_update *update) {
    const pl_gradient *this = (const pl_gradient *)local;
    double *sums = this->team->worker_sums;
    pl_gradient_probe(this, gamma, sums);
    for (unsigned k = 0; k < this->team->hosted; k++) {
        update[k].scalars[PL_SUM_LOSS] = sums[2 * k];
        update[k].scalars[PL_SUM_SLOPE] = sums[2 * k + 1];
    }
}

static parley_status start(pl_local *local, const double *w, double *v, parley_error *error) {
    ((pl_gradient *)local)->stepped = false;
    return primal(local, w, v, error); /* v is the model */
}

static void commit(pl_local *local, unsigned worker, double gamma) {
    pl_gradient *this = (pl_gradient *)local;
    (void)worker;
    if (!this->followed) /* workers alone commit at the same time, and never follow */
        return;
    this->stepped = true;
    this->step = gamma;
}

/* Updated margins depend on the steps taken. Every worker saves the values that are common to all, because a rank may
 * have no worker. */
static void state(pl_local *local, pl_state *state) {
    pl_gradient *this = (pl_gradient *)local;
    for (unsigned k = 0; k < this->team->hosted; k++) {
        pl_state_of(state, "local", k);
        PL_STATE_VALUES(state, "margins", PL_WITHIN(this->stepped, 0, this->dz != NULL), PL_VALUE(this->step),
                        PL_WITHIN(this->carried, 0, CARRIES));
        if (this->centre) {
            PL_STATE_VALUES(state, "softness", PL_WITHIN(this->soft.mu, 0, DBL_MAX));
            pl_state_rows(state, this->team, "centre", this->centre, PL_F64, this->glm->classes);
        }
        if (this->ahead)
            pl_state_array(state, "memory", this->memory, PL_F64, this->glm->classes);
        if (this->ahead && this->stepped) {
            pl_state_array(state, "stretch", this->stretch, PL_F64, this->glm->classes);
            pl_state_rows(state, this->team, "bend", this->bend, PL_F64, this->glm->classes);
            pl_state_rows(state, this->team, "ahead", this->ahead, PL_F64, this->glm->classes);
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

/* For products of several classes the curvature at whole steps is kept too. */
static bool remembers(const pl_setup *setup) { return setup->asks && pl_glm_of(setup->problem)->classes > 1; }

/* Slopes of several classes, by lane. */
static uint64_t slopes(const pl_setup *setup) {
    uint64_t classes = pl_glm_of(setup->problem)->classes;
    return classes > 1 ? (uint64_t)setup->team->hosted * setup->team->lanes * PL_STRETCH * classes : 0;
}

/* Sums of pairs of classes, from which a lane computes the curvature of softmax. */
static uint64_t pairs(const pl_setup *setup) {
    const pl_glm *glm = pl_glm_of(setup->problem);
    pl_arrow shape = pl_curvature_shape(glm);
    uint64_t size = shape.core / shape.group;
    return setup->width > 1 && !setup->diagonal ? shape.group * (shape.group - 1) / 2 * size * size : 0;
}

/* Entries of a vector to be multiplied, in single precision. */
static uint64_t turned(const pl_setup *setup) {
    const pl_glm *glm = pl_glm_of(setup->problem);
    return remembers(setup) ? glm->data->x.columns * pl_float_stride(glm->classes) : 0;
}

static uint64_t bytes(const pl_setup *setup) {
    uint64_t lanes = (uint64_t)setup->team->hosted * setup->team->lanes;
    return (pl_glm_of(setup->problem)->data->x.rows * pl_glm_of(setup->problem)->classes *
                (1u + setup->searches + setup->asks + remembers(setup) + has_centres(setup)) +
            lanes * (setup->width * pl_glm_of(setup->problem)->size + pairs(setup)) + slopes(setup)) *
               sizeof(double) +
           turned(setup) * sizeof(float) + (setup->preconditions ? pl_long_rows_bytes(pl_glm_of(setup->problem)) : 0);
}

static void close_gradient(pl_local *local) {
    pl_gradient *this = (pl_gradient *)local;
    if (!this)
        return;
    for (unsigned i = 0; this->outer && i < this->team->hosted * this->team->lanes; i++)
        pl_outer_close(&this->outer[i]);
    pl_free(this->dz);
    pl_free(this->centre);
    pl_free(this->bend);
    pl_free(this->ahead);
    pl_free(this->turned);
    pl_long_rows_close(this->long_rows);
    pl_free(this->memory);
    pl_free(this->stretch);
    pl_free(this->fell_short);
    pl_free(this->b);
    pl_free(this->db);
    pl_free(this->curvature);
    pl_free(this->slopes);
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

static parley_status open_outer(pl_gradient *this, parley_error *error) {
    unsigned lanes = this->team->hosted * this->team->lanes;
    uint64_t classes = this->glm->classes;
    pl_arrow shape = pl_curvature_shape(this->glm);
    parley_status status = pl_take(&this->outer, lanes, sizeof *this->outer, "curvature", error);
    if (status == PARLEY_OK && classes > 1)
        status = pl_take(&this->curvature, lanes * classes * classes, sizeof *this->curvature, "curvature", error);
    for (unsigned i = 0; i < lanes && status == PARLEY_OK; i++)
        status = pl_outer_open(&this->outer[i], &shape, this->glm->apart.place, this->glm->intercept != PL_NO_INTERCEPT,
                               pl_curvature_blocks(this->glm), error);
    return status;
}

/* What products of several classes need. */
static parley_status open_memory(pl_gradient *this, const pl_setup *setup, parley_error *error) {
    uint64_t classes = this->glm->classes, rows = this->glm->data->x.rows * classes;
    this->ahead = pl_alloc(rows, sizeof *this->ahead);
    this->turned = pl_alloc(turned(setup), sizeof *this->turned);
    this->memory = pl_alloc(classes, sizeof *this->memory);
    this->stretch = pl_alloc(classes, sizeof *this->stretch);
    this->fell_short = pl_alloc(classes, sizeof *this->fell_short);
    if (!this->ahead || !this->turned || !this->memory || !this->stretch || !this->fell_short)
        return pl_fail_memory(error, "gradients", bytes(setup));
    for (uint64_t c = 0; c < classes; c++)
        this->stretch[c] = 1.0;
    return PARLEY_OK;
}

static parley_status open_gradient(const pl_setup *setup, pl_local **out, parley_error *error) {
    uint64_t classes = pl_glm_of(setup->problem)->classes, rows = pl_glm_of(setup->problem)->data->x.rows * classes,
             lanes = (uint64_t)setup->team->hosted * setup->team->lanes;
    pl_gradient *this;
    parley_status status = pl_take(&this, 1, sizeof *this, "gradients", error);
    if (status != PARLEY_OK)
        return status;
    this->base.type = &pl_local_gradient;
    this->glm = pl_glm_of(setup->problem);
    this->team = setup->team;
    this->fraction = setup->settings->batch_fraction;
    this->width = setup->width;
    this->by_class = classes > 1 && !this->glm->loss->together && setup->width > 1 && !setup->diagonal;
    this->z = pl_alloc(rows, sizeof *this->z);
    this->diagonal = setup->diagonal;
    this->slopes_only = setup->slopes_only;
    this->bend = setup->asks ? pl_alloc(rows, sizeof *this->bend) : NULL;
    this->dz = setup->searches ? pl_alloc(rows, sizeof *this->dz) : NULL;
    this->centre = has_centres(setup) ? pl_alloc(rows, sizeof *this->centre) : NULL;
    this->soft.centre = this->centre;
    this->sums = pl_alloc(lanes * setup->width * pl_glm_of(setup->problem)->size, sizeof *this->sums);
    this->slopes = slopes(setup) ? pl_alloc(slopes(setup), sizeof *this->slopes) : NULL;
    this->seconds = pl_alloc(lanes, sizeof *this->seconds);
    this->sides_each = classes > 1 ? pl_classes_sums(pl_glm_of(setup->problem)) : PL_ROW_SUMS;
    this->sides = pl_alloc((lanes + setup->team->hosted + 1) * this->sides_each, sizeof *this->sides);
    this->b = pl_alloc(classes, sizeof *this->b);
    this->db = pl_alloc(classes, sizeof *this->db);
    if (!this->b || !this->db || !this->sides || !this->z || (setup->searches && !this->dz) ||
        (has_centres(setup) && !this->centre) || (setup->asks && !this->bend) || !this->sums || !this->seconds ||
        (slopes(setup) && !this->slopes))
        status = pl_fail_memory(error, "gradients", bytes(setup));
    if (status == PARLEY_OK && remembers(setup))
        status = open_memory(this, setup, error);
    if (status == PARLEY_OK && setup->preconditions)
        status = pl_long_rows_open(this->glm, &this->long_rows, error);
    if (status == PARLEY_OK && setup->width > 1 && !setup->diagonal)
        status = open_outer(this, error);
    if (status != PARLEY_OK) {
        close_gradient(&this->base);
        return status;
    }
    *out = &this->base;
    return PARLEY_OK;
}

void pl_gradient_at(pl_local *local, const double *t) { ((pl_gradient *)local)->t = t; }

static const char *const reads[] = {"batch_fraction", "lanes", NULL};

static const pl_local_search search = {follow, probe, product, pl_long_rows_fit};
static const pl_local_restart restart = {.start = start, .renew = renew};
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
